"""The codecs of record batches and message wrappers, decompressed within a bound.

Lives in the payload of a `RecordBatch` of magic 2 and in the value of a wrapper of magic 0 and 1; written by
producers, and by the broker when it recompresses. The truth is `org.apache.kafka.common.compress`, with
`Lz4BlockInputStream`, snappy-java's `SnappyInputStream` and java.util.zip's `GZIPInputStream`.

    0 none     the bytes themselves
    1 gzip     members, one after the other; what follows the last is not looked at
    2 snappy   xerial: 82 "SNAPPY" 00, i32 version, i32 compatible version, then i32 length and
               block, repeated; without that header the whole is one block
    3 lz4      u32le 184D2204, FLG, BD, [u64 size], HC, then u32le size (top bit: stored), block,
               [u32 checksum], repeated; a size of 0 ends; what follows is not looked at
    4 zstd     frames and skippable frames, one after the other; not for magic 0 and 1

Nothing is expanded before its bound is known: sizes that a stream declares are
compared with the limit first; gzip, which declares none, is read until the limit
and no further; an lz4 frame can overrun it by one block, 4 MiB at most.
"""

import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache

from formats.errors import CorruptError, LimitError, TruncatedError, UnsupportedError
from formats.types import Buffer

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

GZIP_MEMBER = b"\x1f\x8b\x08"
GZIP_SMALLEST_MEMBER = 18
GZIP_FLAGS = 0x1F
GZIP_CHUNK = 16 * 1024
"""Bytes given to zlib at once: it copies what follows a member, so thousands of members must not see it all.
"""
GZIP_WINDOW = 31
"""zlib's word for: a gzip header, the largest window."""

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER_SIZE = 16

SNAPPY_BLOCK = 32 * 1024

LZ4_MAGIC = 0x184D2204
LZ4_BLOCK = 64 * 1024
LZ4_FRAME_SIZE = 11
"""Bytes of an lz4 frame beside its blocks: 7 before, 4 after."""
LZ4_FLG_RESERVED = 0x03
LZ4_FLG_CONTENT_CHECKSUM = 0x04
LZ4_FLG_CONTENT_SIZE = 0x08
LZ4_FLG_BLOCK_CHECKSUM = 0x10
LZ4_FLG_INDEPENDENT = 0x20
LZ4_BD_RESERVED = 0x8F
LZ4_STORED = 0x80000000

ZSTD_MAGIC = 0xFD2FB528
ZSTD_SKIPPABLE = 0x184D2A50
ZSTD_LARGEST_BLOCK = 128 * 1024
ZSTD_RLE, ZSTD_COMPRESSED = 1, 2

WITHOUT_PAYLOAD = b"removed"
"""What the records in a bundle of kcli begin with where they are no records, or no stream of their codec.

It is corrupt as both.
"""
NOTHING_LEFT = "none: kcli bundle removed them"

_INT32_STRUCT = struct.Struct(">i")
_UINT32_LE = struct.Struct("<I")
_STRIPE = struct.Struct("<4I")


def decompress(codec: int, data: Buffer, limit: int, *, magic: int = 2) -> Buffer:
    """Return the decompressed bytes of a codec's stream, never more than `limit`; of codec 0 `data` itself.

    `magic`: of the batch or wrapper: 0 has unreliable lz4 header checksums, 0 and 1 have no zstd. LimitError,
    TruncatedError where the stream ends too early, UnsupportedError for codecs 5 to 7; positions are in
    `data`.
    """
    if codec == NONE:
        return data
    if codec not in _CODECS or (codec == ZSTD and magic < 2):
        raise UnsupportedError(0, "codec", "0 to 4" if magic > 1 else "0 to 3", codec)
    if data[: len(WITHOUT_PAYLOAD)] == WITHOUT_PAYLOAD:
        return _without_payload(data[len(WITHOUT_PAYLOAD) :], limit)
    return _CODECS[codec](memoryview(data), limit, magic)


