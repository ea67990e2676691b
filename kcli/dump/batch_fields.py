"""Structures field by field: which bytes each field is, what Kafka reads there, and what it means.

Everything comes from the declarations and from readers that keep where fields lie. The fields of a structure
follow each other without gaps; what cannot be read is a field of its own, `unreadable`, up to the end of what
holds it.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from formats import primitives
from formats.batch import (
    COMPRESSION_CODEC_MASK,
    COMPRESSION_NAMES,
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    MAGIC_POSITION,
    TIMESTAMP_TYPE_MASK,
    TIMESTAMP_TYPES,
    TRANSACTIONAL_MASK,
)
from formats.bounds import CONTROL_SHARE, describe
from formats.control import CONTROL_KEY, control_key, control_record, control_value
from formats.errors import FormatError, LimitError
from formats.layout import FieldSpan
from formats.legacy import is_valid, read_header
from formats.magic import format_of, magic_of
from formats.message_set import message_parts, message_set, messages
from formats.messages import decode, metadata
from formats.messages.message import Message, Unknown
from formats.names import CLUSTER_METADATA, REMOTE_LOG_METADATA
from formats.record import batch_records, record_parts, unpacked
from formats.remote_metadata import LONGEST_VALUE
from formats.types import Buffer
from kcli.dump.decoded_records import longest_for

DECODED = frozenset({*decode.TOPICS, CLUSTER_METADATA, REMOTE_LOG_METADATA})
UNKNOWN = "of a type or version that is not declared"


class Split(NamedTuple):
    """The fields of a key or value that could be read, in order, and the error that ended the reading."""

    parts: list[FieldSpan]
    error: FormatError | None


class Contents:
    """Splits keys and values of records: of control records, and of a topic's that is internal.

    The key comes first.
    """

    def __init__(self, topic: str | None, *, control: bool = False, longest: int = LONGEST_VALUE) -> None:
        self.topic = topic
        """A name that `decode` knows; another's contents have no fields."""
        self.control = control
        self.longest = longest
        """Bytes of a key or value that is split."""
        self.type: int | None = None

    def split(self, field: str, data: bytes) -> Split | None:
        """Return the fields of a record's key or value; None for bytes without any."""
        if len(data) > self.longest and not self.control and self.topic in DECODED:
            return Split([], LimitError(0, field, f"at most {self.longest} bytes to decode", len(data)))
        parts: list[FieldSpan] = []
        decode_parts = self._control if self.control else self._message
        try:
            return Split(parts, None) if decode_parts(field, data, parts) else None
        except FormatError as error:
            return Split(self._with_one_frame(parts, data), error)

    def begin(self) -> None:
        """Forget the key before: a record begins."""
        self.type = None

    def _control(self, field: str, data: bytes, parts: list[FieldSpan]) -> bool:
        if field == "key":
            self.type = control_key(data).type
            parts += CONTROL_KEY.parts(data)
            return True
        return self.type is not None and (
            control_value(self.type, data, self.longest, spans=parts) is not None
        )

    def _message(self, field: str, data: bytes, parts: list[FieldSpan]) -> bool:
        message: Message | Unknown | None = None
        if self.topic in decode.KEYS and field == "key":
            self.type = primitives.int16(data, 0)[0] if len(data) >= decode.INT16_SIZE else None
            message = decode.decode_key(self.topic, data, spans=parts)
        elif self.topic in decode.KEYS and self.type is not None:
            message = decode.decode_value(self.topic, self.type, data, spans=parts)
        elif self.topic == CLUSTER_METADATA and field == "value":
            message = metadata.decode_metadata(data, spans=parts)
        elif self.topic == REMOTE_LOG_METADATA and field == "value":
            message = decode.decode_remote(data, spans=parts)
        if isinstance(message, Unknown):
            parts.append(FieldSpan(f"type {message.api_key}", field, 0, len(data), data, UNKNOWN))
        return message is not None

    def _with_one_frame(self, parts: list[FieldSpan], data: bytes) -> list[FieldSpan]:
        """Return the fields of a damaged message: type and version are one field.

        A value of remote log metadata has none: which layout it has shows at its end.
        """
        if self.control or not parts:
            return parts
        if self.topic == REMOTE_LOG_METADATA:
            return []
        count = 3 if self.topic == CLUSTER_METADATA else 1
        end = parts[count - 1].end
        frame = FieldSpan(parts[0].structure, "frame", 0, end, data[:end], "type and version")
        return [frame, *parts[count:]]


