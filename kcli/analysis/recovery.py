"""What recovery does to one segment: every batch checked, indexes, epochs and producers built anew, the rest cut off.

The truth is `LogSegment.recover`. The log is read once, in large windows; only
counters and the entries of the new indexes are kept.
"""

import struct
from dataclasses import dataclass, replace
from typing import NamedTuple

from formats.batch import CRC_FROM, HEADER_SIZE, NO_PRODUCER_ID, BatchHeader
from formats.crc import crc32c
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.legacy import is_valid
from kcli.analysis.epochs import EpochCache, assign
from kcli.analysis.log_segment import (
    CORRUPT_RECORD,
    ILLEGAL_ARGUMENT,
    INVALID_OFFSET,
    INVALID_RECORD,
    MAGIC_V2,
    MAX_RELATIVE_OFFSET,
    OFFSET_OVERFLOW,
    BrokerError,
    Index,
    LoadedSegment,
    Place,
    header,
    last_offset,
    places,
)
from kcli.analysis.producers import ProducerState
from kcli.logdir.buffers import DataFile

CHUNK = 1024 * 1024
CUTS = frozenset({CORRUPT_RECORD, INVALID_RECORD})
"""What recovery answers by cutting the log; anything else ends it."""
NO_TIMESTAMP = -1

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")


class Recovered(NamedTuple):
    """A recovered segment, the epochs after it, how many bytes were cut, and the BrokerError that explains a cut."""

    segment: LoadedSegment
    epochs: EpochCache
    truncated: int
    reason: BrokerError | None


class InvalidOffset(BrokerError):
    """An index refused an entry that does not rise; `segment` is as far as recovery had come, its log still whole."""

    def __init__(self, path: str, position: int, message: str) -> None:
        super().__init__(INVALID_OFFSET, path, position, message)
        self.segment: LoadedSegment | None = None
        self.epochs: EpochCache = ()


