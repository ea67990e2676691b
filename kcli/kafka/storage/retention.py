"""What a broker's next look deletes of a local log, and why the rest stays.

The truth is `UnifiedLog.deleteOldSegments`: by log start, by size, then by time, each from the oldest segment
on and up to the first that stays. Sizes are bytes, times ms; -1 as a limit: none.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from formats.batch import NO_TIMESTAMP
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import BrokerError, Index, LoadedSegment, has_zero_tail
from kcli.kafka.storage.valid_batches import header_batches
from kcli.words import duration

BY_LOG_START, BY_SIZE, BY_TIME, NO_RULE = "log-start-offset", "retention.bytes", "retention.ms", "none"
HIGH_WATERMARK, ACTIVE, NOT_COPIED = "high-watermark", "active", "not-copied"
ACTIVE_AND_EMPTY = "it is the active segment, and empty"
OLDER_STAYS, WITHIN_LIMITS = "not-reached", "within-limits"
"""Why a segment stays."""
NO_TIME_ENTRY = "its time index is empty, the file's time counts"
LARGEST_TIME = (1 << 63) - 1


class LocalSegment(NamedTuple):
    """A segment of a local log: offsets inclusive to exclusive, bytes of its log.

    `largest_timestamp`: of `LogSegment`, the file's mtime without any, and then `has_timestamps` is false.
    """

    base_offset: int
    end_offset: int
    size: int
    largest_timestamp: int
    has_timestamps: bool


class DeletionBounds(NamedTuple):
    """What a segment must lie below to go, whatever its age; offsets are exclusive.

    `local_start`: the first on local disk; `remote_end`: of remote storage, None: no copy is waited for.
    """

    high_watermark: int
    local_start: int
    remote_end: int | None = None
    log_start: int = 0


class LocalVerdict(NamedTuple):
    """What becomes of a segment: the rule by which it goes, or why it stays.

    `deletable_at`: the first ms at which time takes it, if ever; `blocked_by`: the older one that keeps it.
    """

    segment: LocalSegment
    rule: str
    stays: str | None
    reason: str
    deletable_at: int | None = None
    blocked_by: int | None = None


def local_segments(log: LoadedLog, *, is_written: bool = False) -> list[LocalSegment]:
    """Return a log's segments as retention sees them, the last of one `is_written` by batches; FileError."""
    ends = [*(segment.base_offset for segment in log.segments[1:]), log.log_end_offset]
    segments = []
    for segment, end in zip(log.segments, ends, strict=True):
        is_open = is_written and segment is log.segments[-1]
        largest = _largest(segment, reads_tail=is_open or segment.base_offset in log.recovered)
        has_timestamps = largest != NO_TIMESTAMP
        if not has_timestamps and segment.log_path is not None:
            with segment.log() as file:
                largest = file.mtime_ms
        segments.append(LocalSegment(segment.base_offset, end, segment.log_size, largest, has_timestamps))
    return segments


def _largest(segment: LoadedSegment, *, reads_tail: bool) -> int:
    """Return the largest timestamp by a segment's time index; with `reads_tail` by its last batches, too.

    What is written to has entries in memory, and zeros on disk; all batches are read where it is empty.
    """
    if not reads_tail or segment.log_path is None:
        return segment.last_time_entry()[0]
    segment = without_zero_tails(segment)
    largest = segment.last_time_entry()[0]
    position = 0 if largest < 0 else segment.last_indexed()[1]
    with segment.log() as log, suppress(BrokerError):  # zeros of a preallocated file
        for batch in header_batches(log, position, segment.log_size):
            largest = max(largest, batch.max_timestamp)
    return largest


def newest_timestamp(segment: LoadedSegment, *, reads_tail: bool) -> int | None:
    """Return the largest timestamp of a segment's records, if any; without its tail if the index has some."""
    largest = _largest(segment, reads_tail=reads_tail)
    if largest <= 0 and not reads_tail:
        largest = _largest(segment, reads_tail=True)
    return None if largest < 0 else largest


def without_zero_tails(segment: LoadedSegment) -> LoadedSegment:
    """Return a segment without the zeros after the entries of its indexes."""
    if not (has_zero_tail(segment.time_index) or has_zero_tail(segment.offset_index)):
        return segment
    offsets = segment.offset_index._replace(entries=written_entries(segment.offset_index))
    times = segment.time_index._replace(entries=written_entries(segment.time_index))
    return segment._replace(offset_index=offsets, time_index=times)


def written_entries(index: Index[Any]) -> int:
    """Return how many entries of an index are written: those before zeros at its end."""
    with index.reader() as get:
        return bisect_left(range(index.entries), 1, key=lambda slot: not any(get(slot)))


