"""What a start of each broker among the inputs comes to, before the first record of a partition is read.

Log dirs, the metadata log that decides, what ends or delays the process, and the fate of every replica. Every
command asks here. The order is the broker's: meta.properties, bootstrap.checkpoint, the metadata log, the
quorum, then LogManager.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from formats.names import NORMAL, PartitionDir
from formats.properties import MetaProperties
from kcli.kafka.kraft import meta_properties
from kcli.kafka.kraft.broker_start import as_named, lacks_metadata_log, start_at_rest
from kcli.kafka.kraft.fates import PROMOTED, Fates, fates
from kcli.kafka.kraft.meta_properties import BrokerConfig, BrokerStart, StartFailure, Version
from kcli.kafka.kraft.metadata_image import Image
from kcli.kafka.kraft.metadata_loader import Metadata, metadata_in, reads_snapshot
from kcli.kafka.kraft.metadata_snapshot import SnapshotTrouble, bootstrap_level, newest_snapshot_trouble
from kcli.kafka.kraft.metadata_start import ILLEGAL_ARGUMENT, metadata_failure, unknown_level
from kcli.kafka.kraft.partition_start import log_end_in
from kcli.kafka.kraft.quorum import (
    QuorumNode,
    is_controller,
    quorum_node,
    recorded_voters,
    wait_reason,
)
from kcli.kafka.kraft.releases import Release, release_named
from kcli.kafka.kraft.replica_fates import FORMER, LEFT_STRAY, LOADS, NOT_ASSIGNED, Fate
from kcli.kafka.storage.log_segment import KAFKA_STORAGE, BrokerError
from kcli.logdir.buffers import NO_PERMISSION, FileError, irregular, shown
from kcli.logdir.log_dirs import (
    BOOTSTRAP,
    HIGH_WATERMARK,
    METADATA_DIRECTORY,
    QUORUM_STATE,
    LogDirState,
    log_dir_state,
    metadata_dir_beside,
)
from kcli.logdir.targets import Selection

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

    `stops`: what ends the process, in the broker's order; `wait`: why it is never ready else.
    `metadata_path`: the metadata log that decides, if here; `fates` is None without it, for a broker that
    runs, and where no log is loaded. `metadata_log_failure`: why that log does not load. `lost_metadata`:
    that it loads without records that decide; its exception is what server.log says. `copy_of`: of which log
    dirs, in words. `strays`: what the metadata makes of -stray directories; `blocked`: why a log dir goes
    offline as a log is made in it. `unread`: what kcli may not read; without the metadata nothing decides.
    """

    log_dirs: tuple[LogDirState, ...]
    config: BrokerConfig
    start: BrokerStart
    stops: tuple[StartFailure, ...]
    wait: StartFailure | None = None
    metadata_path: str | None = None
    metadata: Metadata | None = None
    metadata_log_failure: StartFailure | None = None
    fates: Fates | None = None
    lost_metadata: StartFailure | None = None
    copy_of: str | None = None
    strays: Mapping[str, Fate] = {}
    blocked: Mapping[str, StartFailure] = {}
    unread: tuple[FileError, ...] = ()

    @property
    def node_id(self) -> int | None:
        """The node.id: as configured, else of the first meta.properties."""
        return node_of(self.log_dirs, self.config)

    @property
    def quorum_node(self) -> QuorumNode | None:
        """The node as one of its quorum; None without its metadata log."""
        if self.metadata is None:
            return None
        meta = _own_meta(self.log_dirs, self.start)
        return quorum_node(self.node_id, meta, self.metadata, self.config.quorum.static_voters)

    @property
    def is_before_logs(self) -> bool:
        """Whether the process ends or waits before a log is loaded."""
        return bool(self.wait or any(stop not in self.start.log_stops for stop in self.stops))


def start_plans(
    log_dirs: Sequence[str],
    config: BrokerConfig,
    metadata_log_dir: str | None = None,
    *,
    is_release_known: bool = True,
    are_named: bool = True,
) -> list[StartPlan]:
    """Return the plan of each broker whose log dirs these are; folders of copies beside log dirs are none.

    With a metadata log dir of server.properties they are of one. `metadata_log_dir`: where a metadata log
    lies apart. Without `is_release_known` the release is the newest that the log dirs can be of.
    """
    states = [log_dir_state(path) for path in log_dirs]
    if config.metadata_log_dir is None:
        paths = {log_dir.path for dirs in meta_properties.brokers_of(log_dirs) for log_dir in dirs}
        states = [state for state in states if state.path in paths or not (paths and state.names)]
    brokers = [states] if config.metadata_log_dir is not None else _of_brokers(states, are_named=are_named)
    plans = []
    for dirs in brokers:
        own = config if is_release_known else config._replace(version=meta_properties.release_of(dirs))
        plans.append(start_plan(dirs, own, metadata_log_dir))
    return [_of_quorum(plan._replace(copy_of=_copy_of(plan, plans)), plans) for plan in plans]


