"""Members of a tar, compressed or not, written below a directory: none leads out of it."""

import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from typing import IO, Any, Self, cast

from kcli.logdir.buffers import shown

LABEL, DUMP_DIRECTORY = b"V", b"D"
"""What GNU tar writes for --label, and for a directory with --listed-incremental."""
INCREMENTAL = "an incremental archive of GNU tar: make one without --listed-incremental"
READ_AT_ONCE = 1 << 18
MOST_MEMBERS = 1 << 20
DEEPEST, LONGEST_PLACE = 100, 2048
"""Directories in each other, and bytes of their names: far longer ones the system cannot tell from links."""
LONGEST_HEADER = 1 << 20
"""Bytes of a long name, or of what pax says of a member: tarfile holds them in memory."""
HOSTILE = (ValueError, OverflowError, RecursionError)
"""What tarfile, or a system call, makes of impossible names, times and headers."""
SPARE_BYTES = 64 << 20  # of the file system of $TMPDIR, for others
PLAIN_TYPES = {*tarfile.SUPPORTED_TYPES} - {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}


class _RefusedMemberError(Exception):
    """A member is a reason to read nothing; the message says why."""


class _StrictMember(tarfile.TarInfo):
    """A member that takes zeros alone for the end, unlike tarfile, and no huge header."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type not in PLAIN_TYPES and member.size > LONGEST_HEADER:
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


def extract(file: IO[bytes], compression: str | None, root: str) -> tuple[str, str] | None:
    """Write the members below the root; return the code and the reason why they are not to be had, if so."""
    member, stream = "", _Decompressed(file, compression)
    error: Exception | None = None
    try:
        source = cast("IO[bytes]", stream)
        with tarfile.open(fileobj=source, mode="r|", bufsize=READ_AT_ONCE, tarinfo=_StrictMember) as tar:
            for number, header in enumerate(tar):
                member = header.name
                _write(tar, header, root, number)
    except (_RefusedMemberError, tarfile.TarError, OSError, *HOSTILE) as raised:
        error = raised
    error = stream.error or error
    if error is None:
        return None
    reason = getattr(error, "strerror", None) or str(error)
    is_refused = isinstance(error, _RefusedMemberError)
    if member and not isinstance(error, (_RefusedMemberError, *HOSTILE)):
        reason = f"the archive cannot be read on from there: {reason}"
    return "unsafe-member" if is_refused else "corrupt", f"{shown(member)}: {reason}" if member else reason


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, root: str, number: int) -> None:
    """Write a member with its modification time; _RefusedMemberError for one that leads out."""
    if number >= MOST_MEMBERS:
        raise _RefusedMemberError(f"more than {MOST_MEMBERS} members")
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


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    """Copy the bytes of a file, zeros as holes; holes of the archive are not read."""
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

    def __init__(self, file: IO[bytes], compression: str | None) -> None:
        self.error: Exception | None = None
        self._read: Callable[[int], bytes] = file.read
        if compression == "gzip":
            import gzip

            self._read = gzip.GzipFile(fileobj=file).read1
        elif compression == "zstd":
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
