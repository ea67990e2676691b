"""A segment as the broker holds it in memory: sizes, index entries, and the searches over them.

The truth is `LogSegment`, `FileRecords` and `FileLogInputStream`. Values here are frozen: an operation of the
broker that changes a segment returns another one. What the broker would throw is a `BrokerError`.
"""

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from formats.batch import COMPRESSION_CODEC_MASK, NO_TIMESTAMP, SMALLEST_LENGTH, BatchHeader
from formats.errors import CorruptError, FormatError, LimitError
from formats.index import (
    OFFSET_INDEX_ENTRY,
    TIME_INDEX_ENTRY,
    AbortedTxn,
    OffsetIndexEntry,
    TimeIndexEntry,
    offset_index_lookup,
    time_index_lookup,
    truncated_entries,
)
from formats.layout import Layout
from formats.legacy import MESSAGE_V0
from formats.magic import BATCH_FORMATS, LATEST, format_of, is_legacy, read_header
from kcli.logdir.buffers import DataFile, FileError, file_error
from kcli.logdir.indexes import PAGE, IndexFile
from kcli.logdir.segment import BAD_LENGTH, SKIP_FROM, WALK_WINDOW, FileBatch, Stop, batches

LARGEST_WRAPPER = 64 * 1024 * 1024
"""The largest wrapper of magic 0 or 1 that is opened, in bytes, before and after."""

E = TypeVar("E", bound=tuple[Any, ...])

_DELTA = BATCH_FORMATS[LATEST].layout.only("last_offset_delta")
_ATTRIBUTES = MESSAGE_V0.only("attributes")

CORRUPT_RECORD = "CorruptRecordException"
INVALID_RECORD = "InvalidRecordException"
INVALID_OFFSET = "InvalidOffsetException"
OFFSET_OVERFLOW = "LogSegmentOffsetOverflowException"
ILLEGAL_ARGUMENT = "IllegalArgumentException"
ILLEGAL_STATE = "IllegalStateException"
KAFKA_EXCEPTION = "KafkaException"
NUMBER_FORMAT = "NumberFormatException"
KAFKA_STORAGE = "KafkaStorageException"
INDEX_OUT_OF_BOUNDS = "IndexOutOfBoundsException"

_REFUSALS = {
    **dict.fromkeys(("magic", "value", "messages", "offset"), INVALID_RECORD),
    "message size": CORRUPT_RECORD,
    **dict.fromkeys(("key length", "value length"), INDEX_OUT_OF_BOUNDS),
}
"""What Kafka throws for a broken wrapper, by the field at fault; KafkaException for the codec's stream."""


class BrokerError(Exception):
    """What the broker would throw: Kafka's name of the exception, the file, the byte, and why."""

    def __init__(self, exception: str, path: str, position: int | None, message: str) -> None:
        super().__init__(exception, path, position, message)
        self.exception = exception
        self.path = path
        self.position = position
        self.message = message

    def __str__(self) -> str:
        return f"{self.exception}: {self.message}"


def file_batches(
    log: DataFile, start: int, end: int, *, ahead: int = WALK_WINDOW, hop_from: int = SKIP_FROM
) -> Generator[FileBatch, None, Stop]:
    """Yield batches as the broker walks them; a batch shorter than 14 bytes is a BrokerError."""
    stop = yield from batches(log, start, end, ahead=ahead, hop_from=hop_from)
    if stop.reason == BAD_LENGTH:
        message = f"a batch of {stop.found} bytes, the smallest has {SMALLEST_LENGTH}"
        raise BrokerError(CORRUPT_RECORD, log.path, stop.position, message)
    return stop


