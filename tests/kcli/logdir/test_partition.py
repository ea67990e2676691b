"""A partition directory's files, and what its log dir says about it."""

import pytest

from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition, shown_error, shown_path
from tests.partitions import orders, segment, unit


def partition(path):
    return Partition(unit(path).target)


def test_segments_in_order(tmp_path):
    directory = orders(tmp_path / "d")
    segment(directory, 30, b"", index=None)
    segment(directory, 7)
    for name in (
        "00000000000000000040.log.deleted",
        "00000000000000000050.log.swap",
        "00000000000000000060.index",
        "x.log",
        "9" * 20 + ".log",
    ):
        (directory / name).write_bytes(b"")
    (directory / "00000000000000000007.txnindex").write_bytes(b"")
    found = partition(directory).segments
    assert [(item.base_offset, sorted(item.extensions)) for item in found] == [
        (0, ["index", "log", "timeindex"]),
        (7, ["index", "log", "timeindex", "txnindex"]),
        (30, ["log", "timeindex"]),
    ]
    assert found[1].path("log") == f"{directory}/00000000000000000007.log"


def test_its_own_checkpoints(tmp_path):
    directory = orders(tmp_path / "d", epochs=((1, 0), (4, 10)))
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    assert partition(directory).epoch_entries() == [(1, 0), (4, 10)]
    assert partition(directory).topic_id() == "AAAAAAAAAAAAAAAAAAAAAQ"
    (directory / "partition.metadata").unlink()
    (directory / "leader-epoch-checkpoint").unlink()
    assert (partition(directory).epoch_entries(), partition(directory).topic_id()) == (None, None)


@pytest.mark.parametrize("text", ["0\n1\n-1 0\n", "1\n0\n", "0\n2\n0 0\n", "0\n1\n0 x\n", "\udcff"])
def test_a_bad_epoch_checkpoint(tmp_path, text):
    directory = orders(tmp_path / "d", epochs=None)
    (directory / "leader-epoch-checkpoint").write_text(text, errors="surrogateescape")
    with pytest.raises(FileError) as error:
        partition(directory).epoch_entries()
    reported = shown_error(partition(directory), error.value)
    assert reported.path == f"{directory}/leader-epoch-checkpoint"


def test_paths_as_reached_from_the_argument(tmp_path, monkeypatch):
    directory = orders(tmp_path / "d")
    monkeypatch.chdir(directory)
    here = partition(".")
    assert shown_path(here, here.path) == "."
    assert shown_path(here, here.segments[0].path("log")) == "./00000000000000000000.log"


def test_a_directory_that_is_gone(tmp_path):
    directory = orders(tmp_path / "d")
    found = partition(directory)
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    with pytest.raises(FileError) as error:
        found.names  # noqa: B018 - reading is the point
    assert error.value.code == "not-found"
