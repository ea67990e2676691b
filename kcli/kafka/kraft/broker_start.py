"""Whether a broker's process starts with its log dirs: which failure ends it, which takes a log dir offline.

The truth is `KafkaRaftServer.initializeLogDirs` with `MetaPropertiesEnsemble.verify`, then `LogManager`
(createAndValidateLogDirs, loadLogs) and `ReplicaManager.handleLogDirFailure`; before 3.7 it was
`BrokerMetadataCheckpoint.getBrokerMetadataAndOfflineDirs`. The failures come in the broker's order.
"""

import os
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from formats.names import DELETE, FUTURE, NORMAL, STRAY
from formats.properties import MetaProperties
from kcli.kafka.kraft.metadata_snapshot import bootstrap_error
from kcli.kafka.storage.log_segment import ILLEGAL_STATE, KAFKA_EXCEPTION, KAFKA_STORAGE
from kcli.logdir.buffers import CANNOT_READ, FileError
from kcli.logdir.log_dirs import (
    LOG_START,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    QUORUM_STATE,
    RECOVERY_POINT,
    LogDirState,
)

Version: TypeAlias = tuple[int, ...]

NEWEST: Version = (4, 3)
ENSEMBLE: Version = (3, 7)
"""From here on meta.properties of all log dirs are verified together, with the ids of directories (KIP-858),
and a log without a topic id is renamed to -stray."""
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

RUNTIME = "RuntimeException"
IO = "IOException"
QUORUM_STATE_FIELDS = frozenset(
    {"leaderId", "leaderEpoch", "votedId", "votedDirectoryId", "clusterId", "appliedOffset"}
    | {"currentVoters", "voterId"}
)
"""Missing or of another type, these are no IOException."""
RESERVED_IDS = 100
"""The first so many ids are no directory's (`DirectoryId.reserved`)."""
NOT_FOUND = "not-found"


STARTS: Final = "starts"
FAILS: Final = "fails"
ONLINE: Final = "online"
OFFLINE: Final = "offline"
BrokerOutcome: TypeAlias = Literal["starts", "fails"]
DirOutcome: TypeAlias = Literal["online", "offline"]


class StartFailure(NamedTuple):
    """A failure: Kafka's exception, why, and the file or directory that it is about."""

    exception: str
    message: str
    path: str


class BrokerConfig(NamedTuple):
    """What server.properties contributes; None where it is not known."""

    version: Version = NEWEST
    node_id: int | None = None
    metadata_log_dir: str | None = None


UNKNOWN_CONFIG = BrokerConfig()


class BrokerStart(NamedTuple):
    """What the log dirs alone make of a start: the failures that end the process, in the broker's order.

    `offline` maps each log dir that is not used to the reason.
    """

    stops: tuple[StartFailure, ...]
    offline: dict[str, StartFailure]
    metadata_log_dir: str | None


def stray_reason(replicas: Sequence[int] | None, topic_id: str, partition: int, node_id: int) -> str | None:
    """Return why a log is a stray one, given its replicas in the metadata; None where it is not.

    As `LogManager.isStrayKraftReplica` decides.
    """
    if replicas is None:
        return f"the metadata has no partition {partition} of topic id {topic_id}"
    if node_id not in replicas:
        return f"its replicas are on brokers {', '.join(map(str, replicas))}, not on {node_id}"
    return None


def release_of(dirs: Sequence[LogDirState]) -> Version:
    """Return the newest release whose broker can have written these log dirs.

    Those of ZooKeeper have a meta.properties of version 0; or none, and no topic id, as before 0.9.
    """
    known = [one.meta for one in dirs if one.meta is not None]
    if any(one.has_metadata_log for one in dirs) or any(meta.version for meta in known):
        return NEWEST
    is_older = any(one.names for one in dirs) and not any(one.has_topic_ids for one in dirs)
    return LAST_WITH_ZOOKEEPER if known or is_older else NEWEST


