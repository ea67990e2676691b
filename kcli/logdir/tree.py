"""From what the user typed to what will be read: arguments, globs, log dirs, partition dirs, files.

Every entry that is met is classified; what is not read is reported (`Note`), so
that nothing is skipped unseen. The grammar of names is `formats.names`.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from formats.names import (
    IN_PARTITION,
    LEADER_EPOCH_CHECKPOINT,
    LOG,
    LOG_DIR_FILES,
    LOG_DIR_KINDS,
    NORMAL,
    PARTITION_METADATA,
    QUORUM_STATE,
    REMOTE_LOG_INDEX_CACHE,
    REMOTE_LOG_SNAPSHOT,
    FileName,
    PartitionDir,
    parse_file,
    parse_partition_dir,
)
from kcli.logdir.buffers import FileError, file_error, irregular, shown
from kcli.logdir.directory import has_own_files
from kcli.logdir.globs import expand
from kcli.logdir.metadata_dirs import metadata_dirs
from kcli.logdir.moving import removal
from kcli.logdir.remote_dirs import REMOTE_SEGMENTS, holds_remote_segments, partition_around, tiered_dirs

PARTITION = "partition"
LOG_DIR = "log-dir"
TIERED_STORAGE = "tiered-storage"

PARTITION_KINDS = frozenset({LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, QUORUM_STATE, REMOTE_LOG_SNAPSHOT})
INTERNAL_TOPICS = re.compile(r"__.*")


class Server(NamedTuple):
    """What the server.properties of a broker says: `remote_log` is remote.log.storage.system.enable."""

    metadata_log_dir: str | None = None
    remote_log: bool | None = None
    index_interval_bytes: int | None = None
    segment_index_bytes: int | None = None


NO_SERVER = Server()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing to read: a partition directory, or a file.

    `path` opens it, `shown` is how it was reached from the argument (for people and rows). `kind` is
    `partition`, `remote-segments` or the file's kind in `formats.names`. `name` is the partition directory's
    parsed name, None where it has none (a file outside a partition directory, a directory of another name).
    `log_dir` is the log dir around it, None when there is none. `metadata_dir` is another log dir, in which
    the metadata log of its broker lies; None where none is known, or it lies in `log_dir`.
    """

    kind: str
    path: str
    shown: str
    name: PartitionDir | None
    log_dir: str | None
    metadata_dir: str | None = None
    server: Server = NO_SERVER


class Selection(NamedTuple):
    """Which partitions are selected, topics by names or globs; empty fields select everything."""

    topics: tuple[str, ...] = ()
    topic_regexes: tuple[str, ...] = ()
    partitions: frozenset[int] = frozenset()
    exclude_internal: bool = False
    include_leftovers: bool = False

    @property
    def names(self) -> bool:
        """Whether some topics or partitions are selected, and not all."""
        return bool(self.topics or self.topic_regexes or self.partitions or self.exclude_internal)

    def wants(self, name: PartitionDir | None) -> bool:
        """Whether a partition of this name is selected.

        An unparseable name passes only an empty selection.
        """
        if name is None:
            return not (self.topics or self.topic_regexes or self.partitions)
        if (self.topics or self.topic_regexes) and not (
            any(fnmatchcase(name.topic, pattern) for pattern in self.topics)
            or any(re.fullmatch(regex, name.topic) for regex in self.topic_regexes)
        ):
            return False
        if self.partitions and name.partition not in self.partitions:
            return False
        return not (self.exclude_internal and INTERNAL_TOPICS.fullmatch(name.topic))


ALL_PARTITIONS = Selection()


class Note(NamedTuple):
    """An entry that was met and not read.

    `unknown` to Kafka, an `unknown-directory`, a `leftover` directory; `no-file` where one of a log or of a
    log dir could be (`message` says what is there), a file with `no-offset` in its name, a log with a
    `non-canonical-name` whose canonical file is missing; `removed` by a running broker (`message` says
    how); a partition that is there `twice`, in two log dirs of its broker.
    """

    kind: str
    path: str
    message: str = ""


class Entry(NamedTuple):
    """One entry of a directory; `error` says why it cannot be followed (a symlink loop)."""

    name: str
    path: str
    is_directory: bool
    error: OSError | None


