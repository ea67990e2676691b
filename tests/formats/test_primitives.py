"""Varints, strings, uuids and tagged fields against answers of Kafka's own classes, and within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import primitives as p
from formats.errors import CorruptError, FormatError, TruncatedError
from tests.builders import attempt, put_unsigned_varint, put_varint, put_varlong

# bytes, then what ByteUtils of Kafka 4.3.1 answers: readUnsignedVarint, readVarint, readVarlong (None: it throws)
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
        (p.compact_string, "01", ""),
        (p.compact_string, "04c3a978", "éx"),
        (p.compact_nullable_bytes, "00", None),
        (p.compact_nullable_bytes, "01", b""),
        (p.compact_nullable_bytes, "0300ff", b"\x00\xff"),
        (p.uuid, "03fe030405060708090a0b0c0d0e0f10", "A_4DBAUGBwgJCgsMDQ4PEA"),
        (p.tagged_fields, "00", []),
        (p.tagged_fields, "0203020102c80100", [(3, b"\x01\x02"), (200, b"")]),
        # as Java's readers take them: ints of 32 bits, whatever is below 0 is null or none, tags as they come
        (p.string_bytes, "8000", None),
        (p.nullable_bytes, "fffffffe", None),
        (p.compact_nullable_bytes, "8180808008", None),
        (p.tagged_fields, "ffffffff0f", []),
        (p.tagged_fields, "8080808008", []),
        (p.tagged_fields, "0305000400050107", [(5, b""), (4, b""), (5, b"\x07")]),
        (p.compact_java_string, "0661ff62eda0", "a\ufffdb\ufffd"),
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
        (p.compact_string, "818002", CorruptError),
        (p.nullable_bytes, "7fffffff00", TruncatedError),
        (p.compact_string, "00", CorruptError),
        (p.compact_string, "03c328", CorruptError),
        (p.compact_string, "ffffffff0f00", CorruptError),
        (p.compact_java_string, "00", CorruptError),
        (p.compact_nullable_bytes, "ffffffff0700", TruncatedError),
        (p.compact_nullable_bytes, "808080800800", TruncatedError),
        (p.compact_array_length, "00", CorruptError),
        (p.compact_array_length, "0300", TruncatedError),
        (p.compact_array_length, "ffffffff0f0000", TruncatedError),
        (p.tagged_fields, "ffffffff070000", TruncatedError),
        (p.tagged_fields, "020000", TruncatedError),
        (p.tagged_fields, "0105ffffffff0f00", TruncatedError),
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


def test_the_size_that_a_known_tag_tells_is_not_looked_at():
    data = bytes.fromhex("0305ffffffff0f0105000205017f")
    assert p.tagged_fields(data, 0, "tags", {5: 1}) == ([(5, b"\x01"), (5, b"\x02"), (5, b"\x7f")], len(data))
    with pytest.raises(TruncatedError):
        p.tagged_fields(data[:-1], 0, "tags", {5: 1})


def test_array_lengths():
    assert p.compact_array_length(b"\x01", 0) == (0, 1)
    assert p.compact_array_length(b"\x03ab", 0) == (2, 1)


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
    assert p.uuid(raw, 0) == (text, 16)


@given(
    st.binary(max_size=40),
    st.sampled_from(
        [
            p.string_bytes,
            p.nullable_bytes,
            p.compact_string,
            p.compact_nullable_bytes,
            p.compact_array_length,
            p.tagged_fields,
        ]
    ),
)
def test_noise_raises_nothing_but_format_errors(data, reader):
    found = attempt(reader, data, 0)
    assert 0 <= found.position <= len(data) if isinstance(found, FormatError) else 0 < found[1] <= len(data)