def broker_start(dirs: Sequence[LogDirState], config: BrokerConfig) -> BrokerStart:
    """Return what stops a broker with these log dirs, whatever is in their logs."""
    metadata_dir = _metadata_log_dir(dirs, config)
    with_zookeeper = _has_zookeeper(dirs, config)
    offline: dict[str, StartFailure] = {}
    stops: list[StartFailure] = []
    for one in dirs:
        error = one.error or one.meta_error
        if error is None or error.code == NOT_FOUND:
            continue
        if config.version < ENSEMBLE and error.code not in CANNOT_READ:
            stops.append(StartFailure(RUNTIME, error.message, error.path))
        else:
            offline[one.path] = StartFailure(IO, error.message, error.path)
    live = [one for one in dirs if one.path not in offline]
    known = [(one.path, one.meta) for one in live if one.meta is not None]
    of_ids = [*_directory_ids(known, config)]
    stops += [*_identities(known, config), *of_ids]
    if not with_zookeeper:
        stops += _metadata_stops(dirs, offline, metadata_dir, config)
        stops += _unformatted([one for one in live if one.meta_error is None], config)
    if dirs and not live:
        stops.append(StartFailure(IO, "no log dir can be used", dirs[0].path))
    stops += _name_stops(live, config)
    if not of_ids:  # else the process ends first: copies hold all partitions twice
        stops += _duplicates(live)
    for one in live:
        if one.checkpoint_error is not None:
            error = one.checkpoint_error
            offline[one.path] = StartFailure(KAFKA_STORAGE, error.message, error.path)
    return BrokerStart(tuple(stops), offline, metadata_dir)


def lacks_metadata_log(dirs: Sequence[LogDirState], config: BrokerConfig) -> bool:
    """Whether the metadata log dir that server.properties names is of KRaft, and holds no metadata log.

    A broker without any partition has perhaps just been formatted.
    """
    here = next((one for one in dirs if one.path == config.metadata_log_dir), None)
    if here is None or here.error is not None or here.has_metadata_log:
        return False
    is_kraft = any(one.meta is not None and one.meta.version for one in dirs)
    return is_kraft and any(one.names for one in dirs)


def is_offline_before_its_logs(one: LogDirState) -> bool:
    """Whether a log dir goes offline by a checkpoint file that is read before its logs.

    They are loaded all the same; one that reads itself then, for its first unstable offset, fails, and that
    ends the process (`LocalLog.read`, `LogManager.loadLogs`).
    """
    error = one.checkpoint_error
    return error is not None and os.path.basename(error.path) in {RECOVERY_POINT, LOG_START}


def _metadata_log_dir(dirs: Sequence[LogDirState], config: BrokerConfig) -> str | None:
    """Return the log dir of the metadata log: as configured, else where it lies, else the first."""
    if config.metadata_log_dir is not None:
        return config.metadata_log_dir
    return next((one.path for one in dirs if one.has_metadata_log), dirs[0].path if dirs else None)


def _has_zookeeper(dirs: Sequence[LogDirState], config: BrokerConfig) -> bool:
    """Whether these are of a broker of ZooKeeper: a release that has it, and files of version 0 alone."""
    if config.version >= KRAFT_ALONE or any(one.has_metadata_log for one in dirs):
        return False
    return all(one.meta is None or not one.meta.version for one in dirs)


def _metadata_stops(
    dirs: Sequence[LogDirState],
    offline: dict[str, StartFailure],
    metadata_dir: str | None,
    config: BrokerConfig,
) -> Iterator[StartFailure]:
    if metadata_dir in offline:
        reason = offline[metadata_dir]
        exception = RUNTIME if config.version >= ENSEMBLE else KAFKA_EXCEPTION
        yield StartFailure(exception, f"I/O error in the metadata log dir: {reason.message}", reason.path)
    for one in dirs:
        error = one.quorum_state_error
        if error is not None and one.path == metadata_dir and config.version >= QUORUM_STATE_STOPS:
            yield StartFailure(_of_quorum_state(error), error.message, error.path)
        if one.path == metadata_dir and config.version >= BOOTSTRAP_READ:
            error = bootstrap_error(one.path)
            if error is not None:
                yield StartFailure(RUNTIME, error.message, error.path)
        if one.has_metadata_log and one.path != metadata_dir:
            message = f"the metadata log lies here, and in the metadata log dir {metadata_dir}"
            yield StartFailure(KAFKA_EXCEPTION, message, f"{one.path}/{METADATA_DIRECTORY}")


