"""The views of `check` and `salvage`: the verdict, its causes, what was written and what not."""

import pytest

from kcli.kafka.findings.findings import Finding
from kcli.output.table.check import MOST_RANGES
from kcli.rows.checks import LostRange, SalvageRow, SavedFile
from kcli.rows.partitions import Where
from tests.kcli.output.writing import draw_lines
from tests.starts.observe import prepare

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

    assert text.splitlines()[0] == "All batches are saved."
    assert "orders-0" in text.splitlines()[2]
    assert "✓         1        3  2.0 KiB    0..29      1  rescue/orders-0" in text
    assert "NOT SAVED" not in text


def test_a_long_list_is_cut_and_says_so():
    row = [LOG, "100", "1124", "1.0", "KiB", "7", "checksum"]
    lines = drawn(SAVED._replace(lost=(LOST,) * (MOST_RANGES + 2), batches_lost=1, bytes_lost=1)).splitlines()

    assert [line.split() for line in lines if "checksum" in line] == [row] * MOST_RANGES
    assert "2 more: -o json lists them." in lines


GONE = {"lost": (LOST,), "batches_lost": 1, "bytes_lost": 1024}
INDEXES = {"what": "indexes", "batches": None, "bytes": 0, "files": (SavedFile(INDEX, 8),)}


@pytest.mark.parametrize(
    ("changes", "code", "verdict"),
    [
        ({}, None, "All batches are saved."),
        (GONE, None, "Not saved: 1 batch, 1.0 KiB."),
        ({**GONE, "batches_lost": 0}, None, "Not saved: 1.0 KiB."),
        (INDEXES, None, "The indexes are written anew."),
        ({}, "SALV-004", "Not saved: partition.metadata. All batches are saved."),
        (GONE, "SALV-004", "Not saved: 1 batch, 1.0 KiB, partition.metadata."),
        ({}, "SALV-010", "Not saved: records that no log has. All batches that the logs have are saved."),
        ({}, "SALV-011", "All batches that the logs have are saved. Other records may be lost."),
        (GONE, "SALV-011", "Not saved: 1 batch, 1.0 KiB. Other records may be lost."),
    ],
)
def test_the_verdict_says_what_is_not_saved(changes, code, verdict):
    found = [Finding(code, "words", "d/orders-0", "d/orders-0/partition.metadata")] if code else []
    assert verdict in drawn(SAVED._replace(**changes), *found).splitlines()


def test_replicas_of_a_log_dir_that_goes_offline_are_not_clean_and_paths_are_short(kcli, tmp_path):
    """What server.log says stays whole; what the first lines say comes once."""
    prepare("4.3.1", "recovery-point of NUL bytes in d1", tmp_path)
    lines = kcli("check", "-o", "table", "--color", "never", tmp_path / "d0", tmp_path / "d1").stdout
    text = " ".join(lines.split())
    assert "5 clean, 4 not loaded: their log dir goes offline." in text
    assert " d1/recovery-point-offset-checkpoint: nothing but NUL bytes" in text
    assert f"Errorwhilereadingcheckpointfile{tmp_path}/d1/recovery-point" in "".join(text.split())
    assert text.count("move it away") == 1
    assert f"2 log dirs under {tmp_path}" in text


def test_an_empty_volume_is_a_log_dir_that_keeps_the_broker_from_starting(kcli, tmp_path):
    prepare("4.3.1", "volume empty", tmp_path)
    done = kcli("check", "-o", "table", tmp_path / "d0", tmp_path / "d1")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (1, "Broker 1 would not start.")
    assert "2 log dirs, 5 partitions: 1 log dir will not load" in done.stdout
