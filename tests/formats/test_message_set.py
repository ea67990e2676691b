"""Records of magic 0 and 1: bent files as Kafka reads them, vectors, wrappers' offsets, damage."""

import base64
import json
from itertools import pairwise

import pytest

from formats.errors import CorruptError, LimitError, TruncatedError, UnsupportedError
from formats.legacy import MESSAGE_V1
from formats.message_set import LegacyRecord, base_offset, message_set, messages, set_records
from tests.builders import attempt
from tests.formats.message_sets import BENT, V0, V1
from tests.formats.recorded import batches, stored
from tests.messages import put_message, put_set, put_wrapper

LIMIT = 1 << 20


def read(message, limit=LIMIT):
    """Return the records of a message; raise the first error that one of them has."""
    found = list(set_records(message_set(message, limit)))
    for record in found:
        if record.error is not None:
            raise record.error
    return found


def inner(count, magic=1, **fields):
    return b"".join(put_message(i, magic, value=b"v%d" % i, **fields) for i in range(count))


def test_wrappers_that_were_bent():
    """Each record and each refusal is that of Kafka's own reader."""
    refused = []
    for name in BENT:
        said = [json.loads(line) for line in stored(f"{name}.records.jsonl").decode().splitlines()]
        starts = [number for number, line in enumerate(said) if "batch" in line]
        for (position, message), (start, end) in zip(
            batches(f"{name}.log"), pairwise([*starts, len(said) - 1]), strict=True
        ):
            batch, lines = said[start], said[start + 1 : end]
            assert batch["batch"] == position
            mine = attempt(read, message)
            if "error" in batch:
                assert isinstance(mine, CorruptError)
                assert isinstance(attempt(base_offset, message, LIMIT), CorruptError)
                refused.append(name)
                continue
            text = lambda value: None if value is None else base64.b64decode(value)
            selected = [
                (x["offset"], x["timestamp"], text(x["key"]), text(x["value"]), x["isValid"]) for x in lines
            ]
            assert [(r.offset, r.timestamp, r.key, r.value, r.is_valid) for r in mine] == selected
            assert base_offset(message, LIMIT) == batch["baseOffset"]
    assert refused == ["v1-nested-wrapper", "v1-wrapper-null-value", "v0-wrapper-empty"]


def test_what_is_cut_of_a_last_message_is_counted():
    ((_, message),) = batches("v1-wrapper-inner-truncated.log")
    assert message_set(message, LIMIT).cut > 0
    for _, whole in batches("v1-gzip.log"):
        assert message_set(whole, LIMIT).cut == 0


def test_a_message_without_a_codec_is_its_own_record():
    assert read(V1) == [
        LegacyRecord(5, 1700000000000, "CreateTime", 1, 0, 0x6A5500FB, True, None, b"v1", -1, 2)
    ]
    assert read(V0) == [LegacyRecord(5, -1, "NoTimestampType", 0, 0, 0x57E7496E, True, b"k1", b"v1", 2, 2)]
    assert base_offset(V1, 0) == 5
    assert read(put_message(5, 1, 9, attributes=8, key=b"", crc=1))[0][1:8] == (
        9,
        "LogAppendTime",
        1,
        8,
        1,
        False,
        b"",
    )


def test_offsets_that_count_beyond_the_wrapper():
    error = attempt(read, put_wrapper(3, put_message(0) + put_message(4)))
    assert (type(error), error.position, error.field) == (
        CorruptError,
        34,
        f"offset at decompressed byte {len(put_message(0))}",
    )
    assert (error.expected, error.found) == ("at most that of the wrapper, 3", 4)


VALUE = MESSAGE_V1.size + 8


