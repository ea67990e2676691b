"""What one cleaning does to a compacted log: which records go, and what each segment then holds.

The truth is `Cleaner.doClean`, with `CleanedTransactionMetadata` and `MemoryRecords.filterTo`. Keys are held
as `SkimpyOffsetMap` holds them, by their MD5: so many of them as its memory has room for. Ends are exclusive.
"""

import hashlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from itertools import compress, pairwise
from typing import NamedTuple, TypeAlias

from formats.batch import HEADER_SIZE, LOG_APPEND_TIME, BatchHeader
from formats.bounds import LARGEST_BATCH
from formats.compression import compressed_size
from formats.errors import FormatError
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.magic import is_legacy, record_count
from formats.message_set import LegacyRecord, message_set, set_records
from formats.record import Record, batch_records, pack_record
from kcli.kafka.storage import log_segment
from kcli.kafka.storage.cleaner import NOT_WHOLE
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment
from kcli.kafka.storage.producer_state import Producer, read_marker
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import Batch

NEWER_KEY, TOMBSTONE, ABORTED, MARKER, NO_KEY = "newer-key", "tombstone", "aborted", "marker", "no-key"
"""Why a record goes."""
MAX_INT = 0x7FFFFFFF
DIGEST_SIZE = 16
CHUNK_BYTES = 1 << 20
"""Batches of so many bytes, as they lie, are decoded together."""
Entry: TypeAlias = tuple[int, bytes | None, bool]
"""What counts of a record: offset, key, and whether its value is null."""


