"""Entries of a time index are found in the log where the offset index leads, and where it leads nowhere new, without a second walk."""

import random

import pytest

from kcli.jobs import dump_index
from kcli.jobs.dump_index import Finder
from kcli.logdir.buffers import DataFile
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.segment import Walk
from tests.builders import put_record, put_records
from tests.partitions import offset_entries

BATCHES = 300


@pytest.fixture
def log(tmp_path):
    """A log of batches of one to three records whose offsets rise, but for two of them."""
    choose = random.Random(3)
    data, offset, places = b"", 0, []
    for number in range(BATCHES):
        count = choose.randrange(1, 4)
        base = 0 if number in {100, 200} else offset
        places.append((base + count - 1, len(data)))
        data += put_records([put_record(delta) for delta in range(count)], base_offset=base, last_offset_delta=count - 1)
        offset += count
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(data)
    with DataFile(str(path)) as file:
        yield file, places


def fresh(log, offsets, offset):
    position = offsets.lookup(offset)[1]
    return next((batch for batch in Walk(log, position) if batch.header.last_offset >= offset), None)


@pytest.mark.parametrize("every", [0, 7, 50])
def test_what_is_found_is_what_a_walk_from_the_index_finds(log, tmp_path, every):
    file, places = log
    entries = places[every::every] if every else []
    (tmp_path / "x.index").write_bytes(offset_entries(*entries))
    choose = random.Random(every)
    rising = sorted(choose.randrange(700) for _ in range(200))
    with OffsetIndexFile(str(tmp_path / "x.index"), 0) as offsets:
        finder = Finder(file, offsets)
        for offset in (*rising, *(choose.randrange(700) for _ in range(200))):
            assert finder.batch(offset) == fresh(file, offsets, offset)


def test_without_entries_the_log_is_walked_once(log, monkeypatch):
    walked = 0

    class Counted(Walk):
        def __iter__(self):
            nonlocal walked
            for batch in super().__iter__():
                walked += 1
                yield batch

    monkeypatch.setattr(dump_index, "Walk", Counted)
    file, places = log
    finder = Finder(file, None)
    wanted = sorted({last for last, _ in places if last > 2})
    assert [finder.batch(last).header.last_offset for last in wanted] == wanted
    assert [finder.batch(10**6 + more) for more in range(100)] == [None] * 100
    assert walked <= 3 * BATCHES
