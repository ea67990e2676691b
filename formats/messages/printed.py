"""Records of the internal topics in the words of kafka-dump-log with its decoders.

The truth is `org.apache.kafka.tools.DumpLogSegments`: its CoordinatorRecordMessageParser,
OffsetsMessageParser and ClusterMetadataLogMessageParser. What follows "skipping."
is Kafka's where a type or version is unknown and ours where bytes are bad.

Other than Kafka: a coordinator's record without a key is reported and does not end
the dump.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from formats.errors import FormatError
from formats.messages import decode, group, metadata
from formats.messages.converter import json_text, to_json
from formats.messages.declare import Value
from formats.messages.flat import flat_printer
from formats.messages.metadata import decode_metadata
from formats.messages.reader import ELEMENTS_MAX, Collector, Message, Unknown, reader
from formats.messages.transaction import TRANSACTION_STATES
from formats.names import CLUSTER_METADATA, TRANSACTION_STATE
from formats.primitives import int16
from formats.types import Buffer

TOMBSTONE_TEXT = "<DELETE>"
CONSUMER_PROTOCOL_TYPE = "consumer"
GROUP_METADATA = "GroupMetadataValue"

_STATUS = re.compile(r'"transactionStatus":(-?\d+)')
KEPT_KEYS, LONGEST_KEPT = 4096, 256
"""Keys of these topics come again and again: so many short ones are decoded once."""

_FLAT = {
    (topic, api_key, version): printer
    for topic, schemas in decode.VALUES.items()
    if topic != CLUSTER_METADATA
    for api_key, schema in schemas.items()
    for version in range(schema.versions.lowest, schema.versions.highest + 1)
    if (printer := flat_printer(schema, version)) is not None
}
"""What prints values of these versions straight from their bytes."""


class Printed(NamedTuple):
    """What follows `key: ` and `payload: `; None where Kafka prints neither word nor text.

    The error, if there is one, has no traceback: its frames would keep what callers hold.
    """

    key: str | None
    payload: str | None
    error: FormatError | None


def printed(
    topic: str, offset: int, key: Buffer | None, value: Buffer | None, elements: int = ELEMENTS_MAX
) -> Printed:
    """Return a record's texts as its topic's decoder prints them; more elements than given are an error."""
    if topic == CLUSTER_METADATA:
        return _metadata(offset, value, elements)
    try:
        decoded, key_text = (
            _kept_key(topic, bytes(key)) if key is not None and len(key) <= LONGEST_KEPT else _key(topic, key)
        )
        if isinstance(decoded, Unknown):
            return Printed(f"Unknown record type {decoded.api_key} at offset {offset}, skipping.", None, None)
        if value is None:
            return Printed(key_text, TOMBSTONE_TEXT, None)
        json = _flat_text(topic, decoded.api_key, value) or _value(topic, decoded.api_key, value, elements)
    except FormatError as error:
        return Printed(f"Error at offset {offset}, skipping. {error}", None, error.moved(0))
    if isinstance(json, Unknown):
        text = f"Found an unknown record version {json.version} for {json.api_key} type"
        return Printed(f"Error at offset {offset}, skipping. {text}", None, None)
    return Printed(key_text, _with_state_name(json) if topic == TRANSACTION_STATE else json, None)


def _key(topic: str, key: Buffer | None) -> tuple[Message | Unknown, str | None]:
    """Return a key decoded, and its text."""
    decoded = decode.decode_key(topic, key, replace_invalid_utf8=True)
    if isinstance(decoded, Unknown):
        return decoded, None
    return decoded, json_text({"type": str(decoded.api_key), "data": decode.message_json(decoded)})


_kept_key = lru_cache(KEPT_KEYS)(_key)


def _value(topic: str, api_key: int, value: Buffer, elements: int) -> str | Unknown:
    data = decode.decode_value(topic, api_key, value, elements, replace_invalid_utf8=True)
    return data if isinstance(data, Unknown) else value_text(data, elements)


def _flat_text(topic: str, api_key: int, value: Buffer) -> str | None:
    """Return the text of a value that can be printed without being taken apart, None of others."""
    if len(value) < decode.INT16_SIZE:
        return None
    version, start = int16(value, 0)
    printer = _FLAT.get((topic, api_key, version))
    data = None if printer is None else printer(value, start)
    return None if data is None else f'{{"version":"{version}","data":{data}}}'


def _with_state_name(text: str) -> str:
    """Return a text with the state of a transaction as the tool names it since 4.4; other numbers as text."""
    if (status := _STATUS.search(text)) is None:
        return text
    name = dict(enumerate(TRANSACTION_STATES)).get(int(status[1]), status[1])
    return text.replace(status[0], f'"transactionStatus":"{name}"', 1)  # one copy: it may be long


def value_text(value: Message, elements: int = ELEMENTS_MAX, version: int | None = None) -> str:
    """Return the JSON of a value as the tool has it, U+FFFD for what is not UTF-8.

    `version` is shown instead of the one that the value was read as.
    """
    data = value_json(value, elements, replace_invalid_utf8=True)
    if value.name in metadata.METADATA_SCHEMAS:
        number = value.version if version is None else version
        return json_text({"type": metadata.type_name(value.name), "version": number, "data": data})
    return json_text({"version": str(value.version), "data": data})


def value_json(
    value: Message, elements: int = ELEMENTS_MAX, *, replace_invalid_utf8: bool = False
) -> dict[str, Any]:
    """Return the data of a value; what the consumer protocol wrote in a group's metadata is decoded.

    All members' bytes may have so many elements; beyond, or without UTF-8 unless with `replace_invalid_utf8`,
    they stay base64.
    """
    data = decode.message_json(value)
    if value.name == GROUP_METADATA and value.fields["protocolType"] == CONSUMER_PROTOCOL_TYPE:
        collector = Collector(elements, replace_invalid_utf8=replace_invalid_utf8)
        members: Any = value.fields["members"]
        for member_json, member in zip(data["members"], members, strict=True):
            for field, name in group.CONSUMER_PROTOCOL_FIELDS.items():
                member_json[field] = _consumer_protocol(name, member[field], member_json[field], collector)
    return data


def _metadata(offset: int, value: Buffer | None, elements: int) -> Printed:
    try:
        record = decode_metadata(value, elements, replace_invalid_utf8=True)
        if isinstance(record, Unknown) and record.api_key in metadata.METADATA_RECORDS:
            # Kafka's readers of structs look whether they know a version, those of whole messages do not
            nearest = decode_metadata(value, elements, replace_invalid_utf8=True, nearest=True)
            if isinstance(nearest, Message) and not any(map(_holds_structs, nearest.fields.values())):
                return Printed(None, value_text(nearest, elements, record.version), None)
            text = f"Failed to deserialize record with type {record.api_key}"
            return Printed(None, f"Error at {offset}, skipping. {text}", None)
    except FormatError as error:
        return Printed(None, f"Error at {offset}, skipping. {error}", error.moved(0))
    if isinstance(record, Message):
        return Printed(None, value_text(record, elements), None)
    text = f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {record.api_key}"
    return Printed(None, f"Error at {offset}, skipping. {text}", None)


def _holds_structs(value: Value) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _consumer_protocol(name: str, data: bytes, fallback: str, collector: Collector) -> Any:
    """Return the JSON of what a consumer wrote, or `fallback` for bytes that are of another kind."""
    schema = group.CONSUMER_PROTOCOL[name]
    try:
        version, start = int16(data, 0)
        # A later version is read as the last known one, but Kafka's readers of structs look whether they know
        # it.
        read_as = max(min(version, schema.versions.highest), schema.versions.lowest)
        fields, _ = reader(schema, read_as)(data, start, collector)
    except FormatError:
        return fallback
    if version > schema.versions.highest and any(map(_holds_structs, fields.values())):
        return fallback
    return to_json(schema, read_as, fields)
