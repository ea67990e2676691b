"""The batches of a log with what recovery and the producer state need of each.

A large log is read in windows, its headers as columns and all checksums of a window at once. To load numpy
for it costs more than to read a small log, so a small one is read batch by batch. Both give the same batches,
and the same BrokerError at the same byte. The truth is `FileLogInputStream` and `RecordBatch.ensureValid`.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from formats.batch import LOG_OVERHEAD, NO_SEQUENCE, BatchHeader, add_sequence
from formats.legacy import is_valid
from formats.magic import format_of, is_legacy
from kcli.kafka.storage.log_segment import CORRUPT_RECORD, BrokerError, file_batches, header
from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import FileBatch

if TYPE_CHECKING:
    from kcli.logdir.bulk import Window

BULK_FROM = 4 << 20
"""Bytes of a log from which on it is read in windows."""
CHECKSUM_CHUNK = 1 << 20
NO_HOP = 1 << 32


class LogBatch(NamedTuple):
    """A batch of a log: position and size in bytes, its header's fields; -1 where magic 0 and 1 lack one."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    partition_leader_epoch: int
    magic: int
    attributes: int
    producer_id: int
    producer_epoch: int
    base_sequence: int

    @property
    def last_sequence(self) -> int:
        """The sequence of its last record; -1 without a base sequence."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return add_sequence(self.base_sequence, self.last_offset - self.base_offset)


_header_fields = attrgetter(*LogBatch._fields[2:])


def valid_batches(log: DataFile, end: int) -> Iterator[LogBatch]:
    """Yield the batches up to a position; BrokerError at a wrong checksum, or what no broker reads."""
    position = 0
    if end >= BULK_FROM:
        from kcli.logdir.bulk import BulkWalk

        walk = BulkWalk(log, 0, end, eager=True)
        for window in walk:
            yield from _valid_rows(log, window)
        position = walk.stop.position if walk.stop else end
    # what a reader of records refuses, recovery may take
    for in_file in file_batches(log, position, end, hop_from=NO_HOP):
        _ensure_valid(log, in_file)
        yield _log_batch(in_file, header(log, in_file))


def header_batches(log: DataFile, start: int, end: int) -> Iterator[LogBatch]:
    """Yield the batches between two positions, checksums unread; of magic 0 and 1 some are left out."""
    position = start
    if end - start >= BULK_FROM:
        from kcli.logdir.bulk import BulkWalk

        walk = BulkWalk(log, start, end, verify=False)
        for window in walk:
            yield from _rows(window, len(window.positions))
        position = walk.stop.position if walk.stop else end
    for in_file in file_batches(log, position, end):
        if not is_legacy(in_file.magic):
            yield _log_batch(in_file, header(log, in_file))


def _log_batch(in_file: FileBatch, batch: BatchHeader) -> LogBatch:
    return LogBatch(in_file.position, in_file.size, *_header_fields(batch))


def _valid_rows(log: DataFile, window: "Window") -> Iterator[LogBatch]:
    assert window.valid is not None, "checksums were asked for"
    invalid = (~window.valid).nonzero()[0]
    if not len(invalid):
        yield from _rows(window, len(window.positions))
        return
    first = int(invalid[0])
    yield from _rows(window, first)
    raise _wrong_checksum(log, int(window.positions[first]), int(window.fields["base_offset"][first]))


def _rows(window: "Window", count: int) -> Iterator[LogBatch]:
    """Return the first batches of a window."""
    fields = window.fields[:count]
    base_offsets = fields["base_offset"].astype("i8")
    columns = (
        window.positions[:count],
        fields["batch_length"] + LOG_OVERHEAD,
        base_offsets,
        base_offsets + fields["last_offset_delta"],
        *(fields[name] for name in LogBatch._fields[4:]),
    )
    return map(LogBatch._make, zip(*(column.tolist() for column in columns), strict=True))


def _ensure_valid(log: DataFile, batch: FileBatch) -> None:
    """Raise the BrokerError of a wrong checksum; a batch larger than its window is read in chunks."""
    form = format_of(batch.magic)
    if not is_legacy(batch.magic) and batch.size < form.layout.size:
        message = f"a batch of {batch.size} bytes, its header alone has {form.layout.size}"
        raise BrokerError(CORRUPT_RECORD, log.path, batch.position, message)
    view = memoryview(batch.window)[batch.header_at : batch.header_at + batch.size]
    if len(view) == batch.size and is_legacy(batch.magic):
        valid = is_valid(view)
    else:
        checksum = form.checksum(view[form.crc_from :], 0)
        position, end = batch.position + len(view), batch.position + batch.size
        while position < end:
            piece = log.read(position, min(CHECKSUM_CHUNK, end - position))
            checksum = form.checksum(piece, checksum)
            position += len(piece)
        valid = checksum == form.stored_crc.unpack_from(view)[0]
    if not valid:
        raise _wrong_checksum(log, batch.position, batch.base_offset)


def _wrong_checksum(log: DataFile, position: int, base_offset: int) -> BrokerError:
    message = f"the batch at offset {base_offset} does not match its checksum"
    return BrokerError(CORRUPT_RECORD, log.path, position, message)
