"""`check`: one row for each partition and log dir, and what makes it other than clean."""

import json

import pytest

from tests.partitions import log_dir, put_range, time_entries
from tests.partitions import orders as without_metadata


@pytest.fixture
def check(kcli):
    def run(*words):
        return json.loads(kcli("check", "-o", "json", *words).stdout)

    return run


def orders(root, *batches, **options):
    """Make orders-0 as `partitions.orders`, with all that a broker writes besides."""
    directory = without_metadata(root, *batches, **options)
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA")
    (directory / "00000000000000000000.timeindex").write_bytes(time_entries((1004, 4)))
    return directory


def results(document):
    return {row["dir"].rpartition("/")[2]: row["result"] for row in document["rows"]}


def codes(document, severity="warning"):
    levels = ("info", "warning", "error")[("info", "warning", "error").index(severity) :]
    return sorted({one["code"] for one in document["findings"] if one["severity"] in levels})


def test_a_whole_log_dir_is_clean(check, tmp_path):
    orders(tmp_path / "data", put_range(0, 5), put_range(5, 5), recovery=10, watermark=10)
    found = check(tmp_path / "data")
    assert results(found) == {"data": "clean", "orders-0": "clean"}
    assert [row["topic"] for row in found["rows"]] == [None, "orders"]
    assert [row["errors"] for row in found["rows"]] == [0, 0]
    assert codes(found) == []


def test_a_high_watermark_above_the_log_end_is_a_warning(check, tmp_path):
    for clean in (True, False):
        root = tmp_path / f"clean-{clean}"
        orders(root, put_range(0, 5), watermark=20, clean=clean)
        found = check(root)
        assert results(found)["orders-0"] == "warning"
        assert codes(found) == ["CKPT-001"]
        assert found["findings"][-1]["expected"] == 5


def test_what_recovery_cuts_is_said_and_the_checkpoints_are_held_against_the_rest(check, tmp_path):
    batch = bytearray(put_range(5, 5))
    batch[-1] ^= 1
    orders(tmp_path / "data", put_range(0, 5), bytes(batch), clean=False, watermark=10)
    found = check(tmp_path / "data")
    assert results(found) == {"data": "clean", "orders-0": "damaged"}
    assert codes(found) == ["CKPT-001", "LOG-003", "START-001"]
    (row,) = (row for row in found["rows"] if row["topic"])
    assert (row["findings"], row["errors"], row["warnings"]) == (3, 1, 2)


def test_a_log_that_does_not_load_is_an_answer_and_not_an_error(check, kcli, tmp_path):
    directory = orders(tmp_path / "data", put_range(0, 5), bytes(100))
    found = check(tmp_path / "data")
    assert found["errors"] == []
    assert results(found)["orders-0"] == "will-not-load"
    assert codes(found, "error") == ["LOG-009", "START-008"]
    assert kcli("check", directory).exit_code == 1


def test_a_log_dir_has_a_row_of_its_own(check, tmp_path):
    root = log_dir(tmp_path / "data")
    (root / "lost+found").mkdir()
    (root / "replication-offset-checkpoint").write_text("x\n")
    orders(root, put_range(0, 5))
    found = check(root)
    assert results(found) == {"data": "will-not-load", "orders-0": "clean"}
    assert codes(found) == ["DIR-005", "DIR-006"]


def test_a_single_log_and_several_processes(check, kcli, tmp_path):
    directory = orders(tmp_path / "data", put_range(0, 5), b"\xff" * 60, put_range(5, 5))
    found = check(directory / "00000000000000000000.log")
    assert results(found) == {"orders-0": "damaged"}
    one, two = (kcli("check", "-o", "ndjson", "--jobs", jobs, tmp_path / "data").stdout for jobs in (1, 2))
    assert one == two
