"""Headers of magic 0 and 1: messages by Kafka against DumpLogSegments, vectors, damage."""

import pytest

from formats.batch import COMPRESSION_NAMES, UNKNOWN_COUNT, BatchHeader
from formats.compression import decompress
from formats.errors import CorruptError, TruncatedError, UnsupportedError
from formats.legacy import MESSAGE_V0, MESSAGE_V1, is_valid, read_header
from tests.formats.recorded import LEGACY, batches, golden_batches

V1 = bytes.fromhex("0000000000000005000000186a5500fb01000000018bcfe56800ffffffff000000027631")
V0 = bytes.fromhex("00000000000000050000001257e7496e0000000000026b31000000027631")


def test_sizes_of_the_headers():
    assert (MESSAGE_V0.size, MESSAGE_V1.size) == (18, 26)


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


@pytest.mark.parametrize("name", LEGACY)
def test_headers_say_what_dump_log_segments_says(name):
    golden = golden_batches(f"{name}.print.txt")
    found = batches(f"{name}.log")
    assert len(found) == len(golden) > 0
    for (position, message), words in zip(found, golden, strict=True):
        header = read_header(message)
        assert (header.last_offset, position, header.size) == (
            int(words["offset"]),
            int(words["position"]),
            int(words["size"]),
        )
        assert (header.magic, header.crc) == (int(words["magic"]), int(words["crc"]))
        assert int(words[header.timestamp_type]) == header.max_timestamp
        assert COMPRESSION_NAMES[header.codec] == words["compresscodec"]
        assert words["isvalid"] == str(is_valid(message)).lower()
        assert header.records_count == (UNKNOWN_COUNT if header.codec else 1)


@pytest.mark.parametrize("name", LEGACY)
def test_the_values_of_wrappers_decompress(name):
    """A wrapper's value is whole messages; as Kafka, lz4 in magic 1 with magic 0's checksum is refused."""
    for _, message in batches(f"{name}.log"):
        header = read_header(message)
        if not header.codec:
            continue
        value = message[(26 if header.magic else 18) + 8 :]
        if name == "v1-lz4-other-checksum":
            with pytest.raises(CorruptError) as caught:
                decompress(header.codec, value, 1 << 20, magic=header.magic)
            assert caught.value.field == "lz4 header checksum"
            continue
        inner = bytes(decompress(header.codec, value, 1 << 20, magic=header.magic))
        position = messages = 0
        while position < len(inner):
            size = read_header(inner, position).size
            assert is_valid(inner[position : position + size])
            position, messages = position + size, messages + 1
        assert (position, messages > 0) == (len(inner), True)


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
