"""The only place that opens files of a log dir: read-only, by position, never mapped.

A mapped file would kill the process when a live broker truncates it (SIGBUS), so everything goes through
`pread`. The size is taken when a file is opened; a file that became shorter since is an error that says so,
one that grew is a fact that callers can ask for (`DataFile.grown`).
"""

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import NamedTuple, Self, TypeVar

from formats.errors import FormatError, LimitError, TruncatedError

T = TypeVar("T")

WHOLE_FILE_LIMIT = 64 * 1024 * 1024
"""Small files (checkpoints, snapshots, properties) are read whole up to this many bytes."""

NO_PERMISSION = "no-permission"
OS_ERRORS = {
    errno.ENOENT: "not-found",
    errno.EACCES: NO_PERMISSION,
    errno.EPERM: NO_PERMISSION,
    errno.EISDIR: "is-a-directory",
    errno.ENOTDIR: "not-a-directory",
    errno.ELOOP: "symlink-loop",
    errno.ENAMETOOLONG: "name-too-long",
    errno.EMFILE: "too-many-open-files",
}


UNPACKED, FILES, NAME_FILE = "kcli-unpacked-", "files", "name"
"""What the directory of an unpacked archive begins with, and what is in it: its files, how it was named."""
_OF_UNPACKED = re.compile(rf"(.*/{UNPACKED}[^/]+)/{FILES}(?=/|$)")
ENCRYPTED, NO_MANIFEST = "encrypted", "no-manifest"
CANNOT_READ = frozenset({*OS_ERRORS.values(), "not-a-file", "changed", "read-failed", ENCRYPTED, NO_MANIFEST})
"""Codes of a FileError that say nothing about the bytes: they were not to be had."""


IRREGULAR = frozenset({"is-a-directory", "not-a-file", "symlink-loop"})
"""Codes of a FileError for what is no regular file."""

NOT_REGULAR = "{}, not a regular file"
LOOP = "a symbolic link that leads to itself"
_FILE_TYPES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
}


