"""The records of a batch as a read of a log meets them, and the errors of such a read."""

from collections.abc import Iterator
from contextlib import contextmanager

from formats.bounds import describe
from formats.errors import FormatError, LimitError
from formats.magic import is_legacy
from formats.message_set import LegacyMessage, message_set, messages
from formats.record import Record, batch_records
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.segment import Batch

LOOKUP_FAILED = "lookup-failed"  # the code of the error for a lookup at which the broker fails


@contextmanager
def failing_lookup() -> Iterator[None]:
    """Turn what the broker throws at a lookup into the FileError that says so."""
    try:
        yield
    except BrokerError as error:
        message = f"the broker fails at this lookup: {error}"
        raise FileError(error.path, LOOKUP_FAILED, message, error.position) from error


def read_records(file: DataFile, batch: Batch, limit: int) -> Iterator[Record | LegacyMessage]:
    """Yield a batch's records, unpacked; FileError where they cannot be read."""
    header = batch.header
    if header.size > limit:
        raise _unread(file, LimitError(batch.position, "batch size", f"at most {limit} bytes", header.size))
    raw = file.read(batch.position, header.size)
    try:
        if is_legacy(header.magic):
            yield from messages(message_set(raw, limit))
        else:
            yield from batch_records(raw, limit)
    except FormatError as error:
        raise _unread(file, error.moved(batch.position)) from error


def _unread(file: DataFile, error: FormatError) -> FileError:
    return FileError(file.path, error.code, describe(error), error.position, error.field)