def _without_payload(data: Buffer, limit: int) -> Buffer:
    """Return what a bundle of kcli has in the place of any codec's stream: zlib's, without a header."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        out = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise UnsupportedError(0, "records", "records", NOTHING_LEFT) from error
    if len(out) > limit:
        raise _too_large(0, limit, "more")
    return out


def compressed_size(codec: int, data: bytes) -> int:
    """Return the bytes of the stream that a broker makes of these, by the codecs here: others differ."""
    if codec == GZIP:
        stream = zlib.compressobj(wbits=GZIP_WINDOW)
        return len(stream.compress(data) + stream.flush())
    if not codec:
        return len(data)
    import cramjam

    if codec == ZSTD:
        zstd = cramjam.zstd.Compressor()
        zstd.compress(data)
        flushed = bytes(zstd.flush())
        return len(flushed) + len(bytes(zstd.finish()))
    if codec == SNAPPY:
        blocks = [data[start : start + SNAPPY_BLOCK] for start in range(0, len(data), SNAPPY_BLOCK)]
        return XERIAL_HEADER_SIZE + sum(4 + len(bytes(cramjam.snappy.compress_raw(raw))) for raw in blocks)
    blocks = [data[start : start + LZ4_BLOCK] for start in range(0, len(data), LZ4_BLOCK)]
    packed = [bytes(cramjam.lz4.compress_block(block, store_size=False)) for block in blocks]
    sizes = (min(len(compressed), len(block)) for compressed, block in zip(packed, blocks, strict=True))
    return LZ4_FRAME_SIZE + sum(4 + size for size in sizes)


def xxhash32(data: Buffer, seed: int = 0) -> int:
    """Return the xxHash32 of the bytes: the checksum of lz4's frame header and blocks."""
    size, mask = len(data), 0xFFFFFFFF
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    striped_size = size - size % _STRIPE.size
    value = (seed + p5) & mask
    if striped_size:
        a, b, c, d = (seed + p1 + p2) & mask, (seed + p2) & mask, seed, (seed - p1) & mask
        for w, x, y, z in _STRIPE.iter_unpack(memoryview(data)[:striped_size]):
            a = (a + w * p2) & mask
            a = ((a << 13 | a >> 19) * p1) & mask
            b = (b + x * p2) & mask
            b = ((b << 13 | b >> 19) * p1) & mask
            c = (c + y * p2) & mask
            c = ((c << 13 | c >> 19) * p1) & mask
            d = (d + z * p2) & mask
            d = ((d << 13 | d >> 19) * p1) & mask
        value = sum((v << r & mask) | v >> (32 - r) for v, r in ((a, 1), (b, 7), (c, 12), (d, 18))) & mask
    value = (value + size) & mask
    aligned_size = size - size % 4
    for position in range(striped_size, aligned_size, 4):
        value = (value + _UINT32_LE.unpack_from(data, position)[0] * p3) & mask
        value = (((value << 17 & mask) | value >> 15) * p4) & mask
    for byte in data[aligned_size:]:
        value = (value + byte * p5) & mask
        value = (((value << 11 & mask) | value >> 21) * p1) & mask
    value = ((value ^ value >> 15) * p2) & mask
    value = ((value ^ value >> 13) * p3) & mask
    return value ^ value >> 16


def _too_large(position: int, limit: int, size: int | str) -> LimitError:
    return LimitError(position, "decompressed size", f"at most {limit} bytes", size)


def _gzip(data: memoryview, limit: int, _magic: int) -> Buffer:
    out = bytearray()
    position = _gzip_member(data, 0, out, limit)
    while (
        len(data) - position > GZIP_SMALLEST_MEMBER
        and data[position : position + len(GZIP_MEMBER)] == GZIP_MEMBER
    ):
        position = _gzip_member(data, position, out, limit)
    return out


def _gzip_member(data: memoryview, start: int, out: bytearray, limit: int) -> int:
    stream, position = zlib.decompressobj(GZIP_WINDOW), start
    while not stream.eof:
        if position >= len(data):
            raise TruncatedError(start, "gzip", "a whole gzip member", f"{len(data) - start} bytes of it")
        chunk = bytes(data[position : position + GZIP_CHUNK])
        if position == start:
            # zlib refuses reserved flags, java.util.zip passes them over
            chunk = chunk[:3] + bytes(flags & GZIP_FLAGS for flags in chunk[3:4]) + chunk[4:]
        try:
            # one byte above the limit shows an overrun, and a bound of 0 would be none
            out += stream.decompress(chunk, limit - len(out) + 1)
        except zlib.error as error:
            raise CorruptError(start, "gzip", "a gzip member", str(error)) from error
        if len(out) > limit:
            raise _too_large(start, limit, "more")
        position += len(chunk) - len(stream.unused_data)
    return position


