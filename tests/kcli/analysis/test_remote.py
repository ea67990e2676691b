"""Kafka's murmur2 and partitioner, its formatter's lines, and what its classes refuse."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from formats.errors import CorruptError
from formats.remote_metadata import decode
from kcli.analysis.remote import java_text, kafka_text, metadata_partition, murmur2, refusal, unreadable

DATA = Path(__file__).parents[2] / "data" / "rlmm"


def recorded(name):
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


VALUES = recorded("values.json.gz")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
        ((30752).to_bytes(4, "big"), 1180230835),
        ((30753).to_bytes(4, "big"), -1340843442),
        ((1764429718).to_bytes(4, "big"), -489037999),
    ],
)
def test_murmur2_is_kafkas(data, expected):
    """Vectors of Kafka's own UtilsTest, then hashes of user partitions."""
    assert murmur2(data) == expected % 2**32


@pytest.mark.parametrize(
    ("topic_id", "partition", "expected"),
    [
        ("AAAAAAAAAAAAAAAAAAAAAQ", 0, 35),
        ("AAAAAAAAAAAAAAAAAAAAAQ", 1, 6),
        ("u4NdSfWRQjaZ_ENyxMXLJA", 0, 49),
        ("u4NdSfWRQjaZ_ENyxMXLJA", 7, 18),
        ("u4NdSfWRQjaZ_ENyxMXLJA==", 7, 18),
    ],
)
def test_metadata_partition(topic_id, partition, expected):
    assert metadata_partition(topic_id, partition) == expected
    assert metadata_partition(topic_id, partition, 1) == 0


def test_metadata_partition_of_real_events_is_where_they_were():
    events = recorded("tiered/events.json.gz")

    for event in events:
        assert metadata_partition(event["topic_id"], event["partition"], 4) == event["metadata_partition"]
    assert len({event["metadata_partition"] for event in events}) == 4


def test_metadata_partition_of_recorded_values_is_where_their_partitioner_put_them():
    """Written with the partitioner of 3.1 to 4.3 and five partitions; entries of snapshot files have none."""
    checked = 0
    for version, items in VALUES.items():
        for item in items:
            told = item["decoded"]
            if version != "3.0.2" and "topicId" in told:
                assert metadata_partition(told["topicId"], told["partition"], 5) == item["partition"]
                checked += 1
    assert checked > 700


@pytest.mark.parametrize(
    "text",
    [
        "",
        "foo",
        "u4NdSfWRQjaZ_ENyxMXLJ",
        "u4NdSfWRQjaZ_ENyxMXLJAA",
        "u4NdSfWRQjaZ+ENyxMXLJA",
        "u4NdSfWRQjaZ_ENyxMXLJ\xe4",
    ],
)
def test_not_a_topic_id(text):
    with pytest.raises(CorruptError):
        metadata_partition(text, 0)


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
            assert kafka_text(0, 0, decode(bytes(flipped), replace_invalid_utf8=True)) == line
            checked += 1
    assert checked > 2000


def segment(**changes):
    record = next(
        decode(base64.b64decode(item["value"]))
        for item in VALUES["4.3.1"]
        if item["decoded"]["class"] == "RemoteLogSegmentMetadata"
    )
    return record._replace(**changes)


def entry(**changes):
    record = next(
        decode(base64.b64decode(item["value"]))
        for item in VALUES["4.3.1"]
        if item["decoded"]["class"] == "RemoteLogSegmentMetadataSnapshot"
    )
    return record._replace(**changes)


@pytest.mark.parametrize(
    ("record", "no_object", "in_topic", "in_file"),
    [
        (segment(), None, None, None),
        (segment(state=4), *["state 4 is unknown"] * 3),
        (segment(state=-1), *["state -1 is unknown"] * 3),
        (segment(segment_leader_epochs=()), *["it has no leader epochs"] * 3),
        (segment(start_offset=-1), *["start offset -1 is negative"] * 3),
        (segment(start_offset=7, end_offset=6), *["end offset 6 is below start offset 7"] * 3),
        (entry(), None, "it is an entry of snapshot files and names no partition", None),
        (
            entry(state=3),
            None,
            "it is an entry of snapshot files and names no partition",
            "DELETE_SEGMENT_FINISHED must not occur in a snapshot file",
        ),
        (
            entry(start_offset=-1),
            None,
            "it is an entry of snapshot files and names no partition",
            "start offset -1 is negative",
        ),
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
