"""The rows of `retention` and `compact`: what becomes of segments and logs, what a cleaning makes of one."""

from typing import Annotated, Any, NamedTuple

from kcli.rows.declare import Timestamp
from kcli.rows.partitions import Where


class RetentionRow(NamedTuple):
    """What a broker's next look does with a segment of a local log."""

    where: Where
    segment_base_offset: Annotated[int, "the segment"]
    size: Annotated[int, "bytes of its log"]
    first_offset: Annotated[int | None, "of its first record; null where it has none, or it cannot be read"]
    last_offset: Annotated[int | None, "of its last batch, inclusive; null likewise"]
    first_timestamp: Annotated[Timestamp | None, "of its first record; null where it has none"]
    max_timestamp: Annotated[Timestamp | None, "largest of its records; null where none has one"]
    is_active: Annotated[bool, "whether records are appended to it"]
    action: Annotated[str | None, "delete or keep; null: delete if it is copied, which is not known"]
    rule: Annotated[str, "by which it goes: log-start-offset, retention.bytes, retention.ms; none"]
    reason: Annotated[str, "why it goes or stays"]
    deletable_at: Annotated[
        Timestamp | None,
        "from when on a look takes it if nothing else changes; null: never by time, or it is "
        "not known what is copied",
    ]
    blocked_by: Annotated[int | None, "past its time, but the older segment with this base offset stays"]


class FutureTimestamp(NamedTuple):
    """A record whose timestamp is ahead of the clock."""

    offset: int
    timestamp: int
    producer_id: int | None


class RetentionPartitionRow(NamedTuple):
    """A log with the settings that keep it, and of a compacted one what the cleaner may clean."""

    where: Where
    cleanup_policy: Annotated[str, "delete, compact, or both"]
    retention_ms: Annotated[int, "-1: no limit; of a tiered topic that of the local log"]
    retention_bytes: Annotated[int, "-1: no limit; of a tiered topic that of the local log"]
    segment_ms: Annotated[int, "after which a segment rolls, max.compaction.lag.ms considered"]
    segment_bytes: Annotated[int, "at which a segment rolls"]
    settings_from: Annotated[
        dict[str, Any],
        "where each is from: topic, broker, default, option, cleaner-offset-checkpoint, cleaned-batches",
    ]
    size: Annotated[int, "bytes of its logs, before"]
    deletable_bytes: Annotated[int | None, "bytes of the segments that go; null where it is not known of one"]
    deletable_bytes_now: Annotated[
        int | None, "that go as it is; null where no --config is tried, or likewise"
    ]
    log_start_offset: Annotated[int, "before"]
    high_watermark: Annotated[
        int | None, "as checkpointed, without other replicas the log end; null: not known, the log end counts"
    ]
    rolls_at: Annotated[
        Timestamp | None, "when an append rolls the active segment, without jitter; null: not by time"
    ]
    future_timestamps: Annotated[
        tuple[FutureTimestamp, ...], "records ahead of the clock, the first of them in offset order"
    ]
    cleaner_offset: Annotated[int | None, "of cleaner-offset-checkpoint; null without a line"] = None
    first_dirty_offset: Annotated[int | None, "from where on a cleaning reads; null: not compacted"] = None
    first_uncleanable_offset: Annotated[int | None, "which no cleaning passes"] = None
    end_offset: Annotated[int | None, "where a cleaning ends, at a segment: as in compact"] = None
    uncleanable_because: Annotated[
        str | None,
        "active-segment, open-transaction, min.compaction.lag.ms or high-watermark; log.cleaner.enable, "
        "cleaning-failed or stray: nothing is cleaned",
    ] = None
    clean_bytes: Annotated[int | None, "of segments that begin below the first dirty offset"] = None
    cleanable_bytes: Annotated[int | None, "of segments that a cleaning would read"] = None
    uncleanable_bytes: Annotated[int | None, "of those behind them, but for the active one"] = None
    dirty_ratio: Annotated[float | None, "cleanable bytes of both; null where there are none"] = None
    min_cleanable_dirty_ratio: Annotated[float | None, "above which the cleaner takes the log"] = None
    will_clean: Annotated[bool | None, "whether the cleaner takes the log next; null: not compacted"] = None
    tombstones_removable_at: Annotated[
        Timestamp | None, "the first delete horizon of a batch with tombstones; null where none is set"
    ] = None


class CompactSegmentRow(NamedTuple):
    """A segment of the log after a cleaning, those that it leaves alone too."""

    where: Where
    segment_base_offset: Annotated[int, "the segment afterwards"]
    sources: Annotated[tuple[int, ...], "base offsets of the segments that it is made of"]
    size_before: Annotated[int, "bytes of their logs"]
    size_after: Annotated[int, "bytes of its log"]
    records_before: Annotated[int, "end markers count"]
    records_after: Annotated[int, "end markers count"]
    batches_after: Annotated[int, "those without a record count"]


class CompactPartitionRow(NamedTuple):
    """One cleaning of a log, with the counts that the cleaner logs."""

    where: Where
    picked: Annotated[bool, "whether the cleaner takes the log next; the row says what it would do"]
    first_dirty_offset: Annotated[int, "from where on it reads keys"]
    end_offset: Annotated[int, "up to which it cleans, exclusive; at most the first dirty offset: nothing"]
    clean_checkpoint_after: Annotated[
        int | None, "in cleaner-offset-checkpoint; below end_offset: the keys did not fit; null: no line"
    ]
    messages_read: Annotated[int, "records; those of a batch that goes unread do not count"]
    messages_written: Annotated[int, "records"]
    bytes_read: Annotated[int, "of batches"]
    bytes_written: Annotated[int, "of batches"]
    keys: Annotated[int, "that it holds in memory"]
    passes: Annotated[int, "cleanings until end_offset is reached"]
    tombstones_removed: Annotated[int, "records without value whose time is over"]


class CompactRecordRow(NamedTuple):
    """A record that goes."""

    where: Where
    segment_base_offset: Annotated[int, "its segment, before"]
    offset: Annotated[int, "of the record"]
    reason: Annotated[str, "newer-key, tombstone, aborted, marker or no-key"]
