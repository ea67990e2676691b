"""What has a name of a log dir's or a log's file and is no regular file: one finding, the same everywhere."""

import os

import pytest

from tests.commands.answers import ask
from tests.partitions import log_dir, orders, put_range
from tests.processes import KCLI, run_program

pytestmark = pytest.mark.slow

COMMANDS = ("ls", "scan", "dump", "epoch show", "lookup offset 1", "truncate --dry-run --to-offset 1")
NAMES = ("meta.properties", "recovery-point-offset-checkpoint", "cleaner-offset-checkpoint", ".lock")
LOG = f"{3:020d}.log"
MAKE = {
    "a directory": os.mkdir,
    "a named pipe": os.mkfifo,
    "a symbolic link that leads to itself": lambda path: path.symlink_to(path.name),
    "a symbolic link that leads nowhere": lambda path: path.symlink_to("nowhere"),
}


OF_THE_START = {"START-009", "START-010", "START-012"}
"""What `ls` says besides: the log dir cannot be used, and no partition.metadata is here."""


def document(words, path):
    return ask(*words.split(), path)[0]


def replaced(path, kind):
    path.unlink(missing_ok=True)
    MAKE[kind](path)


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("name", [*NAMES, f"orders-0/{LOG}"])
def test_in_a_log_dir_or_a_partition(tmp_path, name, kind, words):
    root = orders(tmp_path / "d", put_range(0, 3)).parent
    path = root / name
    replaced(path, kind)
    said = document(words, path.parent)
    assert said["rows"]
    assert said["errors"] == []
    found = [
        (finding["code"], finding["dir"], finding["file"], finding["message"])
        for finding in said["findings"]
        if finding["code"] not in OF_THE_START
    ]
    assert found == [("LOG-012", str(path.parent), path.name, f"{kind}, not a regular file")]


@pytest.mark.parametrize("words", COMMANDS)
def test_in_a_log_dir_without_partitions(tmp_path, words):
    root = log_dir(tmp_path / "d")
    replaced(root / "recovery-point-offset-checkpoint", "a named pipe")
    found = {finding["code"] for finding in document(words, root)["findings"]}
    assert found - OF_THE_START == {"LOG-012"}


@pytest.mark.parametrize("kind", MAKE)
def test_as_an_argument(tmp_path, kind):
    directory = orders(tmp_path / "d", put_range(0, 3))
    replaced(directory / LOG, kind)
    (error,) = document("dump", directory / LOG)["errors"]
    assert error["path"] == str(directory / LOG)


@pytest.mark.parametrize("kind", ["a directory", "a named pipe", "a character device"])
def test_a_state_is_refused_before_it_is_opened(tmp_path, kind):
    state = tmp_path / "state"
    if kind == "a character device":
        state.symlink_to("/dev/zero")
    else:
        MAKE[kind](state)
    partition = orders(tmp_path / "d", put_range(0, 3))
    done = run_program([*KCLI, "check", "--since", state, partition], timeout=300)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kcli: --since {state}: {kind}, not a regular file\n"


@pytest.mark.parametrize("words", ["check", "startup"])
@pytest.mark.parametrize("name", ["orders-5", "backup"])
def test_a_link_to_itself_in_a_log_dir_ends_no_start(tmp_path, name, words):
    """LogManager loads what isDirectory says is one, and this link is not."""
    root = orders(tmp_path / "d", put_range(0, 3)).parent
    before = document(words, root)
    (root / name).symlink_to(name)
    said = document(words, root)
    assert (said["rows"], said["findings"]) == (before["rows"], before["findings"])
    errors = [(error["error"], error["path"]) for error in said["errors"]]
    assert errors == [("symlink-loop", str(root / name))]
