"""Makers of bytes for tests: varints, records, batches; the inverse of the readers in `formats`."""

import gzip

import cramjam

from formats.batch import BATCH, CRC_FROM, HEADER_SIZE, LOG_OVERHEAD, BatchHeader
from formats.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, xxhash32
from formats.crc import crc32c
from formats.errors import FormatError


def attempt(call, *args, **kwargs):
    """Return what a call returns, or the FormatError that it raises; others are the test's failure."""
    try:
        return call(*args, **kwargs)
    except FormatError as error:
        return error


def put_unsigned_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def put_varint(value):
    return put_unsigned_varint((value << 1 ^ value >> 31) & 0xFFFFFFFF)


def put_varlong(value):
    return put_unsigned_varint((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)


def put_bytes(data):
    return put_varint(-1) if data is None else put_varint(len(data)) + data


def put_record(offset_delta=0, timestamp_delta=0, key=None, value=None, headers=(), attributes=0):
    body = bytes([attributes]) + put_varlong(timestamp_delta) + put_varint(offset_delta)
    body += put_bytes(key) + put_bytes(value) + put_varint(len(headers))
    body += b"".join(put_bytes(name) + put_bytes(data) for name, data in headers)
    return put_varint(len(body)) + body


def put_batch(payload, count, **fields):
    """Return a batch around a payload that is already compressed, its length and CRC right."""
    header = BatchHeader(
        0, HEADER_SIZE - LOG_OVERHEAD + len(payload), 0, 2, 0, 0, max(count - 1, 0), 0, 0, -1, -1, -1, count
    )
    header = header._replace(**fields)
    if "crc" not in fields:
        header = header._replace(crc=crc32c(BATCH.pack(header)[CRC_FROM:] + payload))
    return BATCH.pack(header) + payload


def put_records(records, codec=NONE, **fields):
    """Return a batch of records given as bytes."""
    attributes = fields.pop("attributes", 0) | codec
    return put_batch(compress(codec, b"".join(records)), len(records), attributes=attributes, **fields)


def joined(found):
    """Return a window of batches and their positions."""
    positions, size = [], 0
    for batch in found:
        positions.append(size)
        size += len(batch)
    return b"".join(found), positions


def compress(codec, data):
    """Return the stream that Kafka's producer would write for a codec, framing included."""
    return _COMPRESS[codec](data)


def put_xerial(blocks):
    head = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
    return head + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)


def put_lz4(blocks, flg=0x60, bd=0x40, content_size=b"", checksum=None, end=b"\0\0\0\0"):
    """Return a frame of blocks given as (bytes as they stand in the frame, stored?)."""
    descriptor = bytes([flg, bd]) + content_size
    out = (0x184D2204).to_bytes(4, "little") + descriptor
    out += bytes([xxhash32(descriptor) >> 8 & 0xFF if checksum is None else checksum])
    for block, stored in blocks:
        out += (len(block) | (0x80000000 if stored else 0)).to_bytes(4, "little") + block
        if flg & 0x10:
            out += xxhash32(block).to_bytes(4, "little")
    return out + end


def chunks(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


_COMPRESS = {
    NONE: lambda data: data,
    GZIP: lambda data: gzip.compress(data, mtime=0),
    SNAPPY: lambda data: put_xerial(
        [bytes(cramjam.snappy.compress_raw(part)) for part in chunks(data, 32 * 1024)]
    ),
    LZ4: lambda data: put_lz4(
        [
            (bytes(cramjam.lz4.compress_block(part, store_size=False)), False)
            for part in chunks(data, 64 * 1024)
        ]
    ),
    ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
}
