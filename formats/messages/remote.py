"""The records of the topic __remote_log_metadata (KIP-405), declared, and the three layouts of their values.

Lives in the records of `__remote_log_metadata-N` and in the entries of
`remote_log_snapshot`; written by TopicBasedRemoteLogMetadataManager. The truth is
`org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde`
for the envelope and the schemas of the module storage, 3.0 to 4.3.1.

    +-------+-----+---------+--------------------------------------------------------------+
    | frame | api | message | message: a flexible struct, to the last byte of the value     |
    | 1     | key | 0       |                                                              |
    +-------+-----+---------+--------------------------------------------------------------+
    uvarint  uvarint uvarint

Kafka wrote three layouts and left the version at 0. Here they are versions, numbered
by `LAYOUTS`. Release 3.6 put the custom metadata before the state, so the tail of a
value decides: where exactly two bytes are left (state, no tags) nothing but the layout
of 3.0 fits. Release 4.0 added the tagged field TxnIndexEmpty, which is left out when false.
"""

from functools import cache

from formats.errors import CorruptError, UnsupportedError
from formats.messages.declare import Schema, Value, declared
from formats.messages.reader import Collector, Reader, head_reader, reader
from formats.primitives import short_varint
from formats.types import Buffer

FRAME_VERSION = 1
MESSAGE_VERSION = 0
SEGMENT_METADATA = 0
SEGMENT_METADATA_UPDATE = 1
TXN_INDEX_EMPTY_TAG = 0

LAYOUT_3_0, LAYOUT_3_6, LAYOUT_4_0 = "3.0", "3.6", "4.0"
LAYOUTS = (LAYOUT_3_0, LAYOUT_3_6, LAYOUT_4_0)
"""The release that first wrote a layout, by the layout's number."""

TAIL_OF_3_0 = 2
"""Bytes of a state and an empty tag section: what is left before 3.6 where later releases put custom
metadata.
"""

REMOTE_SCHEMAS = declared("""
RemoteLogSegmentMetadataRecord 0 versions 0-2 flexible 0+
    remoteLogSegmentId     RemoteLogSegmentIdEntry
        topicIdPartition  TopicIdPartitionEntry: name string, id uuid, partition int32
        id                uuid
    startOffset            int64
    endOffset              int64
    brokerId               int32
    maxTimestampMs         int64
    eventTimestampMs       int64
    segmentLeaderEpochs    []SegmentLeaderEpochEntry: leaderEpoch int32, offset int64
    segmentSizeInBytes     int32
    customMetadata         bytes                      1+ nullable
    remoteLogSegmentState  int8
    txnIndexEmpty          bool                       2+ tag 0
RemoteLogSegmentMetadataUpdateRecord 1 versions 0-1 flexible 0+
    remoteLogSegmentId     RemoteLogSegmentIdEntry
    brokerId               int32
    eventTimestampMs       int64
    customMetadata         bytes                    1+ nullable
    remoteLogSegmentState  int8
RemotePartitionDeleteMetadataRecord 2 versions 0 flexible 0+
    topicIdPartition            TopicIdPartitionEntry
    brokerId                    int32
    eventTimestampMs            int64
    remotePartitionDeleteState  int8
RemoteLogSegmentMetadataSnapshotRecord 3 versions 0-2 flexible 0+
    segmentId              uuid
    startOffset            int64
    endOffset              int64
    brokerId               int32
    maxTimestampMs         int64
    eventTimestampMs       int64
    segmentLeaderEpochs    []SegmentLeaderEpochEntry
    segmentSizeInBytes     int32
    customMetadata         bytes                      1+ nullable
    remoteLogSegmentState  int8
    txnIndexEmpty          bool                       2+ tag 0
""")
REMOTE_TYPES = {schema.api_key: schema for schema in REMOTE_SCHEMAS.values()}


SHORTEST_ENVELOPE = 3
_ENVELOPES = {bytes((FRAME_VERSION, key, MESSAGE_VERSION)): (key, SHORTEST_ENVELOPE) for key in REMOTE_TYPES}
"""Those that Kafka writes, by their bytes."""


def _read_envelope(value: Buffer) -> tuple[int, int]:
    """Return api key and where the message begins; UnsupportedError if it or a version is unknown."""
    envelope = _ENVELOPES.get(bytes(value[:SHORTEST_ENVELOPE]))
    if envelope is not None:
        return envelope
    frame_version, after_frame = short_varint(value, 0, "frame version")
    if frame_version != FRAME_VERSION:
        raise UnsupportedError(0, "frame version", FRAME_VERSION, frame_version)
    api_key, after = short_varint(value, after_frame, "api key")
    if api_key not in REMOTE_TYPES:
        raise UnsupportedError(after_frame, "api key", "0, 1, 2 or 3", api_key)
    version, end = short_varint(value, after, "message version")
    if version != MESSAGE_VERSION:
        raise UnsupportedError(after, "message version", MESSAGE_VERSION, version)
    return api_key, end


def read_value(value: Buffer, collector: Collector) -> tuple[Schema, int, dict[str, Value]]:
    """Return a value's schema, the number of its layout and its fields; the whole value must be used up.

    Positions of errors count from the value's first byte. TruncatedError where the value ends too early,
    UnsupportedError for an unknown frame version, api key or message version, LimitError for more elements
    than the collector allows, CorruptError otherwise.
    """
    api_key, start = _read_envelope(value)
    schema = REMOTE_TYPES[api_key]
    if collector.spans is not None:
        field_start = 0
        for field in ("frame version", "record type", "record version"):
            number, end = short_varint(value, field_start, field)
            collector.span(f"{schema.name} {field}", field_start, end, number)
            field_start = end
    read_head, read_old_tail, read_tail = _readers(api_key)
    fields, position = read_head(value, start, collector)
    is_old = len(value) - position == TAIL_OF_3_0
    layout = 0 if is_old else schema.versions.highest
    tail_fields, end = (read_old_tail if is_old else read_tail)(value, position, collector)
    if end != len(value):
        raise CorruptError(end, "end of the value", "no more bytes", len(value) - end)
    if layout == LAYOUTS.index(LAYOUT_4_0) and (schema.name, TXN_INDEX_EMPTY_TAG) not in collector.known_tags:
        layout = LAYOUTS.index(LAYOUT_3_6)
        del tail_fields["txnIndexEmpty"]
    return schema, layout, fields | tail_fields


@cache
def _readers(api_key: int) -> tuple[Reader, Reader, Reader]:
    """Return the readers of what all layouts begin with, of the rest in the first layout, and in the last.

    Found by the api key: the hash of a schema costs more than the reading of most fields.
    """
    schema = REMOTE_TYPES[api_key]
    names = [field.name for field in schema.fields]
    tail_start = names.index("customMetadata") if "customMetadata" in names else len(names)
    tail = schema._replace(fields=schema.fields[tail_start:])
    head = head_reader(schema._replace(fields=schema.fields[:tail_start]), 0)
    return head, reader(tail, 0), reader(tail, schema.versions.highest)
