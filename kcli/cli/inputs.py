"""The paths that a command line names: as words, on stdin, in a list, in a server.properties."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

from kcli.cli.command import Expand, Inputs, Split
from kcli.cli.parsers import split_list
from kcli.cli.status import MissingError, RefusedError, UsageError, reason_of
from kcli.engine.contract import Unit
from kcli.logdir.archives import HEAD_BYTES, archive_inputs, is_archive, unpack_stream
from kcli.logdir.buffers import FileError
from kcli.logdir.classify import is_of_a_bundle
from kcli.logdir.find import FileSet, find
from kcli.logdir.log_dirs import version_of
from kcli.logdir.targets import PARTITION, Selection
from kcli.output.suggest import did_you_mean
from kcli.rows import Failure

if TYPE_CHECKING:
    from kcli.kafka.kraft.meta_properties import BrokerConfig

LIST_LIMIT = 256 * 1024 * 1024
"""Bytes of a list of paths, or of a server.properties."""

LARGEST_COLLECTED = 1 << 30
"""Bytes of files whose rows may pass from Spark's workers through the driver to stdout."""


def named_paths(inputs: Inputs) -> Iterator[str]:
    """Yield every path that was named, wherever it was named; UsageError if none was."""
    nothing = True
    for path in _listed(inputs):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) and not os.path.lexists(path):
            raise UsageError(
                f"{path}: kcli reads files, not URLs; mount or copy them to where every worker sees them"
            )
        nothing = False
        yield path
    if nothing:
        empty = ["-: stdin names no PATH"] if "-" in (inputs.paths or ()) else []
        if inputs.files_from is not None:
            name = inputs.files_from
            empty.append(f"--files-from {name}: {'stdin' if name == '-' else 'the file'} names no PATH")
        message = "expected at least one PATH, or --files-from, or --server-config"
        raise UsageError("; ".join(empty) or message)


def comparing(
    grouped: Callable[[Sequence[Unit]], list[Unit]],
    opened: Callable[[FileSet], FileSet] = lambda file_set: file_set,
    expected: str = "two replicas of a partition at least: log dirs or partition dirs",
) -> tuple[Expand, Split]:
    """Return `expand` and `split` of a command that compares; UsageError where one replica is alone."""
    unreadable: list[FileError] = []

    def expand(file_set: FileSet) -> FileSet:
        result = opened(file_set)
        unreadable.extend(result.failures)
        return result

    def split(units: list[Unit]) -> list[Unit]:
        groups = grouped(units)
        if groups and not unreadable and all(len(unit.targets) == 1 for unit in groups):
            raise UsageError(f"expected {expected}")
        return groups

    return expand, split


def with_members(paths: Iterable[str]) -> list[str]:
    """Return paths, of archives what is in them; MissingError for one that is not read."""
    try:
        return [member for path in dict.fromkeys(paths) for member in archive_inputs(path) or [path]]
    except FileError as error:
        raise MissingError(str(error)) from error


def _listed(inputs: Inputs) -> Iterator[str]:
    for path in inputs.paths or ():
        if path != "-":
            yield path
            continue
        with _stdin("-") as stream:  # it lists paths, or has an archive
            head = stream.read(HEAD_BYTES)
            paths = [unpack_stream(head, stream)] if is_archive(head) else None
            yield from paths or _split(_bounded(stream, "-", head), inputs)
    if inputs.files_from is not None:
        yield from _split(_file("--files-from", inputs.files_from), inputs)
    if inputs.server_config is not None and not _is_path_given(inputs):
        yield from _log_dirs(inputs.server_config)


def _is_path_given(inputs: Inputs) -> bool:
    """Whether PATHs are named: then server.properties has settings, and its log dirs may be elsewhere."""
    return bool(inputs.paths) or inputs.files_from is not None


def _split(data: bytes, inputs: Inputs) -> list[str]:
    """Return the paths in a list: every byte of a name counts, but for the end of its line."""
    lines = data.split(b"\0") if inputs.nul else [line.removesuffix(b"\r") for line in data.split(b"\n")]
    return [os.fsdecode(line) for line in lines if line]


@contextmanager
def _stdin(source: str) -> Iterator[BinaryIO]:
    if sys.stdin is None:
        raise UsageError(f"{source}: stdin is closed")
    try:
        yield sys.stdin.buffer
    except OSError as error:
        raise UsageError(f"{source}: stdin: {reason_of(error)}") from error


def _file(option: str, path: str) -> bytes:
    """Return the bytes of a file of words, which may be a pipe: it is no file of a broker."""
    if (option, path) == ("--files-from", "-"):
        with _stdin("--files-from -") as stream:
            return _bounded(stream, "--files-from -")
    try:
        with open(path, "rb") as file:
            return _bounded(file, f"{option} {path}")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"{option} {path}: {(reason or str(error)).lower()}") from error


def _bounded(file: BinaryIO, source: str, head: bytes = b"") -> bytes:
    """Return what a file has after a head that was read, behind that head."""
    data = head + file.read(LIST_LIMIT + 1)
    if len(data) > LIST_LIMIT:
        raise UsageError(f"{source}: more than {LIST_LIMIT} bytes")
    return data


def _log_dirs(path: str) -> tuple[str, ...]:
    """Return the log dirs that a server.properties names, as the broker reads it."""
    from formats.properties import log_dirs

    names = log_dirs(properties_of("--server-config", path)).log_dirs
    if not names:
        raise UsageError(f"--server-config {path}: its log.dirs is empty; a broker does not start with that")
    return names


