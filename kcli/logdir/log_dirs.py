"""What the files of a log dir say, for its partitions and for the start of its broker.

Read once per process and version of the files. A file that is missing or unreadable leaves its value unknown
and, when unreadable, a problem to report.
"""

import os
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from formats.checkpoint import IO_EXCEPTION, java_exception, read_offset_checkpoint
from formats.errors import FormatError
from formats.names import (
    CLUSTER_METADATA,
    KRAFT_SNAPSHOT,
    LOG,
    LOG_DIR_FILES,
    REMOTE_LOG_INDEX_CACHE,
    PartitionDir,
    parse_file,
    parse_partition_dir,
)
from formats.properties import MetaProperties, read_meta_properties
from formats.quorum import read_quorum_state
from formats.types import TopicPartition
from kcli.logdir.buffers import NO_PERMISSION, FileError, after_a_crash, decode_optional, file_error, shown
from kcli.logdir.targets import Target

T = TypeVar("T")

METADATA_DIRECTORY = f"{CLUSTER_METADATA}-0"
RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
META_PROPERTIES_FILE = "meta.properties"
PARTITION_METADATA_FILE = "partition.metadata"
BOOTSTRAP = "bootstrap.checkpoint"
INCOMPLETE = "incomplete"  # the code of the problem of a meta.properties that lacks an id

START_FILES = (META_PROPERTIES_FILE, RECOVERY_POINT, LOG_START, HIGH_WATERMARK, CLEAN_SHUTDOWN_FILE)


class DirectoryFacts(NamedTuple):
    """The log dir's own files: offsets by partition, None for a missing file; `problems` of bad ones."""

    broker_id: int | None = None
    cluster_id: str | None = None
    clean_shutdown: bool = False
    recovery_points: Mapping[TopicPartition, int] | None = None
    log_start_offsets: Mapping[TopicPartition, int] | None = None
    high_watermarks: Mapping[TopicPartition, int] | None = None
    remote_storage: bool = False
    """Whether its broker had remote storage switched on: only then does it make an index cache."""
    is_kraft: bool = False  # whether meta.properties is of a KRaft broker: version 1
    directory_id: str | None = None
    problems: tuple[FileError, ...] = ()


NO_DIRECTORY = DirectoryFacts()


def has_own_files(directory: str) -> bool:
    """Whether a directory of partitions has a log dir's own files, and is not just a folder of copies."""
    return any(os.path.lexists(os.path.join(directory, name)) for name in LOG_DIR_FILES)


def directory_facts(log_dir: str) -> DirectoryFacts:
    """Return what the files of a log dir say; never raises for a bad file. Unchanged files are read once."""
    return _facts(log_dir, tuple(map(version_of, _paths(log_dir))))


@lru_cache(maxsize=512)
def _paths(log_dir: str) -> tuple[str, ...]:
    return tuple(os.path.join(log_dir, name) for name in START_FILES)


