"""Kafka's formatter's lines, and what its classes refuse."""

import base64
from functools import partial

import pytest

from formats.remote_metadata import decode
from kcli.kafka.remote.serde import java_text, kafka_text, refusal, unreadable
from tests.kcli.jobs.rlmm.dumps import VALUES, recorded


@pytest.mark.parametrize("version", VALUES)
def test_lines_are_those_of_the_formatter_of_4_3(version):
    """Every value that 4.3.1 can read; of the old layout it reads partition deletes alone."""
    for item in VALUES[version]:
        record = decode(base64.b64decode(item["value"]))

        assert unreadable(record) is None
        if item["formatter"] is None:
            assert record.layout == "3.0"
        else:
            assert kafka_text(item["partition"], item["offset"], record) == item["formatter"]


def test_lines_of_flipped_values_are_those_of_the_formatter_of_4_3():
    checked = 0
    for item in recorded("flipped-values.json.gz"):
        value = base64.b64decode(item["value"])
        for at, mask, line in item["flips"]:
            flipped = bytearray(value)
            flipped[at] ^= mask
            if line is None:
                continue
            assert kafka_text(0, 0, decode(bytes(flipped))) == line
            checked += 1
    assert checked > 2000


def value(name, **changes):
    """Return the first value of a class that 4.3.1 wrote, with other fields."""
    values = (item for item in VALUES["4.3.1"] if item["decoded"]["class"] == name)
    return decode(base64.b64decode(next(values)["value"]))._replace(**changes)


segment = partial(value, "RemoteLogSegmentMetadata")
entry = partial(value, "RemoteLogSegmentMetadataSnapshot")
NO_PARTITION = "it is an entry of snapshot files and names no partition"


@pytest.mark.parametrize(
    ("record", "no_object", "in_topic", "in_file"),
    [
        (segment(), None, None, None),
        (segment(state=4), *["state 4 is unknown"] * 3),
        (segment(state=-1), *["state -1 is unknown"] * 3),
        (segment(segment_leader_epochs=()), *["it has no leader epochs"] * 3),
        (segment(start_offset=-1), *["start offset -1 is negative"] * 3),
        (segment(start_offset=7, end_offset=6), *["end offset 6 is below start offset 7"] * 3),
        (entry(), None, NO_PARTITION, None),
        (entry(state=3), None, NO_PARTITION, "DELETE_SEGMENT_FINISHED must not occur in a snapshot file"),
        (entry(start_offset=-1), None, NO_PARTITION, "start offset -1 is negative"),
        (entry(segment_leader_epochs=()), *["it has no leader epochs"] * 3),
    ],
)
def test_what_kafka_refuses(record, no_object, in_topic, in_file):
    assert unreadable(record) == no_object
    assert refusal(record, in_topic=True) == in_topic
    assert refusal(record, in_topic=False) == in_file


def test_epochs_are_printed_as_a_sorted_map_in_which_the_last_of_equal_epochs_wins():
    epoch = segment().segment_leader_epochs[0]
    record = segment(
        segment_leader_epochs=(
            epoch._replace(leader_epoch=5, offset=9),
            epoch._replace(leader_epoch=-1, offset=1),
            epoch._replace(leader_epoch=5, offset=10),
        )
    )

    assert "segmentLeaderEpochs={-1=1, 5=10}," in java_text(record)
