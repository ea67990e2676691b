"""The meta.properties of log dirs: which of them are of one broker, and whether they fit together.

The truth is `MetaPropertiesEnsemble.verify`; before 3.7 it was
`BrokerMetadataCheckpoint.getBrokerMetadataAndOfflineDirs`.
"""

import os
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from formats.names import DELETE, FUTURE, NORMAL, STRAY
from formats.properties import MetaProperties
from kcli.kafka.storage.log_segment import ILLEGAL_STATE, KAFKA_EXCEPTION, KAFKA_STORAGE
from kcli.logdir.buffers import CANNOT_READ, after_a_crash, shown
from kcli.logdir.log_dirs import (
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    LogDirState,
    has_own_files,
    log_dir_state,
)

Version: TypeAlias = tuple[int, ...]

NEWEST: Version = (4, 4)
ENSEMBLE: Version = (3, 7)
"""From here on meta.properties of all log dirs are verified together, with the ids of directories (KIP-858),
and a log without a topic id is renamed to -stray."""
DIRECTORY_IDS_READ: Version = (3, 5)
"""Before, the properties of all log dirs had to be the same, those unknown to the release among them."""
QUORUM_STATE_STOPS: Version = (3, 9)
"""From here on a quorum-state that cannot be read ends the process: before, the file was cleared."""
BOOTSTRAP_READ: Version = (3, 3)
"""From here on each node of KRaft reads bootstrap.checkpoint at its start."""
STRAYS: Version = (3, 6, 2)
"""From here on a directory name may end with -stray."""
TIERED: Version = (3, 6)
"""From here on topics can be tiered, and keep a log start below their first segment."""
LAST_WITH_ZOOKEEPER: Version = (3, 9)
KRAFT_ALONE: Version = (4, 0)
"""From here on there is no ZooKeeper."""

RUNTIME, INCONSISTENT = "RuntimeException", "InconsistentBrokerMetadataException"
IO = "IOException"
RESERVED_IDS = 100
"""The first so many ids are no directory's (`DirectoryId.reserved`)."""
NO_FILE = "not-found"
MIGRATES = "zookeeper.metadata.migration.enable"
VERSION_0 = "version is {}: a broker of ZooKeeper that does not migrate reads version 0 alone"
NONE_READABLE = "No readable meta.properties files found"


class StartFailure(NamedTuple):
    """A failure: Kafka's exception, its message (`says`) where known, why, and the file or directory."""

    exception: str
    message: str
    path: str
    says: str = ""

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.reason}"

    @property
    def reason(self) -> str:
        """Why, without the name of the file."""
        name = os.path.basename(self.path)
        return self.message.removeprefix(f"{name}: ").removeprefix(f"{name} ")


class QuorumConfig(NamedTuple):
    """What server.properties says of the quorum; None where it says nothing, or is not here.

    `roles`: process.roles. `static_voters`: the node ids of controller.quorum.voters.
    `has_bootstrap_servers`: whether controller.quorum.bootstrap.servers is set.
    """

    roles: frozenset[str] | None = None
    static_voters: tuple[int, ...] | None = None
    has_bootstrap_servers: bool = False


class BrokerConfig(NamedTuple):
    """What server.properties, the file `path`, contributes, None for unknown; `properties`: all of it."""

    version: Version = NEWEST
    node_id: int | None = None
    metadata_log_dir: str | None = None
    quorum: QuorumConfig = QuorumConfig()
    properties: Mapping[str, str] | None = None
    path: str = "server.properties"

    @property
    def is_of_zookeeper(self) -> bool | None:
        """Whether a release with ZooKeeper starts a broker of it; None where no server.properties is here."""
        return None if self.properties is None else self.version < KRAFT_ALONE and not self.quorum.roles

    @property
    def has_no_broker(self) -> bool:
        """Whether the node is a controller alone, which opens no partition."""
        return self.quorum.roles is not None and "broker" not in self.quorum.roles


UNKNOWN_CONFIG = BrokerConfig()


def by_broker(log_dirs: Iterable[str]) -> list[tuple[LogDirState, ...]]:
    """Return the states of log dirs, those of one broker together; each once, however it is reached.

    Log dirs with the same directory.id in different places are copies of one, and no two of a broker. One
    whose meta.properties is missing, malformed or lacks an id belongs to the broker of the others, if they
    are of one and nothing contradicts it.
    """
    brokers: dict[tuple[str, int], list[LogDirState]] = {}
    incomplete: dict[int | None, list[LogDirState]] = {}
    for path in {os.path.realpath(log_dir): log_dir for log_dir in log_dirs}.values():
        state = log_dir_state(path)
        cluster, node = (state.meta.cluster_id, state.meta.node_id) if state.meta else (None, None)
        if cluster is not None and node is not None:
            brokers.setdefault((cluster, node), []).append(state)
        else:
            incomplete.setdefault(node, []).append(state)
    groups = list(brokers.values())
    if len(groups) == 1:
        ((_, node),) = brokers
        groups[0] += [*incomplete.pop(node, ()), *incomplete.pop(None, ())]
    groups += [[state] for state in incomplete.pop(None, ())]
    groups += incomplete.values()
    return [
        tuple(group)
        for together in groups
        for group in ([together] if _are_of_one(together) else [[log_dir] for log_dir in together])
    ]


