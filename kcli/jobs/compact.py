"""`compact`: what one cleaning would do to each compacted log; nothing is changed."""

from formats.names import CLUSTER_METADATA
from kcli.jobs.common import Yield, partition_job, where
from kcli.jobs.held_log import CLEANING_FAILS, FAILED, RetentionQuery, configured, hold
from kcli.jobs.log_times import ends_of
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.kraft.log_config import POLICY
from kcli.kafka.kraft.metadata_loader import undecodable_findings
from kcli.kafka.storage.cleaner_pass import Cleaning, DroppedRecord, clean
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.rows.retention import CompactPartitionRow, CompactRecordRow, CompactSegmentRow

KEEPS_ITS_END = (4, 4)
"""Before this release the last batch of a cleaning stayed, though empty; since then that below the high
watermark.
"""


@partition_job
def compact(
    partition: Partition, *, query: RetentionQuery, release: tuple[int, ...], records: bool = False
) -> Yield:
    """Yield what a cleaning makes of a compacted log: a row for it, for each segment and lost record."""
    if partition.topic == CLUSTER_METADATA:
        return
    config, point = yield from configured(partition, query)
    if "compact" not in config.policy and (config.is_known or POLICY in query.given):
        return
    yield from undecodable_findings(partition.target)
    policy_log = yield from hold(partition, config, query.now_ms)
    loaded = policy_log.loaded
    policy_log = policy_log.learned(map(ends_of, loaded.segments), point)
    config = policy_log.config
    if "compact" not in config.policy:
        return
    cleanable = policy_log.cleanable()
    cleaning = Cleaning(
        loaded.segments,
        _modified(loaded),
        loaded.log_start_offset,
        cleanable.first_dirty_offset,
        cleanable.end,
        policy_log.watermark if release >= KEEPS_ITS_END else cleanable.end,
        loaded.producers.producers,
        query.now_ms,
        config.number("delete.retention.ms"),
        config.number("segment.bytes"),
        config.number("segment.index.bytes"),
        config.cleaner_keys,
    )
    origin, dropped = where(partition), list[DroppedRecord]()
    try:
        after = collect_findings(clean(cleaning, point), dropped if records else None)
    except BrokerError as error:
        raise FileError(error.path, FAILED, CLEANING_FAILS.format(error), error.position) from error
    yield from (CompactRecordRow(origin, *record) for record in dropped)
    yield from (CompactSegmentRow(origin, *segment) for segment in after.segments)
    yield CompactPartitionRow(
        origin,
        picked=cleanable.is_picked,
        first_dirty_offset=cleanable.first_dirty_offset,
        end_offset=cleanable.end,
        clean_checkpoint_after=after.checkpoint,
        messages_read=after.messages_read,
        messages_written=after.messages_written,
        bytes_read=after.bytes_read,
        bytes_written=after.bytes_written,
        keys=after.keys,
        passes=after.passes,
        tombstones_removed=after.tombstones_removed,
    )
    yield from policy_log.findings(())


def _modified(loaded: LoadedLog) -> dict[int, int]:
    """Return the time in ms of each segment's log file, by its base offset."""
    times = dict.fromkeys((segment.base_offset for segment in loaded.segments), 0)
    for segment in loaded.segments:
        if segment.log_path is not None:
            with segment.log() as log:
                times[segment.base_offset] = log.mtime_ms
    return times
