"""Fields of batches, and of keys and values of control records and internal topics."""

import json

import pytest

from formats.messages.decode import SCHEMAS, Message
from kcli.dump.decoded_records import Contents
from tests.formats.messages.kafka import made_of_each_version, small


def leaves(fields, values):
    """Yield (name, value) of the fields with bytes of their own, in declared order, not of tagged ones."""
    for field in fields:
        if field.name not in values or field.tag is not None:
            continue
        value = values[field.name]
        if field.struct is None:
            yield field.name, value
        else:
            for struct in value or [] if field.array else [] if value is None else [value]:
                yield from leaves(field.struct, struct)


@pytest.mark.parametrize("messages", made_of_each_version().values(), ids=made_of_each_version())
def test_messages_by_kafka(messages):
    for message in messages:
        parts = []
        found = message.decode(spans=parts)
        assert isinstance(found, Message)
        schema = SCHEMAS[found.name]
        end = 0
        for part in parts:
            assert part.start == end
            end = part.end
        assert end == len(message.data)
        names = {field.name for field in plain_fields(schema.fields)}
        reported = sorted(
            repr((part.field, part.value)) for part in parts[framed(message) :] if part.field in names
        )
        assert reported == sorted(map(repr, leaves(schema.fields, found.fields)))
        tagged = {field.name for field in schema.fields if field.tag is not None and field.struct is None}
        values = {part.field: part.value for part in parts if part.field in tagged}
        assert values == {name: found.fields[name] for name in values}
        json.dumps([part.value for part in parts], default=bytes.hex)


@pytest.mark.slow
@pytest.mark.parametrize("message", small(), ids=lambda message: f"{message.name}-{message.version}")
def test_damaged_messages_are_reported_up_to_the_damage(message):
    whole = []
    message.decode(spans=whole)
    for size in range(len(message.data)):
        contents = Contents(message.topic)
        if message.framing == "value":
            contents.type = SCHEMAS[message.name].api_key
        split = contents.split("key" if message.framing == "key" else "value", message.data[:size])
        assert split[1] is not None
        end = 0
        for part in split[0]:
            assert part.start == end
            end = part.end
        assert end <= size
        reported = [repr(part) for part in split[0] if part.field != "frame"]  # as text: NaN is not NaN
        assert (
            reported == [repr(part) for part in whole[framed(message) :] if part.end <= end][: len(reported)]
        )
        assert not reported or split[0][0].field == "frame"


def framed(message):
    return 3 if message.framing == "metadata" else 1


def plain_fields(fields):
    for field in fields:
        if field.tag is None:
            yield field
            yield from plain_fields(field.struct or ())


METADATA = "__cluster_metadata"
OFFSET_KEY = bytes.fromhex("000100016700017400000005")
OFFSET_VALUE = "0003000000000000002a0000000700000000000000000001"
OFFSET = [("version", 3), ("offset", 42), ("leaderEpoch", 7), ("metadata", ""), ("commitTimestamp", 1)]
DELETE = "01020004666f6fbb835d49f591423699fc4372c4c5cb240000000000000000010000018bcfe568070000"
FRAME = [("frame version", 1), ("record type", 23), ("record version", 0)]
SPLIT = {
    "remote log metadata": (
        "__remote_log_metadata",
        None,
        DELETE,
        [
            ("frame version", 1),
            ("record type", 2),
            ("record version", 0),
            ("name", "foo"),
            ("id", "u4NdSfWRQjaZ_ENyxMXLJA"),
            ("partition", 0),
            ("tagged fields: count", 0),
            ("brokerId", 1),
            ("eventTimestampMs", 1700000000007),
            ("remotePartitionDeleteState", 0),
            ("tagged fields: count", 0),
        ],
    ),
    "a tagged field and one that no version has": (
        METADATA,
        None,
        "011700020003036162050163",
        [
            *FRAME,
            ("tagged fields: count", 2),
            ("tagged fields: tag 0 and size", "tag 0, 3 bytes"),
            ("name", "ab"),
            ("tagged fields: tag 5 and size", "tag 5, 1 bytes"),
            ("tagged fields: tag 5", b"c"),
        ],
    ),
    "tags in any order, twice, of any size": (
        METADATA,
        None,
        "01170003 050163 007f0261 0000036162",
        [
            *FRAME,
            ("tagged fields: count", 3),
            ("tagged fields: tag 5 and size", "tag 5, 1 bytes"),
            ("tagged fields: tag 5", b"c"),
            ("tagged fields: tag 0 and size", "tag 0, 127 bytes"),
            ("name", "a"),
            ("tagged fields: tag 0 and size", "tag 0, 0 bytes"),
            ("name", "ab"),
        ],
    ),
    "a frame of longer numbers": (
        METADATA,
        None,
        "8180808008 9400 8000 00",
        [("frame version", 1), ("record type", 20), ("record version", 0), ("tagged fields: count", 0)],
    ),
    "a value, by its key": ("__consumer_offsets", 1, OFFSET_VALUE, OFFSET),
}


