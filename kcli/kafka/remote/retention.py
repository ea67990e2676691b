"""What a leader's next clean-up deletes of a tiered partition, in which order, and why the rest is kept.

The truth is `RemoteLogManager.RLMExpirationTask` for remote segments, and `UnifiedLog.deleteOldSegments` for
local ones. Sizes are bytes, times ms; -1 as a limit: none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formats.remote_metadata import RemoteLogSegmentMetadata
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, DELETE_SEGMENT_STARTED, CachedSegment, RemoteCache
from kcli.kafka.remote.lineage import outside_lineage, with_records
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.words import duration

DELETE, KEEP = "delete", "keep"
RETRY, BELOW_LOG_START, BY_TIME, BY_SIZE, BELOW_LINEAGE = (
    "retry",
    "log-start",
    "time",
    "size",
    "below-lineage",
)
LINEAGE, WITHIN_LIMITS, NOT_REACHED = "lineage", "within-limits", "not-reached"
ABOVE_HIGH_WATERMARK, ACTIVE, NOT_COPIED = "high-watermark", "active", "not-copied"
"""The rules by which segments go and stay."""
INHERIT = -2
"""As local.retention.ms or local.retention.bytes: the limit of the whole log."""


class Limits(NamedTuple):
    """The topic's limits; local ones may be INHERIT."""

    retention_ms: int
    retention_bytes: int
    local_retention_ms: int
    local_retention_bytes: int

    @property
    def local(self) -> tuple[int, int]:
        """The limits of the local log in ms and bytes."""
        ms, size = self.local_retention_ms, self.local_retention_bytes
        return (
            self.retention_ms if ms == INHERIT else ms,
            self.retention_bytes if size == INHERIT else size,
        )


class LocalSegment(NamedTuple):
    """A local segment: its first offset, bytes of its log, largest timestamp (or the file's mtime)."""

    base_offset: int
    size: int
    largest_timestamp: int


class LeaderLog(NamedTuple):
    """What counts of the leader's log; `epochs` as it holds them, `highest_remote` the last copied offset.

    Of a log that is not tiered local segments go by the limits of the whole log.
    """

    is_tiered: bool
    epochs: EpochCache
    log_start_offset: int
    local_log_start_offset: int
    log_end_offset: int
    high_watermark: int
    segments: tuple[LocalSegment, ...]
    highest_remote: int


class Verdict(NamedTuple):
    """What becomes of one segment, remote or local, and why; `code` is the rule in one word."""

    segment: CachedSegment | LocalSegment
    action: str
    code: str
    reason: str


class Expired(NamedTuple):
    """Verdicts of remote segments in the order of the broker; the new log start offset, None if it stays."""

    verdicts: tuple[Verdict, ...]
    log_start_offset: int | None


def expire_remote(cache: RemoteCache, log: LeaderLog, limits: Limits, now_ms: int) -> Expired:
    """Return what `cleanupExpiredRemoteLogSegments` does.

    Metadata does not say whether a copy still runs: one that began and did not finish is taken as abandoned,
    not as one that stops the clean-up.
    """
    walk = _Walk(log, limits, now_ms, with_records(log.epochs), _surplus(cache, log, limits))
    verdicts: dict[str, Verdict] = {}
    log_start: int | None = None
    stopped: str | None = None
    for segment in _listed(cache, walk.epochs):
        if segment.metadata.segment_id in verdicts:
            continue
        verdict = walk.verdict(segment)
        verdicts[segment.metadata.segment_id] = verdict
        if verdict.code in {BY_TIME, BY_SIZE}:
            log_start = max(segment.metadata.end_offset + 1, log_start or 0)
        if verdict.action == KEEP and verdict.code != LINEAGE:
            stopped = segment.metadata.segment_id
            break
    deleted = {key: verdict for key, verdict in verdicts.items() if verdict.action == DELETE}
    earliest = log.epochs[0].epoch if log.epochs else None
    rest = sorted(cache.segments.values(), key=_place)
    for segment in rest:
        key = segment.metadata.segment_id
        if key not in deleted and earliest is not None and max(segment.epochs) < earliest:
            reason = f"all its epochs are below the leader's earliest, {earliest}"
            deleted[key] = Verdict(segment, DELETE, BELOW_LINEAGE, reason)
    kept = [
        verdicts.get(segment.metadata.segment_id) or _not_reached(segment, stopped)
        for segment in rest
        if segment.metadata.segment_id not in deleted
    ]
    return Expired((*deleted.values(), *kept), log_start)


