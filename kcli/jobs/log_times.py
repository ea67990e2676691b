"""What the batches of a log say of time: when it rolls, what is ahead of the clock, when tombstones go."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from formats.batch import CONTROL_MASK, DELETE_HORIZON_MASK, HEADER_SIZE, NO_PRODUCER_ID, NO_TIMESTAMP
from formats.bounds import LARGEST_BATCH
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.magic import read_header
from formats.record import Record
from kcli.jobs.log_search import read_records
from kcli.kafka.kraft.log_config import LogConfig
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import LoadedSegment
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
                if any(isinstance(each, Record) and each.value is None for each in records):
                    horizons.append(batch.header.base_timestamp)
    return min(horizons, default=None)


def _batches(log: DataFile, end: int, matches: Callable[[Any], Any]) -> Iterator[Batch]:
    """Yield the batches whose header fields, as columns, match."""
    from kcli.logdir.bulk import BulkWalk

    for window in BulkWalk(log, 0, end, verify=False):
        for number in matches(window.fields).nonzero()[0].tolist():
            position = int(window.positions[number])
            yield Batch(position, read_header(log.read(position, HEADER_SIZE)))