def delete_old_segments(
    segments: Sequence[LocalSegment],
    retention_ms: int,
    retention_bytes: int,
    bounds: DeletionBounds,
    now_ms: int,
) -> list[LocalVerdict]:
    """Return what one look does with each segment, in the order of the log."""
    verdicts: list[LocalVerdict] = []
    queue = list(segments)
    blocked: tuple[str, str] | None = None

    def take(rule: str, reasons: Iterable[str | None]) -> None:
        """Take the oldest segments that a rule has a reason for; note what stops it."""
        nonlocal blocked
        for segment, reason in zip(list(queue), reasons, strict=False):
            if reason is None:
                return
            blocker = _blocker(segment, bounds, is_last=segment is segments[-1])
            if blocker is not None:
                though = f", though {reason}" if segment.size else ""
                blocked = blocked or (blocker[0], blocker[1] + though)
                return
            verdicts.append(LocalVerdict(queue.pop(0), rule, None, reason))

    start = bounds.local_start
    below = f"it ends below the log start offset {start}"
    take(BY_LOG_START, [below if each.end_offset <= start else None for each in queue[:-1]])
    surplus = sum(each.size for each in queue) - retention_bytes if retention_bytes >= 0 else -1
    take(BY_SIZE, _above_size(tuple(queue), surplus))
    times = list(_deletable_at(queue, retention_ms, bounds, segments[-1]))
    first = len(verdicts)
    ages = [now_ms - each.largest_timestamp for each in queue]
    aged = [_aged(*each) if 0 <= retention_ms < each[1] else None for each in zip(queue, ages, strict=True)]
    take(BY_TIME, aged)
    verdicts += _keep_verdicts(queue, blocked, (retention_ms, retention_bytes), bounds, now_ms)
    timed = [each._replace(deletable_at=time) for each, time in zip(verdicts[first:], times, strict=True)]
    return verdicts[:first] + timed


def _aged(segment: LocalSegment, age: int) -> str:
    if segment.has_timestamps:
        return f"newest record {duration(age)} old"
    return f"file {duration(age)} old" + (f": {NO_TIME_ENTRY}" if segment.size else "")


def _above_size(segments: Sequence[LocalSegment], surplus: int) -> Iterator[str | None]:
    for segment in segments:
        fits = surplus - segment.size >= 0
        yield f"the log is {surplus} bytes above its limit" if fits else None
        surplus -= segment.size if fits else 0


def _blocker(segment: LocalSegment, bounds: DeletionBounds, *, is_last: bool) -> tuple[str, str] | None:
    """Return why a segment may not go, whatever its age and the size of the log."""
    upper = segment.end_offset
    if bounds.high_watermark < upper:
        return HIGH_WATERMARK, f"the high watermark is {bounds.high_watermark}"
    if is_last and not segment.size:
        return ACTIVE, ACTIVE_AND_EMPTY
    end = bounds.remote_end
    is_below_start = not is_last and bounds.log_start >= upper
    if end is not None and not (0 < upper <= end or is_below_start):
        where = (
            f"remote storage ends at {end - 1}" if end > 0 else "remote storage has no segment of this log"
        )
        return NOT_COPIED, f"it is not copied: {where}"
    return None


def _deletable_at(
    segments: Sequence[LocalSegment], retention_ms: int, bounds: DeletionBounds, last: LocalSegment
) -> Iterator[int | None]:
    latest: int | None = 0
    for segment in segments:
        own = segment.largest_timestamp + retention_ms + 1
        if retention_ms < 0 or own > LARGEST_TIME or _blocker(segment, bounds, is_last=segment is last):
            latest = None
        latest = None if latest is None else max(latest, own)
        yield latest


def _keep_verdicts(
    segments: Sequence[LocalSegment],
    blocked: tuple[str, str] | None,
    limits: tuple[int, int],
    bounds: DeletionBounds,
    now_ms: int,
) -> Iterator[LocalVerdict]:
    """Yield why segments stay, by limits in ms and bytes: the oldest for itself, and it keeps the others."""
    retention_ms, retention_bytes = limits
    for segment in segments[:1]:
        reasons = []
        if retention_ms >= 0:
            reasons.append(_age_left(segment, retention_ms, now_ms))
        if retention_bytes >= 0:
            reasons.append(f"less than {BY_SIZE} without it")
        own = WITHIN_LIMITS, "; ".join(reasons) or "no limit"
        if retention_ms >= 0 and len(segments) == 1 and not segment.size:
            own = ACTIVE, ACTIVE_AND_EMPTY
        yield LocalVerdict(segment, NO_RULE, *(blocked or own))
    for segment in segments[1:]:
        is_past = 0 <= retention_ms < now_ms - segment.largest_timestamp
        is_blocked = is_past and bounds.high_watermark >= segment.end_offset
        blocker = segments[0].base_offset if is_blocked else None
        yield LocalVerdict(segment, NO_RULE, OLDER_STAYS, "an older segment is kept", None, blocker)


def _age_left(segment: LocalSegment, retention_ms: int, now_ms: int) -> str:
    age = now_ms - segment.largest_timestamp
    reason = f"by time in {duration(max(retention_ms - age, 0))}"
    what = "newest record" if segment.has_timestamps else "file"
    if age < 0:
        reason += f": its {what} lies {duration(-age)} ahead of the clock"
    elif segment.size and not segment.has_timestamps:
        reason += f": {NO_TIME_ENTRY}"
    return reason
