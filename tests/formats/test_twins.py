"""Every fast reader beside the plain one (`TWINS`) on the same logs, or a reason why none (`NO_TWIN`)."""

import base64
import inspect
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from formats import bulk, checksums, record_columns
from formats.batch import BATCH, HEADER_UP_TO_MAGIC, LOG_OVERHEAD, MAX_INT, SMALLEST_LENGTH, add_sequence
from formats.control import control_record
from formats.errors import FormatError
from formats.magic import format_of, is_valid, read_header
from formats.messages import flat
from formats.messages.metadata import decode_alike, decode_metadata
from formats.messages.reader import Collector
from formats.messages.remote import read_value
from formats.record import batch_records
from formats.remote_metadata import decode, row_of
from tests.builders import attempt, put_record, put_records, put_unsigned_varint
from tests.formats.recorded import LOGS, batches, stored
from tests.formats.recorded import rows as records_of
from tests.formats.remote_values import VALUES as VALUES_OF_RELEASES
from tests.messages import put_message
from tests.metadata_records import change, partition

pytestmark = pytest.mark.slow

LIMIT = 1 << 20
DAMAGED_COPIES = 6
LONG_NAMES = (126, 127, 249)
"""Bytes of a topic's name: the length of the first is the last of one byte; 249 is the longest."""
_LENGTH = BATCH.only("batch_length")
_MAGIC = BATCH.only("magic")


class Twin(NamedTuple):
    """A fast reader and its plain one: `fast(case)` must equal `plain(case)` for each of the cases."""

    functions: tuple[Callable[..., Any], ...]
    fast: Callable[[Any], Any]
    plain: Callable[[Any], Any]
    cases: Callable[[], list[Any]]


