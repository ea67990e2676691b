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

from formats.batch import BATCH, HEADER_SIZE, HEADER_UP_TO_MAGIC, LOG_OVERHEAD, MAGIC_POSITION, SMALLEST_LENGTH, BatchHeader
from formats.index import OFFSET_INDEX, TIME_INDEX, offset_index_lookup, valid_prefix_offset_index
from formats.legacy import LegacyHeader, read_header
from kcli.logdir.buffers import DataFile, FileError, reading

Header: TypeAlias = BatchHeader | LegacyHeader

WINDOW = 256 * 1024
SKIP_FROM = 4096
"""Batches at least this large are hopped over: only the next header is read, not what lies between."""
LONGEST_HEADER = HEADER_SIZE

SMALLEST_V2 = HEADER_SIZE - LOG_OVERHEAD
SMALLEST_BY_MAGIC = {0: SMALLEST_LENGTH, 1: SMALLEST_LENGTH + 8}

_LENGTH = struct.Struct(">8xi4xb")


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
    """Iterates over the batches of a log file between two positions; `stop` is set when it has ended."""

    def __init__(self, file: DataFile, position: int = 0, end: int | None = None) -> None:
        self.file = file
        self.position = position
        self.end = file.size if end is None else min(end, file.size)
        self.stop: Stop | None = None

    def __iter__(self) -> Iterator[Batch]:
        file, end, position = self.file, self.end, self.position
        window, base, ahead = b"", position, WINDOW
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
            if not 0 <= magic or length < SMALLEST_BY_MAGIC.get(magic, SMALLEST_V2):
                self.stop = Stop("bad-length", position, length) if magic >= 0 else Stop("bad-magic", position, magic)
                return
            with reading(file.path):
                header: Header = read_batch(window, at) if magic >= 2 else read_header(window, at)  # noqa: PLR2004
            self.position = position
            yield Batch(position, header)
            ahead = LONGEST_HEADER if length >= SKIP_FROM else WINDOW
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
    rule did not: `no-index`, `index-beyond-log`, `chain`; None when it did. `last_offset` is None for an empty log.
    """

    next_offset: int
    source: str
    stop: Stop
    trouble: str | None
    file_grown: int
    preallocated_index: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of a partition directory, by base offset and file names; nothing is open."""

    directory: str
    base_offset: int
    stem: str
    """The file name up to the first dot: usually, not always, 20 digits."""
    extensions: frozenset[str]
    """Which of log, index, timeindex, txnindex, snapshot exist for this stem."""

    def path(self, extension: str) -> str:
        """Return the path of one of this segment's files, whether it exists or not."""
        return os.path.join(self.directory, f"{self.stem}.{extension}")

    def open_log(self) -> DataFile:
        """Open the .log file; FileError if it cannot be read."""
        return DataFile(self.path("log"))

    def offset_index(self) -> "OffsetIndexFile | None":
        """Open the offset index, or return None if the segment has none."""
        return OffsetIndexFile(self) if "index" in self.extensions else None

    def log_end(self) -> LogEnd:
        """Return the end of this segment by the broker's rule, or by a full scan where that rule fails."""
        with self.open_log() as log:
            index = self.offset_index()
            if index is None:
                return self._end(log, 0, "no-index", preallocated=False)
            with index:
                valid = index.valid_entries(log.size)
                start = index.position(valid - 1) if valid else 0
                preallocated = valid < index.entries
            if start >= log.size > 0:
                return self._end(log, 0, "index-beyond-log", preallocated=preallocated)
            by_rule = self._end(log, start, None, preallocated=preallocated)
            if by_rule.stop.reason == "end" or start == 0:
                return by_rule
            return self._end(log, 0, "chain", preallocated=preallocated)

    def _end(self, log: DataFile, start: int, trouble: str | None, *, preallocated: bool) -> LogEnd:
        walk = Walk(log, start)
        last = None
        for last in walk:  # noqa: B007 - only the last one is wanted
            pass
        stop = walk.stop
        if stop is None:
            raise AssertionError("a walk that has ended says where")
        if trouble is None and stop.reason != "end":
            trouble = "chain"
        return LogEnd(
            next_offset=last.header.last_offset + 1 if last else self.base_offset,
            source="scan" if trouble else "index",
            stop=stop,
            trouble=trouble,
            file_grown=log.grown(),
            preallocated_index=preallocated,
        )

    def translate_offset(self, log: DataFile, target: int) -> Batch | None:
        """Return the first batch whose last offset is at or above `target`, found through the index; None past the end.

        As LogSegment.translateOffset: the index entry with the largest offset at or below the target, then forward.
        """
        position = 0
        index = self.offset_index()
        if index is not None:
            with index:
                position = index.lookup(target)[1]
        for batch in Walk(log, position):
            if batch.header.last_offset >= target:
                return batch
        return None


class IndexFile:
    """An index file read entry by entry through small pages: a lookup in 10 MiB reads a few kilobytes."""

    PAGE = 8192

    def __init__(self, path: str, entry_size: int) -> None:
        self.file = DataFile(path)
        self.entry_size = entry_size
        self.entries = self.file.size // entry_size
        """Whole entries in the file, preallocated ones included: what the broker counts when it opens it."""
        self.partial_bytes = self.file.size % entry_size
        self._pages: dict[int, bytes] = {}

    def __enter__(self) -> "IndexFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def raw(self, slot: int) -> tuple[bytes, int]:
        """Return (page, place in it) of an entry."""
        start = slot * self.entry_size
        per_page = self.PAGE - self.PAGE % self.entry_size
        number = start // per_page
        page = self._pages.get(number)
        if page is None:
            if len(self._pages) >= 64:  # noqa: PLR2004 - a bound on memory, not a format
                self._pages.clear()
            page = self._pages[number] = self.file.read(number * per_page, per_page)
        if len(page) < start - number * per_page + self.entry_size:
            raise FileError(self.file.path, "changed", "the index shrank while it was read", start)
        return page, start - number * per_page


class OffsetIndexFile(IndexFile):
    """A segment's offset index, looked up as `OffsetIndex` does."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(segment.path("index"), OFFSET_INDEX.size)
        self.base_offset = segment.base_offset

    def __enter__(self) -> "OffsetIndexFile":
        return self

    def get(self, slot: int) -> tuple[int, int]:
        """Return (relative offset, position) of an entry."""
        page, at = self.raw(slot)
        entry = OFFSET_INDEX.read(page, at)
        return entry.relative_offset, entry.position

    def position(self, slot: int) -> int:
        """Return the file position that an entry holds."""
        return self.get(slot)[1]

    def lookup(self, target: int) -> tuple[int, int]:
        """Return (offset, position) of the entry with the largest offset at or below `target`; (base, 0) if none."""
        return offset_index_lookup(self.entries, self.get, self.base_offset, target)

    def valid_entries(self, log_size: int) -> int:
        """Return how many entries rise strictly and point into the log: the rest is preallocated or stale."""
        if not self.entries:
            return 0
        last_relative, last_position = self.get(self.entries - 1)
        if last_relative > 0 and 0 < last_position < log_size:
            return self.entries
        valid = 0
        return valid_prefix_offset_index(self.file.read(0, self.file.size), log_size).entries if valid == 0 else valid


__all__ = [
    "MAGIC_POSITION", "TIME_INDEX", "Batch", "Header", "IndexFile", "LogEnd", "OffsetIndexFile", "Segment", "Stop", "Walk", "only_zeros",
]
