"""How many records of data, which no control records are, a log holds: by the headers of its batches."""

from collections.abc import Iterable

from formats.batch import BatchHeader
from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError, LimitError
from formats.magic import record_count
from formats.message_set import message_set, set_records
from kcli.kafka.storage.loaded_log import LoadedLog, LostBytes
from kcli.kafka.storage.log_segment import BrokerError, file_batches, header, segments_from
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import FileBatch, only_zeros


def data_count(batch: BatchHeader) -> int | None:
    """Return how many records of data a header says; None as of `record_count`."""
    return 0 if batch.is_control else record_count(batch)


def data_records(log: LoadedLog, first_offset: int = 0) -> int | None:
    """Return how many records of data a log holds from an offset on, by headers; None if unknown."""
    first = max(first_offset, log.log_start_offset)
    if log.log_end_offset <= first:
        return 0
    return records_in((LostBytes(segment, 0) for segment in segments_from(log.segments, first)), first)


def records_in(parts: Iterable[LostBytes], first: int = 0) -> int | None:
    """Return how many records of data whole batches that end at `first` or above hold; None if unknown."""
    total = 0
    for segment, position in parts:
        if position >= segment.log_size:
            continue
        with segment.log() as log:
            try:
                for batch in file_batches(log, position, segment.log_size):
                    batch_header = header(log, batch)
                    if batch_header.last_offset >= first:
                        count = data_count(batch_header)
                        total += _messages_in(log, batch) if count is None else count
            except FormatError:
                return None
            except BrokerError as error:
                if error.position is None or not only_zeros(log, error.position, segment.log_size):
                    return None
    return total


def _messages_in(file: DataFile, batch: FileBatch) -> int:
    """Return how many messages a compressed wrapper of magic 0 or 1 holds. FormatError."""
    if batch.size > LARGEST_BATCH:
        raise LimitError(0, "message", LARGEST_BATCH, batch.size)
    opened = message_set(file.read(batch.position, batch.size), LARGEST_BATCH)
    return sum(1 for _ in set_records(opened))