def logs():
    """Return recorded logs and damaged copies of each, and small ones with every byte flipped."""
    chance, found = random.Random("logs"), []
    for name in (*LOGS, "v0-none", "v1-none", "v1-gzip"):
        data = stored(f"{name}.log")[: 1 << 15]
        found.append(data)
        for _ in range(DAMAGED_COPIES):
            damaged = bytearray(data)
            for _ in range(chance.choice([1, 1, 3])):
                damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            found.append(bytes(damaged[: chance.randrange(len(data))] if chance.random() < 0.3 else damaged))
    small = (
        put_records([put_record(key=b"k", value=b"v", headers=[(b"h", None)]), put_record(offset_delta=1)]),
        put_records([put_record(key=b"\0\0\0\1", value=bytes(6))], attributes=0x30, producer_id=5),
        put_message(3, 1, 7, value=b"v") + put_message(4, 0, key=b"k"),
    )
    for data in small:
        for at in range(len(data)):
            found.append(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
    return [*found, put_message(0) * 40]


# Headers of a window


def plain_headers(data):
    """Return the columns of each batch, one by one, where the walk ends and why."""
    found, position = [], 0
    while True:
        left = len(data) - position
        if left <= HEADER_UP_TO_MAGIC:
            return found, position, "short" if left else "end", left or None
        (length,), (magic,) = _LENGTH.unpack_from(data, position), _MAGIC.unpack_from(data, position)
        if length < SMALLEST_LENGTH:
            return found, position, "bad-length", length
        if length > left - LOG_OVERHEAD:
            return found, position, "incomplete", length
        if magic < 0:
            return found, position, "bad-magic", magic
        if length < format_of(magic).smallest_length:
            return found, position, "bad-length", length
        found.append(tuple(read_header(data, position)))
        position += LOG_OVERHEAD + length


def fast_headers(data):
    found = bulk.headers(data, len(data), len(data), only_whole=True)
    assert found.positions.tolist() == found.chain.positions
    return found.fields.tolist(), found.chain.next, found.chain.stop, found.chain.found


# Checksums, records and markers of a window of whole batches


def whole(data):
    """Return the whole batches that a log begins with."""
    found = bulk.headers(data, len(data), len(data), only_whole=True)
    ends = [*found.chain.positions[1:], found.chain.next]
    return [data[at:end] for at, end in zip(found.chain.positions, ends, strict=False)]


def window(data):
    """Return the same side by side, and their headers."""
    side_by_side = b"".join(whole(data))
    return side_by_side, bulk.headers(side_by_side, len(side_by_side), len(side_by_side))


def fast_checksums(data):
    return checksums.valid(*window(data)).tolist()


def fast_records(data):
    """Return the records of each batch, None of one that is left to the plain reader."""
    joined, found = window(data)
    records: list[Any] = []
    for item in record_columns.record_columns(joined, found.positions, LIMIT):
        if isinstance(item, record_columns.FallbackBatch):
            records.append(None)
        else:
            records += records_of(item)
    return records


def plain_records(data):
    found = [attempt(lambda raw: list(batch_records(raw, LIMIT)), raw) for raw in whole(data)]
    return [None if isinstance(records, FormatError) else records for records in found]


def types_of_markers(data):
    joined, found = window(data)
    return bulk.marker_types(joined, found.positions, found.fields).tolist()


def decoded_types(data):
    """Return the types of markers by decoding where the fast reader says one; its -1 is no verdict."""
    decoded = []
    for fast, raw in zip(types_of_markers(data), whole(data), strict=True):
        record = next(iter(batch_records(raw, LIMIT)), None) if fast >= 0 else None
        decoded.append(control_record(record.key, record.value).type if record is not None else -1)
    return decoded


# Rows of headers, sequences


def header_windows():
    return [[batch for _, batch in batches(f"{name}.log")] for name in LOGS]


def fast_rows(raws):
    joined = b"".join(raws)
    positions = np.cumsum([0, *map(len, raws)])[:-1]
    heads = b"".join(raw[: BATCH.size] for raw in raws)
    ways = [
        bulk.gathered(joined, positions),
        bulk.rows(heads, len(raws)),
        bulk.together([bulk.rows(raw, 1) for raw in raws]),
        record_columns.headers_at(joined, positions),
    ]
    return [way.tolist() for way in ways]


def plain_rows(raws):
    return [[tuple(BATCH.read(raw)) for raw in raws]] * 4


def sequences():
    chance = random.Random("sequences")
    edges = [0, 1, MAX_INT - 1, MAX_INT]
    return [
        (chance.choice([*edges, chance.randrange(MAX_INT)]), chance.choice([*edges, -1, -MAX_INT - 1, 77]))
        for _ in range(300)
    ]


def fast_sequence(case):
    return record_columns.add_sequences(*(np.array([number]) for number in case)).tolist()


# Events of remote segments


def events():
    """Return what each release wrote, of short and long names, whole and damaged."""
    chance, found = random.Random("events"), []
    for value in (
        base64.b64decode(record["value"]) for some in VALUES_OF_RELEASES.values() for record in some
    ):
        named = [
            value[:3] + put_unsigned_varint(size + 1) + b"t" * size + value[3 + value[3] :]
            for size in LONG_NAMES
            if value
        ]
        found += [value, *named, *(_damaged(chance, value) for _ in range(DAMAGED_COPIES))]
    return found


def _damaged(chance, value):
    if chance.random() < 0.3:
        return value[: chance.randrange(len(value) + 1)] + chance.randbytes(chance.randrange(3))
    at = chance.choice([0, 1, 2, 3, *range(len(value))]) if value else 0
    return value[:at] + bytes([chance.choice([0, 1, 2, 3, 127, 128, 255])]) + value[at + 1 :]


def fast_event(value):
    return outcome(decode, value)


def plain_event(value):
    def read(value):
        collector = Collector(replace_invalid_utf8=True)
        schema, layout, fields = read_value(value, collector)
        return row_of(schema.api_key, layout, fields, tuple(collector.unknown_tags))

    return outcome(read, value)


def outcome(read, value):
    """Return a record with its type, or an error in words."""
    found = attempt(read, value)
    return (type(found), str(found) if isinstance(found, FormatError) else found)


def metadata_values():
    """Return records of partitions, each also cut and with every bit of every byte flipped; and null."""
    whole = [partition(7), change(3, leader=2, isr=(1, 2)), change(leader=-1, leaderRecoveryState=1)]
    flipped = [
        data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
        for data in whole
        for at in range(len(data))
        for bit in range(8)
    ]
    return [None, b"", *whole, *whole, *(data[:end] for data in whole for end in range(len(data))), *flipped]


TWINS = {
    "headers": Twin((bulk.chain, bulk.headers, bulk.checked), fast_headers, plain_headers, logs),
    "checksums": Twin((checksums.valid,), fast_checksums, lambda data: [*map(is_valid, whole(data))], logs),
    "records": Twin((record_columns.record_columns,), fast_records, plain_records, logs),
    "types of markers": Twin((bulk.marker_types,), types_of_markers, decoded_types, logs),
    "header rows": Twin(
        (bulk.gathered, bulk.rows, bulk.together, record_columns.headers_at),
        fast_rows,
        plain_rows,
        header_windows,
    ),
    "sequences": Twin(
        (record_columns.add_sequences,), fast_sequence, lambda case: [add_sequence(*case)], sequences
    ),
    "records of partitions": Twin(
        (),
        lambda value: str(attempt(decode_alike, value)),
        lambda value: str(attempt(decode_metadata, value, replace_invalid_utf8=True)),
        metadata_values,
    ),
    "events of remote segments": Twin((), fast_event, plain_event, events),
}

NO_TWIN = {
    record_columns.subset: "chooses among columns that are read",
    flat.flat_printer: "messages/test_flat.py compares what it prints",
}

FAST_MODULES = (bulk, checksums, record_columns, flat)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_the_fast_reader_gives_what_the_plain_one_gives(name):
    twin = TWINS[name]
    cases = twin.cases()
    assert cases
    for case in cases:
        assert twin.fast(case) == twin.plain(case), case


def test_every_public_function_of_a_fast_module_has_a_twin():
    public = {
        function
        for module in FAST_MODULES
        for name, function in vars(module).items()
        if callable(function)
        and not inspect.isclass(function)
        and getattr(function, "__module__", None) == module.__name__
        and not name.startswith("_")
    }
    assert public == {function for twin in TWINS.values() for function in twin.functions} | set(NO_TWIN)


def test_some_cases_of_every_reader_of_logs_are_read_and_some_refused():
    stops = {plain_headers(data)[2] for data in logs()}
    assert {"end", "incomplete"} <= stops
    verdicts = [verdict for data in logs() for verdict in fast_checksums(data)]
    left = [records is None for data in logs() for records in fast_records(data)]
    marked = [kind >= 0 for data in logs() for kind in types_of_markers(data)]
    assert all({True, False} <= set(found) for found in (verdicts, left, marked))
