"""`startup`: what a starting broker does to each partition, and whether its process starts at all.

The broker's row comes of all log dirs, once each of their partitions is known. A move to another log dir ends
with a record that assigns the partition to it, then with a rename: a broker that stopped between the two
renames the -future directory when it starts, and deletes the log that was current
(`LogManager.recoverAbandonedFutureLogs`).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, TypeAlias

from formats.batch import NO_PRODUCER_ID
from formats.magic import record_count
from formats.names import (
    CLUSTER_METADATA,
    DELETE,
    FUTURE,
    NORMAL,
    UNKNOWN,
    PartitionDir,
    parse_partition_dir,
)
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, topic_id_of, where
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checks.producer_files import NO_SNAPSHOT
from kcli.kafka.kraft.broker_start import (
    BrokerStart,
    is_offline_before_its_logs,
    offline_by_log,
    start_at_rest,
    start_findings,
    stray_reason,
)
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.meta_properties import (
    ENSEMBLE,
    NEWEST,
    TIERED,
    BrokerConfig,
    StartFailure,
    Version,
    release_of,
)
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.partition_start import attempt, lone_finding, start_from
from kcli.kafka.kraft.partition_state import PartitionState
from kcli.kafka.storage.file_actions import DELETE_FILE, all_deleted, file_changes
from kcli.kafka.storage.loaded_log import LoadedLog, LostBytes, Settings, checkpoints
from kcli.kafka.storage.log_segment import KAFKA_STORAGE, BrokerError, file_batches, header
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.find import Found, each_once
from kcli.logdir.log_dirs import LogDirState, is_running, log_dir_state
from kcli.logdir.partition import PARTITION_METADATA_FILE, Partition
from kcli.logdir.segment import Walk, only_zeros
from kcli.logdir.targets import PARTITION, Target
from kcli.rows.startup import FAILS, OFFLINE, StartedLogDir, StartedProducer, StartupBrokerRow, StartupRow

CLEAN = "clean"
BYTES_A_SECOND = 100 << 20
"""Bytes a second that a log dir gives, where no --read-rate is given."""
SECONDS_PER_SEGMENT = 0.001
LOOKED_AT = 1000
"""Batches of a segment in which producers are looked for."""
STARTUP_KINDS = frozenset({PARTITION, LOG_DIR})
Replicas: TypeAlias = Mapping[tuple[str, int], PartitionState]
"""(topic id, partition) -> its state in the metadata."""
REPLACED = "the broker deletes the log: the metadata assigns the -future one"


class StartedPartition(NamedTuple):
    """A partition's row with its log dir, its topic id, and its first unstable offset once it is loaded.

    `topic_id` is None where no file says it, or where the broker asks for none; `first_unstable_offset`
    without a transaction that is open, or completed in what the start replays.
    """

    row: StartupRow
    log_dir: str | None
    topic_id: str | None
    first_unstable_offset: int | None = None

    @property
    def name(self) -> PartitionDir | None:
        """What the name of its directory says."""
        return parse_partition_dir(os.path.basename(self.row.where.dir))


class Started(NamedTuple):
    """What is known of consecutive units: log dirs, partitions in them, and what the metadata log assigns."""

    dirs: tuple[LogDirState, ...] = ()
    partitions: tuple[StartedPartition, ...] = ()
    replicas: Replicas | None = None


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
    known: KnownSettings = NO_KNOWN_SETTINGS

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
        return Outcome(number=unit.number, partial=Started((log_dir_state(unit.target.path),)))
    return replace(startup(unit, request=request), rows=[])


def startup(unit: Unit, *, request: StartRequest) -> Outcome:
    """Return the partition's row and what the start reports; the partial of a StartReducer says more."""
    known: list[Started] = []
    outcome = answer(unit, lambda partition: _startup(partition, request, known))
    return replace(outcome, partial=known[-1] if outcome.rows else None)


def _needs_topic_id(target: Target) -> bool:
    """Whether the broker looks for the topic id of a log: not of the metadata log, or of one that goes."""
    name = target.name
    return name is not None and name.kind in {NORMAL, FUTURE} and name.topic != CLUSTER_METADATA


