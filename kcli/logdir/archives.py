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
import tempfile
import zlib
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Self, cast

from formats.names import UNKNOWN, parse_file
from kcli.logdir.buffers import FILES, NAME_FILE, UNPACKED, FileError, file_error, shown
from kcli.logdir.classify import LOG_DIR, LOST_AND_FOUND, directory_kind
from kcli.logdir.log_dirs import version_of
from kcli.logdir.write_guard import scratch_directory

if TYPE_CHECKING:
    import tarfile

SUFFIX = re.compile(r"\.(?:tar(?:\.gz|\.zst)?|tgz)(?=/|$)")
STDIN = "stdin"  # what paths in an archive on stdin begin with
HEAD_BYTES = 512
LABEL, DUMP_DIRECTORY = b"V", b"D"
"""What GNU tar writes for --label, and for a directory with --listed-incremental."""
INCREMENTAL = "an incremental archive of GNU tar: make one without --listed-incremental"
GZIP, ZSTD, USTAR = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", slice(257, 262)
READ_AT_ONCE = 1 << 18
MOST_MEMBERS = 1 << 20
DEEPEST, LONGEST_PLACE = 100, 2048
"""Directories in each other, and bytes of their names: far longer ones the system cannot tell from links."""
LONGEST_HEADER = 1 << 20
"""Bytes of a long name, or of what pax says of a member: tarfile holds them in memory."""
HOSTILE = (ValueError, OverflowError, RecursionError)
"""What tarfile, or a system call, makes of impossible names, times and headers."""
SPARE_BYTES = 64 << 20  # of the file system of $TMPDIR, for others


class _RefusedMemberError(Exception):
    """A member is a reason to read nothing; the message says why."""


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
    return head.startswith((GZIP, ZSTD)) or head[USTAR] == b"ustar"


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
    try:
        directory = tempfile.mkdtemp(prefix=UNPACKED, dir=scratch_directory())
    except FileNotFoundError as missing:
        raise FileError(name, "read-failed", str(missing)) from missing
    _OURS.append((os.getpid(), directory))
    with open(os.path.join(directory, NAME_FILE), "w", encoding="utf-8") as name_file:
        name_file.write(shown(name))
    root = os.path.join(directory, FILES)
    os.mkdir(root)
    member, error = _extract(_Decompressed(file, head), root)
    if error is None:
        return root
    shutil.rmtree(directory)
    reason = getattr(error, "strerror", None) or str(error)
    is_refused = isinstance(error, _RefusedMemberError)
    if member and not isinstance(error, (_RefusedMemberError, *HOSTILE)):
        reason = f"the archive cannot be read on from there: {reason}"
    message = f"{shown(member)}: {reason}" if member else reason
    code = "unsafe-member" if is_refused else "corrupt"
    raise FileError(name, code, f"{message}; nothing of the archive is read")


def _extract(stream: "_Decompressed", root: str) -> tuple[str, Exception | None]:
    """Write the members below the root; return the name of the last one, and why it ended early."""
    import tarfile

    last, source = "", cast("IO[bytes]", stream)
    try:
        with tarfile.open(fileobj=source, mode="r|", bufsize=READ_AT_ONCE, tarinfo=_member_type()) as tar:
            for number, member in enumerate(tar):
                last = member.name
                if number == MOST_MEMBERS:
                    return last, _RefusedMemberError(f"more than {MOST_MEMBERS} members")
                _write(tar, member, root)
    except (_RefusedMemberError, tarfile.TarError, OSError, *HOSTILE) as error:
        return last, stream.error or error
    return last, stream.error


