"""Remote log metadata against Kafka's serde: values of 3.0 to 4.3, and with each byte flipped."""

import base64

import pytest

from formats.errors import CorruptError, FormatError, TruncatedError, UnsupportedError
from formats.messages.reader import UnknownTag
from formats.remote_metadata import (
    PARTITION_DELETE_STATES,
    SEGMENT_STATES,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
    RemotePartitionDeleteMetadata,
    SegmentLeaderEpoch,
    decode,
)
from tests.formats.remote_values import DELETE, SEGMENT, UPDATE, VALUES, as_recorded, recorded

DAMAGED = recorded("damaged-values.json.gz")
FLIPPED = recorded("flipped-values.json.gz")
CUSTOM_METADATA_SINCE = {
    "3.0.2": False,
    "3.1.2": False,
    "3.3.2": False,
    "3.5.2": False,
    "3.6.2": True,
    "3.7.2": True,
    "3.9.1": True,
    "4.3.1": True,
}

EPOCHS = "RemoteLogSegmentMetadataRecord segmentLeaderEpochs"
FOO = RemoteLogSegmentMetadata(
    layout="3.0",
    version=0,
    topic="foo",
    topic_id="u4NdSfWRQjaZ_ENyxMXLJA",
    partition=0,
    segment_id="AAAAAAAAAAAAAAAAAAAAAQ",
    start_offset=0,
    end_offset=99,
    broker_id=1,
    max_timestamp_ms=1700000000000,
    event_timestamp_ms=1700000000005,
    segment_leader_epochs=(SegmentLeaderEpoch(0, 0), SegmentLeaderEpoch(2, 50)),
    segment_size_in_bytes=1024,
    custom_metadata=None,
    state=0,
    txn_index_empty=None,
    unknown_tags=(),
)
NEW = FOO._replace(layout="3.6", txn_index_empty=False)


@pytest.mark.parametrize(
    ("tail", "record"),
    [
        ("0000", FOO),
        ("010000", NEW._replace(custom_metadata=b"")),
        ("000001000101", FOO._replace(layout="4.0", txn_index_empty=True)),
        ("000001000100", FOO._replace(layout="4.0", txn_index_empty=False)),
        ("00f700", NEW._replace(state=-9)),
        (
            "0000010102cafe",
            NEW._replace(unknown_tags=(UnknownTag("RemoteLogSegmentMetadataRecord", 1, b"\xca\xfe"),)),
        ),
    ],
)
def test_the_layout_is_known_by_the_tail(tail, record):
    value = SEGMENT + bytes.fromhex(tail)
    assert decode(value) == decode(memoryview(value)) == record


def test_an_update_that_3_0_misreads():
    record = decode(UPDATE[:-3] + bytes.fromhex("02010100"))
    assert (record.layout, record.custom_metadata, record.state) == ("3.6", b"\1", 1)


@pytest.mark.parametrize("version", VALUES)
def test_every_recorded_value(version):
    """What the class of the version that wrote it says about each value, all fields, nothing else."""
    for item in VALUES[version]:
        record = decode(base64.b64decode(item["value"]))
        answer = as_recorded(record)
        if not version.startswith("4"):
            answer.pop("txnIdxEmpty", None)
        if not CUSTOM_METADATA_SINCE[version]:
            answer.pop("customMetadata", None)
        expected = item["decoded"]
        if expected.get("segmentLeaderEpochs"):
            expected["segmentLeaderEpochs"].sort()
            answer["segmentLeaderEpochs"].sort()

        assert answer == expected
        assert record.unknown_tags == ()
        is_new = CUSTOM_METADATA_SINCE[version] and not isinstance(record, RemotePartitionDeleteMetadata)
        layout = "4.0" if expected.get("txnIdxEmpty") else "3.6" if is_new else "3.0"
        assert record.layout == layout


def test_every_class_occurs_in_the_recording():
    classes = {item["decoded"]["class"] for items in VALUES.values() for item in items}

    assert classes == {
        record.__name__
        for record in (
            RemoteLogSegmentMetadata,
            RemoteLogSegmentMetadataUpdate,
            RemotePartitionDeleteMetadata,
            RemoteLogSegmentMetadataSnapshot,
        )
    }
    assert sum(map(len, VALUES.values())) == 891


OLD_WITH_TAGS = {"update-unknown-tag", "update-txn-tag-0"}
"""The old layout with tagged fields: no release wrote any; a longer tail is read as the new layout."""

TAKEN = {"update-state-9", "update-state-negative", "state-9"}
"""Decoded here, state and all, and refused later: see `kcli.kafka.remote.unreadable`."""