@dataclass(slots=True)
class Found:
    """What the arguments led to: targets in output order, entries left out, arguments that could not be used.

    `named_log_dirs` are the arguments that are log dirs: their partitions are among the targets.
    """

    targets: list[Target] = field(default_factory=list)
    named_log_dirs: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    failures: list[FileError] = field(default_factory=list)

    @property
    def log_dirs(self) -> list[str]:
        """The log dirs that were named, and those around the targets."""
        around = (target.log_dir for target in self.targets if target.log_dir)
        return [*dict.fromkeys((*self.named_log_dirs, *around))]

    def miss(self, target: Target, error: FileError) -> None:
        """Keep why a target could not be listed.

        A note where a running broker removed it, else a failure.
        """
        gone = removal(error)
        if gone is None:
            self.failures.append(FileError(shown_as(target, error.path), *error.args[1:]))
        else:
            self.notes.append(Note("removed", shown_as(target, gone.path), gone.message))


def find(arguments: Iterable[str], selection: Selection, server: Server = NO_SERVER) -> Found:
    """Return everything that the arguments lead to, in the order of arguments, then topic, then partition."""
    found = Found()
    for argument in expand(arguments):
        try:
            _argument(argument, selection, found)
        except FileError as error:
            found.failures.append(FileError(shown(error.path), *error.args[1:]))
    apart = [server.metadata_log_dir] if server.metadata_log_dir else []
    places = metadata_dirs([*dict.fromkeys((*found.log_dirs, *apart))])
    if places or server is not NO_SERVER:
        found.targets = [
            replace(target, metadata_dir=places.get(target.log_dir or ""), server=server)
            for target in found.targets
        ]
    return found


def _argument(path: str, selection: Selection, found: Found) -> None:
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:
        words = "a path holds no NUL; a list of paths that end in NUL is read with -0"
        raise FileError(path, "not-found", words) from error
    except OSError as error:
        raise file_error(path, error) from error
    if not stat.S_ISDIR(mode):
        target = file_target(path)
        if selection.wants(target.name):
            found.targets.append(target)
        return
    path = path.rstrip("/") or "/"
    entries = _entries(path)
    kind = _kind(path, entries)
    if kind in {PARTITION, REMOTE_SEGMENTS}:
        name = partition_around(path)
        if selection.wants(name):
            found.targets.append(
                Target(kind=kind, path=path, shown=shown(path), name=name, log_dir=enclosing_log_dir(path))
            )
    elif kind == LOG_DIR:
        found.named_log_dirs.append(path)
        _log_dir(path, entries, selection, found)
    elif kind == TIERED_STORAGE:
        found.targets.extend(_tiered_storage(entries, selection))
    else:
        raise FileError(path, "not-a-log-dir", _advice(entries))


def _tiered_storage(entries: list[Entry], selection: Selection) -> Iterator[Target]:
    for path, name in tiered_dirs(entry.path for entry in entries if entry.is_directory):
        if selection.wants(name):
            yield Target(kind=REMOTE_SEGMENTS, path=path, shown=shown(path), name=name, log_dir=None)


def _advice(entries: list[Entry]) -> str:
    for path in sorted(entry.path for entry in entries if entry.is_directory):
        try:
            if directory_kind(path) is not None:
                return f"neither a log dir nor a partition directory; did you mean {shown(path)}?"
        except FileError:
            continue
    return "neither a log dir nor a partition directory: no partition, segment or checkpoint in it"


def file_target(path: str) -> Target:
    """Return the target of a single file; the partition's name comes from the directory around it."""
    directory = os.path.dirname(path) or "."
    kind = parse_file(os.path.basename(path)).kind
    return Target(
        kind=kind,
        path=path,
        shown=shown(path),
        name=partition_around(os.path.abspath(directory)),
        log_dir=directory if kind in LOG_DIR_KINDS else enclosing_log_dir(directory),
    )


def entry_of(directory: Target, name: str, kind: str) -> Target:
    """Return the target of an entry of a directory, of the partition that the directory is of."""
    return Target(
        kind=kind,
        path=os.path.join(directory.path, name),
        shown=os.path.join(directory.shown, shown(name)),
        name=directory.name,
        log_dir=directory.log_dir,
        metadata_dir=directory.metadata_dir,
        server=directory.server,
    )


def partition_of(target: Target) -> Target:
    """Return the target of the partition directory around a file's target."""
    return Target(
        kind=PARTITION,
        path=os.path.dirname(target.path) or ".",
        shown=os.path.dirname(target.shown) or ".",
        name=target.name,
        log_dir=target.log_dir,
        metadata_dir=target.metadata_dir,
        server=target.server,
    )


