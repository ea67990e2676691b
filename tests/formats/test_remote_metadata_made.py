"""Remote log metadata of segments as flexible versions may write it, unknown tagged fields and all."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.messages.collector import UnknownTag
from formats.remote_metadata import RemoteLogSegmentMetadata, SegmentLeaderEpoch, decode
from tests.seeds import examples

pytestmark = pytest.mark.slow


def uvarint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def compact(data):
    return uvarint(0) if data is None else uvarint(len(data) + 1) + data


def tags(fields):
    return uvarint(len(fields)) + b"".join(
        uvarint(tag) + uvarint(len(data)) + data for tag, data in sorted(fields.items())
    )


INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
UNKNOWN = st.dictionaries(st.integers(1, 300), st.binary(max_size=5), max_size=2)


@examples(150)
@given(
    st.text(min_size=1, max_size=20),
    st.binary(min_size=16, max_size=16),
    INT32,
    st.binary(min_size=16, max_size=16),
    st.tuples(INT64, INT64, INT32, INT64, INT64),
    st.lists(st.tuples(INT32, INT64, UNKNOWN), max_size=4),
    INT32,
    st.none() | st.binary(max_size=300),
    st.integers(-128, 127),
    st.none() | st.booleans(),
    UNKNOWN,
    UNKNOWN,
    UNKNOWN,
)
def test_round_trip(
    topic,
    topic_id,
    partition,
    segment_id,
    body,
    epochs,
    size,
    custom,
    state,
    empty,
    in_topic,
    in_segment,
    in_record,
):
    def i32(n):
        return n.to_bytes(4, "big", signed=True)

    def i64(n):
        return n.to_bytes(8, "big", signed=True)

    start, end, broker, max_timestamp, event_timestamp = body
    own = in_record if empty is None else {**in_record, 0: bytes([empty])}
    value = b"".join(
        [
            b"\1\0\0",
            compact(topic.encode()),
            topic_id,
            i32(partition),
            tags(in_topic),
            segment_id,
            tags(in_segment),
            i64(start),
            i64(end),
            i32(broker),
            i64(max_timestamp),
            i64(event_timestamp),
            uvarint(len(epochs) + 1),
            *(i32(epoch) + i64(offset) + tags(unknown) for epoch, offset, unknown in epochs),
            i32(size),
            compact(custom),
            state.to_bytes(1, "big", signed=True),
            tags(own),
        ]
    )

    record = decode(value)

    assert record == RemoteLogSegmentMetadata(
        "3.6" if empty is None else "4.0",
        0,
        topic,
        base64.urlsafe_b64encode(topic_id).decode()[:22],
        partition,
        base64.urlsafe_b64encode(segment_id).decode()[:22],
        *body,
        tuple(SegmentLeaderEpoch(epoch, offset) for epoch, offset, _ in epochs),
        size,
        custom,
        state,
        bool(empty),
        tuple(
            UnknownTag(where, tag, data)
            for where, fields in [
                ("TopicIdPartitionEntry", in_topic),
                ("RemoteLogSegmentIdEntry", in_segment),
                *(("SegmentLeaderEpochEntry", unknown) for _, _, unknown in epochs),
                ("RemoteLogSegmentMetadataRecord", in_record),
            ]
            for tag, data in sorted(fields.items())
        ),
    )
