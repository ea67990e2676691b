"""Metadata that a broker wrote for its own user alone (mode 0400), under a kcli that another user runs."""

import json
import re
from typing import NamedTuple

import pytest

from tests.starts.observe import prepare
from tests.starts.states import METADATA, newest_snapshot
from tests.unprivileged import as_unprivileged

ANSWER = """
import json, pkgutil
from typer.testing import CliRunner
from commands.app import app

def answer(words, *log_dirs):
    run = CliRunner().invoke(app, [*words.split(), *log_dirs])
    return run.exit_code, json.loads(run.stdout) if words.endswith("json") else run.stdout

"""
BOTH = ("d0", "d1")


def snapshots(root):
    return (root / "d0" / METADATA).glob("*.checkpoint")


def snapshots_alone(root):
    """Leave of the metadata the snapshots alone."""
    for path in (root / "d0" / METADATA).glob(f"{0:020}.*"):
        path.unlink()
    return snapshots(root)


def of_metadata(name):
    return lambda root: [root / "d0" / METADATA / name]


def newest(root):
    return [newest_snapshot(root)]


SCENES = {
    "newest": (newest, BOTH, ["startup", "check", "ls", "startup --releases", "startup --topic orders"]),
    "newest, beside": (newest, ("d1",), ["startup", "check", "ls"]),
    "newest, drawn": (newest, BOTH, ["startup -o table"]),
    "log": (of_metadata(f"{0:020}.log"), BOTH, ["startup"]),
    "quorum-state": (of_metadata("quorum-state"), BOTH, ["startup"]),
    "all": (of_metadata("."), BOTH, ["startup", "retention", "txn list"]),
    "snapshots": (snapshots, BOTH, ["retention", "txn list"]),
    "snapshots alone": (snapshots_alone, BOTH, ["retention", "compact", "txn list", "txn open"]),
}
OF_LOG_DIRS = (
    *("d0/meta.properties", "d1/meta.properties", "d0/bootstrap.checkpoint"),
    "d1/replication-offset-checkpoint",
)
SCENES |= {
    name: (lambda root, name=name: [root / name], BOTH, ["startup", "check", "ls"]) for name in OF_LOG_DIRS
}
"""What is unread, the log dirs that are named, and commands."""


class Said(NamedTuple):
    """The status and document of a command, and the codes of its findings."""

    status: int
    document: dict

    @property
    def codes(self):
        return {finding["code"] for finding in self.document["findings"]}

    @property
    def unread(self):
        return [(error["path"], error["error"]) for error in self.document["errors"]]


def made(root):
    root.mkdir()
    prepare("4.3.1-snapshot", "healthy", root)
    return root


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each scene's commands say to a user who may do only what everybody may, and its directory."""
    top = tmp_path_factory.mktemp("unread")
    roots, asked = {}, []
    for name, (unread, names, commands) in SCENES.items():
        roots[name] = made(top / re.sub("[ /]", "-", name))
        for path in unread(roots[name]):
            path.chmod(0)
        lines = [command if "-o" in command else f"{command} -o json" for command in commands]
        asked += [(name, line, *(f"{roots[name]}/{file}" for file in names)) for line in lines]
    own = made(top / "own")  # once before, so that nothing is left to import
    lines = sorted({line for _, line, *_ in asked})
    first = f"for words in {lines!r}: answer(words, *{[f'{own}/{name}' for name in BOTH]!r})"
    then = f"print(json.dumps([answer(*words) for _, *words in {asked!r}]))"
    answers = json.loads(as_unprivileged(ANSWER + first, then, *(root / "d0" for root in roots.values())))
    found = {name: [] for name in SCENES}
    for (name, *_), answer in zip(asked, answers, strict=True):
        found[name].append(Said(*answer))
    return lambda name: (found[name], roots[name])


@pytest.mark.parametrize("scene", ["newest", "newest, beside"])
def test_a_snapshot_of_mode_0400_is_an_error_and_stops_no_broker(said, scene):
    answers, root = said(scene)
    for answer in answers:
        assert (answer.status, answer.unread) == (4, [(str(newest_snapshot(root)), "no-permission")])
        assert not answer.codes & {"START-009", "META-008"}


@pytest.mark.parametrize("scene", ["log", "quorum-state", "all"])
def test_what_no_metadata_decides_is_judged(said, scene):
    one = said(scene)[0][0]
    row = next(row for row in one.document["rows"] if row["type"] == "startup_broker")
    assert (row["outcome"], row["error"], row["metadata_path"]) == ("starts", None, None)
    assert (one.status, "START-009" in one.codes) == (4, False)


@pytest.mark.parametrize("scene", OF_LOG_DIRS)
def test_a_file_of_a_log_dir_that_only_its_broker_may_read_is_an_error_and_no_failure(said, scene):
    answers, root = said(scene)
    for answer in answers:
        assert (answer.status, answer.unread) == (4, [(str(root / scene), "no-permission")])
        assert not answer.codes & {"START-009", "START-010"}


def test_the_first_lines_say_that_the_metadata_is_not_judged(said):
    ((_, text),), _ = said("newest, drawn")
    assert text.startswith("Incomplete: 1 input has no answer")
    assert "would start (Kafka" in text
    assert "No readable metadata log is here: what the metadata decides is not judged" in text


def test_a_log_that_has_all_that_the_snapshots_hold_gives_the_settings(said):
    for answer in said("snapshots")[0]:
        assert (answer.status, answer.unread, "META-009" in answer.codes) == (0, [], False)


def test_settings_that_only_an_unread_snapshot_has_are_an_error(said):
    for answer in said("snapshots alone")[0]:
        ((path, error),) = answer.unread
        assert (answer.status, error, path.endswith(".checkpoint")) == (4, "no-permission", True)


def test_the_rows_of_what_was_read_are_there_nevertheless(said):
    for answer in said("all")[0][1:]:
        assert (answer.status, bool(answer.document["rows"])) == (4, True)
        assert answer.codes <= {"META-009", "COORD-005"}