def shown_as(target: Target, path: str) -> str:
    """Return the path of a target, of its directory or of a file in it, as reached from the argument.

    A path elsewhere, as of remote storage, is shown as it is.
    """
    around = target if target.kind == PARTITION else partition_of(target)
    if path == around.path:
        return around.shown
    if path == target.path:
        return target.shown
    name = os.path.basename(path)
    return os.path.join(around.shown, shown(name)) if path == os.path.join(around.path, name) else shown(path)


def _entries(path: str) -> list[Entry]:
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


def not_a_file(path: str, shown_path: str) -> Note:
    """Return the note about an entry with a file's name that is none; `message` says what it is."""
    return Note("no-file", shown_path, irregular(path) or "not a regular file")


def directory_kind(path: str) -> str | None:
    """Return `partition`, `log-dir`, `remote-segments`, `tiered-storage` or None by what a directory holds.

    By its name only when it holds nothing.
    """
    return _kind(path, _entries(path))


def _kind(path: str, entries: list[Entry]) -> str | None:
    files = [parse_file(entry.name) for entry in entries if not entry.is_directory]
    is_log_dir = any(file.name in LOG_DIR_FILES for file in files)
    if not is_log_dir and holds_remote_segments(path, files):
        return REMOTE_SEGMENTS
    if any(map(is_of_a_partition, files)):
        is_parent = (is_log_dir or not _is_whole(files)) and _holds_partitions(entries, unreadable=False)
        return LOG_DIR if is_parent else PARTITION
    if is_log_dir or _holds_partitions(entries, unreadable=True):
        return LOG_DIR
    if not entries and parse_partition_dir(os.path.basename(os.path.abspath(path))) is not None:
        return PARTITION
    if not files and any(tiered_dirs(entry.path for entry in entries if entry.is_directory)):
        return TIERED_STORAGE
    return None


def is_of_a_partition(file: FileName) -> bool:
    """Whether a file of such a name lies in partition directories alone."""
    return file.scheme == IN_PARTITION or file.kind in PARTITION_KINDS


def _is_whole(files: list[FileName]) -> bool:
    """Whether a directory holds a log and a checkpoint of its own, as a partition does."""
    return {LOG, LEADER_EPOCH_CHECKPOINT} <= {file.kind for file in files}


def _holds_partitions(entries: list[Entry], *, unreadable: bool) -> bool:
    """Whether a directory holds partition directories; with `unreadable` one that cannot be listed counts."""
    return any(
        entry.is_directory
        and parse_partition_dir(entry.name) is not None
        and _is_partition(entry.path, unreadable=unreadable)
        for entry in entries
    )


def _is_partition(path: str, *, unreadable: bool) -> bool:
    try:
        return _kind(path, _entries(path)) == PARTITION
    except FileError:
        return unreadable


def enclosing_log_dir(partition_path: str) -> str | None:
    """Return the log dir around a partition directory: the parent, if it holds a log dir's own files."""
    parent = os.path.dirname(os.path.abspath(partition_path))
    if not has_own_files(parent):
        return None
    directory = os.path.dirname(partition_path)
    return directory if directory and os.path.basename(partition_path) not in {".", ".."} else parent


def _log_dir(path: str, entries: list[Entry], selection: Selection, found: Found) -> None:
    partitions: list[tuple[str, int, str, Target]] = []
    notes: list[Note] = []
    for entry in entries:
        if entry.name in LOG_DIR_FILES and irregular(entry.path) is not None:
            notes.append(not_a_file(entry.path, shown(entry.path)))
            continue
        if entry.error is not None:
            found.failures.append(file_error(shown(entry.path), entry.error))
            continue
        if not entry.is_directory:
            file = parse_file(entry.name)
            if file.scheme is None or is_of_a_partition(file):
                notes.append(Note("unknown", shown(entry.path)))
            continue
        name = parse_partition_dir(entry.name)
        if name is None:
            if entry.name != REMOTE_LOG_INDEX_CACHE:
                notes.append(Note("unknown-directory", shown(entry.path)))
        elif selection.wants(name):
            if name.kind != NORMAL and not selection.include_leftovers:
                notes.append(Note("leftover", shown(entry.path)))
                continue
            target = Target(kind=PARTITION, path=entry.path, shown=shown(entry.path), name=name, log_dir=path)
            partitions.append((name.topic, name.partition, entry.name, target))
    partitions.sort(key=lambda item: item[:3])
    found.targets.extend(item[3] for item in partitions)
    found.notes.extend(sorted(notes))
