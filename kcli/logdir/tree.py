"""From what the user typed to what will be read: arguments, globs, log dirs, partition dirs, files.

Every entry that is met is classified; what is not read is told (`Note`), so
that nothing is skipped unseen. The grammar of names is `formats.names`.
"""

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from formats.names import PartitionDir, parse_file, parse_partition_dir
from kcli.logdir.buffers import FileError, file_error

PARTITION = "partition"
LOG_DIR = "log-dir"

PARTITION_FILE_KINDS = frozenset({"log", "index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint", "partition.metadata", "quorum-state"})
LOG_DIR_FILE_KINDS = frozenset({
    "meta.properties", "lock", "clean-shutdown", "recovery-point-offset-checkpoint", "replication-offset-checkpoint",
    "log-start-offset-checkpoint", "cleaner-offset-checkpoint", "bootstrap-checkpoint", "committed-offsets",
})
KNOWN_DIRECTORIES = frozenset({"remote-log-index-cache"})
INTERNAL_TOPICS = re.compile(r"__.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing to read: a partition directory, or a file.

    `path` opens it, `shown` is how it was reached from the argument (for people and rows). `kind` is `partition`
    or the file's kind in `formats.names`. `name` is the partition directory's parsed name, None where it has none
    (a file outside a partition directory, a directory of another name). `log_dir` is the log dir around it, None
    when there is none.
    """

    kind: str
    path: str
    shown: str
    name: PartitionDir | None
    log_dir: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which partitions are wanted; empty fields select everything."""

    topics: tuple[str, ...] = ()
    topic_regexes: tuple[str, ...] = ()
    partitions: frozenset[int] = frozenset()
    exclude_internal: bool = False
    include_leftovers: bool = False

    def wants(self, name: PartitionDir | None) -> bool:
        """Whether a partition of this name is wanted; an unparseable name passes only an empty selection."""
        if name is None:
            return not (self.topics or self.topic_regexes or self.partitions)
        if (self.topics or self.topic_regexes) and not (
            name.topic in self.topics or any(re.fullmatch(regex, name.topic) for regex in self.topic_regexes)
        ):
            return False
        if self.partitions and name.partition not in self.partitions:
            return False
        return not (self.exclude_internal and INTERNAL_TOPICS.fullmatch(name.topic))


class Note(NamedTuple):
    """An entry that was met and not read: `unknown` to Kafka, or a `leftover` directory."""

    kind: str
    path: str


@dataclass(slots=True)
class Found:
    """What the arguments led to: targets in output order, entries left out, arguments that could not be used."""

    targets: list[Target] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    failures: list[FileError] = field(default_factory=list)


def shown(path: str) -> str:
    """Return a path as text: bytes that are not UTF-8 are percent-encoded (and then `%` is, too)."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(path)
        text = raw.replace(b"%", b"%25").decode("utf-8", "surrogateescape")
        return "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)
    return path


def expand(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the paths that arguments stand for: themselves, or what a glob matches, sorted.

    A pattern that matches nothing stays as it is, so that it fails by name.
    """
    for argument in arguments:
        if glob.has_magic(argument) and not os.path.lexists(argument):
            yield from sorted(glob.glob(argument)) or [argument]
        else:
            yield argument


def find(arguments: Iterable[str], selection: Selection) -> Found:
    """Return everything that the arguments lead to, in the order of arguments, then topic, then partition."""
    found = Found()
    for argument in expand(arguments):
        try:
            _argument(argument, selection, found)
        except FileError as error:
            found.failures.append(FileError(shown(error.path), *error.args[1:]))
    return found


def _argument(path: str, selection: Selection, found: Found) -> None:
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:  # an embedded NUL byte
        raise FileError(path, "not-found", str(error)) from error
    except OSError as error:
        raise file_error(path, error) from error
    if not stat.S_ISDIR(mode):
        found.targets.append(file_target(path))
        return
    path = path.rstrip("/") or "/"
    kind = directory_kind(path)
    if kind == PARTITION:
        name = parse_partition_dir(os.path.basename(os.path.abspath(path)))
        if selection.wants(name):
            found.targets.append(Target(kind=PARTITION, path=path, shown=shown(path), name=name, log_dir=enclosing_log_dir(path)))
    elif kind == LOG_DIR:
        _log_dir(path, selection, found)
    else:
        raise FileError(path, "not-a-log-dir", _advice(path))


def _advice(path: str) -> str:
    inside = sorted(entry.path for entry in os.scandir(path) if entry.is_dir() and directory_kind(entry.path) is not None)
    if inside:
        return f"neither a log dir nor a partition directory; did you mean {shown(inside[0])}?"
    return "neither a log dir nor a partition directory: no partition, segment or checkpoint in it"


def file_target(path: str, log_dir: str | None = None) -> Target:
    """Return the target of a single file; the partition's name comes from the directory around it."""
    around = os.path.dirname(os.path.abspath(path))
    return Target(
        kind=parse_file(os.path.basename(path)).kind,
        path=path,
        shown=shown(path),
        name=parse_partition_dir(os.path.basename(around)),
        log_dir=log_dir or enclosing_log_dir(around),
    )


def directory_kind(path: str) -> str | None:
    """Return `partition`, `log-dir` or None by what a directory holds; by its name only when it holds nothing."""
    try:
        entries = list(os.scandir(path))
    except OSError as error:
        raise file_error(path, error) from error
    kinds = {parse_file(entry.name).kind for entry in entries if not entry.is_dir()}
    if kinds & PARTITION_FILE_KINDS:
        return PARTITION
    if kinds & LOG_DIR_FILE_KINDS or any(parse_partition_dir(entry.name) is not None and entry.is_dir() for entry in entries):
        return LOG_DIR
    if not entries and parse_partition_dir(os.path.basename(os.path.abspath(path))) is not None:
        return PARTITION
    return None


def enclosing_log_dir(partition_path: str) -> str | None:
    """Return the log dir around a partition directory: the parent, if it holds a log dir's own files."""
    parent = os.path.dirname(os.path.abspath(partition_path))
    try:
        names = os.listdir(parent)
    except OSError:
        return None
    if any(parse_file(name).kind in LOG_DIR_FILE_KINDS for name in names):
        return os.path.dirname(partition_path) or "."
    return None


def _log_dir(path: str, selection: Selection, found: Found) -> None:
    try:
        entries = list(os.scandir(path))
    except OSError as error:
        raise file_error(path, error) from error
    partitions: list[tuple[str, int, str, Target]] = []
    for entry in entries:
        try:
            is_directory = entry.is_dir()
        except OSError as error:
            found.failures.append(file_error(shown(entry.path), error))
            continue
        if not is_directory:
            if parse_file(entry.name).kind == "unknown":
                found.notes.append(Note("unknown", shown(entry.path)))
            continue
        name = parse_partition_dir(entry.name)
        if name is None:
            if entry.name not in KNOWN_DIRECTORIES:
                found.notes.append(Note("unknown", shown(entry.path)))
        elif selection.wants(name):
            if name.kind != "normal" and not selection.include_leftovers:
                found.notes.append(Note("leftover", shown(entry.path)))
                continue
            target = Target(kind=PARTITION, path=entry.path, shown=shown(entry.path), name=name, log_dir=path)
            partitions.append((name.topic, name.partition, entry.name, target))
    partitions.sort(key=lambda item: item[:3])
    found.targets.extend(item[3] for item in partitions)
    found.notes.sort()
