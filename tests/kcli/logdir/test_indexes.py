"""Index files: entries, lookups, and where preallocation begins."""

import pytest

from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.indexes import OffsetIndexFile, TimeIndexFile
from kcli.logdir.segment import Segment
from tests.partitions import offset_entries, segment, time_entries

PREALLOCATED = 10 * 1024 * 1024


def place(tmp_path, index=b"", timeindex=b"", base=100):
    segment(tmp_path / "t-0", base, b"", index, timeindex)
    return Segment(str(tmp_path / "t-0"), base, f"{base:020d}", frozenset({"log", "index", "timeindex"}))


def offset_index(files):
    return OffsetIndexFile(files.path("index"), files.base_offset)


def time_index(files):
    return TimeIndexFile(files.path("timeindex"), files.base_offset)


@pytest.mark.parametrize(
    ("entries", "valid", "empty_tail"),
    [
        (b"", 0, False),
        (offset_entries((5, 50)), 1, False),
        (offset_entries((5, 50), (9, 90)), 2, False),
        (offset_entries((5, 50), (9, 90), (0, 0)), 2, True),
        (offset_entries((5, 50), (9, 90), (9, 95), (0, 0)), 2, True),
        (offset_entries((5, 50), (9, 90), (12, 70), (0, 0)), 2, True),
        (offset_entries((5, 50), (9, 1000)), 1, False),
        (offset_entries((5, 50), (9, 990)) + b"\0\0\0", 2, False),
        (bytes(16), 0, True),
        (bytes(8), 0, False),
        (bytes(7), 0, False),
    ],
)
def test_valid_offset_entries(tmp_path, entries, valid, empty_tail):
    with offset_index(place(tmp_path, entries)) as index:
        assert (index.valid_entries(1000), index.has_empty_tail) == (valid, empty_tail)
        assert index.partial_bytes == len(entries) % 8


def test_little_is_read_of_a_preallocated_index(tmp_path, monkeypatch):
    written = offset_entries(*((n, n * 10) for n in range(1, 5001)))
    read = []
    original = DataFile.read
    monkeypatch.setattr(
        DataFile, "read", lambda file, at, size: read.append(size) or original(file, at, size)
    )
    with offset_index(place(tmp_path, written + bytes(PREALLOCATED - len(written)))) as index:
        assert index.entries == PREALLOCATED // 8
        valid = index.valid_entries(10**9)
        assert valid == 5000
        assert index.lookup(100 + 4321, valid) == (4421, 43210)
        assert index.lookup(100 + 9999, valid) == (5100, 50000)
        assert index.lookup(99, valid) == (100, 0)
    assert sum(read) < 100_000


def test_lookups(tmp_path):
    files = place(tmp_path, offset_entries((5, 50), (9, 90)), time_entries((1000, 5), (2000, 9)))
    with offset_index(files) as index, time_index(files) as times:
        assert [index.lookup(offset) for offset in (0, 104, 105, 108, 109, 500)] == [
            (100, 0),
            (100, 0),
            (105, 50),
            (105, 50),
            (109, 90),
            (109, 90),
        ]
        assert [times.lookup(moment) for moment in (999, 1000, 1999, 2000, 9999)] == [
            (-1, 100),
            (1000, 105),
            (1000, 105),
            (2000, 109),
            (2000, 109),
        ]
        assert (index.entry(-1), index.entry(1), index.position(0)) == ((100, 0), (109, 90), 50)
        assert (times.entry(-1), times.entry(1)) == ((-1, 100), (2000, 109))


def test_a_slot_that_is_not_there(tmp_path):
    with offset_index(place(tmp_path, offset_entries((5, 50)))) as index:
        for slot in (-1, 1):
            with pytest.raises(FileError) as error:
                index.raw(slot)
            assert error.value.code == "out-of-range"


def test_an_index_that_shrinks(tmp_path):
    files = place(tmp_path, offset_entries(*((n, n) for n in range(1, 4000))))
    with offset_index(files) as index:
        (tmp_path / "t-0" / f"{100:020d}.index").write_bytes(b"")
        with pytest.raises(FileError) as error:
            index.valid_entries(10)
        assert error.value.code == "changed"
