"""Fields of batches, and of keys and values of control records and internal topics."""

import json

import pytest

from formats.messages.decode import SCHEMAS, Message, decode_remote
from kcli.dump.decoded_records import Contents
from kcli.dump.render.layout import attributes_text
from tests.formats.messages.kafka import made_of_each_version, small


def leaves(fields, values):
    """Yield (name, value) of the fields that have bytes of their own, in declared order.

    Not of tagged ones.
    """
    for field in fields:
        if field.name not in values or field.tag is not None:
            continue
        value = values[field.name]
        if field.struct is None:
            yield field.name, value
        else:
            for one in value or [] if field.array else [] if value is None else [value]:
                yield from leaves(field.struct, one)


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


DELETE = bytes.fromhex("01020004666f6fbb835d49f591423699fc4372c4c5cb240000000000000000010000018bcfe568070000")


def test_a_value_of_remote_log_metadata():
    parts = []
    decode_remote(DELETE, spans=parts)
    assert [(part.field, part.value) for part in parts] == [
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
    ]


def test_a_tagged_field_and_one_that_no_version_has():
    data = bytes.fromhex("01170001000403")
    (split,) = [Contents("__cluster_metadata").split("value", bytes.fromhex("011700020003036162050163"))]
    assert split[1] is None
    assert [(part.field, part.value) for part in split[0][3:]] == [
        ("tagged fields: count", 2),
        ("tagged fields: tag 0 and size", "tag 0, 3 bytes"),
        ("name", "ab"),
        ("tagged fields: tag 5 and size", "tag 5, 1 bytes"),
        ("tagged fields: tag 5", b"c"),
    ]
    damaged = Contents("__cluster_metadata").split("value", data)
    assert [(part.field, part.value) for part in damaged[0]] == [
        ("frame", b"\1\x17\0"),
        ("tagged fields: count", 1),
        ("tagged fields: tag 0 and size", "tag 0, 4 bytes"),
    ]
    assert type(damaged[1]).__name__ == "TruncatedError"


def test_tags_as_kafka_takes_them():
    """In any order, twice, of any size; of a count below 0 none."""
    split = Contents("__cluster_metadata").split(
        "value", bytes.fromhex("01170003 050163 007f026 1 0000036162".replace(" ", ""))
    )
    assert split[1] is None
    assert [(part.field, part.value) for part in split[0][3:]] == [
        ("tagged fields: count", 3),
        ("tagged fields: tag 5 and size", "tag 5, 1 bytes"),
        ("tagged fields: tag 5", b"c"),
        ("tagged fields: tag 0 and size", "tag 0, 127 bytes"),
        ("name", "a"),
        ("tagged fields: tag 0 and size", "tag 0, 0 bytes"),
        ("name", "ab"),
    ]
    none = Contents("__cluster_metadata").split("value", bytes.fromhex("011700ffffffff0f"))
    assert [(part.field, part.value) for part in none[0][3:]] == [("tagged fields: count", -1)]


def test_a_frame_of_longer_numbers():
    parts = Contents("__cluster_metadata").split("value", bytes.fromhex("8180808008 9400 8000 00"))[0]
    assert [part.value for part in parts] == [1, 20, 0, 0]


def test_lengths_below_0_are_null():
    change = bytes.fromhex("01050000000000" + "00" * 16 + "010000" + "ffffffff0f")
    parts = Contents("__cluster_metadata").split("value", change)[0]
    assert (parts[-1].field, parts[-1].value) == ("isr", None)
    contents = Contents("__consumer_offsets")
    contents.type = 5
    member = contents.split(
        "value", bytes.fromhex("0000 00 00 01 01 01 00 00000000 00 01 00 05 8080808008".replace(" ", ""))
    )
    assert [(part.field, part.value) for part in member[0][-2:]] == [
        ("tagged fields: tag 0 and size", "tag 0, 5 bytes"),
        ("classicMemberMetadata: null or not", "null"),
    ]


def test_the_key_says_what_the_value_is():
    contents = Contents("__consumer_offsets")
    key = bytes.fromhex("000100016700017400000005")
    value = bytes.fromhex("0003000000000000002a0000000700000000000000000001")
    contents.type = None
    assert [(part.field, part.value) for part in contents.split("key", key)[0]] == [
        ("record type", 1),
        ("group", "g"),
        ("topic", "t"),
        ("partition", 5),
    ]
    assert [(part.field, part.value) for part in contents.split("value", value)[0]] == [
        ("version", 3),
        ("offset", 42),
        ("leaderEpoch", 7),
        ("metadata", ""),
        ("commitTimestamp", 1),
    ]
    contents.type = None
    assert contents.split("value", value) is None


def test_a_damaged_key_still_says_what_the_value_is():
    contents = Contents("__consumer_offsets")
    contents.type = None
    key = contents.split("key", bytes.fromhex("00010001670005"))
    assert [(part.field, part.value) for part in key[0]] == [("frame", b"\0\1"), ("group", "g")]
    assert type(key[1]).__name__ == "TruncatedError"
    assert (
        contents.split("value", bytes.fromhex("0003000000000000002a0000000700000000000000000001"))[0][1].value
        == 42
    )


def test_what_is_not_declared_stays_whole():
    contents = Contents("__transaction_state")
    contents.type = None
    key = contents.split("key", b"\0\x09any")
    assert [(part.structure, part.field, part.value) for part in key[0]] == [("type 9", "key", b"\0\x09any")]
    assert Contents("orders").split("key", b"\0\0") is None
    assert Contents(None).split("value", b"\0\0") is None


def test_control_records():
    contents = Contents(None, control=True)
    assert [(part.field, part.value) for part in contents.split("key", b"\0\0\0\1")[0]] == [
        ("version", 0),
        ("type", 1),
    ]
    assert [(part.field, part.value) for part in contents.split("value", b"\0\0\0\0\0\7")[0]] == [
        ("version", 0),
        ("coordinatorEpoch", 7),
    ]
    short = contents.split("value", b"\0\0\0")
    assert (short[0], type(short[1]).__name__) == ([], "TruncatedError")
    assert type(contents.split("key", b"\0")[1]).__name__ == "TruncatedError"


@pytest.mark.parametrize(
    ("attributes", "magic", "said"),
    [
        (0, 2, "0 (none, CreateTime)"),
        (0x7B, 2, "123 (lz4, LogAppendTime, transactional, control, delete horizon)"),
        (0x87, 2, "135 (codec 7, CreateTime, unknown bits 0x80)"),
        (-1, 1, "-1 (codec 7, LogAppendTime, unknown bits 0xf0)"),
        (9, 0, "9 (gzip, unknown bits 0x8)"),
    ],
)
def test_attributes(attributes, magic, said):
    assert attributes_text(attributes, magic) == said