def _place(segment: CachedSegment) -> tuple[int, str]:
    return segment.metadata.start_offset, segment.metadata.segment_id


def _listed(cache: RemoteCache, epochs: dict[int, int]) -> Iterator[CachedSegment]:
    for epoch in epochs:
        yield from cache.listed(epoch)


def _surplus(cache: RemoteCache, log: LeaderLog, limits: Limits) -> int:
    """Return by how many bytes the log is above retention.bytes; 0 where it is not."""
    if limits.retention_bytes < 0:
        return 0
    epochs = with_records(log.epochs)
    local = sum(each.size for each in log.segments if each.base_offset >= log.highest_remote)
    copied = {
        segment.metadata.segment_id: segment.metadata.segment_size_in_bytes
        for segment in _listed(cache, epochs)
        if segment.metadata.state == COPY_SEGMENT_FINISHED
        and outside_lineage(segment, log.log_end_offset, epochs) is None
    }
    return max(local + sum(copied.values()) - limits.retention_bytes, 0)


@dataclass
class _Walk:
    """RemoteLogRetentionHandler: `surplus` are the bytes that are left above retention.bytes."""

    log: LeaderLog
    limits: Limits
    now_ms: int
    epochs: dict[int, int]
    surplus: int

    def verdict(self, segment: CachedSegment) -> Verdict:
        metadata, limits = segment.metadata, self.limits
        if metadata.state == DELETE_SEGMENT_STARTED:
            return Verdict(segment, DELETE, RETRY, "an earlier deletion did not finish")
        start = self.log.log_start_offset
        if metadata.end_offset < start and max(segment.epochs) <= min(self.epochs):
            return Verdict(segment, DELETE, BELOW_LOG_START, f"it ends below the log start offset {start}")
        outside = outside_lineage(segment, self.log.log_end_offset, self.epochs)
        if outside is not None:
            return Verdict(segment, KEEP, LINEAGE, f"not within the leader's epochs: {outside}")
        age = self.now_ms - metadata.max_timestamp_ms
        if 0 <= limits.retention_ms < age and limits.retention_ms <= self.now_ms:
            self.surplus = max(self.surplus - metadata.segment_size_in_bytes, 0)
            return Verdict(segment, DELETE, BY_TIME, f"newest record {duration(age)} old")
        if self.surplus > 0 and self.surplus >= metadata.segment_size_in_bytes:
            reason = f"the log is {self.surplus} bytes above retention.bytes"
            self.surplus -= metadata.segment_size_in_bytes
            return Verdict(segment, DELETE, BY_SIZE, reason)
        return Verdict(segment, KEEP, WITHIN_LIMITS, self._why_kept(metadata))

    def _why_kept(self, metadata: RemoteLogSegmentMetadata) -> str:
        parts = []
        if self.limits.retention_ms >= 0:
            parts.append(
                f"by time in {duration(metadata.max_timestamp_ms + self.limits.retention_ms - self.now_ms)}"
            )
        if self.surplus > 0:
            size = metadata.segment_size_in_bytes
            parts.append(f"its {size} bytes are more than the {self.surplus} above retention.bytes")
        return "; ".join(parts) or "within the limits"


def _not_reached(segment: CachedSegment, stopped: str | None) -> Verdict:
    if stopped is None:
        return Verdict(segment, KEEP, LINEAGE, "none of the leader's epochs lists it")
    return Verdict(segment, KEEP, NOT_REACHED, f"the clean-up stops at {stopped}")