@pytest.mark.parametrize("version", DAMAGED)
def test_damaged_values_fail_where_the_real_reader_fails(version):
    for item in DAMAGED[version]:
        value = base64.b64decode(item["value"])
        if item["case"] in TAKEN:
            assert decode(value).state in {9, -1}
        elif "error" not in item and CUSTOM_METADATA_SINCE[version]:
            assert (
                as_recorded(decode(value)).items()
                >= {"state": item["decoded"]["state"], "class": item["decoded"]["class"]}.items()
            )
        elif ambiguous(version, item):
            assert decode(value).layout == ("3.0" if CUSTOM_METADATA_SINCE[version] else "3.6")
        else:
            assert "error" in item or item["case"] in OLD_WITH_TAGS
            with pytest.raises(FormatError):
                decode(value)


def ambiguous(version, item):
    """Damage that makes whole values of the other layout, 3.0's or 3.6's: no reader could tell."""
    value = base64.b64decode(item["value"])
    if CUSTOM_METADATA_SINCE[version]:
        return item["case"].startswith("truncated-") and value.endswith(b"\0\0") and len(value) > 110
    return item["case"] in {"trailing-1", "update-trailing-1"}


def test_flipped_bytes_are_taken_and_refused_as_by_the_real_reader():
    """4.3.1's formatter saw these 3,705 values: the same ones decode, but those of `remote.unreadable`."""
    differences = set()
    for item in FLIPPED:
        value = base64.b64decode(item["value"])
        for at, mask, line in item["flips"]:
            flipped = bytearray(value)
            flipped[at] ^= mask
            record = outcome(bytes(flipped))
            if isinstance(record, FormatError):
                assert 0 <= record.position <= len(value)
                assert line is None
                continue
            if line is None:
                old = record.layout == "3.0" and not isinstance(record, RemotePartitionDeleteMetadata)
                state = record.state not in (
                    PARTITION_DELETE_STATES
                    if isinstance(record, RemotePartitionDeleteMetadata)
                    else SEGMENT_STATES
                )
                offsets = hasattr(record, "start_offset") and (
                    record.start_offset < 0 or record.end_offset < record.start_offset
                )
                epochs = hasattr(record, "segment_leader_epochs") and not record.segment_leader_epochs
                differences.add("refused later" if old or state or offsets or epochs else record)

    assert differences == {"refused later"}


def outcome(value):
    """The decoded record, or the error."""
    try:
        return decode(value)
    except FormatError as error:
        return error


@pytest.mark.parametrize(
    ("value", "kind", "position", "field"),
    [
        (b"", TruncatedError, 0, "frame version"),
        (b"\1", TruncatedError, 1, "api key"),
        (b"\1\0", TruncatedError, 2, "message version"),
        (b"\0" + SEGMENT[1:], UnsupportedError, 0, "frame version"),
        (b"\2" + SEGMENT[1:], UnsupportedError, 0, "frame version"),
        (b"\1\4" + SEGMENT[2:], UnsupportedError, 1, "api key"),
        (b"\1\xff\xff\1" + SEGMENT[2:], UnsupportedError, 1, "api key"),
        (b"\1\x80\x80\2" + SEGMENT[2:], CorruptError, 1, "api key"),
        (b"\1\0\1" + SEGMENT[3:], UnsupportedError, 2, "message version"),
        (b"\xff\xff\xff\xff\xff\1", CorruptError, 0, "frame version"),
        (SEGMENT[:3] + b"\0" + SEGMENT[7:], CorruptError, 3, "TopicIdPartitionEntry name"),
        (SEGMENT[:3] + b"\xff\xff\xff\xff\x0f" + SEGMENT[4:], CorruptError, 3, "TopicIdPartitionEntry name"),
        (SEGMENT[:3] + b"\x81\x80\x02" + SEGMENT[4:], CorruptError, 3, "TopicIdPartitionEntry name"),
        (SEGMENT[:3] + b"\x80\x80\x02" + SEGMENT[4:], TruncatedError, 3, "TopicIdPartitionEntry name"),
        (SEGMENT[:81] + b"\xff\xff\xff\xff\x0f" + SEGMENT[82:], CorruptError, 81, EPOCHS),
        (SEGMENT[:81] + b"\x05" + SEGMENT[82:] + b"\0\0", TruncatedError, 81, EPOCHS),
        (SEGMENT[:81] + b"\0" + SEGMENT[82:], CorruptError, 81, EPOCHS),
        (
            SEGMENT + b"\xff\xff\xff\xff\x07\0\0",
            TruncatedError,
            112,
            "RemoteLogSegmentMetadataRecord customMetadata",
        ),
        (
            SEGMENT + b"\0\0\xff\xff\xff\xff\x07",
            TruncatedError,
            114,
            "RemoteLogSegmentMetadataRecord tagged fields",
        ),
        (SEGMENT + b"\0\0\1\0\2\1\1", CorruptError, 118, "end of the value"),
        (SEGMENT + b"\0\0\0\7", CorruptError, 115, "end of the value"),
        (DELETE + b"\0", CorruptError, 42, "end of the value"),
    ],
)
def test_what_is_wrong_and_where(value, kind, position, field):
    with pytest.raises(kind) as caught:
        decode(value)

    assert type(caught.value) is kind
    assert (caught.value.position, caught.value.field) == (position, field)
