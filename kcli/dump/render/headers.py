"""The headers of records as rows have them."""

from collections.abc import Iterator

from formats.record_columns import RecordColumns
from kcli.dump.block import contents_at
from kcli.dump.shown_bytes import salted
from kcli.rows.dump import RecordHeader


def record_headers(records: RecordColumns, salt: bytes | None) -> Iterator[tuple[RecordHeader, ...]]:
    """Yield the headers of each record; with a salt their keys are hashed."""
    keys = contents_at(records.data, records.header_key_start, records.header_key_length)
    values = contents_at(records.data, records.header_value_start, records.header_value_length)
    pairs = [
        RecordHeader(_header_key(key or b"", salt), value) for key, value in zip(keys, values, strict=True)
    ]
    for first, count in zip(records.headers_first.tolist(), records.headers_count.tolist(), strict=True):
        yield tuple(pairs[first : first + count])


def _header_key(key: bytes, salt: bytes | None) -> str:
    return key.decode(errors="backslashreplace") if salt is None else salted(key, salt)
