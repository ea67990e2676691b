"""The log dir that the package ships: it has what the main jobs need."""

import errno
import filecmp
import os
import resource
import subprocess
import sys
from importlib import resources

from typer.testing import CliRunner

from commands.app import app
from commands.demo import CRASHED, FOLDER, NOW_TRY, SAVED, STORY, WRONG_BYTE

PACKED = resources.files("kcli.demo") / "demo.tar.gz"


def test_it_is_small_and_one_log_dir_with_its_dot_file(demo):
    assert len(PACKED.read_bytes()) < 200_000
    assert [entry.name for entry in demo.parent.iterdir()] == ["kcli-demo"]
    assert (demo / ".kafka_cleanshutdown").exists()


def test_it_has_epochs_segments_a_transaction_and_remote_events(demo, ask):
    listed = {(row["topic"], row["partition"]): row for row in ask("ls", demo).rows}
    assert {topic for topic, _ in listed} >= {"orders", "payments", "clicks", "__remote_log_metadata"}
    assert min(listed["orders", 0]["segments"], listed["payments", 0]["segments"]) >= 3
    assert len(ask("epoch", "show", demo / "orders-0").rows) == 4
    assert any(path.stat().st_size for path in (demo / "payments-0").glob("*.txnindex"))
    assert {row["state"] for row in ask("rlmm", "dump", demo).rows} == {
        "COPY_SEGMENT_STARTED",
        "COPY_SEGMENT_FINISHED",
    }


def test_timestamps_rise_through_a_morning(demo, ask):
    (row,) = ask("lookup", "timestamp", "2026-01-01T10:00:00Z", demo / "orders-0").rows
    assert row["found"]
    assert 0 < row["offset"] < ask("ls", demo / "orders-0").rows[0]["log_end_offset"]


def test_kcli_demo_shows_one_incident_in_six_commands(tmp_path, demo):
    """Each has a sentence before it, whose numbers are those of the answer; the files may be kept."""
    done = CliRunner().invoke(app, ["demo", "--keep", str(tmp_path)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [lines[lines.index(f"$ kcli {command}") - 1] for _, command in STORY] == [
        said for said, _ in STORY
    ]
    assert len(STORY) == 6
    assert len(lines) < 100
    for answer in (
        "1 damaged, 8 clean.",
        "9 records lost.",
        "the same, 9 behind",
        "87 of 96          9          9",
    ):
        assert answer in done.stdout
    assert "Not saved: 1 batch, " in done.stdout
    assert done.stdout.endswith(f"\n\n{NOW_TRY}\n")
    assert {path.name for path in tmp_path.iterdir()} == {FOLDER, CRASHED, SAVED}
    changed = filecmp.dircmp(tmp_path / FOLDER, tmp_path / CRASHED)
    assert (changed.left_only, changed.right_only, changed.diff_files) == ([".kafka_cleanshutdown"], [], [])
    assert changed.subdirs["orders-0"].diff_files == [WRONG_BYTE[0].partition("/")[2]]


def test_the_demo_is_kept_where_nothing_is_harmed(demo, tmp_path, kcli):
    """Neither in a log dir nor in place of something of the same name."""
    before = sorted((path, path.stat().st_mtime_ns) for path in demo.rglob("*"))
    done = kcli("demo", "--keep", demo / "below")
    assert done.exit_code == 5
    assert f"--keep {demo}/below: {demo} is a log dir or a partition directory, and kcli" in done.stderr
    assert kcli("demo", "--keep", demo / "orders-0").exit_code == 5
    assert sorted((path, path.stat().st_mtime_ns) for path in demo.rglob("*")) == before

    for name in (FOLDER, CRASHED, SAVED):
        kept = tmp_path / name / "mine"
        kept.mkdir(parents=True)
        done = kcli("demo", "--keep", kept.parent.parent)
        assert (done.exit_code, os.listdir(kept)) == (5, [])
        kept.rmdir()
        kept.parent.rmdir()


def test_a_directory_that_is_not_writable_is_one_error(tmp_path, kcli, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "kcli-demo"))

    monkeypatch.setattr("tarfile.TarFile.extractall", refused)
    done = kcli("demo", "--keep", tmp_path)
    assert (done.exit_code, done.stdout) == (4, "")
    assert done.stderr == f"kcli: --keep {tmp_path}: cannot write: permission denied\n"


def test_nothing_is_left_of_a_demo_that_cannot_be_unpacked(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "kcli", "demo", "--keep", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"kcli: --keep {tmp_path}: cannot write: file too large\n"
    assert os.listdir(tmp_path) == []
