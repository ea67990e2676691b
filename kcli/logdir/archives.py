"""Archives as inputs: .tar, .tar.gz, .tgz and .tar.zst, unpacked into a directory that goes with the process.

    $TMPDIR/kcli-unpacked-XXXXXXXX/name    how the archive was named: what paths in it begin with
    $TMPDIR/kcli-unpacked-XXXXXXXX/files/  its members

A member that leads out of it, or is neither a file nor a directory nor a link, is a reason to read nothing of
an archive. So is a cut: what comes behind it, of the last partition and of its log dir, would pass for lost.
"""

import atexit
import glob
import io
import os
import re
import shutil
from typing import IO, Any

from formats.names import UNKNOWN, parse_file
from kcli.logdir.buffers import FILES, NAME_FILE, UNPACKED, FileError, file_error, shown
from kcli.logdir.classify import LOG_DIR, LOST_AND_FOUND, directory_kind
from kcli.logdir.log_dirs import version_of
from kcli.logdir.write_guard import scratch_directory

SUFFIX = re.compile(r"\.(?:tar(?:\.gz|\.zst)?|tgz)(?=/|$)")
UNREAD = re.compile(r"\.(?:tar\.\w+|t[bx]z2?|zip|7z)$")
UNPACK_IT = "kcli reads the archives .tar, .tar.gz, .tgz and .tar.zst: unpack this one by hand"
STDIN = "stdin"  # what paths in an archive on stdin begin with
HEAD_BYTES = 512
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
USTAR = slice(257, 262)


_UNPACKED: dict[object, str | FileError] = {}
"""The directory of its members, or why it is not read, by path and version of an archive, or by itself."""
_OURS: list[tuple[int, str]] = []
"""The directories to remove, and the process that made each: those that it forks leave it alone."""


@atexit.register
def remove_unpacked() -> None:
    """Remove what was unpacked by this process."""
    for process, directory in _OURS:
        if process == os.getpid():
            shutil.rmtree(directory, ignore_errors=True)


def archive_of(path: str) -> tuple[str, str] | None:
    """Return the archive that a path leads to or into, and what follows its name; None for another path."""
    for suffix in SUFFIX.finditer(path):
        archive = path[: suffix.end()]
        if os.path.isfile(archive):
            return archive, os.path.normpath(f"/{path[suffix.end() :]}").lstrip("/")
    return None


def archive_inputs(path: str) -> list[str] | None:
    """Return the inputs in an archive, or what a path in it leads to; None for none. FileError."""
    root, member = _UNPACKED.get(path), ""
    if root is None:
        archive = archive_of(path)
        if archive is None:
            return None
        root, member = _unpacked_file(archive[0]), archive[1]
    if isinstance(root, FileError):
        raise root
    if member:
        matches = sorted(glob.glob(member, root_dir=root)) if glob.has_magic(member) else []
        return [os.path.join(root, name) for name in matches or [member]]
    return _inputs_below(root) or [root]


def is_archive(head: bytes) -> bool:
    """Whether a stream that begins so, with HEAD_BYTES if it has them, is a tar, compressed or not."""
    return head.startswith((*COMPRESSIONS,)) or head[USTAR] == b"ustar"


def unpack_stream(head: bytes, tail: IO[bytes]) -> str:
    """Unpack an archive of which the head has been read; return the path that `archive_inputs` takes."""
    try:
        root = _unpack(STDIN, io.BufferedReader(_Rejoined(head, tail)), head)
    except FileError as error:
        _UNPACKED[STDIN] = error
        return STDIN
    _UNPACKED[root] = root
    return root


def _unpacked_file(path: str) -> str | FileError:
    key = (os.path.abspath(path), version_of(path))
    if key not in _UNPACKED:
        try:
            with open(path, "rb") as file:
                head = file.read(HEAD_BYTES)
                file.seek(0)
                _UNPACKED[key] = _unpack(path, file, head)
        except FileError as error:
            _UNPACKED[key] = error
        except OSError as error:
            raise file_error(path, error) from error
    return _UNPACKED[key]


def _inputs_below(root: str) -> list[str]:
    """Return what is read; of empty directories those beside a log dir, or of its name: unmounted volumes."""
    inputs: list[str] = []
    empty_dirs, parents, names = set[str](), set[str](), set[str]()
    for directory, folders, files in os.walk(root):
        folders.sort()
        parent, name = os.path.split(directory)
        kind = directory_kind(directory)
        if kind == LOG_DIR:
            parents.add(parent)
            names.add(name)
        if kind is not None:
            folders.clear()
            inputs.append(directory)
        elif not files and not {*folders} - {LOST_AND_FOUND} and name != LOST_AND_FOUND:
            empty_dirs.add(directory)
            inputs.append(directory)
        else:
            inputs += (
                os.path.join(directory, name) for name in sorted(files) if parse_file(name).kind != UNKNOWN
            )
    non_volumes = {path for path in empty_dirs if {*os.path.split(path)}.isdisjoint(parents | names)}
    return [path for path in inputs if path not in non_volumes]


def _unpack(name: str, file: IO[bytes], head: bytes) -> str:
    """Return the directory of the members; FileError where one of them is not to be had."""
    import tempfile

    from kcli.logdir.tar_members import extract

    try:
        directory = tempfile.mkdtemp(prefix=UNPACKED, dir=scratch_directory())
    except FileNotFoundError as missing:
        raise FileError(name, "read-failed", str(missing)) from missing
    _OURS.append((os.getpid(), directory))
    with open(os.path.join(directory, NAME_FILE), "w", encoding="utf-8") as name_file:
        name_file.write(shown(name))
    root = os.path.join(directory, FILES)
    os.mkdir(root)
    compression = next((name for magic, name in COMPRESSIONS.items() if head.startswith(magic)), None)
    failure = extract(file, compression, root)
    if failure is None:
        return root
    shutil.rmtree(directory)
    code, reason = failure
    raise FileError(name, code, f"{reason}; nothing of the archive is read")


class _Rejoined(io.RawIOBase):
    """A stream of which the head has been read."""

    def __init__(self, head: bytes, tail: IO[bytes]) -> None:
        self._head, self._tail = head, tail

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        data = data or self._tail.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
