"""The batches of a log to which the entries of its indexes lead, as kafka-dump-log finds them."""

from itertools import chain
from typing import NamedTuple

from formats.batch import LOG_OVERHEAD, NO_TIMESTAMP
from formats.errors import FormatError
from formats.legacy import MESSAGE_V1
from formats.magic import FORMATS, LARGEST_HEADER, holds_header, is_legacy, magic_of, read_header
from formats.message_set import message_set, messages
from formats.record import batch_records
from kcli.dump.options import DumpOptions
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.storage.log_segment import is_wrapper
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.segment import Batch, Walk, next_batch

_LAST_OFFSET = {
    magic: (form.layout.only("base_offset", "batch_length", "last_offset_delta"), form.smallest_length)
    for magic, form in FORMATS.items()
    if not is_legacy(magic)
}
INTERVAL = 8 << 10
"""Bytes of a log in which the batch that an index leads to lies, nearly always."""


class Indexed(NamedTuple):
    """What an entry of an index leads to.

    `batch` is the last offset of the batch, `taken` that of what a broker's reader takes for one, which may
    be no batch; None for nothing. `timestamp` is the largest of the batch's records where it ends with the
    entry's offset; None where it is unknown.
    """

    batch: int | None
    taken: int | None
    timestamp: int | None = None


def by_position(log: DataFile, entry: tuple[int, int], options: DumpOptions) -> Indexed:
    """Return what an entry of an offset index leads to."""
    offset, position = entry
    found = first_last_offset(log, position, options)
    if found == offset:
        return Indexed(found, found)
    taken = taken_for_batch(log, position, min(log.size, position + options.max_message_size))
    return Indexed(found, None if taken is None else taken.last_offset)


def by_offset(
    finder: "Finder", entry: tuple[int, int], options: DumpOptions, findings: FindingCollector
) -> Indexed:
    """Return what an entry of a time index leads to."""
    batch, taken = finder.batch(entry[1]), finder.taken
    if batch is None:
        return Indexed(None, None, None) if taken is None else Indexed(None, *taken[:2])
    last = batch.header.last_offset
    latest = largest_timestamp(finder.log, batch, options, findings) if last == entry[1] else None
    return Indexed(last, last, latest)


def first_last_offset(log: DataFile, position: int, options: DumpOptions) -> int | None:
    """Return the last offset of the batch at a position of the log; None where none can be read."""
    if not 0 <= position < log.size:
        return None
    batch = next(iter(Walk(log, position, position + options.max_message_size, ahead=LARGEST_HEADER)), None)
    return batch.header.last_offset if batch is not None else None


class Taken(NamedTuple):
    """What a broker's reader takes for a batch.

    `timestamp` is as of `largest_timestamp`, `end` the position after it.
    """

    last_offset: int
    timestamp: int | None
    end: int


def taken_for_batch(log: DataFile, position: int, end: int) -> Taken | None:
    """Return what a broker's reader takes for a batch at a position and before `end`; None for nothing.

    It asks for a length that fits, and for nothing else (`FileLogInputStream.nextBatch`). A negative magic
    reads as a message of magic 1.
    """
    found = next_batch(log, position, end) if position >= 0 else None
    if found is None:
        return None
    head, after = found.window, position + found.size
    if is_legacy(found.magic):
        has_time = found.magic < 0 and len(head) >= MESSAGE_V1.size and not is_wrapper(found)
        timestamp = max(MESSAGE_V1.read(head).timestamp, NO_TIMESTAMP) if has_time else None
        return Taken(found.base_offset, timestamp, after)
    return Taken(read_header(head).last_offset, None, after) if holds_header(head) else None


def leads_to_its_batch(log: DataFile, entry: tuple[int, int], options: DumpOptions) -> bool:
    """Whether an entry of an offset index leads to a whole batch of magic 2 that ends with its offset."""
    offset, position = entry
    try:
        head = log.read(position, LARGEST_HEADER)
    except FileError:
        return False
    form = _LAST_OFFSET.get(magic_of(head)) if holds_header(head) else None
    if form is None:
        return False
    fields, smallest_length = form
    first, length, delta = fields.unpack_from(head)
    in_reach: int = min(log.size - position, options.max_message_size) - LOG_OVERHEAD
    return bool(first + delta == offset and smallest_length <= length <= in_reach)


class Finder:
    """Finds the first batch that ends with an offset or after it, from where the offset index leads.

    Where the index leads to the same place for one offset after another, as an empty one does, it goes on
    where it was.
    """

    def __init__(self, log: DataFile, offsets: OffsetIndexFile | None) -> None:
        self.log = log
        self._offsets = offsets
        self._led_to, self._offset = -1, 0
        self._found: Batch | None = None
        self.taken: Taken | None = None
        """What is no batch, but is taken for the one that was asked for."""

    def batch(self, offset: int) -> Batch | None:
        """Return the batch; None past the end of the log, and for what is only taken for one."""
        self.taken = None
        position = self._offsets.lookup(offset)[1] if self._offsets is not None else 0
        if position < 0:
            return None
        start = position
        if position == self._led_to and offset >= self._offset:
            if self._found is None:
                return None
            start = self._found.position
        self._led_to, self._offset = position, offset
        self._found, self.taken = self._first(start, offset)
        if self.taken is not None:
            self._led_to = -1  # there may be batches after it
        return self._found

    def _first(self, position: int, offset: int) -> tuple[Batch | None, Taken | None]:
        """Return the first batch that ends with an offset or after it, or what is taken for one before."""
        while True:
            walk = Walk(self.log, position, ahead=INTERVAL)
            found = next((batch for batch in walk if batch.header.last_offset >= offset), None)
            passed = (
                taken_for_batch(self.log, walk.stop.position, self.log.size)
                if walk.stop is not None
                else None
            )
            if passed is None:
                return found, None
            if passed.last_offset >= offset:
                return None, passed
            position = passed.end


def largest_timestamp(
    log: DataFile, batch: Batch, options: DumpOptions, findings: FindingCollector
) -> int | None:
    """Return the largest timestamp of a batch's records, at least -1; None if they cannot be read."""
    position, header = batch
    if header.size > options.max_batch_bytes:
        return header.max_timestamp
    raw = log.read(position, header.size)
    try:
        if not is_legacy(header.magic):
            return max(
                chain(
                    (NO_TIMESTAMP,),
                    (record.timestamp for record in batch_records(raw, options.max_batch_bytes)),
                )
            )
        return max(
            chain(
                (NO_TIMESTAMP,),
                (message.timestamp for message in messages(message_set(raw, options.max_batch_bytes))),
            )
        )
    except FormatError as error:
        findings.add(
            "DUMP-002", position, f"the batch at byte {position} of the log: {error.moved(position)}"
        )
        return None
