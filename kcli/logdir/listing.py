"""What lies in a partition directory: its files, and entries that are not what their names say.

The rules for names that a start changes are `kcli.logdir.leftovers`.
"""

import os
from collections.abc import Collection, Container, Iterable, Iterator

from formats.batch import MAX_LONG
from formats.java_text import LONG_BITS, integer
from formats.names import IN_TIERED_STORAGE, canonical_name, has_no_offset, parse_file
from kcli.logdir.buffers import file_error, shown
from kcli.logdir.find import Note, not_a_file
from kcli.logdir.leftovers import SWAP, leftovers
from kcli.logdir.moving import comes_true
from kcli.logdir.targets import Target


def listed(path: str) -> tuple[list[str], list[str]]:
    """Return the sorted names of a directory's files, and of its other entries.

    Directories, pipes, links that lead nowhere. A broker that loads a log looks at files only
    (`java.io.File.isFile`).
    """
    files: list[str] = []
    others: list[str] = []
    try:
        with os.scandir(path) as listing:
            for entry in listing:
                if _is_file(entry):
                    files.append(entry.name)
                elif os.path.lexists(entry.path):  # else it was removed after it was listed
                    others.append(entry.name)
    except OSError as error:
        raise file_error(path, error) from error
    return sorted(files), sorted(others)


def listed_log(path: str) -> tuple[list[str], list[str]]:
    """Return a partition directory as `listed`.

    One that changed a moment ago and has no segment is listed again. A broker makes the directory first and
    the segment then, and removes them in the other order.
    """
    found = listed(path)
    if any(name.endswith(".log") for name in found[0]):
        return found
    comes_true(path, lambda: any(name.endswith(".log") for name in listed(path)[0]))
    return listed(path)


def unexpected_names(target: Target, files: Collection[str], others: Iterable[str]) -> Iterator[Note]:
    """Yield notes about entries of a partition directory with log-file names that are not read as such."""
    for name in others:
        if parse_file(name).scheme is not None:
            yield not_a_file(os.path.join(target.path, name), os.path.join(target.shown, shown(name)))
    renamed = opened_names(files)
    known = frozenset(renamed.values())
    for name in files:
        if has_no_offset(name) and not (target.name is None and parse_file(name).scheme == IN_TIERED_STORAGE):
            yield Note("no-offset", os.path.join(target.shown, shown(name)))
        elif is_misnamed(renamed.get(name, ""), known):
            yield Note("non-canonical-name", os.path.join(target.shown, shown(name)))


def opened_names(files: Collection[str]) -> dict[str, str]:
    """Return the names of files that a start keeps, and those that it gives them.

    As of `kcli.logdir.leftovers`.
    """
    deleted, swaps = leftovers(files, _offset)
    kept = [name for name in files if name not in deleted]
    return {name: name.removesuffix(SWAP) if name in swaps else name for name in kept}


def _offset(name: str) -> int:
    """Return the offset that a name begins with, the largest where it begins with none.

    No start comes so far.
    """
    offset = integer(name.partition(".")[0], LONG_BITS)
    return MAX_LONG if offset is None else offset


def is_misnamed(name: str, files: Container[str]) -> bool:
    """Return whether a broker takes a file for a log of another name, which is not there.

    It begins that as an empty segment.
    """
    opened = canonical_name(name)
    return opened is not None and opened != name and opened.endswith(".log") and opened not in files


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that cannot be followed
        return False