def version_of(path: str) -> tuple[int, int, int] | None:
    """Return what changes when a file does: modification time, size and mode; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_mode


def missing_ids(meta: MetaProperties) -> str | None:
    """Return in words which of the keys are missing that every broker of the file's version writes.

    None where none is. Nearly any bytes are Java properties, so a damaged file may just lack them. With
    ZooKeeper cluster.id came in 0.10.1, and a file from before goes without.
    """
    values: dict[str, int | str | None] = {"broker.id": meta.node_id}
    if meta.version:
        values = {"node.id": meta.node_id, "cluster.id": meta.cluster_id}
    missing = [key for key, value in values.items() if value is None]
    return f"version {meta.version} without {' and '.join(missing)}" if missing else None


def _read(path: str, decode: Callable[[bytes], T]) -> tuple[T | None, FileError | None]:
    """Return what a small file says, None without it, or why it cannot be used."""
    try:
        return decode_optional(path, decode), None
    except FileError as error:
        return None, error


@lru_cache(maxsize=512)
def _facts(log_dir: str, _versions: tuple[tuple[int, int, int] | None, ...]) -> DirectoryFacts:
    problems: list[FileError] = []

    def read(name: str, decode: Callable[[bytes], T]) -> T | None:
        value, error = _read(os.path.join(log_dir, name), decode)
        if error is not None:
            problems.append(FileError(shown(error.path), *error.args[1:]))
        return value

    def offsets(data: bytes) -> Mapping[TopicPartition, int]:
        return MappingProxyType(dict(read_offset_checkpoint(data)))

    meta: MetaProperties | None = read(META_PROPERTIES_FILE, read_meta_properties)
    if meta and (missing := missing_ids(meta)):
        path = os.path.join(log_dir, META_PROPERTIES_FILE)
        problems.append(FileError(shown(path), INCOMPLETE, after_a_crash(path, missing)))
    return DirectoryFacts(
        broker_id=meta.node_id if meta else None,
        cluster_id=meta.cluster_id if meta else None,
        clean_shutdown=os.path.lexists(os.path.join(log_dir, CLEAN_SHUTDOWN_FILE)),
        recovery_points=read(RECOVERY_POINT, offsets),
        log_start_offsets=read(LOG_START, offsets),
        high_watermarks=read(HIGH_WATERMARK, offsets),
        remote_storage=os.path.isdir(os.path.join(log_dir, REMOTE_LOG_INDEX_CACHE)),
        is_kraft=bool(meta and meta.version),
        directory_id=meta.directory_id if meta else None,
        problems=tuple(problems),
    )


def metadata_log(*log_dirs: str | None) -> str | None:
    """Return the path of the metadata log in the first of log dirs that has one; None where none has one."""
    paths = [os.path.join(log_dir, METADATA_DIRECTORY) for log_dir in log_dirs if log_dir is not None]
    return next(filter(os.path.isdir, paths), None)


def metadata_dirs(log_dirs: Sequence[str]) -> dict[str, str]:
    """Return, for log dirs without a metadata log, the one of their broker that has it, else another's."""
    with_log = [path for path in log_dirs if metadata_log(path)]
    owners: dict[tuple[str | None, int | None], str] = {}
    for path in with_log:
        facts = directory_facts(path)
        for broker in (facts.broker_id, None):
            owners.setdefault((facts.cluster_id, broker), path)
    dirs, list_folder = {}, cache(_with_metadata_log)
    for path in dict.fromkeys(log_dirs):
        facts = directory_facts(path)
        if path in with_log or facts.cluster_id is None:
            continue
        metadata_dir = (
            owners.get((facts.cluster_id, facts.broker_id))
            or metadata_dir_beside(path, list_folder)
            or owners.get((facts.cluster_id, None))
        )
        if metadata_dir is not None:
            dirs[path] = metadata_dir
    return dirs


def metadata_dir_beside(
    log_dir: str, list_folder: Callable[[str], Sequence[str]] | None = None
) -> str | None:
    """Return the log dir in the same folder with the metadata log of its KRaft broker; None for none.

    A copy of the log dir, with the same directory.id, is none: the broker reads another.
    """
    facts = directory_facts(log_dir)
    if not facts.is_kraft:
        return None
    owner = facts.cluster_id, facts.broker_id
    for path in (list_folder or _with_metadata_log)(os.path.dirname(os.path.abspath(log_dir))):
        neighbour = directory_facts(path)
        is_copy = facts.directory_id is not None and neighbour.directory_id == facts.directory_id
        if (neighbour.cluster_id, neighbour.broker_id) == owner and not is_copy:
            return path
    return None


