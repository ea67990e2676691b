"""From what the user typed to targets: arguments, globs, log dirs, partition dirs, files.

Every entry that is met is classified; what is not read is reported (`Note`), so that nothing
is skipped unseen.
"""

import fnmatch
import glob
import os
import shlex
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from formats.names import (
    LOG_DIR_FILES,
    LOG_DIR_KINDS,
    REMOTE_LOG_INDEX_CACHE,
    UNKNOWN,
    parse_file,
    parse_partition_dir,
)
from kcli.logdir.archives import UNREAD, archive_inputs, archive_of
from kcli.logdir.buffers import FileError, file_error, irregular, shown
from kcli.logdir.classify import (
    LOG_DIR,
    LOST_AND_FOUND,
    REMOTE_SEGMENTS,
    TIERED_STORAGE,
    Entry,
    directory_kind,
    enclosing_log_dir,
    is_of_a_partition,
    kind_of_entries,
    list_entries,
    partition_around,
    tiered_dirs,
)
from kcli.logdir.concurrent_changes import removal
from kcli.logdir.log_dirs import metadata_dirs
from kcli.logdir.targets import ALL_PARTITIONS, NO_SERVER, PARTITION, Selection, Server, Target, shown_as

NO_LOG_DIR = "not-a-log-dir"
MOST_PROPOSALS = 8  # log dirs that are proposed in place of the folder around them


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


@dataclass(slots=True)
class FileSet:
    """What the arguments led to: targets in output order, entries left out, arguments that could not be used.

    `named_log_dirs` are the arguments that are log dirs: their partitions are among the targets.
    `selection`: what was asked for. `begun_empty`: topics of it of which a start begins replicas that have no
    directory here. `unformatted`: paths, as shown, of failures that are empty directories beside log dirs, or
    in log.dirs: volumes that are not mounted, or that a start formats. `paths`: of failures, as shown.
    """

    targets: list[Target] = field(default_factory=list)
    named_log_dirs: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    failures: list[FileError] = field(default_factory=list)
    server: Server = NO_SERVER
    selection: Selection = ALL_PARTITIONS
    begun_empty: frozenset[str] = frozenset()
    unformatted: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)

    @property
    def log_dirs(self) -> list[str]:
        """The log dirs that were named, and those around the targets."""
        enclosing = (target.log_dir for target in self.targets if target.log_dir)
        return [*dict.fromkeys((*self.named_log_dirs, *enclosing))]

    @property
    def given_log_dirs(self) -> list[str]:
        """The log dirs that were named, and arguments beside them that a broker would take for such.

        One that is missing, unreadable or a file of no kind; what cannot be followed in one is none, nor an
        archive. Without a log dir that was named, those around the targets.
        """
        if not self.named_log_dirs:
            return self.log_dirs
        named_paths = {shown(path) for path in self.named_log_dirs}
        failed_paths = [
            self.paths.get(failure.path, failure.path)
            for failure in self.failures
            if os.path.dirname(failure.path) not in named_paths and archive_of(failure.path) is None
        ]
        unknown = [
            target.path
            for target in self.targets
            if target.kind == UNKNOWN and target.name is None and UNREAD.search(target.path) is None
        ]
        return [*self.named_log_dirs, *failed_paths, *unknown]

    def lacking(self, what: str) -> FileError:
        """Return an error which says of the first input that nothing of a kind is here."""
        inputs = (*map(shown, self.named_log_dirs), *(target.shown for target in self.targets), "")
        return FileError(inputs[0], "nothing-to-read", what)

    def miss(self, target: Target, error: FileError) -> None:
        """Keep why a target could not be listed: a note where a broker removed it, else a failure."""
        change = removal(error)
        if change is None:
            self.failures.append(FileError(shown_as(target, error.path), *error.args[1:]))
        else:
            self.notes.append(Note("removed", shown_as(target, change.path), change.message))


