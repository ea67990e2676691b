"""Records of magic 2: what producers were given, vectors, damage."""

import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.batch import BATCH, HEADER_SIZE
from formats.errors import CorruptError, LimitError, TruncatedError, UnsupportedError
from formats.magic import is_legacy, is_valid, magic_of
from formats.record import SHORTEST_KEYS, Record, batch_records, records
from tests.builders import attempt, compress, put_batch, put_record, put_records, put_varint
from tests.formats.recorded import FOLDER, LOGS, batches, stored
from tests.seeds import examples

LIMIT = 1 << 20

TWO_RECORDS = bytes.fromhex(
    "00000000000000050000004c0000000302494e5db40000000000010000018bcfe568000000018bcfe5680affffffffffff"
    "ffffffffffffffff0000000214000000046b31047631001e001402010476320402680278026e01"
)
COMMIT_MARKER = bytes.fromhex(
    "000000000000000700000042000000030283fc2b790030000000000000018bcfe568140000018bcfe568140000000000000fa0"
    "0002ffffffff000000012000000008000000010c00000000000700"
)


def test_the_files_are_the_ones_that_the_readme_names():
    rows = re.findall(
        r"^\| `(\S+)` \| `\S+` \| (\d+) \| `([0-9a-f]{64})`", (FOLDER / "README.md").read_text(), re.MULTILINE
    )
    assert {name for name, _, _ in rows} >= {f"{name}.log" for name in LOGS}
    for name, size, digest in rows:
        assert (len(stored(name)), hashlib.sha256(stored(name)).hexdigest()) == (int(size), digest)


def test_keys_values_and_headers_are_what_the_producer_was_given():
    def raw(text):
        return None if text is None else base64.b64decode(text)

    given_records = [
        (raw(row["k"]), raw(row["v"]), tuple((name.encode(), raw(value)) for name, value in row.get("h", [])))
        for row in json.loads(stored("shapes.records.json"))
    ]
    found = [record for _, batch in batches("shapes.log") for record in batch_records(batch, LIMIT)]
    assert [(record.key, record.value, record.headers) for record in found] == given_records * 3


def test_vector_of_two_records():
    assert is_valid(TWO_RECORDS)
    assert BATCH.read(TWO_RECORDS).crc == 1229872564
    assert list(batch_records(TWO_RECORDS, 0)) == [
        Record(5, 1700000000000, -1, b"k1", b"v1", (), 0),
        Record(6, 1700000000010, -1, None, b"v2", ((b"h", b"x"), (b"n", None)), 0),
    ]


def test_vector_of_a_commit_marker():
    assert is_valid(COMMIT_MARKER)
    header = BATCH.read(COMMIT_MARKER)
    assert (header.crc, header.is_control, header.is_transactional) == (2214341497, True, True)
    assert list(batch_records(COMMIT_MARKER, 0)) == [
        Record(7, 1700000000020, -1, b"\0\0\0\1", b"\0\0\0\0\0\7", (), 0)
    ]


nullable = st.none() | st.binary(max_size=200)
any_record = st.tuples(
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(-(1 << 63), (1 << 63) - 1),
    nullable,
    nullable,
    st.lists(st.tuples(st.binary(max_size=20), nullable), max_size=4).map(tuple),
    st.integers(0, 255),
)


@examples(100)
@given(st.lists(any_record, max_size=5), st.integers(0, 4))
def test_records_come_back_as_written(rows, codec):
    batch = put_records([put_record(*row) for row in rows], codec, base_offset=1 << 40)
    assert is_valid(batch)
    found = [
        (r.offset - (1 << 40), r.timestamp, r.key, r.value, r.headers, r.attributes)
        for r in batch_records(batch, LIMIT)
    ]
    assert found == rows


def test_timestamps_and_offsets_wrap_as_a_java_long():
    batch = put_records([put_record(1, 1)], base_timestamp=(1 << 63) - 1, base_offset=(1 << 63) - 1)
    (record,) = batch_records(batch, LIMIT)
    assert (record.timestamp, record.offset) == (-(1 << 63), -(1 << 63))


