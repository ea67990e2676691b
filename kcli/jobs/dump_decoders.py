"""What the contents of records say: the decoders of internal topics, for rows and in the text of kafka-dump-log.

The classes of `--key-decoder-class` and `--value-decoder-class` are those of
`org.apache.kafka.tools.api`, 4.3.1. It no longer takes the names `kafka.serializer.*`.
"""

import binascii
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from formats.errors import FormatError, LimitError, TruncatedError, UnsupportedError
from formats.message_set import LegacyRecord
from formats.messages import metadata
from formats.messages.decode import (
    CLUSTER_METADATA,
    KEYS,
    PREVIEW_KEYS,
    REMOTE_LOG_METADATA,
    TOPICS,
    VALUES,
    Message,
    Unknown,
    decode_key,
    decode_metadata,
    decode_preview,
    decode_remote,
    decode_value,
    message_json,
)
from formats.messages.printed import printed, value_json
from formats.messages.reader import BYTES_PER_ELEMENT, ELEMENTS_MAX
from formats.messages.remote import RECORDS as REMOTE_RECORDS
from formats.primitives import unsigned_varint
from formats.record import Record
from formats.remote_metadata import FRAME_VERSION, LONGEST_VALUE, decode
from formats.types import Buffer
from kcli.analysis.remote import java_text, unreadable
from kcli.analysis.salvage import LARGEST_BATCH
from kcli.output.dump_log import Shown, java_string, plain

AnyRecord: TypeAlias = Record | LegacyRecord
Decoder: TypeAlias = Callable[[bytes], str]

RAISES_THE_BOUND = "; --max-batch-bytes raises the bound"
NULL_VALUE = "null value"


class Told(NamedTuple):
    """What a record of an internal topic says; `error` is what it says that the columns before do not show.

    `record_type` is Kafka's word, or the number of an unknown type: of a coordinator's topic the name of the messages
    without Key and Value (`OffsetCommit`), of __cluster_metadata as MetadataRecordType (`REGISTER_BROKER_RECORD`), of
    __remote_log_metadata as in `rlmm dump` (`RemoteLogSegmentMetadata`). `record_version` is the value's; null for a
    tombstone. Keys and values are as Kafka's JSON converters write them; null if there is none, or none that can be read.

    `damaged` tells bad bytes from what is only unknown here (a type, a version, tagged fields, bytes that Kafka passes
    over): those have an `error` too.
    """

    record_type: str | None
    record_version: int | None
    decoded_key: dict[str, Any] | None
    decoded_value: dict[str, Any] | None
    error: str | None
    damaged: bool = False


def decoder_of(topic_name: str | None) -> str | None:
    """Return the decoder that a topic's name chooses, which is that name; None for what is no internal topic."""
    return topic_name if topic_name in TOPICS or topic_name == REMOTE_LOG_METADATA else None


def decoded(topic: str, record: AnyRecord, max_batch_bytes: int = LARGEST_BATCH) -> Told:
    """Return what a record says by the decoder of a topic, one of `decoder_of`; control records must not be asked about.

    What makes more of a value than the bound allows is an error that names its switch.
    """
    return _DECODED.get(topic, _coordinators)(topic, record, max_batch_bytes)


def _coordinators(topic: str, record: AnyRecord, max_batch_bytes: int) -> Told:
    errors = _Errors()
    number = None
    key = value = None
    try:
        key = decode_key(topic, record.key, previews=True)
        number = key.api_key
    except FormatError as error:
        errors.add(error)
        number = _int16(record.key)
    if record.value is not None and number is not None:
        value = _coordinator_value(topic, number, record.value, _elements(max_batch_bytes), errors)
    name = None if number is None else _coordinator_type(topic, number)
    if isinstance(key, Unknown):
        errors.say(f"unknown record type {name}")
    elif isinstance(value, Unknown) and number in KEYS[topic]:
        errors.say(f"unknown version {value.version} of {name}")
    elif isinstance(value, Unknown):
        errors.damage(f"no {name} as a preview wrote it")
    return errors.told(name, _int16(record.value), key, value, _elements(max_batch_bytes))


