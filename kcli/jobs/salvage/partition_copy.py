"""The copy of a partition while it is written: what went into it, and what of the partition did not."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import NamedTuple

from formats.names import parse_file
from kcli.kafka.findings.findings import Finding
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.concurrent_changes import SHRANK, removal
from kcli.logdir.partition import Partition
from kcli.logdir.segment import Walk
from kcli.logdir.targets import shown_as
from kcli.rows.checks import LostRange

NOT_SAVED, FILE_NOT_SAVED, MADE_ANEW = "SALV-001", "SALV-004", "SALV-005"
"""Bytes of a log are lost; a small file is lost; a file that is written in its place may lack something."""
MOST_LOST = 1000
"""Ranges that a row lists."""
CHUNK = 4 << 20


class Reason(IntEnum):
    """Why bytes are not in a copy; rows have the name in small letters."""

    DAMAGED = auto()
    CHECKSUM = auto()
    MAGIC = auto()
    HEADER = auto()
    OFFSETS = auto()
    CODEC = auto()
    TRANSACTION = auto()
    UNREADABLE = auto()
    SNAPSHOT = auto()

    @property
    def word(self) -> str:
        """The reason as rows have it."""
        return self.name.lower()


class KeptRange(NamedTuple):
    """Bytes of a log that go into the copy: so many batches in a row."""

    start: int
    end: int
    batches: int


class LeftOut(NamedTuple):
    """Bytes that do not, and why; `first_offset` of the batch there, None where there is none."""

    start: int
    end: int
    first_offset: int | None
    reason: Reason
    batches: int = 0


@contextmanager
def new_directory(path: str) -> Iterator[str]:
    """Give a directory that takes a path when it is complete; nothing is left of it otherwise."""
    parent, name = os.path.split(os.path.abspath(path))
    made = tempfile.mkdtemp(prefix=f".{name}.", dir=parent)
    try:
        yield made
        mask = os.umask(0)  # asking changes it for a moment
        os.umask(mask)
        os.chmod(made, 0o777 & ~mask)
        os.rename(made, path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


@dataclass(slots=True)
class SavedLog:
    """A log of the copy: the name that it has in the partition, and its bytes there, in order."""

    name: str
    pieces: list[tuple[int, int]] = field(default_factory=list)

    def remove(self, copy: str, start: int, end: int, reason: Reason) -> list[LeftOut]:
        """Forget the bytes between two positions of the copy; return where they are in the partition.

        `copy` is the file, which still has them.
        """
        kept, removed, position = [], [], 0
        with DataFile(copy) as log:
            for first, last in self.pieces:
                ahead = first - position  # by so much a position in the partition is larger
                begin, stop = (min(max(one + ahead, first), last) for one in (start, end))
                if begin < stop:
                    offsets = [one.base_offset for _, one in Walk(log, begin - ahead, stop - ahead)]
                    removed.append(LeftOut(begin, stop, next(iter(offsets), None), reason, len(offsets)))
                kept += [(first, begin), (stop, last)]
                position += last - first
        self.pieces = [(first, last) for first, last in kept if first < last]
        return removed


@dataclass(slots=True)
class PartitionCopy:
    """What goes into a copy in the directory `path`, and what is left out; changed in place.

    `logs` and `batches` are those of each segment, by its base offset. `lacks_records`: some are in no log.
    """

    partition: Partition
    path: str
    logs: dict[int, SavedLog] = field(default_factory=dict)
    batches: Counter[int] = field(default_factory=Counter)
    batches_lost: int = 0
    bytes_lost: int = 0
    lost: list[LostRange] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    lacks_records: bool = False

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the copy."""
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(data)

    def report(
        self, code: str, name: str, message: str, position: int | None = None, more: int | None = None
    ) -> None:
        """Add a finding about a file of the partition."""
        directory = self.partition.shown
        path = os.path.join(directory, name)
        self.findings.append(Finding(code, message, directory, path, position, more=more))

    def add_range(self, base: int, kept: KeptRange) -> None:
        """Count bytes of a log that were written."""
        self.logs[base].pieces.append((kept.start, kept.end))
        self.batches[base] += kept.batches

    def record_loss(self, base: int, left_out: LeftOut) -> None:
        """Count and report bytes of a log that are left out."""
        start, end, offset, reason, batches = left_out
        name = self.logs[base].name
        self.batches_lost += batches
        self.bytes_lost += end - start
        if len(self.lost) < MOST_LOST:
            self.lost.append(LostRange(name, start, end, offset, reason.word))
        where = f"bytes {start} to {end}" + ("" if offset is None else f", offset {offset}")
        self.report(NOT_SAVED, name, f"{where}: not in the copy ({reason.word})", start)

    def remove_from_copy(self, path: str, start: int, end: int, reason: Reason) -> None:
        """Count and report bytes of a log of the copy, which still has them, that do not stay in it."""
        base = parse_file(os.path.basename(path)).base_offset or 0
        for left_out in self.logs[base].remove(path, start, end, reason):
            self.record_loss(base, left_out)
            self.batches[base] -= left_out.batches

    def error_of_partition(self, error: FileError) -> FileError:
        """Return an error, which may be about the copy, as one about the partition.

        What a broker removed is a change of the partition: there is no copy then.
        """
        target = self.partition.target
        if error.path == self.path:
            error = FileError(target.path, *error.args[1:])
        elif error.path != target.path:
            error = FileError(os.path.join(target.path, os.path.basename(error.path)), *error.args[1:])
        gone = removal(error)
        if gone is not None:
            return FileError(shown_as(target, gone.path), SHRANK, gone.message)
        return FileError(shown_as(target, error.path), *error.args[1:])


def copy_bytes(file: DataFile, start: int, end: int, write: Callable[[bytes], object]) -> None:
    """Write the bytes of a file between two positions; FileError where they cannot be read."""
    for position in range(start, end, CHUNK):
        write(file.read(position, min(CHUNK, end - position)))


def cut_out(path: str, start: int, end: int) -> None:
    """Write a file anew, without its bytes between two positions."""
    before = path + ".old"
    os.rename(path, before)
    with DataFile(before) as file, open(path, "wb") as into:
        copy_bytes(file, 0, start, into.write)
        copy_bytes(file, end, file.size, into.write)
    os.unlink(before)
