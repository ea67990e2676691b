"""Records of many batches at once, as numpy columns: the fast twin of `formats.record`.

The layout is that of `formats.record`, and so is the truth. Only the length of a record
says where the next begins: lengths are walked in many batches at once, or one by one. Then every
field is read of all records of all batches together. It accepts what the plain reader accepts, and names the
batches that it refuses, so that the plain reader can say what is wrong.

    lengths    at -> at + length -> ...                        one record after the other
    fields     attributes, timestamp delta ... headers count   per field, all records at once
    headers    the first of each record, the second ...        as many steps as the longest list
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    CONTROL_MASK,
    LOG_OVERHEAD,
    MAX_INT,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_MASK,
)
from formats.bulk import gathered
from formats.compression import decompress
from formats.errors import FormatError
from formats.magic import HEADER_SIZES, LARGEST_HEADER, is_legacy
from formats.types import Buffer

Ints = NDArray[np.int64]

CHUNK_BYTES = 1 << 20
"""Decompressed bytes that are decoded together, one batch more or less."""
CHUNK_RECORDS = 1 << 16
"""Records that are decoded together; batches that claim more than fit are taken one by one."""
LARGEST_BODY, MOST_RECORDS = 4 << 20, 1 << 17
"""A batch of more bytes, decompressed, or records is left to the plain reader: columns take more memory."""
MOST_HEADERS = 256
"""A batch with a record of more headers is left to the plain reader: each costs a step. So is a batch with
more headers in all than CHUNK_BYTES have room for.
"""
LONGEST_HEADER_KEY = 1 << 12
"""A batch with a longer one is left to the plain reader, which knows how long one may be."""

VARINT, VARLONG = 5, 10
"""Bytes of the longest."""
RECORDS_A_STEP = 32
"""A step of many batches at once costs as much as so many records one by one."""

ENDS_CHUNK = b"\0\0"
"""Behind the last record of a chunk: ends whatever runs over it."""

RECORD_ARRAYS = (
    *("batch", "offset", "timestamp", "sequence", "attributes"),
    *("key_start", "key_length", "value_start", "value_length"),
    *("headers_count", "headers_first"),
)
HEADER_ARRAYS = ("header_key_start", "header_key_length", "header_value_start", "header_value_length")
"""The arrays of RecordColumns with an element per record, and per header."""


class RecordColumns(NamedTuple):
    """The records of consecutive batches, one array element per record, in the order of the file.

    `data` holds the bytes of keys, values and headers; starts count from its first byte, a length is -1 for
    null. `batch` is the index into `headers`, the header rows (fields as in BatchHeader); `bounds[i]` is the
    first record of batch i, and one element more is the end. Record r has `headers_count[r]` headers from
    index `headers_first[r]` on in the four header arrays.
    """

    first: int
    """Number of the first batch among the given ones."""
    headers: NDArray[np.void]
    bounds: Ints
    data: bytes
    batch: Ints
    offset: Ints
    timestamp: Ints
    sequence: Ints
    attributes: NDArray[np.uint8]
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints
    headers_count: Ints
    headers_first: Ints
    header_key_start: Ints
    header_key_length: Ints
    header_value_start: Ints
    header_value_length: Ints
    before: int = 0
    """Records of the first batch before the first one here: what the plain reader gives comes in parts."""
    ends: bool = True
    """Whether the last record is its batch's last."""

    def controls(self) -> Ints:
        """Return the numbers of the control records."""
        control = self.headers["attributes"] & CONTROL_MASK != 0
        return control[self.batch].nonzero()[0] if control.any() else self.batch[:0]


def subset(columns: RecordColumns, numbers: Ints) -> RecordColumns:
    """Return some of the records by their numbers, rising; the batches' headers and the data stay whole."""
    record_fields = {name: getattr(columns, name)[numbers] for name in RECORD_ARRAYS}
    count = record_fields["headers_count"]
    begin = np.cumsum(count) - count
    headers = np.arange(count.sum()) + np.repeat(record_fields["headers_first"] - begin, count)
    return columns._replace(
        **record_fields
        | {"headers_first": begin}
        | {name: getattr(columns, name)[headers] for name in HEADER_ARRAYS},
        bounds=np.searchsorted(record_fields["batch"], np.arange(len(columns.bounds))),
    )


class FallbackBatch(NamedTuple):
    """A batch that is left to the plain reader: damaged, of another magic, or too large for columns."""

    number: int