def find_listed(listed: Iterable[str], selection: Selection, inputs: Inputs) -> FileSet:
    """Return what paths lead to, with what --server-config says of their broker."""
    properties = server_properties(inputs)
    if properties is None:
        return find(listed, selection)
    from kcli.kafka.kraft.log_settings import server_of

    return find(listed, selection, server_of(properties))


def broker_of(inputs: Inputs) -> tuple["BrokerConfig", list[str]]:
    """Return the broker that --server-config describes, if it is given; then the log dirs to read with it.

    Those that it names, and its metadata log dir, which may be apart. Beside PATHs none: the metadata log dir
    is that of the file if it is one of them.
    """
    from kcli.kafka.kraft.meta_properties import BrokerConfig
    from kcli.kafka.kraft.quorum import quorum_config

    properties = server_properties(inputs)
    if properties is None:
        return BrokerConfig(), []
    from formats.properties import log_dirs

    text = properties.get("node.id", properties.get("broker.id", ""))
    node_id = int(text) if re.fullmatch(r"[0-9]{1,9}", text.strip()) else None
    metadata_log_dir, own = log_dirs(properties).metadata_log_dir.rstrip("/"), []
    if _is_path_given(inputs):
        paths = {os.path.realpath(path) for path in inputs.paths or ()}
        metadata_log_dir = metadata_log_dir if os.path.realpath(metadata_log_dir) in paths else ""
    else:
        own = [*_log_dirs(str(inputs.server_config))]
        if metadata_log_dir and metadata_log_dir not in {name.rstrip("/") for name in own}:
            own.insert(0, metadata_log_dir)
    quorum = quorum_config(properties)
    config = BrokerConfig(
        node_id=node_id,
        metadata_log_dir=metadata_log_dir or None,
        quorum=quorum,
        properties=properties,
        path=str(inputs.server_config),
    )
    return config, own


def server_properties(inputs: Inputs) -> dict[str, str] | None:
    """Return what the file of --server-config says; None without it."""
    path = inputs.server_config
    return None if path is None else properties_of("--server-config", path)


def properties_of(option: str, path: str) -> dict[str, str]:
    """Return the properties in a file, read again when it has changed; UsageError where it cannot be read."""
    return _properties_of(option, path, version_of(path))


@lru_cache(maxsize=8)
def _properties_of(option: str, path: str, _version: object) -> dict[str, str]:
    from formats.errors import FormatError
    from formats.properties import read_properties

    try:
        return read_properties(_file(option, path))
    except FormatError as error:
        raise UsageError(f"{option} {path}: {error}") from error


def refuse_bundles(file_set: FileSet) -> None:
    """Refuse what `kcli bundle` wrote, of a command that needs keys or values."""
    path = next((target.shown for target in file_set.targets if is_of_a_bundle(target.path)), None)
    if path is not None:
        raise UsageError(f"{path}: this is of a bundle, in which keys and values are zeros; ask the log dirs")


def refuse_too_much(units: Iterable[Unit]) -> None:
    """Refuse to collect the rows of more than LARGEST_COLLECTED bytes of files in this process."""
    size = sum(map(size_of, units))
    if size > LARGEST_COLLECTED:
        raise RefusedError(
            f"{size / (1 << 30):.1f} GiB to dump, and with --spark every row would pass through this one "
            "process; "
            "have the workers write: --out DIR.parquet (.csv, .ndjson); or use --jobs, or select (--offsets, "
            "--limit, ...)"
        )


def size_of(unit: Unit) -> int:
    """Return the bytes of a unit's files, or of its range of one; 0 for a directory."""
    try:
        size = sum(os.stat(target.path).st_size for target in unit.targets if target.kind != PARTITION)
    except OSError:
        return 0
    return max(0, (unit.end or size) - unit.start)


def nothing_matched(file_set: FileSet) -> str:
    """Return why there is nothing to answer."""
    leftovers = sum(note.kind == "leftover" for note in file_set.notes)
    hint = (
        f"; {leftovers} -delete, -stray or -future left out; --include-leftovers reads them"
        if leftovers
        else ""
    )
    return f"no partition or file here matches what was asked for{hint}"


def other_topics(inputs: Inputs) -> str:
    """Return a suggestion where --topic names none of the topics that are here."""
    if not inputs.topic or not inputs.paths or "-" in inputs.paths:
        return ""
    targets = find(inputs.paths, inputs._replace(topic=None, topic_regex=None).selection()).targets
    return advice(inputs, {target.name.topic for target in targets if target.name is not None})


def topics_not_found(file_set: FileSet, inputs: Inputs) -> Iterator[Failure]:
    """Yield a failure for each topic that was named beside others, and has nothing here."""
    topics = {
        target.name.topic for target in file_set.targets if target.name is not None
    } | file_set.begun_empty
    for name in split_list(inputs.topic):
        if any(fnmatchcase(topic, name) for topic in topics):
            continue
        suggestion = other_topics(inputs._replace(topic=[name]))
        message = f"--topic {name}: no partition or file here is of this topic{suggestion}"
        yield Failure("", "nothing-matched", None, None, message)


def advice(inputs: Inputs, names: Iterable[str]) -> str:
    """Return which of the known topics --topic may mean."""
    topics = sorted(set(names))
    missing = [name for name in split_list(inputs.topic) if name not in topics]
    suggestions = " ".join(filter(None, (did_you_mean(name, topics).rstrip() for name in missing)))
    return f"; {suggestions}" if suggestions else ""
