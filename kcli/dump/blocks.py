"""Blocks of columns: consecutive batches of a log, with their records where asked for, and parts of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    COMPRESSION_NAMES,
    CONTROL_MASK,
    LOG_OVERHEAD,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
)
from formats.bounds import describe
from formats.bulk import Fields, together
from formats.errors import FormatError
from formats.magic import is_legacy
from formats.message_set import LegacyRecord, message_set, set_records
from formats.record import Record, batch_records
from formats.record_columns import CHUNK_BYTES, RecordColumns, subset
from kcli.dump.options import DumpOptions, RecordFilter
from kcli.engine.contract import ResumePoint
from kcli.logdir.bulk import Window
from kcli.logdir.segment import DamagedRange, Stop

Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

MEMORY_A_HEADER = 64
"""Memory of a header of a record besides its bytes."""
PART_RECORDS = 1 << 13
"""Records of a block of one batch that is read one record at a time."""


class LegacyColumns(NamedTuple):
    """What only records of magic 0 and 1 have: sizes as stored, and a checksum of their own."""

    key_size: Ints
    value_size: Ints
    is_valid: Mask
    crc: Ints


class Problem(NamedTuple):
    """What of a batch cannot be read: a finding about it."""

    code: str
    position: int
    message: str


class Block(NamedTuple):
    """Consecutive batches of a log, either all of magic 2 or all of magic 0 and 1.

    `positions` are bytes of the file, `fields` their headers (see `formats.bulk`), `valid`: whether the
    checksum matches. `records` are those that the filter leaves, None where batches alone are asked for.
    `begins`: no earlier block had records of the first batch. `resume` is the place after the block.
    """

    positions: Ints
    fields: Fields
    valid: Mask
    records: RecordColumns | None = None
    legacy: LegacyColumns | None = None
    problems: tuple[Problem, ...] = ()
    begins: bool = True
    resume: ResumePoint = ResumePoint(0)

    @property
    def is_v2(self) -> bool:
        """Whether the batches are of magic 2; what follows 2 Kafka reads as 2."""
        return not is_legacy(int(self.fields["magic"][0]))

    @property
    def rows(self) -> int:
        """Rows that the block has: records, or batches."""
        return len(self.positions) if self.records is None else len(self.records.offset)

    @property
    def is_long(self) -> bool:
        """Whether it is one record of more than CHUNK_BYTES: what is made of it is made in slices."""
        records = self.records
        if records is None or len(records.offset) != 1:
            return False
        of_record = int(records.key_length[0]) + int(records.value_length[0])
        of_headers = int(records.header_key_length.sum()) + int(records.header_value_length.sum())
        return of_record + of_headers > CHUNK_BYTES

    def last_rows(self, count: int) -> "Block":
        """Return the last rows, without batches that have none of them, in memory of their own."""
        first = max(self.rows - count, 0)
        if self.records is None:
            return select_batches(self, np.arange(len(self.positions)) >= first)
        numbers = np.arange(first, self.rows)
        keep = np.zeros(len(self.positions), np.bool_)
        keep[self.records.batch[numbers]] = True
        block = select_rows(self, numbers, keep)
        return block._replace(records=None if block.records is None else compacted(block.records))


def records_at(columns: RecordColumns, numbers: Ints) -> Iterator[Record]:
    """Yield offset, key and value of some records; the rest of them is not there."""
    values = zip(
        columns.offset[numbers].tolist(),
        contents_at(columns.data, columns.key_start[numbers], columns.key_length[numbers]),
        contents_at(columns.data, columns.value_start[numbers], columns.value_length[numbers]),
        strict=True,
    )
    return (Record(offset, 0, NO_SEQUENCE, key, value, (), 0) for offset, key, value in values)


def headers_of(columns: RecordColumns) -> Iterator[list[tuple[bytes, bytes | None]]]:
    """Yield the headers of each record: keys and values."""
    keys = contents_at(columns.data, columns.header_key_start, columns.header_key_length)
    values = contents_at(columns.data, columns.header_value_start, columns.header_value_length)
    pairs = [(key or b"", value) for key, value in zip(keys, values, strict=True)]
    for first, count in zip(columns.headers_first.tolist(), columns.headers_count.tolist(), strict=True):
        yield pairs[first : first + count]


def by_batch(block: Block) -> Iterator[Block]:
    """Yield the batches of a block, each with its records, one by one; nothing after a limit is read."""
    records, count = block.records, len(block.positions)
    if records is None or count == 1:
        yield block
        return
    for number in range(count):
        numbers = np.arange(records.bounds[number], records.bounds[number + 1])
        size = LOG_OVERHEAD + int(block.fields["batch_length"][number])
        selected = select_rows(block, numbers, np.arange(count) == number)
        yield selected._replace(resume=ResumePoint(int(block.positions[number]) + size))


def record_size(record: Record | LegacyRecord) -> int:
    """Return about how many bytes of memory a record's contents and headers take."""
    size = len(record.key or b"") + len(record.value or b"")
    if isinstance(record, Record):
        size += sum(MEMORY_A_HEADER + len(key) + len(value or b"") for key, value in record.headers)
    return size