def record_columns(
    window: Buffer, positions: Sequence[int] | Ints, limit: int, headers: NDArray[np.void] | None = None
) -> Iterator[RecordColumns | FallbackBatch]:
    """Yield the records of the batches at the positions of a window, in order, in chunks of bounded size.

    Each batch is decompressed to no more than `limit` bytes. CRCs are not looked at. Every batch is in
    exactly one of the results: in columns if `formats.record.batch_records` reads it to its end, else alone
    as FallbackBatch; as FallbackBatch, too, if it is beyond LARGEST_BODY, MOST_RECORDS or MOST_HEADERS.
    `headers` are the batches' rows as of `formats.bulk`, for callers that have them.
    """
    headers = headers_at(window, positions) if headers is None else headers
    sizes = headers["batch_length"].astype(np.int64) + LOG_OVERHEAD
    view = memoryview(window)
    places = np.asarray(positions, np.int64)
    before_records = np.take(HEADER_SIZES, headers["magic"], mode="clip")
    fits = _fits(headers, sizes - before_records, places + sizes <= len(view))
    starts, ends = places + before_records, places + sizes
    is_plain = headers["attributes"] & COMPRESSION_CODEC_MASK == 0
    if fits.all() and is_plain.all():
        yield from _as_they_lie(view, starts, ends, headers)
        return
    counts = headers["records_count"].tolist()
    codecs = (headers["attributes"] & COMPRESSION_CODEC_MASK).tolist()
    bodies: list[Buffer | None] = []
    first, size, records = 0, 0, 0
    for number, (start, end, count, codec, fit) in enumerate(
        zip(starts.tolist(), ends.tolist(), counts, codecs, fits.tolist(), strict=True)
    ):
        body: Buffer | None = None
        if fit:
            body = view[start:end] if count else b""
            if codec and count:
                body = _decompressed(codec, body, limit)
        body_size, claimed_records = (0, 0) if body is None else (len(body), count)
        if bodies and (size + body_size > CHUNK_BYTES or records + claimed_records > CHUNK_RECORDS):
            yield from _joined(bodies, headers, first)
            first, bodies, size, records = number, [], 0, 0
        bodies.append(body)
        size += body_size
        records += claimed_records
    if bodies:
        yield from _joined(bodies, headers, first)


def _as_they_lie(
    view: memoryview, starts: Ints, ends: Ints, headers: NDArray[np.void]
) -> Iterator[RecordColumns | FallbackBatch]:
    """Yield the records of batches that nothing has to be done to, with the headers between them."""
    counts = headers["records_count"].astype(np.int64)
    ends = np.where(counts == 0, starts, ends)
    claimed_records, first = np.cumsum(counts), 0
    while first < len(starts):
        before = claimed_records[first] - counts[first]
        most = np.searchsorted(ends, starts[first] + CHUNK_BYTES, side="right")
        most = min(most, np.searchsorted(claimed_records, before + CHUNK_RECORDS, side="right"))
        last = max(int(most), first + 1)
        base, batches = int(starts[first]), slice(first, last)
        data = b"".join((view[base : int(ends[last - 1])], ENDS_CHUNK))
        bodies = _Bodies(data, starts[batches] - base, ends[batches] - base, counts[batches])
        yield from _decoded(bodies, headers[batches], first)
        first = last


def headers_at(window: Buffer, positions: Sequence[int] | Ints) -> NDArray[np.void]:
    """Return the header rows at the positions of a window, zeros where it ends inside the last."""
    places = [int(position) for position in positions]
    if places and max(places) + LARGEST_HEADER > len(window):
        window = bytes(window) + bytes(LARGEST_HEADER)
    return gathered(window, places)


