"""What a log dir says about all its partitions: identity, clean shutdown, offset checkpoints.

Read once per process and directory. A file that is missing or unreadable leaves its value unknown and, when
unreadable, a problem to report.
"""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from formats.checkpoint import read_offset_checkpoint
from formats.names import LOG_DIR_FILES, REMOTE_LOG_INDEX_CACHE
from formats.properties import MetaProperties, read_meta_properties
from formats.types import TopicPartition
from kcli.logdir.buffers import FileError, read_optional, reading, shown

T = TypeVar("T")

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
META_PROPERTIES = "meta.properties"
FATAL_FILES = frozenset({META_PROPERTIES, HIGH_WATERMARK})
"""Damaged, these keep the broker from starting or take the log dir offline.

The others count as empty then, and the log dir goes offline once its logs are loaded.
"""

INCOMPLETE = "incomplete"
"""The code of the problem of a meta.properties that lacks an id."""

FILES = (META_PROPERTIES, RECOVERY_POINT, LOG_START, HIGH_WATERMARK, CLEAN_SHUTDOWN)


class DirectoryFacts(NamedTuple):
    """The log dir's own files: offsets by partition; None for a missing or unreadable file.

    `problems` holds the files that are there but could not be used.
    """

    broker_id: int | None
    cluster_id: str | None
    clean_shutdown: bool
    recovery_points: Mapping[TopicPartition, int] | None
    log_start_offsets: Mapping[TopicPartition, int] | None
    high_watermarks: Mapping[TopicPartition, int] | None
    remote_storage: bool
    """Whether its broker had remote storage switched on: only then does it make an index cache."""
    is_kraft: bool
    """Whether meta.properties is of a KRaft broker: version 1."""
    problems: tuple[FileError, ...]


NO_DIRECTORY = DirectoryFacts(
    broker_id=None,
    cluster_id=None,
    clean_shutdown=False,
    recovery_points=None,
    log_start_offsets=None,
    high_watermarks=None,
    remote_storage=False,
    is_kraft=False,
    problems=(),
)


def has_own_files(directory: str) -> bool:
    """Whether a directory of partitions has a log dir's own files, and is not just a folder of copies."""
    return any(os.path.lexists(os.path.join(directory, name)) for name in LOG_DIR_FILES)


def directory_facts(log_dir: str) -> DirectoryFacts:
    """Return what the files of a log dir say; never raises for a bad file. Unchanged files are read once."""
    return _facts(log_dir, tuple(map(version_of, _paths(log_dir))))


@lru_cache(maxsize=512)
def _paths(log_dir: str) -> tuple[str, ...]:
    return tuple(os.path.join(log_dir, name) for name in FILES)


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


@lru_cache(maxsize=512)
def _facts(log_dir: str, _versions: tuple[tuple[int, int, int] | None, ...]) -> DirectoryFacts:
    problems: list[FileError] = []

    def read(name: str, decode: Callable[[bytes], T]) -> T | None:
        path = os.path.join(log_dir, name)
        try:
            data = read_optional(path)
            if data is None:
                return None
            with reading(path):
                return decode(data)
        except FileError as error:
            problems.append(FileError(shown(error.path), *error.args[1:]))
            return None

    def offsets(data: bytes) -> Mapping[TopicPartition, int]:
        return MappingProxyType(dict(read_offset_checkpoint(data)))

    meta: MetaProperties | None = read(META_PROPERTIES, read_meta_properties)
    if meta and (missing := missing_ids(meta)):
        problems.append(FileError(shown(os.path.join(log_dir, META_PROPERTIES)), INCOMPLETE, missing))
    return DirectoryFacts(
        broker_id=meta.node_id if meta else None,
        cluster_id=meta.cluster_id if meta else None,
        clean_shutdown=os.path.lexists(os.path.join(log_dir, CLEAN_SHUTDOWN)),
        recovery_points=read(RECOVERY_POINT, offsets),
        log_start_offsets=read(LOG_START, offsets),
        high_watermarks=read(HIGH_WATERMARK, offsets),
        remote_storage=os.path.isdir(os.path.join(log_dir, REMOTE_LOG_INDEX_CACHE)),
        is_kraft=bool(meta and meta.version),
        problems=tuple(problems),
    )