def size_of_records(columns: RecordColumns) -> int:
    """Return the `record_size` of all records."""
    lengths = (
        columns.key_length,
        columns.value_length,
        columns.header_key_length,
        columns.header_value_length,
    )
    contents = sum(int(np.maximum(column, 0).sum()) for column in lengths)
    return contents + MEMORY_A_HEADER * int(columns.headers_count.sum())


def columns_of(
    records: Sequence[Record | LegacyRecord], header: Fields, before: int, *, ends: bool
) -> RecordColumns:
    """Return the columns of some records of one batch."""
    headers = [record.headers if isinstance(record, Record) else () for record in records]
    contents: list[bytes | None] = [content for record in records for content in (record.key, record.value)]
    contents += [content for some in headers for pair in some for content in pair]
    lengths = _ints(-1 if content is None else len(content) for content in contents)
    starts = np.cumsum(np.maximum(lengths, 0)) - np.maximum(lengths, 0)
    count = 2 * len(records)
    counts = _ints(map(len, headers))
    return RecordColumns(
        first=0,
        headers=header,
        bounds=np.array([0, len(records)]),
        data=b"".join(content for content in contents if content),
        batch=np.zeros(len(records), np.int64),
        offset=_ints(record.offset for record in records),
        timestamp=_ints(record.timestamp for record in records),
        sequence=_ints(record.sequence if isinstance(record, Record) else NO_SEQUENCE for record in records),
        attributes=np.array([record.attributes & 0xFF for record in records], np.uint8),
        key_start=starts[:count:2],
        key_length=lengths[:count:2],
        value_start=starts[1:count:2],
        value_length=lengths[1:count:2],
        headers_count=counts,
        headers_first=np.cumsum(counts) - counts,
        header_key_start=starts[count::2],
        header_key_length=lengths[count::2],
        header_value_start=starts[count + 1 :: 2],
        header_value_length=lengths[count + 1 :: 2],
        before=before,
        ends=ends,
    )


def legacy_columns(records: Sequence[Record | LegacyRecord]) -> LegacyColumns:
    """Return what only records of magic 0 and 1 have."""
    legacy = [record for record in records if isinstance(record, LegacyRecord)]
    return LegacyColumns(
        _ints(-1 if record.key_size is None else record.key_size for record in legacy),
        _ints(-1 if record.value_size is None else record.value_size for record in legacy),
        np.array([record.is_valid for record in legacy], np.bool_),
        _ints(record.crc for record in legacy),
    )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def select_batches(block: Block, keep: Mask) -> Block:
    """Return some of the batches of a block that has no records."""
    return block._replace(positions=block.positions[keep], fields=block.fields[keep], valid=block.valid[keep])


def select_rows(block: Block, numbers: Ints, keep: Mask) -> Block:
    """Return some of the records of a block, and some of its batches: all of which there are such records."""
    if block.records is None:
        return block
    records = subset(block.records, numbers)
    records = records._replace(
        headers=records.headers[keep],
        batch=(np.cumsum(keep) - 1)[records.batch],
        bounds=np.concatenate((records.bounds[:-1][keep], records.bounds[-1:])),
    )
    of_legacy = block.legacy and LegacyColumns._make(column[numbers] for column in block.legacy)
    return select_batches(block, keep)._replace(
        records=records, legacy=of_legacy, begins=block.begins or not keep[0]
    )


def compacted(columns: RecordColumns) -> RecordColumns:
    """Return records whose data holds their own bytes alone."""
    if 2 * size_of_records(columns) > len(columns.data):
        return columns
    data, begin = bytearray(), dict[str, Any]()
    for name in ("key", "value", "header_key", "header_value"):
        starts, lengths = getattr(columns, f"{name}_start"), getattr(columns, f"{name}_length")
        sizes = np.maximum(lengths, 0)
        begin[f"{name}_start"] = len(data) + np.cumsum(sizes) - sizes
        data += b"".join(content or b"" for content in contents_at(columns.data, starts, lengths))
    return columns._replace(data=bytes(data), **begin)


