"""What a start of each broker among the inputs comes to, before the first record of a partition is read.

Log dirs, the metadata log that decides, what ends or delays the process, and the fate of every replica. Every
command asks here. The order is the broker's: meta.properties, bootstrap.checkpoint, the metadata log, the
quorum, then LogManager.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from formats.names import CLUSTER_METADATA, FUTURE, NORMAL
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.broker_start import BrokerStart, as_named, lacks_metadata_log, log_dir_of, start_at_rest
from kcli.kafka.kraft.failover import QuorumNode
from kcli.kafka.kraft.fates import (
    DIRECTORY_IDS,
    LOADS,
    NOT_ASSIGNED,
    STRAY,
    USUAL,
    WILL_BE_DELETED,
    EmptyReplica,
    Fate,
    Fates,
    LogDirId,
    ReplicaDir,
    fates,
    is_assigned_elsewhere,
)
from kcli.kafka.kraft.meta_properties import (
    BOOTSTRAP_READ,
    KRAFT_ALONE,
    NEWEST,
    RUNTIME,
    UNKNOWN_CONFIG,
    BrokerConfig,
    StartFailure,
    Version,
    brokers_of,
    by_broker,
    release_of,
)
from kcli.kafka.kraft.metadata_image import Image
from kcli.kafka.kraft.metadata_loader import Metadata, metadata_in, reads_snapshot
from kcli.kafka.kraft.metadata_snapshot import BOOTSTRAP, bootstrap_level, newest_snapshot_trouble
from kcli.kafka.kraft.metadata_start import ILLEGAL_ARGUMENT, metadata_failure, unknown_level
from kcli.kafka.kraft.partition_start import log_end_in
from kcli.kafka.kraft.quorum_start import (
    is_controller,
    quorum_failure,
    quorum_node,
    recorded_voters,
    wait_reason,
)
from kcli.kafka.kraft.releases import Release, release_named
from kcli.kafka.kraft.remedies import remedy, with_remedy
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.log_dirs import (
    METADATA_DIRECTORY,
    QUORUM_STATE,
    LogDirState,
    directory_facts,
    is_running,
    log_dir_state,
)
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target

LEVEL_USED_WHERE_EMPTY = (4, 0)
"""From here on the level in bootstrap.checkpoint counts only where the metadata log is empty."""
LOST_RECORDS = "the metadata log has lost records (START-014)"
STRAY_LINE = "Log in DIRECTORY marked stray and renamed to DIRECTORY-stray"
LEFT_BY_ZOOKEEPER = (
    "log dirs of a broker of ZooKeeper, which this release has not: the metadata log begins empty, and every "
    "log becomes -stray"
)
FIRST_BOOTSTRAP_LEVEL = 4
"""3.3-IV0: a release with bootstrap.checkpoint refuses levels before it."""


class StartPlan(NamedTuple):
    """What the start of one broker comes to.

    `stops`: what ends the process, in the broker's order, the first counts; `wait`: why it is never ready,
    where nothing ends it. `metadata_path`: the metadata log that decides, None where none is here; `fates` is
    None then, for a broker that runs, and where the process does not come to load its logs.
    `metadata_log_failure`: why that log itself does not load, which its own row says, too. `lost_metadata`:
    that the log loads without records that it had, where that decides; its exception is what server.log says.
    `copy_of`: in words of which other log dirs they are a copy.
    """

    log_dirs: tuple[LogDirState, ...]
    config: BrokerConfig
    start: BrokerStart
    stops: tuple[StartFailure, ...]
    wait: StartFailure | None
    metadata_path: str | None
    metadata: Metadata | None
    metadata_log_failure: StartFailure | None
    fates: Fates | None
    lost_metadata: StartFailure | None = None
    copy_of: str | None = None

    @property
    def node_id(self) -> int | None:
        """The node.id: as configured, else of the first meta.properties."""
        return node_of(self.log_dirs, self.config)

    @property
    def quorum_node(self) -> QuorumNode | None:
        """The node as one of its quorum; None without its metadata log."""
        if self.metadata is None:
            return None
        meta = next((one.meta for one in self.log_dirs if one.path == self.start.metadata_log_dir), None)
        return quorum_node(self.node_id, meta, self.metadata, self.config.quorum.static_voters)

    @property
    def is_before_logs(self) -> bool:
        """Whether the process ends or waits before a log is loaded."""
        return bool(self.start.stops or self.wait or (self.stops and not self.start.log_stops))


def start_plans(
    log_dirs: Sequence[str],
    config: BrokerConfig,
    metadata_log_dir: str | None = None,
    *,
    is_release_known: bool = True,
    are_named: bool = True,
) -> list[StartPlan]:
    """Return the plan of each broker whose log dirs these are; folders of copies are none but `are_named`.

    With a metadata log dir of server.properties they are of one. `metadata_log_dir`: where a metadata log
    lies apart. Without `is_release_known` the release is the newest that the log dirs can be of.
    """
    states = [log_dir_state(path) for path in log_dirs]
    if not are_named and config.metadata_log_dir is None:
        paths = {one.path for dirs in brokers_of(log_dirs) for one in dirs}
        states = [one for one in states if one.path in paths]
    brokers = [states] if config.metadata_log_dir is not None else _of_brokers(states, are_named=are_named)
    plans = []
    for dirs in brokers:
        own = config if is_release_known else config._replace(version=release_of(dirs))
        plans.append(start_plan(dirs, own, metadata_log_dir))
    return [plan._replace(copy_of=_copy_of(plan, plans)) for plan in plans]


def _copy_of(plan: StartPlan, plans: Iterable[StartPlan]) -> str | None:
    """Return in words of which other plan's log dirs these are a copy, and which is older; None of none."""
    for other in plans:
        if other is not plan and _identities(other) & _identities(plan):
            words = (
                f"the node.id and directory.id of {shown(other.log_dirs[0].path)}, too: copies of one broker"
            )
            if plan.metadata is None or other.metadata is None:
                return words
            here, there = plan.metadata.end_offset, other.metadata.end_offset
            age = "older" if here < there else "newer" if here > there else "as old"
            return f"{words}, this one {age}: its metadata log ends at {here}, there at {there}"
    return None


