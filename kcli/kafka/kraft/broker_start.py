"""Whether a broker's process starts with its log dirs: which failure ends it, which takes a log dir offline.

The truth is `KafkaRaftServer.initializeLogDirs`, then `LogManager` (createAndValidateLogDirs, loadLogs) and
`ReplicaManager.handleLogDirFailure`. The failures come in the broker's order.
"""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from formats.names import STRAY
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.meta_properties import (
    BOOTSTRAP_READ,
    IO,
    QUORUM_STATE_STOPS,
    RUNTIME,
    STRAYS,
    BrokerConfig,
    StartFailure,
    verify,
)
from kcli.kafka.kraft.metadata_snapshot import bootstrap_error, newest_snapshot_trouble
from kcli.kafka.storage.log_segment import ILLEGAL_STATE, KAFKA_EXCEPTION, KAFKA_STORAGE
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.log_dirs import (
    LOG_START,
    METADATA_DIRECTORY,
    RECOVERY_POINT,
    LogDirState,
    log_dir_state,
)

READS_OF_LOG_DIRS = 3
"""How often log dirs are read again that do not fit together."""
QUORUM_STATE_FIELDS = frozenset(
    {"leaderId", "leaderEpoch", "votedId", "votedDirectoryId", "clusterId", "appliedOffset"}
    | {"currentVoters", "voterId"}
)
"""Missing or of another type, these are no IOException."""


class BrokerStart(NamedTuple):
    """What stops the process, in the broker's order, and why a log dir is `offline`."""

    stops: tuple[StartFailure, ...]
    offline: dict[str, StartFailure]
    metadata_log_dir: str | None


def stray_reason(replicas: Sequence[int] | None, topic_id: str, partition: int, node_id: int) -> str | None:
    """Return why a log is stray, given its replicas, as `LogManager.isStrayKraftReplica`; None if not."""
    if replicas is None:
        return f"the metadata has no partition {partition} of topic id {topic_id}"
    if node_id not in replicas:
        return f"its replicas are on brokers {', '.join(map(str, replicas))}, not on {node_id}"
    return None


def broker_start(dirs: Sequence[LogDirState], config: BrokerConfig) -> BrokerStart:
    """Return what stops a broker with these log dirs, whatever is in their logs."""
    ensemble = verify(dirs, config)
    stops, offline = [*ensemble.stops], dict(ensemble.offline)
    if not ensemble.with_zookeeper:
        stops += _metadata_stops(dirs, ensemble.metadata_log_dir, config)
    if dirs and not ensemble.live:
        stops.append(StartFailure(IO, "no log dir can be used", dirs[0].path))
    stops += [*_name_stops(ensemble.live, config), *ensemble.duplicates()]
    for one in ensemble.live:
        if one.checkpoint_error is not None:
            error = one.checkpoint_error
            offline[one.path] = StartFailure(KAFKA_STORAGE, error.message, error.path)
    return BrokerStart(tuple(stops), offline, ensemble.metadata_log_dir)


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


def _metadata_stops(
    dirs: Sequence[LogDirState], metadata_dir: str | None, config: BrokerConfig
) -> Iterator[StartFailure]:
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


def _name_stops(dirs: Sequence[LogDirState], config: BrokerConfig) -> Iterator[StartFailure]:
    for one in dirs:
        for name, parsed in one.names:
            if parsed is None:
                message = "the name of a directory is not TOPIC-PARTITION"
                yield StartFailure(KAFKA_EXCEPTION, message, f"{one.path}/{name}")
            elif parsed.kind == STRAY and config.version < STRAYS:
                message = "a -stray directory, which releases before 3.6.2 take for a malformed name"
                yield StartFailure(KAFKA_EXCEPTION, message, f"{one.path}/{name}")


def start_at_rest(
    dirs: Sequence[LogDirState], config: BrokerConfig
) -> tuple[tuple[LogDirState, ...], BrokerStart]:
    """Return the log dirs and what they make of a start; where they stop it, they are read again.

    A running broker moves partitions from one to the other while they are read.
    """
    dirs, config = tuple(dirs), _as_named(config, dirs)
    start = broker_start(dirs, config)
    for _ in range(READS_OF_LOG_DIRS):
        again = tuple(log_dir_state(one.path) for one in dirs) if start.stops else dirs
        if again == dirs:
            break
        dirs, start = again, broker_start(again, config)
    return dirs, start._replace(stops=(*start.stops, *_snapshot_stops(start)))


def _snapshot_stops(start: BrokerStart) -> Iterator[StartFailure]:
    """Yield that the newest snapshot of the metadata log ends the process: it is read before all else."""
    if start.metadata_log_dir is not None and start.metadata_log_dir not in start.offline:
        found = newest_snapshot_trouble(os.path.join(start.metadata_log_dir, METADATA_DIRECTORY))
        if found is not None and found.exception is not None:
            yield StartFailure(found.exception, found.message, found.path)


def _as_named(config: BrokerConfig, dirs: Sequence[LogDirState]) -> BrokerConfig:
    """Return the same with the path by which the metadata log dir was named, where it was."""
    if config.metadata_log_dir is None:
        return config
    real = os.path.realpath(config.metadata_log_dir)
    named = next((one.path for one in dirs if os.path.realpath(one.path) == real), config.metadata_log_dir)
    return config._replace(metadata_log_dir=named)


def start_findings(
    dirs: Sequence[LogDirState], start: BrokerStart, config: BrokerConfig
) -> Iterator[Finding]:
    """Yield as findings what ends the process, or takes a log dir offline, and a missing metadata log."""
    for stop in start.stops:
        yield _finding("START-009", f"{stop.exception}: {stop.message}", log_dir_of(stop.path, dirs), stop)
    for path, reason in start.offline.items():
        yield _finding("START-010", reason.message, path, reason)
    if lacks_metadata_log(dirs, _as_named(config, dirs)):
        message = (
            "no metadata log: the node fetches the metadata from the quorum, and one that is the whole "
            "quorum begins with none, and renames every log to -stray"
        )
        yield Finding("START-014", message, dir=shown(str(config.metadata_log_dir)))


def offline_by_log(log_dir: str, reason: StartFailure) -> Finding:
    """Return the finding about a log dir that goes offline because a log in it does not load."""
    return Finding("START-010", f"{shown(reason.path)}: {reason.message}", dir=shown(log_dir))


def log_dir_of(path: str, dirs: Sequence[LogDirState]) -> str:
    """Return the log dir that a failure's path is, or lies in."""
    return next((one.path for one in dirs if path == one.path or path.startswith(f"{one.path}/")), path)


def _finding(code: str, message: str, log_dir: str, failure: StartFailure) -> Finding:
    path = None if failure.path == log_dir else shown(failure.path)
    return Finding(code, message, dir=shown(log_dir), path=path)
