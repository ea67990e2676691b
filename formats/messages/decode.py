"""What the records of the internal topics say, by topic: keys and values as messages.

    __consumer_offsets, __transaction_state, __share_group_state
        key      i16 api key, message of version 0
        value    i16 version, message; null is a tombstone
    __cluster_metadata
        key      not looked at
        value    uvarint frame version 1, uvarint api key, uvarint version, message
    __remote_log_metadata
        value    the same frame; its tail shows which layout it has, see `formats.messages.remote`
    control records of any topic: see `formats.control`

The truth is `CoordinatorRecordSerde` for the coordinators' topics and `AbstractApiMessageSerde` for the
metadata log. A type or version that is not declared is no error: it comes back as `Unknown` with its bytes.
"""

from typing import Any

from formats import primitives
from formats.errors import CorruptError
from formats.layout import FieldSpan
from formats.messages import control, group, metadata, remote, share_group, transaction
from formats.messages.converter import to_json
from formats.messages.declare import Schema
from formats.messages.reader import ELEMENTS_MAX, Collector, Message, Unknown, message_of, read_message
from formats.names import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from formats.types import Buffer

KEYS: dict[str, dict[int, Schema]] = {
    CONSUMER_OFFSETS: group.GROUP_KEYS,
    TRANSACTION_STATE: transaction.TRANSACTION_KEYS,
    SHARE_GROUP_STATE: share_group.SHARE_KEYS,
}
VALUES: dict[str, dict[int, Schema]] = {
    CONSUMER_OFFSETS: group.GROUP_VALUES,
    TRANSACTION_STATE: transaction.TRANSACTION_VALUES,
    SHARE_GROUP_STATE: share_group.SHARE_VALUES,
    CLUSTER_METADATA: metadata.METADATA_RECORDS,
}
COORDINATOR_TOPICS = tuple(KEYS)
"""The topics that coordinators write: their records have typed keys."""

SCHEMAS: dict[str, Schema] = {
    **group.GROUP_SCHEMAS,
    **transaction.TRANSACTION_SCHEMAS,
    **share_group.SHARE_SCHEMAS,
    **metadata.METADATA_SCHEMAS,
    **remote.REMOTE_SCHEMAS,
    **control.CONTROL_SCHEMAS,
}
"""Every declared message by its name, which is unique over all topics."""

KEY_VERSION = 0

INT16_SIZE = 2


def decode_key(
    topic: str,
    key: Buffer | None,
    *,
    replace_invalid_utf8: bool = False,
    spans: list[FieldSpan] | None = None,
) -> Message | Unknown:
    """Return the key of a coordinator's record; null is a CorruptError, as for the coordinator itself.

    With `replace_invalid_utf8` what is not UTF-8 is U+FFFD, as Kafka prints it; else a CorruptError. `spans`
    gets the fields as they lie, without gaps, up to the first that cannot be read.
    """
    if key is None:
        raise CorruptError(0, f"{topic} key", "a key", "null")
    api_key, start = primitives.int16(key, 0, f"{topic} record type")
    schema = KEYS[topic].get(api_key)
    if schema is None:
        return Unknown(api_key, None, bytes(key))
    collector = Collector(replace_invalid_utf8=replace_invalid_utf8, spans=spans)
    collector.span(f"{schema.name} record type", 0, start, api_key)
    return read_message(schema, KEY_VERSION, key, start, collector)


def decode_value(
    topic: str,
    api_key: int,
    value: Buffer,
    elements: int = ELEMENTS_MAX,
    *,
    replace_invalid_utf8: bool = False,
    spans: list[FieldSpan] | None = None,
) -> Message | Unknown:
    """Return the value of a coordinator's record whose key is of this type; options as of `decode_key`."""
    schema = VALUES[topic].get(api_key)
    if schema is None:
        has_version = len(value) >= INT16_SIZE
        return Unknown(api_key, primitives.int16(value, 0)[0] if has_version else None, bytes(value))
    version, start = primitives.int16(value, 0, f"{schema.name} version")
    if version not in schema.versions:
        return Unknown(api_key, version, bytes(value))
    collector = Collector(elements, replace_invalid_utf8=replace_invalid_utf8, spans=spans)
    collector.span(f"{schema.name} version", 0, start, version)
    return read_message(schema, version, value, start, collector)


def decode_remote(
    value: Buffer,
    elements: int = ELEMENTS_MAX,
    *,
    replace_invalid_utf8: bool = False,
    spans: list[FieldSpan] | None = None,
) -> Message:
    """Return a value of __remote_log_metadata, its layout as version; errors as `remote.read_value`."""
    collector = Collector(elements, replace_invalid_utf8=replace_invalid_utf8, spans=spans)
    schema, layout, fields = remote.read_value(value, collector)
    return message_of(schema, layout, fields, b"", collector)


def message_json(message: Message) -> dict[str, Any]:
    """Return the fields as the JSON converter that Kafka generates for the message writes them."""
    return to_json(SCHEMAS[message.name], message.version, message.fields)