def find(arguments: Iterable[str], selection: Selection, server: Server = NO_SERVER) -> FileSet:
    """Return everything that the arguments lead to, in the order of arguments, then topic, then partition."""
    file_set = FileSet(server=server, selection=selection)
    inputs: list[str] = []
    for argument in expand(arguments):
        try:
            members = archive_inputs(argument)
            inputs += [argument] if members is None else members
        except FileError as error:
            file_set.failures.append(error)
    for argument in inputs:
        try:
            _argument(argument, selection, file_set)
        except FileError as error:
            file_set.failures.append(FileError(shown(error.path), *error.args[1:]))
            file_set.paths[shown(error.path)] = error.path
    file_set.unformatted = _unformatted(inputs, file_set)
    metadata_dir_of = _metadata_dirs(file_set.log_dirs, server)
    if metadata_dir_of or server is not NO_SERVER:
        file_set.targets = [
            replace(target, metadata_dir=metadata_dir_of.get(target.log_dir or ""), server=server)
            for target in file_set.targets
        ]
    return file_set


def log_dir_targets(file_set: FileSet) -> list[Target]:
    """Return the log dirs that were named, and what a broker would take for such beside them, as targets."""
    paths = file_set.given_log_dirs if file_set.named_log_dirs else []
    metadata_dir_of, server = _metadata_dirs(paths, file_set.server), file_set.server
    log_dirs = [
        Target(kind=LOG_DIR, path=path, shown=shown(path), name=None, log_dir=path, server=server)
        for path in paths
    ]
    return [replace(log_dir, metadata_dir=metadata_dir_of.get(log_dir.path)) for log_dir in log_dirs]


def _metadata_dirs(log_dirs: Iterable[str], server: Server) -> dict[str, str]:
    return metadata_dirs([*filter(None, (*log_dirs, server.metadata_log_dir))])


def with_unformatted(file_set: FileSet) -> FileSet:
    """Return the same with what is unformatted as log dirs, for who judges the start: no failure there."""
    failures = [failure for failure in file_set.failures if failure.path not in file_set.unformatted]
    log_dirs = [*file_set.named_log_dirs, *file_set.unformatted.values()]
    return replace(file_set, failures=failures, named_log_dirs=log_dirs, unformatted={})


def _unformatted(arguments: Iterable[str], file_set: FileSet) -> dict[str, str]:
    """Return empty directories named beside log dirs, and what server.properties has in log.dirs."""
    is_alone = not (file_set.named_log_dirs or file_set.targets)
    of_server = {shown(path): path for path in file_set.server.log_dirs}
    candidates = {} if is_alone else {shown(path): path for path in arguments if _is_empty(path)}
    candidates |= of_server
    codes = {NO_LOG_DIR, "not-found"} if is_alone else {NO_LOG_DIR}
    failed_paths = (failure.path for failure in file_set.failures if failure.code in codes)
    return {path: candidates[path] for path in failed_paths if path in candidates}


def _is_empty(path: str) -> bool:
    try:
        return not set(os.listdir(path)) - {LOST_AND_FOUND}
    except OSError:
        return False


def _argument(path: str, selection: Selection, file_set: FileSet) -> None:
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:
        message = "a path holds no NUL; a list of paths that end in NUL is read with -0"
        raise FileError(path, "not-found", message) from error
    except OSError as error:
        raise file_error(path, error) from error
    if not stat.S_ISDIR(mode):
        target = file_target(path)
        if selection.wants(target.name):
            file_set.targets.append(target)
        return
    path = path.rstrip("/") or "/"
    entries = list_entries(path)
    kind = kind_of_entries(path, entries)
    if kind in {PARTITION, REMOTE_SEGMENTS}:
        name = partition_around(path)
        if selection.wants(name):
            file_set.targets.append(
                Target(kind=kind, path=path, shown=shown(path), name=name, log_dir=enclosing_log_dir(path))
            )
    elif kind == LOG_DIR:
        file_set.named_log_dirs.append(path)
        _log_dir(path, entries, selection, file_set)
    elif kind == TIERED_STORAGE:
        file_set.targets.extend(_tiered_storage(entries, selection))
    else:
        raise FileError(path, NO_LOG_DIR, _advice(entries))


def _tiered_storage(entries: list[Entry], selection: Selection) -> Iterator[Target]:
    for path, name in tiered_dirs(entry.path for entry in entries if entry.is_directory):
        if selection.wants(name):
            yield Target(kind=REMOTE_SEGMENTS, path=path, shown=shown(path), name=name, log_dir=None)


