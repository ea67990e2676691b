"""The leader epochs of a salvaged copy fit its batches, or a finding says why they do not."""

import json
import random

import pytest

from kcli.jobs.epoch import epoch_cache as epoch_jobs
from kcli.jobs.salvage.salvage import Salvage
from tests.partitions import codes, epoch_lines, orders, put_range, put_topic_id, rows, unit

pytestmark = pytest.mark.slow


def partition(root, lines, *epochs, **more):
    """Make a partition whose batches of ten records have these leader epochs."""
    batches = [put_range(10 * number, 10, epoch) for number, epoch in enumerate(epochs)]
    return put_topic_id(orders(root, *batches, epochs=lines, **more))


def salvaged(directory, out):
    """Return the codes of the findings, and the checkpoint of the copy."""
    outcome = Salvage(out=str(out), now_ms=0)(unit(directory))
    assert rows(outcome)
    return codes(outcome), (out / "leader-epoch-checkpoint").read_text()


def result_of(kcli, out):
    (row,) = json.loads(kcli("check", out, "-o", "json").stdout)["rows"]
    return row["result"]


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize(
    ("lines", "epochs", "kept"),
    [
        (((0, 0), (1, 30), (2, 10)), (0, 0, 0, 0, 0), ((0, 0),)),
        (((7, 12),), (0, 0, 0), ((0, 0),)),
        (((3, 40),), (3, 3, 5), ((3, 0), (5, 20))),
        (((0, 0), (1, 20)), (0, 1, 1), ((0, 0), (1, 10))),
        (((0, 0), (1, 10)), (0, 0, 1), ((0, 0), (1, 20))),
        (((1, 10),), (0, 1, 1), ((0, 0), (1, 10))),
    ],
    ids=["lines that erase others", "of another log", "above the log", "late", "early", "incomplete"],
)
def test_a_checkpoint_that_contradicts_the_batches_is_made_from_them(
    kcli, tmp_path, lines, epochs, kept, clean
):
    directory = partition(tmp_path / "data", lines, *epochs, clean=clean)
    before = (directory / "leader-epoch-checkpoint").read_text()
    out = tmp_path / "orders-0"

    assert salvaged(directory, out) == (["SALV-005"], epoch_lines(*kept))
    assert result_of(kcli, out) == "clean"
    assert (directory / "leader-epoch-checkpoint").read_text() == before


@pytest.mark.parametrize(
    ("lines", "epochs", "kept"),
    [
        (((0, 0), (2, 20)), (0, 0, 2), ((0, 0), (2, 20))),
        (((0, 0),), (0, 0, 3), ((0, 0), (3, 20))),
        ((), (0, 2, 2), ((0, 0), (2, 10))),
    ],
    ids=["as it is", "recovery adds", "no entries"],
)
def test_a_checkpoint_that_fits_is_that_of_recovery(tmp_path, lines, epochs, kept):
    directory = partition(tmp_path / "data", lines, *epochs)

    assert salvaged(directory, tmp_path / "orders-0") == ([], epoch_lines(*kept))


@pytest.mark.parametrize(
    ("epochs", "kept"),
    [((0, 9, 0, 0), ((0, 0),)), ((0, 0, -5, 0), ((0, 0),)), ((8, 0, 0, 0), ((0, 0),))],
    ids=["up", "negative", "the first"],
)
def test_epochs_that_fall_are_an_error_and_the_fewest_are_contradicted(kcli, tmp_path, epochs, kept):
    directory = partition(tmp_path / "data", ((0, 0),), *epochs)
    out = tmp_path / "orders-0"

    assert salvaged(directory, out) == (["SALV-004"], epoch_lines(*kept))
    assert kcli("salvage", directory, "--out", tmp_path / "again").exit_code == 1
    assert result_of(kcli, out) == "damaged"


def test_epochs_below_the_log_start_are_in_the_copy_without_a_finding(tmp_path):
    """DeleteRecords moved the log start: the copy has none, and begins where its batches do."""
    directory = partition(tmp_path / "data", ((1, 15),), 0, 1, 1, log_start=15)

    assert salvaged(directory, tmp_path / "orders-0") == ([], epoch_lines((0, 0), (1, 10)))


def test_epochs_that_fall_below_the_log_start_are_an_error(tmp_path):
    """In the copy these batches are not below the log start."""
    directory = partition(tmp_path / "data", ((0, 0), (4, 20)), 0, 3, 1, 4, log_start=30)

    assert salvaged(directory, tmp_path / "orders-0")[0] == ["SALV-004"]


def test_the_copy_has_an_epoch_for_each_offset_as_its_batches_do(tmp_path):
    """A broker's answer from the copy is that from the batches, whatever the file was."""
    choose = random.Random(18)
    for number in range(100):
        epochs = sorted(choose.choices(range(5), k=6))
        lines = [(choose.randrange(6), 10 * choose.randrange(8)) for _ in range(choose.randrange(4))]
        directory = partition(tmp_path / f"{number}", lines, *epochs, clean=choose.random() < 0.5)
        out = tmp_path / f"{number}-out" / "orders-0"
        out.parent.mkdir()
        found, _ = salvaged(directory, out)
        assert found in ([], ["SALV-005"])
        for offset in range(0, 60, 5):
            (row,) = rows(epoch_jobs.at(unit(out), offset=offset))
            assert row["epoch"] == epochs[offset // 10], (lines, epochs, offset)
