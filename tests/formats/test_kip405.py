"""Bytes of KIP-405's layouts, put together by hand from its tables: no release writes them."""

import pytest

from formats.errors import CorruptError, FormatError, UnsupportedError
from formats.kip405 import flat_entries, read_flat_file, read_offsets
from tests.remote_events import FIELDS, FILE, FLAT, STORED, TEXT_ID, entry


def test_a_flat_file_covers_an_offset_and_numbers_its_entries_apart():
    head, start = read_flat_file(FILE)
    assert head == ("foo", TEXT_ID, 42)
    stored, (position, name, fields) = flat_entries(FILE, start)
    segment = {"segmentId": "AAAAAAAAAAAAAAAAAAAAAQ", **FIELDS}
    assert stored == (len(FLAT), "RemoteLogSegmentMetadataRecordStored", segment)
    assert position == len(FLAT) + len(entry(0, STORED))
    assert (name, fields["epoch"]) == ("DeletePartitionStateRecord", 6)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (entry(2, STORED), UnsupportedError),
        (entry(0, STORED, version=1), UnsupportedError),
        (entry(0, STORED + b"\0"), CorruptError),
    ],
)
def test_another_entry_is_refused(data, error):
    with pytest.raises(error) as refused:
        list(flat_entries(FLAT + data, len(FLAT)))
    assert refused.value.position > len(FLAT)


def test_a_flat_file_that_is_cut_gives_the_entries_before():
    for end in range(len(FILE)):
        found = []
        try:
            _, start = read_flat_file(FILE[:end])
            found = list(flat_entries(FILE[:end], start))
        except FormatError:
            assert end not in {len(FLAT), len(FLAT) + len(entry(0, STORED))}
        else:
            assert len(found) == (end > len(FLAT))
    with pytest.raises(UnsupportedError):
        read_flat_file(b"\1" + FILE[1:])


def test_offsets_are_lines_without_a_head():
    assert read_offsets(b"0 2022\n4 104\n2 498\n") == {0: 2022, 4: 104, 2: 498}
    assert read_offsets(b"") == {}
    for bad in (b"0\n", b"0 1 2\n", b"a 1\n", b"0 1\n0 2\n", b"\xff 1\n"):
        with pytest.raises(CorruptError):
            read_offsets(bad)