def _member_type() -> "type[tarfile.TarInfo]":
    """Return a class of members that takes zeros alone for the end, unlike tarfile, and no huge header."""
    import tarfile

    plain = {*tarfile.SUPPORTED_TYPES} - {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}

    class StrictMember(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            member = super().frombuf(buf, encoding, errors)
            if member.type not in plain and member.size > LONGEST_HEADER:
                raise tarfile.ReadError(f"a header of {member.size} bytes")
            return member

        @classmethod
        def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
            try:
                return super().fromtarfile(archive)
            except tarfile.HeaderError as error:
                if type(error).__name__ == "EOFHeaderError":
                    raise
                raise tarfile.ReadError(str(error)) from error

    return StrictMember


def _write(tar: "tarfile.TarFile", member: "tarfile.TarInfo", root: str) -> None:
    """Write a member with its modification time; _RefusedMemberError for one that leads out."""
    if member.type == LABEL:
        return
    path = _member_path(member.name, root)
    if member.isdir():
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)  # of several members of a name the last counts
    if member.issym():
        link = os.path.normpath(member.linkname)  # a later link on the way would lead elsewhere
        target = os.path.realpath(os.path.join(os.path.dirname(path), link))
        if os.path.isabs(link) or not _is_below(target, root):
            raise _RefusedMemberError(f"a link that leads out of the archive, to {shown(member.linkname)}")
        os.symlink(link, path)
    elif member.islnk():
        source = _member_path(member.linkname, root)
        if os.path.islink(source):
            raise _RefusedMemberError("a hard link to a symbolic link, which leads elsewhere from here")
        os.link(source, path, follow_symlinks=False)
    elif member.isreg():
        _copy(tar, member, path)
    else:
        raise _RefusedMemberError(INCREMENTAL if member.type == DUMP_DIRECTORY else "a device or a pipe")


def _member_path(name: str, root: str) -> str:
    components = [component for component in name.split("/") if component not in {"", "."}]
    if name.startswith("/") or ".." in components:
        raise _RefusedMemberError("a name that leads out of the archive")
    if len(components) > DEEPEST:
        raise _RefusedMemberError(f"more than {DEEPEST} directories in each other")
    path = os.path.join(root, *components)
    parent = os.path.realpath(os.path.dirname(path))
    if len(os.fsencode(parent)) > LONGEST_PLACE:
        raise _RefusedMemberError(f"the names of its directories have more than {LONGEST_PLACE} bytes")
    if components and not _is_below(parent, root):
        raise _RefusedMemberError("its directory is a link that leads out of the archive")
    return path


def _is_below(path: str, root: str) -> bool:
    root = os.path.realpath(root)
    return path == root or path.startswith(f"{root}/")


def _copy(tar: "tarfile.TarFile", member: "tarfile.TarInfo", path: str) -> None:
    """Copy the bytes of a file, zeros as holes; holes of the archive are not read."""
    import tarfile

    sparse: list[tuple[int, int]] | None = getattr(member, "sparse", None)
    spans = [(0, member.size)] if sparse is None else sparse
    needed = sum(size for _, size in spans)
    disk = os.statvfs(os.path.dirname(path))
    free = disk.f_bavail * disk.f_frsize - SPARE_BYTES
    if needed > free:
        scratch = tempfile.gettempdir()
        raise _RefusedMemberError(f"{needed} bytes, and {max(free, 0)} may be used in {scratch}: set TMPDIR")
    source: Any = tar.fileobj
    source.seek(member.offset_data)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        for begin, size in spans:
            file.seek(begin)
            while file.tell() < begin + size:
                data = source.read(min(READ_AT_ONCE, begin + size - file.tell()))
                if not data:
                    raise tarfile.ReadError("unexpected end of data")
                if data.count(0) == len(data):
                    file.seek(len(data), os.SEEK_CUR)
                else:
                    file.write(data)
        file.truncate(member.size)
    os.utime(path, (member.mtime, member.mtime))


class _Decompressed:
    """What a stream is decompressed to, as far as it goes: `error` says why it ends too early."""

    def __init__(self, file: IO[bytes], head: bytes) -> None:
        self.error: Exception | None = None
        self._read: Callable[[int], bytes] = file.read
        if head.startswith(GZIP):
            import gzip

            self._read = gzip.GzipFile(fileobj=file).read1
        elif head.startswith(ZSTD):
            import pyarrow as pa

            self._read = pa.CompressedInputStream(file, "zstd").read

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end alone."""
        parts: list[bytes] = []
        while size > 0 and self.error is None:
            try:
                data = self._read(size)
            except (OSError, EOFError, zlib.error) as error:
                self.error = error
                break
            if not data:
                break
            parts.append(data)
            size -= len(data)
        return b"".join(parts)


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