def _with_metadata_log(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [path for name in names if metadata_log(path := os.path.join(folder, name))]


CHECKPOINTS = (RECOVERY_POINT, LOG_START, HIGH_WATERMARK, "cleaner-offset-checkpoint")
QUORUM_STATE = "quorum-state"
LOCK_FILE = ".lock"
FLOCK = struct.Struct("hhqqi4x")
"""`struct flock` of Linux on 64 bits: l_type, l_whence, l_start, l_len, l_pid."""


class LogDirState(NamedTuple):
    """What a broker learns of a log dir.

    `meta`: None without a meta.properties, or with one that cannot be used (`meta_error`). `names` are the
    directories in it by name, None for a name that is no partition's; `error`: why it cannot be listed.
    `checkpoint_error`: why a file of offsets takes the log dir offline once its logs are loaded. `locked_by`
    is the process that holds its `.lock`, None for none that can be seen from here. `has_topic_ids`: a
    partition.metadata lies in it; looked up only where no meta.properties can be used.
    """

    path: str
    meta: MetaProperties | None = None
    meta_error: FileError | None = None
    clean: bool = False
    names: tuple[tuple[str, PartitionDir | None], ...] = ()
    error: FileError | None = None
    checkpoint_error: FileError | None = None
    locked_by: int | None = None
    has_topic_ids: bool = False
    order: tuple[str, ...] = ()
    """The names of its directories as the system lists them: so a broker loads its logs."""
    quorum_state_error: FileError | None = None
    """Why the quorum-state of the metadata log in it cannot be used."""
    unread: tuple[FileError, ...] = ()
    """Its own files that kcli may not read, and its broker may: they are no failure of it."""

    @property
    def unread_meta(self) -> FileError | None:
        """Why kcli may not read its meta.properties, if so."""
        by_name = {os.path.basename(error.path): error for error in self.unread}
        return by_name.get(META_PROPERTIES_FILE)

    @property
    def has_metadata_log(self) -> bool:
        """Whether KRaft's metadata log lies in it."""
        return any(name == METADATA_DIRECTORY for name, _ in self.names)


def log_dir_state(path: str) -> LogDirState:
    """Return what a starting broker learns of a log dir; never raises for a bad file."""
    try:
        with os.scandir(path) as listing:
            order = tuple(entry.name for entry in listing if _is_directory(entry))
    except OSError as error:
        return LogDirState(path, error=file_error(path, error))
    names = sorted(order)
    meta, meta_error = _read(os.path.join(path, META_PROPERTIES_FILE), read_meta_properties)
    checkpoint_errors = [*filter(None, (_checkpoint_error(path, name) for name in CHECKPOINTS))]
    quorum_error = quorum_state_error(os.path.join(path, METADATA_DIRECTORY))
    errors = [*checkpoint_errors, *filter(None, (meta_error, quorum_error))]
    unread = tuple(error for error in errors if error.code == NO_PERMISSION)
    return LogDirState(
        path,
        meta,
        None if meta_error in unread else meta_error,
        os.path.lexists(os.path.join(path, CLEAN_SHUTDOWN_FILE)),
        tuple((name, parse_partition_dir(name)) for name in names if name != REMOTE_LOG_INDEX_CACHE),
        checkpoint_error=next((error for error in checkpoint_errors if error not in unread), None),
        locked_by=_locked_by(os.path.join(path, LOCK_FILE)),
        has_topic_ids=meta is None
        and any(os.path.lexists(os.path.join(path, name, PARTITION_METADATA_FILE)) for name in names),
        order=order,
        quorum_state_error=None if quorum_error in unread else quorum_error,
        unread=unread,
    )


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory as of File.isDirectory: no link that leads to itself is one."""
    with suppress(OSError):
        return entry.is_dir()
    return False


def quorum_state_error(metadata_log: str) -> FileError | None:
    """Return why the quorum-state in a directory of the metadata log cannot be used; None without one."""
    _, error = _read(os.path.join(metadata_log, QUORUM_STATE), read_quorum_state)
    return None if error is not None and error.code == "not-a-directory" else error


def lacks_quorum_state(metadata_log: str) -> bool:
    """Whether a metadata log has records or a snapshot, and no quorum-state (`QuorumState`)."""
    if os.path.lexists(os.path.join(metadata_log, QUORUM_STATE)):
        return False
    with suppress(OSError), os.scandir(metadata_log) as listing:
        return any(_has_records(entry) for entry in listing)
    return False


def _has_records(entry: os.DirEntry[str]) -> bool:
    name = parse_file(entry.name)
    is_written = name.kind == LOG or (name.kind == KRAFT_SNAPSHOT and name.epoch not in {None, 0})
    return is_written and not name.is_inactive and entry.is_file() and entry.stat().st_size > 0


def _checkpoint_error(log_dir: str, name: str) -> FileError | None:
    """Return the IOException of Kafka's reader of a checkpoint: it takes the log dir offline later."""
    _, error = _read(os.path.join(log_dir, name), read_offset_checkpoint)
    cause = None if error is None else error.__cause__
    is_other = isinstance(cause, FormatError) and java_exception(cause) != IO_EXCEPTION
    return None if is_other else error


def is_running(target: Target) -> bool:
    """Whether a broker runs with the log dir of a partition: it moves, deletes and creates partitions."""
    return target.log_dir is not None and is_locked(target.log_dir)


def is_locked(log_dir: str) -> bool:
    """Whether a broker runs with a log dir."""
    return _locked_by(os.path.join(log_dir, LOCK_FILE)) is not None


def _locked_by(path: str) -> int | None:
    """Return the process on this host that holds the lock of a file, without asking for the lock."""
    with suppress(ImportError, OSError, ValueError, struct.error):
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            request = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, process = FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, request))
        finally:
            os.close(descriptor)
        return None if kind == fcntl.F_UNLCK else process
    return None
