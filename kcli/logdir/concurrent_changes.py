"""What a running broker does to files while they are read: it removes, renames, replaces, cuts, extends them.

Retention and compaction rename the files of a segment to `.deleted` and remove them later
(LocalLog.deleteSegmentFiles). A topic's deletion and a move to another log dir rename the directory
(LogManager.asyncDelete, replaceCurrentWithFutureLog). A roll cuts an index at its last entry
(AbstractIndex.trimToValidSize). None of it is damage. This module says what of it happened. A path that was
never there is none of it.
"""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from kcli.logdir.buffers import FileError

REMOVED = "not-found"
SHRANK = "changed"
"""Codes of the FileErrors that a running broker can cause."""

CHANGED_FILE_SUFFIXES = (".deleted", ".cleaned", ".swap", ".tmp", ".part")
CHANGED_DIRECTORY_SUFFIXES = ("-delete", "-future", "-stray")

CLOCK_MS = 20  # how far the time of a change may lie before the time of day: files have a coarser clock
SETTLING_MS = 300  # so long after the last change of a directory a broker is done with what it began there
STEP, LONGEST_WAIT = 0.01, 3
"""Seconds between two looks at a directory, and of all looks at one that never settles."""


class Removal(NamedTuple):
    """A file or directory that was listed and is gone: its path, and its name now (None: not known)."""

    path: str
    new_name: str | None

    @property
    def message(self) -> str:
        """What happened to it, in words."""
        if self.new_name is None:
            return "removed after it was listed"
        if self.new_name == os.path.basename(self.path):
            return "replaced while it was read"
        return f"renamed to {self.new_name} after it was listed"


def removal(error: FileError) -> Removal | None:
    """Return what a broker removed of a listed path; None for other errors, or a disk that may be gone."""
    if error.code != REMOVED or os.path.islink(error.path):
        return None
    directory, name = os.path.split(error.path)
    names = _names(directory or ".")
    if names:
        return Removal(error.path, _new_name(name, names))
    parent, name = os.path.split(directory or ".")
    names = _names(parent or ".")
    if name in names:  # emptied, and about to be removed
        return Removal(error.path, None)
    return Removal(directory, _new_name(name, names)) if names else None


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _new_name(name: str, names: list[str]) -> str | None:
    """Return the name that a file or directory has now, its own if it was replaced; None for unknown."""
    stem = name
    while stem.endswith(CHANGED_FILE_SUFFIXES):
        stem = stem.rpartition(".")[0]
    for candidate in (name, f"{name}.deleted", *(stem + suffix for suffix in ("", *CHANGED_FILE_SUFFIXES))):
        if candidate in names:
            return candidate
    renamed = [
        entry
        for entry in names
        if entry.startswith(f"{name}.") and entry.endswith(CHANGED_DIRECTORY_SUFFIXES)
    ]
    return renamed[0] if len(renamed) == 1 else None


def changed_since(directory: str, since_ns: int) -> bool:
    """Whether a directory changed since a time (ns): an entry came, went, or was written, or it is gone."""
    try:
        changes = [os.stat(directory).st_ctime_ns]
        with os.scandir(directory) as listing:
            for entry in listing:
                try:
                    changes.append(entry.stat(follow_symlinks=False).st_ctime_ns)
                except FileNotFoundError:
                    return True
    except OSError:
        return True
    return max(changes) >= since_ns - CLOCK_MS * 1_000_000


def comes_true(path: str, holds: Callable[[], bool]) -> bool:
    """Return whether something holds, as soon as it does.

    Asked again while a file or directory changed a moment ago, for LONGEST_WAIT at most. A broker makes a
    directory before its segment, makes a file before it writes it, and renames or removes the files of a
    segment in turn.
    """
    end = time.monotonic() + LONGEST_WAIT
    while not holds():
        try:
            age_ns = time.time_ns() - os.stat(path).st_ctime_ns
        except OSError:
            return holds()
        if abs(age_ns) > SETTLING_MS * 1_000_000 or time.monotonic() > end:
            return False
        time.sleep(STEP)
    return True
