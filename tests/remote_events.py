"""Events of remote segments, and a flat file as KIP-405 lays it out, for tests."""

import struct

from formats.remote_metadata import (
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataUpdate,
    SegmentLeaderEpoch,
)

STARTED, COPIED, DELETING, DELETED = range(4)
PLACE = {"layout": "4.0", "version": 0, "topic": "t", "topic_id": "id", "partition": 0, "unknown_tags": ()}


def segment(name, start, end, epochs=((0, None),), state=STARTED, time=0):
    return RemoteLogSegmentMetadata(
        **PLACE,
        segment_id=name,
        start_offset=start,
        end_offset=end,
        broker_id=1,
        max_timestamp_ms=0,
        event_timestamp_ms=time,
        segment_leader_epochs=tuple(
            SegmentLeaderEpoch(epoch, start if at is None else at) for epoch, at in epochs
        ),
        segment_size_in_bytes=1,
        custom_metadata=None,
        state=state,
        txn_index_empty=True,
    )


def update(name, state, time=0, custom=None):
    return RemoteLogSegmentMetadataUpdate(
        **PLACE, segment_id=name, broker_id=2, event_timestamp_ms=time, custom_metadata=custom, state=state
    )


# Put together by hand from the tables of the KIP: no release writes it

TOPIC_ID = bytes.fromhex("bb835d49f591423699fc4372c4c5cb24")
SEGMENT_ID = bytes(15) + b"\1"
SEGMENT = struct.pack(">qqiqqi iq iq ib".replace(" ", ""), 10, 19, 5, 1000, 2000, 2, 4, 10, 5, 15, 4096, 1)
STORED = SEGMENT_ID + SEGMENT
FIELDS = {
    "startOffset": 10,
    "endOffset": 19,
    "leaderEpoch": 5,
    "maxTimestamp": 1000,
    "eventTimestamp": 2000,
    "segmentLeaderEpochs": [{"leaderEpoch": 4, "offset": 10}, {"leaderEpoch": 5, "offset": 15}],
    "segmentSizeInBytes": 4096,
    "remoteLogSegmentState": 1,
}
TEXT_ID = "u4NdSfWRQjaZ_ENyxMXLJA"


def entry(kind, data, version=0):
    body = bytes((kind, version)) + data
    return bytes((len(body),)) + body


FLAT = b"\0" + struct.pack(">h", 3) + b"foo" + TOPIC_ID + b"\x54"  # the zigzag of 42 is 84
FILE = FLAT + entry(0, STORED) + entry(1, struct.pack(">iqb", 6, 2002, 1))
