"""The walk over batches, and the log end by the broker's rule."""

import pytest

from kcli.logdir.buffers import DataFile
from kcli.logdir.segment import SKIP_FROM, WINDOW, Segment, Stop, Walk
from tests.builders import put_record, put_records
from tests.partitions import offset_entries, put_range, segment

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
    sizes = [WINDOW * 2 + 5, 10, SKIP_FROM, 1, WINDOW - 30]
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
    assert sum(read) <= WINDOW + 4 * 61


def only(tmp_path, log=LOG, index=b"", base=0):
    segment(tmp_path / "t-0", base, log, index)
    kinds = {"log", "index"} if index is not None else {"log"}
    return Segment(str(tmp_path / "t-0"), base, f"{base:020d}", frozenset(kinds))


B_AT, C_AT = len(A), len(A) + len(B)


@pytest.mark.parametrize(
    ("index", "log", "expected"),
    [
        (b"", LOG, (10, "index", None)),
        (b"", b"", (0, "index", None)),
        (None, LOG, (10, "scan", "no-index")),
        (offset_entries((9, C_AT)), LOG, (10, "index", None)),
        (offset_entries((4, B_AT), (9, C_AT)), LOG, (10, "index", None)),
        (offset_entries((4, B_AT), (9, C_AT)) + bytes(8000), LOG, (10, "index", None)),
        (offset_entries((9, len(LOG))), LOG, (10, "scan", "index-beyond-log")),
        (offset_entries((9, C_AT)), LOG[:C_AT], (5, "scan", "index-beyond-log")),
        (offset_entries((9, C_AT + 1)), LOG, (10, "scan", "chain")),
        (offset_entries((4, C_AT)), LOG, (10, "scan", "chain")),
        (offset_entries((50, C_AT)), LOG, (10, "scan", "chain")),
        (offset_entries((9, C_AT)), LOG + b"\0", (10, "scan", "tail")),
        (b"", LOG[:-1], (5, "scan", "tail")),
        (offset_entries((4, B_AT)), LOG[:-1], (5, "scan", "tail")),
    ],
)
def test_the_log_end(tmp_path, index, log, expected):
    end = only(tmp_path, log, index).log_end()
    assert (end.next_offset, end.source, end.trouble) == expected


def test_the_log_end_tells_the_rest(tmp_path):
    end = only(tmp_path, LOG, offset_entries((9, C_AT)) + bytes(10 * 1024 * 1024)).log_end()
    assert (end.preallocated_index, end.leader_epoch, end.file_grown, end.stop) == (
        True,
        2,
        0,
        Stop("end", len(LOG)),
    )
    empty = only(tmp_path, b"", b"", base=70).log_end()
    assert (empty.next_offset, empty.preallocated_index, empty.leader_epoch) == (70, False, -1)


def test_translate_offset(tmp_path):
    for index in (b"", None, offset_entries((4, B_AT), (9, C_AT)), offset_entries((4, B_AT)) + bytes(800)):
        place = only(tmp_path, index=index)
        with place.open_log() as log:
            found = {target: place.translate_offset(log, target) for target in (0, 2, 3, 4, 5, 9, 10)}
        positions = {target: batch.position if batch else None for target, batch in found.items()}
        assert positions == {0: 0, 2: 0, 3: B_AT, 4: B_AT, 5: C_AT, 9: C_AT, 10: None}
        (tmp_path / "t-0" / f"{0:020d}.index").unlink(missing_ok=True)
