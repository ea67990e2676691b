"""The step of `startup` that makes one row of all log dirs: whether the process starts with them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from formats.names import UNKNOWN
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.startup.brokers import offline_by_log, start_at_rest, start_findings
from kcli.jobs.startup.startup_future import Replicas, StartedPartition, promoted
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.broker_start import (
    ENSEMBLE,
    FAILS,
    OFFLINE,
    ONLINE,
    STARTS,
    BrokerConfig,
    BrokerStart,
    StartFailure,
    is_offline_before_its_logs,
    release_of,
    stray_reason,
)
from kcli.kafka.storage.log_segment import KAFKA_STORAGE
from kcli.logdir.buffers import shown
from kcli.logdir.classify import LOG_DIR
from kcli.logdir.find import Found, each_once
from kcli.logdir.log_dirs import LogDirState, log_dir_state
from kcli.logdir.targets import PARTITION, Target
from kcli.rows.startup import StartedLogDir, StartupBrokerRow

READ_RATE = 100 << 20
"""Bytes a second that a log dir gives, where no --read-rate is given."""
SECONDS_PER_SEGMENT = 0.001
ACCEPTS = frozenset({PARTITION, LOG_DIR})


class Started(NamedTuple):
    """What is known of consecutive units: log dirs, partitions in them, and what the metadata log assigns."""

    dirs: tuple[LogDirState, ...] = ()
    partitions: tuple[StartedPartition, ...] = ()
    replicas: Replicas | None = None


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


def log_dir_outcome(unit: Unit) -> Outcome:
    """Return what a broker learns of a log dir, as the partial of a StartReducer."""
    return Outcome(number=unit.number, partial=Started((log_dir_state(unit.target.path),)))


@dataclass(frozen=True, slots=True)
class StartReducer:
    """Collects log dirs and partitions; gives the broker's row and theirs at the end.

    Without a log dir among the inputs there is no broker's row. `read_rate` in bytes a second; `clean`: how
    the broker stopped, where that is not left to the log dirs. Without `is_release_known` the release is the
    newest that the log dirs can be of.
    """

    config: BrokerConfig
    read_rate: int = READ_RATE
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
        findings = [
            *start_findings(known.dirs, start, config),
            *_of_log_dirs(known, start),
            *self._strays(known),
        ]
        return self._row(known, config, start, dirs), findings

    def _row(
        self, known: Started, config: BrokerConfig, start: BrokerStart, dirs: tuple[StartedLogDir, ...]
    ) -> StartupBrokerRow:
        """Return the row of the broker."""
        stop = next(iter(self._stops(start, known, dirs)), None)
        meta = next((one.meta for one in known.dirs if one.meta is not None), None)
        rows = [one.row for one in known.partitions]
        lost = [row.records_lost for row in rows if row.error is None]
        seconds = (one.bytes_read / self.read_rate + one.segments * SECONDS_PER_SEGMENT for one in dirs)
        return StartupBrokerRow(
            broker_id=meta.node_id if meta else None,
            cluster_id=meta.cluster_id if meta else None,
            outcome=STARTS if stop is None else FAILS,
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

    def _strays(self, known: Started) -> Iterator[Finding]:
        """Yield the partitions that the metadata log does not assign to this broker.

        Not of a running broker: it makes partitions while its files are read.
        """
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

    def _stops(
        self, start: BrokerStart, known: Started, dirs: tuple[StartedLogDir, ...]
    ) -> Iterable[StartFailure]:
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
                yield StartFailure(
                    str(each.error), f"the metadata log dir fails: {each.error_message}", each.dir
                )
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
    partitions, findings = promoted(known.partitions, known.dirs, known.replicas, node_id)
    return known._replace(partitions=partitions), findings


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
        outcome=ONLINE if reason is None else OFFLINE,
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
