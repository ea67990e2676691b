"""Messages of magic 0 and 1, opened: key and value, and the messages that a wrapper holds.

Lives in `*.log` files, after the header of `formats.legacy`. The truth is
`org.apache.kafka.common.record.AbstractLegacyRecordBatch`, below it `LegacyRecord`.

    wrapper (codec not 0)                      its value, decompressed
    +--------+-----+------------+-------+      +---------+---------+-----+---------
    | header | key | i32 length | value | ---> | message | message | ... | message, maybe cut
    +--------+-----+------------+-------+      +---------+---------+-----+---------
    magic 0: the messages inside have their own offsets
    magic 1: they count from 0; the wrapper's offset is that of the last one

A wrapper of offset 0 is not counted back from: producers left theirs at 0. Of a LogAppendTime wrapper every
message of magic 1 inside has the timestamp. A last message that is cut is passed over, as Kafka does;
`MessageSet.cut` is how much of it there is. Wrappers do not nest.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from formats import batch
from formats.batch import SMALLEST_LENGTH, BatchHeader
from formats.compression import LZ4, decompress
from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.layout import FieldSpan
from formats.legacy import MESSAGE_V0, MESSAGE_V1, is_valid, read_header
from formats.magic import LENGTH_SIZE
from formats.primitives import int32, java_long
from formats.types import Buffer

SIZE_POSITION = MESSAGE_V0.span("message_size")[0]
ATTRIBUTES_POSITION = MESSAGE_V0.span("attributes")[0]

_MESSAGE_PREFIX = MESSAGE_V0.only("offset", "message_size")


class MessageSet(NamedTuple):
    """The messages of one entry of a log: of a wrapper those inside, else the message itself.

    `body` is their bytes, decompressed; `stream` the byte of the entry where the codec's stream begins, None
    without a codec. `base` is what their offsets count from. `end` is the byte of `body` after the last
    whole message.
    """

    header: BatchHeader
    body: memoryview
    stream: int | None
    base: int
    end: int

    @property
    def cut(self) -> int:
        """Bytes of a last message that is not whole: Kafka passes over it without a word."""
        return len(self.body) - self.end


class LegacyMessage(NamedTuple):
    """One message that is no wrapper: offset and timestamp (ms) as Kafka gives them, -1 for none.

    `data`: all of its bytes, at `position` of its set's body; what follows the header is not checked.
    """

    offset: int
    timestamp: int
    timestamp_type: str
    magic: int
    attributes: int
    crc: int
    position: int
    data: memoryview


class LegacyRecord(NamedTuple):
    """One message with key and value; null is None, empty is b"". `is_valid`: whether its own CRC is right.

    The sizes are as stored: -1 for null as Kafka writes it, and null for it, too, whatever else below 0; None
    where the message ends before them. `error` is why key or value, which are None then, cannot be read.
    """

    offset: int
    timestamp: int
    timestamp_type: str
    magic: int
    attributes: int
    crc: int
    is_valid: bool
    key: bytes | None
    value: bytes | None
    key_size: int | None
    value_size: int | None
    error: FormatError | None = None


def message_set(message: Buffer, limit: int) -> MessageSet:
    """Return what a whole message holds: a wrapper is decompressed to no more than `limit` bytes.

    The wrapper's CRC is not looked at. CorruptError for what Kafka refuses: no value, no message inside, a
    size below 14, offsets that count beyond the wrapper's. Positions of errors count from the start of the
    message; inside a codec they name the codec's stream, and the field has the decompressed byte.
    """
    header = read_header(message)
    if header.batch_length < SMALLEST_LENGTH:
        raise CorruptError(SIZE_POSITION, "message size", f"{SMALLEST_LENGTH} or more", header.batch_length)
    if header.size > len(message):
        raise TruncatedError(0, "message", f"{header.size} bytes", len(message))
    data = memoryview(message)[: header.size]
    if not header.codec:
        return MessageSet(header, data, None, 0, header.size)
    if header.codec > LZ4:
        raise UnsupportedError(ATTRIBUTES_POSITION, "codec", f"0 to {LZ4}", header.codec)
    stream, end = _span(data, max(_span(data, _key_position(header.magic), "key")), "value")
    if stream > end:
        raise CorruptError(stream - LENGTH_SIZE, "value", "compressed messages", "null")
    try:
        body = memoryview(decompress(header.codec, data[stream:end], limit, magic=header.magic))
    except FormatError as error:
        raise error.moved(stream) from error
    try:
        base, messages_end = _survey(header, body)
    except FormatError as error:
        raise error.in_stream(stream) from error
    return MessageSet(header, body, stream, base, messages_end)


def messages(opened: MessageSet) -> Iterator[LegacyMessage]:
    """Yield the messages of a set by their headers; CorruptError at one that is a wrapper itself."""
    wrapper, base, stream = opened.header, opened.base, opened.stream
    is_append_time = stream is not None and wrapper.timestamp_type == batch.LOG_APPEND_TIME
    for position, end in _whole_messages(opened.body[: opened.end]):
        data = opened.body[position:end]
        header = MESSAGE_V1.read(data)
        codec = header.attributes & batch.COMPRESSION_CODEC_MASK
        timestamp = header.timestamp
        kind = batch.TIMESTAMP_TYPES[bool(header.attributes & batch.TIMESTAMP_TYPE_MASK)]
        if header.magic == 0:
            timestamp, kind = batch.NO_TIMESTAMP, batch.NO_TIMESTAMP_TYPE
        elif header.magic == 1 and stream is not None:
            timestamp, kind = wrapper.max_timestamp if is_append_time else timestamp, wrapper.timestamp_type
        if stream is not None and codec:
            codec_position = position + ATTRIBUTES_POSITION
            raise CorruptError(codec_position, "codec", "0 inside a wrapper", codec).in_stream(stream)
        offset, fields = java_long(header.offset + base), (header.magic, header.attributes, header.crc)
        yield LegacyMessage(offset, timestamp, kind, *fields, position, data)


def set_records(opened: MessageSet) -> Iterator[LegacyRecord]:
    """Yield the messages of a set as records, each checked against its own CRC; errors as `messages`.

    A key or value that does not fit is its own record's error: Kafka throws where the value is asked for.
    """
    for message in messages(opened):
        try:
            key, value = _key_and_value(message)
            error = None
        except FormatError as caught:
            key = value = None
            error = (
                caught if opened.stream is None else caught.moved(message.position).in_stream(opened.stream)
            )
        yield LegacyRecord(*message[:6], is_valid(message.data), key, value, *_sizes(message), error)


def base_offset(message: Buffer, limit: int) -> int:
    """Return the first offset of a whole message, of a wrapper that of the first inside (`baseOffset`)."""
    return next(messages(message_set(message, limit))).offset


def _survey(wrapper: BatchHeader, body: memoryview) -> tuple[int, int]:
    """Return what the offsets inside a wrapper count from, and the end of the last whole message."""
    last = end = -1
    for last, end in _whole_messages(body):  # noqa: B007 - only the last one counts
        pass
    if end < 0:
        raise CorruptError(0, "messages", "one or more", "none that is whole")
    if wrapper.magic == 0 or wrapper.base_offset == 0:
        return 0, end
    last_offset = _MESSAGE_PREFIX.unpack_from(body, last)[0]
    if wrapper.base_offset < last_offset:
        raise CorruptError(last, "offset", f"at most that of the wrapper, {wrapper.base_offset}", last_offset)
    return wrapper.base_offset - last_offset, end


def _whole_messages(body: memoryview) -> Iterator[tuple[int, int]]:
    """Yield (first byte, byte after the last) of whole messages; CorruptError for one that is too small."""
    position, remaining_bytes = 0, len(body)
    while remaining_bytes >= batch.LOG_OVERHEAD:
        size = _MESSAGE_PREFIX.unpack_from(body, position)[1]
        if size < SMALLEST_LENGTH:
            raise CorruptError(position + SIZE_POSITION, "message size", f"{SMALLEST_LENGTH} or more", size)
        remaining_bytes -= batch.LOG_OVERHEAD + size
        if remaining_bytes < 0:
            return
        yield position, len(body) - remaining_bytes
        position = len(body) - remaining_bytes


def _key_and_value(message: LegacyMessage) -> tuple[bytes | None, bytes | None]:
    data = message.data
    key_start, key_end = _span(data, _key_position(message.magic), "key")
    start, end = _span(data, max(key_start, key_end), "value")
    key = None if key_start > key_end else bytes(data[key_start:key_end])
    return key, None if start > end else bytes(data[start:end])


def _sizes(message: LegacyMessage) -> tuple[int | None, int | None]:
    """Return the sizes of key and value as stored; None where the message ends before one."""
    of_key = of_value = None
    with suppress(TruncatedError):
        of_key, after = int32(message.data, _key_position(message.magic))
        of_value, _ = int32(message.data, after + max(of_key, 0))
    return of_key, of_value


def message_parts(data: Buffer, structure: str = "message") -> Iterator[FieldSpan]:
    """Yield every field of a whole message, a wrapper's compressed value as one, and what follows the value.

    What cannot be read raises the error that reading key and value raises, after the fields that precede it.
    """
    view = memoryview(data)
    layout = MESSAGE_V1 if view[batch.MAGIC_POSITION] else MESSAGE_V0
    yield from layout.parts(view, 0, structure)
    position = layout.size
    for field in ("key", "value"):
        start, end = _span(view, position, field)
        yield FieldSpan(
            structure, f"{field}_length", position, start, int32(view, position)[0], "bytes; negative is null"
        )
        if start <= end:
            yield FieldSpan(structure, field, start, end, bytes(view[start:end]))
        position = max(start, end)
    if position < len(view):
        doc = "after the value: Kafka does not look at it"
        yield FieldSpan(structure, "trailing", position, len(view), bytes(view[position:]), doc)


def _key_position(magic: int) -> int:
    return MESSAGE_V1.size if magic else MESSAGE_V0.size


def _span(data: memoryview, position: int, field: str) -> tuple[int, int]:
    """Return (first byte, byte after the last) of a field after its length; of null the end lies first."""
    start = position + LENGTH_SIZE
    if start > len(data):
        remaining_bytes = max(len(data) - position, 0)
        raise TruncatedError(position, f"{field} length", f"{LENGTH_SIZE} bytes", remaining_bytes)
    length = int32(data, position)[0]
    if length < 0:
        return start, start - 1
    if length > len(data) - start:
        raise CorruptError(position, f"{field} length", f"at most {len(data) - start}", length)
    return start, start + length
