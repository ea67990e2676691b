"""Values of the topic __remote_log_metadata as rows: what happened to each remote log segment (KIP-405).

Lives in the records of `__remote_log_metadata-N` and in the entries of
`remote_log_snapshot`. The bytes are declared in `formats.messages.remote`, which also
knows the three layouts apart; here are their fields under one name each, and the
numbers of the states (`RemoteLogSegmentState`, `RemotePartitionDeleteState`).
"""

import re
import struct
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

from formats.errors import LimitError
from formats.java_text import java_string
from formats.layout import struct_of
from formats.messages import remote
from formats.messages.reader import ELEMENTS_MAX, Collector, UnknownTag
from formats.messages.remote import MESSAGE_VERSION, SHORTEST_ENVELOPE
from formats.primitives import uuid_text
from formats.types import Buffer

LONGEST_VALUE = 1 << 20
"""Bytes of a value unless a caller allows more: what hostile epochs and tags make of them costs 64 times
that.
"""

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


class SegmentLeaderEpoch(NamedTuple):
    """A leader epoch and its first offset in the segment, clipped to the segment's start."""

    leader_epoch: int
    offset: int


class RemoteLogSegmentMetadata(NamedTuple):
    """A segment copied or being copied; offsets inclusive, times in ms, ids as Kafka prints them.

    `txn_index_empty` is None in the layout of 3.0, which Kafka 4 cannot read; false where it is left out.
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

STATES: dict[type[RemoteLogMetadata], dict[int, str]] = {
    RemoteLogSegmentMetadata: SEGMENT_STATES,
    RemoteLogSegmentMetadataUpdate: SEGMENT_STATES,
    RemotePartitionDeleteMetadata: PARTITION_DELETE_STATES,
    RemoteLogSegmentMetadataSnapshot: SEGMENT_STATES,
}
"""The records by their api keys, from 0 on, and Kafka's names of the states that each can have."""


def state_name(record: RemoteLogMetadata) -> str:
    """Return Kafka's name of the record's state, or its number as text where Kafka knows none."""
    return STATES[type(record)].get(record.state, str(record.state))


def decode(value: Buffer, longest: int = LONGEST_VALUE) -> RemoteLogMetadata:
    """Return the record that a whole value holds; LimitError beyond `longest` bytes, else as `read_value`.

    Unknown states and tags are kept: what a broker refuses of them is the caller's question. What is not
    UTF-8 in a name is U+FFFD, as in a broker.
    """
    if len(value) > longest:
        raise LimitError(0, "value", f"at most {longest} bytes", len(value))
    record = _usual_record(bytes(value))
    if record is not None:
        return record
    collector = Collector(max(ELEMENTS_MAX, longest), replace_invalid_utf8=True)
    schema, layout, fields = remote.read_value(value, collector)
    return row_of(schema.api_key, layout, fields, tuple(collector.unknown_tags))


ONE_BYTE = 0x80
"""A compact length below it is one byte."""
_IS_UPDATE = {
    bytes((remote.FRAME_VERSION, remote.SEGMENT_METADATA, MESSAGE_VERSION)): False,
    bytes((remote.FRAME_VERSION, remote.SEGMENT_METADATA_UPDATE, MESSAGE_VERSION)): True,
}
"""By the envelope."""
_TOPIC_ID, _SIZE, _EPOCH = struct_of(("16s", "iB")), struct_of("iB"), struct_of("iqB")
_UPDATE, _SEGMENT = struct_of(("16s", "BiqB")), struct_of(("16s", "BqqiqqB"))
"""From the segment id to the length of the custom metadata, or to the count of leader epochs."""
_ENDS = {b"\0": (remote.LAYOUT_3_6, False), b"\1\0\1\1": (remote.LAYOUT_4_0, True)}
"""Layout, and whether the transaction index is empty, by the tagged fields of a segment."""
_text = lru_cache(1 << 14)(uuid_text)


