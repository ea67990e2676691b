"""Values of the topic __remote_log_metadata: what happened to each remote log segment (KIP-405).

Lives in the records of `__remote_log_metadata-N` and in the entries of
`remote_log_snapshot`; written by TopicBasedRemoteLogMetadataManager. The truth is
`org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde`
for the envelope and the schemas RemoteLogSegmentMetadataRecord (api key 0),
RemoteLogSegmentMetadataUpdateRecord (1), RemotePartitionDeleteMetadataRecord (2)
and RemoteLogSegmentMetadataSnapshotRecord (3, only in the file).

    +-------+-----+---------+--------------------------------------------------------------+
    | frame | api | message | message: a flexible struct, to the last byte of the value     |
    | 1     | key | 0       |                                                              |
    +-------+-----+---------+--------------------------------------------------------------+
    uvarint  uvarint uvarint
    0: segment id | start, end, broker, max and event timestamp | epochs | size | [custom] | state | tags
    1: segment id | broker, event timestamp                     |                 [custom] | state | tags
    2: topic id partition | broker, event timestamp             |                            state | tags
    3: segment's uuid | start, end, broker, max and event timestamp | epochs | size | [custom] | state | tags

Release 3.6 put the custom metadata before the state and left the version at 0,
so the tail decides: where exactly two bytes are left (state, no tags) nothing
but the old layout fits. Release 4.0 added the tagged field TxnIndexEmpty, which
is left out when false.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from construct import Bytes, Int32sb, Int64sb, Struct

from formats.errors import CorruptError, LimitError, TruncatedError, UnsupportedError
from formats.layout import Layout
from formats.primitives import (
    UUID_SIZE,
    compact_array_length,
    compact_java_string,
    compact_nullable_bytes,
    compact_string,
    short_varint,
    tagged_fields,
    uuid,
    uuid_text,
)
from formats.types import Buffer

FRAME_VERSION = 1
MESSAGE_VERSION = 0
SEGMENT_METADATA = 0
SEGMENT_METADATA_UPDATE = 1
PARTITION_DELETE_METADATA = 2
SEGMENT_METADATA_SNAPSHOT = 3
TXN_INDEX_EMPTY_TAG = 0

LAYOUT_3_0 = "3.0"
LAYOUT_3_6 = "3.6"
LAYOUT_4_0 = "4.0"

LONGEST_VALUE = 1 << 20
"""Bytes of a value unless a caller allows more: what hostile epochs and tags make of them costs 64 times that."""

OLD_TAIL = 2
"""Bytes of a state and an empty tag section: what is left before 3.6 where later releases put custom metadata."""

RECORD_STRUCT = "record"
TOPIC_ID_PARTITION_STRUCT = "TopicIdPartition"
SEGMENT_ID_STRUCT = "RemoteLogSegmentId"
LEADER_EPOCH_STRUCT = "SegmentLeaderEpochs"

SEGMENT_STATES = {
    0: "COPY_SEGMENT_STARTED",
    1: "COPY_SEGMENT_FINISHED",
    2: "DELETE_SEGMENT_STARTED",
    3: "DELETE_SEGMENT_FINISHED",
}
PARTITION_DELETE_STATES = {
    0: "DELETE_PARTITION_MARKED",
    1: "DELETE_PARTITION_STARTED",
    2: "DELETE_PARTITION_FINISHED",
}
DELETE_SEGMENT_FINISHED = 3

TOPIC_ID_DECLARATION = Struct(
    "topic_id" / Bytes(UUID_SIZE) * "of the user topic; its name stands before",
    "partition" / Int32sb * "of the user topic",
)
SEGMENT_BODY_DECLARATION = Struct(
    "start_offset" / Int64sb * "first offset of the segment",
    "end_offset" / Int64sb * "last offset of the segment, inclusive",
    "broker_id" / Int32sb * "broker that wrote the event",
    "max_timestamp_ms" / Int64sb * "largest timestamp in the segment",
    "event_timestamp_ms" / Int64sb * "when the event was written",
)
EVENT_DECLARATION = Struct(
    "broker_id" / Int32sb * "broker that wrote the event",
    "event_timestamp_ms" / Int64sb * "when the event was written",
)
SEGMENT_LEADER_EPOCH_DECLARATION = Struct(
    "leader_epoch" / Int32sb * "leader epoch",
    "offset" / Int64sb * "its first offset in the segment",
)


class TopicIdBody(NamedTuple):
    """What follows a user topic's name."""

    topic_id: bytes
    partition: int


