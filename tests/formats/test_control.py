"""Control records: values by Kafka's own classes, damage."""

import pytest

from formats import control as c
from formats.errors import CorruptError, LimitError, TruncatedError, UnsupportedError
from formats.messages.converter import control_json
from formats.messages.reader import UnknownTag
from tests.builders import attempt
from tests.formats.control_values import VALUES


def key(number, version=0):
    return version.to_bytes(2, "big", signed=True) + number.to_bytes(2, "big", signed=True)


IDS = [f"{name}-{len(value)}" for _, name, value, _ in VALUES]


def read(control_key, value, *given):
    """Return type, name, fields and unknown tags of a control record."""
    found = c.control_record(control_key, value, *given)
    message = found.value
    return (
        found.type,
        found.name,
        None if message is None else message.fields,
        () if message is None else message.unknown_tags,
    )


@pytest.mark.parametrize(("number", "name", "value", "said"), VALUES, ids=IDS)
def test_values_by_kafka(number, name, value, said):
    data = bytes.fromhex(value)
    assert read(key(number), data) == (number, name, said, ())
    assert read(memoryview(key(number)), memoryview(data + b"after"))[2] == said
    assert control_json(c.control_value(number, data)) == said


@pytest.mark.parametrize(("number", "name", "value", "said"), VALUES, ids=IDS)
def test_every_prefix_is_truncated(number, name, value, said):
    data = bytes.fromhex(value)
    for size in range(len(data)):
        with pytest.raises(TruncatedError) as caught:
            c.control_record(key(number), data[:size])
        assert 0 <= caught.value.position <= size


def test_unknown_tags_are_kept():
    _, _, fields, tags = read(key(3), bytes.fromhex("000000000000000000050203020102c80100"))
    assert fields == {"version": 0, "lastContainedLogTimestamp": 5}
    assert tags == (
        UnknownTag("SnapshotHeaderRecord", 3, b"\x01\x02"),
        UnknownTag("SnapshotHeaderRecord", 200, b""),
    )


@pytest.mark.parametrize("number", [7, 200, -1, -32768])
def test_unknown_types_keep_their_number(number):
    assert c.control_record(key(number), b"anything") == c.ControlRecord(number, "UNKNOWN", None)
    assert c.control_record(key(number), None).value is None


def test_a_later_key_or_marker_is_read_as_version_0():
    assert c.control_key(key(1, 5) + b"more") == c.ControlKey(5, 1)
    fields = {"version": 9, "coordinatorEpoch": 7}
    assert read(key(1, 5), bytes.fromhex("000900000007ff")) == (1, "COMMIT", fields, ())


@pytest.mark.parametrize("version", [2, 32767])
def test_a_later_leader_change_is_unsupported(version):
    with pytest.raises(UnsupportedError) as caught:
        c.control_record(key(2), version.to_bytes(2, "big") + bytes(60))
    assert (caught.value.position, caught.value.field, caught.value.found) == (
        0,
        "LeaderChangeMessage version",
        version,
    )


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (2, "LeaderChangeMessage"),
        (3, "SnapshotHeaderRecord"),
        (4, "SnapshotFooterRecord"),
        (5, "KRaftVersionRecord"),
        (6, "VotersRecord"),
    ],
)
def test_errors_name_the_value_that_they_are_about(number, name):
    with pytest.raises(TruncatedError) as caught:
        c.control_record(key(number), b"\0")
    assert caught.value.field.partition(" ")[0] == name


@pytest.mark.parametrize(
    ("control_key", "value", "error"),
    [
        (None, b"", CorruptError),
        (b"", b"", TruncatedError),
        (key(0)[:3], b"", TruncatedError),
        (key(0, -1), bytes(6), CorruptError),
        (key(0), bytes.fromhex("ffff00000000"), CorruptError),
        (key(0), None, CorruptError),
        (key(2), bytes.fromhex("00000000000700"), CorruptError),
        (key(2), bytes.fromhex("000000000007ffffffff0f"), CorruptError),  # -2, which is null for Java
        (key(2), bytes.fromhex("000000000007ffffffff07"), TruncatedError),
    ],
)
def test_keys_and_values_that_cannot_be(control_key, value, error):
    with pytest.raises(error):
        c.control_record(control_key, value)


@pytest.mark.parametrize(
    "number", [c.LEADER_CHANGE, c.SNAPSHOT_HEADER, c.SNAPSHOT_FOOTER, c.KRAFT_VERSION, c.KRAFT_VOTERS]
)
def test_values_with_arrays_or_tags_are_bounded(number):
    long = bytes(c.LONGEST_CONTROL + 1)
    with pytest.raises(LimitError):
        c.control_record(key(number), long)
    assert not isinstance(attempt(c.control_value, number, long, len(long)), LimitError)


@pytest.mark.parametrize("number", [c.ABORT, c.COMMIT, 99])
def test_values_without_any_may_be_long(number):
    """Kafka reads a marker's fields, and nothing after them."""
    long = bytes(c.LONGEST_CONTROL + 1)
    assert c.control_record(key(number), long).type == number
