"""What one walk over a log finds: its summary, and damage, bounded and reported."""

import pytest

from formats.bounds import LARGEST_BATCH, LARGEST_CONTROL_BATCH
from kcli.kafka.integrity import log_scan
from kcli.logdir import bulk
from kcli.logdir.buffers import DataFile
from tests.builders import put_batch
from tests.kcli.kafka.integrity.plain_summary import CONTROL, TRANSACTIONAL, compare, random_batches, read
from tests.partitions import put_range

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

    assert read(tmp_path / "log", largest=LARGEST_BATCH).defects["DUMP-002"].batches == 1


def test_of_a_huge_marker_no_more_than_needed_is_read(tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(
        put_batch(bytes(9 << 20), 1, attributes=TRANSACTIONAL | CONTROL, producer_id=7)
    )
    read_sizes, reads = [], DataFile.read
    monkeypatch.setattr(
        DataFile, "read", lambda file, at, size: read_sizes.append(size) or reads(file, at, size)
    )

    assert (read(tmp_path / "log").defects["DUMP-002"].batches, max(read_sizes)) == (1, LARGEST_CONTROL_BATCH)


def test_many_windows_and_blocks_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "BULK_WINDOW", 700)
    monkeypatch.setattr(log_scan, "BATCHES_A_BLOCK", 7)
    compare(tmp_path / "log", b"".join(random_batches(1, 300)))


def test_damaged_ranges_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(log_scan, "MOST_GAPS", 3)
    (tmp_path / "log").write_bytes((put_range(0, 1) + b"\xff" * 40) * 6)
    piece = read(tmp_path / "log")

    assert piece.gap_count == 6
    assert [(gap.end - gap.start, gap.next_offset) for gap in piece.gaps] == [(40, 0)] * 3 + [(40, None)]