class SegmentBody(NamedTuple):
    """The fixed fields in the middle of a segment's record."""

    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int


class EventBody(NamedTuple):
    """Who wrote an event, and when."""

    broker_id: int
    event_timestamp_ms: int


class SegmentLeaderEpoch(NamedTuple):
    """A leader epoch and its first offset in the segment, clipped to the segment's start."""

    leader_epoch: int
    offset: int


TOPIC_ID = Layout(TOPIC_ID_DECLARATION, TopicIdBody, "topic id and partition")
SEGMENT_BODY = Layout(SEGMENT_BODY_DECLARATION, SegmentBody, "remote segment")
EVENT = Layout(EVENT_DECLARATION, EventBody, "remote metadata event")
SEGMENT_LEADER_EPOCH = Layout(SEGMENT_LEADER_EPOCH_DECLARATION, SegmentLeaderEpoch, "segment leader epoch")


class UnknownTag(NamedTuple):
    """A tagged field that no release up to 4.3 writes: the struct it is in, its number and its bytes."""

    struct: str
    tag: int
    data: bytes


class RemoteLogSegmentMetadata(NamedTuple):
    """A segment copied or being copied; offsets inclusive, times in ms, ids as Kafka prints them.

    `txn_index_empty` is None in the layout of 3.0, which Kafka 4 cannot read; false where the value leaves it out.
    """

    layout: str
    version: int
    topic: str
    topic_id: str
    partition: int
    segment_id: str
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: tuple[SegmentLeaderEpoch, ...]
    segment_size_in_bytes: int
    custom_metadata: bytes | None
    state: int
    txn_index_empty: bool | None
    unknown_tags: tuple[UnknownTag, ...]


class RemoteLogSegmentMetadataUpdate(NamedTuple):
    """A segment's new state; custom metadata replaces what was there, None too."""

    layout: str
    version: int
    topic: str
    topic_id: str
    partition: int
    segment_id: str
    broker_id: int
    event_timestamp_ms: int
    custom_metadata: bytes | None
    state: int
    unknown_tags: tuple[UnknownTag, ...]


class RemotePartitionDeleteMetadata(NamedTuple):
    """How far the deletion of a partition's remote segments has come; the same bytes since 3.0."""

    layout: str
    version: int
    topic: str
    topic_id: str
    partition: int
    broker_id: int
    event_timestamp_ms: int
    state: int
    unknown_tags: tuple[UnknownTag, ...]


class RemoteLogSegmentMetadataSnapshot(NamedTuple):
    """A segment in `remote_log_snapshot`, whose place on disk says which partition it belongs to."""

    layout: str
    version: int
    segment_id: str
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: tuple[SegmentLeaderEpoch, ...]
    segment_size_in_bytes: int
    custom_metadata: bytes | None
    state: int
    txn_index_empty: bool | None
    unknown_tags: tuple[UnknownTag, ...]


RemoteLogMetadata: TypeAlias = (
    RemoteLogSegmentMetadata
    | RemoteLogSegmentMetadataUpdate
    | RemotePartitionDeleteMetadata
    | RemoteLogSegmentMetadataSnapshot
)


Name: TypeAlias = Callable[[Buffer, int, str], tuple[str, int]]
"""What reads a topic's name."""


class Envelope(NamedTuple):
    """What precedes the message; `size` is the position at which the message begins."""

    frame_version: int
    api_key: int
    version: int
    size: int


class _Tail(NamedTuple):
    layout: str
    custom_metadata: bytes | None
    state: int
    txn_index_empty: bool | None
    unknown_tags: tuple[UnknownTag, ...]