WORTH_A_BLOCK = 8192
"""Batches of a block: a call of an Arrow kernel costs as much for ten of them as for a thousand."""


def gathered_headers(items: Iterable[Window | DamagedRange | Stop]) -> Iterator[Window | DamagedRange | Stop]:
    """Yield windows without their bytes, those with few batches joined to larger ones; all else as it is."""
    windows: list[Window] = []
    for item in chain(items, [None]):
        if isinstance(item, Window):
            windows.append(item._replace(data=item.data[:0]))
            if sum(len(window.positions) for window in windows) < WORTH_A_BLOCK:
                continue
        if windows:
            yield windows[0]._replace(
                positions=np.concatenate([window.positions for window in windows]),
                fields=together([window.fields for window in windows]),
                valid=np.concatenate([valid_of(window) for window in windows]),
            )
            windows = []
        if isinstance(item, (DamagedRange, Stop)):
            yield item


def valid_of(window: Window) -> Mask:
    """Return which checksums of a verified window match."""
    assert window.valid is not None, "a verified window knows its checksums"
    return window.valid


def part_of(window: Window, which: slice | Mask) -> Window:
    """Return some of the batches of a window: those of a slice, or those that a mask keeps."""
    return window._replace(
        positions=window.positions[which], fields=window.fields[which], valid=valid_of(window)[which]
    )


def runs(window: Window, *, alone: bool) -> Iterator[Window]:
    """Yield the batches of a window, neighbours of one kind of magic together, or each `alone`."""
    legacy = is_legacy(window.fields["magic"])
    ends = (alone | (legacy[1:] != legacy[:-1])).nonzero()[0] + 1
    for begin, end in pairwise([0, *ends.tolist(), len(legacy)]):
        if begin < end:
            yield part_of(window, slice(begin, end))


def block_of(window: Window) -> Block:
    """Return the batches of a window as a block that ends after the last one."""
    return Block(window.positions, window.fields, valid_of(window), resume=after(window))


def after(window: Window) -> ResumePoint:
    """Return the place after the last batch."""
    return ResumePoint(int(window.positions[-1]) + LOG_OVERHEAD + int(window.fields["batch_length"][-1]))


AnyRecord: TypeAlias = Record | LegacyRecord


def blocks_one_by_one(window: Window, raw: bytes, options: DumpOptions, cursor: int) -> Iterator[Block]:
    """Yield a batch with as many of its records as can be read, but for the first `cursor`, some at a time.

    A record of more than CHUNK_BYTES has a block of its own. A message of magic 0 or 1 whose key or value
    cannot be read is a problem; text shows its sizes, as the tool does.
    """
    is_v2 = not is_legacy(window.fields["magic"][0])
    pending: list[AnyRecord] = []
    problems: list[Problem] = []
    number, size = cursor, 0

    def block(*, ends: bool) -> Block:
        result = block_of(window)._replace(
            records=columns_of(pending, window.fields, number - len(pending), ends=ends),
            legacy=None if is_v2 else legacy_columns(pending),
            problems=tuple(problems),
            resume=after(window) if ends else ResumePoint(int(window.positions[0]), number),
        )
        pending.clear()
        problems.clear()
        return result

    item: AnyRecord | Problem | None = None
    for item in _records_of_batch(window, raw, options.max_batch_bytes, cursor):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        item_size = record_size(item)
        if len(pending) >= PART_RECORDS or (pending and size + item_size > CHUNK_BYTES):
            yield block(ends=False)
            size = 0
        number += 1
        if options.text or not (isinstance(item, LegacyRecord) and item.error is not None):
            pending.append(item)
            size += item_size
    item = None  # the last record may be long: its block alone holds it
    yield block(ends=True)


def _records_of_batch(window: Window, raw: bytes, limit: int, cursor: int) -> Iterator[AnyRecord | Problem]:
    """Yield the records of a batch after the first `cursor`, and each problem after its record."""
    position, first = int(window.positions[0]), int(window.fields["base_offset"][0])

    def problem(offset: int, message: str, code: str = "DUMP-002") -> Problem:
        return Problem(code, position, f"offset {offset}: {message}")

    try:
        if not is_legacy(window.fields["magic"][0]):
            yield from islice(batch_records(raw, limit), cursor, None)
            return
        opened = message_set(raw, limit)
        if opened.cut and not cursor:
            yield problem(first, f"{opened.cut} bytes of a message that is cut", "DUMP-009")
        for record in islice(set_records(opened), cursor, None):
            yield record
            if record.error is not None:
                yield problem(record.offset, describe(record.error.moved(position)))
            if not record.is_valid and opened.stream is not None:
                yield problem(
                    record.offset, "the checksum of a message inside a wrapper does not match", "LOG-003"
                )
    except FormatError as error:
        yield problem(first, describe(error.moved(position)))