def brokers_of(directories: Iterable[str]) -> list[tuple[LogDirState, ...]]:
    """Return `by_broker` of the log dirs among directories that hold partitions.

    A folder of copied partitions, with no file of a log dir, is none, unless it lies in one directory with a
    formatted log dir or holds one of its partitions: it is a log dir then that lost its files.
    """
    paths = list(dict.fromkeys(directories))
    own = [path for path in paths if has_own_files(path)]
    formatted = [path for path in own if os.path.lexists(os.path.join(path, META_PROPERTIES_FILE))]
    bare = [path for path in paths if path not in own and any(_goes_with(path, peer) for peer in formatted)]
    return [dirs for dirs in by_broker([*own, *bare]) if any(log_dir.path in own for log_dir in dirs)]


def _goes_with(bare: str, log_dir: str) -> bool:
    if os.path.dirname(os.path.realpath(bare)) == os.path.dirname(os.path.realpath(log_dir)):
        return True
    bare_names, other_names = (log_dir_state(path).names for path in (bare, log_dir))
    return any(name is not None and name.kind == NORMAL for _, name in set(bare_names) & set(other_names))


def _are_of_one(dirs: Sequence[LogDirState]) -> bool:
    metas = (log_dir.meta for log_dir in dirs if log_dir.meta is not None)
    ids = [meta.directory_id for meta in metas if meta.directory_id]
    parents = {os.path.dirname(os.path.realpath(log_dir.path)) for log_dir in dirs}
    return len(set(ids)) == len(ids) or len(parents) == 1


def release_of(dirs: Sequence[LogDirState]) -> Version:
    """Return the newest release that can have written log dirs: of ZooKeeper without version or topic ids."""
    metas = [log_dir.meta for log_dir in dirs if log_dir.meta is not None]
    if any(log_dir.has_metadata_log for log_dir in dirs) or any(meta.version for meta in metas):
        return NEWEST
    is_older = any(name is not None for log_dir in dirs for _, name in log_dir.names) and not any(
        log_dir.has_topic_ids for log_dir in dirs
    )
    return LAST_WITH_ZOOKEEPER if metas or is_older else NEWEST


class BrokerStart(NamedTuple):
    """What stops the process, in the broker's order, and why a log dir is `offline`; `live` are the others.

    `stops`: before the metadata is read; `log_stops`: in LogManager. `has_copies`: two log dirs have one
    directory.id, or one a reserved one. `with_zookeeper`: of that kind.
    """

    stops: tuple[StartFailure, ...]
    offline: dict[str, StartFailure]
    live: tuple[LogDirState, ...]
    has_copies: bool
    metadata_log_dir: str | None
    with_zookeeper: bool
    log_stops: tuple[StartFailure, ...] = ()

    def loads(self, log_dir: str) -> bool:
        """Whether the logs in a log dir are loaded: also where a checkpoint file takes it offline."""
        return log_dir not in self.offline or self.offline[log_dir].exception == KAFKA_STORAGE

    def duplicates(self) -> Iterator[StartFailure]:
        """Yield each partition that lies in two log dirs; a -delete or -stray directory is no second one.

        Copies end the process before. A broker that runs moves partitions: for a moment one lies in both.
        """
        if self.has_copies or any(log_dir.locked_by is not None for log_dir in self.live):
            return
        paths: dict[tuple[str, int, str], str] = {}
        for log_dir in self.live:
            for name, parsed in log_dir.names:
                if parsed is None or parsed.kind in {DELETE, STRAY} or name == METADATA_DIRECTORY:
                    continue
                kind = FUTURE if parsed.kind == FUTURE else NORMAL
                path = f"{log_dir.path}/{name}"
                first = paths.setdefault((parsed.topic, parsed.partition, kind), path)
                if first != path:
                    yield StartFailure(ILLEGAL_STATE, f"the same partition lies in {shown(first)}", path)


def verify(dirs: Sequence[LogDirState], config: BrokerConfig) -> BrokerStart:
    """Return what the meta.properties of a broker's log dirs make of its start."""
    metadata_dir, with_zookeeper = _metadata_log_dir(dirs, config), _has_zookeeper(dirs, config)
    offline: dict[str, StartFailure] = {}
    stops: list[StartFailure] = []
    for log_dir in dirs:
        error = log_dir.error or log_dir.meta_error
        if error is None or error.code == NO_FILE:
            continue
        if config.version < ENSEMBLE and error.code not in CANNOT_READ:
            stops.append(StartFailure(RUNTIME, error.message, error.path))
        else:
            offline[log_dir.path] = StartFailure(IO, error.message, error.path)
    live = tuple(log_dir for log_dir in dirs if log_dir.path not in offline)
    metas = {f"{state.path}/{META_PROPERTIES_FILE}": state.meta for state in live if state.meta is not None}
    if config.version < DIRECTORY_IDS_READ:
        stops += _other_properties(metas)
    of_ids = [*_directory_ids(metas, config)]
    stops += [*_identities(metas, config), *of_ids]
    if not with_zookeeper:
        if metadata_dir in offline:
            reason = offline[metadata_dir]
            exception = RUNTIME if config.version >= ENSEMBLE else KAFKA_EXCEPTION
            message = f"I/O error in the metadata log dir: {reason.message}"
            stops.append(StartFailure(exception, message, reason.path))
        unformatted = [log_dir for log_dir in live if log_dir.meta_error is None and not log_dir.unread_meta]
        stops += _unformatted(unformatted, config)
    elif config.properties is not None and config.properties.get(MIGRATES, "").lower() != "true":
        stops += _of_kraft(metas, config)
    return BrokerStart(tuple(stops), offline, live, bool(of_ids), metadata_dir, with_zookeeper)


