"""Kafka's murmur2, hash codes and partitioners."""

import gzip
import json
from pathlib import Path

import pytest

from formats.errors import CorruptError
from kcli.kafka.remote.partitioning import hash_code, murmur2, partition_of_events

DATA = Path(__file__).parents[3] / "data" / "rlmm"


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


def test_metadata_partition_of_recorded_values_is_where_their_partitioner_put_them():
    """Written with the partitioner of 3.1 to 4.3 and five partitions; entries of snapshot files have none."""
    checked = 0
    for version, items in VALUES.items():
        for item in items:
            reported = item["decoded"]
            if version != "3.0.2" and "topicId" in reported:
                placed = partition_of_events(reported["topicId"], reported["partition"], 5)
                assert placed.partition == item["partition"]
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
        partition_of_events(text, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("polygenelubricants", -(2**31)),
        ("group", 98629247),
        ("\U0001f600", 55357 * 31 + 56832),
    ],
)
def test_hash_code_is_javas(text, expected):
    assert hash_code(text) == expected
