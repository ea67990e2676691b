"""`salvage` while a broker removes, replaces or cuts files that it reads: a copy of one state, or none."""

import json
import os

import pytest

from kcli.jobs.salvage import salvage
from kcli.logdir.buffers import DataFile
from tests.partitions import orders, put_range, put_topic_id, segment

SECOND = f"{10:020d}.log"


@pytest.fixture
def partition(tmp_path):
    directory = put_topic_id(orders(tmp_path / "data", put_range(0, 5), put_range(5, 5)))
    segment(directory, 10, put_range(10, 5) + put_range(15, 5))
    return directory


def before_a_log_is(method, monkeypatch, name, change, times):
    """Call `change` before a method of a DataFile of this name, so many times; return how many are left."""
    original, left = getattr(DataFile, method), [*range(times)]

    def changed(file, *given):
        path = given[0] if method == "__init__" else file.path
        if os.path.basename(path) == name and left:
            left.pop()
            change()
        return original(file, *given)

    monkeypatch.setattr(DataFile, method, changed)
    return left


def salvaged(kcli, directory, out):
    done = kcli("salvage", directory, "--out", out, "-o", "json")
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize("suffix", [".deleted", None])
def test_a_segment_that_goes_before_it_is_read_is_in_no_copy(kcli, partition, tmp_path, monkeypatch, suffix):
    path = partition / f"{0:020d}.log"

    def remove():
        for file in partition.glob(f"{path.stem}.*"):
            file.rename(f"{file}{suffix}") if suffix else file.unlink()

    left = before_a_log_is("__init__", monkeypatch, path.name, remove, 1)
    status, document = salvaged(kcli, partition, tmp_path / "out")
    assert (status, document["errors"], left) == (0, [], [])
    (row,) = document["rows"]
    assert (row["segments"], row["log_start_offset"], row["log_end_offset"]) == (1, 10, 20)
    assert min(os.listdir(tmp_path / "out")) == f"{10:020d}.index"


def test_a_partition_that_goes_is_an_error_and_no_copy(kcli, partition, tmp_path, monkeypatch):
    def remove():
        partition.rename(f"{partition}.{'a' * 32}-delete")

    before_a_log_is("__init__", monkeypatch, SECOND, remove, 1)
    status, document = salvaged(kcli, partition, tmp_path / "out")
    (error,) = document["errors"]
    assert (status, document["rows"], error["error"]) == (3, [], "changed")
    assert error["path"] == str(partition) and "renamed to orders-0.aaa" in error["message"]
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".out*"))


def test_a_log_that_another_replaces_is_copied_as_it_was_checked(kcli, partition, tmp_path, monkeypatch):
    """Cleaning gives the name of a log to a shorter one after it was opened, before it is copied."""
    path = partition / f"{0:020d}.log"
    before = path.read_bytes()
    select = salvage.select_batches

    def replaced(targets):
        for number, log in enumerate(select(targets)):
            if not number:
                (tmp_path / "new").write_bytes(put_range(0, 2) + put_range(5, 2))
                os.replace(tmp_path / "new", path)
            yield log

    monkeypatch.setattr(salvage, "select_batches", replaced)
    status, document = salvaged(kcli, partition, tmp_path / "out")
    (row,) = document["rows"]
    assert (status, row["batches"], row["lost"], document["findings"]) == (0, 4, [], [])
    assert path.read_bytes() != before == (tmp_path / "out" / path.name).read_bytes()


@pytest.mark.parametrize(("times", "status", "batches"), [(1, 0, 3), (100, 3, None)])
def test_a_log_that_is_cut_is_read_anew(kcli, partition, tmp_path, monkeypatch, times, status, batches):
    path, sizes = partition / SECOND, [len(put_range(10, 5)) - number for number in range(100)]

    def cut():
        os.truncate(path, sizes.pop(0))

    before_a_log_is("read_into", monkeypatch, SECOND, cut, times)
    found, document = salvaged(kcli, partition, tmp_path / "out")
    assert (found, [row["batches"] for row in document["rows"]]) == (status, [batches] if batches else [])
    assert [error["error"] for error in document["errors"]] == ([] if batches else ["changed"])


def test_no_indexes_of_a_log_that_goes(kcli, partition, tmp_path, monkeypatch):
    """Of the whole partition neither: `--what indexes` reads it as recovery does."""

    def remove():
        partition.rename(f"{partition}.{'a' * 32}-delete")

    before_a_log_is("__init__", monkeypatch, SECOND, remove, 1)
    done = kcli("salvage", partition, "--what", "indexes", "--out", tmp_path / "out", "-o", "json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["rows"]) == (3, [])
    assert [error["error"] for error in document["errors"]] == ["changed"]
    assert not (tmp_path / "out").exists()
