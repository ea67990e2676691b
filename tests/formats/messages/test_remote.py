"""Remote log metadata as declared messages: fields, layouts, JSON, places in the bytes."""

import base64
from functools import partial

import pytest

from formats.errors import FormatError
from formats.layout import FieldSpan
from formats.messages.decode import decode_remote, message_json
from formats.messages.remote import LAYOUTS
from formats.remote_metadata import RemoteLogMetadata, decode
from tests.builders import attempt
from tests.formats.remote_values import DELETE, recorded
from tests.formats.remote_values import VALUES as EVENTS

VALUES = [base64.b64decode(item["value"]) for items in EVENTS.values() for item in items]
FLIPPED = [
    (base64.b64decode(item["value"]), at, mask)
    for item in recorded("flipped-values.json.gz")
    for at, mask, _ in item["flips"]
]

COLUMNS = {
    "name": "topic",
    "startOffset": "start_offset",
    "endOffset": "end_offset",
    "brokerId": "broker_id",
    "maxTimestampMs": "max_timestamp_ms",
    "eventTimestampMs": "event_timestamp_ms",
    "segmentSizeInBytes": "segment_size_in_bytes",
    "customMetadata": "custom_metadata",
    "remoteLogSegmentState": "state",
    "remotePartitionDeleteState": "state",
    "txnIndexEmpty": "txn_index_empty",
    "partition": "partition",
    "segmentId": "segment_id",
}


def flat(fields: dict, inside: str = "") -> dict[str, object]:
    """A message's fields by the names of the record's columns."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        if name == "segmentLeaderEpochs":
            found["segment_leader_epochs"] = [(entry["leaderEpoch"], entry["offset"]) for entry in value]
        elif isinstance(value, dict):
            found |= flat(value, name)
        elif name == "id":
            found["topic_id" if inside == "topicIdPartition" else "segment_id"] = value
        else:
            found[COLUMNS[name]] = value
    return found


def columns_of(record: RemoteLogMetadata) -> dict[str, object]:
    columns = record._asdict()
    for name in ("layout", "version", "unknown_tags"):
        del columns[name]
    if "segment_leader_epochs" in columns:
        columns["segment_leader_epochs"] = [tuple(entry) for entry in columns["segment_leader_epochs"]]
    if record.layout == "3.0":
        columns.pop("custom_metadata", None)
    if record.layout != "4.0":
        columns.pop("txn_index_empty", None)
    return columns


def test_the_row_holds_what_the_fields_say():
    for value in VALUES:
        record = decode(value)
        message = decode_remote(value)
        assert message.name == type(record).__name__ + "Record"
        assert (message.tail, message.unknown_tags) == (b"", ())
        assert LAYOUTS[message.version] == record.layout
        assert flat(message.fields) == columns_of(record)


def test_damaged_values_are_read_or_refused_as_the_row():
    read = 0
    for value, at, mask in FLIPPED:
        flipped = bytearray(value)
        flipped[at] ^= mask
        record = attempt(decode, bytes(flipped))
        message = attempt(partial(decode_remote, replace_invalid_utf8=True), bytes(flipped))
        if isinstance(record, FormatError):
            assert (type(message), message.args) == (type(record), record.args)
            continue
        assert flat(message.fields) == columns_of(record)
        assert message.unknown_tags == record.unknown_tags
        read += 1
    assert 1000 < read < len(FLIPPED)


def test_json_of_each_layout():
    by_layout = {decode(value).layout: value for value in VALUES if value[1] == 0}
    names = {layout: list(message_json(decode_remote(value)))[8:] for layout, value in by_layout.items()}
    assert names == {
        "3.0": ["remoteLogSegmentState"],
        "3.6": ["customMetadata", "remoteLogSegmentState"],
        "4.0": ["customMetadata", "remoteLogSegmentState", "txnIndexEmpty"],
    }


@pytest.mark.parametrize("value", VALUES[:: len(VALUES) // 40], ids=len)
def test_spans_cover_every_byte(value: bytes):
    found: list[FieldSpan] = []
    decode_remote(value, spans=found)
    assert [span.start for span in found] == [0, *(span.end for span in found[:-1])]
    assert found[-1].end == len(value)


def test_spans_name_the_fields():
    name, place = "RemotePartitionDeleteMetadataRecord", "TopicIdPartitionEntry"
    found: list[FieldSpan] = []
    decode_remote(DELETE, spans=found)
    assert [span[:4] for span in found] == [
        (name, "frame version", 0, 1),
        (name, "record type", 1, 2),
        (name, "record version", 2, 3),
        (place, "name", 3, 7),
        (place, "id", 7, 23),
        (place, "partition", 23, 27),
        (place, "tagged fields: count", 27, 28),
        (name, "brokerId", 28, 32),
        (name, "eventTimestampMs", 32, 40),
        (name, "remotePartitionDeleteState", 40, 41),
        (name, "tagged fields: count", 41, 42),
    ]
