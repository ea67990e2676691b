"""The rows of `rlmm`: what remote log metadata says of remote segments."""

from typing import Annotated, NamedTuple

from formats.checkpoint import EpochEntry
from formats.names import COMMITTED_OFFSETS, LOG, REMOTE_LOG_SNAPSHOT
from kcli.rows.declare import Timestamp, names_of


class RlmmEventRow(NamedTuple):
    """One event of remote log metadata."""

    dir: Annotated[str, "directory of the file, as reached from the argument"]
    file: Annotated[str, "file name"]
    metadata_partition: Annotated[int | None, "partition of __remote_log_metadata"] = None
    metadata_offset: Annotated[int | None, "offset in that partition; null in a snapshot file"] = None
    timestamp: Annotated[Timestamp | None, "of the record; null in a snapshot file"] = None
    record_type: Annotated[str | None, "Kafka's name of the record; null if the value cannot be decoded"] = (
        None
    )
    record_version: Annotated[int | None, "version inside the envelope"] = None
    layout: Annotated[str | None, "3.0, 3.6 or 4.0: the oldest release that writes these bytes"] = None
    topic: Annotated[str | None, "user topic"] = None
    topic_id: Annotated[str | None, "of the user topic"] = None
    partition: Annotated[int | None, "of the user topic"] = None
    segment_id: Annotated[str | None, "id of the remote segment"] = None
    start_offset: Annotated[int | None, "inclusive"] = None
    end_offset: Annotated[int | None, "inclusive"] = None
    broker_id: Annotated[int | None, "of the event"] = None
    max_timestamp_ms: Annotated[Timestamp | None, "largest timestamp in the segment"] = None
    event_timestamp_ms: Annotated[Timestamp | None, "of the event"] = None
    segment_leader_epochs: Annotated[tuple[EpochEntry, ...] | None, "leader epochs inside the segment"] = None
    segment_size_bytes: Annotated[int | None, "bytes of the segment's log"] = None
    custom_metadata: Annotated[bytes | None, "of the remote storage manager; null apart from empty"] = None
    state: Annotated[str | None, "Kafka's name of the state, or its number if unknown"] = None
    txn_index_empty: Annotated[
        bool | None,
        "false where it is left out, as Kafka reads it; null in the layout of 3.0 and for other records",
    ] = None
    raw: Annotated[bytes | None, "the value's bytes"] = None
    error: Annotated[str | None, "why the value cannot be decoded"] = None


class RlmmSnapshotRow(NamedTuple):
    """The header of a remote_log_snapshot."""

    dir: Annotated[str, "directory of the file, as reached from the argument"]
    file: Annotated[str, "file name"]
    version: Annotated[int, "of the file"]
    metadata_partition: Annotated[int, "partition of __remote_log_metadata"]
    metadata_partition_offset: Annotated[int, "offset up to which the content is covered"]
    entries: Annotated[int, "count in the header"]


class RlmmCommittedOffsetRow(NamedTuple):
    """One line of _rlmm_committed_offsets."""

    dir: Annotated[str, "directory of the file, as reached from the argument"]
    file: Annotated[str, "file name"]
    metadata_partition: Annotated[int, "partition of __remote_log_metadata"]
    committed_offset: Annotated[int, "last offset consumed"]


class RlmmKipEventRow(NamedTuple):
    """One entry of a flat file as KIP-405 lays it out."""

    dir: Annotated[str, "directory of the file, as reached from the argument"]
    file: Annotated[str, "file name"]
    metadata_partition: Annotated[int | None, "null: a flat file does not say it"] = None
    metadata_offset: Annotated[int | None, "null: a flat file does not say it"] = None
    position: Annotated[int | None, "first byte of the entry"] = None
    record_type: Annotated[str | None, "the KIP's name of it; null if it cannot be decoded"] = None
    record_version: Annotated[int | None, "version in the record or entry"] = None
    topic: Annotated[str | None, "user topic"] = None
    topic_id: Annotated[str | None, "of the user topic"] = None
    partition: Annotated[int | None, "of the user topic"] = None
    segment_id: Annotated[str | None, "id of the remote segment"] = None
    start_offset: Annotated[int | None, "inclusive"] = None
    end_offset: Annotated[int | None, "inclusive"] = None
    leader_epoch: Annotated[int | None, "of the leader, or the controller, that made the event"] = None
    max_timestamp_ms: Annotated[Timestamp | None, "largest timestamp in the segment"] = None
    event_timestamp_ms: Annotated[Timestamp | None, "of the event"] = None
    segment_leader_epochs: Annotated[tuple[EpochEntry, ...] | None, "leader epochs inside the segment"] = None
    segment_size_bytes: Annotated[int | None, "bytes of the segment's log"] = None
    state: Annotated[str | None, "Kafka's name of the state, or its number if unknown"] = None
    raw: Annotated[bytes | None, "the value's bytes if it cannot be decoded"] = None
    error: Annotated[str | None, "why it cannot be decoded"] = None


class RlmmKipFileRow(NamedTuple):
    """The head of a flat file as KIP-405 lays it out."""

    dir: Annotated[str, "directory of the file, as reached from the argument"]
    file: Annotated[str, "file name"]
    magic: Annotated[int, "of the file"]
    topic: Annotated[str, "user topic"]
    topic_id: Annotated[str, "of the user topic"]
    covered_offset: Annotated[int, "last offset of the metadata partition that is in the file"]
    entries: Annotated[int, "entries that can be read"]


class RlmmPartitionRow(NamedTuple):
    """The metadata partition of one user partition."""

    topic_id: Annotated[str, "of the user topic"]
    partition: Annotated[int, "of the user topic"]
    metadata_partition: Annotated[int, "partition of __remote_log_metadata that holds its events"]


class RlmmKipPartitionRow(NamedTuple):
    """The metadata partition of one user partition by the text of KIP-405, which no broker follows."""

    topic: Annotated[str, "user topic"]
    partition: Annotated[int, "of the user topic"]
    metadata_partition: Annotated[int, "partition of __remote_log_metadata that the KIP names"]


ROW_TYPES_OF_KIND = {
    LOG: names_of(RlmmEventRow),
    REMOTE_LOG_SNAPSHOT: names_of(RlmmEventRow, RlmmSnapshotRow),
    COMMITTED_OFFSETS: names_of(RlmmCommittedOffsetRow),
}
"""Target kind -> the row types that such a file can give."""
