"""What remote storage holds: the files below a directory, or the objects that a listing names."""

import os
import re
from collections.abc import Iterator

from kcli.logdir.buffers import FileError, file_error, read_whole

LONGEST_LISTING = 1 << 28
"""Bytes of a listing: some millions of objects."""
SIZE_LAST = re.compile(r"(.*\S)\s+([0-9]{1,18})")
FIND_LS = re.compile(r"\d+\s+\d+\s+-[rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\d{1,18})\s+(?:\S+\s+){3}(\S.*)")
"""A file by `find -ls`: inode and blocks before, three words of a date after the size."""
NO_OBJECT = re.compile(r"TOTAL: .*|\d+\s+\d+\s+d[rwxsStT-]{9}.*")
"""The last line of `gsutil ls -l`, and a directory by `find -ls`."""
SIZE_FIRST = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+Z?\s+)?([0-9]{1,18})\s+(\S.*)")


def stored_objects(path: str) -> Iterator[tuple[str, int]]:
    """Yield names and sizes in bytes of the files below a directory, or of the objects that a file lists.

    A line has a name and a size, in either order. A date before them, as of `aws s3 ls --recursive`, is
    passed over, and so are empty lines. FileError for any other line, and for what cannot be read.
    """
    if not os.path.isdir(path):
        yield from _listed(path)
        return

    def refuse(error: OSError) -> None:
        raise file_error(os.fsdecode(error.filename or path), error) from error

    for directory, _, names in os.walk(path, onerror=refuse):
        for name in sorted(names):
            inside = os.path.join(directory, name)
            try:
                yield inside, os.lstat(inside).st_size
            except FileNotFoundError:
                continue  # a running broker deleted it
            except OSError as error:
                refuse(error)


def _listed(path: str) -> Iterator[tuple[str, int]]:
    position = 0
    for number, raw in enumerate(read_whole(path, LONGEST_LISTING).split(b"\n"), 1):
        line = raw.decode("utf-8", "surrogateescape").strip()
        first = FIND_LS.fullmatch(line) or SIZE_FIRST.fullmatch(line)
        last = SIZE_LAST.fullmatch(line)
        if NO_OBJECT.fullmatch(line):
            line, first, last = "", None, None
        if first is not None:
            yield first[2], int(first[1])
        elif last is not None:
            yield last[1], int(last[2])
        elif line:
            message = f"line {number}: expected the name and the size of an object, found {line[:80]!r}"
            raise FileError(path, "corrupt", message, position, "object")
        position += len(raw) + 1