def decode(
    value: Buffer, longest: int = LONGEST_VALUE, *, replace_invalid_utf8: bool = False
) -> RemoteLogMetadata:
    """Return the record that a value holds; the whole value must be used up. LimitError beyond `longest` bytes.

    Positions of errors count from the value's first byte. States and tags that are not known are kept as they are;
    what a broker refuses although it can be decoded is the caller's question. TruncatedError where the value ends
    too early, UnsupportedError for an unknown frame version, api key or message version, CorruptError otherwise.
    What is not UTF-8 in a name is a CorruptError; with `replace_invalid_utf8` U+FFFD, as where Kafka prints it.
    """
    if len(value) > longest:
        raise LimitError(0, "value", f"at most {longest} bytes", len(value))
    envelope = read_envelope(value)
    return _READERS[envelope.api_key](
        value, envelope, compact_java_string if replace_invalid_utf8 else compact_string
    )


def read_envelope(value: Buffer) -> Envelope:
    """Return frame version, api key and message version; UnsupportedError if one of them is unknown."""
    frame_version, position = short_varint(value, 0, "frame version")
    if frame_version != FRAME_VERSION:
        raise UnsupportedError(0, "frame version", FRAME_VERSION, frame_version)
    at = position
    api_key, position = short_varint(value, position, "api key")
    if api_key not in _READERS:
        raise UnsupportedError(at, "api key", "0, 1, 2 or 3", api_key)
    at = position
    version, position = short_varint(value, position, "message version")
    if version != MESSAGE_VERSION:
        raise UnsupportedError(at, "message version", MESSAGE_VERSION, version)
    return Envelope(frame_version, api_key, version, position)


def _segment_metadata(value: Buffer, envelope: Envelope, name: Name) -> RemoteLogSegmentMetadata:
    names, segment_id, position, tags = _segment_id(value, envelope.size, name)
    body = SEGMENT_BODY.read(value, position)
    epochs, position = _segment_leader_epochs(value, position + SEGMENT_BODY.size, tags)
    size, position = _integer(value, position, 4, "segment size")
    tail = _tail(value, position, tags, txn_index=True)
    return RemoteLogSegmentMetadata(
        tail.layout, envelope.version, *names, segment_id, *body, epochs, size, *tail[1:4], tail.unknown_tags
    )


def _segment_metadata_update(value: Buffer, envelope: Envelope, name: Name) -> RemoteLogSegmentMetadataUpdate:
    names, segment_id, position, tags = _segment_id(value, envelope.size, name)
    event = EVENT.read(value, position)
    tail = _tail(value, position + EVENT.size, tags, txn_index=False)
    return RemoteLogSegmentMetadataUpdate(
        tail.layout, envelope.version, *names, segment_id, *event, *tail[1:3], tail.unknown_tags
    )


def _partition_delete_metadata(
    value: Buffer, envelope: Envelope, name: Name
) -> RemotePartitionDeleteMetadata:
    tags: list[UnknownTag] = []
    names, position = _topic_id_partition(value, envelope.size, tags, name)
    event = EVENT.read(value, position)
    state, position = _integer(value, position + EVENT.size, 1, "state")
    position = _unknown_tags(value, position, RECORD_STRUCT, tags)
    _expect_end(value, position)
    return RemotePartitionDeleteMetadata(LAYOUT_3_0, envelope.version, *names, *event, state, tuple(tags))


def _segment_metadata_snapshot(
    value: Buffer, envelope: Envelope, _name: Name
) -> RemoteLogSegmentMetadataSnapshot:
    tags: list[UnknownTag] = []
    segment_id, position = uuid(value, envelope.size, "segment id")
    body = SEGMENT_BODY.read(value, position)
    epochs, position = _segment_leader_epochs(value, position + SEGMENT_BODY.size, tags)
    size, position = _integer(value, position, 4, "segment size")
    tail = _tail(value, position, tags, txn_index=True)
    return RemoteLogSegmentMetadataSnapshot(
        tail.layout, envelope.version, segment_id, *body, epochs, size, *tail[1:]
    )


