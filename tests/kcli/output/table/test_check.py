"""The view of `salvage`: what was written, what not, and a verdict."""

import pytest

from kcli.kafka.findings.findings import Finding
from kcli.output.table.check import MOST_RANGES
from kcli.rows.checks import LostRange, SalvageRow, SavedFile
from kcli.rows.partitions import Where
from tests.kcli.output.writing import draw_lines

LOG, INDEX = f"{0:020}.log", f"{0:020}.index"
LOST = LostRange(LOG, 100, 1124, 7, "checksum")
SAVED = SalvageRow(
    where=Where("d/orders-0", 1, None, "orders", 0),
    out_dir="rescue/orders-0",
    what="all",
    segments=1,
    batches=3,
    bytes=2048,
    log_start_offset=0,
    log_end_offset=30,
    batches_lost=0,
    bytes_lost=0,
    lost=(),
    files=(SavedFile(LOG, 2048),),
)


def drawn(row, *findings):
    return "\n".join(draw_lines([row], *findings, width=200))


def test_a_whole_copy_names_its_offsets_and_its_directory():
    text = drawn(SAVED)

    assert "orders-0" in text.splitlines()[0]
    assert "✓         1        3  2.0 KiB    0..29      1  rescue/orders-0" in text
    assert "All batches are saved." in text.splitlines()
    assert "NOT SAVED" not in text


@pytest.mark.parametrize(("batches", "verdict"), [(1, "1 batch, 1.0 KiB."), (0, "1.0 KiB.")])
def test_what_is_lost_is_listed_with_the_reason(batches, verdict):
    text = drawn(SAVED._replace(lost=(LOST,), batches_lost=batches, bytes_lost=1024))

    assert "NOT SAVED" in text
    assert [line.split() for line in text.splitlines() if "checksum" in line] == [
        [LOG, "100", "1124", "1.0", "KiB", "7", "checksum"]
    ]
    assert f"Not saved: {verdict}" in text.splitlines()


def test_a_long_list_is_cut_and_says_so():
    text = drawn(SAVED._replace(lost=(LOST,) * (MOST_RANGES + 2), batches_lost=1, bytes_lost=1))

    assert text.count("checksum") == MOST_RANGES
    assert "2 more: -o json lists them." in text


def test_indexes_alone():
    row = SAVED._replace(what="indexes", batches=None, bytes=0, files=(SavedFile(INDEX, 8),))

    assert "0..29      1  rescue/orders-0" in drawn(row)
    assert "The indexes are written anew." in drawn(row)


def test_a_file_that_is_not_saved_is_named():
    found = Finding("SALV-004", "missing", "d/orders-0", "d/orders-0/partition.metadata")
    lost = SAVED._replace(lost=(LOST,), batches_lost=1, bytes_lost=1024)

    assert "Not saved: partition.metadata. All batches are saved." in drawn(SAVED, found)
    assert "Not saved: 1 batch, 1.0 KiB, partition.metadata." in drawn(lost, found)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("SALV-010", "Not saved: records that no log has. All batches that the logs have are saved."),
        ("SALV-011", "All batches that the logs have are saved. Other records may be lost."),
    ],
)
def test_records_that_no_log_has_are_not_passed_over(code, verdict):
    found = Finding(code, "words", "d/orders-0", f"d/orders-0/{INDEX}")
    lost = SAVED._replace(lost=(LOST,), batches_lost=1, bytes_lost=1024)

    assert verdict in drawn(SAVED, found).splitlines()
    assert "All batches" not in drawn(lost, found)