def _snappy(data: memoryview, limit: int, _magic: int) -> Buffer:
    import cramjam

    out = bytearray()
    for start, end in _snappy_blocks(data):
        block = data[start:end]
        try:
            size = int(cramjam.snappy.decompress_raw_len(block))
            if len(out) + size > limit:
                raise _too_large(start, limit, len(out) + size)
            room = bytearray(size)
            cramjam.snappy.decompress_raw_into(block, room)
        except cramjam.DecompressionError as error:
            raise CorruptError(start, "snappy block", "a snappy block", str(error)) from error
        # the common single block is handed on as it is, not copied
        if out:
            out += room
        else:
            out = room
    return out


def _snappy_blocks(data: memoryview) -> Iterator[tuple[int, int]]:
    if not data:
        raise TruncatedError(0, "snappy", "a block", "0 bytes")
    if len(data) < XERIAL_HEADER_SIZE or data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        yield 0, len(data)
        return
    position = XERIAL_HEADER_SIZE
    # fewer than four bytes after the last block are passed over, as SnappyInputStream does
    while len(data) - position >= _INT32_STRUCT.size:
        start = position + _INT32_STRUCT.size
        if data[position:start] == XERIAL_MAGIC[: _INT32_STRUCT.size]:
            # streams may follow each other; what only begins like a header ends the stream, there as here
            remaining = len(data) - position
            if remaining < XERIAL_HEADER_SIZE:
                raise TruncatedError(position, "snappy header", f"{XERIAL_HEADER_SIZE} bytes", remaining)
            if data[position : position + len(XERIAL_MAGIC)] != XERIAL_MAGIC:
                return
            position += XERIAL_HEADER_SIZE
            continue
        length = _INT32_STRUCT.unpack_from(data, position)[0]
        if length < 0:
            raise CorruptError(position, "snappy block length", "0 or more", length)
        if length > len(data) - start:
            raise TruncatedError(position, "snappy block", f"{length} bytes", len(data) - start)
        yield start, start + length
        position = start + length


def _lz4(data: memoryview, limit: int, magic: int) -> Buffer:
    import cramjam

    flags, largest, position = _lz4_frame(data, magic)
    out, room = bytearray(), bytearray(largest)
    while size := _little_uint32(data, position, "lz4 block size") & ~LZ4_STORED:
        is_stored = data[position + 3] & 0x80
        start = position + 4
        if size > largest:
            raise CorruptError(position, "lz4 block size", f"at most {largest}", size)
        if size > len(data) - start:
            raise TruncatedError(position, "lz4 block", f"{size} bytes", len(data) - start)
        block = data[start : start + size]
        try:
            end = None if is_stored else cramjam.lz4.decompress_block_into(block, room, output_len=len(room))
            out += block if is_stored else room[:end]
        except cramjam.DecompressionError as error:
            raise CorruptError(start, "lz4 block", f"at most {largest} bytes", str(error)) from error
        if len(out) > limit:
            raise _too_large(start, limit, len(out))
        position = start + size
        if flags & LZ4_FLG_BLOCK_CHECKSUM:
            expected = _little_uint32(data, position, "lz4 block checksum")
            if (checksum := xxhash32(block)) != expected:
                raise CorruptError(position, "lz4 block checksum", expected, checksum)
            position += 4
    if flags & LZ4_FLG_CONTENT_CHECKSUM:
        _little_uint32(data, position + 4, "lz4 content checksum")
    return out


