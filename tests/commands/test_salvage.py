"""`kcli salvage`: where it may write, and what the copy holds. The oracle has Kafka open such copies."""

import json
import os
import resource
import shutil

import pytest

from tests.commands.answers import salvage
from tests.messages import put_set
from tests.partitions import log_dir, orders, put_range, put_topic_id, recover_in_windows, segment
from tests.processes import KCLI, run_program
from tests.recordings.watch import tree

pytestmark = pytest.mark.slow


def test_batches_past_damage_are_saved(kcli, damaged, tmp_path):
    before = tree(damaged.parent)
    out = tmp_path / "rescue"
    done, document = salvage(kcli, damaged, out)
    (row,) = document["rows"]
    assert done.exit_code == 1
    assert (row["batches"], row["batches_lost"], row["log_start_offset"], row["log_end_offset"]) == (
        3,
        1,
        0,
        25,
    )
    assert [loss["reason"] for loss in row["lost"]] == ["checksum", "damaged"]
    assert {finding["code"] for finding in document["findings"]} == {"SALV-001"}
    assert (out / f"{0:020d}.log").read_bytes() == b"".join(put_range(base, 5) for base in (0, 10, 20))
    assert sorted(entry["file"] for entry in row["files"]) == sorted(os.listdir(out))
    assert tree(damaged.parent) == before
    (checked,) = json.loads(kcli("check", "-o", "json", out).stdout)["rows"]
    assert checked["result"] == "clean"


@pytest.mark.parametrize(("number", "lost"), [(0, 300), (1, 0)], ids=["closed", "last"])
def test_zeros_after_the_last_batch_are_no_loss_in_the_last_segment(kcli, tmp_path, number, lost):
    """log.preallocate fills it with them; a closed one was cut when the next began."""
    directory = log_dir(tmp_path / "data") / "orders-0"
    for base in (0, 5):
        segment(directory, base, put_range(base, 5) + bytes(300 * (base == 5 * number)))
    _, document = salvage(kcli, directory, tmp_path / "out")
    (row,) = document["rows"]
    assert (row["batches"], row["bytes_lost"]) == (2, lost)


@pytest.mark.parametrize("bit", [8, 20, 30])
@pytest.mark.parametrize("number", range(29))
def test_an_offset_that_is_too_large_costs_its_batch_alone(kcli, tmp_path, monkeypatch, number, bit):
    """Wherever it lies in a window and in a segment. The last batch of all is left as it is."""
    recover_in_windows(monkeypatch, 300)
    batches = [bytearray(put_range(base, 5)) for base in range(0, 150, 5)]
    base = int.from_bytes(batches[number][:8], "big")
    batches[number][:8] = (base | 1 << bit).to_bytes(8, "big")
    directory = tmp_path / "data" / "orders-0"
    log_dir(tmp_path / "data")
    for first in (0, 10, 20):
        segment(directory, first * 5, b"".join(batches[first : first + 10]))
    _, document = salvage(kcli, directory, tmp_path / "out")
    (row,) = document["rows"]

    assert (row["batches"], row["batches_lost"], row["log_end_offset"]) == (29, 1, 150)
    assert [loss["first_offset"] for loss in row["lost"]] == [base | 1 << bit]


def segments(tmp_path, *logs):
    """Return a partition of segments, each given by its base offset and those of its batches of 5."""
    log_dir(tmp_path / "data")
    for first, bases in logs:
        segment(tmp_path / "data" / "orders-0", first, b"".join(put_range(base, 5) for base in bases))
    return put_topic_id(tmp_path / "data" / "orders-0")


@pytest.mark.parametrize(
    ("logs", "left_out"),
    [
        (((0, (0, 5, 11)), (15, (15, 20))), [11]),  # it overlaps the batch that comes next
        (((0, (0, 5, 15)), (15, (15, 20))), [15]),  # it looks like it
        (((0, (0, 5, 100)), (15, ())), [100]),  # nothing comes next
        (((0, (0, 5, 10)), (15, (15, 27)), (25, ())), [27]),
        (((0, (0, 5, 10)), (3, ()), (15, (15, 20))), []),  # a name that two batches contradict
        (((0, (0, 5, 10)), (1, (15, 20))), []),
    ],
)
def test_an_offset_at_or_past_the_next_segments_base_costs_its_batch(kcli, tmp_path, logs, left_out):
    done, document = salvage(kcli, segments(tmp_path, *logs), tmp_path / "out")
    (row,) = document["rows"]
    assert [loss["first_offset"] for loss in row["lost"]] == left_out
    assert done.exit_code == bool(left_out)


def test_indexes_alone(kcli, tmp_path):
    directory = orders(tmp_path / "data", *(put_range(base, 5) for base in range(0, 500, 5)))
    done, document = salvage(kcli, directory, tmp_path / "out", "--what", "indexes")
    assert done.exit_code == 0
    assert sorted(os.listdir(tmp_path / "out")) == [f"{0:020d}.index", f"{0:020d}.timeindex"]
    assert os.stat(tmp_path / "out" / f"{0:020d}.index").st_size > 0
    assert document["rows"][0]["batches"] is None


