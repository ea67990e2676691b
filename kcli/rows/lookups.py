"""The rows of `lookup`, `partition-for` and `uuid`: where a record is, and which ids lead to it."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp
from kcli.rows.partitions import Where


class FoundBatch(NamedTuple):
    """The batch that a fetch returns first, and the index entry that leads to it; nulls for none."""

    segment_base_offset: Annotated[int | None, "of the segment that answers"] = None
    file: Annotated[str | None, "base name of the .log file that answers"] = None
    path: Annotated[str | None, "its path, as reached from the argument"] = None
    position: Annotated[int | None, "byte position of the batch"] = None
    batch_base_offset: Annotated[
        int | None, "base offset as stored: of a compressed wrapper of magic 0 or 1 its last offset"
    ] = None
    batch_last_offset: Annotated[int | None, "last offset of the batch, inclusive"] = None
    leader_epoch: Annotated[int | None, "of the batch"] = None
    index_entry_offset: Annotated[int | None, "of the index entry that the search started from"] = None
    index_entry_position: Annotated[int | None, "of that entry"] = None


class LookupOffsetRow(NamedTuple):
    """The answer to `lookup offset`."""

    where: Where
    offset: Annotated[int, "the offset asked for"]
    found: Annotated[bool, "whether a batch holds it or follows it"]
    batch: FoundBatch
    reason: Annotated[str, "why this is the answer"]
    remote_segment_id: Annotated[
        str | None, "of the remote segment that serves it, by --remote-metadata; null where local disk does"
    ] = None


class FoundRecord(NamedTuple):
    """The record that ListOffsets finds, and where its batch lies; all null where there is none."""

    offset: Annotated[int | None, "of the first record at or after the timestamp"] = None
    record_timestamp: Annotated[Timestamp | None, "of that record"] = None
    leader_epoch: Annotated[int | None, "of its batch"] = None
    segment_base_offset: Annotated[int | None, "of the segment that answers"] = None
    file: Annotated[str | None, "base name of the .log file that answers"] = None
    path: Annotated[str | None, "its path, as reached from the argument"] = None
    position: Annotated[int | None, "byte position of the batch"] = None


class LookupTimestampRow(NamedTuple):
    """The answer to `lookup timestamp`."""

    where: Where
    timestamp: Annotated[Timestamp | None, "the timestamp asked for; null for max"]
    found: Annotated[bool, "whether there is an answer"]
    record: FoundRecord
    reason: Annotated[str, "why this is the answer"]


class PartitionForRow(NamedTuple):
    """The partition of one key or name."""

    kind: Annotated[str, "key, group, transactional-id, topic-id or share-group"]
    value: Annotated[str, "as given"]
    topic: Annotated[str | None, "the internal topic that the partition is of; null for a key"]
    partitions: Annotated[int, "how many the topic has"]
    hash: Annotated[int, "of the value: murmur2 of keys and of topic-id, Java's hashCode of the others"]
    partition: Annotated[int, "where the value belongs"]


class UuidRow(NamedTuple):
    """One UUID as Kafka and as Java write it."""

    uuid: Annotated[str, "base64url, 22 characters: as Kafka prints topic ids and segment ids"]
    hex: Annotated[str, "hexadecimal with dashes"]
    most_significant_bits: Annotated[int, "the first half as a long"]
    least_significant_bits: Annotated[int, "the second half as a long"]
