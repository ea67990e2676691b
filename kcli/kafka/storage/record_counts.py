"""How many records a log holds, by the headers of its batches."""

from collections.abc import Iterable

from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError, LimitError
from formats.magic import record_count
from formats.message_set import message_set, set_records
from kcli.kafka.storage.loaded_log import LoadedLog, LostBytes
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment, file_batches, header, segments_from
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import FileBatch, only_zeros


def data_records(log: LoadedLog, first_offset: int = 0) -> int | None:
    """Return how many records of data a log holds from an offset on, by headers; None if unknown."""
    first = max(first_offset, log.log_start_offset)
    return records_of_segments(segments_from(log.segments, first), first) if log.log_end_offset > first else 0


def records_of_segments(segments: Iterable[LoadedSegment], first: int) -> int | None:
    """Do as `data_records`, of segments; where the log ends does not count."""
    total = 0
    for segment in segments:
        if not segment.log_size:
            continue
        with segment.log() as file:
            try:
                for batch in file_batches(file, 0, segment.log_size):
                    header_of_batch = header(file, batch)
                    if not header_of_batch.is_control and header_of_batch.last_offset >= first:
                        count = record_count(header_of_batch)
                        total += _messages_in(file, batch) if count is None else count
            except (BrokerError, FormatError):
                return None
    return total


def _messages_in(file: DataFile, batch: FileBatch) -> int:
    """Return how many messages a compressed wrapper of magic 0 or 1 holds. FormatError."""
    if batch.size > LARGEST_BATCH:
        raise LimitError(0, "message", LARGEST_BATCH, batch.size)
    opened = message_set(file.read(batch.position, batch.size), LARGEST_BATCH)
    return sum(1 for _ in set_records(opened))


def records_in(lost: Iterable[LostBytes]) -> int | None:
    """Return how many records whole batches hold, by their headers; None where they do not tell."""
    total = 0
    for segment, position in lost:
        with segment.log() as log:
            try:
                for batch in file_batches(log, position, segment.log_size):
                    count = record_count(header(log, batch))
                    if count is None:
                        return None
                    total += count
            except BrokerError as error:
                if error.position is None or not only_zeros(log, error.position, segment.log_size):
                    return None
    return total
