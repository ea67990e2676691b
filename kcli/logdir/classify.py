"""What a directory is: a partition, a log dir, remote storage. The grammar of names is `formats.names`.

Files of remote segments lie in a broker's index cache and in remote storage:

    <log dir>/remote-log-index-cache/42_<segment id>.index           also .timeindex .txnindex
    <storage>/topic-0-<topic id>/00000000000000000042-<segment id>.log
                              also .index .timeindex .txnindex .snapshot .leader_epoch_checkpoint
    <storage>/topic-<topic id>/0/00000000000000000042-<segment id>.log
                              also .indexes .rsm-manifest

The truth is `RemoteIndexCache`, of Kafka's tests `LocalTieredStorage`, `RemoteTopicPartitionDirectory`
and `RemoteLogSegmentFileset`, and of Aiven's plugin `ObjectKeyFactory`.
"""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formats import names
from kcli.logdir.buffers import FileError, file_error
from kcli.logdir.log_dirs import has_own_files
from kcli.logdir.targets import PARTITION

LOG_DIR, LOST_AND_FOUND = "log-dir", "lost+found"
TIERED_STORAGE = "tiered-storage"
REMOTE_SEGMENTS = "remote-segments"  # the kind of a directory of files of remote segments
BUNDLE_MANIFEST = "kcli-bundle.json"  # lies in the directory of the log dirs that `kcli bundle` wrote
PARTITION_KINDS = frozenset(
    {names.LEADER_EPOCH_CHECKPOINT, names.PARTITION_METADATA, names.QUORUM_STATE, names.REMOTE_LOG_SNAPSHOT}
)
_REMOTE_SCHEMES = frozenset({names.IN_INDEX_CACHE, names.IN_TIERED_STORAGE})


class Entry(NamedTuple):
    """One entry of a directory; `error` says why it cannot be followed (a symlink loop)."""

    name: str
    path: str
    is_directory: bool
    error: OSError | None


def list_entries(path: str) -> list[Entry]:
    """Return the entries of a directory; FileError where it cannot be listed."""
    try:
        with os.scandir(path) as listing:
            return [_entry(entry) for entry in listing]
    except OSError as error:
        raise file_error(path, error) from error


def _entry(entry: os.DirEntry[str]) -> Entry:
    try:
        return Entry(entry.name, entry.path, entry.is_dir(), None)
    except OSError as error:  # a symlink loop
        return Entry(entry.name, entry.path, is_directory=False, error=error)


def directory_kind(path: str) -> str | None:
    """Return the kind of a directory by what it holds, by its name where it is empty; None for others."""
    return kind_of_entries(path, list_entries(path))


def kind_of_entries(path: str, entries: list[Entry]) -> str | None:
    """Do as `directory_kind`, with the entries of the directory."""
    files = [names.parse_file(entry.name) for entry in entries if not entry.is_directory]
    is_log_dir = any(file.name in names.LOG_DIR_FILES for file in files)
    if not is_log_dir and _holds_remote_segments(path, files):
        return REMOTE_SEGMENTS
    if any(map(is_of_a_partition, files)):
        is_whole = {names.LOG, names.LEADER_EPOCH_CHECKPOINT} <= {file.kind for file in files}
        is_parent = (is_log_dir or not is_whole) and _holds_partitions(entries, unreadable=False)
        return LOG_DIR if is_parent else PARTITION
    if is_log_dir or _holds_partitions(entries, unreadable=True):
        return LOG_DIR
    if not entries and names.parse_partition_dir(os.path.basename(os.path.abspath(path))) is not None:
        return PARTITION
    if not files and any(tiered_dirs(entry.path for entry in entries if entry.is_directory)):
        return TIERED_STORAGE
    return None


def _holds_remote_segments(path: str, files: Iterable[names.FileName]) -> bool:
    """Whether a directory holds files of remote segments, and none of a log; an empty one by its name."""
    schemes = {file.scheme for file in files}
    if not schemes:
        return os.path.basename(os.path.abspath(path)) == names.REMOTE_LOG_INDEX_CACHE
    return bool(schemes & _REMOTE_SCHEMES) and names.IN_PARTITION not in schemes


def is_of_a_partition(file: names.FileName) -> bool:
    """Whether a file of such a name lies in partition directories alone."""
    return file.scheme == names.IN_PARTITION or file.kind in PARTITION_KINDS


def _holds_partitions(entries: list[Entry], *, unreadable: bool) -> bool:
    """Whether a directory holds partition directories; with `unreadable` one that cannot be listed counts."""
    return any(
        entry.is_directory
        and names.parse_partition_dir(entry.name) is not None
        and _is_partition(entry.path, unreadable=unreadable)
        for entry in entries
    )


def _is_partition(path: str, *, unreadable: bool) -> bool:
    try:
        return kind_of_entries(path, list_entries(path)) == PARTITION
    except FileError:
        return unreadable


def partition_around(path: str) -> names.PartitionDir | None:
    """Return the partition by the name of a directory, of a log dir or of remote storage."""
    return names.parse_partition_dir(os.path.basename(os.path.abspath(path))) or _stored_partition(path)


def _stored_partition(path: str) -> names.PartitionDir | None:
    """Return the partition by the name of a directory of remote storage."""
    parent, name = os.path.split(os.path.abspath(path))
    stored = names.parse_tiered_dir(name) or names.parse_object_dirs(os.path.basename(parent), name)
    return None if stored is None else stored[0]


def tiered_dirs(paths: Iterable[str]) -> Iterator[tuple[str, names.PartitionDir]]:
    """Yield the directories of partitions in remote storage among some and a level below. FileError."""
    dirs: list[tuple[str, names.PartitionDir]] = []
    for path in paths:
        is_of_topic = names.parse_object_dirs(os.path.basename(os.path.abspath(path)), "0") is not None
        folders = [entry.path for entry in list_entries(path) if entry.is_directory] if is_of_topic else []
        dirs += _stored_partitions(folders) or _stored_partitions([path])
    yield from sorted(dirs, key=lambda item: (item[1].topic, item[1].partition, item[0]))


def _stored_partitions(paths: Iterable[str]) -> list[tuple[str, names.PartitionDir]]:
    return [(path, name) for path in paths if (name := _stored_partition(path)) is not None]


def enclosing_log_dir(partition_path: str) -> str | None:
    """Return the log dir around a partition directory: the parent, if it holds a log dir's own files."""
    parent = os.path.dirname(os.path.abspath(partition_path))
    if not has_own_files(parent):
        return None
    directory = os.path.dirname(partition_path)
    return directory if directory and os.path.basename(partition_path) not in {".", ".."} else parent


def is_of_a_bundle(path: str) -> bool:
    """Whether a log dir, or a partition directory, was written by `kcli bundle`: no payload is in it."""
    parent = os.path.dirname(os.path.abspath(path))
    return any(
        os.path.exists(os.path.join(folder, BUNDLE_MANIFEST)) for folder in (parent, os.path.dirname(parent))
    )
