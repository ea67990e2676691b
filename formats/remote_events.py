"""Events of __remote_log_metadata straight from their bytes, as brokers write nearly all of them.

A twin of `formats.remote_metadata.decode`, which is asked for all that is out of the ordinary, bad values
among it. Ordinary are segments and updates of every layout, about a partition that was met before, in known
states and without unknown tags, with short names, short custom metadata and few leader epochs:

    envelope   name, topic id, partition, 0   segment id, 0   numbers, leader epochs   custom metadata, tail
    3 bytes    the same for a partition       17 bytes        fixed width              one of few tails
"""

from collections.abc import Callable
from typing import TypeAlias

from formats.messages.fixed import ONE_BYTE, fixed_run
from formats.messages.remote import (
    FRAME_VERSION,
    LAYOUT_3_0,
    LAYOUT_3_6,
    LAYOUT_4_0,
    MESSAGE_VERSION,
    SCHEMAS,
    SEGMENT_METADATA,
    SEGMENT_METADATA_UPDATE,
    SHORTEST_ENVELOPE,
    TAIL_OF_3_0,
    TXN_INDEX_EMPTY_TAG,
)
from formats.primitives import uuid_text
from formats.remote_metadata import (
    SEGMENT_STATES,
    RemoteLogMetadata,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataUpdate,
    SegmentLeaderEpoch,
    decode,
)

EventDecoder: TypeAlias = Callable[[bytes], RemoteLogMetadata]
_Ordinary: TypeAlias = Callable[
    [bytes, int, "_Place", "_SegmentIds"], RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate | None
]

MOST_KEPT = 1 << 14
"""Partitions, and segments, whose bytes are remembered."""
MOST_EPOCHS = 16
NO_CUSTOM_METADATA = b"\0"
_SEGMENT_FIELDS = SCHEMAS["RemoteLogSegmentMetadataRecord"].fields
_UPDATE_FIELDS = SCHEMAS["RemoteLogSegmentMetadataUpdateRecord"].fields
_BY_NAME = {field.name: field for field in _SEGMENT_FIELDS}
_TOPIC_ID_PARTITION = fixed_run((_BY_NAME["remoteLogSegmentId"].struct or ())[:1], after="name")
"""After the name: topic id, partition, count of tags."""
_BEFORE_SEGMENT = SHORTEST_ENVELOPE + _TOPIC_ID_PARTITION.size
"""Where the segment id begins, if the name's length (plus one, as stored) is one byte and has no bytes."""
_BEGIN = fixed_run(_SEGMENT_FIELDS, after="topicIdPartition")
"""Segment id, tags, start and end offset, broker, largest timestamp, time of the event, epochs + 1."""
_EPOCH = fixed_run((_BY_NAME["segmentLeaderEpochs"]._replace(array=False),))
"""Leader epoch, start offset, tags."""
_SIZE = fixed_run((_BY_NAME["segmentSizeInBytes"],))
_UPDATED = fixed_run(_UPDATE_FIELDS, after="topicIdPartition")
"""Segment id, tags, broker, time of the event."""

_Place: TypeAlias = tuple[str, str, int]
"""Topic, topic id, partition."""
_Tail: TypeAlias = tuple[str, int, bool | None]
"""Layout, state, whether the transaction index is empty."""
_NEW_UPDATE: dict[bytes, _Tail] = {bytes((state, 0)): (LAYOUT_3_6, state, None) for state in SEGMENT_STATES}
"""The last bytes of a value, after its custom metadata."""
_USUAL = {NO_CUSTOM_METADATA + tail: found for tail, found in _NEW_UPDATE.items()}
"""The same with null custom metadata, as nearly all updates end."""
_NEW_SEGMENT: dict[bytes, _Tail] = {
    **{bytes((state, 0)): (LAYOUT_3_6, state, False) for state in SEGMENT_STATES},
    **{
        bytes((state, 1, TXN_INDEX_EMPTY_TAG, 1, empty)): (LAYOUT_4_0, state, bool(empty))
        for state in SEGMENT_STATES
        for empty in (0, 1)
    },
}
_OLD: dict[bytes, _Tail] = {bytes((state, 0)): (LAYOUT_3_0, state, None) for state in SEGMENT_STATES}
"""The same before 3.6, where there is no custom metadata."""


