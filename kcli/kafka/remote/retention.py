"""What a leader's next clean-up deletes of a tiered partition, in which order, and why the rest is kept.

The truth is `RemoteLogManager.RLMExpirationTask` for remote segments, and `UnifiedLog.deleteOldSegments` for
local ones. Sizes are bytes, times ms; -1 as a limit: none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formats.remote_metadata import SEGMENT_STATES
from kcli.kafka.kraft.log_config import log_config
from kcli.kafka.kraft.metadata_loader import cluster_image
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, DELETE_SEGMENT_STARTED, CachedSegment
from kcli.kafka.remote.lineage import Leader, outside_lineage, with_records
from kcli.kafka.storage import retention
from kcli.kafka.storage.retention import (
    OLDER_STAYS,
    WITHIN_LIMITS,
    DeletionBounds,
    delete_old_segments,
    local_segments,
)
from kcli.words import duration

DELETE, KEEP = "delete", "keep"
BELOW_LOG_START, BY_TIME, BY_SIZE = "log-start", "time", "size"
LINEAGE = "lineage"
"""The rules by which segments of both tiers go and stay; the others of those that stay are of a local log."""
TIER_RULES = {
    retention.BY_LOG_START: BELOW_LOG_START,
    retention.BY_SIZE: BY_SIZE,
    retention.BY_TIME: BY_TIME,
}
"""The names here of the rules of a local log."""
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


NO_LIMITS = Limits(-1, -1, INHERIT, INHERIT)


def limits_of(leader: Leader, given: Mapping[str, int | None]) -> Limits:
    """Return the limits of a partition's topic: as given, else as its cluster metadata says.

    No limit where the metadata is not here, or does not know the topic.
    """
    partition = leader.partition
    image, topic = cluster_image(partition.target), partition.topic or ""
    known = image is not None and any(each.name == topic for each in image.topics.values())
    limits = NO_LIMITS
    if known:
        config = log_config(topic, image, broker_id=partition.directory.broker_id)
        if "delete" in config.policy or not config.policy:
            limits = Limits(*(config.number(field.replace("_", ".")) for field in Limits._fields))
    return limits._replace(**{name: value for name, value in given.items() if value is not None})


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
    limits: Limits
    now_ms: int
    surplus: int

    def judge(self, segment: CachedSegment) -> tuple[str, str, str]:
        """Return the action, the rule and the reason."""
        start, epochs = self.leader.log_start_offset, with_records(self.leader.epochs)
        metadata, retention_ms = segment.metadata, self.limits.retention_ms
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


def expire_remote(leader: Leader, limits: Limits, now_ms: int) -> tuple[list[Verdict], int | None]:
    """Return what `cleanupExpiredRemoteLogSegments` does, and the log start offset that it leaves.

    The verdicts are in the order of the broker; None where the log start stays. Metadata does not say whether
    a copy still runs: one that began and did not finish is taken as abandoned, not as one that stops the
    clean-up.
    """
    handler = _RetentionHandler(leader, limits, now_ms, _surplus(leader, limits))
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
    kept = []
    for segment in sorted(leader.remote.segments.values(), key=_place):
        segment_id = segment.begun.segment_id
        if segment_id not in deleted and max(segment.epochs) < earliest:
            reason = f"all its epochs are below the leader's earliest, {earliest}"
            deleted[segment_id] = Verdict(_tier_segment(segment), DELETE, "below-lineage", reason)
        elif segment_id not in deleted:
            rest = (KEEP, OLDER_STAYS, f"the clean-up stops at {stopped}") if stopped else not_listed
            kept.append(verdicts.get(segment_id) or Verdict(_tier_segment(segment), *rest))
    return [*deleted.values(), *kept], log_start


def _tier_segment(segment: CachedSegment) -> TierSegment:
    metadata = segment.metadata
    return TierSegment(
        metadata.segment_id,
        metadata.start_offset,
        metadata.end_offset,
        metadata.segment_size_in_bytes,
        metadata.max_timestamp_ms,
        SEGMENT_STATES[metadata.state],
    )


def _place(segment: CachedSegment) -> tuple[int, str]:
    return segment.begun.start_offset, segment.begun.segment_id


def _listed(leader: Leader) -> Iterator[CachedSegment]:
    for epoch in with_records(leader.epochs):
        yield from leader.remote.listed(epoch)


def _surplus(leader: Leader, limits: Limits) -> int:
    """Return by how many bytes the log is above retention.bytes; 0 where it is not."""
    if limits.retention_bytes < 0:
        return 0
    epochs, log_end = with_records(leader.epochs), leader.log.log_end_offset
    segments = leader.log.segments
    local = sum(each.log_size for each in segments if each.base_offset >= leader.highest.offset)
    copied = {
        segment.metadata.segment_id: segment.metadata.segment_size_in_bytes
        for segment in _listed(leader)
        if segment.metadata.state == COPY_SEGMENT_FINISHED
        and outside_lineage(segment, log_end, epochs) is None
    }
    return max(local + sum(copied.values()) - limits.retention_bytes, 0)


def expire_local(leader: Leader, limits: Limits, now_ms: int) -> list[Verdict]:
    """Return what `deleteOldSegments` does with each local segment: by log start, by size, then by time."""
    ms, size = limits.local if leader.is_tiered else (limits.retention_ms, limits.retention_bytes)
    watermark = leader.log.log_end_offset if leader.high_watermark is None else leader.high_watermark
    remote_end = leader.highest.offset + 1 if leader.is_tiered else None
    bounds = DeletionBounds(watermark, leader.local_start, remote_end, leader.log_start_offset)
    return [
        Verdict(
            TierSegment(None, each.base_offset, each.end_offset - 1, each.size, each.largest_timestamp, None),
            DELETE if stays is None else KEEP,
            TIER_RULES.get(rule, "") or stays or "",
            reason,
        )
        for each, rule, stays, reason, *_ in delete_old_segments(
            local_segments(leader.log), ms, size, bounds, now_ms
        )
    ]