def expire_local(log: LeaderLog, limits: Limits, now_ms: int) -> tuple[Verdict, ...]:
    """Return what `deleteOldSegments` does with each local segment of a topic that is copied.

    By log start, then by size, then by time; each goes from the first segment on and stops at the first that
    stays.
    """
    ms, size = limits.local if log.is_tiered else (limits.retention_ms, limits.retention_bytes)
    left = list(log.segments)
    verdicts: list[Verdict] = []
    blocked: Verdict | None = None

    def take(code: str, reasons: list[str | None]) -> None:
        nonlocal blocked, left
        for segment, reason in zip(list(left), reasons, strict=True):
            if reason is None:
                return
            blocker = _blocker(segment, log)
            if blocker is not None:
                blocked = blocked or Verdict(segment, KEEP, blocker[0], f"{blocker[1]}, though {reason}")
                return
            verdicts.append(Verdict(segment, DELETE, code, reason))
            left = left[1:]

    take(BELOW_LOG_START, [_below_start(segment, log) for segment in left])
    surplus = sum(each.size for each in left) - size if size >= 0 else -1
    take(BY_SIZE, _above_size(left, surplus))
    take(BY_TIME, [_too_old(segment, ms, now_ms) for segment in left])
    for segment in left:
        is_blocked = blocked is not None and blocked.segment is segment
        verdicts.append(blocked if is_blocked and blocked else _kept(segment, left, ms, now_ms))
    return tuple(verdicts)


def offset_after(segment: LocalSegment, log: LeaderLog) -> int:
    """Return the offset after a segment's last."""
    return min(
        (each.base_offset for each in log.segments if each.base_offset > segment.base_offset),
        default=log.log_end_offset,
    )


def _blocker(segment: LocalSegment, log: LeaderLog) -> tuple[str, str] | None:
    """Return why a segment may not go, whatever its age or the log's size."""
    upper = offset_after(segment, log)
    is_last = segment is log.segments[-1]
    if log.high_watermark < upper:
        return ABOVE_HIGH_WATERMARK, f"the high watermark is {log.high_watermark}"
    if is_last and not segment.size:
        return ACTIVE, "it is the active segment, and empty"
    is_below_start = not is_last and log.log_start_offset >= upper
    if log.is_tiered and not (0 < upper <= log.highest_remote + 1 or is_below_start):
        return NOT_COPIED, f"it is not copied: remote storage ends at {log.highest_remote}"
    return None


def _below_start(segment: LocalSegment, log: LeaderLog) -> str | None:
    is_last = segment is log.segments[-1]
    if is_last or offset_after(segment, log) > log.local_log_start_offset:
        return None
    return f"it ends below the local log start offset {log.local_log_start_offset}"


def _above_size(segments: Sequence[LocalSegment], surplus: int) -> list[str | None]:
    reasons: list[str | None] = []
    for segment in segments:
        fits = surplus - segment.size >= 0
        reasons.append(f"the local log is {surplus} bytes above its limit" if fits else None)
        surplus -= segment.size if fits else 0
    return reasons


def _too_old(segment: LocalSegment, ms: int, now_ms: int) -> str | None:
    age = now_ms - segment.largest_timestamp
    return f"newest record {duration(age)} old" if 0 <= ms < age else None


def _kept(segment: LocalSegment, left: Sequence[LocalSegment], ms: int, now_ms: int) -> Verdict:
    if segment is not left[0]:
        return Verdict(segment, KEEP, NOT_REACHED, "an older segment is kept")
    if ms >= 0:
        in_ms = segment.largest_timestamp + ms - now_ms
        return Verdict(segment, KEEP, WITHIN_LIMITS, f"by time in {duration(max(in_ms, 0))}")
    return Verdict(segment, KEEP, WITHIN_LIMITS, "within the limits")
