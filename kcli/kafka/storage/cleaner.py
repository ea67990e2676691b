"""Up to where the log cleaner may clean a compacted log, and whether it would choose it.

The truth is `LogCleanerManager.cleanableOffsets`, `LogToClean` and `grabFilthiestCompactedLog`. Ends are
exclusive; sizes are bytes, times ms.
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import file_batches, segments_from, translate_offset
from kcli.kafka.storage.retention import LocalSegment

NOT_WHOLE = "the {} bytes from byte {} on are no whole batch"
BY_ACTIVE, BY_TRANSACTION = "active-segment", "open-transaction"
BY_LAG, BY_WATERMARK = "min.compaction.lag.ms", "high-watermark"
"""What a cleaning may not pass."""


class CleanerSettings(NamedTuple):
    """What the topic says of cleaning."""

    min_lag_ms: int
    max_lag_ms: int
    min_ratio: float


class CleanerBounds(NamedTuple):
    """Offsets that bound a cleaning; `checkpoint`: of cleaner-offset-checkpoint, None without a line.

    `first_unstable`: of the oldest open transaction; `high_watermark`: or of one completed above it.
    """

    checkpoint: int | None
    log_start: int
    log_end: int
    high_watermark: int
    first_unstable: int | None


class Cleanable(NamedTuple):
    """From where to where a cleaning may go, what holds it there, and whether the cleaner takes the log.

    `end`: at a segment's base offset; `uncleanable_bytes`: of the segments from there to the active one.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    end: int
    uncleanable_because: str
    clean_bytes: int
    cleanable_bytes: int
    uncleanable_bytes: int
    is_picked: bool

    @property
    def ratio(self) -> float | None:
        """The dirty ratio; None for a log without bytes that it is of."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else None


def find_cleanable(
    segments: Sequence[LocalSegment],
    first_batch_times: Sequence[int],
    bounds: CleanerBounds,
    settings: CleanerSettings,
    now_ms: int,
) -> Cleanable:
    """Return what the cleaner may clean; `first_batch_times`: the max_timestamp of each first batch."""
    first_dirty = bounds.log_start if bounds.checkpoint is None else bounds.checkpoint
    if not bounds.log_start <= first_dirty <= bounds.log_end:
        first_dirty = bounds.log_start
    active = segments[-1].base_offset
    dirty = _inactive_from(segments, first_dirty)
    limits = [(active, BY_ACTIVE), (bounds.high_watermark, BY_WATERMARK)]
    if bounds.first_unstable is not None:
        limits.append((bounds.first_unstable, BY_TRANSACTION))
    if settings.min_lag_ms > 0:
        youngest = now_ms - settings.min_lag_ms
        young = (segments[number] for number in dirty if segments[number].largest_timestamp > youngest)
        limits += [(each.base_offset, BY_LAG) for each in young][:1]
    least, because = min(limits, key=lambda limit: limit[0])
    uncleanable = max(first_dirty, least)
    beyond = _inactive_from(segments, uncleanable)
    end = segments[beyond[0]].base_offset if beyond else active
    begin = _floor(segments, min(first_dirty, end))
    clean = sum(each.size for each in segments if each.base_offset < first_dirty)
    cleanable = sum(each.size for each in segments[begin:] if each.base_offset < end)
    times = [time for number in dirty if (time := first_batch_times[number]) > 0]
    is_overdue = bool(times) and min(times) < now_ms - max(settings.max_lag_ms, 0)
    later_bytes = sum(each.size for each in segments if max(end, first_dirty) <= each.base_offset < active)
    result = Cleanable(first_dirty, uncleanable, end, because, clean, cleanable, later_bytes, is_picked=False)
    ratio = result.ratio
    is_picked = ratio is not None and (ratio > settings.min_ratio or (is_overdue and cleanable > 0))
    return result._replace(is_picked=is_picked)


def _floor(segments: Sequence[LocalSegment], offset: int) -> int:
    return max(bisect_right(segments, offset, key=attrgetter("base_offset")) - 1, 0)


def _inactive_from(segments: Sequence[LocalSegment], offset: int) -> range:
    """Return the numbers of the inactive segments from the one on that holds an offset."""
    if offset >= segments[-1].base_offset:
        return range(0)
    return range(_floor(segments, offset), len(segments) - 1)


def first_unstable(loaded: LoadedLog, first: int | None) -> int | None:
    """Return where a transaction is unstable from, at the log start a batch's base offset (`UnifiedLog`)."""
    if first is None or first >= loaded.log_start_offset:
        return first
    for segment in segments_from(loaded.segments, loaded.log_start_offset):
        position = translate_offset(segment, loaded.log_start_offset)
        if position is not None:
            with segment.log() as log:
                return next(file_batches(log, position, segment.log_size)).base_offset
    return loaded.log_start_offset
