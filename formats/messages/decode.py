"""What the records of the internal topics say, by topic: keys and values as messages.

    __consumer_offsets, __transaction_state, __share_group_state
        key      i16 api key, message of version 0
        value    i16 version, message; null is a tombstone
    __cluster_metadata
        key      not looked at
        value    uvarint frame version 1, uvarint api key, uvarint version, message
    __remote_log_metadata
        value    the same frame; `formats.remote_metadata` tells of which layout it is

The truth is `CoordinatorRecordSerde` for the coordinators' topics and
`AbstractApiMessageSerde` for the metadata log. A type or version that is not
declared is no error: it comes back as `Unknown` with its bytes.
"""

import struct
from typing import Any, NamedTuple

from formats import primitives
from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.messages import group, metadata, remote, share_group, transaction
from formats.messages.converter import to_json
from formats.messages.declare import Schema, Value
from formats.messages.reader import ELEMENTS_MAX, Collector, Span, UnknownTag, reader
from formats.names import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from formats.remote_metadata import read_envelope
from formats.types import Buffer

KEYS: dict[str, dict[int, Schema]] = {
    CONSUMER_OFFSETS: group.KEYS,
    TRANSACTION_STATE: transaction.KEYS,
    SHARE_GROUP_STATE: share_group.KEYS,
}
VALUES: dict[str, dict[int, Schema]] = {
    CONSUMER_OFFSETS: group.VALUES,
    TRANSACTION_STATE: transaction.VALUES,
    SHARE_GROUP_STATE: share_group.VALUES,
    CLUSTER_METADATA: metadata.RECORDS,
}
PREVIEW_KEYS: dict[str, dict[int, Schema]] = {CONSUMER_OFFSETS: group.PREVIEW_KEYS}
PREVIEWS: dict[str, dict[int, Schema]] = {
    CONSUMER_OFFSETS: group.PREVIEWS,
    SHARE_GROUP_STATE: share_group.PREVIEWS,
}
"""What a preview of consumer or share groups wrote and 4.3 does not read."""

TOPICS = tuple(VALUES)
"""The topics whose records are read here."""

SCHEMAS: dict[str, Schema] = {
    **group.SCHEMAS,
    **transaction.SCHEMAS,
    **share_group.SCHEMAS,
    **metadata.SCHEMAS,
    **remote.SCHEMAS,
    **{
        schema.name: schema
        for table in (PREVIEW_KEYS, PREVIEWS)
        for schemas in table.values()
        for schema in schemas.values()
    },
}
"""Every declared message by its name, which is unique over all topics."""

KEY_VERSION = 0

_INT16 = struct.Struct(">h")


class Message(NamedTuple):
    """A decoded key or value: its fields in declared order, by the names of Kafka's JSON.

    `version` is a layout's number where Kafka writes 0 for all of them: see `formats.messages.remote`. Fields of other versions are not there; tagged fields that were left out have
    their default. `rest` are bytes behind the message, which Kafka does not look at; `replaced` are tagged fields that
    came again, of which the last is in `fields`.
    """

    name: str
    api_key: int
    version: int
    fields: dict[str, Value]
    unknown_tags: tuple[UnknownTag, ...]
    rest: bytes
    replaced: tuple[UnknownTag, ...] = ()


class Unknown(NamedTuple):
    """A key or value of a type or version that is not declared; `raw` are all of its bytes.

    `version` is None for a key, and for a value of unknown type too short to have one.
    """

    api_key: int
    version: int | None
    raw: bytes


def decode_key(
    topic: str, key: Buffer | None, *, previews: bool = False, replace_invalid_utf8: bool = False
) -> Message | Unknown:
    """Return the key of a coordinator's record; null is a CorruptError, as for the coordinator itself.

    With `previews` types that only a preview wrote are known, too. With `replace_invalid_utf8` what is not UTF-8 in a string is U+FFFD, as
    where Kafka prints it; else a CorruptError.
    """
    if key is None:
        raise CorruptError(0, f"{topic} key", "a key", "null")
    api_key = _int16(key, topic, "record type")
    schema = KEYS[topic].get(api_key) or (PREVIEW_KEYS.get(topic, {}).get(api_key) if previews else None)
    if schema is None:
        return Unknown(api_key, None, bytes(key))
    return _message(
        schema, KEY_VERSION, key, _INT16.size, ELEMENTS_MAX, replace_invalid_utf8=replace_invalid_utf8
    )


def decode_value(
    topic: str,
    api_key: int,
    value: Buffer,
    elements: int = ELEMENTS_MAX,
    *,
    replace_invalid_utf8: bool = False,
) -> Message | Unknown:
    """Return the value of a coordinator's record whose key is of this type; `replace_invalid_utf8` as for a key."""
    schema = VALUES[topic].get(api_key)
    if schema is None:
        return Unknown(
            api_key, _INT16.unpack_from(value)[0] if len(value) >= _INT16.size else None, bytes(value)
        )
    version = _int16(value, schema.name, "version")
    if version not in schema.versions:
        return Unknown(api_key, version, bytes(value))
    return _message(schema, version, value, _INT16.size, elements, replace_invalid_utf8=replace_invalid_utf8)


