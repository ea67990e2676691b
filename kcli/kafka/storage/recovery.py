"""What recovery does to one segment: exactly, or as far as headers alone show it.

Every batch checked, indexes, epochs and producers rebuilt, the rest cut off. The truth is
`LogSegment.recover`. The log is read once, in large windows; only counters and the entries of the new indexes
are kept. `recover_by_headers` reads the tail after the last index entry, unless that entry leads nowhere: the
result is the same if every checksum is right.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from formats.batch import NO_PRODUCER_ID, NO_TIMESTAMP, BatchHeader
from formats.errors import CorruptError
from formats.index import (
    OFFSET_INDEX_ENTRY,
    TIME_INDEX_ENTRY,
    AbortedTxn,
    OffsetIndexEntry,
    TimeIndexEntry,
    is_relative,
)
from formats.magic import is_legacy
from formats.types import Position, RelativeOffset
from kcli.kafka.storage import leader_epochs, log_segment
from kcli.kafka.storage.leader_epochs import UNDEFINED_EPOCH, EpochCache, assign
from kcli.kafka.storage.load_findings import Reporter, stop_finding, walk_to_end
from kcli.kafka.storage.log_segment import ILLEGAL_ARGUMENT, BrokerError, LoadedSegment, header
from kcli.kafka.storage.producer_state import Ended, ProducerState
from kcli.kafka.storage.valid_batches import LogBatch, valid_batches
from kcli.logdir.buffers import DataFile, FilePart
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.segment import END, TORN, Stop, Walk

CUTS = frozenset({log_segment.CORRUPT_RECORD, log_segment.INVALID_RECORD})
"""What recovery answers by cutting the log; anything else ends it."""


class Recovered(NamedTuple):
    """A recovered segment, the epochs after it, bytes cut and why; `falls_at`: where offsets do not rise."""

    segment: LoadedSegment
    epochs: EpochCache
    truncated: int
    reason: BrokerError | None
    falls_at: int | None = None


class RecoveryError(BrokerError):
    """What ends a recovery without cutting the log; `segment` is as far as it had come."""

    segment: LoadedSegment | None = None
    epochs: EpochCache = ()


@dataclass(slots=True, kw_only=True)
class _Rebuild:
    """The indexes that recovery builds; `valid` is how many bytes of the log have been good so far."""

    of: LoadedSegment
    path: str
    index_interval_bytes: int
    max_index_size: int
    offset_entries: bytearray = field(default_factory=bytearray)
    time_entries: bytearray = field(default_factory=bytearray)
    aborted: list[AbortedTxn] = field(default_factory=list)
    valid: int = 0
    last_indexed_at: int = 0
    last_indexed_offset: int = 0
    last_timestamp: int = NO_TIMESTAMP
    last_timestamp_offset: int = 0
    max_timestamp: int = NO_TIMESTAMP
    max_timestamp_offset: int = 0
    highest_offset: int = -1
    falls_at: int | None = None
    """Where the first batch begins whose offsets do not rise."""

    def add_batch(self, batch: LogBatch) -> None:
        """Index one good batch; BrokerError for an offset that no index of this segment can hold."""
        last = batch.last_offset
        if not is_relative(last, self.of.base_offset):
            message = f"last offset {last} is out of the segment's range"
            raise RecoveryError(log_segment.OFFSET_OVERFLOW, self.path, batch.position, message)
        if last <= self.highest_offset and self.falls_at is None:
            self.falls_at = batch.position
        self.append(batch.size, last, batch.max_timestamp)

    def append(self, size: int, last: int, max_timestamp: int) -> None:
        """Index a batch of a size in bytes and a last offset."""
        self.highest_offset = max(self.highest_offset, last)
        if max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = max_timestamp, last
        if self.valid - self.last_indexed_at > self.index_interval_bytes:
            self.add_offset(last, self.valid)
            self.add_time()
            self.last_indexed_at = self.valid
        self.valid += size

    def add_offset(self, offset: int, position: int) -> None:
        """Append to the offset index."""
        count = len(self.offset_entries) // OFFSET_INDEX_ENTRY.size
        if count >= self.max_index_size // OFFSET_INDEX_ENTRY.size:
            message = f"the offset index is full with {count} entries"
            raise BrokerError(ILLEGAL_ARGUMENT, self.path, position, message)
        if count and offset <= self.last_indexed_offset:
            message = f"offset {offset} does not rise above {self.last_indexed_offset}, the last one indexed"
            raise RecoveryError(log_segment.INVALID_OFFSET, self.path, position, message)
        self.offset_entries += OFFSET_INDEX_ENTRY.pack(
            OffsetIndexEntry(RelativeOffset(offset - self.of.base_offset), Position(position))
        )
        self.last_indexed_offset = offset

    def add_time(self, *, last: bool = False) -> None:
        """Append the largest timestamp to the time index, if it is new; its last slot is for the `last`."""
        count = len(self.time_entries) // TIME_INDEX_ENTRY.size
        if not last and count >= self.max_index_size // TIME_INDEX_ENTRY.size - 1:
            message = f"the time index is full with {count} entries"
            raise BrokerError(ILLEGAL_ARGUMENT, self.path, self.valid, message)
        offset = self.max_timestamp_offset
        if count and offset < self.last_timestamp_offset:
            message = (
                f"offset {offset} lies below {self.last_timestamp_offset}, the last one in the time index"
            )
            raise RecoveryError(log_segment.INVALID_OFFSET, self.path, self.valid, message)
        if self.max_timestamp > self.last_timestamp:
            self.time_entries += TIME_INDEX_ENTRY.pack(
                TimeIndexEntry(self.max_timestamp, RelativeOffset(offset - self.of.base_offset))
            )
            self.last_timestamp, self.last_timestamp_offset = self.max_timestamp, offset

    def add_aborted(self, ended: Ended, last_stable_offset: int, position: int) -> None:
        """Append to the transaction index."""
        offset = ended.last_offset
        if self.aborted and self.aborted[-1].last_offset >= offset:
            message = f"an abort marker at offset {offset} follows one at {self.aborted[-1].last_offset}"
            raise BrokerError(ILLEGAL_ARGUMENT, self.path, position, message)
        self.aborted.append(AbortedTxn(0, ended.producer_id, ended.first_offset, offset, last_stable_offset))

    def segment(self, log_size: int) -> LoadedSegment:
        """Return the segment with what has been built."""
        return self.of._replace(
            log_size=log_size,
            offset_index=log_segment.memory_index(OFFSET_INDEX_ENTRY, bytes(self.offset_entries)),
            time_index=log_segment.memory_index(TIME_INDEX_ENTRY, bytes(self.time_entries)),
            aborted=tuple(self.aborted),
        )


def recover(
    segment: LoadedSegment,
    state: ProducerState,
    epochs: EpochCache,
    *,
    index_interval_bytes: int,
    max_index_size: int,
) -> Recovered:
    """Return the segment as recovery leaves it, cut at damage; `state` follows it. Else a BrokerError."""
    if segment.log_path is None:
        return Recovered(segment, epochs, 0, None)
    built = _Rebuild(
        of=segment,
        path=segment.log_path,
        index_interval_bytes=index_interval_bytes,
        max_index_size=max_index_size,
        max_timestamp_offset=segment.base_offset,
    )
    reason: BrokerError | None = None
    newest = epochs[-1].epoch if epochs else UNDEFINED_EPOCH
    try:
        with segment.log() as log:
            for batch in valid_batches(log, segment.log_size):
                built.add_batch(batch)
                if batch.partition_leader_epoch > newest:
                    epochs, newest = _assigned(epochs, batch, log), batch.partition_leader_epoch
                if batch.producer_id > NO_PRODUCER_ID:
                    _follow(state, log, batch, built)
                if not is_legacy(batch.magic):
                    state.map_end = batch.last_offset + 1
    except BrokerError as error:
        if error.exception not in CUTS:
            _explain(error, built, segment.log_size, epochs)
            raise
        reason = error
    try:
        built.add_time(last=True)
    except BrokerError as error:
        _explain(error, built, built.valid, epochs)
        raise
    truncated = segment.log_size - built.valid
    return Recovered(built.segment(built.valid), epochs, truncated, reason, built.falls_at)


def _explain(error: BrokerError, built: _Rebuild, log_size: int, epochs: EpochCache) -> None:
    """Give an error after which the loader goes on what had been built when it came."""
    if isinstance(error, RecoveryError):
        error.segment, error.epochs = built.segment(log_size), epochs


def overflows(segment: LoadedSegment) -> bool:
    """Whether the last batch of a segment has too large a relative offset, as `LogSegment.hasOverflow`."""
    end = log_segment.read_next_offset(segment)
    return end > segment.base_offset and not is_relative(end - 1, segment.base_offset)


def split(
    segment: LoadedSegment, *, index_interval_bytes: int, max_index_size: int
) -> tuple[LoadedSegment, ...]:
    """Return the segments that `LocalLog.splitOverflowedSegment` makes, as since 4.1; BrokerError."""
    path, end = segment.log_path or "", 0
    parts: list[tuple[int, _Rebuild]] = []
    with segment.log() as log:
        for batch in log_segment.file_batches(log, 0, segment.log_size):
            last, timestamp = log_segment.last_offset(log, batch), header(log, batch).max_timestamp
            if not parts or not is_relative(last, parts[-1][1].of.base_offset):
                base = log_segment.first_offset(log, batch)
                if not is_relative(last, base):
                    message = f"no segment can begin with the batch of offsets {base} to {last}"
                    raise BrokerError(log_segment.ILLEGAL_STATE, path, batch.position, message)
                built = _Rebuild(
                    of=LoadedSegment(base, segment.log_path),
                    path=path,
                    index_interval_bytes=index_interval_bytes,
                    max_index_size=max_index_size,
                    max_timestamp_offset=base,
                )
                parts.append((batch.position, built))
            parts[-1][1].append(batch.size, last, timestamp)
            end = batch.position + batch.size
    if end < segment.log_size:
        message = "the segment cannot be split: it does not end with a whole batch"
        raise BrokerError("NoSuchElementException", path, end, message)
    for _, built in parts:
        built.add_time(last=True)
    return tuple(
        built.segment(built.valid)._replace(opened=partial(FilePart, start=start, size=built.valid))
        for start, built in parts
    )


def _assigned(epochs: EpochCache, batch: LogBatch, log: DataFile) -> EpochCache:
    """Return the cache after the first batch of a newer epoch; BrokerError for a negative base offset."""
    try:
        return assign(epochs, batch.partition_leader_epoch, batch.base_offset)
    except CorruptError as error:
        raise BrokerError(ILLEGAL_ARGUMENT, log.path, batch.position, str(error)) from error


def _follow(state: ProducerState, log: DataFile, batch: LogBatch, built: _Rebuild) -> None:
    """Follow a batch of a producer."""
    ended = state.append(log, batch)
    if ended is not None:
        if ended.aborted:
            built.add_aborted(ended, state.last_stable_offset(ended), batch.position)
        state.complete(ended, log.path, batch.position)


def recover_by_headers(
    segment: LoadedSegment, epochs: EpochCache, reporter: Reporter
) -> tuple[Recovered, int]:
    """Return a segment as far as its headers chain, and the offset after its last batch; BrokerError."""
    base, path = segment.base_offset, segment.log_path or ""
    last, stop, grown = _header_tail(segment, reporter)
    cut = segment.log_size + grown - stop.position
    if grown:
        reporter.report_growth(path, grown)
    if cut > 0 and not (grown and stop.reason in TORN):
        reporter.findings.extend(stop_finding(reporter.partition, path, stop))
    recovered = segment._replace(log_size=stop.position)
    next_offset = base if last is None else last.last_offset + 1
    newest = epochs[-1].epoch if epochs else UNDEFINED_EPOCH
    if last is not None and next_offset > base and not 0 <= last.partition_leader_epoch <= newest:
        with recovered.log() as log:
            headers = (batch.header for batch in Walk(log, 0, recovered.log_size))
            starts = ((header.partition_leader_epoch, header.base_offset) for header in headers)
            try:
                epochs = leader_epochs.recover(epochs, starts)
            except CorruptError as error:
                raise BrokerError(ILLEGAL_ARGUMENT, path, None, str(error)) from error
    return Recovered(recovered, epochs, max(cut, 0), None), next_offset


def _header_tail(segment: LoadedSegment, reporter: Reporter) -> tuple[BatchHeader | None, Stop, int]:
    """Return the last header from the last fitting index entry on, where the walk stopped, and the growth."""
    with segment.log() as log:
        last, stop = None, None
        if segment.offset_index.path:
            with OffsetIndexFile(segment.offset_index.path, segment.base_offset) as index:
                if index.has_empty_tail:
                    message = "the offset index has its preallocated tail"
                    reporter.report("IDX-003", message, segment.offset_index.path)
                offset, position = index.entry(index.valid_entries(segment.log_size) - 1)
            first, last, stop = walk_to_end(log, position, segment.log_size)
            is_named = first and last and first.base_offset <= offset <= last.last_offset
            if not is_named or stop.reason != END:
                stop = None
        if stop is None:
            _, last, stop = walk_to_end(log, 0, segment.log_size)
        return last, stop, log.size + log.grown(is_torn=stop.reason in TORN) - segment.log_size