def test_log_append_time_overrides_the_deltas():
    (record,) = batch_records(
        put_records([put_record(0, 55)], attributes=8, base_timestamp=7, max_timestamp=99), LIMIT
    )
    assert record.timestamp == 99


@pytest.mark.parametrize(
    ("base", "delta", "expected"),
    [
        (0, 3, 3),
        (2147483647, 0, 2147483647),
        (2147483647, 1, 0),
        (2147483640, 10, 2),
        (-1, 3, -1),
        (5, -1, -2147483644),
        (5, -64, 2147483589),
    ],
)
def test_sequences_are_what_kafka_makes_of_them(base, delta, expected):
    (record,) = batch_records(put_records([put_record(delta)], base_sequence=base), LIMIT)
    assert record.sequence == expected


RECORD = put_record(0, 0, b"key", b"value", ((b"h", b"x"),))


def test_an_empty_batch_has_no_records_and_its_payload_is_not_looked_at():
    assert list(batch_records(put_batch(b"", 0), LIMIT)) == []
    assert list(batch_records(put_batch(b"garbage", 0, attributes=7), LIMIT)) == []


@pytest.mark.parametrize(
    ("payload", "count", "error", "field", "position"),
    [
        (RECORD, -1, CorruptError, "records count", 57),
        (RECORD, 2, TruncatedError, "record length", HEADER_SIZE + len(RECORD)),
        (RECORD + RECORD, 1, CorruptError, "records", HEADER_SIZE + len(RECORD)),
        (RECORD + b"\0", 1, CorruptError, "records", HEADER_SIZE + len(RECORD)),
        (RECORD[:-1], 1, TruncatedError, "record", HEADER_SIZE),
        (put_varint(-5) + RECORD, 1, CorruptError, "record length", HEADER_SIZE),
        (put_varint(0), 1, CorruptError, "record length", HEADER_SIZE),
        (put_varint(0x7FFFFFFF) + RECORD, 1, TruncatedError, "record", HEADER_SIZE),
        (b"\xff\xff\xff\xff\xff\x01", 1, CorruptError, "record length", HEADER_SIZE),
        (put_varint(6) + b"\0\0\0\x7e\1\0" + bytes(80), 1, CorruptError, "key length", HEADER_SIZE + 4),
        (put_varint(6) + b"\0\0\0\1\x7e\0" + bytes(80), 1, CorruptError, "value length", HEADER_SIZE + 5),
        (put_varint(6) + b"\0\0\0\1\1\1", 1, CorruptError, "headers count", HEADER_SIZE + 6),
        (put_varint(6) + b"\0\0\0\1\1\x02", 1, CorruptError, "headers count", HEADER_SIZE + 6),
        (put_varint(8) + b"\0\0\0\1\1\x02\1\1", 1, CorruptError, "header key", HEADER_SIZE + 7),
        (put_varint(7) + b"\0\0\0\1\1\0\0", 1, CorruptError, "record length", HEADER_SIZE),
    ],
)
def test_contradictions_of_a_record(payload, count, error, field, position):
    with pytest.raises(error) as caught:
        list(batch_records(put_batch(payload, count), LIMIT))
    assert (caught.value.field, caught.value.position) == (field, position)


def test_records_before_the_damage_are_yielded():
    found = batch_records(put_batch(RECORD + RECORD[:-1], 2), LIMIT)
    assert next(found).key == b"key"
    with pytest.raises(TruncatedError):
        next(found)