def _coordinator_value(topic: str, number: int, value: Buffer, elements: int, errors: "_Errors") -> Message | Unknown | None:
    found, trouble = None, None
    try:
        found = decode_value(topic, number, value, elements)
    except FormatError as error:
        trouble = error
    if not isinstance(found, Message) or found.rest:
        preview = decode_preview(topic, number, value, elements)
        if preview is not None:
            errors.say(f"only Kafka {preview.name.split('_', 1)[1].replace('_', '.')} reads it: written in preview")
            return preview
    if trouble is not None:
        errors.add(trouble)
    return found


def _coordinator_type(topic: str, number: int) -> str:
    schema = KEYS[topic].get(number) or PREVIEW_KEYS.get(topic, {}).get(number)
    return str(number) if schema is None else schema.name.partition("Key")[0]


def _metadata(_topic: str, record: AnyRecord, max_batch_bytes: int) -> Told:
    errors = _Errors()
    value = None
    try:
        value = decode_metadata(record.value, _elements(max_batch_bytes))
    except FormatError as error:
        errors.add(error)
    number, version = _envelope(record.value)
    schema = VALUES[CLUSTER_METADATA].get(number) if number is not None else None
    name = metadata.type_name(schema.name) if schema is not None else None if number is None else str(number)
    if isinstance(value, Unknown):
        errors.say(f"unknown record type {name}" if schema is None else f"unknown version {version} of {name}")
    return errors.told(name, version, None, value, _elements(max_batch_bytes))


def _remote(_topic: str, record: AnyRecord, max_batch_bytes: int) -> Told:
    errors = _Errors()
    number, version = _envelope(record.value)
    schema = REMOTE_RECORDS.get(number) if number is not None else None
    name = schema.name.removesuffix("Record") if schema is not None else None if number is None else str(number)
    value = None
    if record.value is None:
        errors.damage(NULL_VALUE)
    else:
        try:
            told = decode(record.value, _longest(max_batch_bytes))
            value = decode_remote(record.value, told.layout, _elements(max_batch_bytes))
            trouble = unreadable(told)
            if trouble is not None:
                errors.damage(trouble)
        except FormatError as error:
            errors.add(error)
    return errors.told(name, version, None, value, _elements(max_batch_bytes))


_DECODED: dict[str, Callable[[str, AnyRecord, int], Told]] = {CLUSTER_METADATA: _metadata, REMOTE_LOG_METADATA: _remote}


class _Errors:
    """What cannot be shown of one record, in words."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.damaged = False

    def say(self, words: str) -> None:
        self.words.append(words)

    def damage(self, words: str) -> None:
        self.words.append(words)
        self.damaged = True

    def add(self, error: FormatError) -> None:
        if isinstance(error, UnsupportedError):
            self.say(str(error))
        else:
            self.damage(_words(error))

    def told(
        self, name: str | None, version: int | None, key: Message | Unknown | None, value: Message | Unknown | None, elements: int
    ) -> Told:
        """Return all that is known of a record; what JSON does not show of its messages is an error as well."""
        for message in (key, value):
            if isinstance(message, Message):
                self.words += _not_shown(message)
        return Told(
            name,
            version,
            message_json(key) if isinstance(key, Message) else None,
            value_json(value, elements) if isinstance(value, Message) else None,
            "; ".join(self.words) or None,
            self.damaged,
        )


def _not_shown(message: Message) -> list[str]:
    words = [f"{len(message.rest)} bytes behind {message.name}"] if message.rest else []
    if message.unknown_tags:
        tags = ", ".join(f"{tag.struct} {tag.tag}" for tag in message.unknown_tags[:TAGS_TOLD])
        more = len(message.unknown_tags) - TAGS_TOLD
        words.append(f"unknown tagged fields: {tags}" + (f" and {more} more" if more > 0 else ""))
    return words


TAGS_TOLD = 8
"""Unknown tagged fields that an error names."""


def _elements(max_batch_bytes: int) -> int:
    return max(ELEMENTS_MAX, max_batch_bytes // BYTES_PER_ELEMENT)


def _longest(max_batch_bytes: int) -> int:
    return max(LONGEST_VALUE, max_batch_bytes // BYTES_PER_ELEMENT)


def _int16(data: Buffer | None) -> int | None:
    return int.from_bytes(data[:2], "big", signed=True) if data is not None and len(data) >= 2 else None


def _envelope(value: Buffer | None) -> tuple[int | None, int | None]:
    """Return the api key and the version of a framed value; None for what cannot be read or is in no known frame."""
    number = None
    try:
        frame_version, at = unsigned_varint(value or b"", 0)
        if frame_version != FRAME_VERSION:
            return None, None
        number, at = unsigned_varint(value or b"", at)
        return number, unsigned_varint(value or b"", at)[0]
    except FormatError:
        return number, None


# In the text of kafka-dump-log


def shown_by(decoder: str | None, record: AnyRecord, max_batch_bytes: int = LARGEST_BATCH) -> tuple[Shown, str | None]:
    """Return what is printed of a record's key and value by the decoder of a topic, and what is wrong with them."""
    if decoder is None:
        return plain(record), None
    if decoder == REMOTE_LOG_METADATA:
        return _remote_text(record, max_batch_bytes)
    told = printed(decoder, record.offset, record.key, record.value, _elements(max_batch_bytes))
    return Shown(told.key, told.payload), None if told.error is None else _words(told.error)