def first_offset(log: DataFile, batch: FileBatch) -> int:
    """Return a batch's first offset; a wrapper is opened for it, BrokerError if it cannot be.

    Of one too large it is the last, in its header: searches end at the same batch.
    """
    if not is_wrapper(batch) or batch.size > LARGEST_WRAPPER:
        return batch.base_offset
    from formats.message_set import base_offset

    try:
        return base_offset(log.read(batch.position, batch.size), LARGEST_WRAPPER)
    except LimitError:
        return batch.base_offset
    except FormatError as error:
        message, exception = f"a wrapper that cannot be opened: {error}", _refusal(error, _codec(batch))
        raise BrokerError(exception, log.path, batch.position, message) from error


def is_wrapper(batch: FileBatch) -> bool:
    """Whether a batch is a compressed message of magic 0 or 1, with its last offset in its header."""
    return is_legacy(batch.magic) and bool(_codec(batch))


def _codec(batch: FileBatch) -> int:
    """Return the codec of a message of magic 0 or 1."""
    return int(_ATTRIBUTES.unpack_from(batch.window, batch.header_at)[0] & COMPRESSION_CODEC_MASK)


def _refusal(error: FormatError, codec: int) -> str:
    """Return the exception that Kafka throws where a wrapper cannot be opened; its codec counts first."""
    from formats.compression import ZSTD

    field = error.field.partition(" at ")[0]
    if codec > ZSTD or (field == "codec" and error.found not in range(ZSTD + 1)):
        return ILLEGAL_ARGUMENT
    if field == "codec":
        return INVALID_RECORD
    if field == "value length" and isinstance(error, CorruptError):
        return ILLEGAL_ARGUMENT
    return _REFUSALS.get(field, KAFKA_EXCEPTION)


def last_offset(log: DataFile, batch: FileBatch) -> int:
    """Return the last offset of a batch; BrokerError where the file ends inside its header."""
    if is_legacy(batch.magic):
        return batch.base_offset
    _whole_header(log, batch)
    return batch.base_offset + int(_DELTA.unpack_from(batch.window, batch.header_at)[0])


def header(log: DataFile, batch: FileBatch) -> BatchHeader:
    """Return the header of a batch, of whichever magic; BrokerError for a negative magic or a cut header."""
    if not is_legacy(batch.magic):
        _whole_header(log, batch)
    try:
        return read_header(batch.window, batch.header_at)
    except FormatError as error:
        exception = ILLEGAL_ARGUMENT if batch.magic < 0 else KAFKA_EXCEPTION
        raise BrokerError(exception, log.path, batch.position, f"{error.field}: {error.found}") from error


def _whole_header(log: DataFile, batch: FileBatch) -> None:
    if batch.header_at + format_of(batch.magic).layout.size > len(batch.window):
        raise BrokerError(KAFKA_EXCEPTION, log.path, batch.position, "the file ends inside a batch header")


class Index(NamedTuple, Generic[E]):
    """An offset or time index in a file, or rebuilt in memory; `entries`: with preallocated zeros."""

    layout: Layout[E]
    entries: int = 0
    path: str | None = None
    data: bytes = b""

    @contextmanager
    def reader(self) -> Iterator[Callable[[int], E]]:
        """Open the entries: slot -> entry."""
        layout, data = self.layout, self.data
        if self.path is None:
            yield lambda slot: layout.read(data, slot * layout.size)
            return
        with DataFile(self.path) as file:
            if file.size == self.entries * layout.size <= PAGE:
                data = file.read(0, PAGE)
                yield lambda slot: layout.read(data, slot * layout.size)
            else:
                index = IndexFile(file, layout)
                yield lambda slot: layout.read(*index.raw(slot))


