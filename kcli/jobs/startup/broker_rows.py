"""Whether each broker's process starts: its row, those of its replicas, and what a release makes of it."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from formats.names import CLUSTER_METADATA, NORMAL, PartitionDir
from kcli.jobs.startup.replica_start import BYTES_A_SECOND, SECONDS_PER_SEGMENT, StartedPartition
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.fates import EmptyReplica, is_assigned_elsewhere
from kcli.kafka.kraft.meta_properties import BOOTSTRAP_READ, StartFailure, Version
from kcli.kafka.kraft.quorum import QuorumNode, ballot_of
from kcli.kafka.kraft.releases import RELEASES
from kcli.kafka.kraft.remedies import remedy, server_log
from kcli.kafka.kraft.replica_fates import LogStart
from kcli.kafka.kraft.start_findings import (
    LOG_DIR_OFFLINE,
    OPENS_NONE,
    endless_wait,
    findings_of_broker,
    of_plan,
    offline_log_dirs,
    process_ends,
    why_not_started,
)
from kcli.kafka.kraft.start_plan import StartPlan
from kcli.kafka.storage.file_actions import DISK_BLOCK, in_blocks
from kcli.logdir.buffers import shown
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
from kcli.rows import Item, startup

STARTING = frozenset({startup.BROKER_STARTS, startup.DEGRADED})
NEEDED_OF_AN_EMPTY = 2 * DISK_BLOCK  # of a replica that begins empty: its directory, and partition.metadata


class ProcessStart(NamedTuple):
    """What ends the process of a broker, else what it waits for, and which log dirs go offline before."""

    plan: StartPlan
    offline: Mapping[str, StartFailure]
    stop: StartFailure | None
    wait: StartFailure | None

    @property
    def outcome(self) -> startup.BrokerOutcome:
        """What becomes of the process, in a word."""
        if self.stop or self.wait:
            return startup.FAILS if self.stop else startup.WAITS
        return startup.DEGRADED if self.offline else startup.BROKER_STARTS

    @property
    def cause(self) -> StartFailure | None:
        """What ends or delays the process, else what else is lost."""
        return self.stop or self.wait or next(iter(self.offline.values()), self.plan.lost_metadata)

    def columns(self, cause: StartFailure | None) -> dict[str, Any]:
        """Return the columns that say of every broker who it is, how it starts, and why so."""
        plan = self.plan
        meta = next((log_dir.meta for log_dir in plan.log_dirs if log_dir.meta is not None), None)
        return {
            "broker_id": meta.node_id if meta else None,
            "cluster_id": meta.cluster_id if meta else None,
            "kafka_version": ".".join(map(str, plan.config.version)),
            "outcome": self.outcome,
            "error": self.stop.exception if self.stop else None,
            "cause_path": shown(cause.path) if cause else None,
            "metadata_path": None if plan.metadata_path is None else shown(plan.metadata_path),
        }


def process_start(plan: StartPlan, logs: Sequence[LogStart]) -> ProcessStart:
    """Return what becomes of the process of a broker by the starts of its logs."""
    offline = offline_log_dirs(plan, logs)
    stop = next(process_ends(plan, logs, offline), None)
    return ProcessStart(plan, offline, stop, endless_wait(plan, offline) if stop is None else None)


def release_rows(
    plans_of: Callable[[Version], Sequence[StartPlan]], logs: Sequence[LogStart]
) -> Iterator[startup.StartupReleaseRow]:
    """Yield what each release from 3.3 on makes of a start, by `plans_of` the release; logs load alike."""
    for version in RELEASES:
        for plan in plans_of(version) if version >= BOOTSTRAP_READ else ():
            start = process_start(plan, of_plan(plan, logs))
            reason = start.cause.message if start.cause else None
            yield startup.StartupReleaseRow(**start.columns(start.cause), reason=reason)


@dataclass(frozen=True, slots=True)
class BrokerRows:
    """What is made of all partitions at the end: each broker's row, and theirs.

    `plans` are those of the brokers whose log dirs were named: a partition of none has its row alone.
    `read_rate` in bytes a second; `clean`: how the brokers stopped, where that is not left to the log dirs.
    `selection`: of which replicas the rows were asked for; all of them decide what the brokers do.
    """

    plans: Sequence[StartPlan] = ()
    read_rate: int = BYTES_A_SECOND
    clean: bool | None = None
    selection: Selection = ALL_PARTITIONS

    def __call__(self, partitions: list[StartedPartition]) -> tuple[list[Item], list[Finding]]:
        """Return the rows of brokers and replicas, and what is to be said of log dirs."""
        findings, rows, planned = list[Finding](), list[Item](), set[str]()
        brokers: list[tuple[StartPlan, startup.StartupBrokerRow, list[startup.StartupRow]]] = []
        for plan in self.plans:
            dirs = {log_dir.path for log_dir in plan.log_dirs}
            planned |= dirs
            of_broker = [partition for partition in partitions if partition.log.log_dir in dirs]
            row, replicas, added = self._broker(plan, of_broker)
            brokers.append((plan, row, replicas))
            findings += added
        starting = (plan.quorum_node for plan, row, _ in brokers if row.outcome in STARTING)
        nodes = [node for node in starting if node is not None]
        for plan, row, replicas in brokers:
            voting = _with_ballot(row, plan, nodes) if row.outcome in STARTING else row
            rows += [voting, *filter(self._is_wanted, replicas)]
        alone = (partition.row for partition in partitions if partition.log.log_dir not in planned)
        return [*rows, *filter(self._is_wanted, alone)], findings

    def _is_wanted(self, row: startup.StartupRow) -> bool:
        topic, number = row.where.topic, row.where.partition
        name = None if topic is None or number is None else PartitionDir(topic, number, NORMAL, None)
        return self.selection.wants(name)

    def _broker(
        self, plan: StartPlan, partitions: Sequence[StartedPartition]
    ) -> tuple[startup.StartupBrokerRow, list[startup.StartupRow], list[Finding]]:
        """Return the row of a broker, those of its replicas, and what is to be said of its log dirs."""
        log_dirs, of_broker = plan.log_dirs, partitions
        if plan.config.has_no_broker:
            partitions = [replica for replica in of_broker if replica.row.where.topic == CLUSTER_METADATA]
        if self.clean is not None:
            log_dirs = tuple(log_dir._replace(clean=self.clean) for log_dir in log_dirs)
        logs = of_plan(plan, (partition.log for partition in partitions))
        start = process_start(plan, logs)
        dirs = tuple(_log_dir(log_dir, start.offline.get(log_dir.path), partitions) for log_dir in log_dirs)
        rows = [_not_started(partition, plan, start.offline) for partition in of_broker]
        if start.stop is None and plan.wait is None and plan.fates is not None:
            rows += [_empty_row(plan, replica, start.offline) for replica in plan.fates.empty]
        row = self._row(start, dirs, rows)
        message = "{} holds .lock: it runs with this log dir"
        locked = (
            Finding("START-011", message.format(_process(log_dir.locked_by)), shown(log_dir.path))
            for log_dir in log_dirs
            if log_dir.locked_by is not None
        )
        return row, rows, [*findings_of_broker(plan, logs), *locked]

    def _row(
        self, start: ProcessStart, dirs: Sequence[startup.StartedLogDir], rows: Sequence[startup.StartupRow]
    ) -> startup.StartupBrokerRow:
        """Return the row of a broker by its start, its log dirs and its replicas."""
        plan, stop, cause = start.plan, start.stop, start.cause
        lost = [row.records_lost for row in rows if row.outcome not in {startup.FAILS, startup.NOT_STARTED}]
        seconds = (row.bytes_read / self.read_rate + row.segments * SECONDS_PER_SEGMENT for row in dirs)
        metadata_log_dir = plan.start.metadata_log_dir
        if cause is None and any(row.reason == OPENS_NONE for row in rows):
            cause = StartFailure("", OPENS_NONE, plan.config.path)
        return startup.StartupBrokerRow(
            **start.columns(cause),
            error_message=str(stop) if stop else None,
            reason=cause.reason if cause else None,
            server_log=None if cause is None or start.wait else server_log(cause) or None,
            remedy=None if cause is None else remedy(cause, [log_dir.path for log_dir in plan.log_dirs]),
            partitions_by_outcome=dict(Counter(row.outcome for row in rows)),
            metadata_log_dir=None if metadata_log_dir is None else shown(metadata_log_dir),
            log_dirs=tuple(dirs),
            partitions=len(rows),
            failing_partitions=sum(log_dir.failing_partitions for log_dir in dirs),
            segments=sum(log_dir.segments for log_dir in dirs),
            bytes_read=sum(log_dir.bytes_read for log_dir in dirs),
            bytes_needed=sum(log_dir.bytes_needed for log_dir in dirs)
            + NEEDED_OF_AN_EMPTY * sum(row.outcome == startup.CREATED_EMPTY for row in rows),
            records_lost=None if None in lost else sum(number or 0 for number in lost),
            seconds=round(max(seconds, default=0.0), 3),
        )


def _process(number: int) -> str:
    """Return a process in words; Linux numbers one of another PID namespace, as of a container, 0."""
    return f"process {number}" if number else "a process of another container"


def _with_ballot(
    row: startup.StartupBrokerRow, plan: StartPlan, nodes: Sequence[QuorumNode]
) -> startup.StartupBrokerRow:
    """Return the row of a broker with its voters, and what it can reckon with among those here that start."""
    node = plan.quorum_node
    if node is None:
        return row._replace(voters=plan.config.quorum.static_voters or ())
    ballot = ballot_of(node, nodes)
    voters = tuple(sorted({voter.node_id for voter in node.voters}))
    return row._replace(voters=voters, electable=None if ballot is None else ballot.is_electable)


def _not_started(
    partition: StartedPartition, plan: StartPlan, offline: Mapping[str, StartFailure]
) -> startup.StartupRow:
    """Return the row of a replica, `not-started` where its log dir or the process ends before its log."""
    row = partition.row
    reason = why_not_started(plan, partition.log, offline, row.outcome)
    if reason is None or (row.outcome == startup.FAILS and reason != OPENS_NONE):
        return row
    return row._replace(
        outcome=startup.NOT_STARTED, error=None, error_message=None, records_lost=0, reason=reason
    )


def _empty_row(
    plan: StartPlan, replica: EmptyReplica, offline: Mapping[str, StartFailure]
) -> startup.StartupRow:
    """Return the row of a replica that begins empty, unless its log dir is offline by then."""
    meta = next((log_dir.meta for log_dir in plan.log_dirs if log_dir.meta is not None), None)
    where = startup.StartedWhere(
        None, plan.node_id, meta.cluster_id if meta else None, replica.topic, replica.partition
    )
    reason = f"the metadata assigns directory.id {replica.directory_id}, and no log is here"
    if is_assigned_elsewhere(replica):
        reason += ", nor a log dir of this id: bring its volume back before the start"
    if replica.stray is not None:
        reason += f" but {shown(replica.stray)}"
    is_offline = replica.log_dir in offline
    return startup.StartupRow(
        where,
        startup.NOT_STARTED if is_offline else startup.CREATED_EMPTY,
        clean=True,
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        segments=1,
        bytes_read=0,
        records_lost=0,
        metadata_path=None if plan.metadata_path is None else shown(plan.metadata_path),
        reason=LOG_DIR_OFFLINE if is_offline else reason,
    )


def _log_dir(
    state: LogDirState, reason: StartFailure | None, partitions: Iterable[StartedPartition]
) -> startup.StartedLogDir:
    """Return what becomes of a log dir: an error of the disk in one of its logs takes it offline."""
    logs = [partition for partition in partitions if partition.log.log_dir == state.path]
    rows = [partition.row for partition in logs]
    return startup.StartedLogDir(
        dir=shown(state.path),
        directory_id=state.meta.directory_id if state.meta else None,
        outcome="online" if reason is None else startup.OFFLINE,
        error=reason.exception if reason else None,
        error_message=str(reason) if reason else None,
        clean=state.clean,
        partitions=len(rows),
        failing_partitions=sum(row.error is not None for row in rows),
        segments=sum(row.segments or 0 for row in rows),
        bytes_read=sum(row.bytes_read or 0 for row in rows),
        bytes_needed=0 if reason else _checkpoint_bytes(state.path) + sum(log.bytes_needed for log in logs),
    )


def _checkpoint_bytes(log_dir: str) -> int:
    """Return what checkpoint files take that the first minute writes, and an election (quorum-state)."""
    paths = [os.path.join(log_dir, name) for name in (RECOVERY_POINT, LOG_START, HIGH_WATERMARK)]
    if (metadata := metadata_log(log_dir)) is not None:
        paths.append(os.path.join(metadata, QUORUM_STATE))
    versions = map(version_of, paths)
    return sum(in_blocks(max(1, version[1] if version else 0)) for version in versions)
