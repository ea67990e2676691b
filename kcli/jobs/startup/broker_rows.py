"""Whether each broker's process starts: its row, those of its replicas, and what a release makes of it."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from formats.names import CLUSTER_METADATA, NORMAL, PartitionDir
from kcli.engine.contract import Outcome
from kcli.jobs.startup.replica_start import (
    BYTES_A_SECOND,
    SECONDS_PER_SEGMENT,
    Started,
    StartedPartition,
)
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.failover import QuorumNode, ballot_of
from kcli.kafka.kraft.fates import EmptyReplica, is_assigned_elsewhere
from kcli.kafka.kraft.meta_properties import BOOTSTRAP_READ, StartFailure, Version
from kcli.kafka.kraft.releases import RELEASES
from kcli.kafka.kraft.remedies import remedy, server_log
from kcli.kafka.kraft.start_findings import (
    LOG_DIR_OFFLINE,
    OPENS_NONE,
    LogStart,
    endless_wait,
    findings_of_broker,
    of_plan,
    offline_log_dirs,
    process_ends,
    why_not_started,
)
from kcli.kafka.kraft.start_plan import StartPlan, begun_empty
from kcli.kafka.storage.file_actions import DISK_BLOCK, in_blocks
from kcli.logdir.buffers import shown
from kcli.logdir.find import FileSet, log_dir_targets
from kcli.logdir.log_dirs import (
    HIGH_WATERMARK,
    LOG_START,
    QUORUM_STATE,
    RECOVERY_POINT,
    LogDirState,
    metadata_log,
    version_of,
)
from kcli.logdir.targets import ALL_PARTITIONS, Selection
from kcli.rows import Item
from kcli.rows.startup import (
    BROKER_STARTS,
    CREATED_EMPTY,
    DEGRADED,
    FAILS,
    NOT_STARTED,
    OFFLINE,
    WAITS,
    BrokerOutcome,
    ReleaseRow,
    StartedLogDir,
    StartedWhere,
    StartupBrokerRow,
    StartupRow,
)

NEEDED_OF_AN_EMPTY = 2 * DISK_BLOCK
"""Of a replica that begins empty: its directory, and partition.metadata."""


def release_rows(
    plans_of: Callable[[Version], Sequence[StartPlan]], logs: Sequence[LogStart]
) -> Iterator[ReleaseRow]:
    """Yield what each release from 3.3 on makes of a start, by `plans_of` the release; logs load alike."""
    for version in RELEASES:
        for plan in plans_of(version) if version >= BOOTSTRAP_READ else ():
            meta = next((one.meta for one in plan.log_dirs if one.meta is not None), None)
            mine = of_plan(plan, logs)
            offline = offline_log_dirs(plan, mine)
            stop = next(process_ends(plan, mine, offline), None)
            wait = endless_wait(plan, offline)
            cause = stop or wait or next(iter(offline.values()), plan.lost_metadata)
            outcome: BrokerOutcome = DEGRADED if offline else BROKER_STARTS
            if stop or wait:
                outcome = FAILS if stop else WAITS
            yield ReleaseRow(
                broker_id=meta.node_id if meta else None,
                cluster_id=meta.cluster_id if meta else None,
                kafka_version=".".join(map(str, version)),
                outcome=outcome,
                error=stop.exception if stop else None,
                reason=cause.message if cause else None,
                cause_path=shown(cause.path) if cause else None,
                metadata_path=None if plan.metadata_path is None else shown(plan.metadata_path),
            )


def expand(file_set: FileSet, plans: Sequence[StartPlan], selection: Selection) -> FileSet:
    """Return the same with the log dirs that were named after everything in them: all of it decides.

    Where nothing is selected, and nothing ends or delays the process, nothing is answered.
    """
    empty = begun_empty(plans, selection)
    is_any = any(selection.wants(target.name) for target in file_set.targets)
    if selection.names and not (is_any or empty or any(plan.stops or plan.wait for plan in plans)):
        return replace(file_set, targets=[])
    return replace(file_set, targets=[*file_set.targets, *log_dir_targets(file_set)], begun_empty=empty)


@dataclass(frozen=True, slots=True)
class BrokerReducer:
    """Says at the end what becomes of brokers and their log dirs, given how the start of each log ends.

    The partial of an outcome is a list of LogStart.
    """

    plans: Sequence[StartPlan] = ()

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one."""
        logs = left.partial if left is not None and isinstance(left.partial, list) else []
        if right is not None:
            logs += right.partial if isinstance(right.partial, list) else []
            return replace(right, partial=logs)
        assert left is not None
        findings = [
            finding for plan in self.plans for finding in findings_of_broker(plan, of_plan(plan, logs))
        ]
        return Outcome(number=left.number, findings=findings, partial=logs)