def _of_quorum(plan: StartPlan, plans: Iterable[StartPlan]) -> StartPlan:
    """Return a plan with the metadata log that it lacks, where others know its node as a voter with it."""
    metas = (log_dir.meta for log_dir in plan.log_dirs if log_dir.meta is not None)
    meta = next((meta for meta in metas if meta.version), None)
    if meta is None or plan.metadata_path is not None or plan.lost_metadata is not None or plan.stops:
        return plan
    if plan.unread:
        return plan
    for peer in plans:
        ids = {log_dir.meta.cluster_id for log_dir in peer.log_dirs if log_dir.meta is not None}
        if peer.metadata is not None and meta.cluster_id in ids and meta.node_id is not None:
            voters, broker = recorded_voters(peer.metadata), peer.metadata.image.brokers.get(meta.node_id)
            if meta.node_id in voters and (broker is None or len(broker.directories) <= len(plan.log_dirs)):
                return _without_metadata_log(plan, plan.log_dirs[0].path, voters)
    return plan


def _without_metadata_log(plan: StartPlan, log_dir: str, voters: Iterable[int] | None) -> StartPlan:
    """Return a plan that says what a node makes of the start that has lost its metadata log as a whole."""
    if voters is None:
        then = "fetches the metadata from the quorum, and one that is the whole quorum begins with none"
    elif {*voters} == {plan.node_id}:
        then = "is the whole quorum, and begins with none: the metadata of the cluster is gone"
        runs = any(state.locked_by is not None for state in plan.log_dirs)
        if plan.fates is None and plan.wait is None and not runs:
            begun = _fates(plan.log_dirs, plan.start, Image(), plan.node_id, plan.config)
            plan = plan._replace(fates=begun)
    else:
        then = "fetches the metadata from the other voters of the quorum"
    message = f"no metadata log: the node {then}"
    path = os.path.join(log_dir, METADATA_DIRECTORY)
    return plan._replace(lost_metadata=StartFailure("", message, path))


def _copy_of(plan: StartPlan, plans: Iterable[StartPlan]) -> str | None:
    """Return in words of which other plan's log dirs these are a copy, and which is older; None of none."""
    for peer in plans:
        if peer is not plan and _identities(peer) & _identities(plan):
            text = (
                f"the node.id and directory.id of {shown(peer.log_dirs[0].path)}, too: copies of one broker"
            )
            if plan.metadata is None or peer.metadata is None:
                return text
            end, there = plan.metadata.end_offset, peer.metadata.end_offset
            age = "older" if end < there else "newer" if end > there else "as old"
            return f"{text}, this one {age}: its metadata log ends at {end}, there at {there}"
    return None


def _identities(plan: StartPlan) -> set[tuple[str | None, int | None, str]]:
    metas = [log_dir.meta for log_dir in plan.log_dirs if log_dir.meta is not None]
    return {(meta.cluster_id, meta.node_id, meta.directory_id) for meta in metas if meta.directory_id}


def _of_brokers(states: Sequence[LogDirState], *, are_named: bool) -> list[list[LogDirState]]:
    """Return log dirs by broker, in the order given.

    Beside `by_broker`, one whose broker has no metadata log belongs to the one next to it, but of ZooKeeper.
    """
    groups = [list(dirs) for dirs in meta_properties.by_broker([state.path for state in states])]
    for group in [*groups]:
        near = [peer for peer in groups if peer is not group and _parents(peer) & _parents(group)]
        near = [
            peer
            for peer in near
            if _node_ids(peer) & _node_ids(group)
            or (are_named and any(log_dir.has_metadata_log for log_dir in peer))
        ]
        if len(near) == 1 and not any(log_dir.has_metadata_log for log_dir in group):
            near[0] += group
            groups.remove(group)
    order = {log_dir.path: number for number, log_dir in enumerate(states)}
    groups = [sorted(group, key=lambda log_dir: order[log_dir.path]) for group in groups]
    return sorted(groups, key=lambda group: order[group[0].path])


def _node_ids(dirs: Iterable[LogDirState]) -> set[int | None]:
    return {log_dir.meta.node_id for log_dir in dirs if log_dir.meta is not None}


