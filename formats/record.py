"""Records of a batch of magic 2 or more: what follows the 61 bytes of its header.

Kafka reads a magic above 2, which none of its releases writes, as 2.

Lives in `*.log` (and KRaft `*.checkpoint`) files, in one compressed stream when the
batch has a codec. The truth is `org.apache.kafka.common.record.DefaultRecord`, for
the count and the end `DefaultRecordBatch.RecordIterator`.

    +--------+------+-----------+--------+---------+-------+---------+-------+---------+----------
    | length | attr.| timestamp | offset | key     | key   | value   | value | headers | header
    |        |      | delta     | delta  | length  |       | length  |       | count   | ...
    +--------+------+-----------+--------+---------+-------+---------+-------+---------+----------
      varint   i8     varlong     varint   varint           varint            varint
    a header: varint key length, key, varint value length, value; a negative length is null (not for its key)

Offset and timestamp are relative to the header's; of a LogAppendTime batch every
record has the header's max timestamp.
"""

from collections.abc import Iterator
from typing import NamedTuple

from formats.batch import (
    BATCH,
    HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    LENGTH_POSITION,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    add_sequence,
)
from formats.compression import NOTHING_LEFT, WITHOUT_PAYLOAD, decompress
from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.layout import FieldSpan
from formats.primitives import java_long, put_varlong, varint, varlong
from formats.types import Buffer

CODEC_POSITION = BATCH.span("attributes")[1] - 1
COUNT_POSITION = BATCH.span("records_count")[0]
_MAGIC = BATCH.only("magic")

BYTES_A_HEADER = 512
"""What a header of a record costs in memory, about: so many of the bytes that a batch may have count as one.
"""
HEADER_KEYS_SHARE = 8
"""The keys of a record's headers may have this part of the bytes that a batch may have: they are shown as
text, by escapes where they are none.
"""
NO_LIMIT = 1 << 62
FEWEST_HEADERS, SHORTEST_KEYS = 256, 1 << 16
"""A record may have so many headers, and so many bytes of their keys, whatever the bound is."""


class Record(NamedTuple):
    """One record; a null key, value or header value is None, an empty one b""."""

    offset: int
    timestamp: int
    sequence: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]
    attributes: int


def batch_records(batch: Buffer, limit: int) -> Iterator[Record]:
    """Yield the records of a whole batch, decompressed to no more than `limit` bytes; its CRC is not read.

    Positions of errors count from the batch's start; in a codec they name its stream, the field the byte.
    """
    header = _header(batch)
    if not header.codec:
        yield from records(header, bytes(batch)[: header.size], HEADER_SIZE, limit)
        return
    body = unpacked(batch, limit)[1]
    try:
        yield from records(header, body, 0, limit)
    except FormatError as error:
        raise error.in_stream(HEADER_SIZE) from error


def pack_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[bytes, bytes | None], ...] = (),
) -> bytes:
    """Return the bytes of a record."""
    parts = [b"\0", put_varlong(timestamp_delta), put_varlong(offset_delta), *_sized(key), *_sized(value)]
    parts.append(put_varlong(len(headers)))
    for name, header_value in headers:
        parts += [*_sized(name), *_sized(header_value)]
    body = b"".join(parts)
    return put_varlong(len(body)) + body


def _sized(data: bytes | None) -> tuple[bytes, bytes]:
    return (put_varlong(-1), b"") if data is None else (put_varlong(len(data)), data)


def unpacked(batch: Buffer, limit: int) -> tuple[BatchHeader, bytes]:
    """Return a batch's header and its records' bytes, `limit` at most; none where the header counts none."""
    header = _header(batch)
    if header.records_count == 0:
        return header, b""
    payload = memoryview(batch)[HEADER_SIZE : header.size]
    try:
        return header, bytes(decompress(header.codec, payload, limit))
    except UnsupportedError as error:
        raise error.moved(CODEC_POSITION if error.field == "codec" else HEADER_SIZE) from error
    except FormatError as error:
        raise error.moved(HEADER_SIZE) from error


