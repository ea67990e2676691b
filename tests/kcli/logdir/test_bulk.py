"""Twins: the walk in windows gives what plain walk and checksums give, for every byte of every log."""

import os
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import legacy
from formats.batch import MAGIC_V2
from formats.magic import is_valid
from kcli.logdir import bulk
from kcli.logdir.buffers import AS_IT_COMES, DataFile, FileError, Reading
from kcli.logdir.bulk import BulkWalk
from kcli.logdir.segment import SKIP_FROM, Walk
from tests.builders import put_record, put_records
from tests.formats.recorded import LEGACY, LOGS, stored
from tests.partitions import put_range
from tests.seeds import examples

pytestmark = pytest.mark.slow

WINDOWS = ((64, 64), (200, 200), (1000, 1000), (64, 1 << 20), (200, 900))
"""The first window of a walk, and the largest."""
A, B, C = put_range(0, 3), put_range(3, 2, epoch=1), put_range(5, 5, epoch=2, codec=3)
OLD = stored("v1-none.log")[:200] + stored("v0-gzip.log")
LOG = A + B + C


def plain(path, data, start=0, end=None):
    """The batches as the plain readers see them, and the stop."""
    with DataFile(str(path)) as file:
        walk = Walk(file, start, end)
        found = []
        for position, header in walk:
            raw = data[position : position + header.size]
            found.append(
                (position, *header, is_valid(raw) if header.magic >= MAGIC_V2 else legacy.is_valid(raw))
            )
        return found, walk.stop


def in_windows(path, start=0, end=None, verify=True, reading=AS_IT_COMES):
    """The same of the walk in windows; the verdict is None where none was asked for."""
    with DataFile(str(path), reading) as file:
        walk = BulkWalk(file, start, end, verify=verify)
        found = []
        for window in walk:
            verdicts = [None] * len(window.positions) if window.valid is None else window.valid.tolist()
            found += [
                (at, *fields, verdict)
                for at, fields, verdict in zip(
                    window.positions.tolist(), window.fields.tolist(), verdicts, strict=True
                )
            ]
        return found, walk.stop


def twins(path, data, **where):
    path.write_bytes(data)
    expected, stop = plain(path, data, **where)
    assert in_windows(path, **where) == (expected, stop)
    assert in_windows(path, verify=False, **where) == ([(*batch[:-1], None) for batch in expected], stop)


@pytest.fixture(params=WINDOWS)
def window(request, monkeypatch):
    smallest, largest = request.param
    monkeypatch.setattr(bulk, "BULK_WINDOW", largest)
    monkeypatch.setattr(bulk, "SMALLEST_WINDOW", smallest)
    return request.param


@pytest.mark.parametrize("name", [*LOGS, *LEGACY])
def test_recorded(tmp_path, window, name):
    twins(tmp_path / "log", stored(f"{name}.log"))


@pytest.mark.parametrize("data", [LOG, OLD[:400], A + OLD[:200] + B], ids=["new", "old", "mixed"])
def test_every_prefix(tmp_path, window, data):
    for length in range(len(data)):
        twins(tmp_path / "log", data[:length])


@pytest.mark.parametrize("data", [A + B, OLD[:300]], ids=["new", "old"])
def test_every_flipped_byte(tmp_path, window, data):
    for position in range(len(data)):
        bits = (0xFF, 0x01, 0x80)[position % 3]
        twins(tmp_path / "log", data[:position] + bytes([data[position] ^ bits]) + data[position + 1 :])


@pytest.mark.parametrize(
    "tail", [bytes(18), bytes(3000), bytes(17), bytes(2000) + b"\1", b"\xff" * 99, A[:-1], A[:17], A[:18]]
)
def test_tails(tmp_path, window, tail):
    twins(tmp_path / "log", LOG + tail)


def test_parts(tmp_path, window):
    for start, end in (
        (len(A), len(A + B)),
        (0, len(A) + 20),
        (len(A), None),
        (len(LOG), None),
        (5, None),
        (len(LOG) + 9, None),
    ):
        twins(tmp_path / "log", LOG, start=start, end=end)


def large(size, base=0):
    return put_records([put_record(value=random.Random(size).randbytes(size))], base_offset=base)


def test_batches_larger_than_the_window(tmp_path, window):
    data = large(9000) + A + large(70) + large(5000) + large(SKIP_FROM) + B + OLD[:200] + large(300)
    wrong = bytearray(data)
    wrong[8000] ^= 1
    for log in (data, bytes(wrong), data[:-1], data + bytes(100)):
        twins(tmp_path / "log", log)


@examples(60)
@given(
    st.lists(st.sampled_from([A, B, C, OLD[:78], large(5000), bytes(30), b"\0\1"]), max_size=12),
    st.sampled_from(WINDOWS),
    st.sampled_from((1, bulk.WORTH_A_THREAD)),
)
def test_random_logs(tmp_path_factory, pieces, size, worth_a_thread):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "BULK_WINDOW", size[1])
        patch.setattr(bulk, "SMALLEST_WINDOW", size[0])
        patch.setattr(bulk, "WORTH_A_THREAD", worth_a_thread)
        twins(tmp_path_factory.mktemp("random") / "log", b"".join(pieces))


class Counting(DataFile):
    __slots__ = ("counted",)

    def __init__(self, path):
        super().__init__(path)
        self.counted = []

    def read_into(self, view, position):
        self.counted.append((position, len(view)))
        super().read_into(view, position)


def counted(path, verify):
    with Counting(str(path)) as file:
        for _ in BulkWalk(file, verify=verify):
            pass
        return file.counted


def test_nothing_is_read_twice_and_all_is_read_once(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(data := large(50_000) * 50 + A * 10_000 + large(3 << 20) + B)

    at = 0
    for position, length in sorted(counted(path, verify=True)):  # two threads read
        assert position == at
        at += length
    assert at == len(data)


def test_headers_alone_are_read_of_large_batches(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(large(50_000) * 200)

    assert sum(length for _, length in counted(path, verify=False)) <= bulk.SMALLEST_WINDOW + 200 * 61


def test_the_rate_is_kept(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(large(1000) * 300)
    expected = in_windows(path)
    began = time.monotonic()
    assert in_windows(path, reading=Reading(rate=1_000_000, cold=True)) == expected
    assert time.monotonic() - began >= 0.3


def test_a_file_that_shrinks(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "BULK_WINDOW", 1000)
    path = tmp_path / "log"
    path.write_bytes(large(500) * 30)
    with DataFile(str(path)) as file:
        windows = iter(BulkWalk(file))
        next(windows)
        os.truncate(path, 1500)
        with pytest.raises(FileError, match="shrank"):
            list(windows)
