"""A partition directory's files, and what its log dir says about it."""

from kcli.logdir.partition import Partition, shown_path
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


def test_paths_as_reached_from_the_argument(tmp_path, monkeypatch):
    directory = orders(tmp_path / "d")
    monkeypatch.chdir(directory)
    here = partition(".")
    assert shown_path(here, here.path) == "."
    assert shown_path(here, here.segments[0].path("log")) == "./00000000000000000000.log"
