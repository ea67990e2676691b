"""Remote log metadata as the text of KIP-405 lays it out; no release writes, reads or prints it.

    flat file   magic uvarint, topic string, topic id uuid, metadata offset varlong,
                entries to the end: length uvarint, type uvarint, version uvarint, message
    offsets     lines `PARTITION OFFSET`, without the two lines that a checkpoint file begins with

Messages have no tags, strings an int16 length, arrays an int32 count. The truth is the text of the KIP. Where
it is silent, kcli takes what Kafka does elsewhere: magic 0, a string with an int16 length, a zigzag varlong.
Lines of the formatter have `broker-id` for the leader epoch of an event, and a comma for `<vs>`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from formats.checkpoint import read_committed_offsets
from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.messages.declare import declared
from formats.messages.reader import Collector, read_message
from formats.primitives import UUID_SIZE, string_bytes, unsigned_varint, utf8, uuid_text, varlong
from formats.remote_metadata import RemoteLogMetadata, RemotePartitionDeleteMetadata, state_name
from formats.types import Buffer

FLAT_MAGIC = 0
FLAT_VERSION = 0

ENTRIES = declared("""
RemoteLogSegmentMetadataRecordStored 0 versions 0
    segmentId              uuid
    startOffset            int64
    endOffset              int64
    leaderEpoch            int32
    maxTimestamp           int64
    eventTimestamp         int64
    segmentLeaderEpochs    []SegmentLeaderEpochEntry: leaderEpoch int32, offset int64
    segmentSizeInBytes     int32
    remoteLogSegmentState  int8
DeletePartitionStateRecord 1 versions 0: epoch int32, eventTimestamp int64, remotePartitionDeleteState int8
""")


class FlatFile(NamedTuple):
    """The head of a flat file: `metadata_offset` is the last one of the metadata partition in it."""

    topic: str
    topic_id: str
    metadata_offset: int


def read_flat_file(data: Buffer) -> tuple[FlatFile, int]:
    """Return the head of a flat file, and where its entries begin; FormatError for other bytes."""
    magic, start = unsigned_varint(data, 0, "magic")
    if magic != FLAT_MAGIC:
        raise UnsupportedError(0, "magic", FLAT_MAGIC, magic)
    name, position = string_bytes(data, start, "topic name")
    if name is None:
        raise CorruptError(start, "topic name", "a name", "null")
    topic_id = bytes(data[position : position + UUID_SIZE])
    if len(topic_id) < UUID_SIZE:
        raise TruncatedError(position, "topic id", f"{UUID_SIZE} bytes", len(topic_id))
    offset, end = varlong(data, position + UUID_SIZE, "metadata offset")
    return FlatFile(utf8(name, start, "topic name"), uuid_text(topic_id), offset), end


def flat_entries(data: Buffer, position: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield position, name and fields of each entry, as the KIP names them; FormatError for other bytes."""
    while position < len(data):
        length, start = unsigned_varint(data, position, "entry length")
        if length > len(data) - start:
            raise TruncatedError(position, "entry", f"{length} bytes", len(data) - start)
        try:
            yield position, *_read_entry(bytes(data[start : start + length]))
        except FormatError as error:
            raise error.moved(start) from error
        position = start + length


def _read_entry(entry: bytes) -> tuple[str, dict[str, Any]]:
    kind, position = unsigned_varint(entry, 0, "type")
    version, position = unsigned_varint(entry, position, "version")
    schema = next((schema for schema in ENTRIES.values() if schema.api_key == kind), None)
    if schema is None:
        raise UnsupportedError(0, "type", f"0 to {len(ENTRIES) - 1}", kind)
    if version != FLAT_VERSION:
        raise UnsupportedError(0, "version", FLAT_VERSION, version)
    message = read_message(schema, FLAT_VERSION, entry, position, Collector())
    if message.tail:
        raise CorruptError(len(entry) - len(message.tail), "value", "its end", f"{len(message.tail)} bytes")
    return schema.name, message.fields


def read_offsets(data: bytes) -> dict[int, int]:
    """Return metadata partition -> committed offset; CorruptError for a line that is not two numbers."""
    head = b"0\n%d\n" % len(data.splitlines())
    try:
        return read_committed_offsets(head + data)
    except FormatError as error:
        raise error.moved(-len(head)) from error


_KIP405_TYPES = {
    "RemotePartitionDeleteMetadata": "DeletePartitionState",
    "RemoteLogSegmentMetadataSnapshot": "RemoteLogSegmentMetadataStored",
}


def line(partition: int | None, offset: int | None, record: RemoteLogMetadata) -> str:
    """Return the line of a record with its partition, offset and version; an unknown number is `null`."""
    kind, values = type(record).__name__, record._asdict()
    ids = {"id": "segment_id", "topicId": "topic_id", "topicName": "topic", "partition": "partition"}
    id_text = ",".join(f"{name}:{values[field]}" for name, field in ids.items() if field in values)
    is_deletion = isinstance(record, RemotePartitionDeleteMetadata)
    value = [f"{'topic-id-partition' if is_deletion else 'remote-log-segment-id'}:{{{id_text}}}"]
    for name in ("start_offset", "end_offset", "broker_id"):
        value += [f"{name.replace('_', '-')}:{values[name]}"] if name in values else []
    value.append(f"remote-{'partition-delete' if is_deletion else 'log-segment'}-state:{state_name(record)}")
    partition_text, offset_text = ("null" if number is None else number for number in (partition, offset))
    head = f"partition:{partition_text},message-offset:{offset_text},type:{_KIP405_TYPES.get(kind, kind)}"
    return f"{head},version:{record.version},event-value:{{{','.join(value)}}}"
