"""A decoded message: its fields, and what no field shows."""

from typing import NamedTuple

from formats.messages.collector import Collector, UnknownTag
from formats.messages.declare import Schema, Value
from formats.messages.reader import reader
from formats.types import Buffer


class Message(NamedTuple):
    """A decoded key or value: its fields in declared order, by the names of Kafka's JSON.

    `version` is the declared version that it was read as: a layout's number where Kafka writes 0 for all of
    them (see `formats.messages.remote`). Fields of other versions are not there; tagged fields that were left
    out have their default. `rest` are bytes after the message, which Kafka does not look at; `replaced` are
    tagged fields that came again, of which the last is in `fields`.
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


def read_message(
    schema: Schema, version: int, buffer: Buffer, position: int, collector: Collector
) -> Message:
    """Return the message that begins at `position`.

    FormatError where the bytes are not what the version says.
    """
    fields, end = reader(schema, version)(buffer, position, collector)
    return message_of(schema, version, fields, bytes(buffer[end:]), collector)


def message_of(
    schema: Schema, version: int, fields: dict[str, Value], rest: bytes, collector: Collector
) -> Message:
    """Return fields that were read, with what the collector has."""
    return Message(
        schema.name,
        schema.api_key,
        version,
        fields,
        tuple(collector.unknown_tags),
        rest,
        tuple(collector.replaced),
    )