class Cleaning(NamedTuple):
    """A log to be cleaned from `first_dirty` to `end`, and what decides what stays.

    `most_keys`: held at once. `kept_end`: the batch that ends there stays empty. `modified_ms`: by base.
    """

    segments: Sequence[LoadedSegment]
    modified_ms: Mapping[int, int]
    log_start: int
    first_dirty: int
    end: int
    kept_end: int
    producers: Mapping[int, Producer]
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    index_bytes: int
    most_keys: int

    def between(self, start: int, end: int) -> Sequence[LoadedSegment]:
        """Return the segments that hold offsets between two, as `LogSegments.values`."""
        segments = log_segment.segments_from(self.segments, start) if end > start else ()
        return [segment for segment in segments if segment.base_offset < end]

    def aborted(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield first offset and producer of aborted transactions (`LocalLog.collectAbortedTransactions`)."""
        for segment in log_segment.segments_from(self.segments, start):
            for each in segment.aborted:
                if each.last_offset >= self.log_start and each.first_offset < end:
                    yield each.first_offset, each.producer_id
                if each.last_stable_offset >= end:
                    return


class DroppedRecord(NamedTuple):
    """A record that goes, with the base offset of its segment."""

    segment_base_offset: int
    offset: int
    reason: str


class CleanedSegment(NamedTuple):
    """A segment of the log afterwards: base offsets of those that it is made of, bytes, records, batches."""

    base_offset: int
    sources: tuple[int, ...]
    size_before: int
    size_after: int
    records_before: int
    records_after: int
    batches_after: int


class CleanedLog(NamedTuple):
    """The log after `passes` cleanings, and where the next begins; counts are the cleaner's statistics."""

    segments: tuple[CleanedSegment, ...]
    checkpoint: int | None
    keys: int = 0
    passes: int = 0
    messages_read: int = 0
    messages_written: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    tombstones_removed: int = 0


class _Keys:
    """The last offset of each key between two offsets, up to `latest`."""

    def __init__(self, cleaning: Cleaning, start: int) -> None:
        self.offsets: dict[bytes, int] = {}
        self.latest = -1
        segments = cleaning.between(start, cleaning.end)
        ends = [*(segment.base_offset for segment in segments[1:]), cleaning.end]
        transactions = _Transactions()
        transactions.add(cleaning.aborted(start, cleaning.end))
        for segment, end in zip(segments, ends, strict=True):
            if self._is_full(segment, start, transactions, cleaning.most_keys):
                return
            self.latest = end - 1

    def _is_full(self, segment: LoadedSegment, start: int, transactions: "_Transactions", most: int) -> bool:
        offsets = self.offsets
        for log, batch, entries in _decoded(segment, segment.index_entry(start)[1]):
            is_aborted = transactions.ends_or_drops(log, batch)
            if not (is_aborted or batch.header.is_control):
                for offset, key, _ in entries:
                    if key is not None and offset >= start:
                        if len(offsets) >= most:
                            return True
                        offsets[_digest(key)] = self.latest = offset
            if batch.header.last_offset >= start:
                self.latest = batch.header.last_offset
        return False


def _digest(key: bytes) -> bytes:
    """Return what stands for a key: its MD5, of a shorter one itself."""
    return key if len(key) < DIGEST_SIZE else hashlib.md5(key, usedforsecurity=False).digest()


class _Transactions:
    """The transactions that a walk is inside of (`CleanedTransactionMetadata`)."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int]] = []
        self._aborted: dict[int, bool] = {}
        self._committed: set[int] = set()

    def add(self, aborted: Iterable[tuple[int, int]]) -> None:
        """Note transactions that were aborted: first offset and producer."""
        for each in aborted:
            heappush(self._waiting, each)

    def ends_or_drops(self, log: DataFile, batch: Batch) -> bool:
        """Whether a batch is of an aborted transaction, or a marker of one that has no batch here."""
        head = batch.header
        while self._waiting and self._waiting[0][0] <= head.last_offset:
            self._aborted.setdefault(heappop(self._waiting)[1], False)
        producer = head.producer_id
        if not head.is_control:
            if head.is_transactional and producer in self._aborted:
                self._aborted[producer] = True
                return True
            if head.is_transactional:
                self._committed.add(producer)
            return False
        try:
            marker = read_marker(log.read(batch.position, head.size))
        except FormatError as error:
            raise BrokerError(log_segment.CORRUPT_RECORD, log.path, batch.position, str(error)) from error
        if marker is None:
            return True
        if marker.is_abort is None:
            return False
        if marker.is_abort:
            return not self._aborted.pop(producer, False)
        was_seen = producer in self._committed
        self._committed.discard(producer)
        return not was_seen


def _batches(segment: LoadedSegment, position: int = 0) -> Iterator[tuple[DataFile, Batch]]:
    """Yield the batches of a segment; bytes after them are a BrokerError (`Cleaner.growBuffersOrFail`)."""
    if segment.log_path is None or not segment.log_size:
        return
    with segment.log() as log:
        for in_file in log_segment.file_batches(log, position, segment.log_size):
            yield log, Batch(in_file.position, log_segment.header(log, in_file))
            position = in_file.position + in_file.size
        if position < segment.log_size:
            message = NOT_WHOLE.format(segment.log_size - position, position)
            raise BrokerError(log_segment.ILLEGAL_STATE, log.path, position, message)


def _records(log: DataFile, batch: Batch) -> Iterator[Record | LegacyRecord]:
    raw = log.read(batch.position, batch.header.size)
    try:
        if is_legacy(batch.header.magic):
            yield from set_records(message_set(raw, LARGEST_BATCH))
        else:
            yield from batch_records(raw, LARGEST_BATCH)
    except FormatError as error:
        raise BrokerError(log_segment.CORRUPT_RECORD, log.path, batch.position, str(error)) from error


def _chunks(segment: LoadedSegment, position: int) -> Iterator[list[Batch]]:
    """Yield the batches of a segment, many together; those before a BrokerError, too."""
    chunk: list[Batch] = []
    try:
        for _, batch in _batches(segment, position):
            if chunk and _end(batch) - chunk[0].position > CHUNK_BYTES:
                yield chunk
                chunk = []
            chunk.append(batch)
    except BrokerError:
        yield chunk
        raise
    yield chunk


def _decoded(segment: LoadedSegment, position: int = 0) -> Iterator[tuple[DataFile, Batch, Iterable[Entry]]]:
    """Yield a segment's batches with what counts of their records; BrokerError."""
    for chunk in filter(None, _chunks(segment, position)):
        with segment.log() as log:
            for batch, entries in _together(log, chunk):
                yield log, batch, entries


def _end(batch: Batch) -> int:
    return batch.position + batch.header.size


def _together(log: DataFile, chunk: Sequence[Batch]) -> Iterator[tuple[Batch, Iterable[Entry]]]:
    from formats.record_columns import FallbackBatch, RecordColumns, record_columns

    start, size = chunk[0].position, _end(chunk[-1]) - chunk[0].position
    blocks: Iterable[RecordColumns | FallbackBatch] = [FallbackBatch(0)]
    if size <= CHUNK_BYTES:
        places = [batch.position - start for batch in chunk]
        blocks = record_columns(log.read(start, size), places, LARGEST_BATCH)
    for block in blocks:
        if isinstance(block, FallbackBatch):
            batch = chunk[block.number]
            yield batch, ((each.offset, each.key, each.value is None) for each in _records(log, batch))
            continue
        data, lengths = block.data, block.key_length.tolist()
        pairs = zip(block.key_start.tolist(), lengths, strict=True)
        keys = [None if length < 0 else data[begin : begin + length] for begin, length in pairs]
        entries = [*zip(block.offset.tolist(), keys, (block.value_length < 0).tolist(), strict=True)]
        for number, (begin, end) in enumerate(pairwise(block.bounds.tolist()), block.first):
            yield chunk[number], entries[begin:end]


def clean(cleaning: Cleaning, checkpoint: int | None) -> Generator[DroppedRecord, None, CleanedLog]:
    """Yield the records that go, in order, and return the log afterwards; BrokerError where that fails."""
    if not cleaning.between(cleaning.first_dirty, cleaning.end):
        return CleanedLog(tuple(map(_untouched, cleaning.segments)), checkpoint)
    keys = _Keys(cleaning, cleaning.first_dirty)
    passes, reached = 1, keys.latest + 1
    while reached < cleaning.end:
        passes, reached = passes + 1, _Keys(cleaning, reached).latest + 1
    cleaning_pass = _Pass(cleaning, keys)
    touched = cleaning.between(0, keys.latest + 1)
    cleaned = []
    for group in _groups(touched, cleaning):
        cleaned += [(yield from cleaning_pass.clean_group(group))]
    tail = map(_untouched, cleaning.segments[len(touched) :])
    return CleanedLog((*cleaned, *tail), keys.latest + 1, len(keys.offsets), passes, *cleaning_pass.totals)


def _groups(segments: Sequence[LoadedSegment], cleaning: Cleaning) -> Iterator[list[LoadedSegment]]:
    """Yield the segments that become one (`Cleaner.groupSegmentsBySize`)."""
    group: list[LoadedSegment] = []
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else cleaning.end
        joined = [*group, segment]
        offsets = sum(each.offset_index.entries for each in joined) * OFFSET_INDEX_ENTRY.size
        times = sum(each.time_index.entries for each in joined) * TIME_INDEX_ENTRY.size
        size = sum(each.log_size for each in joined)
        fits = size <= cleaning.segment_bytes and max(offsets, times) <= cleaning.index_bytes
        fits = fits and (not segment.log_size or following - 1 - joined[0].base_offset <= MAX_INT)
        if group and not fits:
            yield group
            joined = [segment]
        group = joined
    if group:
        yield group


def _untouched(segment: LoadedSegment) -> CleanedSegment:
    counts = []
    with suppress(BrokerError):  # the cleaner does not read it
        for log, batch in _batches(segment):
            counts.append(_count(log, batch))
    size, count = segment.log_size, sum(counts)
    return CleanedSegment(segment.base_offset, (segment.base_offset,), size, size, count, count, len(counts))


def _count(log: DataFile, batch: Batch) -> int:
    count = record_count(batch.header)
    return sum(1 for _ in _records(log, batch)) if count is None else count


class _Pass:
    """The second half of a cleaning: every segment is written anew, and counted."""

    def __init__(self, cleaning: Cleaning, keys: _Keys) -> None:
        self._cleaning = cleaning
        self._keys = keys
        self._transactions = _Transactions()
        self._legacy_horizon = 0
        for segment in cleaning.between(0, cleaning.first_dirty)[-1:]:
            modified = cleaning.modified_ms[segment.base_offset]
            self._legacy_horizon = modified - cleaning.delete_retention_ms
        self.totals = [0, 0, 0, 0, 0]
        """As `CleanedLog` from messages_read on."""

    def clean_group(self, group: Sequence[LoadedSegment]) -> Generator[DroppedRecord, None, CleanedSegment]:
        """Yield the records of the segments that go; return the segment that these become."""
        before = size = records = batches = 0
        ends = [*(segment.base_offset for segment in group[1:]), log_segment.read_next_offset(group[-1])]
        for segment, end in zip(group, ends, strict=True):
            self._transactions.add(self._cleaning.aborted(segment.base_offset, end))
            keeps_legacy = self._cleaning.modified_ms[segment.base_offset] > self._legacy_horizon
            for log, batch, entries in _decoded(segment):
                before += _count(log, batch)
                dropped, written, count = self._batch(log, batch, entries, keeps_legacy=keeps_legacy)
                for offset, reason in dropped:
                    yield DroppedRecord(segment.base_offset, offset, reason)
                size, records, batches = size + written, records + count, batches + bool(written)
        bases = tuple(segment.base_offset for segment in group)
        size_before = sum(segment.log_size for segment in group)
        return CleanedSegment(bases[0], bases, size_before, size, before, records, batches)

    def _batch(
        self, log: DataFile, batch: Batch, entries: Iterable[Entry], *, keeps_legacy: bool
    ) -> tuple[list[tuple[int, str]], int, int]:
        """Return offsets and reasons of a batch's records that go, the bytes and records that stay."""
        head = batch.header
        can_go = self._transactions.ends_or_drops(log, batch)
        horizon = head.delete_horizon_ms
        is_past = horizon is not None and self._cleaning.now_ms >= horizon
        goes = can_go and (is_past or not head.is_control)
        stays_empty = self._stays_empty(head)
        keeps_tombstones = keeps_legacy if is_legacy(head.magic) else not is_past
        retained, dropped, has_nulls = 0, [], False
        stays: list[bool] = []
        for offset, key, is_null in entries:
            if goes:
                reason: str | None = MARKER if head.is_control else ABORTED
            elif head.is_control:
                reason = None
            else:
                reason = self._reason(offset, key, is_null=is_null, keeps_tombstones=keeps_tombstones)
            stays.append(reason is None)
            if reason is None:
                retained, has_nulls = retained + 1, has_nulls or is_null
            else:
                dropped.append((offset, reason))
        stamps = horizon is None and ((can_go and head.is_control) or has_nulls)
        size = HEADER_SIZE if stays_empty else 0
        if retained:
            size = head.size
            if dropped or stamps or is_legacy(head.magic):
                stamp = self._cleaning.now_ms + self._cleaning.delete_retention_ms if stamps else horizon
                size = _rewritten_size(head, [*compress(_records(log, batch), stays)], stamp)
        elif stays_empty and is_legacy(head.magic):
            message = "a message of magic 0 or 1 would have to stay empty: the cleaner fails"
            raise BrokerError(log_segment.ILLEGAL_STATE, log.path, batch.position, message)
        is_read = stays_empty or not goes
        tombstones = sum(reason == TOMBSTONE for _, reason in dropped)
        counted = (is_read * len(stays), retained, head.size, size, tombstones)
        self.totals = [total + each for total, each in zip(self.totals, counted, strict=True)]
        return dropped, size, retained

    def _stays_empty(self, head: BatchHeader) -> bool:
        producer = self._cleaning.producers.get(head.producer_id)
        if producer is not None:
            if producer.last_offset < 0:
                is_last = head.is_control and head.producer_epoch == producer.epoch
            else:
                is_last = head.last_offset == producer.last_offset
            if is_last:
                return True
        return head.last_offset + 1 == self._cleaning.kept_end

    def _reason(self, offset: int, key: bytes | None, *, is_null: bool, keeps_tombstones: bool) -> str | None:
        if offset > self._keys.latest:
            return None
        if key is None:
            return NO_KEY
        if offset < self._keys.offsets.get(_digest(key), -1):
            return NEWER_KEY
        return TOMBSTONE if is_null and not keeps_tombstones else None


def _rewritten_size(head: BatchHeader, retained: Sequence[Record | LegacyRecord], horizon: int | None) -> int:
    """Return the bytes of a batch with the records that stay (`MemoryRecords.buildRetainedRecordsInto`)."""
    base = retained[0].offset if is_legacy(head.magic) else head.base_offset
    is_append_time = head.timestamp_type == LOG_APPEND_TIME
    times = [head.max_timestamp if is_append_time else record.timestamp for record in retained]
    first = times[0] if horizon is None else horizon
    body = b"".join(
        pack_record(
            record.offset - base,
            time - first,
            record.key,
            record.value,
            () if isinstance(record, LegacyRecord) else record.headers,
        )
        for record, time in zip(retained, times, strict=True)
    )
    return HEADER_SIZE + compressed_size(head.codec, body)