def _of_quorum_state(error: FileError) -> str:
    """Return the exception of `FileQuorumStateStore.readElectionState`."""
    if error.code == "unsupported":
        return ILLEGAL_STATE
    return RUNTIME if error.field in QUORUM_STATE_FIELDS else "UncheckedIOException"


def _identities(known: Sequence[tuple[str, MetaProperties]], config: BrokerConfig) -> Iterator[StartFailure]:
    """Yield where meta.properties are of another cluster or node than expected, or than the first of them."""
    exception = RUNTIME if config.version >= ENSEMBLE else "InconsistentBrokerMetadataException"
    expected: dict[str, str | int | None] = {"cluster.id": None, "node.id": config.node_id}
    for path, meta in known:
        for name, value in (("cluster.id", meta.cluster_id), ("node.id", meta.node_id)):
            if expected[name] is None:
                expected[name] = value
            elif value is not None and value != expected[name]:
                message = f"{name} is {value}, expected {expected[name]}"
                yield StartFailure(exception, message, f"{path}/{META_PROPERTIES}")


def _directory_ids(
    known: Sequence[tuple[str, MetaProperties]], config: BrokerConfig
) -> Iterator[StartFailure]:
    """Yield where two directories have the same id, or one has a reserved one."""
    seen: dict[str, str] = {}
    for path, meta in known:
        if meta.directory_id is None or config.version < ENSEMBLE:
            continue
        file = f"{path}/{META_PROPERTIES}"
        first = seen.setdefault(meta.directory_id, path)
        if _is_reserved(meta.directory_id):
            yield StartFailure(RUNTIME, f"directory.id {meta.directory_id} is reserved", file)
        elif first != path:
            yield StartFailure(RUNTIME, f"directory.id {meta.directory_id} is also that of {first}", file)


def _unformatted(live: Sequence[LogDirState], config: BrokerConfig) -> Iterator[StartFailure]:
    """Yield where a KRaft broker finds no meta.properties, or no id in it."""
    for one in live:
        path = f"{one.path}/{META_PROPERTIES}"
        if one.meta is None:
            missing = RUNTIME if config.version >= ENSEMBLE else KAFKA_EXCEPTION
            yield StartFailure(missing, "no meta.properties: the directory is not formatted", path)
        elif one.meta.node_id is None or one.meta.cluster_id is None:
            name = "node ID" if one.meta.node_id is None else "cluster ID"
            yield StartFailure(RUNTIME, f"{name} not found", path)


def _is_reserved(directory_id: str) -> bool:
    number = int.from_bytes(urlsafe_b64decode(f"{directory_id}=="), "big")
    return number < RESERVED_IDS or 1 << 63 <= number < 1 << 64  # Java compares the lower half signed


def _name_stops(dirs: Sequence[LogDirState], config: BrokerConfig) -> Iterator[StartFailure]:
    for one in dirs:
        for name, parsed in one.names:
            if parsed is None:
                message = "the name of a directory is not TOPIC-PARTITION"
                yield StartFailure(KAFKA_EXCEPTION, message, f"{one.path}/{name}")
            elif parsed.kind == STRAY and config.version < STRAYS:
                message = "a -stray directory, which releases before 3.6.2 take for a malformed name"
                yield StartFailure(KAFKA_EXCEPTION, message, f"{one.path}/{name}")


def is_duplicate(stop: StartFailure) -> bool:
    """Whether a start ends because a partition lies in two log dirs."""
    return stop.exception == ILLEGAL_STATE and os.path.basename(stop.path) != QUORUM_STATE


def _duplicates(dirs: Sequence[LogDirState]) -> Iterator[StartFailure]:
    """Yield each partition that lies in two log dirs; a -delete or -stray directory is no second one."""
    seen: dict[tuple[str, int, str], str] = {}
    for one in dirs:
        for name, parsed in one.names:
            if parsed is None or parsed.kind in {DELETE, STRAY} or name == METADATA_DIRECTORY:
                continue
            kind = FUTURE if parsed.kind == FUTURE else NORMAL
            path = f"{one.path}/{name}"
            first = seen.setdefault((parsed.topic, parsed.partition, kind), path)
            if first != path:
                yield StartFailure(ILLEGAL_STATE, f"the same partition lies in {first}", path)
