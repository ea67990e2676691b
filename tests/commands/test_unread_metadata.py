"""Metadata that a broker wrote for its own user alone (mode 0400), under a kcli that another user runs."""

import json
import shutil

import pytest

from tests.starts.observe import prepare
from tests.starts.states import METADATA, newest_snapshot
from tests.unprivileged import as_unprivileged

ANSWER = """
import json, pkgutil
from typer.testing import CliRunner
from commands.app import app

def answer(words, *log_dirs):
    run = CliRunner().invoke(app, [*words.split(), *log_dirs, "-o", "json"])
    return run.exit_code, json.loads(run.stdout)
"""


def answers(root, *commands, names=("d0", "d1")):
    """Return status and document of commands over log dirs, by a user who may do only what everybody may."""
    own = root.parent / "own"
    shutil.copytree(root, own)  # other files are read with all rights, so that nothing is left to import
    first = "\n".join(f"answer({words!r}, *(f'{own}/{{name}}' for name in {names!r}))" for words in commands)
    then = f"print(json.dumps([answer(words, *sys.argv[1:]) for words in {commands!r}]))"
    said = json.loads(as_unprivileged(f"{ANSWER}\n{first}", then, *(root / name for name in names)))
    return [(status, document, codes(document)) for status, document in said]


def codes(document):
    return {finding["code"] for finding in document["findings"]}


def unread(document):
    return [(error["path"], error["error"]) for error in document["errors"]]


def broker_row(document):
    return next(row for row in document["rows"] if row["type"] == "startup_broker")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "dirs").mkdir()
    prepare("4.3.1-snapshot", "healthy", tmp_path / "dirs")
    return tmp_path / "dirs"


def without_log(root):
    """Leave of the metadata the snapshots alone."""
    for path in (root / "d0" / METADATA).glob(f"{0:020}.*"):
        path.unlink()


def test_a_snapshot_of_mode_0400_is_an_error_and_stops_no_broker(root):
    snapshot = newest_snapshot(root)
    snapshot.chmod(0)
    for status, document, found in answers(root, "startup", "check", "ls"):
        assert (status, unread(document)) == (4, [(str(snapshot), "no-permission")])
        assert not found & {"START-009", "META-008"}


def test_metadata_beside_the_log_dirs_and_that_of_all_releases_is_an_error_too(root):
    snapshot = newest_snapshot(root)
    snapshot.chmod(0)
    beside = answers(root, "startup", "check", "ls", names=("d1",))
    shutil.rmtree(root.parent / "own")
    for status, document, found in (*beside, *answers(root, "startup --releases", "startup --topic orders")):
        assert (status, unread(document)) == (4, [(str(snapshot), "no-permission")])
        assert "START-009" not in found


@pytest.mark.parametrize("name", [f"{0:020}.log", "quorum-state", "."])
def test_what_no_metadata_decides_is_judged(root, name):
    path = root / "d0" / METADATA / name
    path.chmod(0)
    ((status, document, found),) = answers(root, "startup")
    row = broker_row(document)
    assert (row["outcome"], row["error"], row["metadata_path"]) == ("starts", None, None)
    assert (status == 4, "START-009" in found) == (name != "quorum-state", False)


def test_the_first_lines_say_that_the_metadata_is_not_judged(root):
    newest_snapshot(root).chmod(0)
    shutil.copytree(root, root.parent / "own")
    run = "CliRunner().invoke(app, ['startup', f'{}/d0', f'{}/d1', '-o', 'table']).stdout"
    own, there = (run.replace("{}", str(place)) for place in (root.parent / "own", root))
    text = as_unprivileged(f"{ANSWER}\n{own}", f"print({there})", root / "d0")
    assert text.startswith("Incomplete: 1 input was not read")
    assert "would start (Kafka" in text
    assert "No readable metadata log is here: what the metadata decides is not judged" in text


def test_a_log_that_has_all_that_the_snapshots_hold_gives_the_settings(root):
    for path in (root / "d0" / METADATA).glob("*.checkpoint"):
        path.chmod(0)
    for status, document, found in answers(root, "retention", "txn list"):
        assert (status, unread(document), "META-009" in found) == (0, [], False)


def test_settings_that_only_an_unread_snapshot_has_are_an_error(root):
    without_log(root)
    for path in (root / "d0" / METADATA).glob("*.checkpoint"):
        path.chmod(0)
    for status, document, _ in answers(root, "retention", "compact", "txn list", "txn open"):
        ((path, error),) = unread(document)
        assert (status, error, path.endswith(".checkpoint")) == (4, "no-permission", True)


def test_the_rows_of_what_was_read_are_there_nevertheless(root):
    (root / "d0" / METADATA).chmod(0)
    for status, document, found in answers(root, "retention", "txn list"):
        assert (status, bool(document["rows"])) == (4, True)
        assert found <= {"META-009", "COORD-005"}
