"""What a starting broker does to one partition directory: its row, by the log and by the metadata.

A move to another log dir ends with a record that assigns the partition to it, then with a rename: a broker
that stopped between the two renames the -future directory when it starts, and deletes the log that was
current (`LogManager.recoverAbandonedFutureLogs`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from formats.batch import NO_PRODUCER_ID
from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError, LimitError
from formats.magic import record_count
from formats.message_set import message_set, set_records
from formats.names import CLUSTER_METADATA, DELETE
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, YieldAndReturn, answer, partition_job, where
from kcli.kafka.findings.findings import NO_SNAPSHOT, SEVERITIES, Finding, Reporting
from kcli.kafka.integrity.checkpoints import missing_records
from kcli.kafka.kraft.fates import (
    DELETE_DIRECTORY,
    FORMER,
    LEFT_STRAY,
    STRAY,
    WILL_BE_DELETED,
    Fate,
)
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.meta_properties import NEWEST, TIERED, StartFailure, Version
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.partition_start import attempt, is_recovered, log_end_in, lone_finding, start_from
from kcli.kafka.kraft.start_findings import NO_FATES, OF_A_REPLICA, LogStart, ReplicaFates, replica_fates
from kcli.kafka.kraft.start_plan import StartPlan
from kcli.kafka.storage.file_actions import (
    DELETE_FILE,
    FileAction,
    FileChange,
    all_deleted,
    bytes_needed,
    file_changes,
    topic_id_bytes,
)
from kcli.kafka.storage.loaded_log import Checkpoints, LoadedLog, LostBytes, Settings, checkpoints
from kcli.kafka.storage.log_segment import (
    BrokerError,
    LoadedSegment,
    file_batches,
    header,
    segments_from,
)
from kcli.logdir.buffers import DataFile, FileError, shown
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.find import FileSet, find, log_dir_targets
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import PARTITION_METADATA_FILE, Partition
from kcli.logdir.segment import FileBatch, Walk, only_zeros
from kcli.logdir.targets import ALL_PARTITIONS, NO_PARTITIONS, PARTITION, Selection, Target
from kcli.rows import Failure
from kcli.rows.startup import FAILS, LOADS, StartedProducer, StartedWhere, StartupRow

CLEAN = "clean"
BYTES_A_SECOND = 100 << 20  # bytes a second that a log dir gives, where no --read-rate is given
SECONDS_PER_SEGMENT = 0.001
LOOKED_AT = 1000  # batches of a segment in which producers are looked for
ID_WRITTEN = "there was none: the metadata has a topic id for the name"
STARTUP_KINDS = frozenset({PARTITION, LOG_DIR})


class StartedPartition(NamedTuple):
    """A partition's row, what its log means to the broker, and the bytes of what the start writes."""

    row: StartupRow
    log: LogStart
    bytes_needed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What the broker's clock and configuration contribute.

    `shutdown` is `clean`, `unclean` or None (as the log dir's marker says), `version` the release of the
    broker. The settings are those of all topics, None where `known` says them. `fates`: what the metadata
    makes of each directory; `metadata_paths`: by log dir, which metadata log that is. `selection`: which
    partitions were asked for. `is_bounded`: logs are recovered as `ls` does.
    """

    now_ms: int = 0
    shutdown: str | None = None
    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None
    remote_storage: bool | None = None
    version: Version = NEWEST
    known: KnownSettings = NO_KNOWN_SETTINGS
    fates: ReplicaFates = NO_FATES
    metadata_paths: Mapping[str, str] = field(default_factory=dict)
    selection: Selection = ALL_PARTITIONS
    is_bounded: bool = False

    def settings(self, partition: Partition) -> Settings:
        """Return the settings of the start of a partition."""
        return self.known.of(
            partition,
            now_ms=self.now_ms,
            index_interval_bytes=self.index_interval_bytes,
            segment_index_bytes=self.segment_index_bytes,
            remote_storage=False if self.version < TIERED else self.remote_storage,
        )


def read(unit: Unit, *, request: StartRequest) -> Outcome:
    """Return the partial of BrokerRows; of a partition not asked for, what becomes of it is said alone."""
    if unit.target.kind == LOG_DIR:
        return Outcome(number=unit.number)
    outcome = replace(startup(unit, request=request), rows=[])
    if request.selection.wants(unit.target.name):
        return outcome
    return replace(outcome, findings=_of_a_replica(outcome.findings))


def start_others(
    log_dir: Target, request: StartRequest
) -> tuple[list[Finding], list[LogStart], Failure | None]:
    """Return what the start makes of a log dir's other directories; the first that cannot be read."""
    findings: list[Finding] = []
    logs: dict[str, LogStart] = {}
    failure = None
    if request.selection.include_leftovers and not request.selection.names:
        return findings, [], failure
    request = replace(request, is_bounded=request.is_bounded or is_running(log_dir))

    def other(partition: Partition) -> Yield:
        given = checkpoints(partition)
        log = yield from _started_log(partition, given, request)
        logs[partition.shown] = log_start(partition, log)
        yield from said_of_log(partition, given, log, request.fates)

    for target in find([log_dir.path], Selection(include_leftovers=True), log_dir.server).targets:
        if target.kind == PARTITION and not request.selection.takes(target.name):
            placed = replace(target, metadata_dir=log_dir.metadata_dir)
            outcome = answer(Unit(number=0, targets=(placed,)), other)
            findings += _of_a_replica(outcome.findings)
            failure = failure or outcome.error
    return findings, [*logs.values()], failure


def log_starts(file_set: FileSet, request: StartRequest) -> list[LogStart]:
    """Return how the starts of all logs in log dirs end, each recovered as `ls` does."""
    request = replace(request, selection=NO_PARTITIONS, is_bounded=True)
    return [log for target in log_dir_targets(file_set) for log in start_others(target, request)[1]]


def _of_a_replica(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.code in OF_A_REPLICA or one.severity == SEVERITIES[-1]]


@partition_job
def startup(partition: Partition, *, request: StartRequest) -> YieldAndReturn:
    """Yield the partition's row and what the start reports; return the StartedPartition."""
    if partition.target.name is None:
        raise FileError(
            partition.path, "not-a-partition", "the broker loads only directories named topic-partition"
        )
    given = checkpoints(partition)
    if request.shutdown is None or partition.topic == CLUSTER_METADATA:
        yield from lone_finding(partition, given)
    else:
        given = given._replace(clean=request.shutdown == CLEAN)
    log = yield from _started_log(partition, given, request)
    findings = list(said_of_log(partition, given, log, request.fates))
    is_deleted = partition.target.name.kind == DELETE
    row = row_without_log(StartedWhere(*where(partition)), clean=given.clean)
    row = row._replace(metadata_path=request.metadata_paths.get(partition.target.log_dir or ""))
    needed = 0
    if isinstance(log, StartFailure):
        row = row._replace(outcome=FAILS, error=log.exception, error_message=log.message)
    elif is_deleted:
        files = all_deleted(partition, DELETE_DIRECTORY.reason)
        row = row._replace(
            outcome=WILL_BE_DELETED, files=files, records_lost=0, reason=DELETE_DIRECTORY.reason
        )
    else:
        row = _with_unseen(_with_log(row, partition, log), log)
        if any(finding.code == "LOG-025" for finding in findings):
            row = _with_missing(row, log)
        row = _with_fate(row, log, request.fates.of(partition.target))
        needed = bytes_needed(partition.path, log, row.files)
        if forgets_producers(log):
            findings.append(Finding("PROD-007", NO_SNAPSHOT, dir=partition.shown))
    yield row
    yield from findings
    return StartedPartition(row, log_start(partition, log), needed)


def _started_log(
    partition: Partition, given: Checkpoints, request: StartRequest
) -> Reporting[LoadedLog | StartFailure]:
    """Yield what a start reports; return the log that it opens, or why it does not load."""
    name = partition.target.name
    settings = request.settings(partition)._replace(as_deleted=name is not None and name.kind == DELETE)
    exact = not request.is_bounded or is_recovered(partition)
    return (yield from attempt(partition, start_from(partition, given, settings=settings, exact=exact)))


def log_start(partition: Partition, log: LoadedLog | StartFailure) -> LogStart:
    """Return what the start of a log means to its broker."""
    failure = log if isinstance(log, StartFailure) else None
    unstable = None
    name = partition.target.name
    if not isinstance(log, StartFailure) and not (name is not None and name.kind == DELETE):
        unstable = log.producers.first_unstable_offset
    return LogStart(partition.shown, partition.target.log_dir, failure, unstable)


def said_of_log(
    partition: Partition, given: Checkpoints, log: LoadedLog | StartFailure, fates: ReplicaFates
) -> Iterator[Finding]:
    """Yield what checkpoints, the snapshot of a metadata log, and the metadata say of a started log."""
    name = partition.target.name
    if not isinstance(log, StartFailure) and not (name is not None and name.kind == DELETE):
        yield from missing_records(partition, given, log)
        yield from fates.findings(
            partition.target,
            has_topic_id=PARTITION_METADATA_FILE in partition.names,
            has_records=any(segment.log_size for segment in log.segments),
        )
    yield from damaged_snapshot(partition)


def _scanned_end(log: LoadedLog) -> int:
    """Return where the files of a log end: above its log end where an index leads behind its last batches."""
    scanned = (int(finding.found or 0) for finding in log.findings if finding.code == "IDX-002")
    return max(log.log_end_offset, *scanned, 0)


def _with_unseen(row: StartupRow, log: LoadedLog) -> StartupRow:
    """Return the row with the records from the log end on: no read finds them, new ones get their offsets."""
    if _scanned_end(log) == log.log_end_offset:
        return row
    unseen = _data_records(log.segments[-1:], log.log_end_offset)
    return row._replace(records_lost=_sum(row.records_lost, unseen))


def _with_missing(row: StartupRow, log: LoadedLog) -> StartupRow:
    """Return the row of a log whose files end below its recovery point: the rest cannot be counted."""
    end, flushed = _scanned_end(log), log.checkpoints.recovery_point
    if end >= flushed or log.lost:
        return row
    reason = (
        f"it was flushed up to offset {flushed}, and its files end at {end}: at most {flushed - end} records"
    )
    return row._replace(records_lost=None, reason=reason)


def _with_fate(row: StartupRow, log: LoadedLog, fate: Fate) -> StartupRow:
    """Return the row of a log that loads, with what the metadata makes of it then."""
    if fate.outcome == LOADS:
        written = list(row.files)
        if fate.topic_id is not None:
            size, why = len(topic_id_bytes(fate.topic_id)), ID_WRITTEN
            written.append(FileChange(PARTITION_METADATA_FILE, "create", None, size, why))
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
        kept = 0 if fate.replaced_by is None else log_end_in(fate.replaced_by)
        if kept is None:  # the -future log does not load, and replaces nothing
            return row._replace(outcome=LOADS, reason=None)
        lost = data_records(log, kept)
        return row._replace(
            files=_all_files(row, DELETE_FILE, fate.reason), records_lost=_sum(row.records_lost, lost)
        )
    return row


def _sum(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


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


def data_records(log: LoadedLog, first_offset: int = 0) -> int | None:
    """Return how many records of data a log holds from an offset on, by headers; None if unknown."""
    first = max(first_offset, log.log_start_offset)
    return _data_records(segments_from(log.segments, first), first) if log.log_end_offset > first else 0


def _data_records(segments: Iterable[LoadedSegment], first: int) -> int | None:
    total = 0
    for segment in segments:
        if not segment.log_size:
            continue
        with segment.log() as file:
            try:
                for batch in file_batches(file, 0, segment.log_size):
                    header_of_batch = header(file, batch)
                    if not header_of_batch.is_control and header_of_batch.last_offset >= first:
                        count = record_count(header_of_batch)
                        total += _messages_in(file, batch) if count is None else count
            except (BrokerError, FormatError):
                return None
    return total


def _messages_in(file: DataFile, batch: FileBatch) -> int:
    """Return how many messages a compressed wrapper of magic 0 or 1 holds. FormatError."""
    if batch.size > LARGEST_BATCH:
        raise LimitError(0, "message", LARGEST_BATCH, batch.size)
    opened = message_set(file.read(batch.position, batch.size), LARGEST_BATCH)
    return sum(1 for _ in set_records(opened))


def row_without_log(where: StartedWhere, *, clean: bool) -> StartupRow:
    """Return the row of a replica, nulls for what its log says."""
    return StartupRow(
        where,
        outcome=LOADS,
        error=None,
        error_message=None,
        clean=clean,
        log_start_offset=None,
        log_end_offset=None,
        recovery_point=None,
        segments=None,
        epochs=(),
        producers=(),
        files=(),
        bytes_read=None,
        records_lost=None,
        metadata_path=None,
        reason=None,
    )


def _with_log(row: StartupRow, partition: Partition, log: LoadedLog) -> StartupRow:
    lost = records_in(log.lost)
    return row._replace(
        reason="what recovery cuts is damaged" if lost is None else None,
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        recovery_point=log.recovery_point,
        segments=len(log.segments),
        epochs=log.epochs,
        producers=tuple(
            StartedProducer(number, one.epoch, one.last_sequence, one.last_offset, one.open_since)
            for number, one in sorted(log.producers.producers.items())
        ),
        files=file_changes(partition, log),
        bytes_read=log.bytes_read,
        records_lost=lost,
    )


def forgets_producers(log: LoadedLog) -> bool:
    """Whether a clean start without snapshot passes over producers (`rebuildProducerState`), by some."""
    is_empty = log.log_start_offset >= log.log_end_offset  # then none is written when the log is closed
    if not log.clean or log.snapshots_before or log.recovered or is_empty:
        return False
    for segment in reversed(log.segments):
        if not segment.log_size:
            continue
        with segment.log() as file:
            for _, batch in islice(Walk(file, end=segment.log_size), LOOKED_AT):
                if batch.producer_id > NO_PRODUCER_ID:
                    return True
    return False


def records_in(lost: Iterable[LostBytes]) -> int | None:
    """Return how many records whole batches hold, by their headers; None where they do not tell."""
    total = 0
    for segment, position in lost:
        with segment.log() as log:
            try:
                for batch in file_batches(log, position, segment.log_size):
                    count = record_count(header(log, batch))
                    if count is None:
                        return None
                    total += count
            except BrokerError as error:
                if error.position is None or not only_zeros(log, error.position, segment.log_size):
                    return None
    return total


def with_plans(request: StartRequest, plans: Iterable[StartPlan]) -> StartRequest:
    """Return a request with the fates of the plans' directories, and the metadata logs that decide them."""
    known = tuple(plans)
    paths = {
        log_dir.path: shown(plan.metadata_path)
        for plan in known
        if plan.metadata_path is not None
        for log_dir in plan.log_dirs
    }
    return replace(request, fates=replica_fates(known, request.version), metadata_paths=paths)