UNREADABLE = "unreadable"
CHUNK = 4096
SHOWN_OF_A_RANGE = 64 << 10
"""Bytes of a range without structure that are shown; of a larger one the rest is counted."""
LONGEST_TEXT = 1 << 20
"""Bytes of a field that are reported as text or hex besides the bytes.

Of a longer one their number.
"""

BATCH_HEADER = "batch header"
RECORD = "record "
FLAGS = {TRANSACTIONAL_MASK: "transactional", CONTROL_MASK: "control", DELETE_HORIZON_MASK: "delete horizon"}


class Annotated(NamedTuple):
    """One field: where it lies (in the file, or in decompressed bytes), its bytes, and what they say."""

    structure: str
    field: str
    position: int | None
    stream_position: int | None
    size: int
    data: bytes | None
    value: str | None
    meaning: str | None


class Defect(NamedTuple):
    """What is wrong with a batch: the code of the finding, and what it says."""

    code: str
    message: str


Annotation: TypeAlias = Annotated | Defect


class ByteRange(NamedTuple):
    """Bytes that fields lie in: `base` is where they begin in the file, or in the decompressed bytes."""

    data: Buffer
    base: int = 0
    in_stream: bool = False

    def annotated(self, part: FieldSpan, **changed: Any) -> Annotated:
        """Return a field of these bytes."""
        at = self.base + part.start
        raw = bytes(self.data[part.start : part.end])
        if isinstance(part.value, bytes) and part.value == raw:
            raw = part.value  # one copy of a long one is enough
        position, stream_position = (None, at) if self.in_stream else (at, None)
        return Annotated(
            part.structure,
            part.field,
            position,
            stream_position,
            len(raw),
            raw,
            shown(part.value),
            part.doc or None,
        )._replace(**changed)

    def unreadable(self, structure: str, start: int, error: FormatError, end: int | None = None) -> Annotated:
        """Return the bytes from a place on, which could not be read, and why."""
        why = str(type(error)(self.base + error.position, error.field, error.expected, error.found))
        end = len(self.data) if end is None else end
        return self.annotated(
            FieldSpan(structure, UNREADABLE, start, end, None),
            value=why,
            meaning=f"{error.code}: {error.field}",
        )

    def inside(self, start: int, end: int) -> "ByteRange":
        """Return some of these bytes as a place of their own."""
        return ByteRange(self.data[start:end], self.base + start, self.in_stream)


def shown(value: Any) -> str:
    """Return a value as text: numbers in decimal, bytes as text if they are printable UTF-8, else in hex."""
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=_bytes_text)


def _bytes_text(data: bytes) -> str:
    if len(data) > LONGEST_TEXT:
        return f"{len(data)} bytes"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    return text if text.isprintable() else f"0x{data.hex()}"


def bytes_range(data: bytes, position: int, size: int, structure: str, field: str) -> Iterator[Annotated]:
    """Yield bytes that have no structure: `data` is as many of the `size` as are shown, in rows of 4 KiB."""
    for start in range(0, len(data), CHUNK):
        chunk = data[start : start + CHUNK]
        yield Annotated(structure, field, position + start, None, len(chunk), chunk, f"0x{chunk.hex()}", None)
    if size > len(data):
        left = size - len(data)
        yield Annotated(structure, field, position + len(data), None, left, None, f"{left} bytes more", None)