@lru_cache(1 << 14)
def _usual_partition(begin: bytes) -> tuple[bool, str, str, int] | None:
    """Return of a value up to its segment id whether it is an update, and topic, topic id and partition."""
    is_update, length = _IS_UPDATE.get(begin[:SHORTEST_ENVELOPE]), begin[SHORTEST_ENVELOPE]
    if is_update is None or not 0 < length < ONE_BYTE:
        return None
    name = java_string(begin[SHORTEST_ENVELOPE + 1 : SHORTEST_ENVELOPE + length])
    topic_id, partition, tags = _TOPIC_ID.unpack_from(begin, SHORTEST_ENVELOPE + length)
    return None if tags else (is_update, name, uuid_text(topic_id), partition)


def _usual_record(value: bytes) -> RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate | None:
    """Return a segment or an update as brokers since 3.6 write nearly all; None for any other value."""
    try:
        cursor = SHORTEST_ENVELOPE + value[SHORTEST_ENVELOPE] + _TOPIC_ID.size
        usual = _usual_partition(value[:cursor])
        if usual is None:
            return None
        is_update, topic, topic_id, partition = usual
        if is_update:
            segment_id, tags, broker_id, time, length = _UPDATE.unpack_from(value, cursor)
            cursor += _UPDATE.size
        else:
            numbers = _SEGMENT.unpack_from(value, cursor)
            segment_id, tags, first, last, broker_id, max_time, time, count = numbers
            begin = cursor + _SEGMENT.size
            cursor = begin + (count - 1) * _EPOCH.size
            if not 0 < count < ONE_BYTE or any(value[begin + _EPOCH.size - 1 : cursor : _EPOCH.size]):
                return None  # a leader epoch has tags
            starts = [SegmentLeaderEpoch(*entry[:2]) for entry in _EPOCH.iter_unpack(value[begin:cursor])]
            size, length = _SIZE.unpack_from(value, cursor)
            cursor += _SIZE.size
        end = cursor + length - 1 if length else cursor
        custom, state = value[cursor:end] if length else None, value[end]
    except (IndexError, struct.error):
        return None
    layout, is_txn_index_empty = _ENDS.get(value[end + 1 :], (None, False))
    is_odd = tags or length >= ONE_BYTE or (is_update and is_txn_index_empty)
    if is_odd or layout is None or state not in SEGMENT_STATES:
        return None
    segment = _text(segment_id)
    if not is_update:
        return RemoteLogSegmentMetadata(
            layout,
            MESSAGE_VERSION,
            topic,
            topic_id,
            partition,
            segment,
            first,
            last,
            broker_id,
            max_time,
            time,
            tuple(starts),
            size,
            custom,
            state,
            is_txn_index_empty,
            (),
        )
    return RemoteLogSegmentMetadataUpdate(
        layout, MESSAGE_VERSION, topic, topic_id, partition, segment, broker_id, time, custom, state, ()
    )


def row_of(
    api_key: int, layout: int, fields: dict[str, Any], unknown_tags: tuple[UnknownTag, ...]
) -> RemoteLogMetadata:
    """Return the decoded fields of a record as its row; `layout`: the number of the one that was read."""
    segment = fields.get("remoteLogSegmentId", fields)
    topic = segment.get("topicIdPartition", {})
    values = {_column(name): value for name, value in fields.items()} | {
        "layout": remote.LAYOUTS[layout],
        "version": MESSAGE_VERSION,
        "topic": topic.get("name"),
        "topic_id": topic.get("id"),
        "partition": topic.get("partition"),
        "segment_id": segment.get("id", segment.get("segmentId")),
        "segment_leader_epochs": tuple(
            [SegmentLeaderEpoch(*entry.values()) for entry in fields.get("segmentLeaderEpochs", ())]
        ),
        "custom_metadata": fields.get("customMetadata"),
        "state": fields.get("remoteLogSegmentState", fields.get("remotePartitionDeleteState")),
        # no field in 3.0; false where the value leaves it out, as for every reader since 4.0
        "txn_index_empty": fields.get("txnIndexEmpty", False) if layout else None,
        "unknown_tags": unknown_tags,
    }
    row = (*STATES,)[api_key]
    return row._make(map(values.__getitem__, row._fields))


@cache
def _column(field: str) -> str:
    return re.sub("[A-Z]", r"_\g<0>", field).lower()