def _replicas(partition: Partition, log: LoadedLog) -> Replicas | None:
    """Return what the metadata log assigns; None for another log, or one that cannot be read."""
    if partition.topic != CLUSTER_METADATA:
        return None
    from kcli.kafka.kraft.metadata_loader import metadata_of_log

    try:
        metadata = metadata_of_log(partition, log)
    except FileError:
        return None
    return {(topic_id, number): state for topic_id, number, state in metadata.image.partitions()}


def _startup(partition: Partition, request: StartRequest, known: list[Started]) -> Yield:
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
    log = yield from attempt(partition, start_from(partition, given, settings=settings))
    row = _row_without_log(partition, clean=given.clean)
    topic_id = topic_id_of(partition) if _needs_topic_id(partition.target) else None
    unstable = replicas = None
    if isinstance(log, StartFailure):
        row = row._replace(outcome=FAILS, error=log.exception, error_message=log.message)
        topic_id = None
    elif is_deleted:
        files = all_deleted(partition, "the broker deletes a -delete directory once it has loaded it")
        row = row._replace(files=files, records_lost=0)
    else:
        row = _with_log(row, partition, log)
        unstable, replicas = log.producers.first_unstable_offset, _replicas(partition, log)
    known.append(
        Started(
            partitions=(StartedPartition(row, partition.target.log_dir, topic_id, unstable),),
            replicas=replicas,
        )
    )
    yield row
    yield from damaged_snapshot(partition)
    if isinstance(log, StartFailure) or is_deleted:
        return
    if forgets_producers(log):
        yield Finding("PROD-007", NO_SNAPSHOT, dir=partition.shown)
    # a broker makes the directory first, and writes the file before the first record
    holds_records = any(segment.log_size for segment in log.segments)
    if (
        (holds_records or not is_running(partition.target))
        and _needs_topic_id(partition.target)
        and PARTITION_METADATA_FILE not in partition.names
    ):
        message = "no partition.metadata: a KRaft broker renames the directory to -stray"
        if request.version < ENSEMBLE:
            message = "no partition.metadata: a broker before 3.7 writes it anew"
        yield Finding("START-012" if holds_records else "START-017", message, dir=partition.shown)


def _row_without_log(partition: Partition, *, clean: bool) -> StartupRow:
    return StartupRow(
        where(partition),
        outcome="loads",
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
    )


def _with_log(row: StartupRow, partition: Partition, log: LoadedLog) -> StartupRow:
    return row._replace(
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
        records_lost=records_in(log.lost),
    )


def forgets_producers(log: LoadedLog) -> bool:
    """Whether a clean start without a producer snapshot passes over batches of producers.

    `UnifiedLog.rebuildProducerState` then writes empty snapshots. Some batches of each segment are looked at.
    """
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


def expand(found: Found) -> Found:
    """Return the same with the log dirs that were named before everything in them.

    Beside a log dir, an argument that is missing, unreadable or a file of no kind is a log dir, too; what
    cannot be followed in one is none.
    """
    found = each_once(found)
    named = [*found.named_log_dirs]
    if named:
        inside = {shown(path) for path in named}
        failed = [failure.path for failure in found.failures]
        named += [path for path in failed if os.path.dirname(path) not in inside]
        named += [one.path for one in found.targets if one.kind == UNKNOWN and one.name is None]
    targets = [Target(kind=LOG_DIR, path=path, shown=shown(path), name=None, log_dir=path) for path in named]
    return replace(found, targets=[*targets, *found.targets])


