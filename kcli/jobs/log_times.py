"""What the batches of a log say of its ends and of time: when it rolls, when tombstones go, what is ahead."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from formats.batch import (
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
)
from formats.bounds import LARGEST_BATCH
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.magic import LARGEST_HEADER, is_legacy, read_header, record_count
from formats.record import Record
from kcli.kafka.kraft.log_config import LogConfig
from kcli.kafka.storage.batch_records import read_records
from kcli.kafka.storage.cleaner import NOT_WHOLE
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment, file_batches, header, tail_in
from kcli.kafka.storage.retention import LARGEST_TIME, LocalSegment
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.segment import Batch
from kcli.rows.retention import FutureTimestamp

HORIZON = DELETE_HORIZON_MASK
STAMPED = DELETE_HORIZON_MASK | CONTROL_MASK


class Ends(NamedTuple):
    """The first batch of a segment and its first record's timestamp, -1 for none; its last batch's end.

    `is_cleaned`: whether its first batch shows that a cleaner wrote it. `broken`: what a reader of the whole
    segment meets, by what is seen at its ends; then the rest is missing.
    """

    first_offset: int | None = None
    first_timestamp: int = NO_TIMESTAMP
    first_batch_time: int = NO_TIMESTAMP
    last_offset: int | None = None
    is_cleaned: bool = False
    broken: str | None = None


def ends_of(segment: LoadedSegment, *, with_last: bool = True) -> Ends:
    """Return the ends of a segment: a broker reads none of them to delete it, so damage hides them alone."""
    ends = Ends()
    if segment.log_path is None or not segment.log_size:
        return ends
    with segment.log() as log:
        for reader in (_beginning, _end) if with_last else (_beginning,):
            try:
                ends = reader(log, segment, ends)
            except BrokerError as error:
                ends = ends._replace(broken=str(error))
    return ends


def _beginning(log: DataFile, segment: LoadedSegment, ends: Ends) -> Ends:
    walk = file_batches(log, 0, segment.log_size, ahead=LARGEST_HEADER)
    batches = (Batch(in_file.position, header(log, in_file)) for in_file in walk)
    first = next(batches, None)
    if first is None:
        return ends
    offset, timestamp = _first_record(log, first, batches)
    head = first.header
    is_cleaned = not is_legacy(head.magic) and not _is_whole(head)
    return Ends(offset, timestamp, head.max_timestamp, is_cleaned=is_cleaned)


def _end(log: DataFile, segment: LoadedSegment, ends: Ends) -> Ends:
    tail, last = tail_in(log, segment), None
    end = tail.end
    if tail.last is not None:
        last = tail.next_offset - 1
    else:  # its index leads past its log
        batches = file_batches(log, 0, segment.log_size)
        end = max((in_file.position + in_file.size for in_file in batches), default=0)
    remaining_bytes = segment.log_size - end
    torn = NOT_WHOLE.format(remaining_bytes, end) if remaining_bytes else None
    return ends._replace(last_offset=last, broken=ends.broken or torn)


def _is_whole(head: BatchHeader) -> bool:
    """Whether a batch has all that was written: a cleaning leaves a record out, or sets a horizon."""
    return record_count(head) == head.last_offset_delta + 1 and head.delete_horizon_ms is None


def _first_record(log: DataFile, first: Batch, batches: Iterator[Batch]) -> tuple[int | None, int]:
    """Return offset and timestamp of the first record: of a batch that a cleaning emptied there is none."""
    for batch in chain([first], batches):
        head = batch.header
        if not is_legacy(head.magic) and _is_whole(head):
            is_append_time = head.timestamp_type == LOG_APPEND_TIME
            return head.base_offset, head.max_timestamp if is_append_time else head.base_timestamp
        with suppress(FileError):
            for record in read_records(log, batch, LARGEST_BATCH):
                return record.offset, record.timestamp
    return None, NO_TIMESTAMP


def rolls_at(active: LoadedSegment, ends: Ends, config: LogConfig, now_ms: int) -> int | None:
    """Return the first ms at which an append rolls the active segment (`LogSegment.shouldRoll`)."""
    if not active.log_size:
        return None
    index_bytes = config.number("segment.index.bytes")
    is_full = (
        active.log_size > config.number("segment.bytes")
        or active.offset_index.entries >= index_bytes // OFFSET_INDEX_ENTRY.size
        or active.time_index.entries >= index_bytes // TIME_INDEX_ENTRY.size - 1
    )
    if is_full:
        return now_ms
    begins = now_ms if ends.first_batch_time < 0 else ends.first_batch_time
    rolls_at = begins + config.segment_ms + 1
    return rolls_at if rolls_at <= LARGEST_TIME else None


def future(segments: Iterable[tuple[LoadedSegment, LocalSegment]], now_ms: int) -> Iterator[FutureTimestamp]:
    """Yield the records with a timestamp after `now_ms`, in the order of the log; no end markers."""
    for segment, judged in segments:
        if not judged.has_timestamps or judged.largest_timestamp <= now_ms:
            continue
        with suppress(FileError), segment.log() as log:
            for batch in _batches(log, segment.log_size, lambda fields: fields["max_timestamp"] > now_ms):
                if batch.header.is_control:
                    continue
                producer = batch.header.producer_id
                for record in read_records(log, batch, LARGEST_BATCH):
                    if record.timestamp > now_ms:
                        producer_id = None if producer == NO_PRODUCER_ID else producer
                        yield FutureTimestamp(record.offset, record.timestamp, producer_id)


def first_horizon(loaded: LoadedLog, first_dirty: int) -> int | None:
    """Return the first delete horizon (KIP-534) that a cleaning has set for tombstones."""
    horizons = []
    for segment in loaded.segments:
        if segment.base_offset >= first_dirty or segment.log_path is None:
            break
        with suppress(FileError), segment.log() as log:
            stamped = _batches(
                log, segment.log_size, lambda fields: fields["attributes"] & STAMPED == HORIZON
            )
            for batch in stamped:
                records = read_records(log, batch, LARGEST_BATCH)
                if any(isinstance(record, Record) and record.value is None for record in records):
                    horizons.append(batch.header.base_timestamp)
    return min(horizons, default=None)


def _batches(log: DataFile, end: int, matches: Callable[[Any], Any]) -> Iterator[Batch]:
    """Yield the batches whose header fields, as columns, match."""
    from kcli.logdir.bulk import BulkWalk

    for window in BulkWalk(log, 0, end, verify=False):
        for number in matches(window.fields).nonzero()[0].tolist():
            position = int(window.positions[number])
            yield Batch(position, read_header(log.read(position, HEADER_SIZE)))