# What a filter leaves

LOWEST = -(1 << 63)


def may_match(filters: RecordFilter, fields: Fields) -> Mask:
    """Return which batches may hold a matching record, as far as their headers say.

    A header can only rule a batch out. Times of records need not grow with their offsets, so a batch whose
    largest timestamp lies after the range may still hold a record inside it: then its records decide.
    """
    attributes, is_v2 = fields["attributes"], ~is_legacy(fields["magic"])
    candidates = np.ones(len(fields), np.bool_)
    if filters.offsets is not None:
        # a wrapper of magic 0 or 1 is stored with its last offset: it may begin anywhere before
        first = np.where(is_v2 | (attributes & COMPRESSION_CODEC_MASK == 0), fields["base_offset"], LOWEST)
        candidates &= (first <= filters.offsets[1]) & (last_offsets(fields) >= filters.offsets[0])
    if filters.times is not None:
        latest, is_appended = fields["max_timestamp"], attributes & TIMESTAMP_TYPE_MASK != 0
        all_late = is_appended & (fields["magic"] > 0) & (latest > filters.times[1])
        candidates &= (latest >= filters.times[0]) & ~all_late
    if filters.codecs:
        codecs = range(COMPRESSION_CODEC_MASK + 1)
        codes = [codec for codec in codecs if COMPRESSION_NAMES.get(codec, str(codec)) in filters.codecs]
        candidates &= np.isin(attributes & COMPRESSION_CODEC_MASK, codes)
    for numbers, name in ((filters.epochs, "partition_leader_epoch"), (filters.producer_ids, "producer_id")):
        if numbers:
            candidates &= np.isin(fields[name], sorted(numbers))
    for flag, mask in ((filters.transactional, TRANSACTIONAL_MASK), (filters.control, CONTROL_MASK)):
        if flag is not None:
            candidates &= ((attributes & mask != 0) & is_v2) == flag
    return candidates


def is_open(filters: RecordFilter, fields: Fields) -> Mask:
    """Return which of the batches that may match are shown only if one of their records does."""
    if filters.contents or filters.times is None:
        return np.full(len(fields), filters.contents)
    late: Mask = fields["max_timestamp"] > filters.times[1]
    return late


def matching(filters: RecordFilter, columns: RecordColumns) -> Ints:
    """Return the numbers of the matching records, given batches that may match."""
    matches = np.ones(len(columns.offset), np.bool_)
    for limits, values in ((filters.offsets, columns.offset), (filters.times, columns.timestamp)):
        if limits is not None:
            matches &= (values >= limits[0]) & (values <= limits[1])
    if filters.key is not None:
        matches &= (columns.key_length == len(filters.key)) & (filters.key in columns.data)
        keys = contents_at(columns.data, columns.key_start[matches], columns.key_length[matches])
        matches[matches] = [data == filters.key for data in keys]
    if filters.grep is not None:
        matches[matches] = _contains(filters.grep, columns, matches.nonzero()[0])
    return matches.nonzero()[0]


def last_offsets(fields: Fields) -> Ints:
    """Return the last offset of each batch, inclusive."""
    last: Ints = fields["base_offset"].astype(np.int64) + fields["last_offset_delta"].astype(np.int64)
    return last


def _contains(pattern: bytes, columns: RecordColumns, numbers: Ints) -> Mask:
    """Return whether a key, a value or a header of each record matches a regular expression."""
    search = re.compile(pattern).search

    def has(name: str, which: Ints | slice) -> list[bool]:
        starts, lengths = getattr(columns, f"{name}_start")[which], getattr(columns, f"{name}_length")[which]
        contents = contents_at(columns.data, starts, lengths)
        return [content is not None and search(content) is not None for content in contents]

    matches = np.array(has("key", numbers), np.bool_)
    matches[~matches] = has("value", numbers[~matches])
    for index in (~matches & (columns.headers_count[numbers] > 0)).nonzero()[0].tolist():
        first = columns.headers_first[numbers[index]]
        span = slice(first, first + columns.headers_count[numbers[index]])
        matches[index] = any(has("header_key", span)) or any(has("header_value", span))
    return matches


def contents_at(data: bytes, starts: Ints, lengths: Ints) -> Iterator[bytes | None]:
    """Yield parts of the data, one at a time; None where a length is below 0."""
    return (
        None if length < 0 else data[start : start + length]
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    )
