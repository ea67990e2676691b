"""How contents of records are shown: by the decoders of internal topics, and by the tool's decoder classes.

The classes of `--key-decoder-class` and `--value-decoder-class` are those of
`org.apache.kafka.tools.api`, 4.3.1. It no longer takes the names `kafka.serializer.*`.
Messages are declared in many tables: they are read only where one is asked for.
"""

import base64
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from formats.bounds import LARGEST_BATCH, describe
from formats.errors import FormatError, TruncatedError
from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, REMOTE_LOG_METADATA
from kcli.dump.bytes_as import shown_text
from kcli.dump.options import DECODED_TOPICS, DumpOptions
from kcli.dump.render.lines import Shown, java_string
from kcli.logdir.targets import Target

if TYPE_CHECKING:
    from formats.messages.reader import Message
    from kcli.dump.decoded_records import AnyRecord

Decoder: TypeAlias = Callable[[bytes], str]


def decoder_for(target: Target, options: DumpOptions) -> str | None:
    """Return the decoder of a log's records: the one asked for, or that of its directory or snapshot."""
    if options.decoder is not None or not options.decode_by_name:
        return options.decoder
    topic = target.name.topic if target.name else None
    if target.kind == KRAFT_SNAPSHOT:
        topic = CLUSTER_METADATA
    return topic if topic in DECODED_TOPICS else None


def decoded_control(value: "Message") -> tuple[Any, ...]:
    """Return what the value of a control record says, in the columns of a decoded record."""
    from formats.messages.decode import message_json

    return None, value.version, None, message_json(value), None


def shown_by(
    decoder: str, record: "AnyRecord", max_batch_bytes: int = LARGEST_BATCH
) -> tuple[Shown, str | None]:
    """Return what a topic's decoder prints of a record's key and value, and what is wrong with them."""
    printed, elements_for, too_long = _of_coordinators()
    error = too_long(record, max_batch_bytes)
    if error is not None:
        return Shown(f"Error at offset {record.offset}, skipping. {error}", None), describe(error)
    if decoder == REMOTE_LOG_METADATA:
        return _remote_text(record, max_batch_bytes)
    texts = printed(decoder, record.offset, record.key, record.value, elements_for(max_batch_bytes))
    return Shown(texts.key, texts.payload), None if texts.error is None else describe(texts.error)


@cache
def _of_coordinators() -> tuple[Any, ...]:
    """Return the functions of `shown_by`: an import statement for each record costs more than they do."""
    from formats.messages.printed import printed
    from kcli.dump.decoded_records import elements_for, too_long

    return printed, elements_for, too_long


@cache
def _of_remote_metadata() -> tuple[Any, ...]:
    from formats.remote_metadata import decode
    from kcli.dump.decoded_records import longest_for
    from kcli.kafka.remote.serde import java_text, unreadable

    return decode, longest_for, java_text, unreadable


def _remote_text(record: "AnyRecord", max_batch_bytes: int) -> tuple[Shown, str | None]:
    """Return what RemoteLogMetadataFormatter prints of a record, and what is wrong with it."""
    decode, longest_for, java_text, unreadable = _of_remote_metadata()
    try:
        message = decode(record.value or b"", longest_for(max_batch_bytes))
        trouble = unreadable(message)
        if trouble is None:
            return Shown(None, java_text(message)), None
    except FormatError as error:
        trouble = describe(error)
    return Shown(None, f"Error at offset {record.offset}, skipping. {trouble}"), trouble


def shown_contents(record: "AnyRecord", options: DumpOptions) -> tuple[Shown, str | None]:
    """Return how a record's key and value are printed in text, and what is wrong with them."""
    if options.decoder is not None:
        return shown_by(options.decoder, record, options.max_batch_bytes)
    if options.salt is None and options.bytes_as in {None, "text"}:
        return shown_with(
            DECODER_CLASSES[options.key_decoder], DECODER_CLASSES[options.value_decoder], record
        )
    key, value = (None if data is None else shown_text(data, options) for data in (record.key, record.value))
    return Shown(key, value), None


def shown_with(key_decoder: Decoder, value_decoder: Decoder, record: "AnyRecord") -> tuple[Shown, str | None]:
    """Return what two of DECODER_CLASSES print of a key and a value, an error where Kafka would throw."""
    texts: list[str | None] = []
    troubles: list[str] = []
    for name, decoder, data in (("key", key_decoder, record.key), ("value", value_decoder, record.value)):
        try:
            texts.append(None if data is None else decoder(bytes(data)))
        except FormatError as error:
            texts.append(f"Error at offset {record.offset}, skipping. {error}")
            troubles.append(f"{name}: {error}")
    return Shown(*texts), "; ".join(troubles) or None


def _number(size: int, field: str) -> Decoder:
    def text(data: bytes) -> str:
        if len(data) < size:
            raise TruncatedError(0, field, f"{size} bytes", len(data))
        return str(int.from_bytes(data[:size], "big", signed=True))

    return text


DECODER_CLASSES: dict[str, Decoder] = {
    "org.apache.kafka.tools.api.StringDecoder": java_string,
    # Kafka prints an array's identity here, another one in each run
    "org.apache.kafka.tools.api.DefaultDecoder": lambda data: base64.b64encode(data).decode(),
    "org.apache.kafka.tools.api.IntegerDecoder": _number(4, "IntegerDecoder"),
    "org.apache.kafka.tools.api.LongDecoder": _number(8, "LongDecoder"),
}
"""The decoder classes of Kafka 4.3.1; each raises TruncatedError where bytes are too few for its number."""