def decode_preview(topic: str, api_key: int, value: Buffer, elements: int = ELEMENTS_MAX) -> Message | None:
    """Return a value as a preview wrote it, of a type or in a layout that 4.3 does not read; None if it is no such value.

    Nothing in a value tells the layouts of its type apart but which of them uses it up: ask for what `decode_value`
    does not read to its end.
    """
    schema = PREVIEWS.get(topic, {}).get(api_key)
    if schema is None or bytes(value[: _INT16.size]) != bytes(_INT16.size):
        return None
    try:
        message = _message(schema, 0, value, _INT16.size, elements)
    except FormatError:
        return None  # the error of the layout in use is the one to tell
    return None if message.rest or message.unknown_tags or message.replaced else message


def decode_metadata(
    value: Buffer | None,
    elements: int = ELEMENTS_MAX,
    *,
    replace_invalid_utf8: bool = False,
    nearest: bool = False,
) -> Message | Unknown:
    """Return a record of the metadata log or of a snapshot of it; `replace_invalid_utf8` as for a key.

    With `nearest` one of an unknown version is read as the known one next to it, which its message then has.
    Null, or bytes behind the message, are a CorruptError; another frame version
    than 1 (0: the preview of 2.8) is an UnsupportedError, for what follows it is not known.
    """
    if value is None:
        raise CorruptError(0, f"{CLUSTER_METADATA} value", "a value", "null")
    frame_version, at = primitives.short_varint(value, 0, "frame version")
    if frame_version != metadata.FRAME_VERSION:
        raise UnsupportedError(0, "frame version", metadata.FRAME_VERSION, frame_version)
    api_key, at = primitives.short_varint(value, at, "record type")
    version, at = primitives.short_varint(value, at, "record version")
    schema = metadata.RECORDS.get(api_key)
    if schema is None or (version not in schema.versions and not nearest):
        return Unknown(api_key, version, bytes(value))
    known = max(min(version, schema.versions.highest), schema.versions.lowest)
    message = _message(schema, known, value, at, elements, replace_invalid_utf8=replace_invalid_utf8)
    if message.rest:
        raise CorruptError(len(value) - len(message.rest), schema.name, "no more bytes", len(message.rest))
    return message


def decode_remote(
    value: Buffer, layout: str, elements: int = ELEMENTS_MAX, *, replace_invalid_utf8: bool = False
) -> Message:
    """Return a value that `formats.remote_metadata.decode` takes, and whose layout it tells, as a message; `replace_invalid_utf8` as there."""
    envelope = read_envelope(value)
    return _message(
        remote.RECORDS[envelope.api_key],
        remote.LAYOUTS[layout],
        value,
        envelope.size,
        elements,
        replace_invalid_utf8=replace_invalid_utf8,
    )


def message_json(message: Message) -> dict[str, Any]:
    """Return the fields as the JSON converter that Kafka generates for the message writes them."""
    return to_json(SCHEMAS[message.name], message.version, message.fields)


def spans(message: Message, data: Buffer) -> tuple[Span, ...]:
    """Return where every field of a decoded message lies in its bytes, in order and without gaps, the frame first."""
    if message.name in metadata.SCHEMAS or message.name in remote.SCHEMAS:
        names = ("frame version", "record type", "record version")
        framed, start = [], 0
        for name in names:
            _, end = primitives.short_varint(data, start, name)
            framed.append(Span(message.name, name, start, end))
            start = end
    else:
        start = _INT16.size
        framed = [Span(message.name, "record type" if message.name.endswith("Key") else "version", 0, start)]
    found = Collector(spans=True, replace_invalid_utf8=True)
    reader(SCHEMAS[message.name], message.version)(data, start, found)
    return (*framed, *(found.spans or ()))


def _message(
    schema: Schema,
    version: int,
    buffer: Buffer,
    position: int,
    elements: int,
    *,
    replace_invalid_utf8: bool = False,
) -> Message:
    found = Collector(elements, replace_invalid_utf8=replace_invalid_utf8)
    fields, end = reader(schema, version)(buffer, position, found)
    rest = bytes(buffer[end:])
    return Message(
        schema.name, schema.api_key, version, fields, tuple(found.unknown_tags), rest, tuple(found.replaced)
    )


def _int16(buffer: Buffer, structure: str, field: str) -> int:
    if len(buffer) < _INT16.size:
        raise TruncatedError(0, f"{structure} {field}", f"{_INT16.size} bytes", len(buffer))
    number: int = _INT16.unpack_from(buffer)[0]
    return number
