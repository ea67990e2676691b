"""Where temporary files go, never the working directory, and files that processes share."""

import os
import struct
import tempfile
from collections.abc import Sequence
from typing import Any

from formats.types import Buffer
from kcli.engine.errors import EngineMissingError

PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - tried for writing before they are used
LONGEST = 70
"""Bytes of a directory's name: a socket in a directory in it must have a name of at most 107."""


def scratch_directory() -> str:
    """Return a directory for temporary files, the choice of tempfile from now on; EngineMissingError if none.

    The module tempfile alone would fall back to the working directory.
    """
    for place in (os.environ.get("TMPDIR", ""), *PLACES):
        if os.path.isabs(place) and len(os.fsencode(place)) <= LONGEST and _is_writable(place):
            tempfile.tempdir = place
            return place
    raise EngineMissingError(
        f"no temporary directory is writable: $TMPDIR (a short, absolute name), {', '.join(PLACES)}"
    )


def _is_writable(place: str) -> bool:
    try:
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError:
        return False


class ScratchFile:
    """A file without a name, in memory where the system can do that, which workers get when they are started.

    It holds one message, a list of byte strings. It is gone when the last process that has it open ends.
    """

    def __init__(self, number: int, descriptor: int | None = None) -> None:
        self.number = number
        self._descriptor = _nameless() if descriptor is None else descriptor

    def __reduce__(self) -> tuple[object, ...]:
        from multiprocessing import reduction  # noqa: PLC0415 - only while a worker is started

        return _received, (self.number, reduction.DupFd(self._descriptor))

    def __del__(self) -> None:
        os.close(self._descriptor)

    def write(self, parts: Sequence[Buffer]) -> None:
        """Replace the message."""
        views = [memoryview(part).cast("B") for part in parts]
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        for view in (memoryview(struct.pack(f"={len(views) + 1}q", len(views), *map(len, views))), *views):
            rest = view
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        os.ftruncate(self._descriptor, os.lseek(self._descriptor, 0, os.SEEK_CUR))

    def read(self) -> list[bytes]:
        """Return the message."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        (count,) = struct.unpack("=q", self._next(8))
        return [self._next(size) for size in struct.unpack(f"={count}q", self._next(8 * count))]

    def _next(self, size: int) -> bytes:
        data = os.read(self._descriptor, size)
        while len(data) < size:  # a call gives at most 2 GiB
            more = os.read(self._descriptor, size - len(data))
            if not more:
                raise EOFError
            data += more
        return data


def _received(number: int, passed: Any) -> ScratchFile:
    return ScratchFile(number, passed.detach())


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("kcli")
    with tempfile.TemporaryFile(dir=scratch_directory()) as file:
        return os.dup(file.fileno())
