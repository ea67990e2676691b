"""What the contents of records say: as columns of rows, and by the decoder classes of the tool."""

import pytest

from formats.record import Record
from formats.remote_metadata import LONGEST_VALUE
from kcli.dump.decoded_records import DecodedRecord, decode_record
from kcli.dump.render.decoders import shown_by
from tests.formats.remote_values import DELETE, SEGMENT

OFFSETS, METADATA, REMOTE = (
    "__consumer_offsets",
    "__cluster_metadata",
    "__remote_log_metadata",
)

OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000005")
OFFSET_VALUE = bytes.fromhex("0003 000000000000002a 00000007 0000 0000000000000001")
KEY = {"group": "g", "topic": "t", "partition": 5}
VALUE = {"offset": 42, "leaderEpoch": 7, "metadata": "", "commitTimestamp": 1}


def record(key: bytes | None, value: bytes | None, offset: int = 7) -> Record:
    return Record(offset, 0, 0, key, value, (), 0)


@pytest.mark.parametrize(
    ("topic", "key", "value", "name", "version", "error"),
    [
        (OFFSETS, b"\0\x63", b"\0\1", "99", 1, "unknown record type 99"),
        (OFFSETS, b"\xff\xff", None, "-1", None, "unknown record type -1"),
        (OFFSETS, OFFSET_KEY, b"\0\5", "OffsetCommit", 5, "unknown version 5 of OffsetCommit"),
        (METADATA, None, b"\1\x0d\1\0", "13", 1, "unknown record type 13"),
        (METADATA, None, b"\1\2\1\0", "TOPIC_RECORD", 1, "unknown version 1 of TOPIC_RECORD"),
        (METADATA, None, b"\0\2\1\0", None, None, "byte 0: frame version: expected 1, found 0"),
        (REMOTE, None, b"\1\x09\0\0", "9", 0, "byte 1: api key: expected 0, 1, 2 or 3, found 9"),
        (
            REMOTE,
            None,
            b"\1\2\1" + DELETE[3:],
            "RemotePartitionDeleteMetadata",
            1,
            "byte 2: message version: expected 0, found 1",
        ),
    ],
)
def test_unknown_types_and_versions_are_reported_and_are_no_damage(topic, key, value, name, version, error):
    decoded_key = KEY if key is OFFSET_KEY else None
    assert decode_record(topic, record(key, value)) == DecodedRecord(name, version, decoded_key, None, error)


@pytest.mark.parametrize(
    ("topic", "key", "value", "name", "version", "message"),
    [
        (OFFSETS, None, OFFSET_VALUE, None, 3, "__consumer_offsets key"),
        (OFFSETS, b"\0", OFFSET_VALUE, None, 3, "record type"),
        (OFFSETS, OFFSET_KEY, OFFSET_VALUE[:-1], "OffsetCommit", 3, "OffsetCommitValue"),
        (OFFSETS, OFFSET_KEY, b"\0", "OffsetCommit", None, "OffsetCommitValue version"),
        (METADATA, None, None, None, None, "null"),
        (METADATA, None, b"", None, None, "frame version"),
        (METADATA, None, b"\1", None, None, "record type"),
        (METADATA, None, b"\1\2", "TOPIC_RECORD", None, "record version"),
        (METADATA, None, b"\1\2\0", "TOPIC_RECORD", 0, "TopicRecord name"),
        (METADATA, None, b"\1\x14\0\0\0", "NO_OP_RECORD", 0, "no more bytes"),
        (REMOTE, None, None, None, None, "null value"),
        (REMOTE, None, DELETE[:-1], "RemotePartitionDeleteMetadata", 0, "tagged fields"),
        (REMOTE, None, DELETE + b"\0", "RemotePartitionDeleteMetadata", 0, "end of the value"),
    ],
)
def test_damage(
    topic: str, key: bytes | None, value: bytes | None, name: str | None, version: int | None, message: str
):
    reported = decode_record(topic, record(key, value))
    assert (reported.record_type, reported.record_version, reported.decoded_value, reported.damaged) == (
        name,
        version,
        None,
        True,
    )
    assert message in reported.error


def test_a_damaged_key_does_not_hide_the_value():
    reported = decode_record(OFFSETS, record(OFFSET_KEY[:-1], OFFSET_VALUE))
    assert reported == DecodedRecord("OffsetCommit", 3, None, VALUE, reported.error, damaged=True)
    assert "OffsetCommitKey" in reported.error


