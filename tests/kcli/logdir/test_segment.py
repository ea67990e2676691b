"""The walk over batches."""

import pytest

from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import SKIP_FROM, WALK_WINDOW, Stop, Walk, batches, next_batch
from tests.builders import put_record, put_records
from tests.partitions import put_range

A, B, C = put_range(0, 3), put_range(3, 2, epoch=1), put_range(5, 5, epoch=2)
LOG = A + B + C


def walked(path, data, **where):
    path.write_bytes(data)
    with DataFile(str(path)) as file:
        walk = Walk(file, **where)
        return [batch.position for batch in walk], walk.stop


@pytest.mark.parametrize(
    ("tail", "reason", "found"),
    [
        (b"", "end", None),
        (b"\0", "short", 1),
        (b"\1" * 17, "short", 17),
        (C[:-1], "incomplete", len(C) - 12),
        (C[:18], "incomplete", len(C) - 12),
        (bytes(18), "zeros", 0),
        (bytes(100_000), "zeros", 0),
        (bytes(17) + b"\1", "bad-length", 0),
        (bytes(8) + (13).to_bytes(4, "big") + bytes(60), "bad-length", 13),
        (b"\xff" * 64, "bad-length", -1),
        (bytes(8) + (48).to_bytes(4, "big") + bytes(4) + b"\2" + bytes(60), "bad-length", 48),
        (bytes(8) + (21).to_bytes(4, "big") + bytes(4) + b"\1" + bytes(60), "bad-length", 21),
        (bytes(8) + (49).to_bytes(4, "big") + bytes(4) + b"\xff" + bytes(60), "bad-magic", -1),
        (bytes(8) + (2**31 - 1).to_bytes(4, "big") + bytes(60), "incomplete", 2**31 - 1),
    ],
)
def test_where_and_why_a_walk_stops(tmp_path, tail, reason, found):
    whole = A + B
    assert walked(tmp_path / "log", whole + tail) == ([0, len(A)], Stop(reason, len(whole), found))


def test_a_walk_of_a_part(tmp_path):
    assert walked(tmp_path / "log", LOG, position=len(A), end=len(A) + len(B)) == (
        [len(A)],
        Stop("end", len(A) + len(B)),
    )
    assert walked(tmp_path / "log", LOG, end=len(A) + 20) == ([0], Stop("incomplete", len(A), len(B) - 12))


def test_every_cut_ends_somewhere(tmp_path):
    for size in range(len(LOG)):
        positions, stop = walked(tmp_path / "log", LOG[:size])
        assert stop.position <= size
        assert len(positions) == sum(size >= end for end in (len(A), len(A) + len(B)))
        assert stop.reason == (
            "end" if stop.position == size else "short" if size - stop.position < 18 else "incomplete"
        )


def test_batches_larger_than_the_window(tmp_path):
    sizes = [WALK_WINDOW * 2 + 5, 10, SKIP_FROM, 1, WALK_WINDOW - 30]
    batches = [put_records([put_record(value=b"x" * size)], base_offset=n) for n, size in enumerate(sizes)]
    positions, stop = walked(tmp_path / "log", b"".join(batches))
    assert positions == [sum(map(len, batches[:n])) for n in range(len(batches))]
    assert stop.reason == "end"


def test_large_batches_are_hopped_over(tmp_path, monkeypatch):
    batches = b"".join(put_records([put_record(value=bytes(1_000_000))], base_offset=n) for n in range(5))
    (tmp_path / "log").write_bytes(batches)
    read = []
    original = DataFile.read
    monkeypatch.setattr(
        DataFile, "read", lambda file, at, size: read.append(size) or original(file, at, size)
    )
    with DataFile(str(tmp_path / "log")) as file:
        assert len(list(Walk(file))) == 5
    assert sum(read) <= WALK_WINDOW + 4 * 61


def negative(batch):
    """Return a batch with the magic -1."""
    return batch[:16] + b"\xff" + batch[17:]


def test_to_nextbatch_a_negative_magic_is_a_batch_and_no_reader_can_read_it(tmp_path):
    (tmp_path / "log").write_bytes(A + negative(B) + C)
    with DataFile(str(tmp_path / "log")) as file:
        assert [found.magic for found in batches(file, 0, file.size)] == [2, -1, 2]
        walk = Walk(file)
        assert [batch.position for batch in walk] == [0]
        assert walk.stop == Stop("bad-magic", len(A), -1)


@pytest.mark.parametrize(
    ("tail", "taken"), [(C, True), (negative(C), True), (C[:-1], False), (bytes(70), False)]
)
def test_what_nextbatch_takes_for_a_batch(tmp_path, tail, taken):
    (tmp_path / "log").write_bytes(A + tail)
    with DataFile(str(tmp_path / "log")) as file:
        found = next_batch(file, len(A), file.size)
        assert (found is not None) == taken
        assert found is None or (found.position, found.size, found.base_offset) == (len(A), len(C), 5)
