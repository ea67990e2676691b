"""What is to be said of the start of a broker: what ends it, and what becomes of its directories.

Every command that foretells a start asks here, so that all say the same.
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from formats.names import CLUSTER_METADATA, parse_partition_dir
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft import fates
from kcli.kafka.kraft.broker_start import is_offline_before_its_logs, log_dir_of
from kcli.kafka.kraft.meta_properties import ENSEMBLE, NEWEST, StartFailure, Version
from kcli.kafka.kraft.remedies import remedy, with_remedy
from kcli.kafka.kraft.replica_fates import FORMER, LEFT_STRAY, STRAY, USUAL, LogStart, ReplicaFates
from kcli.kafka.kraft.start_plan import StartPlan, plans_at_rest
from kcli.kafka.storage.log_segment import KAFKA_STORAGE
from kcli.logdir.buffers import shown
from kcli.logdir.log_dirs import METADATA_DIRECTORY, LogDirState, version_of
from kcli.logdir.targets import Target


def stop_findings(plan: StartPlan) -> Iterator[Finding]:
    """Yield as findings what ends or delays the process, or takes a log dir offline, and a missing log."""
    paths = [log_dir.path for log_dir in plan.log_dirs]
    for stop in plan.stops:
        yield _ends(plan, stop)
    if plan.wait is not None:
        yield _waits(plan, plan.wait)
    if plan.copy_of is not None:
        yield Finding("START-023", plan.copy_of, dir=shown(plan.log_dirs[0].path))
    for path, reason in {**plan.start.offline, **plan.blocked}.items():
        yield _finding("START-010", with_remedy(reason, paths), path, reason)
    if plan.lost_metadata is not None:
        lost = plan.lost_metadata
        message = f"{lost.message}; to do: {remedy(lost, paths)}"
        finding = _finding("START-014", message, log_dir_of(lost.path, plan.log_dirs), lost)
        yield finding._replace(expected=None if plan.fates is None else METADATA_DIRECTORY)


def _ends(plan: StartPlan, failure: StartFailure, code: str = "START-009", what: str = "") -> Finding:
    message = with_remedy(failure, [log_dir.path for log_dir in plan.log_dirs])
    log_dir = log_dir_of(failure.path, plan.log_dirs)
    return _finding(code, f"{what or failure.exception}: {message}", log_dir, failure)


def _waits(plan: StartPlan, wait: StartFailure) -> Finding:
    return _ends(plan, wait, "START-022", "it waits for ever")


def _finding(code: str, message: str, log_dir: str, failure: StartFailure) -> Finding:
    path = None if failure.path == log_dir else shown(failure.path)
    return Finding(code, message, dir=shown(log_dir), path=path)


def of_plan(plan: StartPlan, logs: Iterable[LogStart]) -> list[LogStart]:
    """Return a node's log starts in their order, however they were read: what comes first is the cause."""
    dirs, is_broker = [log_dir.path for log_dir in plan.log_dirs], not plan.config.has_no_broker
    mine = [
        log
        for log in logs
        if log.log_dir in dirs and (is_broker or os.path.basename(log.directory) == METADATA_DIRECTORY)
    ]

    def order(log: LogStart) -> tuple[int, str, int, str]:
        base = os.path.basename(log.directory)
        name = parse_partition_dir(base)
        number = dirs.index(str(log.log_dir))
        return (number, base, -1, "") if name is None else (number, name.topic, name.partition, base)

    return sorted(mine, key=order)


OPENS_NONE = "process.roles has no broker: a controller opens no partition"
LOG_DIR_OFFLINE = "its log dir goes offline"


def why_not_started(
    plan: StartPlan, log: LogStart, offline: Container[str | None], outcome: str
) -> str | None:
    """Return why a start does not come to a log, given `offline` log dirs and its own `outcome`, or None."""
    name = parse_partition_dir(os.path.basename(log.directory))
    is_metadata_log = name is not None and name.topic == CLUSTER_METADATA
    if plan.config.has_no_broker and not is_metadata_log:
        return OPENS_NONE
    if is_metadata_log and not plan.start.stops:
        return None
    if plan.is_before_logs or plan.metadata_log_failure is not None:
        first = plan.stops[0] if plan.stops else plan.wait
        return first.message if first else "the metadata log does not load"
    is_renamed = outcome == STRAY and (name is None or name.kind != STRAY)
    return LOG_DIR_OFFLINE if log.log_dir in offline and not is_renamed else None


