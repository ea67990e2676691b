"""Pieces of a log: they join to what one walk finds, or not at all; damage is bounded and reported."""

import itertools
import random
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.bounds import LARGEST_CONTROL_BATCH
from kcli.kafka.integrity import log_part
from kcli.kafka.integrity.log_part import join
from kcli.logdir import bulk
from kcli.logdir.buffers import DataFile
from tests.builders import put_batch
from tests.formats.recorded import batches, stored
from tests.kcli.kafka.integrity.plain_summary import CONTROL, TRANSACTIONAL, compare, random_batches, read
from tests.partitions import put_range
from tests.seeds import examples

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("tail", [bytes(50), b"\xff" * 50, put_range(9, 1)[:-1], b"\1" * 17])
def test_damage_and_tails(tmp_path, tail):
    wrong = bytearray(put_range(3, 2))
    wrong[-1] ^= 1
    for middle in (b"\xff" * 99, bytes(99), bytes(wrong), bytes(wrong) + b"\xff" * 70, bytes(wrong) * 3):
        compare(tmp_path / "log", put_range(0, 3) + middle + put_range(5, 2) + tail)
        compare(tmp_path / "log", put_range(0, 3) + middle + tail)


def test_a_batch_that_cannot_be_read_twice_over_is_reported_once(tmp_path):
    (tmp_path / "log").write_bytes(
        put_batch(b"no gzip", 1, attributes=1 | TRANSACTIONAL | CONTROL, producer_id=7)
    )

    assert read(tmp_path / "log", unpack=True).unreadable.batches == 1


def test_of_a_huge_marker_no_more_than_needed_is_read(tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(
        put_batch(bytes(9 << 20), 1, attributes=TRANSACTIONAL | CONTROL, producer_id=7)
    )
    read_sizes, reads = [], DataFile.read
    monkeypatch.setattr(
        DataFile, "read", lambda file, at, size: read_sizes.append(size) or reads(file, at, size)
    )

    assert (read(tmp_path / "log").unreadable.batches, max(read_sizes)) == (1, LARGEST_CONTROL_BATCH)


def joined(path, cuts):
    bounds = [0, *cuts, None]
    parts = [read(path, start, end) for start, end in itertools.pairwise(bounds)]
    return reduce(lambda a, b: a and join(a, b), parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["codec-none", "txn", "shapes", "v1-gzip", "v0-none", "metadata"])
def test_pieces_join_at_any_batch(tmp_path, name):
    path = tmp_path / "log"
    path.write_bytes(stored(f"{name}.log"))
    starts = [position for position, _ in batches(f"{name}.log")][1:]
    for cut in starts:
        assert joined(path, [cut]) == read(path)
    assert joined(path, starts) == read(path)


@examples(100)
@given(
    st.integers(0, 10**9),
    st.lists(st.integers(1, 11), min_size=1, max_size=3, unique=True),
    st.integers(0, 3),
)
def test_damaged_pieces_join_rightly_or_not_at_all(tmp_path_factory, seed, cuts, damage):
    rng = random.Random(seed)
    raws = random_batches(seed)
    path = tmp_path_factory.mktemp("log") / "log"
    starts = [sum(map(len, raws[:number])) for number in sorted(cuts)]
    data = bytearray(b"".join(raws))
    for _ in range(damage):
        data[rng.randrange(len(data))] ^= rng.choice([1, 0x80, 0xFF])
    path.write_bytes(data)
    found = joined(path, starts)

    assert found in (None, read(path))
    if not damage:
        assert found is not None


def test_pieces_that_are_not_neighbours_do_not_join(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(put_range(0, 3) * 3)
    size = len(put_range(0, 3))

    assert join(read(path, 0, size), read(path, size, 2 * size)) is not None
    assert join(read(path, 0, size), read(path, 2 * size)) is None
    assert join(read(path, 0, size + 5), read(path, size + 5)) is None
    assert join(read(path, 0, size + 5), read(path, size)) is None


def test_many_windows_and_blocks_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "WINDOW", 700)
    monkeypatch.setattr(log_part, "BATCHES_A_BLOCK", 7)
    compare(tmp_path / "log", b"".join(random_batches(1, 300)))


def test_damaged_ranges_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(log_part, "MOST_GAPS", 3)
    (tmp_path / "log").write_bytes((put_range(0, 1) + b"\xff" * 40) * 6)
    piece = read(tmp_path / "log")

    assert piece.gap_count == 6
    assert [(gap.end - gap.start, gap.next_offset) for gap in piece.gaps] == [(40, 0)] * 3 + [(40, None)]