@dataclass(frozen=True, slots=True)
class StartReducer:
    """Collects log dirs and partitions; gives the broker's row and theirs at the end.

    Without a log dir among the inputs there is no broker's row. `read_rate` in bytes a second; `clean`: how
    the broker stopped, where that is not left to the log dirs. Without `is_release_known` the release is the
    newest that the log dirs can be of.
    """

    config: BrokerConfig
    read_rate: int = BYTES_A_SECOND
    clean: bool | None = None
    is_release_known: bool = True

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one, with all rows at the end."""
        a, b = _started(left), _started(right)
        known = Started(
            a.dirs + b.dirs, a.partitions + b.partitions, b.replicas if a.replicas is None else a.replicas
        )
        findings = [] if left is None else [*left.findings]
        if right is not None:
            return replace(right, findings=findings + right.findings, partial=known)
        assert left is not None
        if not known.dirs:
            return replace(left, rows=[one.row for one in known.partitions], partial=known)
        config = self.config
        if not self.is_release_known:
            config = config._replace(version=release_of(known.dirs))
        known, promotions = _with_promoted(known, config)
        row, added = self._broker(known, config)
        rows = [one.row for one in known.partitions]
        return replace(left, rows=[row, *rows], findings=findings + added + promotions, partial=known)

    def _broker(self, known: Started, config: BrokerConfig) -> tuple[StartupBrokerRow, list[Finding]]:
        log_dirs, start = start_at_rest(known.dirs, config)
        if self.clean is not None:
            log_dirs = tuple(one._replace(clean=self.clean) for one in log_dirs)
        known = known._replace(dirs=log_dirs)
        dirs = tuple(_log_dir(one, start, known.partitions) for one in known.dirs)
        findings = [*start_findings(known.dirs, start, config), *_of_log_dirs(known, start), *_strays(known)]
        stop = next(iter(_stops(start, known, dirs)), None)
        meta = next((one.meta for one in known.dirs if one.meta is not None), None)
        rows = [one.row for one in known.partitions]
        lost = [row.records_lost for row in rows if row.error is None]
        seconds = (one.bytes_read / self.read_rate + one.segments * SECONDS_PER_SEGMENT for one in dirs)
        row = StartupBrokerRow(
            broker_id=meta.node_id if meta else None,
            cluster_id=meta.cluster_id if meta else None,
            outcome="starts" if stop is None else FAILS,
            error=stop.exception if stop else None,
            error_message=f"{shown(stop.path)}: {stop.message}" if stop else None,
            kafka_version=".".join(map(str, config.version)),
            metadata_log_dir=None if start.metadata_log_dir is None else shown(start.metadata_log_dir),
            log_dirs=dirs,
            partitions=len(rows),
            failing_partitions=sum(one.failing_partitions for one in dirs),
            segments=sum(one.segments for one in dirs),
            bytes_read=sum(one.bytes_read for one in dirs),
            records_lost=None if None in lost else sum(number or 0 for number in lost),
            seconds=round(max(seconds, default=0.0), 3),
        )
        return row, findings


def _strays(known: Started) -> Iterator[Finding]:
    """Yield the partitions that the metadata log does not assign to this broker, if it does not run."""
    node_id = _node_at_rest(known)
    if known.replicas is None or node_id is None:
        return
    for one in known.partitions:
        number = one.row.where.partition
        if not one.topic_id or number is None:
            continue
        state = known.replicas.get((one.topic_id, number))
        reason = stray_reason(state and state.replicas, one.topic_id, number, node_id)
        if reason is not None:
            yield Finding("START-013", reason, dir=one.row.where.dir)


def _stops(start: BrokerStart, known: Started, dirs: tuple[StartedLogDir, ...]) -> Iterable[StartFailure]:
    """Yield what ends the process, in the broker's order."""
    yield from start.stops
    early = {one.path for one in known.dirs if is_offline_before_its_logs(one)}
    for one in known.partitions:
        if one.log_dir not in start.offline and one.row.error not in {None, KAFKA_STORAGE}:
            yield StartFailure(str(one.row.error), str(one.row.error_message), one.row.where.dir)
        if one.log_dir in early and one.first_unstable_offset is not None:
            yield _reads_offline(one)
    for each_dir in known.dirs:
        if each_dir.path not in early:
            yield from map(_reads_offline, _after_the_failed(each_dir, known.partitions))
    for each in dirs:
        if each.outcome == OFFLINE and each.dir == shown(start.metadata_log_dir or ""):
            yield StartFailure(str(each.error), f"the metadata log dir fails: {each.error_message}", each.dir)
    if all(each.outcome == OFFLINE for each in dirs):
        yield StartFailure(str(dirs[0].error), "every log dir fails", dirs[0].dir)


def _node_at_rest(known: Started) -> int | None:
    """Return the id of the node; None where it is not known, or where it runs."""
    if any(one.locked_by for one in known.dirs):
        return None
    return next((one.meta.node_id for one in known.dirs if one.meta is not None), None)


