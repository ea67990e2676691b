"""Headers of magic 0 and 1: vectors, damage."""

import pytest

from formats.batch import BatchHeader
from formats.errors import TruncatedError, UnsupportedError
from formats.legacy import is_valid, read_header
from tests.formats.message_sets import V0, V1


def test_vector_of_magic_1():
    header = read_header(V1)
    assert header == BatchHeader(5, 24, -1, 1, 0x6A5500FB, 0, 0, 1700000000000, 1700000000000, -1, -1, -1, 1)
    assert (header.size, header.timestamp_type, header.max_timestamp) == (
        len(V1),
        "CreateTime",
        1700000000000,
    )
    assert is_valid(V1)


def test_vector_of_magic_0():
    header = read_header(V0)
    assert header == BatchHeader(5, 18, -1, 0, 0x57E7496E, 0, 0, -1, -1, -1, -1, -1, 1)
    assert (header.size, header.timestamp_type, header.max_timestamp) == (len(V0), "NoTimestampType", -1)
    assert is_valid(V0)


def test_flags_of_batches_mean_nothing_here():
    header = read_header(V1)._replace(attributes=0x70)
    assert header.last_sequence == -1
    assert (header.is_control, header.is_transactional, header.delete_horizon_ms) == (False, False, None)


@pytest.mark.parametrize(
    ("attributes", "codec", "kind"), [(0x0A, 2, "LogAppendTime"), (0x07, 7, "CreateTime")]
)
def test_attributes(attributes, codec, kind):
    header = read_header(V1)._replace(attributes=attributes)
    assert (header.codec, header.timestamp_type) == (codec, kind)
    assert header._replace(magic=0).timestamp_type == "NoTimestampType"


@pytest.mark.parametrize(("message", "size"), [(V0, 18), (V1, 26)])
def test_every_prefix(message, size):
    for end in range(len(message)):
        assert not is_valid(message[:end])
        if end < size:
            with pytest.raises(TruncatedError) as caught:
                read_header(b"??" + message[:end], 2)
            assert caught.value.position == 2
        else:
            assert read_header(message[:end]) == read_header(message)


@pytest.mark.parametrize("message", [V0, V1])
def test_every_flipped_byte_is_seen_by_the_crc_or_outside_it(message):
    for at in range(len(message)):
        flipped = bytearray(message)
        flipped[at] ^= 0xFF
        assert is_valid(flipped) == (at < 12)


@pytest.mark.parametrize("magic", [2, 3, 127, -128, -1])
def test_any_other_magic_is_unsupported(magic):
    with pytest.raises(UnsupportedError) as caught:
        read_header(b"?" + V0[:16] + magic.to_bytes(1, "big", signed=True), 1)
    assert (caught.value.position, caught.value.found) == (17, magic)


def test_the_least_size_is_that_of_magic_0():
    assert not is_valid(bytes(25))
    assert not is_valid(b"")
