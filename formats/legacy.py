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
from zlib import crc32

from formats import batch
from formats.batch import BatchHeader
from formats.errors import TruncatedError, UnsupportedError
from formats.layout import INT8, INT32, INT64, UINT32, Layout
from formats.types import Buffer, LeaderEpoch, Offset


class MessageHeaderV0(NamedTuple):
    """The 18 bytes before the key of a magic 0 message, as stored."""

    offset: Annotated[Offset, INT64, "the message's own offset; of a wrapper the offset of its last message"]
    message_size: Annotated[int, INT32, "bytes that follow this field"]
    crc: Annotated[int, UINT32, "CRC-32 from magic to the end"]
    magic: Annotated[int, INT8, "0"]
    attributes: Annotated[int, INT8, "codec"]


class MessageHeaderV1(NamedTuple):
    """The 26 bytes before the key of a magic 1 message, as stored."""

    offset: Annotated[Offset, INT64, "the message's own offset; of a wrapper the offset of its last message"]
    message_size: Annotated[int, INT32, "bytes that follow this field"]
    crc: Annotated[int, UINT32, "CRC-32 from magic to the end"]
    magic: Annotated[int, INT8, "1"]
    attributes: Annotated[int, INT8, "codec, timestamp type"]
    timestamp: Annotated[int, INT64, "ms; of a wrapper the largest of its messages, or the append time"]


MESSAGE_V0 = Layout(MessageHeaderV0, "message header, magic 0")
MESSAGE_V1 = Layout(MessageHeaderV1, "message header, magic 1")
MESSAGE_CRC_FROM = MESSAGE_V0.span("magic")[0]
_CRC = MESSAGE_V0.only("crc")
_MESSAGE_MAGIC = MESSAGE_V0.only("magic")


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Return a message's header in a batch's fields, -1 where it lacks one; UnsupportedError above 1."""
    room = len(buffer) - position
    if room < batch.HEADER_UP_TO_MAGIC:
        raise TruncatedError(position, MESSAGE_V0.name, f"{batch.HEADER_UP_TO_MAGIC} bytes", max(room, 0))
    (magic,) = _MESSAGE_MAGIC.unpack_from(buffer, position)
    if magic not in (0, 1):
        raise UnsupportedError(position + batch.MAGIC_POSITION, "magic", "0 or 1", magic)
    message = (MESSAGE_V1 if magic else MESSAGE_V0).values(buffer, position)
    offset, size, crc, _, attributes = message[:5]
    timestamp = message[5] if magic else batch.NO_TIMESTAMP
    return BatchHeader(
        base_offset=offset,
        batch_length=size,
        partition_leader_epoch=LeaderEpoch(batch.NO_PARTITION_LEADER_EPOCH),
        magic=magic,
        crc=crc,
        attributes=attributes,
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=batch.NO_PRODUCER_ID,
        producer_epoch=batch.NO_PRODUCER_EPOCH,
        base_sequence=batch.NO_SEQUENCE,
        records_count=batch.UNKNOWN_COUNT if attributes & batch.COMPRESSION_CODEC_MASK else 1,
    )


def is_valid(message: Buffer) -> bool:
    """Whether a whole message has the least size, of magic 0, and the right CRC (`LegacyRecord.isValid`)."""
    if len(message) < batch.LOG_OVERHEAD + batch.SMALLEST_LENGTH:
        return False
    return bool(_CRC.unpack_from(message)[0] == crc32(memoryview(message)[MESSAGE_CRC_FROM:]))
