"""Big logs in pieces: the rows are those of the whole log, wherever it is damaged."""

import pickle
import random

import pytest

from formats.batch import LOG_OVERHEAD
from formats.compression import NONE
from kcli.jobs.scan import log_ranges
from kcli.jobs.scan.log_ranges import cut, split_on_chain
from kcli.views import plan, spark
from tests.builders import put_record, put_records
from tests.kcli.dump.random_logs import log as random_log
from tests.kcli.views.reading import read, tasks, written
from tests.partitions import put_range, segment, unit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(3))
def test_pieces_give_the_rows_of_the_whole(seed, tmp_path, monkeypatch):
    chance = random.Random(seed)
    batches = [batch for _ in range(3) for batch in random_log(chance)]
    pieces = 0
    for _ in range(3):
        data = bytearray(b"".join(batches))
        for _ in range(chance.choice([0, 0, 1, 3])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.3:
            at = sum(map(len, batches[: chance.randrange(len(batches))]))
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(300)))
        path = written(tmp_path, batches, data)
        for view in ("batches", "records"):
            whole = read(view, tasks(view, path))
            with monkeypatch.context() as patch:
                patch.setattr(log_ranges, "WRITTEN_RANGE", chance.choice([200, 1000]))
                cut_up = tasks(view, path)
            pieces = max(pieces, len(cut_up))
            assert read(view, cut_up) == whole
    assert pieces > 1


BATCHES = [put_range(number * 5, 5) for number in range(12)]
SIZE = len(BATCHES[0])


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(log_ranges, "WRITTEN_RANGE", SIZE)


def starts(path):
    return [piece.start // SIZE for piece in split_on_chain(unit(path))]


def test_a_sound_log_is_cut_all_along(tmp_path, small):
    path = written(tmp_path, BATCHES)

    assert starts(path) == list(range(12))
    assert [piece.end // SIZE for piece in split_on_chain(unit(path))] == [*range(1, 12), 0]


def test_no_cut_where_a_length_leads_over_it(tmp_path, small):
    data = bytearray(b"".join(BATCHES))
    data[3 * SIZE + 8 : 3 * SIZE + LOG_OVERHEAD] = (3 * SIZE - LOG_OVERHEAD).to_bytes(4, "big")
    path = written(tmp_path, BATCHES, data)

    assert starts(path) == [0, 1, 2, 6, 7, 8, 9, 10, 11]  # batch 3 is no place: its checksum is wrong by now
    assert [row["position"] // SIZE for row in read("batches", tasks("batches", path))] == [
        0,
        1,
        2,
        3,
        6,
        7,
        8,
        9,
        10,
        11,
    ]


def test_no_cut_after_a_broken_chain(tmp_path, small):
    data = bytearray(b"".join(BATCHES))
    data[4 * SIZE + 8] = 0x80
    path = written(tmp_path, BATCHES, data)

    assert starts(path) == [0, 1, 2, 3]
    assert [row["position"] // SIZE for row in read("batches", tasks("batches", path))] == [
        0,
        1,
        2,
        3,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
    ]


def test_no_cut_at_a_batch_inside_of_a_value(tmp_path, small):
    outer = put_records([put_record(value=b"".join(BATCHES[:4]))], NONE, base_offset=60)
    data = b"".join([*BATCHES, outer, *BATCHES])
    inner = data.index(BATCHES[1], 12 * SIZE)
    path = written(tmp_path, [*BATCHES, data[12 * SIZE : inner], data[inner:]], data)

    assert inner in [piece.start for piece in cut(unit(path), SIZE)]
    assert [piece.start for piece in split_on_chain(unit(path))][-1] < inner
    assert len(read("batches", tasks("batches", path))) == 25


@pytest.mark.parametrize("view", ["batches", "records"])
@pytest.mark.parametrize("change", ["broken", "shorter", "gone"])
def test_a_log_that_changes_after_the_plan_gives_no_row_twice(view, change, tmp_path, small):
    path = written(tmp_path, BATCHES)
    groups = tasks(view, path)
    data = bytearray(path.read_bytes())
    if change == "gone":
        path.unlink()
    elif change == "shorter":
        path.write_bytes(data[: 4 * SIZE + 30])
    else:
        data[5 * SIZE + 8] = 0x80
        path.write_bytes(data)

    found = [(row["position"], row.get("offset")) for row in read(view, groups)]

    assert len(groups) == 12
    assert found == sorted(set(found))
    assert {position // SIZE for position, _ in found} == {
        "gone": set(),
        "shorter": {*range(4)},
        "broken": {*range(12)} - {5},
    }[change]


def test_only_a_giant_is_cut(tmp_path, small, monkeypatch):
    for module in (plan, spark):
        monkeypatch.setattr(module, "COST_OF_A_UNIT", 1)
    path = written(tmp_path, BATCHES)
    for number in range(1, 9):
        segment(path.parent, number * 1000, b"".join(BATCHES[:3]))

    def units(cores, **options):
        planned = tasks("batches", path.parent, cores, **options)
        return sum(len(pickle.loads(task)[-1].units) for task in planned)

    assert units(2) == 1 + 8
    assert units(6) == 12 + 8
    assert units(1, partitions="6") == 12 + 8
    assert units(6, offsets="3..8000") == 1 + 8