def _identities(plan: StartPlan) -> set[tuple[str | None, int | None, str]]:
    metas = [one.meta for one in plan.log_dirs if one.meta is not None]
    return {(one.cluster_id, one.node_id, one.directory_id) for one in metas if one.directory_id}


def _of_brokers(states: Sequence[LogDirState], *, are_named: bool) -> list[list[LogDirState]]:
    """Return log dirs by broker, in the order given.

    Beside `by_broker`, a log dir whose broker has no metadata log here belongs to the one that it lies next
    to: its meta.properties is what does not fit then. Brokers of ZooKeeper have none.
    """
    groups = [list(dirs) for dirs in by_broker([one.path for one in states])]
    for group in [*groups]:
        near = [other for other in groups if other is not group and _parents(other) & _parents(group)]
        near = [
            other
            for other in near
            if _node_ids(other) & _node_ids(group)
            or (are_named and any(one.meta is not None and one.meta.version for one in (*group, *other)))
        ]
        if len(near) == 1 and not any(one.has_metadata_log for one in group):
            near[0] += group
            groups.remove(group)
    order = {one.path: number for number, one in enumerate(states)}
    groups = [sorted(group, key=lambda one: order[one.path]) for group in groups]
    return sorted(groups, key=lambda group: order[group[0].path])


def _node_ids(dirs: Iterable[LogDirState]) -> set[int | None]:
    return {one.meta.node_id for one in dirs if one.meta is not None}


def _parents(dirs: Iterable[LogDirState]) -> set[str]:
    return {os.path.dirname(os.path.realpath(one.path)) for one in dirs}


