"""Where an offset or a timestamp lies, by the rules of a broker that reads its log.

The truth is `UnifiedLog.read` (below it `LocalLog`, `LogSegment`) for offsets and
`UnifiedLog.fetchOffsetByTimestamp` for timestamps. What a client may see beyond that (high watermark, last
stable offset) is not applied: the log itself is asked.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

IN_BATCH = "in batch"
GAP = "gap"
LOG_END = "log end"
ABOVE_LOG_END = "above log end"
BELOW_LOG_START = "below log start"
REMOTE = "remote"
NO_BATCH = "no batch"

FOUND = "found"
AFTER_ALL = "after all records"
NOT_IN_SEGMENT = "not in segment"
NO_TIMESTAMPS = "no timestamps"


class Timed(Protocol):
    """What a lookup needs of a record."""

    @property
    def offset(self) -> int:
        """Its offset."""

    @property
    def timestamp(self) -> int:
        """Its timestamp in ms."""


class LargestTimestamp(NamedTuple):
    """The largest timestamp of a segment in ms (-1: none) and the last offset of the first batch with it."""

    timestamp: int
    offset: int


def outside(
    offset: int, log_start_offset: int, local_log_start_offset: int, log_end_offset: int
) -> str | None:
    """Return why a fetch at `offset` finds nothing before any segment is looked at.

    None if it is inside the log.
    """
    if offset < log_start_offset:
        return f"{BELOW_LOG_START}: the log starts at {log_start_offset}; a fetch gets OFFSET_OUT_OF_RANGE"
    if offset < min(local_log_start_offset, log_end_offset):
        return (
            f"{REMOTE}: the local log starts at {local_log_start_offset}; the broker reads this offset from "
            "remote storage"
        )
    if offset == log_end_offset:
        return f"{LOG_END}: the next record gets this offset; a fetch waits for it"
    if offset > log_end_offset:
        return f"{ABOVE_LOG_END}: the log ends at {log_end_offset}; a fetch gets OFFSET_OUT_OF_RANGE"
    return None


def floor_segment(base_offsets: Sequence[int], offset: int) -> int:
    """Return the place of the segment with the largest base offset at or below `offset`.

    0 if there is none.
    """
    return max(bisect_right(base_offsets, offset) - 1, 0)


def reason_of(base_offset: int, offset: int, *, is_wrapper: bool = False) -> str:
    """Return why a batch is the answer: it spans the offset, or is the next one after a gap.

    The header of a `is_wrapper`, a compressed message of magic 0 or 1, holds its last offset as the base
    offset.
    """
    if is_wrapper:
        return f"{IN_BATCH}: a compressed message of magic 0 or 1, whose first offset is inside it"
    if base_offset > offset:
        return (
            f"{GAP}: offsets {offset} to {base_offset - 1} are not found; a fetch returns the batch "
            "after them"
        )
    return IN_BATCH


def largest_place(largest: Sequence[LargestTimestamp]) -> int:
    """Return the place of the first segment that has the largest timestamp of all."""
    return max(range(len(largest)), key=lambda place: (largest[place].timestamp, -place))


def first_record(records: Iterable[Timed], timestamp: int, start_offset: int) -> Timed | None:
    """Return the first record of a batch at or after a timestamp, with an offset from `start_offset` on."""
    return next(
        (record for record in records if record.timestamp >= timestamp and record.offset >= start_offset),
        None,
    )


def record_of_max(records: Iterable[Timed], max_timestamp: int) -> Timed | None:
    """Return the first record of a batch that has its batch's largest timestamp."""
    return next((record for record in records if record.timestamp == max_timestamp), None)