class _SegmentIds(dict[bytes, str]):
    """Texts of segment ids by their bytes."""

    def __missing__(self, raw: bytes) -> str:
        if len(self) >= MOST_KEPT:
            self.clear()
        self[raw] = text = uuid_text(raw)
        return text


def event_decoder() -> EventDecoder:
    """Return a decoder that remembers the partitions and segments which it has met; errors as of `decode`."""
    known: dict[bytes, tuple[_Ordinary, _Place]] = {}
    ids = _SegmentIds()

    def read(value: bytes) -> RemoteLogMetadata:
        if len(value) <= SHORTEST_ENVELOPE:
            return decode(value)
        at = value[SHORTEST_ENVELOPE] + _BEFORE_SEGMENT
        found = known.get(value[:at])
        if found is not None:
            return found[0](value, at, found[1], ids) or decode(value)
        record = decode(value)
        ordinary = _ORDINARY.get(value[:SHORTEST_ENVELOPE])
        if ordinary is not None and isinstance(
            record, (RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate)
        ):
            if len(known) >= MOST_KEPT:
                known.clear()
            if value[SHORTEST_ENVELOPE] < ONE_BYTE and not value[at - 1]:
                known[value[:at]] = ordinary, (record.topic, record.topic_id, record.partition)
        return record

    return read


def _update(value: bytes, at: int, place: _Place, ids: _SegmentIds) -> RemoteLogSegmentMetadataUpdate | None:
    """Return an ordinary update, given where its segment's id begins; None for any other value."""
    after = at + _UPDATED.size
    if len(value) < after + TAIL_OF_3_0:
        return None
    raw, tags, broker, time = _UPDATED.unpack_from(value, at)
    tail, custom = value[after:], None
    found = _USUAL.get(tail)
    if found is None:
        custom, found = _tail(tail, _NEW_UPDATE)
    if found is None or tags:
        return None
    # what a NamedTuple does, without its arguments by name
    return tuple.__new__(
        RemoteLogSegmentMetadataUpdate,
        (found[0], MESSAGE_VERSION, *place, ids[raw], broker, time, custom, found[1], ()),
    )


def _segment(value: bytes, at: int, place: _Place, ids: _SegmentIds) -> RemoteLogSegmentMetadata | None:
    """Return the same of an ordinary segment."""
    begin = at + _BEGIN.size
    if len(value) < begin:
        return None
    raw, tags, *numbers, count = _BEGIN.unpack_from(value, at)
    end = begin + (count - 1) * _EPOCH.size
    if tags or not 0 < count <= MOST_EPOCHS or len(value) < end + _SIZE.size + TAIL_OF_3_0:
        return None
    entries = list(_EPOCH.iter_unpack(value[begin:end]))
    custom, found = _tail(value[end + _SIZE.size :], _NEW_SEGMENT)
    if found is None or any(entry[2] for entry in entries):
        return None
    layout, state, txn_index_empty = found
    epochs = tuple([tuple.__new__(SegmentLeaderEpoch, entry[:2]) for entry in entries])
    last = epochs, *_SIZE.unpack_from(value, end), custom, state, txn_index_empty, ()
    return tuple.__new__(
        RemoteLogSegmentMetadata, (layout, MESSAGE_VERSION, *place, ids[raw], *numbers, *last)
    )


_ORDINARY: dict[bytes, _Ordinary] = {
    bytes((FRAME_VERSION, SEGMENT_METADATA, MESSAGE_VERSION)): _segment,
    bytes((FRAME_VERSION, SEGMENT_METADATA_UPDATE, MESSAGE_VERSION)): _update,
}
"""What reads an ordinary value, by its envelope."""


def _tail(tail: bytes, new: dict[bytes, _Tail]) -> tuple[bytes | None, _Tail | None]:
    """Return custom metadata and what follows it; None and None for a tail that is not ordinary."""
    if len(tail) == TAIL_OF_3_0:
        return None, _OLD.get(tail)
    size = tail[0]
    if not size:
        return None, new.get(tail[1:])
    return tail[1:size], new.get(tail[size:]) if size < ONE_BYTE else None
