"""The judge on bytes: indexes and remote log metadata whose answers are known."""

from __future__ import annotations

import base64

import pytest

from formats import remote_metadata
from formats.magic import is_valid
from formats.record import batch_records
from tests.builders import put_record, put_records

from .oracle import Oracle, encoded

pytestmark = pytest.mark.oracle

NOW = 1_700_000_000_000


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


TOPIC_ID, SEGMENT_ID = "u4NdSfWRQjaZ_ENyxMXLJA", "AAAAAAAAAAAAAAAAAAAAAQ"
PARTITION = {"topic": "foo", "topic_id": TOPIC_ID, "partition": 0, "broker_id": 1}
SEGMENT = {
    **PARTITION,
    "type": "RemoteLogSegmentMetadata",
    "segment_id": SEGMENT_ID,
    "start_offset": 0,
    "end_offset": 99,
    "max_timestamp_ms": NOW,
    "event_timestamp_ms": NOW + 5,
    "segment_leader_epochs": [[0, 0], [2, 50]],
    "segment_size_bytes": 1024,
    "state": "COPY_SEGMENT_STARTED",
}
UPDATE = {
    **PARTITION,
    "type": "RemoteLogSegmentMetadataUpdate",
    "segment_id": SEGMENT_ID,
    "event_timestamp_ms": NOW + 6,
    "state": "COPY_SEGMENT_FINISHED",
}
DELETE = {
    **PARTITION,
    "type": "RemotePartitionDeleteMetadata",
    "event_timestamp_ms": NOW + 7,
    "state": "DELETE_PARTITION_MARKED",
}
HEAD = (
    "01000004666f6fbb835d49f591423699fc4372c4c5cb240000000000"
    "00000000000000000000000000000001000000000000000000000000"
    "0000000063000000010000018bcfe568000000018bcfe568050300"
    "00000000000000000000000000000002000000000000003200000004 00"
).replace(" ", "")
UPDATE_HEX = (
    "01010004666f6fbb835d49f591423699fc4372c4c5cb24"
    "00000000000000000000000000000000000000000100000000010000018bcfe56806000100"
)
VALUES = [
    (SEGMENT, HEAD + "000000"),
    ({**SEGMENT, "custom_metadata": encoded(b"abc")}, HEAD + "046162630000"),
    ({**SEGMENT, "txn_index_empty": True}, HEAD + "000001000101"),
    (UPDATE, UPDATE_HEX),
    (DELETE, "01020004666f6fbb835d49f591423699fc4372c4c5cb240000000000000000010000018bcfe568070000"),
]


@pytest.mark.parametrize(("event", "value"), VALUES)
def test_rlmm_values(oracle: Oracle, event, value):
    data = encoded(bytes.fromhex(value))
    assert oracle.ask("rlmm_encode", events=[event])["values"] == [data]
    decoded = oracle.ask("rlmm_decode", values=[data], partition=3, offset=17)["values"][0]
    assert decoded.items() >= event.items()
    assert decoded["text"].startswith(f"partition: 3, offset: 17, value: {event['type']}{{")
    assert decoded["text"].endswith("}\n")


def test_a_name_that_is_not_utf_8_is_read_with_replacements(oracle: Oracle):
    value = bytes.fromhex(HEAD + "000000").replace(b"foo", b"f\xff\xc3")
    (decoded,) = oracle.ask("rlmm_decode", values=[encoded(value)])["values"]
    assert decoded["topic"] == remote_metadata.decode(value).topic == "f\ufffd\ufffd"


def test_rlmm_bad_values(oracle: Oracle):
    old = bytes.fromhex(HEAD + "0000")  # as 3.0 to 3.5 wrote it
    values = [
        encoded(value) for value in (b"\0" + old[1:], b"\x02" + old[1:], b"\1\x09\0", old + b"\0\0", old)
    ]
    classes = [answer.get("error") for answer in oracle.ask("rlmm_decode", values=values)["values"]]
    assert all(classes)
    assert classes[:2] == ["MetadataParseException"] * 2


def test_rlmm_cache(oracle: Oracle):
    ask = {"epochs": [0, 1, 2], "lookups": [[0, 0], [0, 49], [0, 50], [2, 50], [2, 99], [2, 100], [1, 0]]}
    started = oracle.ask("rlmm_cache", events=[SEGMENT], **ask)
    assert started["applied"] == [None]
    assert [len(segments) for segments in started["list"]] == [1, 0, 1]
    assert started["highest_offset_for_epoch"] == [None, None, None]
    assert started["lookups"] == [None] * 7
    finished = oracle.ask("rlmm_cache", events=[SEGMENT, UPDATE], **ask)
    assert finished["highest_offset_for_epoch"] == [49, None, 99]
    assert finished["lookups"] == [SEGMENT_ID, SEGMENT_ID, None, SEGMENT_ID, SEGMENT_ID, None, None]
    gone = [{**UPDATE, "state": state} for state in ("DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")]
    deleted = oracle.ask("rlmm_cache", events=[SEGMENT, UPDATE, *gone], **ask)
    assert deleted["list_all"] == []
    assert deleted["highest_offset_for_epoch"] == [49, None, 99]
    unknown = oracle.ask("rlmm_cache", events=[UPDATE, {**SEGMENT, "state": "COPY_SEGMENT_FINISHED"}])
    assert [answer["error"] for answer in unknown["applied"]] == [
        "RemoteResourceNotFoundException",
        "IllegalArgumentException",
    ]
    assert oracle.ask("rlmm_cache", events=[UPDATE], initialized=False)["applied"] == [None]


def test_a_magic_above_2_is_read_as_2(oracle: Oracle):
    batch = put_records(
        [put_record(key=b"k", value=b"v"), put_record(offset_delta=1, headers=[(b"h", None)])]
    )
    expected = [(r.offset, r.timestamp, r.key, r.value) for r in batch_records(batch, 1 << 20)]
    for magic in (2, 3, 127):
        changed = batch[:16] + bytes([magic]) + batch[17:]
        answer = oracle.ask("records", bytes=encoded(changed))
        (said,) = answer["batches"]
        assert (answer["end"], said["magic"], said["is_valid"]) == (None, magic, is_valid(changed))
        records = [
            (r["offset"], r["timestamp"], decoded(r["key"]), decoded(r["value"])) for r in said["records"]
        ]
        read = [(r.offset, r.timestamp, r.key, r.value) for r in batch_records(changed, 1 << 20)]
        assert records == read == expected