def start_plan(
    dirs: Sequence[LogDirState], config: BrokerConfig, metadata_log_dir: str | None = None
) -> StartPlan:
    """Return what the start of a broker with these log dirs comes to."""
    config = as_named(config, dirs)
    at_rest, start = start_at_rest(dirs, config)
    if start.with_zookeeper:
        return StartPlan(
            at_rest, config, start, (*start.stops, *start.log_stops), None, None, None, None, None
        )
    release = release_named(config.version)
    log_dir = metadata_log_dir or _metadata_log_dir(at_rest, start)
    answer = None if log_dir is None else metadata_in(log_dir, as_started=release.version)
    metadata = answer if isinstance(answer, Metadata) else None
    path = None if log_dir is None or answer is None else os.path.join(log_dir, METADATA_DIRECTORY)
    log_failure = _log_failure(answer)
    quorum, node_id = config.quorum, node_of(at_rest, config)
    bootstrap = [*_bootstrap_stops(start, release, metadata)]
    of_quorum = [stop for stop in start.stops if os.path.basename(stop.path) == QUORUM_STATE]
    if release.version < LEVEL_USED_WHERE_EMPTY and bootstrap:  # it is read before the quorum's state
        of_files = [*(stop for stop in start.stops if stop not in of_quorum), *bootstrap, *of_quorum]
    else:
        of_files = [*start.stops, *bootstrap]
    trouble = None if log_dir is None else newest_snapshot_trouble(os.path.join(log_dir, METADATA_DIRECTORY))
    if metadata is not None and not reads_snapshot(metadata, release.version):
        trouble = None
    stops = [*of_files, *_quorum_stops(node_id, config)]
    if trouble is not None and trouble.exception is not None:  # it is read before all records
        stops.append(StartFailure(trouble.exception, trouble.message, trouble.path))
    if metadata is not None:
        role = is_controller(node_id, metadata, quorum)
        failure = metadata_failure(metadata, release, is_controller=role)
        if failure is not None and trouble is not None:  # of records that are lost
            failure = failure._replace(message=f"{trouble.message}; {failure.message}", path=trouble.path)
        stops += [] if failure is None else [failure]
    wait = None
    if not stops and log_failure is None:
        reason = wait_reason(node_id, _directory_id(at_rest, start), metadata, quorum)
        wait = None if reason is None else StartFailure("", reason, path or str(start.metadata_log_dir))
    image = metadata.image if metadata is not None else _image_of_new_log(at_rest, config, node_id, answer)
    runs = any(one.locked_by is not None for one in at_rest)
    decided = None
    if not stops and wait is None and log_failure is None and not runs and image is not None:
        decided = _fates(at_rest, start, image, node_id, config)
    all_stops = (*stops, *start.log_stops)
    is_left = decided is not None and path is None and _is_of_zookeeper(at_rest, config)
    lost = StartFailure(STRAY_LINE, LEFT_BY_ZOOKEEPER, at_rest[0].path) if is_left else None
    plan = StartPlan(at_rest, config, start, all_stops, wait, path, metadata, log_failure, decided, lost)
    return _without_lost_metadata(plan)


def _is_of_zookeeper(dirs: Sequence[LogDirState], config: BrokerConfig) -> bool:
    """Whether a release without ZooKeeper starts with logs of a broker that had it, and has not migrated."""
    metas = [one.meta for one in dirs if one.meta is not None]
    is_kraft = any(meta.version or meta.directory_id for meta in metas)
    return config.version >= KRAFT_ALONE and any(one.names for one in dirs) and not is_kraft


def _without_lost_metadata(plan: StartPlan) -> StartPlan:
    """Return a plan with what its metadata log has lost; another node may have it, and decides then.

    Where nothing names the voters, what is here decides.
    """
    if plan.metadata is None or plan.fates is None:
        return plan
    voters = plan.config.quorum.static_voters or recorded_voters(plan.metadata)
    is_alone = set(voters) <= {plan.node_id}
    lost = _lost_metadata(plan.metadata, plan.fates, is_alone=is_alone)
    if lost is None:
        return plan
    if is_alone:
        return plan._replace(lost_metadata=lost, fates=_of_lost(plan.fates))
    return plan._replace(lost_metadata=lost, fates=None, metadata_path=None)