def file_index(layout: Layout[E], path: str | None) -> Index[E]:
    """Return the index in a file, every whole entry counted, opened when it is read; empty without one."""
    return Index(layout) if path is None else Index(layout, size_of(path) // layout.size, path)


def size_of(path: str) -> int:
    """Return the size of a file in bytes; FileError if it has none to tell."""
    return _status(path).st_size


def bytes_on_disk(path: str) -> int:
    """Return what a file takes of the disk, without its holes; FileError if it has none to tell."""
    return _status(path).st_blocks * 512


def _status(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except OSError as error:
        raise file_error(path, error) from error


def memory_index(layout: Layout[E], data: bytes) -> Index[E]:
    """Return the index that such a file would hold."""
    return Index(layout, len(data) // layout.size, None, data)


EMPTY_OFFSET_INDEX = Index(OFFSET_INDEX_ENTRY)
EMPTY_TIME_INDEX = Index(TIME_INDEX_ENTRY)


class LoadedSegment(NamedTuple):
    """One segment as the broker holds it: sizes in bytes, and how its log file is opened."""

    base_offset: int
    log_path: str | None = None
    log_size: int = 0
    offset_index: Index[OffsetIndexEntry] = EMPTY_OFFSET_INDEX
    time_index: Index[TimeIndexEntry] = EMPTY_TIME_INDEX
    aborted: tuple[AbortedTxn, ...] = ()
    opened: Callable[[str], DataFile] = DataFile

    def log(self) -> DataFile:
        """Open the log file of a segment that has one; FileError `changed` where it is shorter than that."""
        assert self.log_path is not None, "an empty segment has no log to open"
        file = self.opened(self.log_path)
        if file.size < self.log_size:
            file.close()
            message = f"the file shrank while it was read: {self.log_size} bytes at first, {file.size} now"
            raise FileError(self.log_path, "changed", message, file.size)
        return file

    def last_indexed(self) -> tuple[int, int]:
        """Return the offset index's last offset, or the base, and where a search for it leads, or 0."""
        entries, base = self.offset_index.entries, self.base_offset
        if not entries:
            return base, 0
        with self.offset_index.reader() as get:
            offset = base + get(entries - 1).relative_offset
            return offset, offset_index_lookup(entries, get, base, offset)[1]

    def index_entry(self, offset: int) -> tuple[int, int]:
        """Return (offset, position) of the index entry at or below an offset; (base offset, 0) if none."""
        with self.offset_index.reader() as get:
            return offset_index_lookup(self.offset_index.entries, get, self.base_offset, offset)

    def time_entry(self, timestamp: int) -> tuple[int, int]:
        """Return (timestamp, offset) of the entry at or below a time in ms; (-1, base offset) if none."""
        with self.time_index.reader() as get:
            return time_index_lookup(self.time_index.entries, get, self.base_offset, timestamp)

    def last_time_entry(self) -> tuple[int, int]:
        """Return (timestamp, offset) of the time index's last entry; (-1, base offset) if there is none."""
        if not self.time_index.entries:
            return NO_TIMESTAMP, self.base_offset
        with self.time_index.reader() as get:
            last = get(self.time_index.entries - 1)
        return last.timestamp, self.base_offset + last.relative_offset


def segment_of_files(base_offset: int, path: str, *, with_log: bool = True) -> LoadedSegment:
    """Return the segment whose files are at a path with their extensions, as they are."""
    log, index, times = f"{path}.log", f"{path}.index", f"{path}.timeindex"
    return LoadedSegment(
        base_offset,
        log if with_log else None,
        size_of(log) if with_log else 0,
        file_index(OFFSET_INDEX_ENTRY, index if os.path.lexists(index) else None),
        file_index(TIME_INDEX_ENTRY, times if os.path.lexists(times) else None),
    )


def start_of_search(segment: LoadedSegment, offset: int) -> int:
    """Return where a search by timestamp begins, by the offset index; BrokerError if it is negative."""
    position = segment.index_entry(offset)[1]
    if position < 0:
        message = f"an index entry leads to position {position}"
        raise BrokerError(ILLEGAL_ARGUMENT, segment.log_path or "", None, message)
    return position


def has_zero_tail(index: Index[OffsetIndexEntry] | Index[TimeIndexEntry]) -> bool:
    """Whether the last of several entries is zero: a tail that a broker that runs or was killed leaves."""
    if index.entries <= 1:
        return False
    with index.reader() as get:
        return not any(get(index.entries - 1))


def segments_from(segments: Sequence[LoadedSegment], offset: int) -> Sequence[LoadedSegment]:
    """Return the segments from the one with the largest base offset at or below `offset` on; all if none."""
    return segments[max(bisect_right(segments, offset, key=attrgetter("base_offset")) - 1, 0) :]


def translate_offset(segment: LoadedSegment, offset: int) -> int | None:
    """Return the first batch at or above `offset`, as `LogSegment.translateOffset`; None past the end."""
    if not segment.log_size:
        return None
    with segment.log() as log:
        walk = file_batches(log, max(0, segment.index_entry(offset)[1]), segment.log_size)
        batches = _translated(log, walk, offset)
        return None if batches is None else batches[0].position


def _translated(log: DataFile, walk: Iterator[FileBatch], offset: int) -> tuple[FileBatch, FileBatch] | None:
    """Return the batch that a walk finds for an offset, and the one that it came to for that."""
    before: FileBatch | None = None
    for batch in walk:
        first = first_offset(log, batch)
        if first >= offset:
            if first > offset and before is not None and last_offset(log, before) >= offset:
                return before, batch
            return batch, batch
        before = batch
    if before is not None and last_offset(log, before) >= offset:
        return before, before
    return None


class LogTail(NamedTuple):
    """What `LogSegment.readNextOffset` reads: the first and last batch from the last index entry on.

    `next_offset`: after the last, the base offset without any; `end`: where the walk ended.
    """

    next_offset: int
    first: FileBatch | None
    last: FileBatch | None
    end: int


def read_tail(segment: LoadedSegment) -> LogTail:
    """Return what `LogSegment.readNextOffset` reads; BrokerError where the tail is no chain of batches."""
    if not segment.log_size:
        return LogTail(segment.base_offset, None, None, 0)
    with segment.log() as log:
        return tail_in(log, segment)


def tail_in(log: DataFile, segment: LoadedSegment) -> LogTail:
    """Return the same of a segment whose log is open."""
    offset, position = segment.last_indexed()
    walk = file_batches(log, max(0, position), segment.log_size)
    batches = _translated(log, walk, offset)
    if batches is None:
        return LogTail(segment.base_offset, None, None, 0)
    first, last = batches
    last = next(iter(deque(walk, maxlen=1)), last)
    return LogTail(last_offset(log, last) + 1, first, last, last.position + last.size)


def read_next_offset(segment: LoadedSegment) -> int:
    """Return the offset after the last batch, as `LogSegment.readNextOffset`; BrokerError."""
    return read_tail(segment).next_offset


def truncate_segment(segment: LoadedSegment, target: int) -> LoadedSegment:
    """Return the segment up to the batch that holds `target`, as `LogSegment.truncateTo`; BrokerError."""
    position = translate_offset(segment, target)
    with segment.offset_index.reader() as offset_entry:
        offset_entries = truncated_entries(
            OFFSET_INDEX_ENTRY, segment.offset_index.entries, offset_entry, segment.base_offset, target
        )
    with segment.time_index.reader() as time_entry:
        time_entries = truncated_entries(
            TIME_INDEX_ENTRY, segment.time_index.entries, time_entry, segment.base_offset, target
        )
    aborted = segment.aborted
    count = next((slot for slot, txn in enumerate(aborted) if txn.last_offset >= target), len(aborted))
    after = segment._replace(
        log_size=segment.log_size if position is None else position,
        offset_index=segment.offset_index._replace(entries=offset_entries),
        time_index=segment.time_index._replace(entries=time_entries),
        aborted=aborted[:count],
    )
    _read_largest_timestamp(after)
    return after


def _read_largest_timestamp(segment: LoadedSegment) -> None:
    """Read the headers after the last time index entry, as the broker does for the largest timestamp."""
    timestamp, offset = segment.last_time_entry()
    if timestamp < 0 or segment.log_path is None:
        return
    position = start_of_search(segment, offset)
    with segment.log() as log:
        for batch in file_batches(log, position, segment.log_size):
            header(log, batch)
