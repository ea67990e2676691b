"""A log dir as a starting broker sees it before it loads any log: whose it is, and what lies in it."""

import os
import struct
from contextlib import suppress
from typing import NamedTuple

from formats.checkpoint import IO_EXCEPTION, java_exception, read_offset_checkpoint
from formats.errors import FormatError
from formats.names import (
    KRAFT_SNAPSHOT,
    LOG,
    REMOTE_LOG_INDEX_CACHE,
    PartitionDir,
    parse_file,
    parse_partition_dir,
)
from formats.properties import MetaProperties, read_meta_properties
from formats.quorum import read_quorum_state
from kcli.logdir.buffers import FileError, file_error, read_optional, reading
from kcli.logdir.directory import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARK,
    LOG_START,
    META_PROPERTIES,
    RECOVERY_POINT,
)
from kcli.logdir.metadata_dirs import METADATA_DIRECTORY
from kcli.logdir.targets import Target

CHECKPOINTS = (RECOVERY_POINT, LOG_START, HIGH_WATERMARK, "cleaner-offset-checkpoint")
PARTITION_METADATA = "partition.metadata"
QUORUM_STATE = "quorum-state"
LOCK = ".lock"
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
    meta, meta_error = _meta(os.path.join(path, META_PROPERTIES))
    return LogDirState(
        path,
        meta,
        meta_error,
        os.path.lexists(os.path.join(path, CLEAN_SHUTDOWN)),
        tuple((name, parse_partition_dir(name)) for name in names if name != REMOTE_LOG_INDEX_CACHE),
        checkpoint_error=next(filter(None, (_checkpoint_error(path, name) for name in CHECKPOINTS)), None),
        locked_by=_locked_by(os.path.join(path, LOCK)),
        has_topic_ids=meta is None
        and any(os.path.lexists(os.path.join(path, name, PARTITION_METADATA)) for name in names),
        order=order,
        quorum_state_error=quorum_state_error(os.path.join(path, METADATA_DIRECTORY)),
    )


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory as of File.isDirectory: no link that leads to itself is one."""
    with suppress(OSError):
        return entry.is_dir()
    return False


def quorum_state_error(metadata_log: str) -> FileError | None:
    """Return why the quorum-state in a directory of the metadata log cannot be used; None without one."""
    path = os.path.join(metadata_log, QUORUM_STATE)
    try:
        data = read_optional(path)
        if data is not None:
            with reading(path):
                read_quorum_state(data)
    except FileError as error:
        return None if error.code == "not-a-directory" else error
    return None


def lacks_quorum_state(metadata_log: str) -> bool:
    """Whether a directory of the metadata log has records or a snapshot, and no quorum-state.

    Every voter and observer writes the file before it appends or fetches one (`QuorumState`).
    """
    if os.path.lexists(os.path.join(metadata_log, QUORUM_STATE)):
        return False
    with suppress(OSError), os.scandir(metadata_log) as listing:
        return any(_has_records(entry) for entry in listing)
    return False


def _has_records(entry: os.DirEntry[str]) -> bool:
    name = parse_file(entry.name)
    is_written = name.kind == LOG or (name.kind == KRAFT_SNAPSHOT and name.epoch not in {None, 0})
    return is_written and not name.is_inactive and entry.is_file() and entry.stat().st_size > 0


def _meta(path: str) -> tuple[MetaProperties | None, FileError | None]:
    try:
        data = read_optional(path)
        if data is None:
            return None, None
        with reading(path):
            return read_meta_properties(data), None
    except FileError as error:
        return None, error


def _checkpoint_error(log_dir: str, name: str) -> FileError | None:
    """Return why Kafka's reader of a checkpoint reports its disk as failed.

    It does so for an IOException alone (CheckpointFileWithFailureHandler): LogManager goes on with an empty
    file, and the log dir goes offline all the same.
    """
    path = os.path.join(log_dir, name)
    try:
        data = read_optional(path)
        if data is not None:
            read_offset_checkpoint(data)
    except FileError as error:
        return error
    except FormatError as error:
        return file_error(path, error) if java_exception(error) == IO_EXCEPTION else None
    return None


def is_running(target: Target) -> bool:
    """Whether a broker runs with the log dir of a partition: it moves, deletes and creates partitions."""
    return target.log_dir is not None and _locked_by(os.path.join(target.log_dir, LOCK)) is not None


def _locked_by(path: str) -> int | None:
    """Return the process on this host that holds the lock of a file, without asking for the lock."""
    with suppress(ImportError, OSError, ValueError, struct.error):
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            asked = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, process = FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        finally:
            os.close(descriptor)
        return None if kind == fcntl.F_UNLCK else process
    return None
