"""A segment and the walk over its batches, by headers alone unless more is asked.

The walk is that of `FileLogInputStream`: it needs 18 bytes to look at a batch,
refuses a length below 14, and stops without an error at a batch that runs past
the end. Where and why it stopped is a value (`Stop`), never dropped.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from formats.batch import (
    BATCH,
    HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LOG_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    SMALLEST_LENGTH,
    BatchHeader,
)
from formats.legacy import LegacyHeader, read_header
from kcli.logdir.buffers import DataFile
from kcli.logdir.indexes import IndexFile, OffsetIndexFile, TimeIndexFile

Header: TypeAlias = BatchHeader | LegacyHeader

WINDOW = 256 * 1024
SKIP_FROM = 4096
"""Batches at least this large are hopped over: only the next header is read, not what lies between."""
LONGEST_HEADER = HEADER_SIZE

SMALLEST_V2 = HEADER_SIZE - LOG_OVERHEAD
SMALLEST_BY_MAGIC = {0: SMALLEST_LENGTH, 1: SMALLEST_LENGTH + 8}

_LENGTH = struct.Struct(">8xi4xb")


TORN = frozenset({"short", "incomplete"})
"""Reasons of a `Stop` that an append which is under way looks like."""


class Stop(NamedTuple):
    """Where a walk ended and why.

    `end`: exactly at the end of the file. `short`: fewer than 18 bytes are left. `incomplete`: the batch runs past
    the end. `bad-length`: too short for any batch of its magic (`found`). `bad-magic`: a negative magic (`found`).
    `zeros`: length 0, and only zeros to the end.
    """

    reason: str
    position: int
    found: int | None = None


class Batch(NamedTuple):
    """A batch in a file: its position in bytes and its header."""

    position: int
    header: Header


class Walk:
    """Iterates over the batches of a log file between two positions; `stop` is set when it has ended.

    So many bytes `ahead` are read at once: fewer where only the first batches are of interest.
    """

    def __init__(
        self, file: DataFile, position: int = 0, end: int | None = None, *, ahead: int = WINDOW
    ) -> None:
        self.file = file
        self.ahead = ahead
        self.position = position
        self.end = file.size if end is None else min(end, file.size)
        self.stop: Stop | None = None

    def __iter__(self) -> Iterator[Batch]:
        file, end, position = self.file, self.end, self.position
        window, base, ahead = b"", position, self.ahead
        unpack_length = _LENGTH.unpack_from
        read_batch = BATCH.read
        while True:
            left = end - position
            if left <= HEADER_UP_TO_MAGIC:
                self.stop = Stop("end" if left == 0 else "short", position, left or None)
                return
            at = position - base
            if at + LONGEST_HEADER > len(window):
                window, base, at = file.read(position, min(ahead, left)), position, 0
            length, magic = unpack_length(window, at)
            if length < SMALLEST_LENGTH:
                zeros = length == 0 and only_zeros(file, position, end)
                self.stop = Stop("zeros" if zeros else "bad-length", position, length)
                return
            if length > left - LOG_OVERHEAD:
                self.stop = Stop("incomplete", position, length)
                return
            if magic < 0 or length < SMALLEST_BY_MAGIC.get(magic, SMALLEST_V2):
                self.stop = (
                    Stop("bad-length", position, length) if magic >= 0 else Stop("bad-magic", position, magic)
                )
                return
            header: Header = read_batch(window, at) if magic >= 2 else read_header(window, at)
            self.position = position
            yield Batch(position, header)
            ahead = LONGEST_HEADER if length >= SKIP_FROM else self.ahead
            position += LOG_OVERHEAD + length


def only_zeros(file: DataFile, position: int, end: int) -> bool:
    """Whether nothing but zero bytes lies between two positions."""
    while position < end:
        chunk = file.read(position, min(WINDOW, end - position))
        if chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True


class LogEnd(NamedTuple):
    """The end of a segment's log: the next offset, how it was found, and where the walk stopped.

    `source` is `index` when the broker's own rule led to the end of the file, else `scan`. `trouble` says why the
    rule did not: `no-index`; `index-beyond-log` (its last entry points past the log); `chain` (no chain of batches
    leads from that entry to where a scan ends); `tail` (the index is right, but the log does not end with a whole
    batch: see `stop`). None when the rule held.
    """

    next_offset: int
    source: str
    stop: Stop
    trouble: str | None
    file_grown: int
    preallocated_index: bool
    leader_epoch: int
    """Of the last batch; -1 for none."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of a partition directory, by base offset and file names; nothing is open."""

    directory: str
    base_offset: int
    stem: str
    """The file name up to the first dot: usually, not always, 20 digits."""
    extensions: frozenset[str]
    """Which of log, index, timeindex, txnindex, snapshot exist for this stem (and suffix)."""
    suffix: str = ""
    """`.swap` for a segment whose files a start will rename; empty otherwise."""

    def path(self, extension: str) -> str:
        """Return the path of one of this segment's files, whether it exists or not."""
        return os.path.join(self.directory, self.file(extension))

    def file(self, extension: str) -> str:
        """Return the name of one of this segment's files, whether it exists or not."""
        return f"{self.stem}.{extension}{self.suffix}"

    def open_log(self) -> DataFile:
        """Open the .log file; FileError if it cannot be read."""
        return DataFile(self.path("log"))

    def offset_index(self) -> OffsetIndexFile | None:
        """Open the offset index, or return None if the segment has none."""
        return OffsetIndexFile(self.path("index"), self.base_offset) if "index" in self.extensions else None

    def time_index(self) -> TimeIndexFile | None:
        """Open the time index, or return None if the segment has none."""
        return (
            TimeIndexFile(self.path("timeindex"), self.base_offset)
            if "timeindex" in self.extensions
            else None
        )

    def log_end(self) -> LogEnd:
        """Return the end of this segment by the broker's rule, or by a full scan where that rule fails.

        The rule is LogSegment.readNextOffset: from the last entry of the offset index to the end of the file. Slots
        of a preallocated tail do not count: a broker rebuilds such an index before it trusts it.
        """
        with self.open_log() as log:
            trouble, preallocated, offset, position = self._last_entry(log.size)
            by_rule = None if trouble else _walk_to_end(log, position)
            if by_rule is not None:
                first, last, stop = by_rule
                fits = not position or (
                    first is not None
                    and last is not None
                    and first.base_offset <= offset
                    and last.last_offset >= offset
                )
                if fits and stop.reason == "end":
                    return self._end(last, "index", stop, None, log, preallocated=preallocated)
                trouble = "tail" if fits else "chain"
            _, last, stop = by_rule if by_rule is not None and not position else _walk_to_end(log, 0)
            if trouble == "tail" and by_rule is not None and by_rule[2] != stop:
                trouble = "chain"
            return self._end(last, "scan", stop, trouble, log, preallocated=preallocated)

    def _end(
        self,
        last: Header | None,
        source: str,
        stop: Stop,
        trouble: str | None,
        log: DataFile,
        *,
        preallocated: bool,
    ) -> LogEnd:
        next_offset, epoch = (
            (last.last_offset + 1, last.partition_leader_epoch)
            if last
            else (self.base_offset, NO_PARTITION_LEADER_EPOCH)
        )
        return LogEnd(next_offset, source, stop, trouble, log.grown(), preallocated, epoch)

    def _last_entry(self, log_size: int) -> tuple[str | None, bool, int, int]:
        """Return (trouble, preallocated, offset, position) of the offset index's last usable entry."""
        index = self.offset_index()
        if index is None:
            return "no-index", False, self.base_offset, 0
        with index:
            valid = index.valid_entries(log_size)
            preallocated = index.has_empty_tail
            trouble = None if preallocated or valid == index.entries else "index-beyond-log"
            return trouble, preallocated, *index.entry(valid - 1)

    def translate_offset(self, log: DataFile, target: int) -> Batch | None:
        """Return the first batch whose last offset is at or above `target`, found through the index; None past the end.

        As LogSegment.translateOffset: the index entry with the largest offset at or below the target, then forward.
        Slots of a preallocated tail do not count.
        """
        position = 0
        index = self.offset_index()
        if index is not None:
            with index:
                position = max(index.lookup(target, index.valid_entries(log.size))[1], 0)
        return next((batch for batch in Walk(log, position) if batch.header.last_offset >= target), None)


def _walk_to_end(log: DataFile, position: int) -> tuple[Header | None, Header | None, Stop]:
    """Return the first and the last header from a position on, and where the walk stopped."""
    walk = Walk(log, position)
    first = last = None
    for _, last in walk:
        if first is None:
            first = last
    if walk.stop is None:
        raise AssertionError("a walk that has ended says where")
    return first, last, walk.stop


__all__ = [
    "Batch",
    "Header",
    "IndexFile",
    "LogEnd",
    "OffsetIndexFile",
    "Segment",
    "Stop",
    "TimeIndexFile",
    "Walk",
    "only_zeros",
]
