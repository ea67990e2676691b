"""`retention`: what a broker's next look deletes of each log, why the rest stays, and what the cleaner does.

Headers and indexes are read; records alone where a timestamp lies ahead of the clock, or a cleaning has
stamped a batch with the time at which its tombstones go.
"""

from collections.abc import Sequence
from itertools import islice

from formats.names import CLUSTER_METADATA
from kcli.engine.contract import Unit
from kcli.jobs.common import Yield, unit_job, where
from kcli.jobs.held_log import COPY_UNKNOWN, HeldLog, RetentionQuery, configured, hold
from kcli.jobs.log_times import Ends, ends_of, first_horizon, future, rolls_at
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.kraft.log_config import POLICY
from kcli.kafka.kraft.metadata_loader import undecodable_findings
from kcli.kafka.storage.log_segment import LoadedSegment
from kcli.kafka.storage.retention import LocalVerdict, newest_timestamp
from kcli.logdir.partition import Partition
from kcli.rows.retention import RetentionPartitionRow, RetentionRow

SHOWN_FUTURE = 10  # records ahead of the clock that a row names


@unit_job
def retention(partition: Partition, unit: Unit, *, query: RetentionQuery) -> Yield:
    """Yield a row for the log of a partition, and one for each segment in the order of the log.

    The unit's further targets are the directories of `__remote_log_metadata`: a segment of a tiered topic
    stays until it is copied.
    """
    metadata = unit.targets[1:]
    if partition.topic == CLUSTER_METADATA:  # its snapshots decide
        return
    yield from undecodable_findings(partition.target)
    config, point = yield from configured(partition, query)
    log = (yield from hold(partition, config, query.now_ms)).with_events(metadata)
    loaded = log.loaded
    ends = [ends_of(segment) for segment in loaded.segments]
    log = log.learned(ends, point)
    verdicts = log.verdicts()
    row = _log_row(log, verdicts)
    if query.given:
        as_is, _ = collect_findings(configured(partition, query._replace(given={})), [])
        now = log._replace(config=as_is).with_events(metadata).learned(ends).verdicts()
        row = row._replace(deletable_bytes_now=_going(now))
    if "compact" in log.config.policy:
        row = _with_cleaner(row, log)
    yield row
    for verdict, segment, end in zip(verdicts, loaded.segments, ends, strict=True):
        yield _row(row, verdict, end, segment, is_active=segment is loaded.segments[-1])
    yield from log.findings(verdicts)


def _log_row(log: HeldLog, verdicts: Sequence[LocalVerdict]) -> RetentionPartitionRow:
    """Return the row of a log."""
    config, loaded = log.config, log.loaded
    retention_ms, retention_bytes = log.limits
    pairs = zip(loaded.segments, log.segments, strict=True)
    return RetentionPartitionRow(
        where(log.partition),
        cleanup_policy=config.values[POLICY],
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
        segment_ms=config.segment_ms,
        segment_bytes=config.number("segment.bytes"),
        settings_from=log.sources,
        size=sum(segment.size for segment in log.segments),
        deletable_bytes=_going(verdicts),
        deletable_bytes_now=None,
        log_start_offset=loaded.log_start_offset,
        high_watermark=log.high_watermark,
        rolls_at=rolls_at(loaded.segments[-1], log.ends[-1], config, log.now_ms),
        future_timestamps=tuple(islice(future(pairs, log.now_ms), SHOWN_FUTURE)),
    )


def _with_cleaner(row: RetentionPartitionRow, log: HeldLog) -> RetentionPartitionRow:
    """Return the row of a compacted log."""
    cleanable = log.cleanable()
    return row._replace(
        cleaner_offset=log.point,
        first_dirty_offset=cleanable.first_dirty_offset,
        first_uncleanable_offset=cleanable.first_uncleanable_offset,
        end_offset=cleanable.end,
        uncleanable_because=cleanable.uncleanable_because,
        clean_bytes=cleanable.clean_bytes,
        cleanable_bytes=cleanable.cleanable_bytes,
        uncleanable_bytes=cleanable.uncleanable_bytes,
        dirty_ratio=cleanable.ratio,
        min_cleanable_dirty_ratio=log.config.ratio,
        will_clean=cleanable.is_picked,
        tombstones_removable_at=first_horizon(log.loaded, cleanable.first_dirty_offset),
    )


def _going(verdicts: Sequence[LocalVerdict]) -> int | None:
    """Return the bytes that go; None where it is not known of a segment."""
    if any(verdict.stays == COPY_UNKNOWN for verdict in verdicts):
        return None
    return sum(verdict.segment.size for verdict in verdicts if verdict.stays is None)


def _row(
    of: RetentionPartitionRow, verdict: LocalVerdict, ends: Ends, loaded: LoadedSegment, *, is_active: bool
) -> RetentionRow:
    segment = verdict.segment
    newest = segment.largest_timestamp if segment.has_timestamps else None
    if newest is None and segment.size:
        newest = newest_timestamp(loaded, reads_tail=True)
    return RetentionRow(
        of.where,
        segment_base_offset=segment.base_offset,
        size=segment.size,
        first_offset=ends.first_offset,
        last_offset=ends.last_offset,
        first_timestamp=None if ends.first_timestamp < 0 else ends.first_timestamp,
        max_timestamp=newest,
        is_active=is_active,
        action=None if verdict.stays == COPY_UNKNOWN else "keep" if verdict.stays else "delete",
        rule=verdict.rule,
        reason=verdict.reason,
        deletable_at=verdict.deletable_at,
        blocked_by=verdict.blocked_by,
    )