def offline_log_dirs(plan: StartPlan, logs: Sequence[LogStart]) -> dict[str, StartFailure]:
    """Return why log dirs go offline: by their own files, by a log in them, as a log is made there."""
    reasons = {
        log_dir.path: plan.start.offline.get(log_dir.path)
        or next(_takes_offline(log_dir, logs), None)
        or plan.blocked.get(log_dir.path)
        for log_dir in plan.log_dirs
    }
    return {path: reason for path, reason in reasons.items() if reason is not None}


def endless_wait(plan: StartPlan, offline: Mapping[str, StartFailure]) -> StartFailure | None:
    """Return why a node that does not end is never ready; `offline` as of `offline_log_dirs`.

    A heartbeat fails that names an offline log dir in which a topic that is gone is still counted.
    """
    removed = [] if plan.metadata is None else plan.metadata.image.removed
    for log_dir in plan.log_dirs if plan.wait is None else ():
        uuid = log_dir.meta and log_dir.meta.directory_id
        topic = next((topic for topic in removed if uuid in topic.left_in), None)
        if topic is not None and log_dir.path in offline:
            cause = offline[log_dir.path]
            message = (
                f"{cause.reason}: the log dir goes offline, and each heartbeat that says so fails, as topic "
                f"{topic.name} was deleted while no replica in it was in sync; server.log: Topic ID "
                f"{topic.topic_id} existed in isrMembers, but not in the topics map"
            )
            return cause._replace(exception="", message=message)
    return plan.wait


def _takes_offline(log_dir: LogDirState, logs: Iterable[LogStart]) -> Iterator[StartFailure]:
    """Yield why logs take their log dir offline: an error of the disk in one does."""
    for log in logs:
        failure = log.failure
        if log.log_dir == log_dir.path and failure is not None and failure.exception == KAFKA_STORAGE:
            yield failure


def process_ends(
    plan: StartPlan, logs: Sequence[LogStart], offline: Mapping[str, StartFailure]
) -> Iterator[StartFailure]:
    """Yield what ends the process, in the broker's order."""
    start = plan.start
    yield from (stop for stop in plan.stops if stop not in start.log_stops)
    if plan.metadata_log_failure is not None:
        yield plan.metadata_log_failure
    yield from start.log_stops
    for log in logs:
        failure = log.failure
        if failure is not None and failure.exception != KAFKA_STORAGE and start.loads(log.log_dir or ""):
            yield failure
    for log_dir in plan.log_dirs:
        for use in _uses_offline(plan, log_dir, logs):
            cause = offline[log_dir.path]
            message = f"{cause.reason}: the log dir goes offline, and {use}"
            yield StartFailure(KAFKA_STORAGE, message, cause.path)
    reason = offline.get(start.metadata_log_dir or "")
    if reason is not None and plan.config.version >= ENSEMBLE:
        yield reason._replace(message=f"the metadata log dir fails: {reason.reason}")
    if len(offline) == len(plan.log_dirs):
        first = offline[plan.log_dirs[0].path]
        yield first._replace(message=f"every log dir fails: {first.reason}")


def _uses_offline(plan: StartPlan, log_dir: LogDirState, logs: Iterable[LogStart]) -> Iterator[str]:
    """Yield what a start does in a log dir once offline: read a first unstable offset, rename to -stray."""
    by_name = {os.path.basename(log.directory): log for log in logs if log.log_dir == log_dir.path}
    by_path = {} if plan.fates is None else plan.fates.by_path
    is_offline = is_offline_before_its_logs(log_dir)
    for name in log_dir.order if plan.start.loads(log_dir.path) else ():
        log, fate = by_name.get(name), by_path.get(os.path.join(log_dir.path, name), USUAL)
        failure = None if log is None else log.failure
        if is_offline and failure is None:
            if fate.outcome == STRAY and fate.rule not in {LEFT_STRAY, FORMER}:
                yield f"the start renames {name} to -stray there"
            elif log is not None and log.first_unstable_offset is not None:
                offset = log.first_unstable_offset
                yield f"the start of {name} reads its first unstable offset {offset} there"
        is_offline = is_offline or (failure is not None and failure.exception == KAFKA_STORAGE)


