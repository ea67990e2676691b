"""The table of batch formats against the layouts and readers that it names."""

import pytest

from formats import legacy
from formats.batch import BATCH, CRC_FROM, LOG_OVERHEAD, MAGIC_V2, SMALLEST_LENGTH
from formats.bulk import SMALLEST_LENGTHS
from formats.errors import TruncatedError, UnsupportedError
from formats.magic import (
    BATCH_FORMATS,
    LATEST,
    format_of,
    is_legacy,
    is_valid,
    magic_of,
    read_header,
    record_count,
)
from tests.builders import attempt, put_record, put_records
from tests.formats.recorded import LEGACY, LOGS, batches

BATCH_OF_2 = put_records([put_record(value=b"v")])


def test_the_table_has_a_row_for_each_magic_up_to_the_latest():
    assert [*BATCH_FORMATS] == [*range(LATEST + 1)]
    smallest = [row.smallest_length for row in BATCH_FORMATS.values()]
    assert smallest == [14, 22, 49] == SMALLEST_LENGTHS.tolist()
    assert min(smallest) == SMALLEST_LENGTH


@pytest.mark.parametrize("magic", BATCH_FORMATS)
def test_offset_length_and_magic_lie_at_the_same_bytes_in_every_format(magic):
    layout = BATCH_FORMATS[magic].layout
    first, length, *_ = layout.fields
    assert (first.offset, layout.span(length.name), layout.span("magic")) == (0, (8, 12), (16, 17))
    assert length.name in {"batch_length", "message_size"}


@pytest.mark.parametrize(("magic", "read_as"), [(-128, 1), (-1, 1), (0, 0), (1, 1), (2, 2), (3, 2), (127, 2)])
def test_numbers_that_no_release_writes_are_read_as_kafka_reads_them(magic, read_as):
    assert format_of(magic) is BATCH_FORMATS[read_as]
    assert is_legacy(magic) == (read_as < MAGIC_V2)


@pytest.mark.parametrize("name", [*LOGS, *LEGACY])
def test_recorded_batches_have_the_checksum_that_their_row_says(name):
    for _, raw in batches(f"{name}.log"):
        row = format_of(magic_of(raw))
        (stored,) = row.stored_crc.unpack_from(raw)
        assert (row.checksum(raw[row.crc_from :], 0) == stored) == is_valid(raw)
        assert not is_legacy(magic_of(raw)) or is_valid(raw) == legacy.is_valid(raw)
        assert len(raw) >= LOG_OVERHEAD + row.smallest_length
        header = read_header(b"??" + raw, 2)
        assert (header.magic, header.size) == (magic_of(raw), len(raw))


def test_a_header_is_read_by_its_magic():
    assert read_header(BATCH_OF_2) == BATCH.read(BATCH_OF_2)
    for size in range(BATCH.size):
        assert isinstance(attempt(read_header, BATCH_OF_2[:size]), TruncatedError)
    negative = BATCH_OF_2[:16] + b"\xff" + BATCH_OF_2[17:]
    assert magic_of(negative) == -1
    with pytest.raises(UnsupportedError):
        read_header(negative)


def test_the_checksum_of_a_record_batch_covers_neither_magic_nor_what_precedes_it():
    flipped = bytearray(BATCH_OF_2)
    flipped[CRC_FROM - 5] ^= 1
    assert is_valid(flipped)
    flipped[CRC_FROM] ^= 1
    assert not is_valid(flipped)


@pytest.mark.parametrize(("count", "says"), [(0, 0), (2, 2), (3, None), (-1, None), (2**31 - 1, None)])
def test_a_header_does_not_tell_its_records_where_they_are_more_than_its_offsets(count, says):
    header = read_header(put_records([put_record(), put_record(offset_delta=1)]))
    assert record_count(header._replace(records_count=count)) == says


def test_a_compressed_message_of_magic_1_does_not_tell_its_records():
    counts = {
        (header.codec > 0, record_count(header))
        for name in LEGACY
        for header in (read_header(raw) for _, raw in batches(f"{name}.log"))
        if is_legacy(header.magic)
    }
    assert counts == {(False, 1), (True, None)}
