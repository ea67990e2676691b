"""The columns of many batches' records are what the plain reader gives, and what it refuses is left to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import record_columns as module
from formats.batch import BATCH, HEADER_SIZE
from formats.record import batch_records
from formats.record_columns import FallbackBatch, headers_at, record_columns
from tests.builders import attempt, compress, joined, put_batch, put_record, put_records, put_varint
from tests.formats.recorded import LEGACY, LOGS, batches, rows
from tests.seeds import examples

pytestmark = pytest.mark.slow

LIMIT = 1 << 20
INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
NULLABLE = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.binary(max_size=20), NULLABLE), max_size=4).map(tuple)
RECORD = put_record(0, 0, b"key", b"value", ((b"h", b"x"), (b"n", None)))


def fast(batches, limit=LIMIT):
    """Return the records of each batch, None for a fallback batch."""
    window, positions = joined(batches)
    found = []
    for item in record_columns(window, positions, limit):
        if isinstance(item, FallbackBatch):
            assert item.number == len(found)
            found.append(None)
            continue
        raws = batches[item.first : item.first + len(item.headers)]
        assert [BATCH.row(*header) for header in item.headers.tolist()] == [BATCH.read(raw) for raw in raws]
        assert (item.first, item.before, item.ends) == (len(found), 0, True)
        found += rows(item)
    assert len(found) == len(batches)
    return found


def plain(batches, limit=LIMIT):
    found = [attempt(lambda batch: list(batch_records(batch, limit)), batch) for batch in batches]
    return [batch if isinstance(batch, list) else None for batch in found]


def check(batches, limit=LIMIT):
    assert fast(batches, limit) == plain(batches, limit)


def test_all_recorded_files_in_one_window():
    new, old = ([batch for name in names for _, batch in batches(f"{name}.log")] for names in (LOGS, LEGACY))
    check(new + old)
    assert (plain(new).count(None), plain(old).count(None)) == (0, len(old))


def test_header_rows_are_zeros_where_a_window_ends():
    window, positions = joined([batch for _, batch in batches("txn.log")])
    (row,) = headers_at(window[:30], [20]).tolist()
    assert row == tuple(BATCH.read(window[20:30] + bytes(HEADER_SIZE)))
    assert headers_at(b"", [0]).tolist() == [tuple(BATCH.read(bytes(HEADER_SIZE)))]
    (given,) = record_columns(window, positions, LIMIT, headers_at(window, positions))
    (found,) = record_columns(window, positions, LIMIT)
    assert rows(given) == rows(found)
    assert not list(record_columns(b"", [], LIMIT))


any_batch = st.builds(
    lambda records, codec, **fields: put_records([put_record(*row) for row in records], codec, **fields),
    st.lists(st.tuples(INTS, LONGS, NULLABLE, NULLABLE, HEADERS, st.integers(0, 255)), max_size=4),
    st.integers(0, 4),
    attributes=st.sampled_from([0, 8, 0x10, 0x38]),
    base_offset=LONGS,
    base_timestamp=LONGS,
    max_timestamp=LONGS,
    base_sequence=INTS,
)
noise = st.builds(put_batch, st.binary(max_size=60), st.integers(-3, 20), attributes=st.integers(0, 0x7F))


@examples(100)
@given(st.lists(any_batch | noise, max_size=6))
def test_any_batches(given_batches):
    check(given_batches)


@examples(300)
@given(
    st.lists(st.binary(max_size=40).map(lambda body: put_varint(len(body)) + body), min_size=1, max_size=4),
    st.integers(0, 2),
)
def test_records_of_noise(bodies, more):
    check(
        [
            put_batch(b"".join(bodies), len(bodies)),
            put_batch(b"".join(bodies) + bytes(more), len(bodies)),
            put_records([RECORD]),
        ]
    )


SMALL = {
    "none": put_records([RECORD] * 3),
    "txn": min((batch for _, batch in batches("txn.log")), key=len),
    "own": put_records(
        [
            put_record(n, n << 50, b"k" * 70 * n, None if n % 2 else b"v" * 70, ((b"h" * 70, b"x"),) * n)
            for n in range(4)
        ]
    ),
    **{
        f"codec-{codec}": put_records([put_record(n, n, b"key%d" % n, b"value" * 9) for n in range(9)], codec)
        for codec in range(1, 5)
    },
}
GOOD = put_records([put_record(1, 2, b"good", None)])


@pytest.mark.parametrize("name", SMALL)
def test_every_prefix(name):
    batch, header = SMALL[name], BATCH.read(SMALL[name])
    cut = [
        put_batch(batch[HEADER_SIZE:size], header.records_count, attributes=header.attributes)
        for size in range(HEADER_SIZE, len(batch))
    ]
    found = fast([batch, *cut, GOOD])
    assert found[1:-1] == [None] * len(cut)
    assert found[0] == plain([batch])[0]
    assert found[-1] == plain([GOOD])[0]
    for size in range(len(batch)):
        assert list(record_columns(batch[:size], [0], LIMIT)) == [FallbackBatch(0)]


def flipped(batch, masks=(0xFF, 0x01, 0x02, 0x80)):
    """Return a batch with every byte changed in some ways: those of the header, and the others."""
    found = []
    for at in range(len(batch)):
        for mask in masks:
            other = bytearray(batch)
            other[at] ^= mask
            found.append(bytes(other))
    return found[: len(masks) * HEADER_SIZE], found[len(masks) * HEADER_SIZE :]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_flipped_byte(monkeypatch, name):
    # more records than any of these bytes hold, and few enough to walk in vain again and again
    monkeypatch.setattr(module, "MOST_RECORDS", 1 << 10)
    headers, others = flipped(SMALL[name])
    # a header that claims another length or magic is judged alone: what follows may fit the claim
    for other in headers:
        assert fast([other]) == plain([other])
    assert fast(others) == plain(others)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [0, 4])
def test_every_flipped_bit_of_plain_records(codec):
    body = b"".join(put_record(n, n << 40, b"k" * n, b"v", ((b"h", None),) * (n % 3)) for n in range(5))
    flipped = []
    for bit in range(len(body) * 8):
        other = bytearray(body)
        other[bit >> 3] ^= 1 << (bit & 7)
        flipped.append(put_batch(compress(codec, bytes(other)), 5, attributes=codec))
    check(flipped)


LARGEST = b"\xfe\xff\xff\xff\x0f"
LONG_ZERO = b"\x80\x80\x80\x80\x00"
TOO_LONG = b"\xff" * 5
TEN = b"\x80" * 9


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (RECORD, -1),
        (RECORD, 0),
        (b"garbage", 0),
        (RECORD, 2),
        (RECORD, 0x7FFFFFFF),
        (RECORD + RECORD, 1),
        (RECORD + b"\0", 1),
        (put_varint(-5) + RECORD, 1),
        (put_varint(0), 1),
        (b"\x0c\0\0\0\1\1\0" + b"\0", 1),
        (LARGEST + RECORD, 1),
        (TOO_LONG + b"\x01", 1),
        (TOO_LONG, 1),
        (b"\x80", 1),
        (LONG_ZERO + RECORD, 1),
        (b"\x8c\x80\x80\x80\x00\0\0\0\1\1\0", 1),  # a length of more bytes than it needs
        (b"\x8c\x80\x80\x80\x70\0\0\0\1\1\0", 1),  # bits beyond the 32nd are lost
        (b"\x8d\x80\x80\x80\x00\0\0\0\1\1\0", 1),
        (put_varint(10) + b"\0\0" + LONG_ZERO + b"\1\1\0", 1),
        (put_varint(10) + b"\0\0" + TOO_LONG + b"\1\1\0", 1),
        (put_varint(15) + b"\0" + TEN + b"\x01\0\1\1\0", 1),
        (put_varint(15) + b"\0" + TEN + b"\x7f\0\1\1\0", 1),
        (put_varint(15) + b"\0" + TEN + b"\x81\0\1\1\0", 1),
        (put_varint(6) + b"\0\0\0\x7e\1\0" + bytes(80), 1),
        (put_varint(6) + b"\0\0\0\1\x7e\0" + bytes(80), 1),
        (put_varint(10) + b"\0\0\0" + LARGEST + b"\1\0", 1),
        (put_varint(10) + b"\0\0\0\1" + LARGEST + b"\0", 1),
        (put_varint(10) + b"\0\0\0\1\1" + LARGEST, 1),
        (put_varint(6) + b"\0\0\0\1\1\1", 1),
        (put_varint(6) + b"\0\0\0\1\1\x02", 1),
        (put_varint(7) + b"\0\0\0\1\1\x02\0", 1),
        (put_varint(8) + b"\0\0\0\1\1\x02\1\1", 1),
        (put_varint(8) + b"\0\0\0\1\1\x02\0\5", 1),
        (put_varint(8) + b"\0\0\0\7\x0b\x02\0\5", 1),
        (put_varint(7) + b"\0\0\0\1\1\0\0", 1),
        (put_varint(7) + b"\0\0\0\1\1\x02\0" + put_varint(1) + b"\1", 2),
        (put_varint(1) + b"\0", 1),
        (put_varint(2) + b"\0\0" + put_varint(6) + b"\0\0\0\1\1\0", 2),
    ],
)
def test_contradictions(payload, count):
    batch = put_batch(payload, count)
    found = fast([GOOD, batch, GOOD])
    assert found == plain([GOOD, batch, GOOD])
    assert found[0] == found[2] == plain([GOOD])[0]
    assert fast([batch]) == found[1:2]
    assert fast([put_batch(compress(3, payload), count, attributes=3)]) == plain(
        [put_batch(compress(3, payload), count, attributes=3)]
    )


@pytest.mark.parametrize(
    ("base", "delta"),
    [
        (0, 3),
        (2147483647, 0),
        (2147483647, 1),
        (2147483640, 10),
        (-1, 3),
        (-7, 3),
        (5, -1),
        (5, -64),
        (0, -(1 << 31)),
        (7, (1 << 31) - 1),
    ],
)
def test_sequences_offsets_and_times_wrap(base, delta):
    far = (1 << 63) - 1
    check([put_records([put_record(delta, far)], base_sequence=base, base_offset=far, base_timestamp=far)])
    check(
        [
            put_records(
                [put_record(delta, -far)],
                base_sequence=base,
                base_offset=-far - 1,
                base_timestamp=-far,
                attributes=8,
            )
        ]
    )


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_the_limit_is_inclusive(codec):
    batch, size = put_records([RECORD] * 50, codec), len(RECORD) * 50
    check([batch], size)
    assert fast([batch], size)[0] is not None
    assert fast([GOOD, batch, GOOD], size - 1)[1] is None


def test_many_headers_are_left_to_the_plain_reader():
    most, more = (
        put_records([put_record(headers=((b"", None),) * count)])
        for count in (module.MOST_HEADERS, module.MOST_HEADERS + 1)
    )
    assert fast([most, more, GOOD]) == [plain([most])[0], None, plain([GOOD])[0]]


def test_long_header_keys_are_left_to_the_plain_reader():
    longest = module.LONGEST_HEADER_KEY
    most, more = (
        put_records([put_record(headers=((b"k" * size, None),))]) for size in (longest, longest + 1)
    )
    assert fast([most, more, GOOD]) == [plain([most])[0], None, plain([GOOD])[0]]


@pytest.mark.parametrize("codec", range(5))
def test_large_batches_are_left_to_the_plain_reader(monkeypatch, codec):
    monkeypatch.setattr(module, "LARGEST_BODY", len(RECORD) * 3)
    found = [put_records([RECORD] * count, codec) for count in (3, 4, 1)]
    assert fast(found) == [plain(found)[0], None, plain(found)[2]]


def test_many_headers_in_all_are_left_to_the_plain_reader(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_BYTES", 40)
    few, more = (put_records([put_record(headers=((b"", None),) * 4)] * count) for count in (5, 6))
    assert fast([few, more, GOOD]) == [plain([few])[0], None, plain([GOOD])[0]]


def test_many_records_are_left_to_the_plain_reader(monkeypatch):
    monkeypatch.setattr(module, "MOST_RECORDS", 3)
    found = [put_records([RECORD] * count, codec) for codec in range(5) for count in (3, 4)]
    assert fast(found) == [None if number % 2 else records for number, records in enumerate(plain(found))]


def test_chunks_are_bounded_and_say_the_same(monkeypatch):
    found = [put_records([put_record(n, 0, b"k" * n)] * n, n % 5, base_offset=n) for n in range(30)]
    window, positions = joined(found)
    monkeypatch.setattr(module, "CHUNK_BYTES", 500)
    by_bytes = list(record_columns(window, positions, LIMIT))
    assert len(by_bytes) > 5
    assert all(len(columns.data) <= 500 or len(columns.headers) == 1 for columns in by_bytes)
    check(found)
    monkeypatch.setattr(module, "CHUNK_BYTES", LIMIT)
    monkeypatch.setattr(module, "CHUNK_RECORDS", 40)
    by_records = list(record_columns(window, positions, LIMIT))
    assert len(by_records) > 5
    assert all(len(columns.offset) <= 40 for columns in by_records)
    check(found)


def test_damaged_batches_between_good_ones_split_the_columns():
    bad = put_batch(RECORD[:-1], 1)
    window, positions = joined([bad, GOOD, SMALL["own"], bad, bad, SMALL["none"], GOOD, bad])
    found = [
        (item.number, 0) if isinstance(item, FallbackBatch) else (item.first, len(item.headers))
        for item in record_columns(window, positions, LIMIT)
    ]
    assert found == [(0, 0), (1, 2), (3, 0), (4, 0), (5, 2), (7, 0)]
    check([bad, GOOD, SMALL["own"], bad, bad, SMALL["none"], GOOD, bad])
