"""A segment as the broker holds it in memory: sizes, index entries, and the searches over them.

The truth is `LogSegment`, `FileRecords` and `FileLogInputStream`. Values here
are frozen: an operation of the broker that changes a segment returns another
one. What the broker would throw is a `BrokerError`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from formats.batch import (
    BATCH,
    COMPRESSION_CODEC_MASK,
    HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LOG_OVERHEAD,
    SMALLEST_LENGTH,
    BatchHeader,
)
from formats.compression import ZSTD
from formats.errors import CorruptError, FormatError, LimitError
from formats.index import (
    OFFSET_INDEX_ENTRY,
    TIME_INDEX_ENTRY,
    OffsetIndexEntry,
    TimeIndexEntry,
    offset_index_lookup,
    truncated_entries_offset_index,
    truncated_entries_time_index,
)
from formats.layout import Layout
from formats.legacy import MESSAGE_V0, LegacyHeader, read_header
from formats.message_set import base_offset
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import IndexFile

WINDOW = 256 * 1024
HOP = 4096
"""Batches at least this large are hopped over: only the next header is read."""
MAGIC_V2 = 2
MAX_RELATIVE_OFFSET = 0x7FFFFFFF
LARGEST_WRAPPER = 64 * 1024 * 1024
"""The largest wrapper of magic 0 or 1 that is opened, in bytes, before and after."""

Header: TypeAlias = BatchHeader | LegacyHeader

E = TypeVar("E")

_PREFIX = BATCH.only("base_offset", "batch_length", "magic")
_DELTA = BATCH.only("last_offset_delta")
_ATTRIBUTES = MESSAGE_V0.only("attributes")

CORRUPT_RECORD = "CorruptRecordException"
INVALID_RECORD = "InvalidRecordException"
INVALID_OFFSET = "InvalidOffsetException"
OFFSET_OVERFLOW = "LogSegmentOffsetOverflowException"
ILLEGAL_ARGUMENT = "IllegalArgumentException"
KAFKA_EXCEPTION = "KafkaException"
INDEX_OUT_OF_BOUNDS = "IndexOutOfBoundsException"

_REFUSALS = {
    "magic": INVALID_RECORD,
    "value": INVALID_RECORD,
    "messages": INVALID_RECORD,
    "offset": INVALID_RECORD,
    "message size": CORRUPT_RECORD,
    "key length": INDEX_OUT_OF_BOUNDS,
    "value length": INDEX_OUT_OF_BOUNDS,
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


class Place(NamedTuple):
    """A batch met on a walk: where it lies, how long it is, and the bytes that its header can be read from."""

    position: int
    size: int
    base_offset: int
    magic: int
    window: bytes
    at: int


def places(log: DataFile, start: int, end: int, *, hop_from: int = HOP) -> Iterator[Place]:
    """Yield the batches between two positions as the broker's own walk meets them.

    It ends without a word where fewer than 18 bytes are left or a batch runs past the end; a batch shorter than 14
    bytes is a BrokerError. The window of a batch holds its header, and all of it where nothing is hopped over and it
    does not cross the end of a window.
    """
    position, base, window, ahead = start, start, b"", WINDOW
    while position < end - HEADER_UP_TO_MAGIC:
        at = position - base
        if at + HEADER_SIZE > len(window):
            window, base, at = log.read(position, ahead), position, 0
        offset, length, magic = _PREFIX.unpack_from(window, at)
        if length < SMALLEST_LENGTH:
            raise BrokerError(
                CORRUPT_RECORD,
                log.path,
                position,
                f"a batch of {length} bytes, the smallest has {SMALLEST_LENGTH}",
            )
        size = LOG_OVERHEAD + length
        if position + size > end:
            return
        yield Place(position, size, offset, magic, window, at)
        ahead = HEADER_SIZE if size >= hop_from else WINDOW
        position += size


def first_offset(log: DataFile, place: Place) -> int:
    """Return the first offset of a batch; a wrapper of magic 0 or 1 is opened for it, and a BrokerError if it cannot be.

    Of one too large to be opened it is the offset in its header, the last: searches end at the same batch.
    """
    if (
        place.magic >= MAGIC_V2
        or not _ATTRIBUTES.unpack_from(place.window, place.at)[0] & COMPRESSION_CODEC_MASK
    ):
        return place.base_offset
    if place.size > LARGEST_WRAPPER:
        return place.base_offset
    try:
        return base_offset(log.read(place.position, place.size), LARGEST_WRAPPER)
    except LimitError:
        return place.base_offset
    except FormatError as error:
        raise BrokerError(
            _refusal(error), log.path, place.position, f"a wrapper that cannot be opened: {error}"
        ) from error


def _refusal(error: FormatError) -> str:
    """Return the exception that Kafka throws where a wrapper cannot be opened."""
    field = error.field.partition(" at ")[0]
    if field == "codec":
        return INVALID_RECORD if error.found in range(ZSTD + 1) else ILLEGAL_ARGUMENT
    if field == "value length" and isinstance(error, CorruptError):
        return ILLEGAL_ARGUMENT
    return _REFUSALS.get(field, KAFKA_EXCEPTION)


def last_offset(log: DataFile, place: Place) -> int:
    """Return the last offset of a batch; BrokerError where the file ends inside its header."""
    if place.magic < MAGIC_V2:
        return place.base_offset
    _whole_header(log, place)
    return place.base_offset + int(_DELTA.unpack_from(place.window, place.at)[0])


def header(log: DataFile, place: Place) -> Header:
    """Return the header of a batch, of whichever magic; BrokerError for a negative magic or a cut header."""
    if place.magic >= MAGIC_V2:
        _whole_header(log, place)
        return BATCH.read(place.window, place.at)
    try:
        return read_header(place.window, place.at)
    except FormatError as error:
        raise BrokerError(
            KAFKA_EXCEPTION, log.path, place.position, f"{error.field}: {error.found}"
        ) from error


def _whole_header(log: DataFile, place: Place) -> None:
    if place.at + HEADER_SIZE > len(place.window):
        raise BrokerError(KAFKA_EXCEPTION, log.path, place.position, "the file ends inside a batch header")


@dataclass(frozen=True, slots=True)
class Index(Generic[E]):
    """An offset or time index: its entries lie in a file, or (rebuilt) in memory in the same bytes.

    `entries` is what the broker counts: preallocated zeros of a file included.
    """

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
        with IndexFile(self.path, layout.size) as file:
            yield lambda slot: layout.read(*file.raw(slot))


def file_index(layout: Layout[E], path: str) -> Index[E]:
    """Return the index in a file, every whole entry counted."""
    with IndexFile(path, layout.size) as file:
        return Index(layout, file.entries, path)


def memory_index(layout: Layout[E], data: bytes) -> Index[E]:
    """Return the index that such a file would hold."""
    return Index(layout, len(data) // layout.size, None, data)


NO_OFFSETS = Index(OFFSET_INDEX_ENTRY)
NO_TIMES = Index(TIME_INDEX_ENTRY)


@dataclass(frozen=True, slots=True)
class LoadedSegment:
    """One segment as the broker holds it: `log_size` in bytes, indexes, and the last offsets of aborted transactions."""

    base_offset: int
    log_path: str | None
    log_size: int
    offset_index: Index[OffsetIndexEntry] = NO_OFFSETS
    time_index: Index[TimeIndexEntry] = NO_TIMES
    aborted_last_offsets: tuple[int, ...] = ()

    @contextmanager
    def log(self) -> Iterator[DataFile]:
        """Open the log file; a segment that only the prediction knows has none and is empty."""
        if self.log_path is None:
            raise AssertionError("an empty segment has no log to open")
        with DataFile(self.log_path) as file:
            yield file

    def last_indexed_offset(self) -> int:
        """Return the offset of the last entry of the offset index, the base offset if there is none."""
        if not self.offset_index.entries:
            return self.base_offset
        with self.offset_index.reader() as get:
            return self.base_offset + get(self.offset_index.entries - 1).relative_offset

    def index_position(self, offset: int) -> int:
        """Return the log position that the offset index gives for an offset: 0 below its first entry, never negative."""
        with self.offset_index.reader() as get:
            return max(0, offset_index_lookup(self.offset_index.entries, get, self.base_offset, offset)[1])


def empty_segment(base_offset: int) -> LoadedSegment:
    """Return a new segment."""
    return LoadedSegment(base_offset, None, 0)


def translate_offset(segment: LoadedSegment, offset: int) -> int | None:
    """Return the position of the first batch that holds `offset` or lies above it; None past the end.

    As `LogSegment.translateOffset`: from the floor entry of the offset index forward.
    """
    if not segment.log_size:
        return None
    with segment.log() as log:
        before: Place | None = None
        for place in places(log, segment.index_position(offset), segment.log_size):
            first = first_offset(log, place)
            if first >= offset:
                if first > offset and before is not None and last_offset(log, before) >= offset:
                    return before.position
                return place.position
            before = place
        if before is not None and last_offset(log, before) >= offset:
            return before.position
    return None


def read_next_offset(segment: LoadedSegment) -> int:
    """Return the offset after the last batch, read from the last index entry on, as `LogSegment.readNextOffset`.

    The base offset where that entry leads past the log. BrokerError where the tail is no chain of batches.
    """
    start = translate_offset(segment, segment.last_indexed_offset())
    if start is None:
        return segment.base_offset
    with segment.log() as log:
        last: Place | None = None
        for last in places(log, start, segment.log_size):  # noqa: B007 - only the last one is wanted
            pass
        return segment.base_offset if last is None else last_offset(log, last) + 1


def truncate_segment(segment: LoadedSegment, target: int) -> LoadedSegment:
    """Return the segment without the batch that holds `target` and all after it, as `LogSegment.truncateTo`.

    BrokerError where the broker fails on the way: it reads from an index that leads nowhere, or over damage.
    """
    position = translate_offset(segment, target)
    with segment.offset_index.reader() as offset_entry:
        offset_entries = truncated_entries_offset_index(
            segment.offset_index.entries, offset_entry, segment.base_offset, target
        )
    with segment.time_index.reader() as time_entry:
        time_entries = truncated_entries_time_index(
            segment.time_index.entries, time_entry, segment.base_offset, target
        )
    aborted = segment.aborted_last_offsets
    kept = next((slot for slot, last in enumerate(aborted) if last >= target), len(aborted))
    after = replace(
        segment,
        log_size=segment.log_size if position is None else position,
        offset_index=replace(segment.offset_index, entries=offset_entries),
        time_index=replace(segment.time_index, entries=time_entries),
        aborted_last_offsets=aborted[:kept],
    )
    _read_largest_timestamp(after)
    return after


def _read_largest_timestamp(segment: LoadedSegment) -> None:
    """Read what the broker reads to find the largest timestamp left: the headers behind the last time index entry."""
    if not segment.time_index.entries:
        return
    with segment.time_index.reader() as time_entry:
        last = time_entry(segment.time_index.entries - 1)
    if last.timestamp < 0:
        return
    with segment.offset_index.reader() as offset_entry:
        offset = segment.base_offset + last.relative_offset
        position = offset_index_lookup(
            segment.offset_index.entries, offset_entry, segment.base_offset, offset
        )[1]
    if segment.log_path is None:
        return
    if position < 0:
        raise BrokerError(
            ILLEGAL_ARGUMENT, segment.log_path, None, f"an index entry leads to position {position}"
        )
    with segment.log() as log:
        for place in places(log, position, segment.log_size):
            header(log, place)