def _lost_metadata(metadata: Metadata, decided: Fates, *, is_alone: bool) -> StartFailure | None:
    """Return that the metadata log has lost records: all of them, or those that make logs stray."""
    lost = metadata.lost
    strays = any(fate.rule == NOT_ASSIGNED for fate in decided.by_path.values())
    if lost is None or not (lost.is_all or strays):
        return None
    kept = f"the metadata log then ends at offset {lost.end}"
    kept += f", it ended at {lost.known_end}" if lost.known_end > lost.end else ""
    if lost.is_all:
        kept = (
            f"only the snapshot that ends at offset {lost.end} is left" if lost.end else "no metadata is left"
        )
    if not is_alone:
        kept += "; the node fetches it again from the quorum before it opens a log"
    where = f"Found invalid messages in log segment {shown(lost.path)} at byte offset {lost.position}."
    says = where if lost.position is not None else STRAY_LINE if strays and is_alone else ""
    return StartFailure(says, f"{lost.words}: {kept}", lost.path)


def _of_lost(decided: Fates) -> Fates:
    """Return the same fates with the cause of those that a whole metadata log would not give."""
    by_path = {
        path: fate._replace(reason=f"{fate.reason}: {LOST_RECORDS}") if fate.rule == NOT_ASSIGNED else fate
        for path, fate in decided.by_path.items()
    }
    return decided._replace(by_path=by_path)


def node_of(dirs: Iterable[LogDirState], config: BrokerConfig) -> int | None:
    """Return the node.id of a broker: as configured, else that of its first meta.properties."""
    if config.node_id is not None:
        return config.node_id
    return next((one.meta.node_id for one in dirs if one.meta is not None), None)


def _metadata_log_dir(dirs: Sequence[LogDirState], start: BrokerStart) -> str | None:
    """Return the log dir whose metadata log the broker reads: its own, or one beside its log dirs."""
    if any(one.path == start.metadata_log_dir and (one.error or one.meta_error) for one in dirs):
        return None
    if any(one.path == start.metadata_log_dir and one.has_metadata_log for one in dirs):
        return start.metadata_log_dir
    known = next((one.meta for one in dirs if one.meta is not None and one.meta.version), None)
    if known is None or start.metadata_log_dir is None:
        return None
    parent = os.path.dirname(os.path.abspath(dirs[0].path))
    try:
        names = sorted(os.listdir(parent))
    except OSError:
        return None
    for name in names:
        path = os.path.join(parent, name)
        if os.path.isdir(os.path.join(path, METADATA_DIRECTORY)):
            meta = log_dir_state(path).meta
            if meta and (meta.cluster_id, meta.node_id) == (known.cluster_id, known.node_id):
                return path
    return None


def _directory_id(dirs: Sequence[LogDirState], start: BrokerStart) -> str | None:
    found = (one.meta for one in dirs if one.path == start.metadata_log_dir)
    meta = next(found, None)
    return None if meta is None else meta.directory_id


def _log_failure(answer: Metadata | BrokerError | FileError | None) -> StartFailure | None:
    if isinstance(answer, BrokerError):
        return StartFailure(answer.exception, answer.message, answer.path)
    if isinstance(answer, FileError):
        return StartFailure("IOException", answer.message, answer.path)
    return None


def _quorum_stops(node_id: int | None, config: BrokerConfig) -> Iterator[StartFailure]:
    failure = quorum_failure(node_id, config.quorum)
    if failure is not None:
        yield failure


def _bootstrap_stops(
    start: BrokerStart, release: Release, metadata: Metadata | None
) -> Iterator[StartFailure]:
    log_dir = start.metadata_log_dir
    if log_dir is None or release.version < BOOTSTRAP_READ:
        return
    level = bootstrap_level(log_dir)
    if isinstance(level, StartFailure):
        yield level
    elif level is not None:
        path = os.path.join(log_dir, BOOTSTRAP)
        is_empty = metadata is None or not metadata.record_places
        if release.version >= LEVEL_USED_WHERE_EMPTY and not is_empty:
            return
        if level not in release.levels:
            yield StartFailure(ILLEGAL_ARGUMENT, unknown_level(release, level), path)
        elif level < FIRST_BOOTSTRAP_LEVEL:
            message = f"Bootstrap metadata.version before 3.3-IV0 are not supported: {level}"
            yield StartFailure(RUNTIME, message, path)


