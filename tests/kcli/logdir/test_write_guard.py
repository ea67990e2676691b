"""Where kcli never writes: what counts as a log dir or a partition directory, at any depth."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from kcli.logdir.write_guard import log_dir_around, scratch_directory
from tests.processes import ENVIRONMENT, KCLI
from tests.unprivileged import as_unprivileged


@pytest.mark.parametrize(
    "holds",
    [
        "meta.properties",
        "recovery-point-offset-checkpoint",
        ".kafka_cleanshutdown",
        "orders-0/00000000000000000000.log",
        "orders-0/00000000000000000000.index",
        "orders-0/leader-epoch-checkpoint",
        "orders-0/partition.metadata",
    ],
)
def test_no_place_in_a_directory_of_a_broker(tmp_path, holds):
    file = tmp_path / "data" / holds
    file.parent.mkdir(parents=True)
    file.touch()
    tmp_path.joinpath("link").symlink_to(file.parent)

    assert log_dir_around(str(file.parent)) == str(file.parent)
    assert log_dir_around(str(file.parent / "new" / "deep" / "rows.csv")) == str(file.parent)
    assert log_dir_around(str(tmp_path / "link" / "rows.csv")) == str(file.parent)
    assert log_dir_around(str(tmp_path / "rows.csv")) is None


@pytest.mark.parametrize(
    "holds", [".lock", "build-7/", "build-7/notes.txt", "build-7/.lock", "00000000000000000000.log"]
)
def test_a_directory_with_names_like_those_of_a_broker_may_be_written_to(tmp_path, holds):
    file = tmp_path / holds
    (file if holds.endswith("/") else file.parent).mkdir(exist_ok=True)
    if not holds.endswith("/"):
        file.touch()

    assert log_dir_around(str(tmp_path)) is None
    assert log_dir_around(str(file.parent / "rows.csv")) is None


def test_a_directory_that_cannot_be_listed_is_none_of_a_broker(tmp_path):
    closed = tmp_path / "tmux-0"
    closed.mkdir(mode=0o700)
    printed = as_unprivileged(
        "from kcli.logdir.write_guard import log_dir_around",
        "print(log_dir_around(sys.argv[1]), os.access(sys.argv[1], os.R_OK))",
        closed,
    )

    assert printed == "None False\n"


pytestmark = pytest.mark.slow

COMMANDS = [
    ("ls", "--jobs", "2"),
    ("dump", "-o", "text", "--records", "--jobs", "2"),
    ("dump", "-o", "text", "--verify-index-only"),
    ("sql", "SELECT count(*) FROM batches"),
]


@pytest.fixture
def log_dir():
    """A log dir with a name that is short enough for temporary files."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place, "meta.properties").write_text("version=1\n")
        yield place


class TestTemporaryFiles:
    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr("kcli.logdir.write_guard.PLACES", ("/no/such/place", "/nor/this"))

    @pytest.mark.parametrize("chosen", ["", ".", "/no/such", "/tmp/" + "x" * 100])
    def test_never_go_to_the_working_directory(self, monkeypatch, tmp_path, chosen):
        monkeypatch.setenv("TMPDIR", chosen)

        with pytest.raises(FileNotFoundError, match="no temporary directory is writable"):
            scratch_directory()
        assert os.listdir(tmp_path) == []

    def test_go_where_there_is_room(self, monkeypatch):
        with tempfile.TemporaryDirectory(dir="/tmp") as room:
            monkeypatch.setenv("TMPDIR", room)

            assert scratch_directory() == tempfile.gettempdir() == room

    def test_never_go_to_a_log_dir(self, monkeypatch, log_dir):
        monkeypatch.setenv("TMPDIR", log_dir)

        with pytest.raises(FileNotFoundError):
            scratch_directory()
        monkeypatch.setattr("kcli.logdir.write_guard.PLACES", ("/tmp",))
        assert scratch_directory() == "/tmp"

    def test_go_to_a_directory_with_a_name_like_that_of_a_partition(self, monkeypatch):
        with tempfile.TemporaryDirectory(dir="/tmp") as room:
            os.mkdir(os.path.join(room, "build-7"))
            monkeypatch.setenv("TMPDIR", room)

            assert scratch_directory() == room

    def test_a_command_says_so(self, monkeypatch, tmp_path, kcli):
        monkeypatch.setenv("TMPDIR", "/no/such/place")
        result = kcli("demo")

        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (4, "", 1)
        assert "no temporary directory is writable" in result.stderr
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_leaves_a_log_dir_alone(words, log_dir, demo):
    """The directory has the time of its last change: a file that comes and goes changes it, too."""
    before = os.stat(log_dir).st_mtime_ns
    command = [*KCLI, *words, str(demo)]
    done = subprocess.run(command, capture_output=True, check=False, env={**ENVIRONMENT, "TMPDIR": log_dir})

    assert done.returncode in {0, 1}, done.stderr
    assert (os.stat(log_dir).st_mtime_ns, os.listdir(log_dir)) == (before, ["meta.properties"])
