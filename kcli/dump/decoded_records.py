"""What the records of internal topics say.

Type, version, key and value as JSON, and what none of these shows. The JSON is that of Kafka's generated
converters, for remote log metadata too, whose layouts before 3.6 lack `customMetadata`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from formats.bounds import LARGEST_BATCH, describe
from formats.control import CONTROL_KEY, control_key, control_value
from formats.errors import FormatError, LimitError, UnsupportedError
from formats.layout import FieldSpan
from formats.message_set import LegacyRecord
from formats.messages import metadata
from formats.messages.decode import (
    COORDINATOR_TOPICS,
    INT16_SIZE,
    KEYS,
    VALUES,
    decode_key,
    decode_remote,
    decode_value,
    message_json,
)
from formats.messages.metadata import decode_metadata
from formats.messages.printed import value_json
from formats.messages.reader import BYTES_PER_ELEMENT, ELEMENTS_MAX, Message, Unknown
from formats.messages.remote import FRAME_VERSION
from formats.messages.remote import REMOTE_TYPES as REMOTE_RECORDS
from formats.names import CLUSTER_METADATA, REMOTE_LOG_METADATA
from formats.primitives import int16, short_varint
from formats.record import Record
from formats.remote_metadata import LONGEST_VALUE, row_of
from formats.types import Buffer
from kcli.dump.options import DECODED_TOPICS
from kcli.kafka.remote.serde import unreadable

AnyRecord: TypeAlias = Record | LegacyRecord

LONGEST_SHARE = 10
"""A key or value that is decoded may have this part of the bytes that a batch may have."""
TAGS_DECODERS = 8
"""Unknown tagged fields that an error names."""


class DecodedRecord(NamedTuple):
    """What a record of an internal topic says; `error` is what it says that the columns before do not show.

    `record_type` is Kafka's word, or the number of an unknown type: of a coordinator's topic the name of the
    messages without Key and Value (`OffsetCommit`), of __cluster_metadata as MetadataRecordType
    (`REGISTER_BROKER_RECORD`), of __remote_log_metadata as in `rlmm dump` (`RemoteLogSegmentMetadata`).
    `record_version` is the value's; null for a tombstone. Keys and values are as Kafka's JSON converters
    write them; null if there is none, or none that can be read.

    `damaged` separates bad bytes from what is only unknown here (a type, a version, tagged fields, bytes that
    Kafka passes over): those have an `error` too.
    """

    record_type: str | None
    record_version: int | None
    decoded_key: dict[str, Any] | None
    decoded_value: dict[str, Any] | None
    error: str | None
    damaged: bool = False


def decode_record(topic: str, record: AnyRecord, max_batch_bytes: int = LARGEST_BATCH) -> DecodedRecord:
    """Return what a record of one of DECODED_TOPICS, no control record, says; too long a one is an error."""
    error = too_long(record, max_batch_bytes)
    if error is not None:
        return DecodedRecord(None, None, None, None, describe(error), damaged=True)
    errors, elements = _Errors(), elements_for(max_batch_bytes)
    if topic not in COORDINATOR_TOPICS:
        return _enveloped(topic, record, errors, elements)
    number = _int16(record.key)
    key = value = None
    with errors.collected():
        key = decode_key(topic, record.key)
        number = key.api_key
    with errors.collected():
        if record.value is not None and number is not None:
            value = decode_value(topic, number, record.value, elements)
    schema = KEYS[topic].get(number) if number is not None else None
    name = schema.name.partition("Key")[0] if schema is not None else None if number is None else str(number)
    if isinstance(key, Unknown):
        errors.append(f"unknown record type {name}")
    elif isinstance(value, Unknown):
        errors.append(f"unknown version {value.version} of {name}")
    return errors.decoded(name, _int16(record.value), key, value, elements)


def _enveloped(topic: str, record: AnyRecord, errors: "_Errors", elements: int) -> DecodedRecord:
    """Return what a record of the metadata log, or of remote log metadata, says."""
    (number, version), is_remote = _envelope(record.value), topic == REMOTE_LOG_METADATA
    value: Message | Unknown | None = None
    schema = (REMOTE_RECORDS if is_remote else VALUES[CLUSTER_METADATA]).get(-1 if number is None else number)
    name = None if number is None else str(number)
    if schema is not None:
        name = schema.name.removesuffix("Record") if is_remote else metadata.type_name(schema.name)
    with errors.collected():
        if not is_remote:
            value = decode_metadata(record.value, elements)
        elif record.value is None:
            errors.damage("null value")
        else:
            value = message = decode_remote(record.value, elements)
            row = row_of(message.api_key, message.version, message.fields, message.unknown_tags)
            if trouble := unreadable(row):
                errors.damage(trouble)
    if isinstance(value, Unknown):
        errors.append(
            f"unknown record type {name}" if schema is None else f"unknown version {version} of {name}"
        )
    return errors.decoded(name, version, None, value, elements)


class _Errors(list[str]):
    """What cannot be shown of one record, in words."""

    damaged = False

    def damage(self, message: str) -> None:
        self.append(message)
        self.damaged = True

    @contextmanager
    def collected(self) -> Iterator[None]:
        try:
            yield
        except UnsupportedError as error:
            self.append(str(error))
        except FormatError as error:
            self.damage(describe(error))

    def decoded(
        self,
        name: str | None,
        version: int | None,
        key: Message | Unknown | None,
        value: Message | Unknown | None,
        elements: int,
    ) -> DecodedRecord:
        """Return all that is known of a record; what JSON does not show of it is an error as well."""
        for message in (key, value):
            if isinstance(message, Message):
                self.extend(_not_shown(message))
        return DecodedRecord(
            name,
            version,
            message_json(key) if isinstance(key, Message) else None,
            value_json(value, elements) if isinstance(value, Message) else None,
            "; ".join(self) or None,
            self.damaged,
        )


def _not_shown(message: Message) -> list[str]:
    parts = [f"bytes after {message.name}: {len(message.tail)}"] if message.tail else []
    if message.unknown_tags:
        tags = ", ".join(f"{tag.struct} {tag.tag}" for tag in message.unknown_tags[:TAGS_DECODERS])
        remaining = len(message.unknown_tags) - TAGS_DECODERS
        parts.append(f"unknown tagged fields: {tags}" + (f" and {remaining} more" if remaining > 0 else ""))
    if message.replaced:
        tag = message.replaced[0]
        parts.append(
            f"tagged fields that come again, of which the last is shown: {tag.struct} {tag.tag}, "
            f"{len(message.replaced)} in all"
        )
    return parts


def elements_for(max_batch_bytes: int) -> int:
    """Return how many elements of arrays a value may have, given the bound on a batch; the usual at least."""
    return max(ELEMENTS_MAX, max_batch_bytes // BYTES_PER_ELEMENT)


def longest_for(max_batch_bytes: int) -> int:
    """Return how long a key or value may be that is decoded, which takes many times its bytes."""
    return max(LONGEST_VALUE, max_batch_bytes // LONGEST_SHARE)


def too_long(record: AnyRecord, max_batch_bytes: int) -> LimitError | None:
    """Return why a record is not decoded whose key or value is too long; None for others."""
    longest = longest_for(max_batch_bytes)
    for field, data in (("key", record.key), ("value", record.value)):
        if data is not None and len(data) > longest:
            return LimitError(0, field, f"at most {longest} bytes to decode", len(data))
    return None


def _int16(data: Buffer | None) -> int | None:
    return int16(data, 0)[0] if data is not None and len(data) >= INT16_SIZE else None


def _envelope(value: Buffer | None) -> tuple[int | None, int | None]:
    """Return api key and version of a framed value; None for what cannot be read or has an unknown frame."""
    number = None
    try:
        frame_version, position = short_varint(value or b"", 0)
        if frame_version != FRAME_VERSION:
            return None, None
        number, position = short_varint(value or b"", position)
        return number, short_varint(value or b"", position)[0]
    except FormatError:
        return number, None


# Field by field


@dataclass(slots=True)
class Contents:
    """Splits keys and values of records: of control records, and of a topic's that is internal.

    The key comes first. Contents of other topics have no fields. `longest`: bytes of a key or value that is
    split.
    """

    topic: str | None
    control: bool = False
    longest: int = LONGEST_VALUE
    type: int | None = None

    def split(self, field: str, data: bytes) -> tuple[list[FieldSpan], FormatError | None] | None:
        """Return the fields of a key or value, and the error that ended them; None for what has none."""
        spans: list[FieldSpan] = []
        if not self.control and self.topic in DECODED_TOPICS and len(data) > self.longest:
            return spans, LimitError(0, field, f"at most {self.longest} bytes to decode", len(data))
        try:
            has_fields = (self._control if self.control else self._message)(field, data, spans)
        except FormatError as error:
            return self._with_one_frame(spans, data), error
        return (spans, None) if has_fields else None

    def _control(self, field: str, data: bytes, spans: list[FieldSpan]) -> bool:
        if field == "key":
            self.type = control_key(data).type
            spans += CONTROL_KEY.parts(data)
            return True
        return self.type is not None and control_value(self.type, data, self.longest, spans=spans) is not None

    def _message(self, field: str, data: bytes, spans: list[FieldSpan]) -> bool:
        message: Message | Unknown | None = None
        if self.topic in KEYS and field == "key":
            self.type = _int16(data)
            message = decode_key(self.topic, data, spans=spans)
        elif self.topic in KEYS and self.type is not None:
            message = decode_value(self.topic, self.type, data, spans=spans)
        elif self.topic == CLUSTER_METADATA and field == "value":
            message = decode_metadata(data, spans=spans)
        elif self.topic == REMOTE_LOG_METADATA and field == "value":
            message = decode_remote(data, spans=spans)
        if isinstance(message, Unknown):
            meaning = "of a type or version that is not declared"
            spans.append(FieldSpan(f"type {message.api_key}", field, 0, len(data), data, meaning))
        return message is not None

    def _with_one_frame(self, spans: list[FieldSpan], data: bytes) -> list[FieldSpan]:
        """Return the fields of a damaged message, type and version as one; none of remote log metadata."""
        if self.control or not spans:
            return spans
        if self.topic == REMOTE_LOG_METADATA:
            return []
        count = 3 if self.topic == CLUSTER_METADATA else 1
        end = spans[count - 1].end
        frame = FieldSpan(spans[0].structure, "frame", 0, end, data[:end], "type and version")
        return [frame, *spans[count:]]
