"""Keys and values of control records and of internal topics, field by field.

Where the fields lie and what they hold.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from formats import primitives
from formats.control import CONTROL_KEY, VALUE_SCHEMAS, control_key, control_value, value_version
from formats.errors import FormatError, LimitError
from formats.layout import FieldSpan
from formats.messages import control, decode, metadata, remote
from formats.messages.collector import Collector, Span
from formats.messages.declare import Field, Schema
from formats.messages.message import Message, Unknown
from formats.messages.reader import reader
from formats.names import CLUSTER_METADATA, REMOTE_LOG_METADATA
from formats.remote_metadata import LONGEST_VALUE

DECODED = frozenset({*decode.TOPICS, CLUSTER_METADATA, REMOTE_LOG_METADATA})
UNKNOWN = "of a type or version that is not declared"

_NO_TAGS = b"\0"


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
        read = self._control if self.control else self._message
        try:
            return read(field, data)
        except FormatError as error:
            is_too_long = self.control and isinstance(error, LimitError)
            return Split([] if is_too_long else self._so_far(field, data), error)

    def begin(self) -> None:
        """Forget the key before: a record begins."""
        self.type = None

    def _control(self, field: str, data: bytes) -> Split | None:
        if field == "key":
            self.type = control_key(data).type
            return Split(list(CONTROL_KEY.parts(data)), None)
        message = None if self.type is None else control_value(self.type, data, self.longest)
        return None if message is None else Split(list(message_fields(message, data)), None)

    def _message(self, field: str, data: bytes) -> Split | None:
        message: Message | Unknown | None = None
        if self.topic == CLUSTER_METADATA:
            message = metadata.decode_metadata(data) if field == "value" else None
        elif self.topic == REMOTE_LOG_METADATA:
            message = decode.decode_remote(data) if field == "value" else None
        elif self.topic in decode.TOPICS and field == "key":
            message = decode.decode_key(self.topic, data)
            self.type = message.api_key
        elif self.topic in decode.TOPICS and self.type is not None:
            message = decode.decode_value(self.topic, self.type, data)
        if message is None:
            return None
        if isinstance(message, Unknown):
            return Split([FieldSpan(f"type {message.api_key}", field, 0, len(data), data, UNKNOWN)], None)
        return Split(list(message_fields(message, data)), None)

    def _so_far(self, field: str, data: bytes) -> list[FieldSpan]:
        """Return the fields of a message that cannot be decoded, as far as its type and version are known."""
        schema: Schema | None = None
        version, start = 0, decode.INT16_SIZE
        try:
            if self.control:
                schema, start = VALUE_SCHEMAS.get(self.type or 0) if field == "value" else None, 0
                version = 0 if schema is None else value_version(schema, data)
            elif self.topic == CLUSTER_METADATA:
                schema, version, start = _metadata_frame(data)
            elif self.topic in decode.KEYS and len(data) >= start:
                number, _ = primitives.int16(data, 0)
                if field == "key":
                    self.type = number
                    schema, version = decode.KEYS[self.topic].get(number), decode.KEY_VERSION
                elif self.type is not None:
                    schema, version = decode.VALUES[self.topic].get(self.type), number
        except FormatError:
            return []
        return (
            list(_read_so_far(schema, version, start, data))
            if schema is not None and version in schema.versions
            else []
        )


def _metadata_frame(data: bytes) -> tuple[Schema | None, int, int]:
    """Return the schema, version and first byte of a record of the metadata log."""
    _, at = primitives.short_varint(data, 0)
    api_key, at = primitives.short_varint(data, at)
    version, at = primitives.short_varint(data, at)
    return metadata.RECORDS.get(api_key), version, at


def message_fields(message: Message, data: bytes) -> Iterator[FieldSpan]:
    """Yield every field of a decoded message with its value, in order and without gaps, the frame first."""
    spans = decode.spans(message, data)
    framed = message.name in metadata.SCHEMAS or message.name in remote.SCHEMAS
    size = 3 if framed else 0 if message.name in control.SCHEMAS else 1
    for span in spans[:size]:
        raw = data[span.start : span.end]
        yield FieldSpan(
            span.struct,
            span.field,
            span.start,
            span.end,
            (primitives.short_varint if framed else primitives.int16)(raw, 0, span.field)[0],
        )
    yield from _valued(decode.SCHEMAS[message.name], message.version, spans[size:], data)


def _valued(schema: Schema, version: int, spans: Iterable[Span], data: bytes) -> Iterator[FieldSpan]:
    declared = _fields(schema)
    for span in spans:
        raw = data[span.start : span.end]
        yield FieldSpan(
            span.struct, span.field, span.start, span.end, _value(schema, version, declared, span, raw)
        )


def _read_so_far(schema: Schema, version: int, start: int, data: bytes) -> Iterator[FieldSpan]:
    """Yield the fields of a damaged message up to the first that cannot be read; the frame is one field."""
    if start:
        yield FieldSpan(schema.name, "frame", 0, start, data[:start], "type and version")
    found = Collector(spans=True)
    with suppress(FormatError):  # the caller has it: decoding met it first
        reader(schema, version)(data, start, found)
    yield from _valued(schema, version, found.spans or (), data)


@cache
def _fields(schema: Schema) -> dict[tuple[str, str], Field]:
    """Return the declared fields of a message by the names of their struct and their own."""
    found: dict[tuple[str, str], Field] = {}

    def collect(owner: str, inside: tuple[Field, ...]) -> None:
        for field in inside:
            found[owner, field.name] = field
            if field.struct is not None:
                collect(field.type, field.struct)

    collect(schema.name, schema.fields)
    return found


def _value(
    schema: Schema, version: int, declared: dict[tuple[str, str], Field], span: Span, raw: bytes
) -> Any:
    name, _, word = span.field.partition(": ")
    flexible = schema.is_flexible(version)
    if not word:
        field = declared[span.struct, name]._replace(tag=None)
        one = schema._replace(name=span.struct, fields=(field,))
        return reader(one, version)(raw + _NO_TAGS if flexible else raw, 0, Collector())[0][name]
    if word == "count" and name == "tagged fields":
        return primitives.java_int(primitives.unsigned_varint(raw, 0)[0])
    if word == "count":
        count = primitives.compact_length(raw, 0)[0] if flexible else primitives.int32(raw, 0)[0]
        return None if count < 0 else count
    if word == "null or not":
        tagged = declared[span.struct, name].tag is not None
        null = primitives.java_int(primitives.unsigned_varint(raw, 0)[0]) <= 0 if tagged else raw[0] > 0x7F
        return "null" if null else "not null"
    if word.endswith(" and size"):
        tag, after = primitives.unsigned_varint(raw, 0)
        return f"tag {tag}, {primitives.unsigned_varint(raw, after)[0]} bytes"
    return raw