def _parents(dirs: Iterable[LogDirState]) -> set[str]:
    return {os.path.dirname(os.path.realpath(log_dir.path)) for log_dir in dirs}


def start_plan(
    dirs: Sequence[LogDirState], config: BrokerConfig, metadata_log_dir: str | None = None
) -> StartPlan:
    """Return what the start of a broker with these log dirs comes to."""
    config = as_named(config, dirs)
    at_rest, start = start_at_rest(dirs, config)
    own_unread = tuple(error for log_dir in at_rest for error in log_dir.unread)
    if start.with_zookeeper:
        return StartPlan(at_rest, config, start, (*start.stops, *start.log_stops), unread=own_unread)
    release, node_id = release_named(config.version), node_of(at_rest, config)
    log_dir = metadata_log_dir or _metadata_log_dir(at_rest, start, config)
    answer, trouble = _metadata_log(at_rest, log_dir, release)
    is_read = release.version >= meta_properties.BOOTSTRAP_READ and start.metadata_log_dir is not None
    level = bootstrap_level(str(start.metadata_log_dir)) if is_read else None
    denied = [item for item in (answer, level) if isinstance(item, FileError) and item.code == NO_PERMISSION]
    metadata = answer if isinstance(answer, Metadata) else None
    is_here = log_dir is not None and answer is not None and answer not in denied
    path = os.path.join(str(log_dir), METADATA_DIRECTORY) if is_here else None
    log_failure = _log_failure(answer) if is_here else None
    stops = _in_order(start.stops, _bootstrap_stop(start, level, release, metadata), release)
    stops += _record_stops(metadata, trouble, node_id, config)
    wait = None
    if not stops and log_failure is None and answer not in denied:
        meta = _own_meta(at_rest, start)
        reason = wait_reason(node_id, meta and meta.directory_id, metadata, config.quorum)
        wait = None if reason is None else StartFailure("", reason, path or str(start.metadata_log_dir))
    image = metadata.image if metadata is not None else _image_of_new_log(at_rest, config, node_id, answer)
    judged = None
    if image is not None:
        start = _without_unasked(start, lambda changed: _fates(at_rest, changed, image, node_id, config))
        judged = _fates(at_rest, start, image, node_id, config)
    runs = any(log_dir.locked_by is not None for log_dir in at_rest)
    decided = None if stops or wait or log_failure or runs else judged
    is_left = decided is not None and path is None and _is_of_zookeeper(at_rest, config)
    plan = StartPlan(
        at_rest,
        config,
        start,
        stops=(*stops, *start.log_stops),
        wait=wait,
        metadata_path=path,
        metadata=metadata,
        metadata_log_failure=log_failure,
        fates=decided,
        lost_metadata=StartFailure(STRAY_LINE, LEFT_BY_ZOOKEEPER, at_rest[0].path) if is_left else None,
        strays={} if judged is None else _strays(judged),
        unread=(*own_unread, *denied),
    )
    return _without_lost_metadata(plan._replace(blocked=_blocked(plan)))


def _in_order(
    of_files: Iterable[StartFailure], bootstrap: StartFailure | None, release: Release
) -> list[StartFailure]:
    """Return what files stop; before 4.0 bootstrap.checkpoint is read before the quorum's state."""
    if bootstrap is None:
        return [*of_files]
    is_last = release.version >= LEVEL_USED_WHERE_EMPTY
    later = [stop for stop in of_files if os.path.basename(stop.path) == QUORUM_STATE and not is_last]
    return [*(stop for stop in of_files if stop not in later), bootstrap, *later]


def _record_stops(
    metadata: Metadata | None, trouble: SnapshotTrouble | None, node_id: int | None, config: BrokerConfig
) -> Iterator[StartFailure]:
    """Yield what the newest snapshot, which is read before all records, and the records stop."""
    if trouble is not None and trouble.exception is not None:
        yield StartFailure(trouble.exception, trouble.message, trouble.path)
    role = is_controller(node_id, metadata, config.quorum)
    release = release_named(config.version)
    failure = None if metadata is None else metadata_failure(metadata, release, is_controller=role)
    if failure is not None and trouble is not None:  # of records that are lost
        failure = failure._replace(message=f"{trouble.message}; {failure.message}", path=trouble.path)
    yield from () if failure is None else (failure,)


def _without_unasked(start: BrokerStart, fates_of: Callable[[BrokerStart], Fates | None]) -> BrokerStart:
    """Return the same without log dirs offline by high watermarks that no replica, only strays, asks for."""
    for log_dir, reason in start.offline.items():
        if os.path.basename(reason.path) == HIGH_WATERMARK:
            offline = {path: failure for path, failure in start.offline.items() if path != log_dir}
            fates = fates_of(start._replace(offline=offline))
            if fates is not None and not _has_replicas(log_dir, fates):
                start = start._replace(offline=offline)
    return start


