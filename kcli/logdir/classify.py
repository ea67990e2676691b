"""What a directory is: a partition, a log dir, remote storage. The grammar of names is `formats.names`."""

import os
from typing import NamedTuple

from formats import names
from kcli.logdir.buffers import FileError, file_error
from kcli.logdir.log_dirs import has_own_files
from kcli.logdir.remote_dirs import REMOTE_SEGMENTS, holds_remote_segments, tiered_dirs
from kcli.logdir.targets import PARTITION

LOG_DIR, LOST_AND_FOUND = "log-dir", "lost+found"
TIERED_STORAGE = "tiered-storage"
BUNDLE_MANIFEST = "kcli-bundle.json"  # lies in the directory of the log dirs that `kcli bundle` wrote
PARTITION_KINDS = frozenset(
    {names.LEADER_EPOCH_CHECKPOINT, names.PARTITION_METADATA, names.QUORUM_STATE, names.REMOTE_LOG_SNAPSHOT}
)


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
    if not is_log_dir and holds_remote_segments(path, files):
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


def enclosing_log_dir(partition_path: str) -> str | None:
    """Return the log dir around a partition directory: the parent, if it holds a log dir's own files."""
    parent = os.path.dirname(os.path.abspath(partition_path))
    if not has_own_files(parent):
        return None
    directory = os.path.dirname(partition_path)
    return directory if directory and os.path.basename(partition_path) not in {".", ".."} else parent


def is_of_a_bundle(path: str) -> bool:
    """Whether a log dir, or a partition directory, was written by `kcli bundle`: no payload is in it."""
    above = os.path.dirname(os.path.abspath(path))
    return any(
        os.path.exists(os.path.join(each, BUNDLE_MANIFEST)) for each in (above, os.path.dirname(above))
    )
