"""Control records: what the broker and the KRaft quorum write into the log, between the data.

Lives in control batches (attribute bit 5) of `*.log` and KRaft `*.checkpoint` files; written by transaction
coordinators' markers and by the raft leader. The truth is `org.apache.kafka.common.record.ControlRecordType`
for the key, `EndTransactionMarker` and `ControlRecordUtils` for what is read of which version; the values are
declared in `formats.messages.control`.

    key     i16 version, i16 type
    0, 1    ABORT, COMMIT      EndTxnMarker
    2       LEADER_CHANGE      LeaderChangeMessage
    3       SNAPSHOT_HEADER    SnapshotHeaderRecord
    4       SNAPSHOT_FOOTER    SnapshotFooterRecord
    5       KRAFT_VERSION      KRaftVersionRecord
    6       KRAFT_VOTERS       VotersRecord

Whatever version a value has, Kafka reads types 3 to 6 as version 0, and LEADER_CHANGE
too: here a LEADER_CHANGE of version 1 keeps its directories, and a later one is refused.
"""

from typing import Annotated, NamedTuple

from formats import primitives
from formats.errors import CorruptError, FormatError, LimitError, UnsupportedError
from formats.layout import INT16, FieldSpan, Layout
from formats.messages.control import CONTROL_VALUES
from formats.messages.declare import Schema
from formats.messages.reader import STRUCT_WEIGHT, Collector, Message, read_message
from formats.types import Buffer

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)
UNKNOWN_NAME = "UNKNOWN"
LONGEST_CONTROL = 1 << 16
"""Bytes that a value with arrays or tags may have, whatever a caller allows: decoded it takes up to a hundred
times that.
"""
CONTROL_NAMES = {
    ABORT: "ABORT",
    COMMIT: "COMMIT",
    LEADER_CHANGE: "LEADER_CHANGE",
    SNAPSHOT_HEADER: "SNAPSHOT_HEADER",
    SNAPSHOT_FOOTER: "SNAPSHOT_FOOTER",
    KRAFT_VERSION: "KRAFT_VERSION",
    KRAFT_VOTERS: "KRAFT_VOTERS",
}
VALUE_SCHEMAS: dict[int, Schema] = {ABORT: CONTROL_VALUES[COMMIT], **CONTROL_VALUES}
"""Number of a type -> the message in its value."""


class ControlKey(NamedTuple):
    """The key of a control record, as stored."""

    version: Annotated[int, INT16, "0; a later one is read as 0"]
    type: Annotated[int, INT16, "ControlRecordType"]

    @property
    def name(self) -> str:
        """Kafka's name of the type; UNKNOWN for a number that it does not know."""
        return CONTROL_NAMES.get(self.type, UNKNOWN_NAME)


class ControlRecord(NamedTuple):
    """A control record: its type's number and name, and its value; None for an unknown type."""

    type: int
    name: str
    value: Message | None


CONTROL_KEY = Layout(ControlKey, "control record key")


def control_key(key: Buffer | None) -> ControlKey:
    """Return a control record's key, as `ControlRecordType.parseTypeId`; CorruptError for null or below 0."""
    if key is None:
        raise CorruptError(0, CONTROL_KEY.name, "a key", "null")
    fields = CONTROL_KEY.read(key)
    _not_negative(fields.version, CONTROL_KEY.name)
    return fields


def control_type(key: bytes | None) -> str:
    """Return Kafka's name of a control record's type by its key; its number, or `invalid`, without one."""
    try:
        number = control_key(key).type
    except FormatError:
        return "invalid"
    return CONTROL_NAMES.get(number, str(number))


def control_record(key: Buffer | None, value: Buffer | None, longest: int = LONGEST_CONTROL) -> ControlRecord:
    """Return what a control record says; CorruptError for null of a known type, others as `control_value`."""
    key_fields = control_key(key)
    if key_fields.type in VALUE_SCHEMAS and value is None:
        raise CorruptError(0, f"{key_fields.name} value", "a value", "null")
    message = None if value is None else control_value(key_fields.type, value, longest)
    return ControlRecord(key_fields.type, key_fields.name, message)


def control_value(
    number: int, value: Buffer, longest: int = LONGEST_CONTROL, *, spans: list[FieldSpan] | None = None
) -> Message | None:
    """Return the value of a control record of this type decoded, None for an unknown type.

    LimitError for arrays or tags in more than `longest` bytes and LONGEST_CONTROL. Read as version 0,
    whatever it says, but a LEADER_CHANGE of 1; above 1 that is an UnsupportedError. What is not UTF-8 is
    U+FFFD. `spans` gets the fields as they lie, up to the first that cannot be read.
    """
    schema = VALUE_SCHEMAS.get(number)
    if schema is None:
        return None
    if schema.flexible is not None and len(value) > (most := max(longest, LONGEST_CONTROL)):
        raise LimitError(0, f"{CONTROL_NAMES[number]} value", f"at most {most} bytes", len(value))
    collector = Collector(STRUCT_WEIGHT * len(value), replace_invalid_utf8=True, spans=spans)
    return read_message(schema, _value_version(schema, value), value, 0, collector)


def _value_version(schema: Schema, value: Buffer) -> int:
    """Return the version as which a value is read: 0, or 1 of a LEADER_CHANGE; errors for what none reads."""
    field = f"{schema.name} version"
    version, _ = primitives.int16(value, 0, field)
    if schema is CONTROL_VALUES[COMMIT]:
        _not_negative(version, schema.name)
    highest = schema.versions.highest
    if version > highest > 0:
        raise UnsupportedError(0, field, f"at most {highest}", version)
    return max(min(version, highest), 0)


def _not_negative(version: int, name: str) -> None:
    if version < 0:
        raise CorruptError(0, f"{name} version", "0 or more", version)