def _has_replicas(log_dir: str, fates: Fates) -> bool:
    loaded = (path for path, fate in fates.by_path.items() if fate.outcome in {LOADS, PROMOTED})
    names = {os.path.basename(path) for path in loaded if os.path.dirname(path) == log_dir}
    return bool(names - {METADATA_DIRECTORY}) or any(
        empty.log_dir in {log_dir, None} for empty in fates.empty
    )


def _is_of_zookeeper(dirs: Sequence[LogDirState], config: BrokerConfig) -> bool:
    """Whether a release without ZooKeeper starts with logs of a broker that had it, and has not migrated."""
    metas = [log_dir.meta for log_dir in dirs if log_dir.meta is not None]
    is_kraft = any(meta.version or meta.directory_id for meta in metas)
    has_logs = any(log_dir.names for log_dir in dirs)
    return config.version >= meta_properties.KRAFT_ALONE and has_logs and not is_kraft


def _strays(judged: Fates) -> dict[str, Fate]:
    """Return the fates of -stray directories: one whose current log ends there or later is no loss."""
    strays = {}
    for path, fate in judged.by_path.items():
        if fate.rule == LEFT_STRAY and fate.replaced_by is not None:
            replacing_end, stray_end = log_end_in(fate.replaced_by), log_end_in(path)
            if replacing_end is not None and stray_end is not None and replacing_end >= stray_end:
                reason = f"a former replica: {shown(fate.replaced_by)} has all offsets up to its end"
                strays[path] = fate._replace(rule=FORMER, reason=reason)
                continue
        if fate.rule in {LEFT_STRAY, FORMER}:
            strays[path] = fate
    return strays


def _blocked(plan: StartPlan) -> dict[str, StartFailure]:
    """Return why log dirs go offline in which the broker cannot make a directory: an entry has its name."""
    online = [log_dir.path for log_dir in plan.log_dirs if log_dir.path not in plan.start.offline]
    blocked: dict[str, StartFailure] = {}
    for replica in () if plan.fates is None else plan.fates.empty:
        log_dir = replica.log_dir or (online[0] if len(online) == 1 else None)
        path = None if log_dir is None else os.path.join(log_dir, replica.name)
        if log_dir is not None and path is not None and os.path.lexists(path) and not os.path.isdir(path):
            message = f"Error while creating log for {replica.name} in dir {shown(log_dir)}"
            message += f": no directory has its name ({irregular(path) or 'a regular file'}); move it away"
            blocked.setdefault(log_dir, StartFailure(KAFKA_STORAGE, message, path))
    return blocked


def _without_lost_metadata(plan: StartPlan) -> StartPlan:
    """Return a plan with what its metadata log has lost; another node's decides, unless none is a voter."""
    if plan.metadata_path is None and lacks_metadata_log(plan.log_dirs, plan.config):
        voters = plan.config.quorum.static_voters
        return _without_metadata_log(plan, str(plan.config.metadata_log_dir), voters)
    if plan.metadata is None or plan.fates is None:
        return plan
    is_alone = {*(plan.config.quorum.static_voters or recorded_voters(plan.metadata))} <= {plan.node_id}
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
    effect = f"the metadata log then ends at offset {lost.end}"
    effect += f", it ended at {lost.known_end}" if lost.known_end > lost.end else ""
    if lost.is_all:
        effect = (
            f"only the snapshot that ends at offset {lost.end} is left" if lost.end else "no metadata is left"
        )
    if not is_alone:
        effect += "; the node fetches it again from the quorum before it opens a log"
    where = f"Found invalid messages in log segment {shown(lost.path)} at byte offset {lost.position}."
    says = where if lost.position is not None else STRAY_LINE if strays and is_alone else ""
    return StartFailure(says, f"{lost.message}: {effect}", lost.path)


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
    return next((log_dir.meta.node_id for log_dir in dirs if log_dir.meta is not None), None)


def _metadata_log_dir(dirs: Sequence[LogDirState], start: BrokerStart, config: BrokerConfig) -> str | None:
    """Return the log dir whose metadata log the broker reads: its own, or one beside its log dirs.

    Where metadata.log.dir names one of them, no other counts.
    """
    if any(state.path == start.metadata_log_dir and (state.error or state.meta_error) for state in dirs):
        return None
    if any(log_dir.path == start.metadata_log_dir and log_dir.has_metadata_log for log_dir in dirs):
        return start.metadata_log_dir
    if any(log_dir.path == config.metadata_log_dir for log_dir in dirs):
        return None
    of_kraft = (state.path for state in dirs if state.meta is not None and state.meta.version)
    log_dir = next(of_kraft, None) if start.metadata_log_dir is not None else None
    return None if log_dir is None else metadata_dir_beside(log_dir)


