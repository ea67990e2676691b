"""`startup`: what a starting broker does to each partition, by its log dir's checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from formats.names import CLUSTER_METADATA, DELETE, FUTURE, NORMAL
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.startup.startup_broker import Started, log_dir_outcome
from kcli.jobs.startup.startup_future import Replicas, StartedPartition
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checks.producer_files import NO_SNAPSHOT
from kcli.kafka.kraft.broker_start import ENSEMBLE, NEWEST, TIERED, Version
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.start import lone_finding
from kcli.kafka.kraft.start_settings import UNKNOWN, KnownSettings
from kcli.kafka.kraft.startup import Startup, failure, forgets_producers, predict
from kcli.kafka.storage.loaded_log import Checkpoints, LoadedLog, Settings, checkpoints
from kcli.kafka.storage.producers import Producer
from kcli.kafka.storage.start_files import all_deleted
from kcli.logdir.buffers import FileError
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import PARTITION_METADATA, Partition
from kcli.logdir.targets import Target
from kcli.rows.startup import StartedProducer, StartupRow

CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What the broker's clock and configuration contribute.

    `shutdown` is `clean`, `unclean` or None (as the log dir's marker says), `version` the release of the
    broker. The settings are those of all topics, None where `known` says them.
    """

    now_ms: int
    shutdown: str | None = None
    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None
    remote_storage: bool | None = None
    version: Version = NEWEST
    known: KnownSettings = UNKNOWN

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
    """Return a log dir, or a partition's row, as the partial of a StartReducer."""
    if unit.target.kind == LOG_DIR:
        return log_dir_outcome(unit)
    logs: list[LoadedLog] = []
    outcome = startup(unit, request=request, logs=logs)
    rows = [row for row in outcome.rows if isinstance(row, StartupRow)]
    log = logs[-1] if logs else None
    partitions = tuple(
        StartedPartition(
            row,
            unit.target.log_dir,
            _topic_id(unit.target, row),
            None if log is None else log.producers.first_unstable_offset,
        )
        for row in rows
    )
    replicas = _replicas(unit.target, log) if rows and log is not None else None
    return replace(outcome, rows=[], partial=Started(partitions=partitions, replicas=replicas))


def _topic_id(target: Target, row: StartupRow) -> str | None:
    """Return the topic id of a log that loads; None without the file, or where none is asked for."""
    if not _needs_topic_id(target) or row.error is not None:
        return None
    try:
        return Partition(target).topic_id()
    except FileError:
        return None


def _needs_topic_id(target: Target) -> bool:
    """Whether the broker looks for the topic id of a log: not of the metadata log, or of one that goes."""
    name = target.name
    return name is not None and name.kind in {NORMAL, FUTURE} and name.topic != CLUSTER_METADATA


def _replicas(target: Target, log: LoadedLog) -> Replicas | None:
    """Return what the metadata log assigns; None for another log, or one that cannot be read."""
    if target.name is None or target.name.topic != CLUSTER_METADATA:
        return None
    from kcli.kafka.kraft.metadata_source import metadata_of_log

    try:
        metadata = metadata_of_log(Partition(target), log)
    except FileError:
        return None
    return {(topic_id, number): state for topic_id, number, state in metadata.image.partitions()}


def startup(unit: Unit, *, request: StartRequest, logs: list[LoadedLog] | None = None) -> Outcome:
    """Return the partition's row and what the start reports; `logs` gets the log that the broker holds."""
    return answer(unit, lambda partition: _startup(partition, request, [] if logs is None else logs))


def _startup(partition: Partition, request: StartRequest, logs: list[LoadedLog]) -> Yield:
    if partition.target.name is None:
        raise FileError(
            partition.path, "not-a-partition", "the broker loads only directories named topic-partition"
        )
    given = checkpoints(partition)
    if request.shutdown is None or partition.topic == CLUSTER_METADATA:
        yield from lone_finding(partition, given)
    else:
        given = given._replace(clean=request.shutdown == CLEAN)
    is_deleted = partition.target.name.kind == DELETE
    settings = request.settings(partition)._replace(as_deleted=is_deleted)
    found = yield from predict(partition, given, settings=settings)
    if is_deleted and found.error is None:
        reason = "the broker deletes a -delete directory once it has loaded it"
        found = Startup(None, None, 0, all_deleted(partition, reason))
    if found.log is not None:
        logs.append(found.log)
    yield _row(partition, given, found)
    yield from damaged_snapshot(partition)
    if found.log is not None and forgets_producers(found.log):
        yield Finding("PROD-007", NO_SNAPSHOT, dir=partition.shown)
    # a broker makes the directory first, and writes the file before the first record
    holds_records = found.log is not None and any(segment.log_size for segment in found.log.segments)
    if (
        found.log is not None
        and (holds_records or not is_running(partition.target))
        and _needs_topic_id(partition.target)
        and not any(change.file == PARTITION_METADATA for change in found.files)
    ):
        message = "no partition.metadata: a KRaft broker renames the directory to -stray"
        if request.version < ENSEMBLE:
            message = "no partition.metadata: a broker before 3.7 writes it anew"
        yield Finding("START-012" if holds_records else "START-017", message, dir=partition.shown)


def _row(partition: Partition, given: Checkpoints, found: Startup) -> StartupRow:
    log, error = found.log, found.error
    return StartupRow(
        where(partition),
        outcome=found.outcome,
        error=error.exception if error else None,
        error_message=failure(partition, error).message if error else None,
        clean=given.clean,
        log_start_offset=log and log.log_start_offset,
        log_end_offset=log and log.log_end_offset,
        recovery_point=log and log.recovery_point,
        segments=log and len(log.segments),
        epochs=tuple(log.epochs) if log else (),
        producers=_producers(log),
        files=found.files,
        bytes_read=log and log.bytes_read,
        records_lost=found.records_lost,
    )


def _producers(log: LoadedLog | None) -> tuple[StartedProducer, ...]:
    found: Mapping[int, Producer] = log.producers.producers if log else {}
    return tuple(
        StartedProducer(number, one.epoch, one.last_sequence, one.last_offset, one.open_since)
        for number, one in sorted(found.items())
    )