def test_segments_that_are_no_logs_are_left_out(kcli, tmp_path):
    directory = orders(tmp_path / "data", put_range(0, 5))
    (directory / f"{5:020d}.log").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (directory / f"{9:020d}.log").write_bytes(put_range(9, 3))
    _, document = salvage(kcli, directory, tmp_path / "out")
    assert document["rows"][0]["segments"] == 2
    assert document["rows"][0]["log_end_offset"] == 12


@pytest.mark.parametrize(
    ("bases", "kept"),
    [
        ((0, 5, 900, 15, 20), (0, 5, 15, 20)),  # no checksum covers a base offset
        ((0, 5, 1, 15, 20), (0, 5, 15, 20)),
        ((900, 5, 10, 901, 15, 20), (5, 10, 15, 20)),
        ((0, 500, 505, 10, 15, 20, 25), (0, 10, 15, 20, 25)),
        ((0, 5, 10, 3, 8), (0, 5, 10)),
        ((0, 10, 20, 5), (0, 10, 20)),
        ((0, 10, 20, 1 << 32), (0, 10, 20)),  # out of reach of the indexes
    ],
)
def test_as_few_batches_as_can_be_are_left_out_for_their_offsets(kcli, tmp_path, bases, kept):
    directory = orders(tmp_path / "data", *(put_range(base, 5) for base in bases))
    _, document = salvage(kcli, directory, tmp_path / "out")
    (row,) = document["rows"]
    assert (tmp_path / "out" / f"{0:020d}.log").read_bytes() == b"".join(put_range(base, 5) for base in kept)
    assert {loss["reason"] for loss in row["lost"]} == {"offsets"}
    assert row["batches_lost"] == len(bases) - len(kept)


def test_no_copy_lands_in_a_log_dir_or_over_files(kcli, damaged, tmp_path):
    other = log_dir(tmp_path / "other")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "x").write_text("x")
    (tmp_path / "file").write_text("x")
    for out in (
        damaged,
        damaged / "copy",
        damaged.parent / "copy",
        other,
        other / "copy-0",
        taken,
        tmp_path / "file",
    ):
        before = tree(tmp_path)
        assert kcli("salvage", damaged, "--out", out).exit_code == 5, out
        assert tree(tmp_path) == before


def test_words_that_do_not_fit(kcli, damaged, tmp_path):
    copy = shutil.copytree(damaged, tmp_path / "copy" / damaged.name)
    assert kcli("salvage", damaged).exit_code == 2
    assert kcli("salvage", damaged, "--out", tmp_path / "absent" / "out").exit_code == 2
    assert kcli("salvage", damaged, "--out", tmp_path / "out", "--what", "x").exit_code == 2
    assert kcli("salvage", damaged, copy, "--out", tmp_path / "out").exit_code == 2
    assert kcli("salvage", tmp_path / "absent", "--out", tmp_path / "out").exit_code == 3
    assert not (tmp_path / "out").exists()


def test_a_swapped_in_log_that_a_start_dies_of_is_saved_too(kcli, tmp_path):
    """A wrapper of magic 1 whose content no start can read: what it replaces is unknown then."""
    wrappers = [put_set(base, range(5)) for base in (0, 5)]
    data = bytearray(b"".join(wrappers))
    data[len(wrappers[0]) - 5] ^= 0xFF
    directory = orders(tmp_path / "data", bytes(data))
    log = directory / f"{0:020d}.log"
    log.rename(f"{log}.swap")
    _, document = salvage(kcli, directory, tmp_path / "out")
    (row,) = document["rows"]

    assert row["bytes"] + row["bytes_lost"] == len(data)
    assert (row["batches"], row["batches_lost"]) == (1, 1)


def test_a_full_disk_is_status_4_as_with_every_output(damaged, tmp_path):
    done = run_program(
        [*KCLI, "salvage", damaged, "--out", tmp_path / "out"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )

    assert (done.returncode, done.stdout) == (4, "")
    assert f"error {tmp_path}/out: cannot write: file too large" in done.stderr
    assert os.listdir(tmp_path) == ["data"]


def test_an_empty_directory_is_taken_and_nothing_is_left_of_what_fails(kcli, damaged, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    assert kcli("salvage", damaged, "--out", out).exit_code == 1
    assert sorted(os.listdir(tmp_path)) == ["data", "out"]
    (damaged / "x.log").write_text("x")
    assert kcli("salvage", damaged, "--out", tmp_path / "second").exit_code == 1


def test_the_copy_begins_where_the_log_does(kcli, tmp_path):
    """The cleaner leaves an empty first segment."""
    directory = log_dir(tmp_path / "data") / "orders-0"
    segment(directory, 0)
    segment(directory, 100, put_range(100, 5))
    out = tmp_path / "out"
    row = json.loads(kcli("salvage", directory, "--out", out, "-o", "json").stdout)["rows"][0]
    assert (row["log_start_offset"], row["log_end_offset"], row["segments"]) == (0, 105, 2)
    assert (out / f"{0:020d}.log").stat().st_size == 0


def test_a_copy_needs_a_place(kcli, log_dir):
    for words in ((), ("--out", "")):
        done = kcli("salvage", log_dir.path, *words)
        assert (done.exit_code, done.stderr) == (2, "kcli: expected --out DIR, where the copy is written\n")


def test_help_has_its_own_out_and_one_partition(kcli):
    shown = kcli("salvage", "--help").stdout

    assert "--out DIR" in shown and "--out FILE" not in shown
    assert "[PATH]" in shown and "Log dirs" not in shown