def _image_of_new_log(
    dirs: Sequence[LogDirState], config: BrokerConfig, node_id: int | None, answer: object
) -> Image | None:
    """Return the empty image that a node begins with that has no metadata log and is its whole quorum.

    Without one a broker of ZooKeeper has not migrated: no quorum has its topics.
    """
    if answer is not None or node_id is None:
        return None
    if _is_of_zookeeper(dirs, config):
        return Image()
    if config.metadata_log_dir is None:
        return None
    is_here = any(one.path == config.metadata_log_dir and one.error is None for one in dirs)
    return Image() if is_here and config.quorum.static_voters == (node_id,) else None


def _fates(
    dirs: Sequence[LogDirState], start: BrokerStart, image: Image, node_id: int | None, config: BrokerConfig
) -> Fates | None:
    if node_id is None:
        return None
    ids = [
        LogDirId(one.path, one.meta.directory_id if one.meta else None, one.path not in start.offline)
        for one in dirs
    ]
    return fates(image, node_id, config.version, ids, _replica_dirs(dirs, start, image))


def _replica_dirs(dirs: Sequence[LogDirState], start: BrokerStart, image: Image) -> Iterator[ReplicaDir]:
    """Yield the directories of replicas; one whose topic id cannot be read is that of its name.

    The start of its log says what becomes of it, and nothing is begun in its place.
    """
    by_name = {topic.name: topic_id for topic_id, topic in image.topics.items()}
    for one in dirs:
        for name, parsed in one.names if one.path not in start.offline else ():
            if parsed is not None:
                path = os.path.join(one.path, name)
                target = Target(kind=PARTITION, path=path, shown=shown(path), name=parsed, log_dir=one.path)
                try:
                    topic_id = Partition(target).topic_id()
                except FileError:
                    topic_id = by_name.get(parsed.topic)
                yield ReplicaDir(path, one.path, parsed, topic_id)


def stop_findings(plan: StartPlan) -> Iterator[Finding]:
    """Yield as findings what ends or delays the process, or takes a log dir offline, and a missing log."""
    paths = [one.path for one in plan.log_dirs]
    for stop in plan.stops:
        message = f"{stop.exception}: {with_remedy(stop, paths)}"
        yield _finding("START-009", message, log_dir_of(stop.path, plan.log_dirs), stop)
    if plan.wait is not None:
        log_dir = log_dir_of(plan.wait.path, plan.log_dirs)
        yield _finding("START-022", f"it waits for ever: {with_remedy(plan.wait, paths)}", log_dir, plan.wait)
    if plan.copy_of is not None:
        yield Finding("START-023", plan.copy_of, dir=shown(plan.log_dirs[0].path))
    for path, reason in plan.start.offline.items():
        yield _finding("START-010", with_remedy(reason, paths), path, reason)
    if plan.lost_metadata is not None:
        lost = plan.lost_metadata
        message = f"{lost.message}; to do: {remedy(lost, paths)}"
        yield _finding("START-014", message, log_dir_of(lost.path, plan.log_dirs), lost)
    elif plan.metadata_path is None and lacks_metadata_log(plan.log_dirs, plan.config):
        message = (
            "no metadata log: the node fetches the metadata from the quorum, and one that is the whole "
            "quorum begins with none, and renames every log to -stray"
        )
        yield Finding("START-014", message, dir=shown(str(plan.config.metadata_log_dir)))


def _finding(code: str, message: str, log_dir: str, failure: StartFailure) -> Finding:
    path = None if failure.path == log_dir else shown(failure.path)
    return Finding(code, message, dir=shown(log_dir), path=path)


FATE_CODES = {
    NOT_ASSIGNED: "START-013",
    "promoted": "START-016",
    "replaced": "START-016",
    "emptied": "START-020",
}
"""Rule of a fate -> code; a log without a topic id has START-012 or START-017."""
WITHOUT_TOPIC_ID = {
    STRAY: "no partition.metadata: a KRaft broker renames the directory to -stray",
    WILL_BE_DELETED: (
        "no partition.metadata: a broker before 3.7 deletes a log whose topic the metadata has not"
    ),
}


