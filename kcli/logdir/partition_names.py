"""The names of the files in a partition directory: what a start keeps, renames and deletes by them.

The truth is `LogLoader.removeTempFilesAndCollectSwapFiles`: `.deleted` and `.cleaned` files go, and so do
`.swap` files from the offset of the first `.cleaned` file on; the other `.swap` files lose their suffix. What
a swap replaces goes too, but that depends on what is in it.
"""

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from formats.batch import MAX_LONG
from formats.java_text import LONG_BITS, integer
from formats.names import (
    IN_PARTITION,
    IN_TIERED_STORAGE,
    LOG,
    FileName,
    canonical_name,
    has_no_offset,
    parse_file,
)
from kcli.logdir.buffers import FileError, file_error, shown
from kcli.logdir.concurrent_changes import comes_true
from kcli.logdir.find import Note, not_a_file
from kcli.logdir.targets import Target

DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"
KRAFT_SNAPSHOT_DELETED = ".checkpoint.deleted"


def listed(path: str) -> tuple[list[str], list[str]]:
    """Return the sorted names of a directory's files (`File.isFile`), and of its other entries."""
    files: list[str] = []
    non_files: list[str] = []
    try:
        with os.scandir(path) as listing:
            for entry in listing:
                if _is_file(entry):
                    files.append(entry.name)
                elif os.path.lexists(entry.path):  # else it was removed after it was listed
                    non_files.append(entry.name)
    except OSError as error:
        raise file_error(path, error) from error
    return sorted(files), sorted(non_files)


def listed_log(path: str) -> tuple[list[str], list[str]]:
    """Return a partition directory as `listed`, again while a broker makes or removes its segment."""
    names = listed(path)
    if any(name.endswith(".log") for name in names[0]):
        return names
    comes_true(path, lambda: any(name.endswith(".log") for name in listed(path)[0]))
    return listed(path)


def unexpected_names(target: Target, files: Collection[str], non_files: Iterable[str]) -> Iterator[Note]:
    """Yield notes about entries of a partition directory with log-file names that are not read as such."""
    for name in non_files:
        if parse_file(name).scheme is not None:
            yield not_a_file(os.path.join(target.path, name), os.path.join(target.shown, shown(name)))
    renamed = opened_names(files)
    expected = frozenset(renamed.values())
    for name in files:
        if name.startswith(SILLY_RENAME):
            yield Note("nfs", os.path.join(target.shown, shown(name)))
        elif has_no_offset(name) and not (
            target.name is None and parse_file(name).scheme == IN_TIERED_STORAGE
        ):
            yield Note("no-offset", os.path.join(target.shown, shown(name)))
        elif is_misnamed(renamed.get(name, ""), expected):
            yield Note("non-canonical-name", os.path.join(target.shown, shown(name)))


def opened_names(files: Collection[str]) -> dict[str, str]:
    """Return the names of files that a start keeps, and those that it gives them; see `leftovers`."""
    deleted, swaps = leftovers(files, _offset)
    surviving_files = [name for name in files if name not in deleted]
    return {name: name.removesuffix(SWAP) if name in swaps else name for name in surviving_files}


def _offset(name: str) -> int:
    """Return the offset that a name begins with; one that no start comes to where it has none."""
    offset = integer(name.partition(".")[0], LONG_BITS)
    return MAX_LONG if offset is None else offset


def is_misnamed(name: str, files: Container[str]) -> bool:
    """Return whether a broker begins an empty log for a file, whose canonical name is not there."""
    opened = canonical_name(name)
    return opened is not None and opened != name and opened.endswith(".log") and opened not in files


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that cannot be followed
        return False


SILLY_RENAME = ".nfs"  # what an NFS client names a file that is deleted while a process has it open


class Leftovers(NamedTuple):
    """Names of files: those that a start deletes, and the swaps that it finishes, in the given order."""

    deleted: tuple[str, ...]
    swaps: tuple[str, ...]


def leftovers(names: Collection[str], offset_of: Callable[[str], int]) -> Leftovers:
    """Return the leftovers among the files of a directory; `offset_of`: what gives a name's offset."""
    deleted = [name for name in names if name.endswith(DELETED) and not name.endswith(KRAFT_SNAPSHOT_DELETED)]
    cleaned = [name for name in names if name.endswith(CLEANED)]
    swaps = [name for name in names if name.endswith(SWAP)]
    first_cleaned = min((offset_of(name) for name in cleaned), default=MAX_LONG)
    invalid = [name for name in swaps if offset_of(name) >= first_cleaned]
    return Leftovers((*deleted, *cleaned, *invalid), tuple(name for name in swaps if name not in invalid))


def file_name(target: Target) -> FileName:
    """Return what the name of a target's file says."""
    return parse_file(os.path.basename(target.path))


def segment_base(target: Target) -> int | None:
    """Return the base offset of a segment of a log, or of a .swap that becomes one; None for others."""
    name = parse_file(os.path.basename(target.path).removesuffix(SWAP))
    is_segment = (name.kind, name.scheme, name.is_inactive) == (LOG, IN_PARTITION, False)
    return name.base_offset if is_segment else None


def first_base(names: Iterable[str], *suffixes: str) -> int:
    """Return the base offset of the first segment that a start finds, or logs with suffixes; 0 for none."""
    logs = (log for log in map(parse_file, names) if log.kind == LOG and log.suffix in ("", SWAP, *suffixes))
    return min((log.base_offset for log in logs if log.base_offset is not None), default=0)


def sibling(target: Target, extension: str) -> str | None:
    """Return the path of another file of the same segment, with the same suffix; None if there is none."""
    directory, name = os.path.split(target.path)
    stem, _, ending = name.partition(".")
    suffix = ending.partition(".")[2]
    path = os.path.join(directory, f"{stem}.{extension}" + (f".{suffix}" if suffix else ""))
    return path if os.path.lexists(path) else None


def is_swap(target: Target) -> bool:
    """Whether a file waits to take the place of others."""
    return target.path.endswith(SWAP)


def index_file(log: Target, extension: str) -> Target:
    """Return the file of a segment that a start takes for its index: a .swap replaces another."""
    path, shown = (path.removesuffix(SWAP).removesuffix("log") + extension for path in (log.path, log.shown))
    suffix = SWAP if is_swap(log) or _is_replaced(path) else ""
    return replace(log, kind=extension, path=path + suffix, shown=shown + suffix)


def _is_replaced(path: str) -> bool:
    """Whether a start gives the name of a file to its .swap."""
    if not os.path.lexists(path + SWAP):
        return False
    directory, name = os.path.split(path + SWAP)
    with suppress(FileError):
        return name in opened_names(listed(directory or ".")[0])
    return False  # the directory has been removed since