@pytest.mark.parametrize(
    ("message", "kind", "position", "field"),
    [
        (put_wrapper(1, b""), CorruptError, VALUE, "messages at decompressed byte 0"),
        (put_wrapper(1, inner(1)[:-1]), CorruptError, VALUE, "messages at decompressed byte 0"),
        (put_wrapper(1, bytes(11)), CorruptError, VALUE, "messages at decompressed byte 0"),
        (put_wrapper(1, inner(1) + bytes(12)), CorruptError, VALUE, "message size at decompressed byte 44"),
        (put_wrapper(1, put_message(0, size=13)), CorruptError, VALUE, "message size at decompressed byte 8"),
        (put_wrapper(1, put_message(0, size=-1)), CorruptError, VALUE, "message size at decompressed byte 8"),
        (
            put_wrapper(1, put_message(0, key=(9, b"x"))),
            CorruptError,
            VALUE,
            "key length at decompressed byte 26",
        ),
        (
            put_wrapper(1, put_message(0, key=(2**31 - 1, b"x"))),
            CorruptError,
            VALUE,
            "key length at decompressed byte 26",
        ),
        (
            put_wrapper(1, put_message(0, value=(3, b"x"))),
            CorruptError,
            VALUE,
            "value length at decompressed byte 30",
        ),
        (
            put_wrapper(1, put_message(0, size=14)[:26]),
            TruncatedError,
            VALUE,
            "key length at decompressed byte 26",
        ),
        (
            put_wrapper(1, put_message(0, size=18)[:30]),
            TruncatedError,
            VALUE,
            "value length at decompressed byte 30",
        ),
        (put_wrapper(1, put_wrapper(0, inner(1))), CorruptError, VALUE, "codec at decompressed byte 17"),
        (put_wrapper(1, put_message(0, attributes=7)), CorruptError, VALUE, "codec at decompressed byte 17"),
        (put_message(1, attributes=1), CorruptError, 30, "value"),
        (put_message(1, attributes=1, value=(100, b"x")), CorruptError, 30, "value length"),
        (put_message(1, attributes=1, key=(6, b"x")), CorruptError, 26, "key length"),
        (put_message(1, attributes=1, value=b""), TruncatedError, VALUE, "gzip"),
        (put_message(1, attributes=2, value=b""), TruncatedError, VALUE, "snappy"),
        (put_message(1, attributes=3, value=b""), TruncatedError, VALUE, "lz4 frame header"),
        (put_message(1, attributes=4, value=b"x"), UnsupportedError, 17, "codec"),
        (put_message(1, attributes=7), UnsupportedError, 17, "codec"),
        (put_message(1, size=13), CorruptError, 8, "message size"),
        (put_message(1, size=1000), TruncatedError, 0, "message"),
        (put_message(1, value=(2, b"x")), CorruptError, 30, "value length"),
        (bytes(61), CorruptError, 8, "message size"),
        (bytes(16) + b"\2" + bytes(44), UnsupportedError, 16, "magic"),
    ],
)
def test_what_is_refused(message, kind, position, field):
    error = attempt(read, message)
    assert (type(error), error.position, error.field) == (kind, position, field)


def test_messages_before_a_wrapper_in_a_wrapper_are_read_as_by_kafka():
    found = messages(message_set(put_wrapper(2, inner(2) + put_wrapper(2, inner(1))), LIMIT))
    assert [next(found).offset, next(found).offset] == [0, 1]
    with pytest.raises(CorruptError):
        next(found)


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_messages_after_one_whose_value_does_not_fit_are_read(codec):
    bad = put_message(1, key=b"k", value=(1000, b"x"))
    message = put_wrapper(3, put_message(0) + bad + put_message(2, key=(99, b"")) + put_message(3), codec)
    found = list(set_records(message_set(message, LIMIT)))
    assert [record.offset for record in found] == [0, 1, 2, 3]
    assert [record.error is None for record in found] == [True, False, False, True]
    assert [(record.key_size, record.value_size) for record in found] == [
        (-1, -1),
        (1, 1000),
        (99, None),
        (-1, -1),
    ]
    assert (found[1].error.position, found[1].error.field) == (VALUE, "value length at decompressed byte 65")
    assert {(record.key, record.value) for record in found} == {(None, None)}


def test_keys_and_values_are_not_looked_at_where_only_headers_are_asked():
    opened = message_set(put_wrapper(1, put_message(0) + put_message(1, timestamp=5, key=(99, b""))), LIMIT)
    assert [(found.offset, found.timestamp) for found in messages(opened)] == [(0, 0), (1, 5)]


@pytest.mark.parametrize(
    "message", [put_set(10, [1, 2, 3], codec, magic) for codec in (0, 1, 2, 3) for magic in (0, 1)]
)
def test_every_prefix(message):
    for end in range(len(message)):
        assert isinstance(attempt(read, message[:end]), TruncatedError)


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_every_prefix_of_the_messages_inside(codec):
    body = inner(3)
    one = len(put_message(0, value=b"v0"))
    for end in range(len(body)):
        message = put_wrapper(9, body[:end], codec)
        if end < one:
            assert isinstance(attempt(read, message), CorruptError)
        else:
            assert [record.offset for record in read(message)] == list(range(10 - end // one, 10))
            assert message_set(message, LIMIT).cut == end % one


def test_a_huge_size_inside_takes_no_memory():
    message = put_wrapper(1, inner(1) + put_message(1, size=2**31 - 1))
    assert [record.offset for record in read(message)] == [1]
    assert message_set(message, LIMIT).cut == len(put_message(1))


def test_the_limit_is_for_what_is_decompressed():
    message = put_wrapper(1, inner(2))
    assert len(read(message, len(inner(2)))) == 2
    assert isinstance(attempt(read, message, len(inner(2)) - 1), LimitError)
