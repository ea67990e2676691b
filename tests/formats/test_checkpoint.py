"""Text checkpoints: Kafka's own answers on damaged ones, positions of errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.checkpoint import (
    EpochEntry,
    OffsetEntry,
    check_epoch_entries,
    read_committed_offsets,
    read_leader_epoch_checkpoint,
    read_offset_checkpoint,
    read_offset_entries,
)
from formats.errors import CorruptError, FormatError, UnsupportedError
from formats.types import TopicPartition
from tests.formats.files import answers, units
from tests.formats.remote_values import recorded

EPOCHS = [
    (b"", []),
    (b"0", []),
    (b"0\n", []),
    (b"0\n0\n", []),
    (b"0\n2\n0 0\n3 17\n", [(0, 0), (3, 17)]),
    (b"0\n2\n0 0\n3 17", [(0, 0), (3, 17)]),
    (b"0\r\n1\r\n3 17\r\n", [(3, 17)]),
    (b"0\r1\r3 17\r", [(3, 17)]),
    (b"0\n1\n2147483647 0\n", [(2147483647, 0)]),
    (b"0\n1\n3 9223372036854775807\n", [(3, 9223372036854775807)]),
    (b"0\n1\n3 \t 17 \t\n", [(3, 17)]),
    (b"0\n1\n3\x0b17\x0c\n", [(3, 17)]),
    (b"+0\n+1\n+3 -17\n", [(3, -17)]),
    (b"-0\n01\n003 017\n", [(3, 17)]),
    (b"0\n1\n" + b"0" * 5000 + b"3 17\n", [(3, 17)]),
    ("0\n1\n\u0663 \uff11\uff17\n".encode(), [(3, 17)]),
    (b"0\n2\n5 10\n4 3\n", [(5, 10), (4, 3)]),
]


@pytest.mark.parametrize(("data", "expected"), EPOCHS)
def test_leader_epochs(data, expected):
    assert read_leader_epoch_checkpoint(data) == expected


BAD_EPOCHS = [
    (b"1\n0\n", UnsupportedError, 0, "version"),
    (b"\n0\n", CorruptError, 0, "line 1"),
    (b"0 \n0\n", CorruptError, 0, "line 1"),
    (b" 0\n0\n", CorruptError, 0, "line 1"),
    (b"\xef\xbb\xbf0\n0\n", CorruptError, 0, "line 1"),
    (b"0x\n", CorruptError, 0, "line 1"),
    (b"0\n\n", CorruptError, 2, "line 2"),
    (b"0\n-1\n", CorruptError, 2, "line 2"),
    (b"0\n2147483648\n", CorruptError, 2, "line 2"),
    (b"0\n1_0\n", CorruptError, 2, "line 2"),
    (b"0\n1\n", CorruptError, 2, "line 2, the number of entries"),
    (b"0\n2147483647\n0 0\n", CorruptError, 2, "line 2, the number of entries"),
    (b"0\n0\n0 0\n", CorruptError, 2, "line 2, the number of entries"),
    (b"0\n1\n0 0\n\n", CorruptError, 8, "line 4"),
    (b"0\n1\n\n0 0\n", CorruptError, 4, "line 3"),
    (b"0\n1\n 0 0\n", CorruptError, 4, "line 3"),
    (b"0\n1\n   \n", CorruptError, 4, "line 3"),
    (b"0\n1\n0\n", CorruptError, 4, "line 3"),
    (b"0\n1\n0 0 0\n", CorruptError, 4, "line 3"),
    (b"0\n1\n2147483648 0\n", CorruptError, 4, "line 3"),
    (b"0\n1\n0 9223372036854775808\n", CorruptError, 4, "line 3"),
    (b"0\n1\n0 " + b"9" * 100000, CorruptError, 4, "line 3"),
    (b"0\n1\n0\xc2\xa00\n", CorruptError, 4, "line 3"),
    (b"0\n1\n\xf0\x9d\x9f\x8f 0\n", CorruptError, 4, "line 3"),
    (b"0\n1\n0 0\xff\n", CorruptError, 7, "line 3"),
    (b"0\n1\n0 0\n\xed\xa0\x80", CorruptError, 8, "line 4"),
]


@pytest.mark.parametrize(("data", "kind", "position", "field"), BAD_EPOCHS)
def test_bad_leader_epochs(data, kind, position, field):
    with pytest.raises(kind) as raised:
        read_leader_epoch_checkpoint(data)
    assert (raised.value.position, raised.value.field) == (position, field)
    assert len(str(raised.value)) < 300


def test_leader_epochs_as_kafka():
    for data, _, answer in answers("epochs"):
        try:
            read = read_leader_epoch_checkpoint(data)
        except FormatError:
            mine = "err"
        else:
            mine = " ".join(["ok", *(f"{epoch},{start}" for epoch, start in read)])
        assert mine == answer, data


def test_offsets_as_kafka():
    for data, _, answer in answers("offsets"):
        try:
            read = read_offset_checkpoint(data)
        except FormatError:
            mine = "err"
        else:
            mine = {f"{units(tp.topic)},{tp.partition},{offset}" for tp, offset in read.items()}
        assert mine == (answer if answer == "err" else set(answer.split()[1:])), data


def test_committed_offsets_as_kafka():
    cases = recorded("committed-offsets.json.gz")
    assert len(cases) > 15
    for case in cases:
        data = case["text"].encode() if "text" in case else bytes.fromhex(case["hex"])
        if "read" in case:
            assert read_committed_offsets(data) == {int(key): value for key, value in case["read"].items()}, (
                case
            )
        else:
            with pytest.raises(FormatError):
                read_committed_offsets(data)


def test_the_last_of_equal_partitions_wins():
    data = b"0\n3\nt 0 5\nu 0 1\nt 0 6\n"
    assert read_offset_checkpoint(data) == {TopicPartition("t", 0): 6, TopicPartition("u", 0): 1}
    assert read_offset_entries(data) == [
        OffsetEntry("t", 0, 5),
        OffsetEntry("u", 0, 1),
        OffsetEntry("t", 0, 6),
    ]


def test_an_equal_committed_partition_is_corrupt():
    with pytest.raises(CorruptError) as raised:
        read_committed_offsets(b"0\n2\n3 5\n3 5\n")
    assert (raised.value.position, raised.value.field) == (8, "line 4")


def test_long_topic():
    topic = "x" * 200
    assert read_offset_checkpoint(f"0\n1\n{topic} 0 1\n".encode()) == {TopicPartition(topic, 0): 1}


@pytest.mark.parametrize(("line", "found"), [(b"-1 5", "-1 5"), (b"1 -5", "1 -5")])
def test_negative_numbers_fail_the_load_not_the_read(line, found):
    data = b"0\n2\n0 0\n" + line + b"\n"
    entries = read_leader_epoch_checkpoint(data)
    for given_data, position in [(data, 8), (b"", 0)]:
        with pytest.raises(CorruptError) as raised:
            check_epoch_entries(entries, given_data)
        assert (raised.value.position, raised.value.field, raised.value.found) == (position, "line 4", found)


def test_entries_that_load():
    check_epoch_entries([EpochEntry(5, 10), EpochEntry(4, 3), EpochEntry(0, 0)])


@given(
    st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_round_trip(entries, end):
    lines = ["0", str(len(entries)), *(f"{epoch} {start}" for epoch, start in entries)]
    assert read_leader_epoch_checkpoint("".join(line + end for line in lines).encode()) == entries


def test_a_wrong_number_of_entries_is_said_as_the_broker_says_it():
    """`Expected [7] entries in checkpoint file, but found only [2]`."""
    with pytest.raises(CorruptError) as raised:
        read_leader_epoch_checkpoint(b"0\n7\n0 0\n2 38\n")
    assert str(raised.value).endswith("expected 7, found 2")
