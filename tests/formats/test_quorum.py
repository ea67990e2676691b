"""The quorum-state file: Kafka's own answers, versions, damage, bounds."""

import json

import pytest

from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.quorum import QuorumState, read_quorum_state
from tests.formats.files import answers

OLD = {
    "clusterId": "",
    "leaderId": 1,
    "leaderEpoch": 2,
    "votedId": -1,
    "appliedOffset": 0,
    "currentVoters": [{"voterId": 1}, {"voterId": 3}],
    "data_version": 0,
}
NEW = {
    "leaderId": -1,
    "leaderEpoch": 2,
    "votedId": 1,
    "votedDirectoryId": "s6FcBmY-TqGafa02wOIqHg",
    "data_version": 1,
}


def output(base, **changes):
    fields = {key: value for key, value in {**base, **changes}.items() if value is not ...}
    return json.dumps(fields).encode()


def test_versions():
    assert read_quorum_state(output(OLD)) == QuorumState(0, 1, 2, -1, None, "", 0, (1, 3))
    assert read_quorum_state(output(NEW)) == QuorumState(
        1, -1, 2, 1, "s6FcBmY-TqGafa02wOIqHg", None, None, None
    )


def test_as_kafka():
    for data, _, answer in answers("quorum"):
        try:
            mine = f"ok_{read_quorum_state(data).leader_epoch}"
        except FormatError:
            mine = "err"
        assert mine == (answer if answer == "err" else "_".join(answer.split("_")[:2])), data


@pytest.mark.parametrize(
    "data",
    [
        output(OLD, more={"x": [1]}),
        output(OLD, currentVoters=None),
        output(OLD, data_version="1"),  # Jackson's shortValue of a text is 0
        output(OLD, data_version=65536),
        output(OLD) + b" more",
        output(OLD) + b"\nmore",
        b" " + output(OLD),
    ],
)
def test_read_all_the_same(data):
    assert read_quorum_state(data).leader_id == 1


@pytest.mark.parametrize(
    ("data", "kind", "position", "field"),
    [
        (b"", TruncatedError, 0, "line 1"),
        (b"\n" + output(OLD), CorruptError, 0, "JSON"),
        (b" " * (2 << 20), LimitError, 0, "JSON"),
        (output(OLD, data_version=...), CorruptError, 0, "data_version"),
        (output(OLD, data_version=2), UnsupportedError, 0, "data_version"),
        (output(OLD, data_version=-1), UnsupportedError, 0, "data_version"),
        (output(OLD, clusterId=...), CorruptError, 0, "clusterId"),
        (output(OLD, clusterId=1), CorruptError, 0, "clusterId"),
        (output(OLD, leaderId="1"), CorruptError, 0, "leaderId"),
        (output(OLD, leaderId=2**31), CorruptError, 0, "leaderId"),
        (output(OLD, leaderEpoch=1.5), CorruptError, 0, "leaderEpoch"),
        (output(OLD, leaderEpoch=True), CorruptError, 0, "leaderEpoch"),
        (output(OLD, appliedOffset=2**63), CorruptError, 0, "appliedOffset"),
        (output(OLD, currentVoters={}), CorruptError, 0, "currentVoters"),
        (output(OLD, currentVoters=[1]), CorruptError, 0, "voterId"),
        (output(NEW, votedDirectoryId=...), CorruptError, 0, "votedDirectoryId"),
        (output(NEW, votedDirectoryId="x"), CorruptError, 0, "votedDirectoryId"),
        (output(NEW, votedDirectoryId=None), CorruptError, 0, "votedDirectoryId"),
    ],
)
def test_bad(data, kind, position, field):
    with pytest.raises(kind) as raised:
        read_quorum_state(data)
    assert type(raised.value) is kind
    assert (raised.value.position, raised.value.field) == (position, field)
    assert len(str(raised.value)) < 300
