"""Which partition something belongs to, by the rules of Kafka's clients and coordinators.

A record by its key: `BuiltInPartitioner.partitionForKey`, murmur2 of the key's bytes. A group, a
transactional id or a share partition by the hash code of its text: `GroupCoordinatorService.partitionFor`,
`TransactionStateManager.partitionFor`, `ShareCoordinatorService.partitionFor`. The events of a user
partition: `RemoteLogMetadataTopicPartitioner`.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from formats.primitives import java_int, uuid_bytes

DEFAULT_PARTITIONS = 50
"""Partitions of each of Kafka's internal topics, unless the broker's configuration says otherwise."""

MOST_PARTITIONS = 1000
"""Of __remote_log_metadata, to look for how many there are."""

_MASK_32 = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_MURMUR_SEED = 0x9747B28C
_MURMUR_M = 0x5BD1E995
_MURMUR_R = 24


class Placed(NamedTuple):
    """The hash as Java's int, and the partition that it leads to."""

    hash: int
    partition: int


def partition_of_key(key: bytes, partitions: int) -> Placed:
    """Return where the default partitioner of producers puts records with this key."""
    return _by_low_bits(murmur2(key), partitions)


def partition_of_text(text: str, partitions: int) -> Placed:
    """Return where coordinators keep a group or transactional id, by `String.hashCode` and `Utils.abs`."""
    hashed = hash_code(text)
    return Placed(hashed, 0 if hashed == -(1 << 31) else abs(hashed) % partitions)


def events_topic_size(places: Iterable[tuple[tuple[str, str, int], int]]) -> int | None:
    """Return how many partitions __remote_log_metadata has, by where the events of user partitions are.

    `places`: (topic id, topic, partition), metadata partition. The usual number, else the smallest that fits.
    """
    hashes = [(partition_of_events(key[0], key[2]).hash & _POSITIVE, number) for key, number in places]
    sizes = (DEFAULT_PARTITIONS, *range(1, MOST_PARTITIONS))
    return next((size for size in sizes if all(hashed % size == number for hashed, number in hashes)), None)


def partition_of_events(topic_id: str, partition: int, partitions: int = DEFAULT_PARTITIONS) -> Placed:
    """Return where all events of a user partition are in __remote_log_metadata; CorruptError for no uuid."""
    most, least = struct.unpack(">QQ", uuid_bytes(topic_id, "topic id"))
    hashed = 1
    for number in (_java_long_hash(least), _java_long_hash(most), partition):
        hashed = (31 * hashed + number) & _MASK_32
    return _by_low_bits(murmur2(hashed.to_bytes(4, "big")), partitions)


def hash_code(text: str) -> int:
    """Return Java's `hashCode` of a text."""
    hashed = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be")):
        hashed = (31 * hashed + unit) & _MASK_32
    return java_int(hashed)


def _java_long_hash(value: int) -> int:
    return (value ^ (value >> 32)) & _MASK_32


def _by_low_bits(hashed: int, partitions: int) -> Placed:
    return Placed(java_int(hashed), (hashed & _POSITIVE) % partitions)


def murmur2(data: bytes) -> int:
    """Return Kafka's 32-bit murmur2 of `data` (`Utils.murmur2`), unsigned."""
    hashed = (_MURMUR_SEED ^ len(data)) & _MASK_32
    aligned_size = len(data) - len(data) % 4
    for (word,) in struct.iter_unpack("<I", data[:aligned_size]):
        mixed = (word * _MURMUR_M) & _MASK_32
        mixed ^= mixed >> _MURMUR_R
        hashed = ((hashed * _MURMUR_M) & _MASK_32) ^ ((mixed * _MURMUR_M) & _MASK_32)
    if aligned_size < len(data):
        hashed = ((hashed ^ int.from_bytes(data[aligned_size:], "little")) * _MURMUR_M) & _MASK_32
    hashed = ((hashed ^ (hashed >> 13)) * _MURMUR_M) & _MASK_32
    return hashed ^ (hashed >> 15)