def _advice(entries: list[Entry]) -> str:
    """Return what was meant instead: all log dirs in a folder, which may be those of one broker."""
    kinds: dict[str, str] = {}
    for path in sorted(entry.path for entry in entries if entry.is_directory):
        with suppress(FileError):
            kinds |= {path: kind} if (kind := directory_kind(path)) is not None else {}
    if proposals := [path for path, kind in kinds.items() if kind == LOG_DIR]:
        proposals += [entry.path for entry in entries if entry.is_directory and _is_empty(entry.path)]
    if proposals := proposals or [*kinds][:1]:
        paths = " ".join(map(shlex.quote, map(shown, sorted(proposals)[:MOST_PROPOSALS])))
        tail = f" and {len(proposals) - MOST_PROPOSALS} more" if len(proposals) > MOST_PROPOSALS else ""
        return f"neither a log dir nor a partition directory; did you mean {paths}{tail}?"
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


def not_a_file(path: str, shown_path: str) -> Note:
    """Return the note about an entry with a file's name that is none; `message` says what it is."""
    return Note("no-file", shown_path, irregular(path) or "not a regular file")


def _log_dir(path: str, entries: list[Entry], selection: Selection, file_set: FileSet) -> None:
    partitions: list[tuple[str, int, str, Target]] = []
    notes: list[Note] = []
    for entry in entries:
        if entry.name in LOG_DIR_FILES and irregular(entry.path) is not None:
            notes.append(not_a_file(entry.path, shown(entry.path)))
            continue
        if entry.error is not None:
            file_set.failures.append(file_error(shown(entry.path), entry.error))
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
        elif selection.takes(name):
            target = Target(kind=PARTITION, path=entry.path, shown=shown(entry.path), name=name, log_dir=path)
            partitions.append((name.topic, name.partition, entry.name, target))
        elif selection.wants(name):
            notes.append(Note("leftover", shown(entry.path)))
    partitions.sort(key=lambda item: item[:3])
    file_set.targets.extend(item[3] for item in partitions)
    file_set.notes.extend(sorted(notes))


def expand(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the paths that arguments stand for, sorted; a glob that matches nothing fails by its name."""
    for argument in arguments:
        if glob.has_magic(argument) and not os.path.lexists(argument):
            yield from sorted(set(_matches(argument))) or [argument]
        else:
            yield argument


def _matches(pattern: str) -> Iterator[str]:
    """Yield what `glob.glob` does, and where it could not look: it would leave that out without a note."""
    parent, name = os.path.split(pattern)
    for directory in _matches(parent) if glob.has_magic(parent) else (parent,):
        try:
            if glob.has_magic(name):
                hidden = name.startswith(".")
                names = (
                    entry for entry in os.listdir(directory or ".") if hidden or not entry.startswith(".")
                )
                yield from (os.path.join(directory, entry) for entry in fnmatch.filter(names, name))
            else:
                path = os.path.join(directory, name)
                os.lstat(path)
                yield path
        except (FileNotFoundError, NotADirectoryError, ValueError):  # of a NUL
            continue
        except OSError:
            yield (directory or ".") if glob.has_magic(name) else os.path.join(directory, name)


def _real_path(target: Target) -> str:
    """Return where a target lies. In a log dir a link is a directory of its own: a broker loads each name."""
    if target.log_dir is None:
        return os.path.realpath(target.path)
    directory, name = os.path.split(os.path.abspath(target.path))
    return os.path.join(os.path.realpath(directory), name)


def each_once(file_set: FileSet, *, files: bool = True) -> FileSet:
    """Return the same with each directory once, however its path is spelt; and each file, with `files`."""
    targets: dict[object, Target] = {}
    for number, target in enumerate(file_set.targets):
        is_kept = not files and target.kind != PARTITION
        targets.setdefault(number if is_kept else _real_path(target), target)
    log_dirs: dict[str, str] = {}
    for path in file_set.named_log_dirs:
        log_dirs.setdefault(os.path.realpath(path), path)
    return replace(file_set, targets=[*targets.values()], named_log_dirs=[*log_dirs.values()])
