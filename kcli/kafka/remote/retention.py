"""What a leader's next clean-up deletes of a tiered partition, in which order, and why the rest is kept.

The truth is `RemoteLogManager.RLMExpirationTask` for remote segments, and `UnifiedLog.deleteOldSegments` for
local ones. Sizes are bytes, times ms; -1 as a limit: none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from formats.remote_metadata import SEGMENT_STATES
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, DELETE_SEGMENT_STARTED, CachedSegment
from kcli.kafka.remote.lineage import Leader, outside_lineage, with_records
from kcli.kafka.storage import retention
from kcli.kafka.storage.retention import OLDER_STAYS, WITHIN_LIMITS, LocalVerdict
from kcli.words import duration

DELETE, KEEP = "delete", "keep"
BELOW_LOG_START, BY_TIME, BY_SIZE = "log-start", "time", "size"
LINEAGE, NOT_TIERED = "lineage", "not-tiered"
"""The rules by which segments of both tiers go and stay; the others of those that stay are of a local log."""
TIER_RULES = {
    retention.BY_LOG_START: BELOW_LOG_START,
    retention.BY_SIZE: BY_SIZE,
    retention.BY_TIME: BY_TIME,
}
"""The names here of the rules of a local log."""


class TierSegment(NamedTuple):
    """A segment of one tier: offsets inclusive, bytes of its log; id and state of a remote one.

    `largest_timestamp` of a local segment without any is its file's mtime.
    """

    segment_id: str | None
    start_offset: int
    end_offset: int
    size: int
    largest_timestamp: int
    state: str | None


class Verdict(NamedTuple):
    """What becomes of one segment, remote or local, and why; `code` is the rule in one word."""

    segment: TierSegment
    action: str
    code: str
    reason: str


@dataclass
class _RetentionHandler:
    """RemoteLogRetentionHandler: `surplus` are the bytes that are left above retention.bytes."""

    leader: Leader
    retention_ms: int
    now_ms: int
    surplus: int

    def judge(self, segment: CachedSegment) -> tuple[str, str, str]:
        """Return the action, the rule and the reason."""
        start, epochs = self.leader.log_start_offset, with_records(self.leader.epochs)
        metadata, retention_ms = segment.metadata, self.retention_ms
        size, newest = metadata.segment_size_in_bytes, metadata.max_timestamp_ms
        if metadata.state == DELETE_SEGMENT_STARTED:
            return DELETE, "retry", "an earlier deletion did not finish"
        if metadata.end_offset < start and max(segment.epochs) <= min(epochs):
            return DELETE, BELOW_LOG_START, f"it ends below the log start offset {start}"
        outside = outside_lineage(segment, self.leader.log.log_end_offset, epochs)
        if outside is not None:
            return KEEP, LINEAGE, f"not within the leader's epochs: {outside}"
        if 0 <= retention_ms < self.now_ms - newest and retention_ms <= self.now_ms:
            self.surplus = max(self.surplus - size, 0)
            return DELETE, BY_TIME, f"newest record {duration(self.now_ms - newest)} old"
        if self.surplus > 0 and self.surplus >= size:
            self.surplus -= size
            return DELETE, BY_SIZE, f"the log is {self.surplus + size} bytes above retention.bytes"
        reasons = []
        if retention_ms >= 0:
            reasons.append(f"by time in {duration(newest + retention_ms - self.now_ms)}")
        if self.surplus > 0:
            reasons.append(f"its {size} bytes are more than the {self.surplus} above retention.bytes")
        return KEEP, WITHIN_LIMITS, "; ".join(reasons) or "within the limits"


def expire_remote(leader: Leader, limits: tuple[int, int], now_ms: int) -> tuple[list[Verdict], int | None]:
    """Return what `cleanupExpiredRemoteLogSegments` does by limits in ms and bytes; the log start afterwards.

    Verdicts in the broker's order; None where the log start stays. A copy that did not finish is taken as
    abandoned.
    """
    handler = _RetentionHandler(leader, limits[0], now_ms, _surplus(leader, limits[1]))
    verdicts: dict[str, Verdict] = {}
    log_start, stopped = None, None
    for segment in _listed(leader):
        segment_id = segment.begun.segment_id
        if segment_id in verdicts:
            continue
        verdict = verdicts[segment_id] = Verdict(_tier_segment(segment), *handler.judge(segment))
        if verdict.code in {BY_TIME, BY_SIZE}:
            log_start = max(segment.begun.end_offset + 1, log_start or 0)
        if verdict.action == KEEP and verdict.code != LINEAGE:
            stopped = segment_id
            break
    deleted = {key: verdict for key, verdict in verdicts.items() if verdict.action == DELETE}
    earliest = leader.epochs[0].epoch if leader.epochs else -1
    not_listed = (KEEP, LINEAGE, "none of the leader's epochs lists it")
    survivors = []
    for segment in sorted(leader.remote.segments.values(), key=_order):
        segment_id = segment.begun.segment_id
        if segment_id not in deleted and max(segment.epochs) < earliest:
            reason = f"all its epochs are below the leader's earliest, {earliest}"
            deleted[segment_id] = Verdict(_tier_segment(segment), DELETE, "below-lineage", reason)
        elif segment_id not in deleted:
            outcome = (KEEP, OLDER_STAYS, f"the clean-up stops at {stopped}") if stopped else not_listed
            survivors.append(verdicts.get(segment_id) or Verdict(_tier_segment(segment), *outcome))
    return [*deleted.values(), *survivors], log_start


def _tier_segment(segment: CachedSegment) -> TierSegment:
    metadata = segment.metadata
    offsets, size = (metadata.start_offset, metadata.end_offset), metadata.segment_size_in_bytes
    newest, state = metadata.max_timestamp_ms, SEGMENT_STATES[metadata.state]
    return TierSegment(metadata.segment_id, *offsets, size, newest, state)


def _order(segment: CachedSegment) -> tuple[int, str]:
    return segment.begun.start_offset, segment.begun.segment_id


def _listed(leader: Leader) -> Iterator[CachedSegment]:
    for epoch in with_records(leader.epochs):
        yield from leader.remote.listed(epoch)


def _surplus(leader: Leader, retention_bytes: int) -> int:
    """Return by how many bytes the log is above retention.bytes; 0 where it is not.

    `onlyLocalLogSegmentsSize` of 4.4; up to 4.3 a segment that begins at the last copied offset counts twice.
    """
    if retention_bytes < 0:
        return 0
    epochs, log_end = with_records(leader.epochs), leader.log.log_end_offset
    segments = leader.log.segments
    local = sum(each.log_size for each in segments if each.base_offset > leader.highest)
    copied = {
        segment.metadata.segment_id: segment.metadata.segment_size_in_bytes
        for segment in _listed(leader)
        if segment.metadata.state == COPY_SEGMENT_FINISHED
        and outside_lineage(segment, log_end, epochs) is None
    }
    return max(local + sum(copied.values()) - retention_bytes, 0)


def tier_verdicts(local: Iterable[LocalVerdict]) -> list[Verdict]:
    """Return what becomes of local segments, in the words of both tiers."""
    return [
        Verdict(
            TierSegment(None, each.base_offset, each.end_offset - 1, each.size, each.largest_timestamp, None),
            DELETE if stays is None else KEEP,
            TIER_RULES.get(rule, "") or stays or "",
            reason,
        )
        for each, rule, stays, reason, *_ in local
    ]


def left_alone(leader: Leader) -> list[Verdict]:
    """Return that remote segments of a topic that is not tiered stay: nothing looks at them."""
    segments = sorted(leader.remote.segments.values(), key=_order)
    reason = "the topic is not tiered, and no clean-up looks at it"
    return [Verdict(_tier_segment(segment), KEEP, NOT_TIERED, reason) for segment in segments]
