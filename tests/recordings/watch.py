"""Notices every change below a folder: audit events as it happens, and the tree afterwards."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OF_ONE = (
    *("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime", "os.setxattr"),
    *("os.removexattr", "shutil.rmtree", "shutil.chown"),
)
OF_TWO = ("os.rename", "os.link", "os.symlink", "shutil.move")
CHANGES = {**dict.fromkeys(OF_ONE, 1), **dict.fromkeys(OF_TWO, 2)}
"""Audit events that change a file, with how many of their first arguments are paths."""

_watched: list[tuple[str, list[str]]] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched:
        return
    if event == "open":
        path, mode, flags = arguments
        writes = (
            any(letter in mode for letter in "wax+")
            if isinstance(mode, str)
            else bool(isinstance(flags, int) and flags & WRITING)
        )
        paths = (path,) if writes else ()
    else:
        paths = arguments[: CHANGES.get(event, 0)]
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike):
            place = os.path.abspath(os.fsdecode(path))
            for root, seen in _watched:
                if place == root or place.startswith(root + os.sep):
                    seen.append(f"{event} {place}")


sys.addaudithook(
    _hook
)  # for good: Python cannot take an audit hook back, so it looks only while something is watched


@contextmanager
def watching(root: Path) -> Iterator[list[str]]:
    """Collect what this process opens for writing, renames, removes ... below `root`."""
    entry = (str(root.resolve()), [])
    _watched.append(entry)
    try:
        yield entry[1]
    finally:
        _watched.remove(entry)


def tree(root: Path) -> dict[str, tuple[object, ...]]:
    """Return every entry below `root` with mode, modification and change time in ns, size and SHA-256."""
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(root))] = (
            status.st_mode,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_size,
            digest,
        )
    return found