def _lz4_frame(data: memoryview, magic: int) -> tuple[int, int, int]:
    """Return the flags of a frame, the size of its largest block, and where its first one begins."""
    if len(data) < 6:
        raise TruncatedError(0, "lz4 frame header", "7 bytes", len(data))
    if (frame_magic := _UINT32_LE.unpack_from(data)[0]) != LZ4_MAGIC:
        raise CorruptError(0, "lz4 magic", LZ4_MAGIC, frame_magic)
    flg, bd = data[4], data[5]
    if flg >> 6 != 1:
        raise UnsupportedError(4, "lz4 version", 1, flg >> 6)
    if flg & LZ4_FLG_RESERVED:
        raise CorruptError(4, "lz4 FLG", "reserved bits of 0", flg)
    if not flg & LZ4_FLG_INDEPENDENT:
        raise UnsupportedError(4, "lz4 FLG", "independent blocks", flg)
    if bd & LZ4_BD_RESERVED or bd >> 4 < 4:
        raise CorruptError(5, "lz4 BD", "64, 80, 96 or 112", bd)
    end = 14 if flg & LZ4_FLG_CONTENT_SIZE else 6
    if len(data) <= end:
        raise TruncatedError(0, "lz4 frame header", f"{end + 1} bytes", len(data))
    # clients of magic 0 hashed the frame's magic as well: that checksum is not looked at
    if magic > 0 and (expected := _lz4_header_checksum(bytes(data[4:end]))) != data[end]:
        raise CorruptError(end, "lz4 header checksum", expected, data[end])
    return flg, 1 << (2 * (bd >> 4) + 8), end + 1


@lru_cache(maxsize=256)
def _lz4_header_checksum(descriptor: bytes) -> int:
    # one producer's frames have the same few bytes; hashing them anew took a third of a small frame's time
    return xxhash32(descriptor) >> 8 & 0xFF


def _little_uint32(data: memoryview, position: int, field: str) -> int:
    if len(data) - position < _UINT32_LE.size:
        raise TruncatedError(position, field, "4 bytes", max(len(data) - position, 0))
    return int(_UINT32_LE.unpack_from(data, position)[0])


def _zstd(data: memoryview, limit: int, _magic: int) -> Buffer:
    import cramjam

    largest = _zstd_largest(data, limit)
    out = bytearray(min(largest, limit))
    try:
        written = cramjam.zstd.decompress_into(data, out)
    except cramjam.DecompressionError as error:
        # nothing else can overrun a buffer: without a limit in the way it holds the largest size that the
        # blocks allow
        if largest > limit and "whole buffer" in str(error):
            raise _too_large(0, limit, "more") from error
        raise CorruptError(0, "zstd", "zstd frames", str(error)) from error
    del out[written:]
    return out


def _zstd_largest(data: memoryview, limit: int) -> int:
    """Return the most bytes that the frames can expand to; what they say besides their sizes zstd judges."""
    start = total = 0
    while start < len(data) or not start:
        magic = _little_uint32(data, start, "zstd magic")
        if magic & ~0xF == ZSTD_SKIPPABLE:
            end = start + 8 + _little_uint32(data, start + 4, "zstd skippable frame")
        elif magic == ZSTD_MAGIC:
            end, size = _zstd_frame(data, start, limit)
            total += size
        else:
            raise CorruptError(start, "zstd magic", ZSTD_MAGIC, magic)
        if end > len(data):
            raise _cut_zstd(data, start)
        start = end
    return total


def _zstd_frame(data: memoryview, start: int, limit: int) -> tuple[int, int]:
    """Return where a frame ends, and the most bytes that it can expand to."""
    descriptor = int.from_bytes(data[start + 4 : start + 5], "little")
    is_single = descriptor >> 5 & 1
    content_bytes = (is_single, 2, 4, 8)[descriptor >> 6]
    content_start = start + 6 - is_single + (0, 1, 2, 4)[descriptor & 3]
    position, total, last = content_start + content_bytes, 0, 0
    content = int.from_bytes(data[content_start:position], "little") + (256 if content_bytes == 2 else 0)
    if content > limit:
        raise _too_large(start, limit, content)
    while not last:
        if position + 3 > len(data):
            raise _cut_zstd(data, start)
        header = int.from_bytes(data[position : position + 3], "little")
        last, block, size = header & 1, header >> 1 & 3, header >> 3
        total += ZSTD_LARGEST_BLOCK if block == ZSTD_COMPRESSED else size
        position += 3 + (1 if block == ZSTD_RLE else size)
    return position + (descriptor & 4), min(content, total) if content_bytes else total


def _cut_zstd(data: memoryview, start: int) -> TruncatedError:
    return TruncatedError(start, "zstd frame", "a whole frame", f"{len(data) - start} bytes of it")


_CODECS = {GZIP: _gzip, SNAPPY: _snappy, LZ4: _lz4, ZSTD: _zstd}
