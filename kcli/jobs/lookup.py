"""`lookup`: the batch or the record that a broker finds at an offset or a timestamp, and why."""

from formats.bounds import LARGEST_BATCH
from kcli.engine.contract import Unit
from kcli.jobs.common import Yield, partition_job, unit_job, where
from kcli.jobs.log_lookup import (
    FOUND,
    IN_REMOTE_STORAGE,
    NO_BATCH,
    at_or_after,
    first_batch,
    largest,
    outside,
)
from kcli.kafka.findings.findings import Reporting
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.remote.lineage import Leader, serving
from kcli.kafka.storage.batch_records import failing_lookup
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition, shown_path
from kcli.rows.lookups import FoundBatch, FoundRecord, LookupOffsetRow, LookupTimestampRow
from kcli.words import resolve_offset


@unit_job
def offset(partition: Partition, unit: Unit, *, offset: int | str, by_events: bool = False) -> Yield:
    """Yield one row: the batch that a fetch at this offset (or `earliest`, `latest`) returns first.

    With `by_events` the further targets of the unit are directories of `__remote_log_metadata`: by them an
    offset that is not on local disk has a remote segment, or an error where its events are not there.
    """
    loaded, leader, error = yield from _led(partition, unit if by_events else None)
    begin, local_begin = (
        (loaded.log_start_offset, loaded.local_log_start_offset)
        if leader is None
        else (leader.log_start_offset, leader.local_start)
    )
    number = resolve_offset(offset, begin, loaded.log_end_offset)
    origin = where(partition)
    reason = outside(number, begin, local_begin, loaded.log_end_offset)
    if reason is None:
        answer = first_batch(partition, loaded, number)
        if answer is not None:
            batch, reason = answer
            yield LookupOffsetRow(origin, number, found=True, batch=batch, reason=reason)
            return
        reason = (
            f"{NO_BATCH}: nothing from here to the log end {loaded.log_end_offset}; "
            "a fetch returns no records"
        )
    segment_id = None
    if reason.startswith(IN_REMOTE_STORAGE):
        if error is not None:
            raise error
        if leader is not None:
            segment = serving(leader.remote, leader.epochs, number).segment
            segment_id = None if segment is None else segment.metadata.segment_id
            reason += f", segment {segment_id}" if segment else ", which has no segment for it"
    yield LookupOffsetRow(
        origin, number, found=False, batch=FoundBatch(), reason=reason, remote_segment_id=segment_id
    )


@partition_job
def timestamp(partition: Partition, *, timestamp: int | None, max_batch_bytes: int = LARGEST_BATCH) -> Yield:
    """Yield the first record at or after a timestamp (None: the largest), as ListOffsets finds it."""
    loaded = yield from start(partition)
    if timestamp is None:
        with failing_lookup():
            answer = largest(loaded, max_batch_bytes)
    else:
        answer = yield from at_or_after(partition, loaded, timestamp, max_batch_bytes)
    origin = where(partition)
    if isinstance(answer, str):
        yield LookupTimestampRow(origin, timestamp, found=False, record=FoundRecord(), reason=answer)
    else:
        record = answer._replace(path=shown_path(partition, answer.path or ""))
        yield LookupTimestampRow(origin, timestamp, found=True, record=record, reason=FOUND)


def _led(
    partition: Partition, unit: Unit | None
) -> Reporting[tuple[LoadedLog, Leader | None, FileError | None]]:
    """Yield what a start finds; return the log, and the Leader by the events of a unit, or why not."""
    if unit is None:
        return (yield from start(partition)), None, None
    from kcli.jobs.metadata_partitions import read_events
    from kcli.jobs.tiered_leader import cache_of, load_leader

    metadata = read_events(unit.targets[1:])
    yield from metadata.findings
    try:
        cache = cache_of(partition, metadata)
    except FileError as error:
        return (yield from start(partition)), None, error
    leader = yield from load_leader(partition, cache, unit.targets[1:])
    return leader.log, leader, None
