"""Makers of messages of magic 0 and 1, whole or broken on purpose, and of the wrappers around them."""

import struct
from zlib import crc32

from tests.builders import compress


def put_field(data):
    """Return a key or value after its length; of (length, bytes) the length is written as given."""
    length, data = data if isinstance(data, tuple) else (-1, b"") if data is None else (len(data), data)
    return struct.pack(">i", length) + data


def put_message(
    offset, magic=1, timestamp=0, key=None, value=None, attributes=0, crc=None, size=None, tail=b""
):
    """Return a message with the right CRC and size, unless they are given; `tail` follows the value."""
    body = struct.pack(">bB", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    body += put_field(key) + put_field(value) + tail
    return (
        struct.pack(
            ">qiI", offset, 4 + len(body) if size is None else size, crc32(body) if crc is None else crc
        )
        + body
    )


def put_wrapper(offset, inner, codec=1, magic=1, timestamp=0, attributes=0, **more):
    """Return a wrapper around the given bytes of messages."""
    return put_message(
        offset, magic, timestamp, value=compress(codec, inner), attributes=attributes | codec, **more
    )


def put_set(first, times, codec=1, magic=1, attributes=0, timestamp=None):
    """Return a wrapper as a broker writes it: messages from offset `first` on, one for each timestamp."""
    start = 0 if magic else first
    inner = [put_message(start + i, magic, at, value=b"v%d" % i) for i, at in enumerate(times)]
    stamp = max(times) if timestamp is None else timestamp
    return put_wrapper(first + len(times) - 1, b"".join(inner), codec, magic, stamp, attributes)


def random_message(choose, offset, magic):
    """Return a message, now and then with a wrong length, codec, CRC or size."""
    rare = lambda chance, usual, *others: choose.choice(others) if choose.random() < chance else usual
    key = rare(
        0.04,
        choose.choice([None, b"", b"k%d" % offset]),
        (-2, b"x"),
        (1000, b"x"),
        (2**31 - 1, b"x"),
        (2**31 - 20, b"x"),
    )
    value = rare(
        0.04,
        choose.choice([None, b"", b"v" * choose.randrange(30)]),
        (-2, b"x"),
        (1000, b"x"),
        (2**31 - 1, b"x"),
        (3, b"x"),
    )
    return put_message(
        offset,
        magic,
        choose.choice([-1, 0, 1000 + offset % 1000, 1 << 40, -5]),
        key,
        value,
        rare(0.05, choose.choice([0, 0, 0, 8]), 1, 2, 9, 0x85, 7),
        rare(0.1, None, 5),
        rare(0.02, None, 0, 13, 14, 15, 21, -1, 100_000),
        rare(0.05, b"", b"zz"),
    )


def random_wrapper(choose):
    """Return a wrapper of few messages, half of them broken: offsets, sizes, the codec's stream, fields."""
    rare = lambda chance, usual, *others: choose.choice(others) if choose.random() < chance else usual
    magic, codec, count = (
        choose.choice([0, 1, 1]),
        choose.choice([1, 2, 3]),
        choose.choice([0, 1, 1, 2, 3, 5, 10]),
    )
    base = choose.choice([0, 0, 5, 1000, 1 << 40, (1 << 63) - 20, -4])
    inner, place = b"", 0
    for _ in range(count):
        offset = rare(
            0.03,
            rare(0.03, place, base + place) if magic else base + place,
            -1,
            (1 << 63) - 1,
            -(1 << 63),
            77,
        )
        inner += random_message(choose, offset, rare(0.05, magic, 0, 1, 2, 7, -1, 127))
        place += choose.choice([1, 1, 1, 2])
    if inner and choose.random() < 0.2:
        inner = inner[: choose.randrange(len(inner))]
    stream = bytearray(compress(codec, inner + rare(0.1, b"", bytes(3), bytes(12), bytes(19))))
    if choose.random() < 0.1:
        stream[choose.randrange(len(stream))] ^= 1 << choose.randrange(8)
    if choose.random() < 0.1:
        del stream[choose.randrange(len(stream)) :]
    value = rare(
        0.03, bytes(stream), (-1, b""), (-2, bytes(stream)), (2, bytes(stream)), (100_000, bytes(stream))
    )
    return put_message(
        rare(0.2, base + max(place - 1, 0), 0, 3, -1, (1 << 63) - 1, -(1 << 63)),
        magic,
        choose.choice([1000, 5000, -1]),
        rare(0.1, None, b"k", (-3, b""), (500, b"")),
        value,
        rare(0.03, codec, *range(8)) | rare(0.3, 0, 8),
        tail=rare(0.05, b"", b"zz"),
    )