def fields(spans):
    return [(span.field, span.value) for span in spans]


@pytest.mark.parametrize(("topic", "kind", "data", "expected"), SPLIT.values(), ids=SPLIT)
def test_fields_of_a_value(topic, kind, data, expected):
    contents = Contents(topic)
    contents.type = kind
    spans, error = contents.split("value", bytes.fromhex(data))
    assert (fields(spans), error) == (expected, None)


def test_a_damaged_tag():
    spans, error = Contents(METADATA).split("value", bytes.fromhex("01170001000403"))
    assert fields(spans) == [
        ("frame", b"\1\x17\0"),
        ("tagged fields: count", 1),
        ("tagged fields: tag 0 and size", "tag 0, 4 bytes"),
    ]
    assert type(error).__name__ == "TruncatedError"


def test_lengths_below_0_are_null():
    change = bytes.fromhex("01050000000000" + "00" * 16 + "010000" + "ffffffff0f")
    assert fields(Contents(METADATA).split("value", change)[0])[-1] == ("isr", None)
    contents = Contents("__consumer_offsets")
    contents.type = 5
    member = contents.split("value", bytes.fromhex("0000 00 00 01 01 01 00 00000000 00 01 00 05 8080808008"))
    assert fields(member[0])[-2:] == [
        ("tagged fields: tag 0 and size", "tag 0, 5 bytes"),
        ("classicMemberMetadata: null or not", "null"),
    ]


def test_the_key_says_what_the_value_is_though_it_is_damaged():
    contents = Contents("__consumer_offsets")
    assert contents.split("value", bytes.fromhex(OFFSET_VALUE)) is None
    spans, error = contents.split("key", OFFSET_KEY)
    assert fields(spans) == [("record type", 1), ("group", "g"), ("topic", "t"), ("partition", 5)]
    assert (error, contents.type) == (None, 1)
    contents.type = None
    spans, error = contents.split("key", OFFSET_KEY[:6] + b"\5")
    assert fields(spans) == [("frame", b"\0\1"), ("group", "g")]
    assert (type(error).__name__, contents.type) == ("TruncatedError", 1)


def test_what_is_not_declared_stays_whole():
    ((span,), error) = Contents("__transaction_state").split("key", b"\0\x09any")
    assert (span.structure, span.field, span.value, error) == ("type 9", "key", b"\0\x09any", None)
    assert Contents("orders").split("key", b"\0\0") is None
    assert Contents(None).split("value", b"\0\0") is None


def test_control_records():
    contents = Contents(None, control=True)
    assert fields(contents.split("key", b"\0\0\0\1")[0]) == [("version", 0), ("type", 1)]
    assert fields(contents.split("value", b"\0\0\0\0\0\7")[0]) == [("version", 0), ("coordinatorEpoch", 7)]
    for field, data in (("value", b"\0\0\0"), ("key", b"\0")):
        spans, error = contents.split(field, data)
        assert (spans, type(error).__name__) == ([], "TruncatedError")