@dataclass(frozen=True, slots=True)
class StartReducer:
    """Collects partitions; gives each broker's row and theirs at the end.

    `plans` are those of the brokers whose log dirs were named: a partition of none has its row alone.
    `read_rate` in bytes a second; `clean`: how the brokers stopped, where that is not left to the log dirs.
    `selection`: of which replicas the rows were asked for; all of them decide what the brokers do.
    """

    plans: Sequence[StartPlan] = ()
    read_rate: int = BYTES_A_SECOND
    clean: bool | None = None
    selection: Selection = ALL_PARTITIONS

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one, with all rows at the end."""
        known = Started(_started(left).partitions + _started(right).partitions)
        findings = [] if left is None else [*left.findings]
        if right is not None:
            return replace(right, findings=findings + right.findings, partial=known)
        assert left is not None
        rows: list[Item] = []
        brokers: list[tuple[StartupBrokerRow, StartPlan]] = []
        planned: set[str] = set()
        for plan in self.plans:
            dirs = {log_dir.path for log_dir in plan.log_dirs}
            planned |= dirs
            mine = [partition for partition in known.partitions if partition.log.log_dir in dirs]
            broker, replicas, added = self._broker(plan, mine)
            if broker.outcome in {BROKER_STARTS, DEGRADED}:
                brokers.append((broker, plan))
            rows += [broker, *(row for row in replicas if self._is_wanted(row))]
            findings += added
        nodes = [node for _, plan in brokers if (node := plan.quorum_node) is not None]
        voters = {id(row): _with_ballot(row, plan, nodes) for row, plan in brokers}
        rows = [voters.get(id(row), row) for row in rows]
        alone = (partition.row for partition in known.partitions if partition.log.log_dir not in planned)
        rows += [row for row in alone if self._is_wanted(row)]
        return replace(left, rows=rows, findings=findings, partial=known)

    def _is_wanted(self, row: StartupRow) -> bool:
        topic, number = row.where.topic, row.where.partition
        name = None if topic is None or number is None else PartitionDir(topic, number, NORMAL, None)
        return self.selection.wants(name)

    def _broker(
        self, plan: StartPlan, partitions: Sequence[StartedPartition]
    ) -> tuple[StartupBrokerRow, list[StartupRow], list[Finding]]:
        """Return the row of a broker, those of its replicas, and what is to be said of its log dirs."""
        log_dirs, of_broker = plan.log_dirs, partitions
        if plan.config.has_no_broker:
            partitions = [each for each in of_broker if each.row.where.topic == CLUSTER_METADATA]
        if self.clean is not None:
            log_dirs = tuple(log_dir._replace(clean=self.clean) for log_dir in log_dirs)
        logs = of_plan(plan, (partition.log for partition in partitions))
        offline = offline_log_dirs(plan, logs)
        dirs = tuple(_log_dir(log_dir, offline.get(log_dir.path), partitions) for log_dir in log_dirs)
        stop = next(process_ends(plan, logs, offline), None)
        rows = [_not_started(each, plan, offline) for each in of_broker]
        if stop is None and plan.wait is None and plan.fates is not None:
            rows += [_empty_row(plan, replica, offline) for replica in plan.fates.empty]
        wait = endless_wait(plan, offline) if stop is None else None
        failure = stop or wait or next(iter(offline.values()), None)
        row = self._row(plan, dirs, rows, failure, is_end=stop is not None, is_waiting=wait is not None)
        return row, rows, [*findings_of_broker(plan, logs), *_locked(log_dirs)]

    def _row(
        self,
        plan: StartPlan,
        dirs: tuple[StartedLogDir, ...],
        rows: Sequence[StartupRow],
        failure: StartFailure | None,
        *,
        is_end: bool,
        is_waiting: bool,
    ) -> StartupBrokerRow:
        """Return the row of a broker; `failure` ends or delays the process, or takes a log dir offline."""
        meta = next((one.meta for one in plan.log_dirs if one.meta is not None), None)
        lost = [row.records_lost for row in rows if row.outcome not in {FAILS, NOT_STARTED}]
        seconds = (one.bytes_read / self.read_rate + one.segments * SECONDS_PER_SEGMENT for one in dirs)
        metadata_log_dir = plan.start.metadata_log_dir
        outcome: BrokerOutcome = BROKER_STARTS if failure is None else DEGRADED
        if is_end or is_waiting:
            outcome = FAILS if is_end else WAITS
        stop = failure if is_end else None
        cause = failure or plan.lost_metadata
        if cause is None and any(row.reason == OPENS_NONE for row in rows):
            cause = StartFailure("", OPENS_NONE, plan.config.path)
        says = None if cause is None or outcome == WAITS else server_log(cause) or None
        todo = None if cause is None else remedy(cause, [log_dir.path for log_dir in plan.log_dirs])
        return StartupBrokerRow(
            broker_id=meta.node_id if meta else None,
            cluster_id=meta.cluster_id if meta else None,
            outcome=outcome,
            error=stop.exception if stop else None,
            error_message=str(stop) if stop else None,
            reason=cause.reason if cause else None,
            cause_path=shown(cause.path) if cause else None,
            server_log=says,
            remedy=todo,
            metadata_path=None if plan.metadata_path is None else shown(plan.metadata_path),
            partitions_by_outcome=dict(Counter(row.outcome for row in rows)),
            kafka_version=".".join(map(str, plan.config.version)),
            metadata_log_dir=None if metadata_log_dir is None else shown(metadata_log_dir),
            log_dirs=dirs,
            partitions=len(rows),
            failing_partitions=sum(log_dir.failing_partitions for log_dir in dirs),
            segments=sum(log_dir.segments for log_dir in dirs),
            bytes_read=sum(log_dir.bytes_read for log_dir in dirs),
            bytes_needed=sum(log_dir.bytes_needed for log_dir in dirs)
            + NEEDED_OF_AN_EMPTY * sum(row.outcome == CREATED_EMPTY for row in rows),
            records_lost=None if None in lost else sum(number or 0 for number in lost),
            seconds=round(max(seconds, default=0.0), 3),
        )


def _with_ballot(row: StartupBrokerRow, plan: StartPlan, nodes: Sequence[QuorumNode]) -> StartupBrokerRow:
    """Return the row of a broker with its voters, and what it can reckon with among those here that start."""
    node = plan.quorum_node
    if node is None:
        return row._replace(voters=plan.config.quorum.static_voters or ())
    ballot = ballot_of(node, nodes)
    voters = tuple(sorted({voter.node_id for voter in node.voters}))
    return row._replace(voters=voters, electable=None if ballot is None else ballot.is_electable)


def _not_started(one: StartedPartition, plan: StartPlan, offline: Mapping[str, StartFailure]) -> StartupRow:
    """Return the row of a replica, `not-started` where its log dir or the process ends before its log."""
    row = one.row
    reason = why_not_started(plan, one.log, offline, row.outcome)
    if reason is None or (row.outcome == FAILS and reason != OPENS_NONE):
        return row
    return row._replace(outcome=NOT_STARTED, error=None, error_message=None, records_lost=0, reason=reason)


def _empty_row(plan: StartPlan, replica: EmptyReplica, offline: Mapping[str, StartFailure]) -> StartupRow:
    """Return the row of a replica that begins empty, unless its log dir is offline by then."""
    meta = next((log_dir.meta for log_dir in plan.log_dirs if log_dir.meta is not None), None)
    where = StartedWhere(
        None, plan.node_id, meta.cluster_id if meta else None, replica.topic, replica.partition
    )
    reason = f"the metadata assigns directory.id {replica.directory_id}, and no log is here"
    if is_assigned_elsewhere(replica):
        reason += ", nor a log dir of this id: bring its volume back before the start"
    if replica.stray is not None:
        reason += f" but {shown(replica.stray)}"
    is_offline = replica.log_dir in offline
    return StartupRow(
        where,
        outcome=NOT_STARTED if is_offline else CREATED_EMPTY,
        error=None,
        error_message=None,
        clean=True,
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        segments=1,
        epochs=(),
        producers=(),
        files=(),
        bytes_read=0,
        records_lost=0,
        metadata_path=None if plan.metadata_path is None else shown(plan.metadata_path),
        reason=LOG_DIR_OFFLINE if is_offline else reason,
    )


def _log_dir(
    one: LogDirState, reason: StartFailure | None, partitions: Iterable[StartedPartition]
) -> StartedLogDir:
    """Return what becomes of a log dir: an error of the disk in one of its logs takes it offline."""
    mine = [each for each in partitions if each.log.log_dir == one.path]
    rows = [each.row for each in mine]
    return StartedLogDir(
        dir=shown(one.path),
        directory_id=one.meta.directory_id if one.meta else None,
        outcome="online" if reason is None else OFFLINE,
        error=reason.exception if reason else None,
        error_message=str(reason) if reason else None,
        clean=one.clean,
        partitions=len(rows),
        failing_partitions=sum(row.error is not None for row in rows),
        segments=sum(row.segments or 0 for row in rows),
        bytes_read=sum(row.bytes_read or 0 for row in rows),
        bytes_needed=0 if reason else _checkpoint_bytes(one.path) + sum(each.bytes_needed for each in mine),
    )


def _checkpoint_bytes(log_dir: str) -> int:
    """Return what the checkpoint files of a log dir take that are written in the first minute.

    Each is written beside the old one, as quorum-state is when the node takes part in an election.
    """
    paths = [os.path.join(log_dir, name) for name in (RECOVERY_POINT, LOG_START, HIGH_WATERMARK)]
    if (metadata := metadata_log(log_dir)) is not None:
        paths.append(os.path.join(metadata, QUORUM_STATE))
    versions = map(version_of, paths)
    return sum(in_blocks(max(1, version[1] if version else 0)) for version in versions)


def _locked(dirs: Sequence[LogDirState]) -> Iterator[Finding]:
    """Yield which log dirs another process holds."""
    for log_dir in dirs:
        if log_dir.locked_by is not None:
            words = f"process {log_dir.locked_by} holds .lock: it runs with this log dir"
            yield Finding("START-011", words, shown(log_dir.path))


def _started(outcome: Outcome | None) -> Started:
    """Return what an outcome knows: nothing of a unit that ended its worker."""
    return outcome.partial if outcome is not None and isinstance(outcome.partial, Started) else Started()
