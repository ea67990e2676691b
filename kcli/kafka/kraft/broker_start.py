"""Whether a broker's process starts with its log dirs: which failure ends it, which takes a log dir offline.

The truth is `KafkaRaftServer.initializeLogDirs`, then `LogManager` (createAndValidateLogDirs, loadLogs) and
`ReplicaManager.handleLogDirFailure`. The failures come in the broker's order.
"""

import os
from collections.abc import Iterator, Sequence

from formats.names import STRAY
from kcli.kafka.kraft.meta_properties import (
    IO,
    QUORUM_STATE_STOPS,
    RUNTIME,
    STRAYS,
    BrokerConfig,
    BrokerStart,
    StartFailure,
    verify,
)
from kcli.kafka.kraft.quorum import config_failures
from kcli.kafka.kraft.remedies import ANOTHER, ELSEWHERE, NONE
from kcli.kafka.storage.log_segment import ILLEGAL_STATE, KAFKA_EXCEPTION, KAFKA_STORAGE
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.log_dirs import (
    CHECKPOINTS,
    LOCK_FILE,
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


def broker_start(dirs: Sequence[LogDirState], config: BrokerConfig) -> BrokerStart:
    """Return what stops a broker with these log dirs, whatever is in their logs."""
    start = verify(dirs, config)
    stops, offline = [*config_failures(config), *start.stops], dict(start.offline)
    if not start.with_zookeeper:
        stops += _metadata_stops(dirs, start.metadata_log_dir, config)
    if dirs and not start.live:
        stops.append(StartFailure(IO, "no log dir can be used", dirs[0].path))
    if config.has_no_broker:  # it has no LogManager
        return start._replace(stops=tuple(stops))
    for log_dir in start.live:
        if log_dir.checkpoint_error is not None:
            error = log_dir.checkpoint_error
            offline[log_dir.path] = StartFailure(KAFKA_STORAGE, error.message, error.path)
    log_stops = (*_name_stops(start.live, config), *start.duplicates())
    return start._replace(stops=tuple(stops), log_stops=log_stops, offline=offline)


def lacks_metadata_log(dirs: Sequence[LogDirState], config: BrokerConfig) -> bool:
    """Whether the metadata log dir that server.properties names is of KRaft, was used, and holds no log."""
    log_dir = next((log_dir for log_dir in dirs if log_dir.path == config.metadata_log_dir), None)
    if log_dir is None or log_dir.error is not None or log_dir.has_metadata_log:
        return False
    is_kraft = any(log_dir.meta is not None and log_dir.meta.version for log_dir in dirs)
    return is_kraft and any(log_dir.names or _was_used(log_dir) for log_dir in dirs)


def _was_used(log_dir: LogDirState) -> bool:
    return any(os.path.lexists(os.path.join(log_dir.path, name)) for name in (LOCK_FILE, *CHECKPOINTS))


def is_offline_before_its_logs(log_dir: LogDirState) -> bool:
    """Whether a log dir goes offline by a checkpoint file that is read before its logs.

    One that reads itself then, for its first unstable offset, ends the process (`LocalLog.read`).
    """
    error = log_dir.checkpoint_error
    return error is not None and os.path.basename(error.path) in {RECOVERY_POINT, LOG_START}


def _metadata_stops(
    dirs: Sequence[LogDirState], metadata_dir: str | None, config: BrokerConfig
) -> Iterator[StartFailure]:
    for log_dir in dirs:
        error = log_dir.quorum_state_error
        if error is not None and log_dir.path == metadata_dir and config.version >= QUORUM_STATE_STOPS:
            yield StartFailure(_of_quorum_state(error), error.message, error.path)
        if log_dir.has_metadata_log and log_dir.path != metadata_dir:
            has_another = any(state.has_metadata_log for state in dirs if state.path == metadata_dir)
            message = ELSEWHERE.format(ANOTHER if has_another else NONE, metadata_dir and shown(metadata_dir))
            yield StartFailure(KAFKA_EXCEPTION, message, f"{log_dir.path}/{METADATA_DIRECTORY}")


def _of_quorum_state(error: FileError) -> str:
    """Return the exception of `FileQuorumStateStore.readElectionState`."""
    if error.code == "unsupported":
        return ILLEGAL_STATE
    return RUNTIME if error.field in QUORUM_STATE_FIELDS else "UncheckedIOException"


def _name_stops(dirs: Sequence[LogDirState], config: BrokerConfig) -> Iterator[StartFailure]:
    for log_dir in dirs:
        for name, parsed in log_dir.names:
            if parsed is None:
                message = "the name of a directory is not TOPIC-PARTITION"
                yield StartFailure(KAFKA_EXCEPTION, message, f"{log_dir.path}/{name}")
            elif parsed.kind == STRAY and config.version < STRAYS:
                message = "a -stray directory, which releases before 3.6.2 take for a malformed name"
                yield StartFailure(KAFKA_EXCEPTION, message, f"{log_dir.path}/{name}")


def start_at_rest(
    dirs: Sequence[LogDirState], config: BrokerConfig
) -> tuple[tuple[LogDirState, ...], BrokerStart]:
    """Return log dirs and their start; read again if that stops: a running broker moves partitions then."""
    dirs = tuple(dirs)
    start = broker_start(dirs, config)
    for _ in range(READS_OF_LOG_DIRS):
        again = tuple(log_dir_state(state.path) for state in dirs) if start.stops or start.log_stops else dirs
        if again == dirs:
            break
        dirs, start = again, broker_start(again, config)
    return dirs, start


def as_named(config: BrokerConfig, dirs: Sequence[LogDirState]) -> BrokerConfig:
    """Return the same with the path by which the metadata log dir was named, where it was."""
    if config.metadata_log_dir is None:
        return config
    real = os.path.realpath(config.metadata_log_dir)
    paths = (log_dir.path for log_dir in dirs if os.path.realpath(log_dir.path) == real)
    return config._replace(metadata_log_dir=next(paths, config.metadata_log_dir))


def log_dir_of(path: str, dirs: Sequence[LogDirState]) -> str:
    """Return the log dir that a failure's path is, or lies in; the first for one that is elsewhere."""
    around = (log_dir.path for log_dir in dirs if path == log_dir.path or path.startswith(f"{log_dir.path}/"))
    return next(around, dirs[0].path if dirs else path)