def findings_of_logs(plan: StartPlan, logs: Sequence[LogStart]) -> Iterator[Finding]:
    """Yield which log dirs go offline by a log, and what ends the process that is said of no log itself."""
    for log_dir in plan.log_dirs:
        failed = None if log_dir.path in plan.start.offline else next(_takes_offline(log_dir, logs), None)
        if failed is not None:
            yield Finding("START-010", str(failed), dir=shown(log_dir.path))
    offline = offline_log_dirs(plan, logs)
    end, wait = next(process_ends(plan, logs, offline), None), endless_wait(plan, offline)
    if end is None and wait is not None and wait is not plan.wait:
        yield _waits(plan, wait)
    failures = {*plan.stops, plan.metadata_log_failure, *(log.failure for log in logs)}
    if end is not None and end not in failures:
        yield _ends(plan, end)


def findings_of_broker(plan: StartPlan, logs: Sequence[LogStart]) -> Iterator[Finding]:
    """Yield what is to be said of a broker and its log dirs, given how the start of each log ends."""
    yield from stop_findings(plan)
    yield from findings_of_logs(plan, logs)
    yield from empty_findings(plan)


def replica_fates(plans: Iterable[StartPlan], release: Version = NEWEST) -> ReplicaFates:
    """Return the fates of the directories of brokers."""
    all_plans = [*plans]
    decided = (state.path for plan in all_plans if plan.fates is not None for state in plan.log_dirs)
    by_path = {
        path: fate
        for plan in all_plans
        for path, fate in {**(plan.fates.by_path if plan.fates else {}), **plan.strays}.items()
        if fate is not USUAL
    }
    return ReplicaFates(by_path, frozenset(decided), release)


def fates_around(target: Target) -> ReplicaFates:
    """Return what a start makes of the directories of a target's log dir, by the metadata named with it."""
    log_dirs = tuple(filter(None, (target.log_dir, target.metadata_dir)))
    return _fates_at_rest(log_dirs, tuple(map(version_of, log_dirs)))


@lru_cache(maxsize=4)
def _fates_at_rest(log_dirs: tuple[str, ...], _versions: object) -> ReplicaFates:
    return replica_fates(plans_at_rest(log_dirs))


def empty_findings(plan: StartPlan) -> Iterator[Finding]:
    """Yield per log dir which replicas begin empty; those of one that is not here, or not given, first."""
    empty = () if plan.fates is None else plan.fates.empty
    by_location: dict[tuple[str, bool], list[fates.EmptyReplica]] = {}
    for replica in empty:
        if replica.log_dir in plan.blocked:
            continue
        is_lost = fates.is_assigned_elsewhere(replica)
        location = replica.directory_id if is_lost else replica.log_dir or ""
        by_location.setdefault((location, is_lost), []).append(replica)
    for (location, is_lost), replicas in by_location.items():
        names = ", ".join(each.name for each in replicas[:MOST_NAMES])
        names += f" and {len(replicas) - MOST_NAMES} more" if len(replicas) > MOST_NAMES else ""
        missing = _log_dirs_not_given(plan) if is_lost else 0
        where = f"directory.id {location}, which no log dir here has" if is_lost else "this broker"
        where += (
            f" ({len(plan.log_dirs)} of {missing + len(plan.log_dirs)} log dirs given)" if missing else ""
        )
        alone = [each for each in replicas if each.is_only]
        message = f"the metadata assigns {names} to {where}, no log is here: begun empty"
        if alone:
            message += f"; of {len(alone)} no other replica is in sync"
        renames = [f"{shown(each.stray)} to {each.name}" for each in replicas if each.stray is not None]
        if renames:
            message += f"; to do: with the broker stopped rename {', '.join(renames[:MOST_NAMES])}"
        code = "START-019" if alone and not missing else "START-021"
        directory = location if location and not is_lost else plan.log_dirs[0].path
        yield Finding(code, message, dir=shown(directory))


def _log_dirs_not_given(plan: StartPlan) -> int:
    """Return how many log dirs the broker registered with that are not among those given."""
    brokers = {} if plan.metadata is None else plan.metadata.image.brokers
    broker = None if plan.node_id is None else brokers.get(plan.node_id)
    if broker is None or plan.config.node_id is not None:
        return 0
    return max(len(broker.directories) - len(plan.log_dirs), 0)


MOST_NAMES = 5
"""Replicas that a finding names."""
