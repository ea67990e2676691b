"""The files under tests/data/batches, and records of columns."""

import gzip
from functools import cache
from pathlib import Path

from formats.batch import LOG_OVERHEAD
from formats.record import Record

FOLDER = Path(__file__).parents[1] / "data" / "batches"
CODECS = ("codec-none", "codec-gzip", "codec-snappy", "codec-lz4", "codec-zstd")
LOGS = (*CODECS, "shapes", "txn", "log-append-time", "metadata")
LEGACY = (
    *(f"v{magic}-{codec}" for magic in (0, 1) for codec in ("none", "gzip", "snappy", "lz4")),
    *(
        "v1-none-append",
        "v1-lz4-append",
        "v0-snappy-raw-block",
        "v0-lz4-other-checksum",
        "v1-lz4-other-checksum",
    ),
)


@cache
def stored(name):
    return gzip.decompress((FOLDER / f"{name}.gz").read_bytes())


def batches(name):
    """Return (position, bytes) of each batch or message: the walk by length alone."""
    data, position, found = stored(name), 0, []
    while position < len(data):
        size = LOG_OVERHEAD + int.from_bytes(data[position + 8 : position + 12], "big")
        found.append((position, data[position : position + size]))
        position += size
    return found


def rows(columns):
    """Return the records of columns, a list for each of their batches."""
    names = ("offset", "timestamp", "sequence", "key_start", "key_length", "value_start", "value_length")
    offset, timestamp, sequence, key, key_length, value, value_length = (
        getattr(columns, name).tolist() for name in names
    )
    data, found = columns.data, [[] for _ in columns.headers]
    for at, batch in enumerate(columns.batch.tolist()):
        first, count = int(columns.headers_first[at]), int(columns.headers_count[at])
        headers = tuple(
            (
                part(data, columns.header_key_start[header], columns.header_key_length[header]),
                part(data, columns.header_value_start[header], columns.header_value_length[header]),
            )
            for header in range(first, first + count)
        )
        keys, values = part(data, key[at], key_length[at]), part(data, value[at], value_length[at])
        found[batch].append(
            Record(
                offset[at], timestamp[at], sequence[at], keys, values, headers, int(columns.attributes[at])
            )
        )
    assert [len(batch) for batch in found] == [
        end - start for start, end in zip(columns.bounds, columns.bounds[1:], strict=False)
    ]
    return found


def part(data, start, length):
    return None if length < 0 else data[start : start + length]
