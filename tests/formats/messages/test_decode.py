"""Records of the internal topics against Kafka's own classes, envelopes, damage."""

import tracemalloc

import pytest

from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from formats.layout import FieldSpan
from formats.messages import control, remote
from formats.messages.converter import json_text
from formats.messages.decode import (
    SCHEMAS,
    Message,
    Unknown,
    decode_key,
    decode_value,
    message_json,
)
from formats.messages.metadata import decode_metadata
from formats.messages.reader import ELEMENTS_MAX, UnknownTag
from formats.names import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

from .kafka import Made, made, made_of_each_version

pytestmark = pytest.mark.slow

OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000005")
OFFSET_VALUE = bytes.fromhex("0003 000000000000002a 00000007 0000 0000000000000001")


def decode_record(topic, key, value):
    """Return key and value of a record, decoded."""
    if topic == CLUSTER_METADATA:
        return None, decode_metadata(value)
    found = decode_key(topic, key)
    return found, None if value is None else decode_value(topic, found.api_key, value)


def test_every_version_of_every_message_is_in_the_data():
    """But for those of earlier and later releases, and those of test_{remote,control}."""
    schemas = {
        name: schema
        for name, schema in SCHEMAS.items()
        if name not in remote.REMOTE_SCHEMAS and name not in control.CONTROL_SCHEMAS
    }
    declared = {
        (name, version) for name, schema in schemas.items() for version in range(schema.versions.highest + 1)
    }
    of_others = {("AccessControlRecord", 0), ("UnregisterControllerRecord", 0)}
    assert declared - {(message.name, message.version) for message in made()} == of_others


@pytest.mark.parametrize("messages", made_of_each_version().values(), ids=made_of_each_version())
def test_decoded_as_kafkas_converter_writes_it(messages: list[Made]):
    for message in messages:
        found = message.decode()
        assert isinstance(found, Message)
        assert (found.name, found.version, found.tail) == (message.name, message.version, b"")
        assert json_text(message_json(found)) == message.json
        assert sorted(found.unknown_tags) == sorted(UnknownTag(*tag) for tag in message.unknown_tags)


def test_key_and_value():
    key, value = decode_record(CONSUMER_OFFSETS, OFFSET_KEY, OFFSET_VALUE)
    assert key == Message("OffsetCommitKey", 1, 0, {"group": "g", "topic": "t", "partition": 5}, (), b"")
    fields = {"offset": 42, "leaderEpoch": 7, "metadata": "", "commitTimestamp": 1}
    assert value == Message("OffsetCommitValue", 1, 3, fields, (), b"")


def test_a_buffer_that_is_not_bytes():
    assert decode_record(CONSUMER_OFFSETS, memoryview(OFFSET_KEY), bytearray(OFFSET_VALUE)) == decode_record(
        CONSUMER_OFFSETS, OFFSET_KEY, OFFSET_VALUE
    )


def test_tombstone_and_null_key():
    assert decode_record(CONSUMER_OFFSETS, OFFSET_KEY, None)[1] is None
    with pytest.raises(CorruptError):
        decode_key(CONSUMER_OFFSETS, None)
    with pytest.raises(CorruptError):
        decode_metadata(None)


def test_bytes_after_a_message():
    """Kafka does not look at them after a coordinator's record, and refuses a metadata record."""
    assert decode_key(CONSUMER_OFFSETS, OFFSET_KEY + b"x").tail == b"x"
    with pytest.raises(CorruptError) as raised:
        decode_metadata(bytes.fromhex("01 14 00 00 ff"))
    assert raised.value.position == 4