def _remote_text(record: AnyRecord, max_batch_bytes: int) -> tuple[Shown, str | None]:
    try:
        found = decode(record.value or b"", _longest(max_batch_bytes))
        trouble = unreadable(found)
        if trouble is None:
            return Shown(None, java_text(found)), None
    except FormatError as error:
        trouble = _words(error)
    return Shown(None, f"Error at offset {record.offset}, skipping. {trouble}"), trouble


def _words(error: FormatError) -> str:
    return f"{error}{RAISES_THE_BOUND}" if isinstance(error, LimitError) else str(error)


def shown_with(key_decoder: Decoder, value_decoder: Decoder, record: AnyRecord) -> tuple[Shown, str | None]:
    """Return what is printed of a record's key and value by decoders of `known_decoder`, and what is wrong with them.

    Where a class of Kafka would throw, and end the dump, stands an error in the place of the text.
    """
    texts: list[str | None] = []
    troubles: list[str] = []
    for word, decoder, data in (("key", key_decoder, record.key), ("value", value_decoder, record.value)):
        try:
            texts.append(None if data is None else decoder(bytes(data)))
        except FormatError as error:
            texts.append(f"Error at offset {record.offset}, skipping. {error}")
            troubles.append(f"{word}: {error}")
    return Shown(*texts), "; ".join(troubles) or None


def known_decoder(name: str) -> Decoder | None:
    """Return what the decoder class of this full name prints of bytes; None for a class that Kafka 4.3.1 does not ship.

    The decoder raises TruncatedError where the class throws: bytes too few for its number. More than it needs it ignores.
    """
    return DECODER_CLASSES.get(name)


def _number(size: int, field: str) -> Decoder:
    def text(data: bytes) -> str:
        if len(data) < size:
            raise TruncatedError(0, field, f"{size} bytes", len(data))
        return str(int.from_bytes(data[:size], "big", signed=True))

    return text


def _base64(data: bytes) -> str:
    # Kafka prints an array's identity here, another one in each run
    return binascii.b2a_base64(data, newline=False).decode("ascii")


DECODER_CLASSES: dict[str, Decoder] = {
    "org.apache.kafka.tools.api.StringDecoder": java_string,
    "org.apache.kafka.tools.api.DefaultDecoder": _base64,
    "org.apache.kafka.tools.api.IntegerDecoder": _number(4, "IntegerDecoder"),
    "org.apache.kafka.tools.api.LongDecoder": _number(8, "LongDecoder"),
}
"""The decoder classes that Kafka 4.3.1 ships, by their full names."""