class FileError(Exception):
    """A file could not be read, or its bytes are not what its format says.

    `code` is stable: the FormatError's code, or one of CANNOT_READ: `encrypted` and `no-manifest` are of
    objects in remote storage. `position` (bytes) and `field` are None where no byte is to blame.
    """

    def __init__(
        self, path: str, code: str, message: str, position: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(path, code, message, position, field)
        self.path = path
        self.code = code
        self.message = message
        self.position = position
        self.field = field

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def file_error(path: str, error: FormatError | OSError) -> FileError:
    """Return the FileError that says which file a lower error came from, and what a crash left of it."""
    if isinstance(error, FormatError):
        message = after_a_crash(path, str(error), error)
        return FileError(path, error.code, message, error.position, error.field)
    code = OS_ERRORS.get(error.errno or 0, "read-failed")
    message = LOOP if error.errno == errno.ELOOP else (error.strerror or str(error)).lower()
    return FileError(path, code, message)


def after_a_crash(path: str, message: str, error: FormatError | None = None) -> str:
    """Return what is wrong with a small file, after what a full disk or a power cut left of it."""
    from formats.checkpoint import lacks_lines
    from formats.java_text import CUT_SHORT, LAST_BYTES, left_by_a_crash

    name = os.path.basename(path)
    if name not in LAST_BYTES and not name.endswith((".checkpoint", ".snapshot")):
        return message
    damage = None
    with suppress(FileError), DataFile(path) as file:
        damage = left_by_a_crash(name, file.read(0, min(file.size, WHOLE_FILE_LIMIT)))
    is_cut = isinstance(error, TruncatedError) or (error is not None and lacks_lines(error))
    damage = CUT_SHORT if damage is None and is_cut else damage
    return message if damage is None else f"{damage}; {message}"


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn the errors of decoding or reading `path` into FileErrors that name it."""
    try:
        yield
    except (FormatError, OSError) as error:
        raise file_error(path, error) from error


def irregular(path: str) -> str | None:
    """Return in words what an entry is that is not a regular file; None for a file, and for nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if not os.path.islink(path):
            return None
        noun = LOOP if error.errno == errno.ELOOP else "a symbolic link that leads nowhere"
        return NOT_REGULAR.format(noun)
    return None if stat.S_ISREG(mode) else _not_regular(mode)


def _not_regular(mode: int) -> str:
    return NOT_REGULAR.format(_FILE_TYPES[stat.S_IFMT(mode)])


def shown(path: str) -> str:
    """Return a path as text, bytes that are not UTF-8 percent-encoded; one unpacked by its archive's name."""
    path = in_archive(path)
    try:
        path.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(path)
        text = raw.replace(b"%", b"%25").decode("utf-8", "surrogateescape")
        return "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)
    return path


def in_archive(path: str) -> str:
    """Return the path of an unpacked file as one in the archive that was named; others as they are."""
    match = _OF_UNPACKED.match(path) if UNPACKED in path else None
    try:
        return path if match is None else f"{_archive_name(match[1])}{path[match.end() :]}"
    except OSError:
        return path


@lru_cache(maxsize=64)
def _archive_name(directory: str) -> str:
    with open(os.path.join(directory, NAME_FILE), encoding="utf-8") as file:
        return file.read()


def word_of(text: str) -> str:
    """Return a word of the command line as a message names it: an empty one is ''."""
    return shown(text) or "''"


class Reading(NamedTuple):
    """How a file is read: at most `rate` bytes a second (0: no limit); `cold` drops pages after reading."""

    rate: int = 0
    cold: bool = False


AS_IT_COMES = Reading()

WRITING_MS = 100  # how long a broker may take, on a busy machine, from one part of a write to the next
WRITING_STEP = 0.002  # seconds between two looks at a file that is being written


class DataFile:
    """One regular file, open for reading by position, no faster than `reading` says.

    `size` is its length in bytes when it was opened. Of a part of a file, and of what a file holds packed
    (`kcli.logdir.remote_objects`), `size` is that of what is read, `start` the byte of the file at which it
    begins.
    """

    __slots__ = ("_began", "_bytes_read", "_fd", "_opened", "mtime_ms", "path", "reading", "size", "start")

    def __init__(self, path: str, reading: Reading = AS_IT_COMES) -> None:
        self.path = path
        self.reading = reading
        self._began = time.monotonic()
        self._bytes_read = 0
        # O_NONBLOCK: opening a FIFO that somebody left in a log dir must not hang.
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise file_error(path, error) from error
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            code = "is-a-directory" if stat.S_ISDIR(status.st_mode) else "not-a-file"
            raise FileError(path, code, _not_regular(status.st_mode))
        self.size: int = status.st_size
        self.start = 0
        self._opened = self.size
        self.mtime_ms: int = status.st_mtime_ns // 1_000_000

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, position: int, length: int) -> bytes:
        """Return `length` bytes, fewer only at the end. FileError `changed` if it shrank, `read-failed`."""
        length = min(length, self.size - position)
        return self._stored(self.start + position, length) if length > 0 else b""

    def _stored(self, position: int, length: int) -> bytes:
        """Return bytes of the file as it is stored, all of which lay in it when it was opened."""
        try:
            data = os.pread(self._fd, length, position)
            while len(data) < length:
                chunk = os.pread(self._fd, length - len(data), position + len(data))
                if not chunk:
                    raise self._shrunk(position + len(data))
                data += chunk
        except OSError as error:
            raise file_error(self.path, error) from error
        self._has_read(position, length)
        return data

    def read_into(self, view: memoryview, position: int) -> None:
        """Fill `view` with the bytes at `position`, all of which lay in the file. FileError as of `read`."""
        position, filled = self.start + position, 0
        try:
            while filled < len(view):
                count = os.preadv(self._fd, [view[filled:]], position + filled)
                if not count:
                    raise self._shrunk(position + filled)
                filled += count
        except OSError as error:
            raise file_error(self.path, error) from error
        self._has_read(position, len(view))

    def _shrunk(self, position: int) -> FileError:
        """Return the error of a file that has no byte at a position where it had one."""
        sizes = f"{self._opened} bytes when opened, {os.fstat(self._fd).st_size} now"
        return FileError(self.path, "changed", f"the file shrank while it was read: {sizes}", position)

    def _has_read(self, position: int, length: int) -> None:
        """Wait until so much may have been read, and let go of it, if it was asked for."""
        if self.reading.cold:
            self.forget(position, length)
        if self.reading.rate:
            self._bytes_read += length
            ahead = self._began + self._bytes_read / self.reading.rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)

    def forget(self, position: int, length: int) -> None:
        """Let the system forget whole pages of these bytes: its cache is left to others."""
        with suppress(OSError, AttributeError):  # advice: not every file system, not every system has it
            os.posix_fadvise(self._fd, position, length, os.POSIX_FADV_DONTNEED)

    @property
    def is_replaced(self) -> bool:
        """Whether the file was removed or renamed, or another has its name."""
        try:
            current, opened = os.stat(self.path), os.fstat(self._fd)
        except OSError:
            return True
        return (current.st_dev, current.st_ino) != (opened.st_dev, opened.st_ino)

    def grown(self, *, is_torn: bool = False) -> int:
        """Return by how many bytes the file has grown since it was opened (negative: it shrank).

        Where its last batch is torn, a broker may be writing the rest of it: a file that was written just now
        is looked at until it has grown, or has been left alone for WRITING_MS.
        """
        while True:
            status = os.fstat(self._fd)
            growth = status.st_size - self._opened
            if growth or not is_torn or abs(time.time_ns() - status.st_mtime_ns) > WRITING_MS * 1_000_000:
                return growth
            time.sleep(WRITING_STEP)


class FilePart(DataFile):
    """A part of a file, from a byte on, read as a file of its own."""

    __slots__ = ()

    def __init__(self, path: str, start: int, size: int) -> None:
        super().__init__(path)
        if self.size < start + size:
            self.close()
            raise file_error(path, TruncatedError(self.size, "indexes", f"{start + size} bytes", self.size))
        self.start, self.size = start, size


def read_whole(path: str, limit: int = WHOLE_FILE_LIMIT) -> bytes:
    """Return all bytes of a small file; FileError `limit` if it is larger than `limit` bytes."""
    with DataFile(path) as file:
        if file.size > limit:
            raise file_error(path, LimitError(limit, "file size", f"at most {limit} bytes", file.size))
        return file.read(0, file.size)


def read_optional(path: str, limit: int = WHOLE_FILE_LIMIT) -> bytes | None:
    """Return all bytes of a small file, or None if there is no such file; any other trouble is raised."""
    try:
        return read_whole(path, limit)
    except FileError as error:
        if error.code == "not-found":
            return None
        raise


def decode_optional(path: str, decode: Callable[[bytes], T]) -> T | None:
    """Return what a small file says, or None if there is no such file; FileError for other bytes."""
    data = read_optional(path)
    if data is None:
        return None
    with reading(path):
        return decode(data)