_READERS: dict[int, Callable[[Buffer, Envelope, Name], RemoteLogMetadata]] = {
    SEGMENT_METADATA: _segment_metadata,
    SEGMENT_METADATA_UPDATE: _segment_metadata_update,
    PARTITION_DELETE_METADATA: _partition_delete_metadata,
    SEGMENT_METADATA_SNAPSHOT: _segment_metadata_snapshot,
}


def _topic_id_partition(
    value: Buffer, position: int, tags: list[UnknownTag], name: Name
) -> tuple[tuple[str, str, int], int]:
    topic, position = name(value, position, "topic")
    body = TOPIC_ID.read(value, position)
    position = _unknown_tags(value, position + TOPIC_ID.size, TOPIC_ID_PARTITION_STRUCT, tags)
    return (topic, uuid_text(body.topic_id), body.partition), position


def _segment_id(
    value: Buffer, position: int, name: Name
) -> tuple[tuple[str, str, int], str, int, list[UnknownTag]]:
    tags: list[UnknownTag] = []
    names, position = _topic_id_partition(value, position, tags, name)
    segment_id, position = uuid(value, position, "segment id")
    return names, segment_id, _unknown_tags(value, position, SEGMENT_ID_STRUCT, tags), tags


def _segment_leader_epochs(
    value: Buffer,
    position: int,
    tags: list[UnknownTag],
) -> tuple[tuple[SegmentLeaderEpoch, ...], int]:
    at = position
    count, position = compact_array_length(value, position, "segment leader epochs")
    smallest = SEGMENT_LEADER_EPOCH.size + 1
    if count * smallest > len(value) - position:
        raise TruncatedError(
            at, "segment leader epochs", f"{count} entries of {smallest} bytes or more", len(value) - position
        )
    epochs = []
    for _ in range(count):
        epochs.append(SEGMENT_LEADER_EPOCH.read(value, position))
        position = _unknown_tags(value, position + SEGMENT_LEADER_EPOCH.size, LEADER_EPOCH_STRUCT, tags)
    return tuple(epochs), position


def _tail(value: Buffer, position: int, tags: list[UnknownTag], *, txn_index: bool) -> _Tail:
    old = len(value) - position == OLD_TAIL
    custom_metadata = None
    if not old:
        custom_metadata, position = compact_nullable_bytes(value, position, "custom metadata")
    state, at = _integer(value, position, 1, "state")
    own, position = tagged_fields(value, at, "tagged fields", {TXN_INDEX_EMPTY_TAG: 1} if txn_index else {})
    _expect_end(value, position)
    # A tagged field that is left out has its default, which is false here: so every reader since 4.0 takes it.
    txn_index_empty = False if txn_index and not old else None
    tagged = False
    for tag, data in own:
        if txn_index and tag == TXN_INDEX_EMPTY_TAG:
            txn_index_empty, tagged = data != b"\0", True
        else:
            tags.append(UnknownTag(RECORD_STRUCT, tag, data))
    layout = LAYOUT_3_0 if old else LAYOUT_4_0 if tagged else LAYOUT_3_6
    return _Tail(layout, custom_metadata, state, txn_index_empty, tuple(tags))


def _unknown_tags(value: Buffer, position: int, where: str, tags: list[UnknownTag]) -> int:
    if position < len(value) and value[position] == 0:  # nearly always: no release up to 4.3 writes any here
        return position + 1
    found, position = tagged_fields(value, position, f"tagged fields of {where}")
    tags.extend(UnknownTag(where, tag, data) for tag, data in found)
    return position


def _integer(value: Buffer, position: int, size: int, field: str) -> tuple[int, int]:
    raw = value[position : position + size]
    if len(raw) < size:
        raise TruncatedError(position, field, f"{size} bytes", len(raw))
    return int.from_bytes(raw, "big", signed=True), position + size


def _expect_end(value: Buffer, position: int) -> None:
    if position != len(value):
        raise CorruptError(position, "end of the value", "no more bytes", len(value) - position)
