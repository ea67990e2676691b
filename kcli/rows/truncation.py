"""The rows of `truncate`: what a truncation does to a partition, and the records that --rescue saves."""

from typing import Annotated, NamedTuple

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.truncation import SegmentAction, SnapshotAction
from kcli.rows.declare import Timestamp
from kcli.rows.partitions import FromFile, Where


class TruncatedSegment(NamedTuple):
    """What happens to one segment: values after are null of a deleted, before of a created one."""

    base_offset: int
    action: SegmentAction
    size_before: int | None
    size_after: int | None
    offset_index_entries_before: int | None
    offset_index_entries_after: int | None
    time_index_entries_before: int | None
    time_index_entries_after: int | None
    txn_index_entries_before: int | None
    txn_index_entries_after: int | None


class TruncatedSnapshot(NamedTuple):
    """What happens to the producer snapshot of an offset."""

    offset: int
    action: SnapshotAction


class TruncationRound(NamedTuple):
    """One fetch, or OffsetForLeaderEpoch, of a follower; null where the protocol has no such field."""

    round: int
    fetch_offset: int | None
    last_fetched_epoch: int | None
    requested_epoch: int | None
    leader_epoch: int | None
    end_offset: int | None
    truncate_to: int | None
    completed: bool
    rule: str


class TruncationRow(NamedTuple):
    """What a truncation of one partition changes and loses."""

    where: Where
    target_offset: Annotated[int, "the offset that the log is truncated to"]
    kind: Annotated[str, "none, partial or full"]
    log_end_offset_before: Annotated[int, "as loaded"]
    log_end_offset_after: Annotated[int, "live, right after the truncation"]
    log_end_offset_after_restart: Annotated[
        int | None, "after a clean stop and start; null when that start would fail"
    ]
    log_start_offset_before: Annotated[int, "as loaded"]
    log_start_offset_after: Annotated[int, "right after the truncation"]
    high_watermark_before: Annotated[int | None, "null when unknown"]
    high_watermark_after: Annotated[int | None, "null when unknown"]
    recovery_point_before: Annotated[int | None, "as loaded"]
    recovery_point_after: Annotated[int | None, "right after the truncation"]
    batches_removed: Annotated[int, "whole batches that go"]
    records_removed: Annotated[
        int | None, "records in them; null when a compressed batch of magic 0 or 1 hides the count"
    ]
    bytes_removed: Annotated[int, "bytes of .log files that go"]
    first_removed_offset: Annotated[int | None, "base offset of the first batch that goes"]
    last_removed_offset: Annotated[int | None, "inclusive"]
    first_removed_timestamp: Annotated[Timestamp | None, "of the first batch that goes (its base timestamp)"]
    max_removed_timestamp: Annotated[Timestamp | None, "largest timestamp that goes"]
    segments: Annotated[tuple[TruncatedSegment, ...], "what happens to each segment"]
    epochs_before: Annotated[tuple[EpochEntry, ...], "as loaded"]
    epochs_after: Annotated[tuple[EpochEntry, ...], "right after the truncation"]
    producer_snapshots: Annotated[tuple[TruncatedSnapshot, ...], "what happens to each producer snapshot"]
    leader_dir: Annotated[str | None, "the leader's replica; null without one"]
    protocol: Annotated[str | None, "fetch, epoch or high-watermark; null without a leader"]
    rounds: Annotated[
        tuple[TruncationRound, ...],
        "the exchanges with the leader that end in a truncation; empty without one",
    ]
    outcome: Annotated[
        str | None,
        "converged; out-of-range where the follower is reset to an end of the leader's log; stuck where the "
        "same fetch would fail for ever; tiered where the follower goes on past a remote segment; failed "
        "where that is not found; null without a leader",
    ]
    warnings: Annotated[tuple[str, ...], "what a person should know before it happens"]
    lost_offsets: Annotated[
        str | None,
        "offsets of the records that will be lost, A..B (inclusive), or A.. where damage hides the end; "
        "null where none is",
    ]
    rescue_command: Annotated[str | None, "saves the records that will be lost; null where none is"]
    records_lost: Annotated[
        int | None,
        "of records_removed those that could be read: no control records, not what is below "
        "log_start_offset_before, nor what remote storage has; null where they cannot be counted",
    ]


class RescuedHeader(NamedTuple):
    """A header of a record; `key_bytes` where the key is not UTF-8, else null."""

    key: str
    key_bytes: bytes | None
    value: bytes | None


class RescuedRecordRow(NamedTuple):
    """One record that goes, control records included."""

    source: FromFile
    offset: Annotated[int, "of the record"]
    timestamp: Annotated[Timestamp, "-1 none"]
    timestamp_type: Annotated[str, "CreateTime, LogAppendTime or NoTimestampType"]
    key: Annotated[bytes | None, "null apart from empty"]
    value: Annotated[bytes | None, "null apart from empty"]
    headers: Annotated[tuple[RescuedHeader, ...], "in their order"]
    partition_leader_epoch: Annotated[int, "of its batch; -1 none"]
    producer_id: Annotated[int, "-1 none"]
    producer_epoch: Annotated[int, "-1 none"]
    sequence: Annotated[int, "-1 none"]
    is_transactional: Annotated[bool, "whether its batch is part of a transaction"]
    control_type: Annotated[
        str | None, "Kafka's name of a control record's type, or its number if unknown; null for data"
    ]
