"""The rows of `compact`: what one cleaning makes of a log."""

from typing import Annotated, NamedTuple

from kcli.rows.partitions import Where


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