def _with_promoted(known: Started, config: BrokerConfig) -> tuple[Started, list[Finding]]:
    """Return the same once -future logs took the place of current ones, from 3.7 on, and the findings."""
    node_id = _node_at_rest(known)
    if known.replicas is None or node_id is None or config.version < ENSEMBLE:
        return known, []
    ids = {one.path: one.meta.directory_id for one in known.dirs if one.meta is not None}
    findings, partitions = [], list(known.partitions)
    for future in known.partitions:
        name, directory_id = future.name, ids.get(future.log_dir or "")
        if name is None or name.kind != FUTURE or future.row.error is not None or directory_id is None:
            continue
        state = known.replicas.get((future.topic_id or "", name.partition))
        if state is None or state.directory_of(node_id) != directory_id:
            continue
        message = "the metadata assigns the partition to this log dir: "
        message += "the -future log becomes the current one"
        current = (PartitionDir(name.topic, name.partition, NORMAL, None), future.topic_id)
        for number, one in enumerate(known.partitions):
            if (one.name, one.topic_id) == current:
                message += f", and {one.row.where.dir} is deleted"
                files = tuple(
                    change._replace(action=DELETE_FILE, size_after=None, reason=REPLACED)
                    for change in one.row.files
                )
                partitions[number] = one._replace(row=one.row._replace(files=files))
        findings.append(Finding("START-016", message, dir=future.row.where.dir))
    return known._replace(partitions=tuple(partitions)), findings


def _log_dir(one: LogDirState, start: BrokerStart, partitions: Iterable[StartedPartition]) -> StartedLogDir:
    """Return what becomes of a log dir: an error of the disk in one of its logs takes it offline."""
    rows = [each.row for each in partitions if each.log_dir == one.path]
    reason = start.offline.get(one.path)
    failed = _failed_log(one, partitions)
    if reason is None and failed is not None:
        reason = failed._replace(message=f"{failed.path}: {failed.message}")
    return StartedLogDir(
        dir=shown(one.path),
        directory_id=one.meta.directory_id if one.meta else None,
        outcome="online" if reason is None else OFFLINE,
        error=reason.exception if reason else None,
        error_message=reason.message if reason else None,
        clean=one.clean,
        partitions=len(rows),
        failing_partitions=sum(row.error is not None for row in rows),
        segments=sum(row.segments or 0 for row in rows),
        bytes_read=sum(row.bytes_read or 0 for row in rows),
    )


def _reads_offline(one: StartedPartition) -> StartFailure:
    """Return why the start of a log ends the process: it reads, and its log dir is offline."""
    message = (
        "the log dir is offline, and the start of a log reads its first unstable offset "
        f"{one.first_unstable_offset}"
    )
    return StartFailure(KAFKA_STORAGE, message, one.row.where.dir)


def _after_the_failed(
    log_dir: LogDirState, partitions: Iterable[StartedPartition]
) -> Iterator[StartedPartition]:
    """Yield the logs with an unstable offset that are loaded after one that takes their log dir offline."""
    mine = {os.path.basename(one.row.where.dir): one for one in partitions if one.log_dir == log_dir.path}
    is_offline = False
    for one in (mine[name] for name in log_dir.order if name in mine):
        if is_offline and one.row.error is None and one.first_unstable_offset is not None:
            yield one
        is_offline = is_offline or one.row.error == KAFKA_STORAGE


def _of_log_dirs(known: Started, start: BrokerStart) -> Iterator[Finding]:
    """Yield which log dirs go offline by a log, and which another process holds."""
    for one in known.dirs:
        if one.path not in start.offline and (reason := _failed_log(one, known.partitions)) is not None:
            yield offline_by_log(one.path, reason)
    for one in known.dirs:
        if one.locked_by is not None:
            words = f"process {one.locked_by} holds .lock: it runs with this log dir"
            yield Finding("START-011", words, shown(one.path))


def _failed_log(one: LogDirState, partitions: Iterable[StartedPartition]) -> StartFailure | None:
    """Return why a log takes its log dir offline; None where each loads, or ends the process."""
    for each in partitions:
        row = each.row
        if each.log_dir == one.path and row.error == KAFKA_STORAGE:
            return StartFailure(row.error, str(row.error_message), row.where.dir)
    return None


def _started(outcome: Outcome | None) -> Started:
    """Return what an outcome knows: nothing of a unit that ended its worker."""
    return outcome.partial if outcome is not None and isinstance(outcome.partial, Started) else Started()