def attributes_text(attributes: int, magic: int) -> str:
    """Return the attributes of a batch, or of a message of magic 0 or 1: the number and its bits in words."""
    codec = attributes & COMPRESSION_CODEC_MASK
    words = [COMPRESSION_NAMES.get(codec, f"codec {codec}")]
    known = COMPRESSION_CODEC_MASK
    if magic:
        words.append(TIMESTAMP_TYPES[bool(attributes & TIMESTAMP_TYPE_MASK)])
        known |= TIMESTAMP_TYPE_MASK
    for mask, word in FLAGS.items() if magic > 1 else ():
        known |= mask
        words += [word] if attributes & mask else []
    unknown = attributes & (0xFFFF if magic > 1 else 0xFF) & ~known
    words += [f"unknown bits 0x{unknown:x}"] if unknown else []
    return f"{attributes} ({', '.join(words)})"


def batch(raw: bytes, position: int, limit: int, topic: str | None, *, records: bool) -> Iterator[Annotation]:
    """Yield the fields of a batch of magic 2, those of its records too on request; `raw` is all of it.

    `topic` is the internal topic whose records' keys and values are reported field by field; None for no
    such.
    """
    yield from batch_header(raw, position)
    layout = format_of(magic_of(raw)).layout
    place, header, begin = ByteRange(raw, position), layout.read(raw), layout.size
    field = "compressed records" if header.codec else "records"
    payload = place.annotated(FieldSpan("records", field, begin, len(raw), b""), value=None)
    if not records:
        yield payload
        return
    try:
        header, body = unpacked(raw, limit)
    except FormatError as error:
        yield place.unreadable("records", begin, error)
        yield _trouble(position, header.base_offset, error)
        return
    if not header.records_count:
        if payload.size:
            yield payload._replace(meaning="not looked at: there are no records")
        return
    inside = place.inside(begin, len(raw))
    if header.codec:
        yield payload._replace(value=f"{len(body)} bytes decompressed")
        inside = ByteRange(body, 0, in_stream=True)
    longest = limit // CONTROL_SHARE if header.is_control else longest_for(limit)
    end, contents = 0, Contents(topic, control=header.is_control, longest=longest)
    try:
        for part in record_parts(header, body):
            yield from _field(part, inside, contents, position)
            end = part.end
        if header.is_control:
            yield from _without_contents(raw, limit, position)
    except FormatError as error:
        yield inside.unreadable("records", end, error)
        yield _trouble(position, header.base_offset, _located(error, begin, packed=bool(header.codec)))


def _field(part: FieldSpan, place: ByteRange, contents: Contents, position: int) -> Iterator[Annotation]:
    """Yield one field of a record, or the fields of its key or value."""
    if part.field == "length":
        contents.begin()
    is_content = part.field in {"key", "value"} and part.structure.startswith(RECORD)
    split = contents.split(part.field, bytes(part.value)) if is_content else None
    if split is None:
        yield place.annotated(part)
        return
    inside, end = place.inside(part.start, part.end), 0
    for inner in split.parts:
        yield inside.annotated(inner)
        end = inner.end
    if split.error is not None:
        yield inside.unreadable(f"{part.field} of {part.structure}", end, split.error)
        yield Defect(
            "DUMP-002", f"batch at byte {position}: {part.field} of {part.structure}: {describe(split.error)}"
        )
    elif end < part.end - part.start:
        rest = inside.data[end:]
        yield inside.annotated(
            FieldSpan(
                f"{part.field} of {part.structure}",
                "trailing",
                end,
                end + len(rest),
                bytes(rest),
                "after the message",
            )
        )


def _without_contents(raw: bytes, limit: int, position: int) -> Iterator[Defect]:
    """Yield what is wrong with control records that have no key or no value: no row shows it."""
    for number, record in enumerate(batch_records(raw, limit)):
        try:
            if record.key is None or record.value is None:
                control_record(record.key, record.value)
        except FormatError as error:
            yield Defect("DUMP-002", f"batch at byte {position}: record {number}: {describe(error)}")