@pytest.mark.parametrize(
    ("topic", "key", "value", "expected"),
    [
        (
            CONSUMER_OFFSETS,
            "0009 0001 67",
            "0000 00",
            (Unknown(9, None, bytes.fromhex("0009000167")), Unknown(9, 0, bytes(3))),
        ),
        (CONSUMER_OFFSETS, "ffff", "07", (Unknown(-1, None, b"\xff\xff"), Unknown(-1, None, b"\x07"))),
        (TRANSACTION_STATE, "0001 0000", None, (Unknown(1, None, bytes.fromhex("00010000")), None)),
        (SHARE_GROUP_STATE, "0002", "0001", (Unknown(2, None, b"\0\2"), Unknown(2, 1, b"\0\1"))),
        (CLUSTER_METADATA, None, "01 0d 00 01", (None, Unknown(13, 0, b"\1\x0d\0\1"))),
        (CLUSTER_METADATA, None, "01 02 01 01", (None, Unknown(2, 1, b"\1\2\1\1"))),
        (CLUSTER_METADATA, None, "01 ac02 8101 00", (None, Unknown(300, 129, bytes.fromhex("01ac02810100")))),
    ],
)
def test_unknown_type_or_version(
    topic: str, key: str | None, value: str | None, expected: tuple[Unknown | None, Unknown | None]
):
    given_key, given_value = (None if text is None else bytes.fromhex(text) for text in (key, value))
    assert decode_record(topic, given_key, given_value) == expected


def test_unknown_version_of_a_known_value():
    data = b"\0\5" + OFFSET_VALUE[2:]
    assert decode_value(CONSUMER_OFFSETS, 1, data) == Unknown(1, 5, data)
    assert decode_value(CONSUMER_OFFSETS, 1, b"\xff\xff") == Unknown(1, -1, b"\xff\xff")
    with pytest.raises(TruncatedError):
        decode_value(CONSUMER_OFFSETS, 1, b"\0")


def test_frame_version():
    with pytest.raises(UnsupportedError):
        decode_metadata(b"\0\2\0")


TARGETS = "ConsumerGroupTargetAssignmentMemberValue topicPartitions"
GROUP_TAGS = "ConsumerGroupMetadataValue tagged fields"
PROTOCOL_TYPE = "GroupMetadataValue protocolType"


@pytest.mark.parametrize(
    ("api_key", "data", "error", "field"),
    [
        (7, "0000 ffffffff0f", CorruptError, TARGETS),
        (7, "0000 8080808008", TruncatedError, TARGETS),
        (7, "0000 ffffffff07", TruncatedError, TARGETS),
        (7, "0000 00 00", CorruptError, TARGETS),
        (2, "0000 7fff 61", TruncatedError, PROTOCOL_TYPE),
        (2, "0000 ffff", CorruptError, PROTOCOL_TYPE),
        (3, "0000 00000000 01 00 07" + "00" * 7, TruncatedError, "ConsumerGroupMetadataValue metadataHash"),
        (3, "0000 00000000 02 01 00 01 01", TruncatedError, GROUP_TAGS),
        (3, "0000 00000000 01 05 7f", TruncatedError, GROUP_TAGS),
        (3, "0000 00000000 ffffffff07", TruncatedError, GROUP_TAGS),
        (3, "0000 00000000 ffffffff0f", CorruptError, GROUP_TAGS),
    ],
)
def test_hostile_lengths(api_key: int, data: str, error: type[FormatError], field: str):
    with pytest.raises(error) as raised:
        decode_value(CONSUMER_OFFSETS, api_key, bytes.fromhex(data))
    assert raised.value.field == field


HASH = "0000 00000000"
"""A ConsumerGroupMetadataValue up to its tags, of which 0 is metadataHash, an int64."""


@pytest.mark.parametrize(
    ("tags", "value", "unknown", "replaced"),
    [
        ("02 070161 00 08 0000000000000005", 5, [(7, b"a")], []),
        ("03 00 08 0000000000000005 07 00 00 08 0000000000000006", 6, [(7, b"")], [(0, b"\0" * 7 + b"\5")]),
        ("03 07 0161 07 00 07 0162", 0, [(7, b"a"), (7, b""), (7, b"b")], []),
        ("01 00 ffffffff0f 0000000000000005", 5, [], []),
        ("02 00 00 0000000000000005 07 0161", 5, [(7, b"a")], []),
    ],
)
def test_tags_as_kafka_takes_them(
    tags: str, value: int, unknown: list[tuple[int, bytes]], replaced: list[tuple[int, bytes]]
):
    """In any order, twice, of any size if they are known."""
    data = bytes.fromhex(HASH + tags)
    places: list[FieldSpan] = []
    found = decode_value(CONSUMER_OFFSETS, 3, data, spans=places)
    assert (found.fields["metadataHash"], found.tail) == (value, b"")
    assert found.unknown_tags == tuple(UnknownTag(found.name, *tag) for tag in unknown)
    assert found.replaced == tuple(UnknownTag(found.name, *tag) for tag in replaced)
    assert [span.start for span in places] == [0, *(span.end for span in places[:-1])]
    assert places[-1].end == len(data)


