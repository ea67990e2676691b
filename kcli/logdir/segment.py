"""The walk over the batches of a log file, by headers alone; a segment by the names of its files.

The truth is `FileLogInputStream.nextBatch`: it needs 18 bytes to look at a batch, refuses a length below 14,
and ends without an error at a batch that runs past the end. `batches` is the one statement of it. Where and
why a walk ended is a value (`Stop`), never dropped.
"""

import os
from collections.abc import Generator, Iterator
from typing import NamedTuple

from formats.batch import BATCH, HEADER_UP_TO_MAGIC, LOG_OVERHEAD, SMALLEST_LENGTH, BatchHeader
from formats.magic import BATCH_FORMATS, LARGEST_HEADER, LATEST, read_header
from kcli.logdir.buffers import DataFile

WALK_WINDOW = 256 * 1024
SKIP_FROM = 4096
"""Batches at least this large are hopped over: only the next header is read, not what lies between."""

END, SHORT, INCOMPLETE = "end", "short", "incomplete"
BAD_LENGTH, BAD_MAGIC, ZEROS = "bad-length", "bad-magic", "zeros"

_PREFIX = BATCH.only("base_offset", "batch_length", "magic")


TORN = frozenset({"short", "incomplete"})  # reasons of a `Stop` that an append which is under way looks like


class Stop(NamedTuple):
    """Where a walk ended and why.

    `end`: exactly at the end of the file. `short`: fewer than 18 bytes are left. `incomplete`: the batch runs
    past the end. `bad-length`: too short for any batch of its magic (`found`). `bad-magic`: a negative magic
    (`found`). `zeros`: length 0, and only zeros to the end.
    """

    reason: str
    position: int
    found: int | None = None


class DamagedRange(NamedTuple):
    """Bytes from `start` to `end` (exclusive) that are no batches.

    `reason` and `found` are those of the `Stop` at which the chain breaks: at `start`, or after batches of
    wrong checksum that begin there. `next_offset` is the base offset of the batch at `end`; None at the end
    of the file. `gave_up`: the search met its bound.
    """

    start: int
    end: int
    reason: str
    found: int | None
    next_offset: int | None
    broke_at: int  # where the chain broke: `start`, or after a batch of wrong checksum
    gave_up: bool = False


def describe_torn(stop: Stop) -> str:
    """Return in words how a walk ends that is TORN: whole batches may follow a length that is damaged."""
    if stop.reason == SHORT:
        return f"{stop.found} bytes are left, fewer than a batch needs to begin"
    return f"the batch at byte {stop.position} runs past the end of the file: its length is {stop.found}"


class FileBatch(NamedTuple):
    """A batch as `nextBatch` returns it.

    Position and size in bytes, its first fields, and where its header lies. The header begins at byte
    `header_at` of `window`; the whole batch lies there where nothing is hopped over and it does not cross the
    end of a window.
    """

    position: int
    size: int
    base_offset: int
    magic: int
    window: bytes
    header_at: int


class Batch(NamedTuple):
    """A batch in a file: its position in bytes and its header."""

    position: int
    header: BatchHeader


def batches(
    log: DataFile,
    start: int,
    end: int,
    *,
    readable: bool = False,
    ahead: int = WALK_WINDOW,
    hop_from: int = SKIP_FROM,
) -> Generator[FileBatch, None, Stop]:
    """Yield the batches between two positions as `FileLogInputStream.nextBatch` returns them.

    Return where it ends. Kafka throws CorruptRecordException at a `bad-length`, and ends silently elsewhere.
    With `readable` the walk also ends at what no reader of records can read: a negative magic (to Kafka a
    message of magic 0 or 1) and a batch shorter than the header of its magic. Up to `ahead` bytes are read at
    once; after a batch of `hop_from` bytes or more only the next header.
    """
    position, base, window, read_ahead = start, start, b"", ahead
    while (remaining_bytes := end - position) > HEADER_UP_TO_MAGIC:
        header_at = position - base
        if header_at + LARGEST_HEADER > len(window):
            window, base, header_at = log.read(position, read_ahead), position, 0
        offset, length, magic = _PREFIX.unpack_from(window, header_at)
        if length < SMALLEST_LENGTH:
            return Stop(BAD_LENGTH, position, length)
        if length > remaining_bytes - LOG_OVERHEAD:
            return Stop(INCOMPLETE, position, length)
        if readable:
            if magic < 0:
                return Stop(BAD_MAGIC, position, magic)
            if length < BATCH_FORMATS.get(magic, BATCH_FORMATS[LATEST]).smallest_length:
                return Stop(BAD_LENGTH, position, length)
        size = LOG_OVERHEAD + length
        yield FileBatch(position, size, offset, magic, window, header_at)
        read_ahead = LARGEST_HEADER if length >= hop_from else ahead
        position += size
    return Stop(SHORT if remaining_bytes else END, position, remaining_bytes or None)


def next_batch(log: DataFile, position: int, end: int) -> FileBatch | None:
    """Return what `nextBatch` takes for a batch at a position; None for nothing, or where it throws."""
    return next(batches(log, position, end, ahead=LARGEST_HEADER), None)


class Walk:
    """Iterates over the readable batches of a log, `ahead` bytes at once; `stop` is set at its end."""

    def __init__(
        self, file: DataFile, position: int = 0, end: int | None = None, *, ahead: int = WALK_WINDOW
    ) -> None:
        self.file = file
        self.ahead = ahead
        self.position = position
        self.end = file.size if end is None else min(end, file.size)
        self.stop: Stop | None = None

    def __iter__(self) -> Iterator[Batch]:
        for position, _, _, _, window, header_at in self._file_batches():
            yield Batch(position, read_header(window, header_at))

    def _file_batches(self) -> Generator[FileBatch, None, None]:
        stop = yield from batches(self.file, self.position, self.end, readable=True, ahead=self.ahead)
        self.stop = with_zeros(self.file, stop, self.end)


def with_zeros(file: DataFile, stop: Stop, end: int) -> Stop:
    """Return a stop with the reason `zeros` where a length of 0 and only zeros follow."""
    if stop.reason == BAD_LENGTH and stop.found == 0 and only_zeros(file, stop.position, end):
        return stop._replace(reason=ZEROS)
    return stop


def only_zeros(file: DataFile, position: int, end: int) -> bool:
    """Whether nothing but zero bytes lies between two positions."""
    while position < end:
        chunk = file.read(position, min(WALK_WINDOW, end - position))
        if chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True


class Segment(NamedTuple):
    """One segment of a partition directory, by base offset and file names; nothing is open."""

    directory: str
    base_offset: int
    stem: str  # the file name up to the first dot: usually, not always, 20 digits
    extensions: frozenset[str]
    """Which of log, index, timeindex, txnindex, snapshot exist for this stem (and suffix)."""

    def path(self, extension: str) -> str:
        """Return the path of one of this segment's files, whether it exists or not."""
        return os.path.join(self.directory, self.file(extension))

    def file(self, extension: str) -> str:
        """Return the name of one of this segment's files, whether it exists or not."""
        return f"{self.stem}.{extension}"
