"""Record batches of magic 2: the header, its flags, and the order in which a file is walked.

Lives in `*.log` (and KRaft `*.checkpoint`) files; written by the broker on append. The truth is
`org.apache.kafka.common.record.DefaultRecordBatch`, for the walk `FileLogInputStream`.

    0        8     12     16   17   21    23     27       35      43      51   53    57    61
    +--------+------+------+---+----+-----+------+--------+-------+-------+----+-----+-----+----
    | base   |length|leader|mag|crc | at- | last | base   | max   | pro-  |pro-|base |re-  | re-
    | offset |      |epoch |ic |    |tribs|offset|time-   | time- | ducer |duc.|se-  |cords| cords
    |        |      |      |   |    |     |delta | stamp  | stamp | id    |ep. |quen.|count| ...
    +--------+------+------+---+----+-----+------+--------+-------+-------+----+-----+-----+----
    the CRC-32C covers byte 21 to the end: not base offset, length, leader epoch, magic
"""

from typing import Annotated, NamedTuple

from formats.layout import INT8, INT16, INT32, INT64, UINT32, Layout
from formats.types import LeaderEpoch, Offset

MAGIC_V2 = 2
"""The first magic of record batches: what is below are messages (`formats.legacy`), what is above Kafka reads
as 2.
"""
SMALLEST_LENGTH = 14
"""A length below this is corrupt for every magic (LegacyRecord.RECORD_OVERHEAD_V0)."""

COMPRESSION_CODEC_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_PARTITION_LEADER_EPOCH = -1
UNKNOWN_COUNT = -1
"""Of a wrapper of magic 0 or 1, which does not say how many records it holds."""
MAX_LONG = 2**63 - 1
MAX_INT = 0x7FFFFFFF

COMPRESSION_NAMES = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
CREATE_TIME, LOG_APPEND_TIME = "CreateTime", "LogAppendTime"
TIMESTAMP_TYPES = (CREATE_TIME, LOG_APPEND_TIME)
NO_TIMESTAMP_TYPE = "NoTimestampType"


class BatchHeader(NamedTuple):
    """The 61 bytes before the records of a batch; a message of magic 0 or 1 is read into the same fields."""

    base_offset: Annotated[Offset, INT64, "offset of the first record as written; kept after compaction"]
    batch_length: Annotated[int, INT32, "bytes that follow this field"]
    partition_leader_epoch: Annotated[LeaderEpoch, INT32, "set by the leader; outside the CRC"]
    magic: Annotated[int, INT8, "2"]
    crc: Annotated[int, UINT32, "CRC-32C from attributes to the end"]
    attributes: Annotated[int, INT16, "codec, timestamp type, transactional, control, delete horizon"]
    last_offset_delta: Annotated[int, INT32, "last offset = base offset + this; kept after compaction"]
    base_timestamp: Annotated[int, INT64, "ms; the delete horizon when bit 6 is set"]
    max_timestamp: Annotated[int, INT64, "ms; the append time when LogAppendTime"]
    producer_id: Annotated[int, INT64, "-1 none"]
    producer_epoch: Annotated[int, INT16, "-1 none"]
    base_sequence: Annotated[int, INT32, "-1 none"]
    records_count: Annotated[int, INT32, "records that remain; negative is invalid"]

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        """The last offset that the batch covers, inclusive; a sum beyond 64 bits wraps, as Java's does."""
        last = self.base_offset + self.last_offset_delta
        return last if -MAX_LONG - 1 <= last <= MAX_LONG else (last + MAX_LONG + 1) % (1 << 64) - MAX_LONG - 1

    @property
    def codec(self) -> int:
        """The compression codec's number, 0..7; 5 to 7 are unknown to Kafka."""
        return self.attributes & COMPRESSION_CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL_MASK) and self.magic >= MAGIC_V2

    @property
    def is_control(self) -> bool:
        """Whether the batch holds control records."""
        return bool(self.attributes & CONTROL_MASK) and self.magic >= MAGIC_V2

    @property
    def timestamp_type(self) -> str:
        """Kafka's name of the timestamp type."""
        if self.magic == 0:
            return NO_TIMESTAMP_TYPE
        return TIMESTAMP_TYPES[bool(self.attributes & TIMESTAMP_TYPE_MASK)]

    @property
    def delete_horizon_ms(self) -> int | None:
        """The delete horizon (KIP-534), in the place of the base timestamp; None without bit 6."""
        has_horizon = self.attributes & DELETE_HORIZON_MASK and self.magic >= MAGIC_V2
        return self.base_timestamp if has_horizon else None

    @property
    def last_sequence(self) -> int:
        """The last record's sequence: it wraps to 0 past 2147483647; -1 without a base sequence."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return add_sequence(self.base_sequence, self.last_offset_delta)


BATCH = Layout(BatchHeader, "record batch header")
HEADER_SIZE = BATCH.size
LENGTH_POSITION, LOG_OVERHEAD = BATCH.span("batch_length")
"""First byte of the length, and the byte after it: the length counts what follows."""
MAGIC_POSITION, HEADER_UP_TO_MAGIC = BATCH.span("magic")
"""First byte of the magic, which lies there in messages of magic 0 and 1, too, and the byte after it."""
CRC_FROM = BATCH.span("attributes")[0]
"""First byte under the checksum."""


def add_sequence(sequence: int, by: int) -> int:
    """Return a producer's sequence moved on, as DefaultRecordBatch.incrementSequence and Java's ints wrap."""
    if sequence > _int(MAX_INT - by):
        return _int(by - (MAX_INT - sequence) - 1)
    return _int(sequence + by)


def _int(value: int) -> int:
    """Return a Java int: sums beyond 32 bits wrap."""
    return (value + 0x80000000) % 0x100000000 - 0x80000000
