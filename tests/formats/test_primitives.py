"""Varints, strings, uuids and tagged fields against answers of Kafka's own classes, and within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import primitives as p
from formats.errors import CorruptError, TruncatedError
from tests.builders import put_unsigned_varint, put_varint, put_varlong

# bytes, then what Kafka's ByteUtils answers: readUnsignedVarint, readVarint, readVarlong (None: it throws)
BYTE_UTILS = [
    ("00", 0, 0, 0),
    ("ac02", 300, 150, 150),
    ("8000", 0, 0, 0),
    ("8080808008", 2147483648, 1073741824, 1073741824),
    ("8080808010", 0, 0, 2147483648),
    ("ffffffff0f", 4294967295, -2147483648, -2147483648),
    ("ffffffff7f", 4294967295, -2147483648, -17179869184),
    ("808080807f", 4026531840, 2013265920, 17045651456),
    ("ffffffff8f01", None, None, -19327352832),
    ("80808080808080808001", None, None, 4611686018427387904),
    ("ffffffffffffffffff01", None, None, -9223372036854775808),
    ("ffffffffffffffffff7f", None, None, -9223372036854775808),
    ("ffffffffffffffffffff01", None, None, None),
]

# text, and what Uuid.fromString(text).toString() of Kafka 4.3.1 answers (None: it throws)
UUIDS = [
    ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAQ"),
    ("AAAAAAAAAAAAAAAAAAAAAQ==", "AAAAAAAAAAAAAAAAAAAAAQ"),
    ("AAAAAAAAAAAAAAAAAAAAAR", "AAAAAAAAAAAAAAAAAAAAAQ"),
    ("_-AAAAAAAAAAAAAAAAAAAQ", "_-AAAAAAAAAAAAAAAAAAAQ"),
    ("AAAAAAAAAAAAAAAAAAAAAQ=", None),
    ("AAAAAAAAAAAAAAAAAAAAAQ===", None),
    ("AAAAAAAAAAAAAAAAAAAAA", None),
    ("AAAAAAAAAAAAAAAAAAAA+Q", None),
    ("AAAAAAAAAAAAAAAAAAAAAQA", None),
    ("", None),
    ("AAAAAAAAAAAAAAAAAAAAAQ\n", None),
    ("AAAAAAAAAAA=AAAAAAAAAQ", None),
    ("AAAAAAAAAAAAAAAAAAAAé", None),
]


@pytest.mark.parametrize(("data", "unsigned", "signed", "long"), BYTE_UTILS)
def test_varints_answer_as_byte_utils(data, unsigned, signed, long):
    data = bytes.fromhex(data)
    for reader, expected in ((p.unsigned_varint, unsigned), (p.varint, signed), (p.varlong, long)):
        if expected is None:
            with pytest.raises(CorruptError) as caught:
                reader(b"??" + data, 2)
            assert caught.value.position == 2
        else:
            assert reader(b"??" + data + b"!", 2) == (expected, 2 + len(data))


@given(
    st.integers(0, (1 << 32) - 1),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(-(1 << 63), (1 << 63) - 1),
)
def test_varints_come_back_as_written(unsigned, signed, long):
    for reader, put, value in (
        (p.unsigned_varint, put_unsigned_varint, unsigned),
        (p.varint, put_varint, signed),
        (p.varlong, put_varlong, long),
    ):
        data = put(value)
        assert reader(data, 0) == (value, len(data))
        for size in range(len(data)):
            with pytest.raises(TruncatedError):
                reader(data[:size], 0)


@pytest.mark.parametrize(
    ("reader", "data", "value"),
    [
        (p.string_bytes, "ffff", None),
        (p.string_bytes, "0000", b""),
        (p.string_bytes, "0003c3a978", b"\xc3\xa9x"),
        (p.nullable_bytes, "ffffffff", None),
        (p.nullable_bytes, "00000000", b""),
        (p.nullable_bytes, "0000000200ff", b"\x00\xff"),
        (p.compact_string_bytes, "00", None),
        (p.compact_string_bytes, "01", b""),
        (p.compact_string_bytes, "04c3a978", b"\xc3\xa9x"),
        (p.compact_nullable_bytes, "00", None),
        (p.compact_nullable_bytes, "01", b""),
        (p.compact_nullable_bytes, "0300ff", b"\x00\xff"),
        (p.int16, "8000", -32768),
        (p.int32, "7fffffff", 2**31 - 1),
        (p.compact_length, "00", -1),
        (p.compact_length, "ac02", 299),
        (p.tag_count, "00", 0),
        (p.tag_count, "03", 3),
        # as Java's readers take them: ints of 32 bits, whatever is below 0 is null or none
        (p.string_bytes, "8000", None),
        (p.nullable_bytes, "fffffffe", None),
        (p.compact_nullable_bytes, "8180808008", None),
        (p.compact_string_bytes, "ffffffff0f", None),
        (p.compact_length, "8180808008", -(2**31)),
    ],
)
def test_values(reader, data, value):
    data = bytes.fromhex(data)
    assert reader(data, 0) == (value, len(data))
    assert reader(memoryview(b"?" + data + b"!!"), 1) == (value, 1 + len(data))
    for size in range(len(data)):
        with pytest.raises(TruncatedError) as caught:
            reader(data[:size], 0)
        assert caught.value.position <= size


@pytest.mark.parametrize(
    ("reader", "data", "error"),
    [
        (p.compact_string_bytes, "818002", CorruptError),
        (p.nullable_bytes, "7fffffff00", TruncatedError),
        (p.compact_nullable_bytes, "ffffffff0700", TruncatedError),
        (p.compact_nullable_bytes, "808080800800", TruncatedError),
        (p.compact_string_bytes, "0300", TruncatedError),
        (p.string_bytes, "7fff00", TruncatedError),
        (p.tag_count, "ffffffff0f0000000000", CorruptError),
    ],
)
def test_hostile_lengths(reader, data, error):
    with pytest.raises(error) as caught:
        reader(bytes.fromhex(data), 0)
    assert 0 <= caught.value.position < len(data) // 2


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("01", 1),
        ("8100", 1),
        ("ffff01", 32767),
        ("8180808008", 1),
        ("ffffffff0f", -1),
        ("8080828008", -32768),
        ("ffff81800c", 32767),
    ],
)
def test_short_varints(data, value):
    """As `AbstractApiMessageSerde.unsignedIntToShort` has them."""
    assert p.short_varint(bytes.fromhex(data), 0) == (value, len(data) // 2)
    with pytest.raises(CorruptError):
        p.short_varint(bytes.fromhex("808002"), 0)


def test_text_that_is_not_utf_8_is_corrupt():
    assert p.utf8(b"\xc3\xa9x", 7, "name") == "éx"
    with pytest.raises(CorruptError) as caught:
        p.utf8(b"\xc3(", 7, "name")
    assert (caught.value.position, caught.value.found) == (7, "c328")


@pytest.mark.parametrize(("text", "answer"), UUIDS)
def test_uuids_answer_as_kafka(text, answer):
    if answer is None:
        with pytest.raises(CorruptError):
            p.uuid_bytes(text)
    else:
        assert p.uuid_text(p.uuid_bytes(text)) == answer


@given(st.binary(min_size=16, max_size=16))
def test_uuids_come_back(raw):
    text = p.uuid_text(raw)
    assert len(text) == 22
    assert p.uuid_bytes(text) == raw