def _metadata_log_dir(dirs: Sequence[LogDirState], config: BrokerConfig) -> str | None:
    """Return the log dir of the metadata log: as configured, else where it lies, else the first."""
    if config.metadata_log_dir is not None:
        return config.metadata_log_dir
    paths = (log_dir.path for log_dir in dirs if log_dir.has_metadata_log)
    return next(paths, dirs[0].path if dirs else None)


def _has_zookeeper(dirs: Sequence[LogDirState], config: BrokerConfig) -> bool:
    """Whether these are of a broker of ZooKeeper: by server.properties, else of files of version 0 alone."""
    if config.is_of_zookeeper is not None:
        return config.is_of_zookeeper
    if config.version >= KRAFT_ALONE or any(log_dir.has_metadata_log for log_dir in dirs):
        return False
    return all(log_dir.meta is None or not log_dir.meta.version for log_dir in dirs)


def _identities(metas: Mapping[str, MetaProperties], config: BrokerConfig) -> Iterator[StartFailure]:
    """Yield where meta.properties are of another cluster or node than expected, or than the first of them."""
    exception = RUNTIME if config.version >= ENSEMBLE else INCONSISTENT
    expected: dict[str, str | int | None] = {"cluster.id": None, "node.id": config.node_id}
    for file, meta in metas.items():
        for name, value in (("cluster.id", meta.cluster_id), ("node.id", meta.node_id)):
            if expected[name] is None:
                expected[name] = value
            elif value is not None and value != expected[name]:
                yield StartFailure(exception, f"{name} is {value}, expected {expected[name]}", file)


def _other_properties(metas: Mapping[str, MetaProperties]) -> Iterator[StartFailure]:
    """Yield that the properties of log dirs are not the same, which a release before 3.7 asks for."""
    for file, meta in metas.items():
        if meta.directory_id != next(iter(metas.values())).directory_id:
            message = f"BrokerMetadata is not consistent across log.dirs: directory.id {meta.directory_id}"
            yield StartFailure(INCONSISTENT, message, file)


def _directory_ids(metas: Mapping[str, MetaProperties], config: BrokerConfig) -> Iterator[StartFailure]:
    """Yield where two directories have the same id, or one has a reserved one."""
    files: dict[str, str] = {}
    for file, meta in metas.items() if config.version >= ENSEMBLE else ():
        if meta.directory_id is None:
            continue
        first = files.setdefault(meta.directory_id, file)
        if _is_reserved(meta.directory_id):
            yield StartFailure(RUNTIME, f"directory.id {meta.directory_id} is reserved", file)
        elif first != file:
            message = f"directory.id {meta.directory_id} is also that of {shown(os.path.dirname(first))}"
            yield StartFailure(RUNTIME, message, file)


def _unformatted(live: Sequence[LogDirState], config: BrokerConfig) -> Iterator[StartFailure]:
    """Yield where a KRaft broker finds no meta.properties, or no id in it."""
    for log_dir in live:
        path = f"{log_dir.path}/{META_PROPERTIES_FILE}"
        if log_dir.meta is None:
            missing = RUNTIME if config.version >= ENSEMBLE else KAFKA_EXCEPTION
            says = NONE_READABLE if config.version >= ENSEMBLE and not any(each.meta for each in live) else ""
            yield StartFailure(missing, "no meta.properties: the directory is not formatted", path, says)
        elif log_dir.meta.node_id is None or log_dir.meta.cluster_id is None:
            name = "node ID" if log_dir.meta.node_id is None else "cluster ID"
            yield StartFailure(RUNTIME, after_a_crash(path, f"{name} not found"), path)


def _of_kraft(metas: Mapping[str, MetaProperties], config: BrokerConfig) -> Iterator[StartFailure]:
    """Yield which meta.properties are of a node of KRaft, for a broker of ZooKeeper that does not migrate."""
    for file, meta in metas.items():
        if meta.version:
            where = file if config.version >= ENSEMBLE else "loaded `meta.properties`"
            says, why = f"Found unexpected version in {where}", VERSION_0.format(meta.version)
            yield StartFailure(RUNTIME, why, file, says)


def _is_reserved(directory_id: str) -> bool:
    number = int.from_bytes(urlsafe_b64decode(f"{directory_id}=="), "big")
    return number < RESERVED_IDS or 1 << 63 <= number < 1 << 64  # Java compares the lower half signed