def test_a_tag_of_another_version():
    """Kafka refuses it too: log dirs are of version 3 on."""
    record = next(
        message
        for message in made()
        if (message.name, message.version) == ("RegisterBrokerRecord", 3) and "logDirs" in message.json
    )
    older = record.data[:2] + b"\2" + record.data[3:]
    with pytest.raises(CorruptError, match="a tag of this version"):
        decode_metadata(older)


def test_a_string_longer_than_kafka_takes():
    text = b"a" * 0x8000
    with pytest.raises(CorruptError):
        decode_metadata(b"\1\x0c\0" + b"\x81\x80\x02" + text + b"\0\1\0")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("api_key", "element", "most"), [(16, b"\1", ELEMENTS_MAX), (7, bytes(16) + b"\1\0", ELEMENTS_MAX // 8)]
)
def test_elements_are_bounded(api_key: int, element: bytes, most: int):
    def value(count: int) -> bytes:
        marked = count + 1
        varint = bytes([marked & 0x7F | 0x80, marked >> 7 & 0x7F | 0x80, marked >> 14])
        return b"\0\0" + varint + element * count + bytes(17 if api_key == 16 else 1)

    part = 16  # tracing is slow
    data = value(most // part)
    tracemalloc.start()
    try:
        assert isinstance(decode_value(CONSUMER_OFFSETS, api_key, data), Message)
        assert tracemalloc.get_traced_memory()[1] * part < 64 << 20
    finally:
        tracemalloc.stop()
    with pytest.raises(LimitError):
        decode_value(CONSUMER_OFFSETS, api_key, value(most + 1))


def test_tagged_fields_are_bounded():
    count = ELEMENTS_MAX // 8 + 1
    with pytest.raises(LimitError):
        decode_metadata(
            b"\1\x14\0"
            + bytes([count & 0x7F | 0x80, count >> 7 & 0x7F | 0x80, count >> 14])
            + bytes(2 * count)
        )


def test_defaults_are_not_shared():
    data = bytes.fromhex("0000 0000000000000000 00 02") + bytes(16) + bytes.fromhex("01 00 01 00")
    first, second = decode_value(CONSUMER_OFFSETS, 8, data), decode_value(CONSUMER_OFFSETS, 8, data)
    first.fields["assignedPartitions"][0]["assignmentEpochs"].append(1)
    assert second.fields["assignedPartitions"][0]["assignmentEpochs"] == []


def test_spans():
    of_key: list[FieldSpan] = []
    decode_key(CONSUMER_OFFSETS, OFFSET_KEY, spans=of_key)
    name = "OffsetCommitKey"
    assert [span[:4] for span in of_key] == [
        (name, "record type", 0, 2),
        (name, "group", 2, 5),
        (name, "topic", 5, 8),
        (name, "partition", 8, 12),
    ]
    data = bytes.fromhex("01 17 00 01 00 02 02 61")
    of_value: list[FieldSpan] = []
    begin = decode_metadata(data, spans=of_value)
    assert begin.fields == {"name": "a"}
    assert [(span.field, span.start, span.end) for span in of_value] == [
        ("frame version", 0, 1),
        ("record type", 1, 2),
        ("record version", 2, 3),
        ("tagged fields: count", 3, 4),
        ("tagged fields: tag 0 and size", 4, 6),
        ("name", 6, 8),
    ]