def _fits(headers: NDArray[np.void], bodies: Ints, are_whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which batches can be decoded together, given the bytes of records that each claims."""
    fits: NDArray[np.bool_] = ~is_legacy(headers["magic"]) & (headers["records_count"] >= 0) & are_whole
    return fits & (bodies >= 0) & (bodies <= LARGEST_BODY) & (headers["records_count"] <= MOST_RECORDS)


def _decompressed(codec: int, body: Buffer, limit: int) -> Buffer | None:
    try:
        return decompress(codec, body, min(limit, LARGEST_BODY))
    except FormatError:
        return None


# All records of a chunk


def _joined(
    bodies: list[Buffer | None], headers: NDArray[np.void], first: int
) -> Iterator[RecordColumns | FallbackBatch]:
    """Yield the records of bodies one after the other, None for those of damaged batches."""
    headers = headers[first : first + len(bodies)]
    data = b"".join([*(body for body in bodies if body), ENDS_CHUNK])
    sizes, unread = np.array([len(body or b"") for body in bodies]), [body is None for body in bodies]
    ends, counts = np.cumsum(sizes), np.where(unread, 0, headers["records_count"].astype(np.int64))
    bad = {number for number, is_unread in enumerate(unread) if is_unread}
    yield from _decoded(_Bodies(data, ends - sizes, ends, counts), headers, first, bad)


class _Bodies(NamedTuple):
    """Where bodies of batches lie in `data`, which ENDS_CHUNK ends; `counts`: records that each claims."""

    data: bytes
    begins: Ints
    ends: Ints
    counts: Ints


def _decoded(
    bodies: _Bodies, headers: NDArray[np.void], first: int, bad: Iterable[int] = ()
) -> Iterator[RecordColumns | FallbackBatch]:
    """Yield the records of batches; the `bad` ones are left to the plain reader."""
    starts, limits, broken = _chains(bodies)
    columns, damaged = _columns(bodies.data, starts, limits, headers)
    begin = 0
    for number in (*sorted(broken.union(bad, damaged)), len(headers)):
        if begin < number:
            yield _slice(columns, begin, number, first)
        if number < len(headers):
            yield FallbackBatch(first + number)
        begin = number + 1


def _chains(bodies: _Bodies) -> tuple[Ints, Ints, set[int]]:
    """Return where records begin, each batch's first one, and the broken batches, which have no records."""
    data, begins, ends, counts = bodies
    stepped = _stepped(bodies) if counts.sum() >= RECORDS_A_STEP * counts.max() else None
    if stepped is not None:
        return stepped, np.concatenate(([0], np.cumsum(counts))), set()
    starts = array("q")
    bounds, broken = [0], set()
    append = starts.append
    for number, (begin, end, count) in enumerate(
        zip(begins.tolist(), ends.tolist(), counts.tolist(), strict=True)
    ):
        position = begin
        for _ in repeat(None, count):
            if position >= end:
                break
            append(position)
            value, size = data[position], 1
            if value >= 0x80:
                high, size = data[position + 1], 2
                if high < 0x80:
                    value += (high - 1) << 7
                else:
                    value, size = _length(data, position)
            if value & 1 or not value:
                break
            position += (value >> 1) + size
        if position != end or len(starts) - bounds[-1] != count:
            broken.add(number)
            del starts[bounds[-1] :]
        bounds.append(len(starts))
    return np.frombuffer(starts, np.int64), np.array(bounds, np.int64), broken


def _stepped(bodies: _Bodies) -> Ints | None:
    """Return where each record begins, by steps of all batches; None if one is broken or a length is long."""
    data, begins, ends, counts = bodies
    order = np.argsort(-counts, kind="stable")  # those that are still under way are the first ones
    positions, slots = begins[order], (np.cumsum(counts) - counts)[order]
    starts = np.zeros(counts.sum(), np.int64)
    pairs, widths = np.ndarray((len(data) - 1,), "<u2", data, strides=(1,)), _widths()
    under_way = np.searchsorted(-counts[order], -np.arange(counts.max()), side="left")
    for step, batch_count in enumerate(under_way.tolist()):
        current = positions[:batch_count]
        starts[slots[:batch_count] + step] = current
        width = widths[pairs[np.minimum(current, len(pairs) - 1)]]
        if not width.all():
            return None
        current += width
    return starts if (positions == ends[order]).all() else None


@cache
def _widths() -> Ints:
    """Return the bytes of a record and its length by its first two, low one first; 0 if they do not tell."""
    pair = np.arange(1 << 16)
    is_short = pair & 0x80 == 0
    value = np.where(is_short, pair & 0x7F, pair & 0x7F | pair >> 1 & 0x3F80)
    is_unknown = (value & 1 != 0) | (value == 0) | (pair & 0x8080 == 0x8080)
    return np.where(is_unknown, 0, (value >> 1) + np.where(is_short, 1, 2))


def _length(data: bytes, position: int) -> tuple[int, int]:
    """Return the bits and the bytes of a length's varint; no bits for one that is too long."""
    value, shift = 0, 0
    for size, byte in enumerate(data[position : position + VARINT], 1):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, size
        shift += 7
    return 0, 0


def _slice(columns: RecordColumns, begin: int, end: int, first: int) -> RecordColumns:
    """Return the columns of the batches from `begin` to `end` (exclusive)."""
    if begin == 0 and end == len(columns.headers):
        return columns._replace(first=first)
    bounds = columns.bounds[begin : end + 1]
    span = slice(int(bounds[0]), int(bounds[-1]))
    record_fields = {name: getattr(columns, name)[span] for name in RECORD_ARRAYS}
    record_fields["batch"] = record_fields["batch"] - begin
    return columns._replace(
        first=first + begin, headers=columns.headers[begin:end], bounds=bounds - bounds[0], **record_fields
    )


def _columns(
    data: bytes, starts: Ints, limits: Ints, headers: NDArray[np.void]
) -> tuple[RecordColumns, set[int]]:
    """Return the columns of all records, and the numbers of batches of which a record is damaged."""
    reader = _Reader(data, len(starts))
    batch = np.repeat(np.arange(len(headers)), np.diff(limits))
    length, positions = reader.varint(starts)
    end = positions + length
    attributes, positions = reader.bytes(positions), positions + 1
    timestamp, positions = reader.varlong(positions)
    delta, positions = reader.varint(positions)
    key_start, key_length, positions = reader.sized(positions)
    value_start, value_length, positions = reader.sized(positions)
    count, positions = reader.varint(positions)
    # a header has two bytes at least
    reader.bad |= (count < 0) | (count * 2 > end - positions)
    count[reader.bad] = 0
    long_lists = (count > MOST_HEADERS).nonzero()[0]
    reader.bad[long_lists], count[long_lists] = True, 0
    if int(count.sum()) > CHUNK_BYTES // 2:
        # one large batch: small ones together have no room for so many
        reader.bad[:], count[:] = True, 0
    header_lists = _headers(reader, count, positions)
    reader.bad |= positions != end

    append_time = (headers["attributes"] & TIMESTAMP_TYPE_MASK != 0)[batch]
    base = {
        name: headers[name].astype(np.int64)[batch]
        for name in ("base_offset", "base_timestamp", "max_timestamp", "base_sequence")
    }
    offset, is_numbered = base["base_offset"] + delta, base["base_sequence"] >= 0
    timestamp = np.where(append_time, base["max_timestamp"], base["base_timestamp"] + timestamp)
    sequence = np.where(is_numbered, add_sequences(base["base_sequence"], delta), NO_SEQUENCE)
    fields = batch, offset, timestamp, sequence, attributes, key_start, key_length, value_start, value_length
    columns = RecordColumns(0, headers, limits, data, *fields, count, *header_lists)
    return columns, set(batch[reader.bad].tolist())


def _headers(reader: "_Reader", count: Ints, positions: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return each record's first header and the four columns of all headers; move `positions` after them."""
    first = np.cumsum(count) - count
    columns = [np.zeros(int(count.sum()), np.int64) for _ in range(4)]
    with_header = count.nonzero()[0]
    for step in range(int(count.max(initial=0))):
        with_header = with_header[count[with_header] > step]
        slots, starts = first[with_header] + step, positions[with_header]
        columns[0][slots], columns[1][slots], starts = key = reader.sized(starts, with_header)
        reader.bad[with_header[(key[1] < 0) | (key[1] > LONGEST_HEADER_KEY)]] = True
        columns[2][slots], columns[3][slots], starts = reader.sized(starts, with_header)
        positions[with_header] = starts
    return (first, columns[0], columns[1], columns[2], columns[3])


def add_sequences(base: Ints, by: Ints) -> Ints:
    """Return sequences moved on, each wrapped as `formats.batch.add_sequence` does it."""
    room = (MAX_INT - by).astype(np.int32)
    sequences: Ints = (
        np.where(base > room, by - (MAX_INT - base) - 1, base + by).astype(np.int32).astype(np.int64)
    )
    return sequences


class _Reader:
    """Reads a field of many records; `bad`: those of too long a varint. Past the end it reads the last."""

    def __init__(self, data: bytes, records: int) -> None:
        self.data = np.frombuffer(data, np.uint8)
        self.bad = np.zeros(records, np.bool_)

    def bytes(self, positions: Ints) -> NDArray[np.uint8]:
        return self.data.take(positions, mode="clip")

    def varint(self, positions: Ints, records: Ints | None = None) -> tuple[Ints, Ints]:
        value, positions = self._raw(positions, VARINT, records)
        value &= 0xFFFFFFFF
        return (value >> 1) ^ -(value & 1), positions

    def varlong(self, positions: Ints) -> tuple[Ints, Ints]:
        value, positions = self._raw(positions, VARLONG, None)
        # the sign bit is a bit like any other here
        return (value >> 1 & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), positions

    def sized(self, positions: Ints, records: Ints | None = None) -> tuple[Ints, Ints, Ints]:
        """Return start and length (-1 for null) of bytes that follow their length, and what follows them."""
        length, start = self.varint(positions, records)
        return start, np.maximum(length, -1), start + np.maximum(length, 0)

    def _raw(self, positions: Ints, most: int, records: Ints | None) -> tuple[Ints, Ints]:
        """Return the bits of unsigned varints of at most so many bytes, and what follows them."""
        byte = self.bytes(positions)
        value, positions = (byte & 0x7F).astype(np.int64), positions + 1
        long_varints = (byte & 0x80).nonzero()[0]
        for shift in range(7, 7 * most, 7):
            if not len(long_varints):
                break
            byte = self.bytes(positions[long_varints])
            value[long_varints] |= (byte & 0x7F).astype(np.int64) << shift
            positions[long_varints] += 1
            long_varints = long_varints[byte >= 0x80]
        self.bad[long_varints if records is None else records[long_varints]] = True
        return value, positions