def batch_header(raw: bytes, position: int, structure: str = BATCH_HEADER) -> Iterator[Annotated]:
    """Yield the fields of a header of magic 2."""
    place = ByteRange(raw, position)
    magic = magic_of(raw)
    for part in format_of(magic).layout.parts(raw, 0, structure):
        yield place.annotated(
            part._replace(value=attributes_text(part.value, magic)) if part.field == "attributes" else part
        )


def message(raw: bytes, position: int, limit: int, *, records: bool) -> Iterator[Annotation]:
    """Yield the fields of a message of magic 0 or 1, on request with those of the messages in a wrapper."""
    packed = bool(read_header(raw).codec)
    yield from _message(ByteRange(raw, position), "message", packed=packed)
    if not packed:
        trouble = _broken(raw)
        if trouble is not None:
            yield _trouble(position, read_header(raw).offset, trouble)
    elif records:
        yield from _wrapped(raw, position, limit)


def _message(place: ByteRange, structure: str, *, packed: bool) -> Iterator[Annotated]:
    end = 0
    try:
        for part in message_parts(place.data, structure):
            if packed and part.field == "value":
                yield place.annotated(part, field="compressed messages", value=None)
            elif part.field == "attributes":
                yield place.annotated(
                    part, value=attributes_text(part.value, 1 if place.data[MAGIC_POSITION] else 0)
                )
            else:
                yield place.annotated(part)
            end = part.end
    except FormatError as error:
        yield place.unreadable(structure, end, error)


def _broken(raw: Buffer) -> FormatError | None:
    """Return why a message's key or value cannot be read; None if they can."""
    try:
        for _ in message_parts(raw):
            pass
    except FormatError as error:
        return error
    return None


def _wrapped(raw: bytes, position: int, limit: int) -> Iterator[Annotation]:
    """Yield the fields of the messages in a wrapper, up to the first that cannot be read."""
    offset = read_header(raw).offset
    try:
        opened = message_set(raw, limit)
    except FormatError as error:
        yield ByteRange(raw, position).unreadable("compressed messages", len(raw), error)
        yield _trouble(position, offset, error)
        return
    place, end, trouble = ByteRange(opened.body, 0, in_stream=True), 0, None
    try:
        for number, found in enumerate(messages(opened)):
            end = found.position + len(found.data)
            yield from _message(place.inside(found.position, end), f"message {number}", packed=False)
            broken = _broken(found.data)
            if broken is not None:
                located = _located(broken.moved(found.position), opened.stream or 0, packed=True)
                yield _trouble(position, found.offset, located)
            if not is_valid(found.data):
                yield Defect(
                    "LOG-003",
                    f"offset {found.offset}: the checksum of a message inside a wrapper does not match",
                )
    except FormatError as error:
        trouble = error
    if trouble is not None:
        if end < len(opened.body):
            yield place.unreadable("messages", end, trouble)
        yield _trouble(position, offset, trouble)
    elif opened.cut:
        yield place.annotated(
            FieldSpan("messages", "cut message", end, len(opened.body), bytes(opened.body[end:]))
        )
        yield Defect("DUMP-009", f"offset {offset}: {opened.cut} bytes of a message that is cut")


def _located(error: FormatError, stream: int, *, packed: bool) -> FormatError:
    """Return an error met in a batch's contents as one of the batch, as the readers of records tell it."""
    if not packed:
        return error.moved(stream)
    return type(error)(
        stream, f"{error.field} at decompressed byte {error.position}", error.expected, error.found
    )


def _trouble(position: int, offset: int, error: FormatError) -> Defect:
    return Defect("DUMP-002", f"offset {offset}: {describe(error.moved(position))}")