def test_damage_after_a_codec_names_the_stream_and_the_decompressed_byte():
    with pytest.raises(TruncatedError) as caught:
        list(batch_records(put_batch(compress(4, RECORD[:-1]), 1, attributes=4), LIMIT))
    assert (caught.value.position, caught.value.field) == (HEADER_SIZE, "record at decompressed byte 0")


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs_are_unsupported(codec):
    with pytest.raises(UnsupportedError) as caught:
        list(batch_records(put_batch(RECORD, 1, attributes=codec), LIMIT))
    assert (caught.value.field, caught.value.found, caught.value.position) == ("codec", codec, 22)


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (b"", TruncatedError),
        (TWO_RECORDS[:16], TruncatedError),
        (TWO_RECORDS[:60], TruncatedError),
        (TWO_RECORDS[:-1], TruncatedError),
        (TWO_RECORDS[:16] + b"\x01" + TWO_RECORDS[17:], UnsupportedError),
        (TWO_RECORDS[:16] + b"\xff" + TWO_RECORDS[17:], UnsupportedError),
        (TWO_RECORDS[:16] + b"\x03", TruncatedError),
        (TWO_RECORDS[:8] + b"\xff\xff\xff\xff" + TWO_RECORDS[12:], CorruptError),
        (TWO_RECORDS[:8] + b"\0\0\0\x30" + TWO_RECORDS[12:], CorruptError),
    ],
)
def test_a_header_that_cannot_be(batch, error):
    with pytest.raises(error):
        list(batch_records(batch, LIMIT))


def test_bytes_after_the_batch_do_not_matter():
    assert list(batch_records(memoryview(TWO_RECORDS + b"more"), LIMIT)) == list(
        batch_records(TWO_RECORDS, LIMIT)
    )


def test_positions_start_at_the_base():
    header = BATCH.read(put_batch(RECORD[:-1], 1))
    with pytest.raises(TruncatedError) as caught:
        list(records(header, bytes(1000) + RECORD[:-1], 1000, LIMIT))
    assert caught.value.position == 1000


@pytest.mark.parametrize("keys", [(SHORTEST_KEYS,), (SHORTEST_KEYS - 1, 1), (1,) * 8])
def test_header_keys_have_a_bound_of_their_own(keys):
    record = put_record(headers=[(b"k" * size, None) for size in keys])
    over = put_record(headers=[(b"k" * size, None) for size in (*keys, SHORTEST_KEYS)])
    assert len(list(batch_records(put_records([record]), 0))) == 1
    with pytest.raises(LimitError, match=f"header keys: expected at most {SHORTEST_KEYS} bytes"):
        list(batch_records(put_records([over]), 0))
    assert len(list(batch_records(put_records([over]), 8 * sum((*keys, SHORTEST_KEYS))))) == 1


def small(name):
    """The smallest batch of a recorded file, cut down by the walk to one that damage tests can afford."""
    return min((batch for _, batch in batches(f"{name}.log")), key=len)


SMALL = {
    "none": put_records([RECORD] * 3),
    **{name: small(name) for name in ("txn", "metadata")},
    **{
        f"own-{codec}": put_records([put_record(n, n, b"key%d" % n, b"value" * 9) for n in range(9)], codec)
        for codec in range(5)
    },
}


@pytest.mark.parametrize("name", SMALL)
def test_every_prefix_is_truncated(name):
    batch = SMALL[name]
    for size in range(len(batch)):
        assert not is_valid(batch[:size])
        with pytest.raises(TruncatedError) as caught:
            list(batch_records(batch[:size], LIMIT))
        assert caught.value.position <= size


@pytest.mark.parametrize("name", SMALL)
def test_every_flipped_byte_is_seen_by_the_crc_or_outside_it(name):
    batch = SMALL[name]
    for at in range(len(batch)):
        for mask in (0xFF, 0x01, 0x80):
            flipped = bytearray(batch)
            flipped[at] ^= mask
            assert is_valid(flipped) == (at < 17 and not is_legacy(magic_of(flipped)))
            found = attempt(lambda batch: list(batch_records(batch, LIMIT)), flipped)
            assert isinstance(found, list) or 0 <= found.position <= len(batch)


@pytest.mark.parametrize("magic", [3, 127])
def test_a_magic_above_2_is_read_as_2(magic):
    batch = TWO_RECORDS[:16] + bytes([magic]) + TWO_RECORDS[17:]
    assert list(batch_records(batch, LIMIT)) == list(batch_records(TWO_RECORDS, LIMIT))
    assert is_valid(batch)
