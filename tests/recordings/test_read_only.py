"""Nothing below a log dir ever changes, whatever command runs: seen as it happens, and afterwards."""

import os

import pytest
from typer.testing import CliRunner

from tests.every_command import COMMANDS, unasked
from tests.recordings.watch import tree, watching

pytestmark = pytest.mark.slow

LINES = [
    *(f"{line} {{}}" for line in COMMANDS),
    "scan --ratio --cold {}",
    "scan --no-verify {}",
    "truncate --dry-run --to-offset 20 --shutdown unclean {}",
    "truncate --to-offset 0 {}",
    "truncate --dry-run --leader {0} {0}",
    "epoch diff {0} {0}",
    "replica diff {0} {0}",
    "replica elect --isr 1 {0} {0}",
    "failover --broker 1 --controller {}",
    "rlmm follow --leader {0} {0}",
]
CAPTURES = ["single/running", "truncation/before-follower", "tiered/node1"]


@pytest.mark.parametrize("command", LINES)
def test_no_command_changes_anything(command, recording):
    from commands.app import app

    for capture in CAPTURES:
        name, folder = capture.split("/")
        root = recording(name) / folder
        before = tree(root)
        with watching(root) as seen:
            done = CliRunner().invoke(app, [*command.format(root).split(), "-o", "json"])
        assert done.exit_code not in {2, 70}, done.output
        assert seen == []
        assert tree(root) == before


def test_every_command_that_reads_files_is_here():
    assert unasked(LINES) == set()


@pytest.mark.parametrize(
    "spread", [["--jobs", "2"], pytest.param(["--spark-master", "local[1]"], marks=pytest.mark.spark)]
)
def test_worker_processes_change_nothing(spread, recording, kcli):
    root = recording("truncation") / "before-follower"
    before = tree(root)
    assert kcli("truncate", "--dry-run", "--to-offset", "0", *spread, root).exit_code == 1
    assert tree(root) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.open("ab").close(),
        lambda path: path.open("r+b").close(),
        lambda path: os.close(os.open(path, os.O_RDWR)),
        lambda path: os.close(os.open(path, os.O_RDONLY | os.O_CREAT)),
        lambda path: path.rename(path.with_suffix(".other")),
        lambda path: path.unlink(),
        lambda path: path.with_suffix(".new").mkdir(),
        lambda path: os.truncate(path, 0),
        lambda path: os.utime(path, (0, 0)),
        lambda path: path.chmod(0o600),
    ],
)
def test_the_watch_sees_changes(change, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    with watching(tmp_path) as seen:
        change(tmp_path / "file")
    assert seen


@pytest.mark.parametrize(
    "read",
    [
        lambda path: path.read_bytes(),
        lambda path: os.close(os.open(path, os.O_RDONLY)),
        lambda path: list(path.parent.iterdir()),
        lambda path: (path.parent.parent / "elsewhere").write_bytes(b""),
    ],
)
def test_the_watch_lets_reading_pass(read, tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "file").write_bytes(b"x")
    before = tree(tmp_path / "log")
    with watching(tmp_path / "log") as seen:
        read(tmp_path / "log" / "file")
    assert seen == []
    assert tree(tmp_path / "log") == before


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"y"),
        lambda path: os.utime(path, ns=(0, 0)),
        lambda path: path.with_name("other").touch(),
        lambda path: path.unlink(),
    ],
)
def test_the_tree_tells_changes(change, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    before = tree(tmp_path)
    change(tmp_path / "file")
    assert tree(tmp_path) != before