def _own_meta(dirs: Iterable[LogDirState], start: BrokerStart) -> MetaProperties | None:
    """Return what meta.properties of the metadata log dir says."""
    return next((log_dir.meta for log_dir in dirs if log_dir.path == start.metadata_log_dir), None)


def _metadata_log(
    dirs: Iterable[LogDirState], log_dir: str | None, release: Release
) -> tuple[Metadata | BrokerError | FileError | None, SnapshotTrouble | None]:
    """Return what a release reads of the metadata log in a log dir, and what is wrong with its snapshot.

    Nothing where kcli may not read whose log dirs these are.
    """
    unread = next((state.unread_meta for state in dirs if state.unread_meta is not None), None)
    if unread is not None or log_dir is None:
        return unread, None
    answer = metadata_in(log_dir, as_started=release.version)
    if isinstance(answer, Metadata) and not reads_snapshot(answer, release.version):
        return answer, None
    try:
        return answer, newest_snapshot_trouble(os.path.join(log_dir, METADATA_DIRECTORY))
    except FileError as error:
        return error if isinstance(answer, Metadata) else answer, None


def _log_failure(answer: Metadata | BrokerError | FileError | None) -> StartFailure | None:
    if isinstance(answer, BrokerError):
        return StartFailure(answer.exception, answer.message, answer.path)
    if isinstance(answer, FileError):
        return StartFailure("IOException", answer.message, answer.path)
    return None


def _bootstrap_stop(
    start: BrokerStart,
    level: int | StartFailure | FileError | None,
    release: Release,
    metadata: Metadata | None,
) -> StartFailure | None:
    """Return why a release does not start with what bootstrap.checkpoint says."""
    if isinstance(level, StartFailure):
        return level
    is_used = release.version < LEVEL_USED_WHERE_EMPTY or metadata is None or not metadata.record_places
    path = os.path.join(str(start.metadata_log_dir), BOOTSTRAP)
    if isinstance(level, int) and is_used and level not in release.levels:
        return StartFailure(ILLEGAL_ARGUMENT, unknown_level(release, level), path)
    if isinstance(level, int) and is_used and level < FIRST_BOOTSTRAP_LEVEL:
        message = f"Bootstrap metadata.version before 3.3-IV0 are not supported: {level}"
        return StartFailure(meta_properties.RUNTIME, message, path)
    return None


def _image_of_new_log(
    dirs: Sequence[LogDirState], config: BrokerConfig, node_id: int | None, answer: object
) -> Image | None:
    """Return the empty image that a node begins with that is its whole quorum, or of ZooKeeper, or None."""
    if answer is not None or node_id is None:
        return None
    if _is_of_zookeeper(dirs, config):
        return Image()
    if config.metadata_log_dir is None:
        return None
    is_here = any(log_dir.path == config.metadata_log_dir and log_dir.error is None for log_dir in dirs)
    return Image() if is_here and config.quorum.static_voters == (node_id,) else None


def _fates(
    dirs: Sequence[LogDirState], start: BrokerStart, image: Image, node_id: int | None, config: BrokerConfig
) -> Fates | None:
    if node_id is None:
        return None
    if config.has_no_broker:
        return Fates({}, ())
    return fates(image, node_id, config.version, dirs, start)


def plans_at_rest(
    log_dirs: Sequence[str],
    config: BrokerConfig = meta_properties.UNKNOWN_CONFIG,
    *,
    version: Version | None = None,
    are_named: bool = False,
) -> list[StartPlan]:
    """Return the plans of brokers, of `version` or the newest that each can be of; none of copies alone."""
    if config.metadata_log_dir is None and not meta_properties.brokers_of(log_dirs):
        return []
    config = config if version is None else config._replace(version=version)
    return start_plans(log_dirs, config, is_release_known=version is not None, are_named=are_named)


def begun_empty(plans: Iterable[StartPlan], selection: Selection) -> frozenset[str]:
    """Return the topics of selected replicas that begin empty: no directory is theirs."""
    return frozenset(
        replica.topic
        for plan in plans
        for replica in (plan.fates.empty if plan.fates is not None else ())
        if selection.wants(PartitionDir(replica.topic, replica.partition, NORMAL, None))
    )
