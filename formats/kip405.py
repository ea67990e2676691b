"""Remote log metadata as the text of KIP-405 lays it out; no release writes or reads it.

Records of the metadata topic, a flat file for each user partition, and the committed offsets:

    record      type int8, version int8, message
    flat file   magic uvarint, topic string, topic id uuid, metadata offset varlong,
                entries to the end: length uvarint, type uvarint, version uvarint, message
    offsets     lines `PARTITION OFFSET`, without the two lines that a checkpoint file begins with

Messages have no tags, strings an int16 length, arrays an int32 count. A record and an entry number their
types apart. The truth is the text of the KIP. Where it is silent, what Kafka does elsewhere is taken: the
magic is 0, the version that its files begin with; the topic is a string with an int16 length, as in the
messages; the var long is zigzag, as `ByteUtils.readVarlong`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.java_text import INT_BITS, LONG_BITS, integer
from formats.messages.collector import Collector
from formats.messages.declare import Schema, declared
from formats.messages.message import read_message
from formats.primitives import UUID_SIZE, string_bytes, unsigned_varint, utf8, uuid_text, varlong
from formats.types import Buffer

MAGIC = 0
VERSION = 0
PREFIX_SIZE = 2
LONGEST_VALUE = 1 << 20
LARGEST_FILE = 64 << 20
"""Bytes of a file that are read: far more than the metadata of a partition takes."""

_SEGMENT = """
    startOffset            int64
    endOffset              int64
    leaderEpoch            int32
    maxTimestamp           int64
    eventTimestamp         int64
    segmentLeaderEpochs    []SegmentLeaderEpochEntry
        leaderEpoch  int32
        offset       int64
    segmentSizeInBytes     int32
    remoteLogSegmentState  int8
"""
_SEGMENT_ID = """
    remoteLogSegmentId     RemoteLogSegmentIdEntry
        topicIdPartition  TopicIdPartitionEntry
            name       string
            id         uuid
            partition  int32
        id                uuid
"""
RECORDS = declared(f"""
RemoteLogSegmentMetadataRecord 0 versions 0{_SEGMENT_ID.rstrip()}{_SEGMENT.rstrip()}
RemoteLogSegmentMetadataRecordUpdate 1 versions 0{_SEGMENT_ID.rstrip()}
    leaderEpoch            int32
    eventTimestamp         int64
    remoteLogSegmentState  int8
RemotePartitionDeleteMetadataRecord 2 versions 0
    topicIdPartition            TopicIdPartitionEntry
        name       string
        id         uuid
        partition  int32
    epoch                       int32
    eventTimestamp              int64
    remotePartitionDeleteState  int8
""")
ENTRIES = declared(f"""
RemoteLogSegmentMetadataRecordStored 0 versions 0
    segmentId              uuid{_SEGMENT.rstrip()}
DeletePartitionStateRecord 1 versions 0
    epoch                       int32
    eventTimestamp              int64
    remotePartitionDeleteState  int8
""")


class KipMessage(NamedTuple):
    """A record or an entry: the KIP's name of it, its version, and its fields as the KIP names them."""

    name: str
    version: int
    fields: dict[str, Any]


class FlatFile(NamedTuple):
    """The head of a flat file: `metadata_offset` is the last one of the metadata partition in it."""

    magic: int
    topic: str
    topic_id: str
    metadata_offset: int


def read_record(value: Buffer) -> KipMessage:
    """Return what a record of the metadata topic says.

    UnsupportedError for an unknown type or version, TruncatedError or CorruptError for bytes that are not
    what the type says, LimitError beyond LONGEST_VALUE bytes.
    """
    if len(value) < PREFIX_SIZE:
        raise TruncatedError(0, "type and version", f"{PREFIX_SIZE} bytes", len(value))
    if len(value) > LONGEST_VALUE:
        raise LimitError(0, "value", f"at most {LONGEST_VALUE} bytes", len(value))
    return _message(RECORDS, value[0], value[1], value, PREFIX_SIZE)


def read_flat_file(data: Buffer) -> tuple[FlatFile, int]:
    """Return the head of a flat file, and where its entries begin; errors as of `read_record`."""
    magic, at = unsigned_varint(data, 0, "magic")
    if magic != MAGIC:
        raise UnsupportedError(0, "magic", MAGIC, magic)
    start = at
    name, at = string_bytes(data, at, "topic name")
    if name is None:
        raise CorruptError(start, "topic name", "a name", "null")
    topic = utf8(name, start, "topic name")
    raw = bytes(data[at : at + UUID_SIZE])
    if len(raw) < UUID_SIZE:
        raise TruncatedError(at, "topic id", f"{UUID_SIZE} bytes", len(raw))
    offset, end = varlong(data, at + UUID_SIZE, "metadata offset")
    return FlatFile(magic, topic, uuid_text(raw), offset), end


def flat_entries(data: Buffer, position: int) -> Iterator[tuple[int, KipMessage]]:
    """Yield the entries of a flat file from a position on, each with its own; errors as of `read_record`."""
    while position < len(data):
        length, start = unsigned_varint(data, position, "entry length")
        left = len(data) - start
        if length > left:
            raise TruncatedError(position, "entry", f"{length} bytes", left)
        if length > LONGEST_VALUE:
            raise LimitError(position, "entry length", f"at most {LONGEST_VALUE} bytes", length)
        entry = bytes(data[start : start + length])
        try:
            kind, at = unsigned_varint(entry, 0, "type")
            version, at = unsigned_varint(entry, at, "version")
            yield position, _message(ENTRIES, kind, version, entry, at)
        except FormatError as error:
            raise error.moved(start) from error
        position = start + length


def read_offsets(data: bytes) -> dict[int, int]:
    """Return metadata partition -> committed offset; CorruptError for a line that is not two numbers."""
    offsets: dict[int, int] = {}
    position = 0
    for line in data.splitlines(keepends=True):
        words = line.decode("utf-8", "replace").split()
        numbers = [integer(word, bits) for word, bits in zip(words, (INT_BITS, LONG_BITS), strict=False)]
        if len(words) != 2 or numbers[0] is None or numbers[1] is None:
            raise CorruptError(position, "line", "a partition and an offset", " ".join(words))
        if numbers[0] in offsets:
            raise CorruptError(position, "partition", "each once", numbers[0])
        offsets[numbers[0]] = numbers[1]
        position += len(line)
    return offsets


def _message(schemas: Mapping[str, Schema], kind: int, version: int, data: Buffer, at: int) -> KipMessage:
    schema = next((one for one in schemas.values() if one.api_key == kind), None)
    if schema is None:
        raise UnsupportedError(0, "type", f"0 to {len(schemas) - 1}", kind)
    if version != VERSION:
        raise UnsupportedError(0, "version", VERSION, version)
    message = read_message(schema, VERSION, data, at, Collector())
    if message.rest:
        raise CorruptError(len(data) - len(message.rest), "value", "its end", f"{len(message.rest)} bytes")
    return KipMessage(schema.name, version, message.fields)