class ReplicaFates(NamedTuple):
    """What starts of a release make of the directories of brokers: every command asks here about one.

    `by_path` has those that are not USUAL, `decided` the log dirs whose metadata says so of all in them.
    """

    by_path: Mapping[str, Fate] = {}
    decided: frozenset[str] = frozenset()
    release: Version = NEWEST

    def findings(self, target: Target, *, has_topic_id: bool, has_records: bool) -> Iterator[Finding]:
        """Yield what the metadata makes of a directory that is no usual replica.

        Of one without a topic id, too, whose metadata is not here. A broker makes a directory first, and
        writes the file before the first record.
        """
        fate, name = self.by_path.get(target.path, USUAL), target.name
        if fate.rule in FATE_CODES:
            behind = None if fate.replaced_by is None else _behind(fate.replaced_by, target)
            code = FATE_CODES[fate.rule] if behind is None else FATE_CODES["emptied"]
            words = fate.reason if behind is None else f"{fate.reason}; {behind}"
            yield Finding(code, words, dir=target.shown)
        if name is None or name.kind not in {NORMAL, FUTURE} or name.topic == CLUSTER_METADATA:
            return
        outcome = fate.outcome
        if fate.rule != "no-topic-id":
            if target.log_dir is None or target.log_dir in self.decided or self.release < DIRECTORY_IDS:
                return
            outcome = STRAY if directory_facts(target.log_dir).is_kraft else LOADS
        if not has_topic_id and outcome in WITHOUT_TOPIC_ID and (has_records or not is_running(target)):
            code = "START-012" if has_records else "START-017"
            expected = None if fate is USUAL else fate.topic_id or "a topic id of the metadata"
            yield Finding(code, WITHOUT_TOPIC_ID[outcome], dir=target.shown, expected=expected)


def _behind(future: str, current: Target) -> str | None:
    """Return in words where a -future log ends before the current one that it replaces; None where not."""
    there, here = log_end_in(future), log_end_in(current.path)
    if there is None or here is None or there >= here:
        return None
    return f"it ends at offset {there}, the current log at {here}"


NO_FATES = ReplicaFates()


def replica_fates(plans: Iterable[StartPlan], release: Version = NEWEST) -> ReplicaFates:
    """Return the fates of the directories of brokers."""
    decided = [plan for plan in plans if plan.fates is not None]
    by_path = {
        path: fate
        for plan in decided
        for path, fate in (plan.fates.by_path.items() if plan.fates else ())
        if fate is not USUAL
    }
    return ReplicaFates(by_path, frozenset(one.path for plan in decided for one in plan.log_dirs), release)


def plans_at_rest(log_dirs: Sequence[str], config: BrokerConfig = UNKNOWN_CONFIG) -> list[StartPlan]:
    """Return the plans of the brokers whose log dirs these are, of the newest release that each can be of."""
    return start_plans(log_dirs, config, is_release_known=False, are_named=False) if log_dirs else []


def empty_findings(plan: StartPlan) -> Iterator[Finding]:
    """Yield per log dir which replicas begin empty there; those of a log dir that is not here first.

    Without a server.properties a log dir that is not given may be whole.
    """
    empty = () if plan.fates is None else plan.fates.empty
    places: dict[tuple[str, bool], list[EmptyReplica]] = {}
    for replica in empty:
        is_lost = is_assigned_elsewhere(replica)
        places.setdefault((replica.directory_id if is_lost else replica.log_dir or "", is_lost), []).append(
            replica
        )
    for (place, is_lost), replicas in places.items():
        names = ", ".join(f"{each.topic}-{each.partition}" for each in replicas[:MOST_NAMES])
        names += f" and {len(replicas) - MOST_NAMES} more" if len(replicas) > MOST_NAMES else ""
        missing = _log_dirs_not_given(plan) if is_lost else 0
        where = f"directory.id {place}, which no log dir here has" if is_lost else "this broker"
        where += (
            f" ({len(plan.log_dirs)} of {missing + len(plan.log_dirs)} log dirs given)" if missing else ""
        )
        alone = [each for each in replicas if each.is_only]
        message = f"the metadata assigns {names} to {where}, no log is here: begun empty"
        if alone:
            message += f"; of {len(alone)} no other replica is in sync"
        code = "START-019" if alone and not missing else "START-021"
        directory = place if place and not is_lost else plan.log_dirs[0].path
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
