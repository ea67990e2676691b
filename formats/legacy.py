"""Messages of magic 0 and 1: the header, and the checksum that covers it.

Lives in `*.log` files; written by brokers before 0.11 (magic 0 before 0.10), or by later ones with an old
`log.message.format.version`; Kafka 4 still reads them. The truth is
`org.apache.kafka.common.record.LegacyRecord`, for the walk `AbstractLegacyRecordBatch`.

    0        8      12    16  17  18          18 or 26
    +--------+------+-----+---+---+-----------+------------------+-------------------+
    | offset | size | crc |mag|at-| timestamp | key              | value             |
    |        |      |     |ic |tri| magic 1   | i32 length, data | i32 length, data  |
    +--------+------+-----+---+---+-----------+------------------+-------------------+
    the CRC-32 covers byte 16 to the end: magic, but neither offset nor size

A message with a codec is a wrapper: its value holds the compressed messages, and its offset is that of the
last of them. Read here is the header alone, so the first offset and the count of a wrapper stay unknown;
`formats.message_set` opens it.
"""

from typing import Annotated, NamedTuple

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    HEADER_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    SMALLEST_LENGTH,
    TIMESTAMP_TYPE_MASK,
    TIMESTAMP_TYPES,
)
from formats.crc import crc32
from formats.errors import TruncatedError, UnsupportedError
from formats.layout import INT8, INT32, INT64, UINT32, Layout
from formats.types import Buffer, Offset

NO_TIMESTAMP_TYPE = "NoTimestampType"
NO_PRODUCER_EPOCH = -1


class MessageHeaderV0(NamedTuple):
    """The 18 bytes before the key of a magic 0 message, as stored."""

    offset: Annotated[Offset, INT64, "the message's own offset; of a wrapper the offset of its last message"]
    message_size: Annotated[int, INT32, "bytes that follow this field"]
    crc: Annotated[int, UINT32, "CRC-32 from magic to the end"]
    magic: Annotated[int, INT8, "0"]
    attributes: Annotated[int, INT8, "codec"]


class LegacyHeader(NamedTuple):
    """The header of a magic 0 or 1 message, as stored; the timestamp of magic 0 is -1.

    It answers to the names of `BatchHeader`: what these messages have not is -1, False or None.
    """

    offset: Annotated[Offset, INT64, "the message's own offset; of a wrapper the offset of its last message"]
    message_size: Annotated[int, INT32, "bytes that follow this field"]
    crc: Annotated[int, UINT32, "CRC-32 from magic to the end"]
    magic: Annotated[int, INT8, "1"]
    attributes: Annotated[int, INT8, "codec, timestamp type"]
    timestamp: Annotated[int, INT64, "ms; of a wrapper the largest of its messages, or the append time"]

    @property
    def size(self) -> int:
        """Bytes of the whole message."""
        return LOG_OVERHEAD + self.message_size

    @property
    def base_offset(self) -> Offset:
        """The offset as stored; the first message of a wrapper lies at or before it."""
        return self.offset

    @property
    def last_offset(self) -> int:
        """The last offset that the message covers, inclusive."""
        return self.offset

    @property
    def codec(self) -> int:
        """The compression codec's number, 0..7."""
        return self.attributes & COMPRESSION_CODEC_MASK

    @property
    def max_timestamp(self) -> int:
        """The timestamp in ms; -1 for magic 0."""
        return self.timestamp

    @property
    def timestamp_type(self) -> str:
        """Kafka's name of the timestamp type."""
        return (
            TIMESTAMP_TYPES[bool(self.attributes & TIMESTAMP_TYPE_MASK)] if self.magic else NO_TIMESTAMP_TYPE
        )

    @property
    def records_count(self) -> int | None:
        """How many records there are: 1, or None for a wrapper, which does not say."""
        return None if self.codec else 1

    @property
    def partition_leader_epoch(self) -> int:
        """-1: these messages carry no leader epoch."""
        return NO_PARTITION_LEADER_EPOCH

    @property
    def producer_id(self) -> int:
        """-1: these messages carry no producer."""
        return NO_PRODUCER_ID

    @property
    def producer_epoch(self) -> int:
        """-1: these messages carry no producer."""
        return NO_PRODUCER_EPOCH

    @property
    def base_sequence(self) -> int:
        """-1: these messages carry no sequence."""
        return NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        """-1: these messages carry no sequence."""
        return NO_SEQUENCE

    @property
    def is_transactional(self) -> bool:
        """False: transactions came with magic 2."""
        return False

    @property
    def is_control(self) -> bool:
        """False: control records came with magic 2."""
        return False

    @property
    def delete_horizon_ms(self) -> int | None:
        """None: delete horizons came with magic 2."""
        return None


MESSAGE_V0 = Layout(MessageHeaderV0, "message header, magic 0")
MESSAGE_V1 = Layout(LegacyHeader, "message header, magic 1")
CRC_FROM = MESSAGE_V0.span("magic")[0]
_CRC = MESSAGE_V0.only("crc")
_MAGIC = MESSAGE_V0.only("magic")


def read_header(buffer: Buffer, position: int = 0) -> LegacyHeader:
    """Return the header of the message at `position`; UnsupportedError for any magic but 0 and 1."""
    left = len(buffer) - position
    if left < HEADER_UP_TO_MAGIC:
        raise TruncatedError(position, MESSAGE_V0.name, f"{HEADER_UP_TO_MAGIC} bytes", max(left, 0))
    (magic,) = _MAGIC.unpack_from(buffer, position)
    if magic == 0:
        return LegacyHeader(*MESSAGE_V0.read(buffer, position), NO_TIMESTAMP)
    if magic == 1:
        return MESSAGE_V1.read(buffer, position)
    raise UnsupportedError(position + MAGIC_POSITION, "magic", "0 or 1", magic)


def is_valid(message: Buffer) -> bool:
    """Whether a whole message, its offset and size included, has the least size and the right CRC.

    As `LegacyRecord.isValid`: the least size is that of magic 0 for both.
    """
    if len(message) < LOG_OVERHEAD + SMALLEST_LENGTH:
        return False
    return bool(_CRC.unpack_from(message)[0] == crc32(memoryview(message)[CRC_FROM:]))
