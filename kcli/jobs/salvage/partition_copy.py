"""The copy of a partition while it is written: what went into it, and what of the partition did not."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import NamedTuple

from kcli.kafka.findings.findings import Finding
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.concurrent_changes import SHRANK, removal
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import first_base
from kcli.logdir.targets import shown_as
from kcli.rows.checks import LostRange

NOT_SAVED, FILE_NOT_SAVED, MADE_ANEW = "SALV-001", "SALV-004", "SALV-005"
"""Bytes of a log are lost; a small file is lost; a file that is written in its place may lack something."""
MOST_LOST = 1000  # ranges that a row lists
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


class SavedRange(NamedTuple):
    """Batches in a row (the first at `first_offset`) that go into the copy, or the reason why not."""

    start: int
    end: int
    first_offset: int | None
    reason: Reason | None = None
    batches: int = 0


@dataclass(slots=True)
class PartitionCopy:
    """The copy of a partition at `path`: what of each log goes in, what is left out; changed in place."""

    partition: Partition
    path: str
    names: dict[int, str] = field(default_factory=dict)
    saved_ranges: dict[int, list[SavedRange]] = field(default_factory=dict)
    batches_lost: int = 0
    bytes_lost: int = 0
    lost: list[LostRange] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    lacks_records: bool = False

    @property
    def log_start_offset(self) -> int:
        """Where the log of the copy begins: at its first batches, or its first segment if there are none."""
        return min(self.saved_ranges, default=first_base(os.listdir(self.path)))

    @property
    def batches(self) -> int:
        """How many batches are in the copy."""
        return sum(batch_range.batches for ranges in self.saved_ranges.values() for batch_range in ranges)

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

    def record_loss(self, base: int, left_out: SavedRange, reason: Reason) -> None:
        """Count and report bytes of a log that are left out."""
        start, end, offset, _, batches = left_out
        name = self.names[base]
        self.batches_lost += batches
        self.bytes_lost += end - start
        if len(self.lost) < MOST_LOST:
            self.lost.append(LostRange(name, start, end, offset, reason.word))
        where = f"bytes {start} to {end}" + ("" if offset is None else f", offset {offset}")
        self.report(NOT_SAVED, name, f"{where}: not in the copy ({reason.word})", start)

    def error_of_partition(self, error: FileError) -> FileError:
        """Return an error, which may be about the copy, as one about the partition."""
        target = self.partition.target
        if error.path == self.path:
            error = FileError(target.path, *error.args[1:])
        elif error.path != target.path:
            error = FileError(os.path.join(target.path, os.path.basename(error.path)), *error.args[1:])
        change = removal(error)
        if change is not None:
            return FileError(shown_as(target, change.path), SHRANK, change.message)
        return FileError(shown_as(target, error.path), *error.args[1:])


def copy_bytes(file: DataFile, start: int, end: int, write: Callable[[bytes], object]) -> None:
    """Write the bytes of a file between two positions; FileError where they cannot be read."""
    for position in range(start, end, CHUNK):
        write(file.read(position, min(CHUNK, end - position)))