@dataclass(slots=True)
class _Rebuild:
    """The indexes that recovery builds, entry by entry."""

    base_offset: int
    path: str
    most_offset_entries: int
    most_time_entries: int
    offset_entries: bytearray
    time_entries: bytearray
    last_indexed_offset: int
    last_timestamp: int
    last_timestamp_offset: int
    aborted: list[int]

    def add_offset(self, offset: int, position: int) -> None:
        count = len(self.offset_entries) // _OFFSET_ENTRY.size
        if count >= self.most_offset_entries:
            raise BrokerError(ILLEGAL_ARGUMENT, self.path, position, f"the offset index is full with {count} entries")
        if count and offset <= self.last_indexed_offset:
            raise InvalidOffset(self.path, position, f"offset {offset} does not rise above {self.last_indexed_offset}, the last one indexed")
        self.offset_entries += _OFFSET_ENTRY.pack(offset - self.base_offset, position)
        self.last_indexed_offset = offset

    def add_time(self, timestamp: int, offset: int, position: int, *, last: bool = False) -> None:
        count = len(self.time_entries) // _TIME_ENTRY.size
        if not last and count >= self.most_time_entries - 1:
            raise BrokerError(ILLEGAL_ARGUMENT, self.path, position, f"the time index is full with {count} entries")
        if count and offset < self.last_timestamp_offset:
            raise InvalidOffset(self.path, position, f"offset {offset} lies below {self.last_timestamp_offset}, the last one in the time index")
        if timestamp > self.last_timestamp:
            self.time_entries += _TIME_ENTRY.pack(timestamp, offset - self.base_offset)
            self.last_timestamp, self.last_timestamp_offset = timestamp, offset

    def add_aborted(self, offset: int, position: int) -> None:
        if self.aborted and self.aborted[-1] >= offset:
            raise BrokerError(ILLEGAL_ARGUMENT, self.path, position, f"an abort marker at offset {offset} follows one at {self.aborted[-1]}")
        self.aborted.append(offset)

    def segment(self, of: LoadedSegment, log_size: int) -> LoadedSegment:
        return replace(
            of,
            log_size=log_size,
            offset_index=Index(of.base_offset, len(self.offset_entries) // 8, OFFSET_INDEX_ENTRY.size, None, bytes(self.offset_entries)),
            time_index=Index(of.base_offset, len(self.time_entries) // 12, TIME_INDEX_ENTRY.size, None, bytes(self.time_entries)),
            aborted_last_offsets=tuple(self.aborted),
        )


def recover(
    segment: LoadedSegment, state: ProducerState, epochs: EpochCache, *, index_interval_bytes: int, max_index_size: int,
) -> Recovered:
    """Return the segment as recovery leaves it; `state` follows every batch.

    A batch that is damaged ends the log there. Whatever else goes wrong is a BrokerError: the log would not load.
    """
    if segment.log_path is None:
        return Recovered(segment, epochs, 0, None)
    built = _Rebuild(
        segment.base_offset, segment.log_path, max_index_size // OFFSET_INDEX_ENTRY.size, max_index_size // TIME_INDEX_ENTRY.size,
        bytearray(), bytearray(), segment.base_offset, NO_TIMESTAMP, segment.base_offset, [],
    )
    valid = last_entry = 0
    max_timestamp, max_timestamp_offset = NO_TIMESTAMP, segment.base_offset
    reason: BrokerError | None = None
    with segment.log() as log:
        checked = _Checked(log)
        try:
            for place in places(log, 0, segment.log_size):
                checked.ensure_valid(place)
                batch = header(log, place)
                last = last_offset(log, place)
                if not 0 <= last - segment.base_offset <= MAX_RELATIVE_OFFSET:
                    raise BrokerError(OFFSET_OVERFLOW, log.path, place.position, f"last offset {last} is out of the segment's range")
                if batch.max_timestamp > max_timestamp:
                    max_timestamp, max_timestamp_offset = batch.max_timestamp, last
                if valid - last_entry > index_interval_bytes:
                    built.add_offset(last, valid)
                    built.add_time(max_timestamp, max_timestamp_offset, valid)
                    last_entry = valid
                valid += place.size
                if isinstance(batch, BatchHeader):
                    if batch.partition_leader_epoch >= 0 and (not epochs or batch.partition_leader_epoch > epochs[-1].epoch):
                        epochs = assign(epochs, batch.partition_leader_epoch, batch.base_offset)
                    _follow(state, log, place, batch, built)
        except InvalidOffset as error:
            error.segment, error.epochs = built.segment(segment, segment.log_size), epochs
            raise
        except BrokerError as error:
            if error.exception not in CUTS:
                raise
            reason = error
    truncated = segment.log_size - valid
    try:
        built.add_time(max_timestamp, max_timestamp_offset, valid, last=True)
    except InvalidOffset as error:
        error.segment, error.epochs = built.segment(segment, valid), epochs
        raise
    return Recovered(built.segment(segment, valid), epochs, truncated, reason)


def _follow(state: ProducerState, log: DataFile, place: Place, batch: BatchHeader, built: _Rebuild) -> None:
    if batch.producer_id > NO_PRODUCER_ID:
        ended = state.append(log, place, batch)
        if ended is not None:
            if ended.aborted:
                built.add_aborted(ended.last_offset, place.position)
            state.complete(ended, log.path, place.position)
    state.map_end = batch.last_offset + 1


class _Checked:
    """Checks whole batches against their checksums, reading the log in chunks that are used once."""

    def __init__(self, log: DataFile) -> None:
        self.log = log
        self.chunk = b""
        self.start = 0

    def ensure_valid(self, place: Place) -> None:
        """Raise the BrokerError that a batch with a wrong checksum gives."""
        if place.magic >= MAGIC_V2 and place.size < HEADER_SIZE:
            raise BrokerError(CORRUPT_RECORD, self.log.path, place.position, f"a batch of {place.size} bytes, its header alone has {HEADER_SIZE}")
        end = place.position + place.size
        if not self.start <= place.position <= end <= self.start + len(self.chunk):
            self.chunk, self.start = self.log.read(place.position, CHUNK), place.position
        if end > self.start + len(self.chunk) and place.magic < MAGIC_V2:
            self.chunk = self.log.read(place.position, place.size)
        at = place.position - self.start
        view = memoryview(self.chunk)[at:at + place.size]
        if place.magic < MAGIC_V2:
            if not is_valid(view):
                raise self._corrupt(place)
            return
        found = crc32c(view[CRC_FROM:])
        position = place.position + len(view)
        while position < end:
            piece = self.log.read(position, min(CHUNK, end - position))
            found = crc32c(piece, found)
            position += len(piece)
        if found != int.from_bytes(view[17:21], "big"):
            raise self._corrupt(place)

    def _corrupt(self, place: Place) -> BrokerError:
        return BrokerError(CORRUPT_RECORD, self.log.path, place.position, f"the batch at offset {place.base_offset} does not match its checksum")

