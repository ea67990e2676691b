"""What a starting broker does to one partition directory: its row, by the log and by the metadata.

A move to another log dir ends with a record that assigns the partition to it, then with a rename: a broker
that stopped between the two renames the -future directory when it starts, and deletes the log that was
current (`LogManager.recoverAbandonedFutureLogs`).
"""

from dataclasses import replace
from typing import NamedTuple

from formats.names import CLUSTER_METADATA, DELETE
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import YieldAndReturn, partition_job, where
from kcli.jobs.log_starts import StartRequest, log_findings, log_start, of_a_replica, started_log
from kcli.kafka.integrity.checkpoints import LOST_END
from kcli.kafka.integrity.known_producers import forgotten_producers
from kcli.kafka.kraft.fates import DELETE_DIRECTORY
from kcli.kafka.kraft.meta_properties import StartFailure
from kcli.kafka.kraft.partition_start import log_end_in, lone_finding
from kcli.kafka.kraft.replica_fates import FORMER, LEFT_STRAY, STRAY, WILL_BE_DELETED, Fate, LogStart
from kcli.kafka.storage.file_actions import (
    DELETE_FILE,
    FileAction,
    FileChange,
    all_deleted,
    bytes_needed,
    file_changes,
    topic_id_bytes,
)
from kcli.kafka.storage.loaded_log import LoadedLog, LostBytes, checkpoints
from kcli.kafka.storage.record_counts import data_records, records_in
from kcli.logdir.buffers import FileError
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.log_dirs import PARTITION_METADATA_FILE
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION
from kcli.rows.startup import FAILS, LOADS, StartedProducer, StartedWhere, StartupRow

CLEAN = "clean"
BYTES_A_SECOND = 100 << 20  # bytes a second that a log dir gives, where no --read-rate is given
SECONDS_PER_SEGMENT = 0.001
ID_WRITTEN = "there was none: the metadata has a topic id for the name"
STARTUP_KINDS = frozenset({PARTITION, LOG_DIR})


class StartedPartition(NamedTuple):
    """A partition's row, what its log means to the broker, and the bytes of what the start writes."""

    row: StartupRow
    log: LogStart
    bytes_needed: int = 0


def read(unit: Unit, *, request: StartRequest) -> Outcome:
    """Return the partial of BrokerRows; of a partition not asked for, what becomes of it is said alone."""
    if unit.target.kind == LOG_DIR:
        return Outcome(number=unit.number)
    outcome = replace(startup(unit, request=request), rows=[])
    if request.selection.wants(unit.target.name):
        return outcome
    return replace(outcome, findings=of_a_replica(outcome.findings))


@partition_job
def startup(partition: Partition, *, request: StartRequest) -> YieldAndReturn:
    """Yield the partition's row and what the start reports; return the StartedPartition."""
    if partition.target.name is None:
        raise FileError(
            partition.path, "not-a-partition", "the broker loads only directories named topic-partition"
        )
    log_checkpoints = checkpoints(partition)
    if request.shutdown is not None and partition.topic != CLUSTER_METADATA:
        log_checkpoints = log_checkpoints._replace(clean=request.shutdown == CLEAN)
    yield from lone_finding(partition, log_checkpoints, request.shutdown)
    log = yield from started_log(partition, log_checkpoints, request)
    findings = list(log_findings(partition, log_checkpoints, log, request.fates))
    path = request.metadata_paths.get(partition.target.log_dir or "")
    row = StartupRow(StartedWhere(*where(partition)), LOADS, clean=log_checkpoints.clean, metadata_path=path)
    needed = 0
    if isinstance(log, StartFailure):
        row = row._replace(outcome=FAILS, error=log.exception, error_message=log.message)
    elif partition.target.name.kind == DELETE:
        files = all_deleted(partition, DELETE_DIRECTORY.reason)
        row = row._replace(
            outcome=WILL_BE_DELETED, files=files, records_lost=0, reason=DELETE_DIRECTORY.reason
        )
    else:
        row = _with_log(row, partition, log, is_short=any(finding.code == LOST_END for finding in findings))
        row = _with_fate(row, log, request.fates.of(partition.target))
        needed = bytes_needed(partition.path, log, row.files)
        findings += forgotten_producers(partition, log)
    yield row
    yield from findings
    return StartedPartition(row, log_start(partition, log), needed)


def _scanned_end(log: LoadedLog) -> int:
    """Return where the files of a log end: above its log end where an index leads behind its last batches."""
    scanned = (int(finding.found or 0) for finding in log.findings if finding.code == "IDX-002")
    return max(log.log_end_offset, *scanned, 0)


def _with_fate(row: StartupRow, log: LoadedLog, fate: Fate) -> StartupRow:
    """Return the row of a log that loads, with what the metadata makes of it then."""
    if fate.outcome == LOADS:
        written = list(row.files)
        if fate.topic_id is not None:
            size = len(topic_id_bytes(fate.topic_id))
            written.append(FileChange(PARTITION_METADATA_FILE, "create", None, size, ID_WRITTEN))
        return row._replace(files=tuple(sorted(written)))
    row = row._replace(outcome=fate.outcome, reason=fate.reason)
    if fate.rule == FORMER:
        return row._replace(records_lost=0)
    if fate.outcome == STRAY:
        return row._replace(
            files=row.files if fate.rule == LEFT_STRAY else _all_files(row, "rename", fate.reason),
            records_lost=_sum(row.records_lost, data_records(log)),
        )
    if fate.outcome == WILL_BE_DELETED:
        future_end = 0 if fate.replaced_by is None else log_end_in(fate.replaced_by)
        if future_end is None:  # the -future log does not load, and replaces nothing
            return row._replace(outcome=LOADS, reason=None)
        lost = data_records(log, future_end)
        return row._replace(
            files=_all_files(row, DELETE_FILE, fate.reason), records_lost=_sum(row.records_lost, lost)
        )
    return row


def _sum(*numbers: int | None) -> int | None:
    counts = [number for number in numbers if number is not None]
    return sum(counts) if len(counts) == len(numbers) else None


def _all_files(row: StartupRow, action: FileAction, reason: str) -> tuple[FileChange, ...]:
    """Return the changes of files, those that stay renamed or deleted with their directory."""
    return tuple(
        change
        if change.action == DELETE_FILE
        else change._replace(
            action=action, size_after=None if action == DELETE_FILE else change.size_after, reason=reason
        )
        for change in row.files
    )


def _with_log(row: StartupRow, partition: Partition, log: LoadedLog, *, is_short: bool) -> StartupRow:
    """Return the row of a log that loads; `is_short`: it ends below what was flushed."""
    lost, end, flushed = records_in(log.lost), _scanned_end(log), log.checkpoints.recovery_point
    reason = "what recovery cuts is damaged" if lost is None else None
    if end > log.log_end_offset:  # no read finds these records, and new ones get their offsets
        lost = _sum(lost, records_in([LostBytes(log.segments[-1], 0)], log.log_end_offset))
    if is_short and end < flushed and not log.lost:
        lost, reason = None, f"it was flushed up to offset {flushed}, and its files end at {end}"
        reason += f": at most {flushed - end} records"
    return row._replace(
        reason=reason,
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        recovery_point=log.recovery_point,
        segments=len(log.segments),
        epochs=log.epochs,
        producers=tuple(
            StartedProducer(number, entry.epoch, entry.last_sequence, entry.last_offset, entry.open_since)
            for number, entry in sorted(log.producers.producers.items())
        ),
        files=file_changes(partition, log),
        bytes_read=log.bytes_read,
        records_lost=lost,
    )
