"""What stays of the records of Kafka's own topics in a bundle: every field in its place but what is secret.

Keys, values and headers keep their lengths, so that nothing moves. A field is kept where it is declared and
in no list here; whatever is not decoded is filled.
"""

from collections.abc import Callable
from contextlib import suppress

from formats.batch import BatchHeader
from formats.control import CONTROL_KEY, control_key, control_value
from formats.errors import CorruptError, FormatError
from formats.layout import FieldSpan
from formats.messages.decode import KEYS, decode_key, decode_remote, decode_value
from formats.messages.group import CONSUMER_PROTOCOL, CONSUMER_PROTOCOL_FIELDS
from formats.messages.metadata import decode_metadata
from formats.messages.reader import Collector, read_message
from formats.names import CLUSTER_METADATA, REMOTE_LOG_METADATA
from formats.primitives import int16, varint, varlong
from formats.record import record_parts
from kcli.kafka.kraft.secret_settings import may_hold_secret

MASKED_TOPICS = frozenset({*KEYS, CLUSTER_METADATA, REMOTE_LOG_METADATA})
"""Topics whose records are decoded; of others no record stays."""
SECRET_FIELDS = frozenset(
    {
        *(f"UserScramCredentialRecord {name}" for name in ("salt", "storedKey", "serverKey")),
        *(f"{name} metadata" for name in ("LegacyOffsetCommitValue", "OffsetCommitValue", "ClassicProtocol")),
        *(f"{name} value" for name in ("TopicConfig", "LastAssignmentConfig", "KeyValue")),
        "RemoteLogSegmentMetadataRecord customMetadata",
        "RemoteLogSegmentMetadataUpdateRecord customMetadata",
        "RemoteLogSegmentMetadataSnapshotRecord customMetadata",
        *(f"{name} userData" for name in CONSUMER_PROTOCOL),
    }
)
"""Fields with a secret, or with what a client or a plugin put there."""
CONFIG_VALUE = "ConfigRecord value"
UNKNOWN_TAG = "tagged fields: tag "
INT16_SIZE, FRAME_SIZE = 2, 3
"""Bytes that say the type or version of a message, kept also of an unknown one."""
NO_LENGTH = b"\xff"
"""No length and no number of tags: what follows the first field that cannot be read stays unreadable."""

Decode = Callable[[list[FieldSpan]], object]


def without_secrets(body: bytes, header: BatchHeader, topic: str | None) -> bytes:
    """Return the decompressed records of a batch with what is secret filled, as many bytes."""
    masked = bytearray(NO_LENGTH * len(body))
    key: bytes | None = None
    with suppress(FormatError):
        for span in record_parts(header, body):
            masked[span.start : span.end] = body[span.start : span.end]
            if span.structure.startswith("header ") and span.field in {"key", "value"}:
                masked[span.start : span.end] = bytes(span.end - span.start)
            elif span.field == "length":
                key = None
            elif span.field == "key":
                key = body[span.start : span.end]
                masked[span.start : span.end] = key_without_secrets(topic, key, is_control=header.is_control)
            elif span.field == "value":
                value = body[span.start : span.end]
                masked[span.start : span.end] = value_without_secrets(
                    topic, key, value, is_control=header.is_control
                )
    return bytes(masked)


def without_payload(body: bytes, count: int) -> bytes:
    """Return so many decompressed records of a user's topic with keys, values and headers of zeros.

    CorruptError or TruncatedError where they are not as Kafka reads them.
    """
    masked = bytearray(body)
    position = 0

    def fill(field: str) -> None:
        nonlocal position
        size, position = varint(body, position, field)
        if size > len(body) - position:
            raise CorruptError(position, field, f"at most {len(body) - position}", size)
        if size > 0:
            masked[position : position + size] = bytes(size)
            position += size

    for _ in range(count):
        length, position = varint(body, position, "record length")
        end = position + length
        _, position = varlong(body, position + 1, "timestamp delta")
        _, position = varint(body, position, "offset delta")
        fill("key length")
        fill("value length")
        headers, position = varint(body, position, "headers count")
        for _ in range(2 * headers):
            fill("header length")
        if position != end:
            raise CorruptError(position, "record length", length, length + position - end)
    if position != len(body):
        raise CorruptError(position, "records", "no more bytes", len(body) - position)
    # the byte of attributes is used by no release
    return bytes(masked)


def key_without_secrets(topic: str | None, key: bytes, *, is_control: bool = False) -> bytes:
    """Return what stays of a record's key."""
    if is_control:
        return key[: CONTROL_KEY.size].ljust(len(key), b"\0")
    if topic not in KEYS:
        return bytes(len(key))
    return _filled(key, INT16_SIZE, lambda spans: decode_key(topic, key, spans=spans))


def value_without_secrets(
    topic: str | None, key: bytes | None, value: bytes, *, is_control: bool = False
) -> bytes:
    """Return what stays of the value of a record with this key."""

    def decode(spans: list[FieldSpan]) -> object:
        if is_control:
            return control_value(control_key(key).type, value, spans=spans)
        if topic == CLUSTER_METADATA:
            return decode_metadata(value, spans=spans)
        if topic == REMOTE_LOG_METADATA:
            return decode_remote(value, spans=spans)
        return decode_value(topic or "", int16(key or b"", 0)[0], value, spans=spans)

    if not is_control and topic not in MASKED_TOPICS:
        return bytes(len(value))
    is_framed = not is_control and topic not in KEYS
    return _filled(value, FRAME_SIZE if is_framed else INT16_SIZE, decode)


def _filled(data: bytes, head: int, decode: Decode) -> bytes:
    """Return a message without its secrets, and without what is no field of it; `head` bytes stay anyway."""
    spans: list[FieldSpan] = []
    fill = b"\0"
    try:
        decode(spans)
    except FormatError:
        fill = NO_LENGTH
    masked = bytearray(data[:head].ljust(len(data), fill))
    fields: dict[str, object] = {}
    for span in spans:
        fields[span.field] = span.value
        secret = _filler(span, fields)
        masked[span.start : span.end] = data[span.start : span.end - len(secret)] + secret
    return bytes(masked)


def _filler(span: FieldSpan, fields: dict[str, object]) -> bytes:
    """Return what takes the place of the last bytes of a field: of all of a secret, of none of another."""
    name, value = f"{span.structure} {span.field}", span.value
    if span.structure == "MemberMetadata" and span.field in CONSUMER_PROTOCOL_FIELDS:
        return _of_a_client(value, CONSUMER_PROTOCOL_FIELDS[span.field])
    is_hidden = name in SECRET_FIELDS or (name == CONFIG_VALUE and _is_secret(fields))
    if isinstance(value, str) and is_hidden:
        return b"x" * len(value.encode())
    if isinstance(value, bytes) and (is_hidden or span.field.startswith(UNKNOWN_TAG)):
        return bytes(len(value))
    return b""


def _is_secret(fields: dict[str, object]) -> bool:
    kind, name = fields.get("resourceType"), fields.get("name")
    return not (isinstance(kind, int) and isinstance(name, str)) or may_hold_secret(kind, name)


def _of_a_client(data: bytes, message: str) -> bytes:
    """Return what stays of the bytes of a classic member: the topics, if they are a consumer's."""
    schema = CONSUMER_PROTOCOL[message]

    def decode(spans: list[FieldSpan]) -> object:
        return read_message(schema, 0, data, INT16_SIZE, Collector(spans=spans))

    try:
        decode([])
    except FormatError:
        return data[:INT16_SIZE].ljust(len(data), NO_LENGTH)
    return _filled(data, INT16_SIZE, decode)
