"""`checkpoint show`: the checkpoint files around each partition, joined, and held against its log."""

from kcli.jobs.common import Yield, partition_job, where
from kcli.kafka.integrity.checkpoints import (
    START_ABOVE_END,
    broken_invariants,
    contradictions,
    stored_offsets,
)
from kcli.kafka.kraft.partition_start import start
from kcli.logdir.partition import Partition
from kcli.rows.partitions import CheckpointRow


@partition_job
def show(partition: Partition) -> Yield:
    """Yield the partition's row, and a finding for each invariant that does not hold."""
    loaded = yield from start(partition)
    lines = loaded.epoch_lines
    latest = lines[-1] if lines else None
    offsets = (yield from stored_offsets(partition, lines))._replace(log_end=loaded.log_end_offset)
    violated = broken_invariants(partition.target, offsets)
    yield CheckpointRow(
        where(partition),
        log_start_offset=offsets.log_start,
        recovery_point=offsets.recovery_point,
        high_watermark=offsets.high_watermark,
        cleaner_point=offsets.cleaner_point,
        latest_epoch=latest and latest.epoch,
        latest_epoch_start_offset=offsets.epoch_start,
        first_segment_offset=loaded.segments[0].base_offset,
        log_end_offset=loaded.log_end_offset,
        log_end_offset_source=loaded.source,
        violations=(*[START_ABOVE_END] * loaded.emptied, *(invariant.name for invariant in violated)),
    )
    yield from contradictions(partition.target, offsets)
