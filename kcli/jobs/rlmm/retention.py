"""`rlmm retention`: what the next clean-up deletes of each tier, in order, and why the rest is kept."""

from collections.abc import Iterator
from functools import partial
from itertools import count

from formats.remote_metadata import SEGMENT_STATES
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, where
from kcli.jobs.rlmm.leader import Leader, led
from kcli.kafka.remote.cache import CachedSegment
from kcli.kafka.remote.retention import (
    DELETE,
    LeaderLog,
    Limits,
    LocalSegment,
    Verdict,
    expire_local,
    expire_remote,
)
from kcli.kafka.storage.log_segment import LoadedSegment
from kcli.rows.remote_tier import RlmmRetentionRow


def retention(unit: Unit, *, limits: Limits, now_ms: int) -> Outcome:
    """Return a row for each segment of the unit's partition: remote ones, then local ones."""
    return led(unit, partial(_retention, limits, now_ms))


def leader_log(leader: Leader) -> LeaderLog:
    """Return what counts of a leader's log for a clean-up."""
    log = leader.log
    known = leader.high_watermark
    return LeaderLog(
        leader.is_tiered,
        leader.epochs,
        leader.log_start_offset,
        leader.local_start,
        log.log_end_offset,
        log.log_end_offset if known is None else known,
        tuple(map(_local, log.segments)),
        leader.highest.offset,
    )


def _local(segment: LoadedSegment) -> LocalSegment:
    largest = segment.last_time_entry()[0]
    if largest < 0 and segment.log_path is not None:
        with segment.log() as log:
            largest = log.mtime_ms
    return LocalSegment(segment.base_offset, segment.log_size, largest)


def _retention(limits: Limits, now_ms: int, leader: Leader) -> Yield:
    log = leader_log(leader)
    remote = expire_remote(leader.remote, log, limits, now_ms)
    after = max(remote.log_start_offset or 0, log.log_start_offset)
    local = expire_local(log, limits, now_ms)
    if not leader.is_tiered:
        gone = [each.segment for each in local if each.action == DELETE]
        after = max([after, *(_end(segment, log) + 1 for segment in gone)])
    for tier, verdicts in (("remote", remote.verdicts), ("local", local)):
        yield from _rows(leader, log, tier, verdicts, after)


def _rows(
    leader: Leader, log: LeaderLog, tier: str, verdicts: tuple[Verdict, ...], after: int
) -> Iterator[RlmmRetentionRow]:
    order = count(1)
    for segment, action, rule, reason in verdicts:
        if isinstance(segment, CachedSegment):
            metadata = segment.metadata
            what: tuple[str | None, int, int, int, int, str | None] = (
                metadata.segment_id,
                metadata.start_offset,
                metadata.end_offset,
                metadata.segment_size_in_bytes,
                metadata.max_timestamp_ms,
                SEGMENT_STATES[metadata.state],
            )
        else:
            end = _end(segment, log)
            what = (None, segment.base_offset, end, segment.size, segment.largest_timestamp, None)
        yield RlmmRetentionRow(
            where(leader.partition),
            leader.topic_id,
            next(order) if action == DELETE else None,
            tier,
            action,
            rule,
            *what,
            after,
            reason,
        )


def _end(segment: LocalSegment | CachedSegment, log: LeaderLog) -> int:
    """Return the last offset of a local segment."""
    assert isinstance(segment, LocalSegment)
    above = (each.base_offset for each in log.segments if each.base_offset > segment.base_offset)
    return min(above, default=log.log_end_offset) - 1