def test_what_json_does_not_show_is_reported():
    longer = decode_record(OFFSETS, record(OFFSET_KEY + b"x", OFFSET_VALUE + b"abc"))
    assert longer == DecodedRecord(
        "OffsetCommit", 3, KEY, VALUE, "bytes after OffsetCommitKey: 1; bytes after OffsetCommitValue: 3"
    )
    tags = decode_record(
        METADATA,
        record(None, b"\1\x14\0" + b"\x0a" + b"".join(bytes([number, 0]) for number in range(10, 20))),
    )
    named = ", ".join(f"NoOpRecord {number}" for number in range(10, 18))
    assert tags == DecodedRecord("NO_OP_RECORD", 0, None, {}, f"unknown tagged fields: {named} and 2 more")


def test_tagged_fields_that_come_again_are_reported():
    value = bytes.fromhex("01 17 00 02 00 02 0261 00 02 0262")
    again = "tagged fields that come again, of which the last is shown: BeginTransactionRecord 0, 1 in all"
    assert decode_record(METADATA, record(None, value)) == DecodedRecord(
        "BEGIN_TRANSACTION_RECORD", 0, None, {"name": "b"}, again
    )
    assert shown_by(METADATA, record(None, value))[0].payload.endswith('"data":{"name":"b"}}')


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        (OFFSETS, bytes.fromhex("0001 0002 61ff 0001 74 00000005"), None),
        (METADATA, None, bytes.fromhex("01 1c 00 03 61ff 00")),
        (REMOTE, None, DELETE[:4] + b"a\xffb" + DELETE[7:]),
    ],
)
def test_text_that_is_not_utf_8_is_an_error_in_rows_and_marked_in_lines(
    topic: str, key: bytes | None, value: bytes | None
):
    reported = decode_record(topic, record(key, value))
    assert (reported.decoded_key, reported.decoded_value, reported.damaged) == (None, None, True)
    assert "expected UTF-8" in reported.error
    shown, trouble = shown_by(topic, record(key, value))
    assert trouble is None
    assert "a\ufffd" in (shown.key or "") + shown.payload


def test_remote_metadata_that_kafka_refuses_is_shown_with_the_reason():
    reported = decode_record(REMOTE, record(None, DELETE[:-2] + b"\7\0"))
    assert (reported.decoded_value["remotePartitionDeleteState"], reported.error, reported.damaged) == (
        7,
        "state 7 is unknown",
        True,
    )


def test_members_of_a_consumer_group():
    subscription = bytes.fromhex("0000 00000001 0001 74 ffffffff")
    sized = len(subscription).to_bytes(4, "big") + subscription + bytes(4)
    value = b"\0\0\0\x08consumer" + bytes(4) + b"\xff\xff" * 2 + b"\0\0\0\1\0\1m\0\1c\0\1h" + bytes(4) + sized
    reported = decode_record(OFFSETS, record(b"\0\2\0\1g", value))
    (member,) = reported.decoded_value["members"]
    assert (member["subscription"], member["assignment"]) == ({"topics": ["t"], "userData": None}, "")


@pytest.mark.slow
def test_bounds_are_raised_by_the_switch():
    count = (1 << 17) + 1
    value = b"\1\x14\0" + bytes([count & 0x7F | 0x80, count >> 7 & 0x7F | 0x80, count >> 14])
    value += b"".join(bytes([0x80 | n & 0x7F, 0x80 | n >> 7 & 0x7F, n >> 14, 0]) for n in range(count))
    refused = decode_record(METADATA, record(None, value))
    assert refused.damaged
    assert refused.error.endswith("; --max-batch-bytes raises the bound")
    assert shown_by(METADATA, record(None, value))[1].endswith("; --max-batch-bytes raises the bound")
    assert decode_record(METADATA, record(None, value), 128 << 20).damaged is False
    assert shown_by(METADATA, record(None, value), 128 << 20)[1] is None

    long = SEGMENT + b"\xff\xff\x7f" + bytes((1 << 21) - 2) + b"\0\0"
    assert len(long) > LONGEST_VALUE
    assert decode_record(REMOTE, record(None, long)).error.endswith("; --max-batch-bytes raises the bound")
    assert decode_record(REMOTE, record(None, long), 256 << 20).error is None
    assert shown_by(REMOTE, record(None, long))[1].endswith("; --max-batch-bytes raises the bound")
    assert shown_by(REMOTE, record(None, long), 256 << 20)[1] is None