def records(
    header: BatchHeader, data: bytes, start: int, limit: int, spans: list[FieldSpan] | None = None
) -> Iterator[Record]:
    """Yield the records that the header counts from their decompressed bytes, the first of them at `start`.

    CorruptError for bytes after the last, or a record that does not fill its length, TruncatedError for too
    few: when the iteration gets there, as Kafka's; positions are in `data`. LimitError for a record of more
    headers, or longer header keys, than a batch of `limit` bytes may have: they take many times their bytes.
    """
    most_headers = max(limit // BYTES_A_HEADER, FEWEST_HEADERS)
    longest_keys = max(limit // HEADER_KEYS_SHARE, SHORTEST_KEYS)
    position = start
    append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_MASK else None
    if header.records_count < 0:
        raise CorruptError(start, "records count", "0 or more", header.records_count)
    for number in range(header.records_count):
        owner = _NO_SPANS if spans is None else _Spans(spans, f"record {number}")
        record, position = _record(header, data, position, append_time, most_headers, longest_keys, owner)
        if number == header.records_count - 1 and position != len(data):
            expected, trailing_bytes = f"{header.records_count} records to the end", len(data) - position
            raise CorruptError(position, "records", expected, f"{trailing_bytes} bytes more")
        yield record


def _header(batch: Buffer) -> BatchHeader:
    if len(batch) < HEADER_UP_TO_MAGIC:
        raise TruncatedError(0, BATCH.name, f"{HEADER_SIZE} bytes", len(batch))
    magic = _MAGIC.unpack_from(batch)[0]
    if magic < MAGIC_V2:
        raise UnsupportedError(MAGIC_POSITION, "magic", f"{MAGIC_V2} or more", magic)
    header = BATCH.read(batch)
    if header.size < HEADER_SIZE:
        raise CorruptError(
            LENGTH_POSITION, "batch length", f"{HEADER_SIZE - LOG_OVERHEAD} or more", header.batch_length
        )
    if header.size > len(batch):
        raise TruncatedError(0, "batch", f"{header.size} bytes", len(batch))
    if header.records_count < 0:
        raise CorruptError(COUNT_POSITION, "records count", "0 or more", header.records_count)
    if not header.codec and batch[HEADER_SIZE : HEADER_SIZE + len(WITHOUT_PAYLOAD)] == WITHOUT_PAYLOAD:
        raise UnsupportedError(HEADER_SIZE, "records", "records", NOTHING_LEFT)
    return header


MEANINGS = {
    "length": "bytes of the record that follow",
    "attributes": "none are used",
    "timestamp_delta": "ms; added to the base timestamp",
    "offset_delta": "added to the base offset",
    "key_length": "bytes; negative is null",
    "value_length": "bytes; negative is null",
    "headers_count": "headers that follow",
}
"""What the fields of records and of their headers mean, as far as their names do not say it."""


class _Spans(NamedTuple):
    """Keeps where the fields of a record, or of one of its headers, lie, if that is asked for."""

    spans: list[FieldSpan] | None
    structure: str

    def add(self, field: str, start: int, end: int, value: int | bytes) -> None:
        if self.spans is not None:
            self.spans.append(FieldSpan(self.structure, field, start, end, value, MEANINGS.get(field, "")))

    def header(self, number: int) -> "_Spans":
        return self if self.spans is None else _Spans(self.spans, f"header {number} of {self.structure}")


_NO_SPANS = _Spans(None, "")


def _record(  # noqa: PLR0917
    header: BatchHeader,
    data: bytes,
    start: int,
    append_time: int | None,
    most_headers: int,
    longest_keys: int,
    spans: _Spans,
) -> tuple[Record, int]:
    length, position = varint(data, start, "record length")
    spans.add("length", start, position, length)
    end = position + length
    if length < 1:
        raise CorruptError(start, "record length", "1 or more", length)
    if end > len(data):
        raise TruncatedError(start, "record", f"{length} bytes", len(data) - position)
    attributes, field_start = data[position], position + 1
    spans.add("attributes", position, field_start, attributes)
    timestamp_delta, position = varlong(data, field_start, "timestamp delta")
    spans.add("timestamp_delta", field_start, position, timestamp_delta)
    field_start = position
    offset_delta, position = varint(data, field_start, "offset delta")
    spans.add("offset_delta", field_start, position, offset_delta)
    key, position = _bytes(data, position, end, "key", spans)
    value, position = _bytes(data, position, end, "value", spans)
    field_start = position
    count, position = varint(data, field_start, "headers count")
    spans.add("headers_count", field_start, position, count)
    if not 0 <= count <= max(end - position, 0):
        raise CorruptError(field_start, "headers count", f"0 to {end - position}", count)
    if count > most_headers:
        raise LimitError(field_start, "headers count", f"at most {most_headers}", count)
    headers, keys = [], 0
    for number in range(count):
        field_start = position
        owner = spans.header(number)
        name, position = _bytes(data, field_start, end, "header key", owner)
        if name is None:
            raise CorruptError(field_start, "header key", "a key", "null")
        keys += len(name)
        if keys > longest_keys:
            raise LimitError(field_start, "header keys", f"at most {longest_keys} bytes", keys)
        header_value, position = _bytes(data, position, end, "header value", owner)
        headers.append((name, header_value))
    if position != end:
        raise CorruptError(start, "record length", length, length + position - end)
    timestamp = java_long(header.base_timestamp + timestamp_delta) if append_time is None else append_time
    sequence = add_sequence(header.base_sequence, offset_delta) if header.base_sequence >= 0 else NO_SEQUENCE
    offset = java_long(header.base_offset + offset_delta)
    return Record(offset, timestamp, sequence, key, value, tuple(headers), attributes), end


def _bytes(data: bytes, start: int, end: int, field: str, spans: _Spans) -> tuple[bytes | None, int]:
    length, position = varint(data, start, f"{field} length")
    if length > end - position:
        raise CorruptError(start, f"{field} length", f"at most {end - position}", length)
    value, after = (
        (data[position : position + length], position + length) if length >= 0 else (None, position)
    )
    if spans.spans is not None:
        name = field.removeprefix("header ")
        spans.add(f"{name}_length", start, position, length)
        if value is not None:
            spans.add(name, position, after, value)
    return value, after


def record_parts(header: BatchHeader, body: Buffer) -> Iterator[FieldSpan]:
    """Yield every field of the records that the header counts, as they lie in their decompressed bytes.

    An error of `records` comes after the fields before it; its bytes begin where the last field ends.
    """
    spans: list[FieldSpan] = []
    try:
        for _ in records(header, bytes(body), 0, NO_LIMIT, spans):
            yield from spans
            spans.clear()
    except FormatError:
        yield from spans
        raise
