"""The five codecs: real streams, every prefix and flipped byte, hostile sizes, bombs."""

import gzip
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.batch import BATCH, HEADER_SIZE
from formats.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, decompress, xxhash32
from formats.errors import CorruptError, FormatError, LimitError, TruncatedError, UnsupportedError
from tests.builders import attempt, chunks, compress, put_lz4, put_xerial
from tests.formats.recorded import CODECS, batches
from tests.seeds import examples

pytestmark = pytest.mark.slow

LIMIT = 1 << 20
TEXT = b"".join(b"line %d\n" % (n % 7) for n in range(200))
NOISE = random.Random(7).randbytes(1000)

# Lz4BlockOutputStream of Kafka 4.3.1 over TEXT, without and with the broken header checksum of magic 0
LZ4_BY_KAFKA = (
    "04224d186040{}31000000716c696e6520300a0700123107001232"
    "0700123307001234070012350700123607000f3100ffffffffff2f506e6520330a00000000"
)


def opened(codec, data, limit=LIMIT, **more):
    return bytes(decompress(codec, data, limit, **more))


@pytest.mark.parametrize("codec", range(5))
@examples(30)
@given(
    data=st.binary(max_size=300)
    | st.integers(0, 100_000).map(lambda size: (TEXT + NOISE) * (size // 3000) + b"x")
)
def test_what_goes_in_comes_out(codec, data):
    stream = compress(codec, data)
    if codec == SNAPPY and not data:
        stream = put_xerial([b"\0"])
    assert (
        opened(codec, stream) == opened(codec, memoryview(stream)) == opened(codec, bytearray(stream)) == data
    )


def test_none_is_handed_back_whatever_its_size():
    assert decompress(NONE, TEXT, 0) is TEXT


@pytest.mark.parametrize("codec", [5, 6, 7, -1])
def test_unknown_codecs(codec):
    with pytest.raises(UnsupportedError) as caught:
        decompress(codec, b"", LIMIT)
    assert (caught.value.field, caught.value.found) == ("codec", codec)


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_came_with_magic_2(magic):
    with pytest.raises(UnsupportedError):
        decompress(ZSTD, compress(ZSTD, TEXT), LIMIT, magic=magic)


@pytest.mark.parametrize("name", CODECS[1:])
def test_every_prefix_of_a_real_stream_is_truncated(name):
    batch = min((batch for _, batch in batches(f"{name}.log")), key=len)
    codec, stream = BATCH.read(batch).codec, batch[HEADER_SIZE:]
    whole = opened(codec, stream)
    for size in range(0, len(stream), max(len(stream) // 300, 1)):
        found = attempt(opened, codec, stream[:size])
        if isinstance(found, TruncatedError):
            assert 0 <= found.position <= size
        elif isinstance(found, FormatError):
            # a snappy stream without its whole header is taken for one block
            assert (type(found), codec, size < 16, found.position) == (CorruptError, SNAPPY, True, 0)
        else:
            # snappy has no end mark: the stream ends with any of its blocks
            assert codec == SNAPPY
            assert size >= 16
            assert whole.startswith(found)
            assert len(found) < len(whole)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_empty_is_truncated_and_garbage_is_not_data(codec):
    with pytest.raises(TruncatedError):
        decompress(codec, b"", LIMIT)
    with pytest.raises(CorruptError):
        decompress(codec, b"garbage, garbage, garbage", LIMIT)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_the_limit_is_inclusive_and_named(codec):
    stream = compress(codec, TEXT)
    assert opened(codec, stream, len(TEXT)) == TEXT
    for limit in (0, 1, len(TEXT) - 1):
        with pytest.raises(LimitError) as caught:
            decompress(codec, stream, limit)
        assert caught.value.expected == f"at most {limit} bytes"


def bombs():
    zeros = bytes(100_000_000)
    yield "gzip", GZIP, gzip.compress(zeros, 1)
    yield "gzip members", GZIP, gzip.compress(bytes(1_000_000)) * 100
    yield "snappy block", SNAPPY, bytes(cramjam.snappy.compress_raw(zeros))
    yield "snappy blocks", SNAPPY, put_xerial([bytes(cramjam.snappy.compress_raw(bytes(1 << 15)))] * 3000)
    yield "snappy that lies", SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20)
    block = bytes(cramjam.lz4.compress_block(bytes(4 << 20), store_size=False))
    yield "lz4", LZ4, put_lz4([(block, False)] * 24, bd=0x70)
    yield "zstd", ZSTD, bytes(cramjam.zstd.compress(zeros))
    # frames of which only the headers of the blocks tell the size: 128 KiB of zeros in each
    yield "zstd of unknown size", ZSTD, zstd_frame([rle(0, 128 * 1024)] * 800)
    yield "zstd frames", ZSTD, zstd_frame([rle(0, 128 * 1024)]) * 800


def rle(byte, size):
    return (1 << 1 | size << 3, bytes([byte]))


def raw_block(data):
    return (len(data) << 3, data)


def zstd_frame(blocks, window=0x38):
    out = struct.pack("<IBB", 0xFD2FB528, 0, window)
    for number, (header, data) in enumerate(blocks):
        out += (header | (number == len(blocks) - 1)).to_bytes(3, "little") + data
    return out


BOMB_DISPOSAL = """
import pickle, resource, sys, tracemalloc
import cramjam
from formats.compression import decompress
from formats.errors import LimitError

limit, bombs = pickle.load(sys.stdin.buffer)
for name, codec, stream in bombs:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        answer = len(decompress(codec, stream, limit))
    except LimitError as error:
        answer = error.expected
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(name, answer, peak, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, sep="|")
"""


@pytest.mark.slow
def test_bombs_go_off_within_the_limit():
    """In a process of their own: the peak of this one has seen the bombs being made."""
    made = list(bombs())
    output = subprocess.run(
        [sys.executable, "-c", BOMB_DISPOSAL],
        input=pickle.dumps((LIMIT, made)),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    lines = [line.split("|") for line in output.stdout.decode().splitlines()]
    assert [line[0] for line in lines] == [name for name, _, _ in made]
    for (name, answer, traced, resident), (_, codec, _) in zip(lines, made, strict=True):
        # a block of lz4 may overrun the limit, by 4 MiB; everything else keeps it, twice over for a copy
        allowed = 3 * LIMIT + (3 * (4 << 20) if codec == LZ4 else 0)
        assert answer == f"at most {LIMIT} bytes", name
        assert int(traced) < allowed, name
        assert int(resident) < allowed + (4 << 20), name


def test_gzip_members_are_read_one_after_the_other():
    first, second = gzip.compress(b"one "), gzip.compress(b"two")
    assert opened(GZIP, first + second) == b"one two"
    assert opened(GZIP, first + b"no member") == b"one "
    assert opened(GZIP, first + second[:18]) == b"one "
    assert opened(GZIP, first[:3] + b"\xe0" + first[4:]) == b"one "
    with pytest.raises(TruncatedError) as caught:
        decompress(GZIP, first + second[:-1], LIMIT)
    assert caught.value.position == len(first)


def test_a_wrong_gzip_checksum_is_corrupt():
    stream = bytearray(compress(GZIP, TEXT))
    stream[-5] ^= 1
    with pytest.raises(CorruptError):
        decompress(GZIP, stream, LIMIT)


def snap(data):
    return bytes(cramjam.snappy.compress_raw(data))


def test_snappy_framings():
    assert opened(SNAPPY, snap(TEXT)) == TEXT
    framed = put_xerial([snap(part) for part in chunks(TEXT, 100)])
    assert opened(SNAPPY, framed) == TEXT
    assert opened(SNAPPY, framed + framed) == TEXT + TEXT
    assert opened(SNAPPY, framed + b"\1\2\3") == TEXT
    assert opened(SNAPPY, put_xerial([])) == b""
    # snappy-java 1.1.10.7 looks at no version, and ends where only half a header follows
    assert opened(SNAPPY, framed[:8] + b"\xff" * 8 + framed[16:]) == TEXT
    assert opened(SNAPPY, framed + b"\x82SNAP" + bytes(11)) == TEXT


@pytest.mark.parametrize(
    ("stream", "error", "position"),
    [
        (put_xerial([snap(TEXT)])[:-1], TruncatedError, 16),
        (put_xerial([]) + b"\xff\xff\xff\xff", CorruptError, 16),
        (put_xerial([]) + b"\x7f\xff\xff\xff", TruncatedError, 16),
        (put_xerial([b""]), CorruptError, 20),
        (put_xerial([snap(TEXT)[:-1]]), CorruptError, 20),
        (put_xerial([]) + b"\x82SNA", TruncatedError, 16),
    ],
)
def test_snappy_contradictions(stream, error, position):
    with pytest.raises(error) as caught:
        decompress(SNAPPY, stream, LIMIT)
    assert caught.value.position == position


# the reference implementation's xxh32 with seed 0, as its users publish it
@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"", 0x02CC5D05),
        (b"a", 0x550D7456),
        (b"abc", 0x32D153FF),
        (b"Nobody inspects the spammish repetition", 0xE2293B2F),
    ],
)
def test_xxhash32(data, checksum):
    assert xxhash32(data) == checksum


def test_lz4_by_kafka_with_both_header_checksums():
    right, broken = bytes.fromhex(LZ4_BY_KAFKA.format("82")), bytes.fromhex(LZ4_BY_KAFKA.format("1a"))
    assert opened(LZ4, right) == opened(LZ4, right, magic=0) == opened(LZ4, broken, magic=0) == TEXT
    for magic in (1, 2):
        with pytest.raises(CorruptError) as caught:
            decompress(LZ4, broken, LIMIT, magic=magic)
        assert (caught.value.position, caught.value.field) == (6, "lz4 header checksum")


BLOCK = (bytes(cramjam.lz4.compress_block(TEXT, store_size=False)), False)
STORED = (NOISE, True)


@pytest.mark.parametrize("bd", [0x40, 0x50, 0x60, 0x70])
@pytest.mark.parametrize("flg", [0x60, 0x64, 0x70, 0x74])
def test_lz4_frames(flg, bd):
    end = b"\0\0\0\0" + (b"sums" if flg & 4 else b"")
    for blocks, data in (([], b""), ([BLOCK], TEXT), ([STORED, BLOCK, STORED], NOISE + TEXT + NOISE)):
        stream = put_lz4(blocks, flg, bd, end=end)
        assert opened(LZ4, stream) == opened(LZ4, stream + b"after") == data
        for size in range(0, len(stream), 7):
            with pytest.raises(TruncatedError):
                decompress(LZ4, stream[:size], LIMIT)
        with pytest.raises(TruncatedError):
            decompress(LZ4, stream[:-1], LIMIT)


def test_lz4_content_size_is_passed_over():
    assert opened(LZ4, put_lz4([BLOCK], 0x68, content_size=bytes(8))) == TEXT


def test_an_lz4_block_of_no_bytes_ends_the_frame_stored_or_not():
    assert opened(LZ4, put_lz4([BLOCK], end=b"\0\0\0\x80" + b"after")) == TEXT


@pytest.mark.parametrize(
    ("stream", "error", "field"),
    [
        (b"\0" + put_lz4([BLOCK])[1:], CorruptError, "lz4 magic"),
        (put_lz4([BLOCK], flg=0x61), CorruptError, "lz4 FLG"),
        (put_lz4([BLOCK], flg=0x40), UnsupportedError, "lz4 FLG"),
        (put_lz4([BLOCK], flg=0xA0), UnsupportedError, "lz4 version"),
        (put_lz4([BLOCK], bd=0x30), CorruptError, "lz4 BD"),
        (put_lz4([BLOCK], bd=0x41), CorruptError, "lz4 BD"),
        (put_lz4([BLOCK], bd=0xC0), CorruptError, "lz4 BD"),
        (put_lz4([BLOCK], checksum=0), CorruptError, "lz4 header checksum"),
        (put_lz4([(bytes(64 * 1024 + 1), True)]), CorruptError, "lz4 block size"),
        (
            put_lz4([(bytes(cramjam.lz4.compress_block(bytes(64 * 1024 + 1), store_size=False)), False)]),
            CorruptError,
            "lz4 block",
        ),
        (put_lz4([BLOCK], flg=0x70)[:-5] + b"?" + bytes(4), CorruptError, "lz4 block checksum"),
        (put_lz4([(BLOCK[0][:-3], False)]), CorruptError, "lz4 block"),
    ],
)
def test_lz4_contradictions(stream, error, field):
    with pytest.raises(error) as caught:
        decompress(LZ4, stream, LIMIT)
    assert caught.value.field == field


def test_zstd_frames_and_skippable_frames():
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"skip!"
    first, second = compress(ZSTD, TEXT), zstd_frame([raw_block(NOISE), rle(65, 3)])
    assert opened(ZSTD, second) == NOISE + b"AAA"
    assert opened(ZSTD, skippable + first + skippable + second) == TEXT + NOISE + b"AAA"
    assert opened(ZSTD, second, len(NOISE) + 3) == NOISE + b"AAA"
    with pytest.raises(LimitError):
        decompress(ZSTD, second, len(NOISE) + 2)


@pytest.mark.parametrize(
    ("stream", "error", "field"),
    [
        (zstd_frame([raw_block(NOISE)]) + b"after", CorruptError, "zstd magic"),
        (zstd_frame([raw_block(NOISE)]) + b"xx", TruncatedError, "zstd magic"),
        (struct.pack("<II", 0x184D2A50, 100) + b"short", TruncatedError, "zstd frame"),
        (struct.pack("<IBQ", 0xFD2FB528, 0xE0, 1 << 40), LimitError, "decompressed size"),
        (zstd_frame([rle(0, 128 * 1024 + 1)]), CorruptError, "zstd"),
        (zstd_frame([raw_block(NOISE)], window=0xFF), CorruptError, "zstd"),
        (zstd_frame([(2 << 1 | 4 << 3, b"????")]), CorruptError, "zstd"),
    ],
)
def test_zstd_contradictions(stream, error, field):
    with pytest.raises(error) as caught:
        decompress(ZSTD, stream, LIMIT)
    assert caught.value.field == field


def test_thousands_of_snappy_blocks_take_no_quadratic_time():
    block = bytes(256)
    count = 60_000
    framed = put_xerial([snap(block)] * count)
    assert len(decompress(SNAPPY, framed, count * len(block))) == count * len(block)


def test_thousands_of_gzip_members_take_no_quadratic_time():
    assert opened(GZIP, gzip.compress(b"x", mtime=0) * 30_000) == b"x" * 30_000
