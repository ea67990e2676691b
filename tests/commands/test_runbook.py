"""`kcli runbook`: each script is plain sh, asks what is documented, and knows good log dirs from bad ones."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from commands.app import app
from kcli.cli.option import every_command
from kcli.manual import page
from kcli.output.schema import document_schema
from kcli.runbooks import runbooks
from tests.recordings import pack
from tests.recordings.watch import tree
from tests.starts.observe import prepare

RUNBOOKS = runbooks()
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
CALL = re.compile(r"(?:^|\$\(|\|\| |if )\s*kcli ((?:[^\\\n|)]|\\\n)*)", re.MULTILINE)
"""A command line of kcli in a script without its comments."""


@cache
def commands():
    return {" ".join(words): command for words, command in every_command(get_command(app)).items()}


def code(text):
    """Return a script without comments and without the text that it prints for people."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "echo "))]
    return "\n".join(lines)


def calls(text):
    """Yield each command of kcli that a script runs, and its command line."""
    for line in CALL.findall(code(text)):
        words = line.split()
        yield next(name for name in (" ".join(words[:2]), words[0]) if name in commands()), line


@pytest.mark.parametrize("name", RUNBOOKS)
def test_a_runbook_is_short_and_says_what_it_answers(name):
    lines = RUNBOOKS[name].splitlines()

    assert lines[0] == "#!/bin/sh"
    assert re.fullmatch(r"# .*\?", lines[1])
    assert re.match(r"# 0: .*; else: ", lines[2])
    assert f"sh {name}.sh " in RUNBOOKS[name]
    assert "set -eu" in lines
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize("name", RUNBOOKS)
def test_shells_and_shellcheck_take_it(name):
    for shell in filter(shutil.which, ("sh", "dash", "bash")):
        done = subprocess.run(
            [shell, "-n"], input=RUNBOOKS[name], text=True, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    if SHELLCHECK is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(
        [SHELLCHECK, "--shell=sh", "--norc", "-"],
        input=RUNBOOKS[name],
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", RUNBOOKS)
def test_it_asks_with_options_and_reads_keys_that_are_documented(name):
    asked = list(calls(RUNBOOKS[name]))
    programs = " ".join(re.findall(r"jq [^']*'([^']*)'", code(RUNBOOKS[name])))
    programs = re.sub(r"[\w/]\.\w+", "", programs)  # names of files
    known = {"exit_status", "type"} | {
        key
        for command, _ in asked
        for one in (document_schema(command), *document_schema(command)["$defs"].values())
        for key in one["properties"]
    }

    assert asked
    for command, line in asked:
        options = {
            option for one in commands()[command].params for option in (*one.opts, *one.secondary_opts)
        }
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)) <= options
        assert re.search(r"-o (json|ndjson)\b", line), line
    assert set(re.findall(r"\.([a-z][a-z_]*)", programs)) - known == set()


@pytest.mark.parametrize("name", RUNBOOKS)
def test_it_runs_nothing_that_changes_files(name):
    commands = re.findall(
        r"(?:^|[;|&(]|then|else|do)\s*([a-z][\w.-]*)\b(?!=|\))", code(RUNBOOKS[name]), re.MULTILINE
    )
    assert (
        set(commands) & {"mv", "rm", "cp", "mkdir", "ln", "truncate", "dd", "touch", "tee", "systemctl"}
        == set()
    )
    assert not re.search(r"^\s*[a-z-]+\.sh\b", code(RUNBOOKS[name]), re.MULTILINE)
    assert set(re.findall(r"> *([^\s;]+)", code(RUNBOOKS[name]))) <= {"/dev/null", "&2", "&1", "0"}


def test_the_list_has_each_with_its_question_and_status(kcli):
    listed = kcli("runbook").stdout

    for name, text in RUNBOOKS.items():
        _, question, status, *_ = text.splitlines()
        assert f"{name} " in listed and question[2:] in listed and f"status {status[2:]}" in listed
        assert kcli("runbook", name).stdout == text
        assert f"`kcli runbook {name}`" in page("runbooks")


KCLI = """#!/bin/sh
exec {python} -c '
from kcli.logdir import buffers, concurrent_changes
concurrent_changes.SETTLING_MS = buffers.WRITING_MS = 0
from kcli.__main__ import main
main()' "$@"
"""


@pytest.fixture
def run(tmp_path, tmp_path_factory, monkeypatch):
    """Run a runbook in `tmp_path`: its exit status and what it prints; no file of a log dir changes."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "kcli").write_text(KCLI.format(python=sys.executable))
    (folder / "kcli").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def run(name, *words):
        log_dirs = [path.parent for path in tmp_path.rglob("meta.properties")]
        before = [tree(path) for path in log_dirs]
        done = subprocess.run(
            ["sh", "-c", RUNBOOKS[name], f"{name}.sh", *map(str, words)],
            text=True,
            capture_output=True,
            check=False,
        )
        assert [tree(path) for path in log_dirs] == before
        return done.returncode, done.stdout + done.stderr

    return run


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="the scripts need jq")


@pytest.mark.slow
@needs_jq
@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ("healthy", 0, "YES: start it.\nbroker 1 starts\n"),
        ("-delete and -stray directories", 0, "-stray: stray: a former replica"),
        (
            "zeros after a clean stop",
            1,
            "do: remove b/d1/.kafka_cleanshutdown: recovery then cuts the log there",
        ),
        (
            "partition.metadata missing",
            1,
            "broker 1 starts, loses 25 records\n  b/d0/orders-0: stray, loses 25",
        ),
        ("recovery-point of NUL bytes in d1", 1, "NO: do not start it.\nbroker 1 starts-degraded\n"),
    ],
)
def test_pre_start_gate(run, tmp_path, monkeypatch, change, status, said):
    prepare("4.3.1", change, tmp_path / "b")
    done = run("pre-start-gate", "b/d0", "b/d1")
    assert done[0] == status and said in done[1]
    if "loses" in said:
        monkeypatch.setenv("ACCEPT_LOSS", "yes")
        assert run("pre-start-gate", "b/d0", "b/d1")[0] == 0


@pytest.mark.slow
@needs_jq
def test_pre_start_gate_lets_nothing_pass_without_an_answer(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCEPT_LOSS", "yes")
    assert run("pre-start-gate")[0] == 2
    assert run("pre-start-gate", "absent")[0] == 3
    prepare("4.3.1", "zeros after a clean stop", tmp_path / "b")
    assert run("pre-start-gate", "b/d0", "b/d1")[0] == 1


@pytest.mark.slow
@needs_jq
def test_rollback_gate(run, tmp_path):
    prepare("4.3.1", "healthy", tmp_path / "b")
    assert run("rollback-gate", "4.3", "b/d0", "b/d1")[0] == 0
    status, said = run("rollback-gate", "3.9", "b/d0", "b/d1")
    assert status == 1 and "NO: do not start 3.9 here." in said
    assert "\n  4.3  starts\n" in said and "\n  3.9  fails: No MetadataVersion with feature level" in said
    assert run("rollback-gate", "9", "b/d0", "b/d1")[0] == 2


@pytest.mark.slow
@needs_jq
def test_nightly_sweep(run, tmp_path):
    prepare("4.3.1", "healthy", tmp_path / "b")
    runs = tmp_path / "runs"
    assert run("nightly-sweep", "runs", "b/d0", "b/d1")[0] == 2
    assert run("nightly-sweep", "b/d0", "b/d0", "b/d1")[0] == 5
    runs.mkdir()
    assert run("nightly-sweep", "runs", "b/d0", "b/d1") == (0, "")
    next(runs.glob("check-*")).rename(runs / "check-2026-01-02T020000Z")
    with (tmp_path / "b" / "d0" / "orders-0" / f"{0:020}.log").open("r+b") as log:
        log.seek(100)
        log.write(b"?")
    shutil.rmtree(tmp_path / "b" / "d1" / "events-2")
    status, said = run("nightly-sweep", "runs", "b/d0", "b/d1")
    assert status == 1
    assert f"error LOG-003 b/d0/orders-0/{0:020}.log: offset 0: the checksum does not match" in said
    assert "damaged b/d0/orders-0: log end 26 to 26 LOG-003\n" in said and "gone b/d1/events-2" in said


@pytest.mark.slow
@needs_jq
def test_before_truncation(run, tmp_path):
    recording = pack.unpack("truncation", tmp_path)
    leader, follower, truncated = (
        recording / f"{name}" for name in ("before-leader", "before-follower", "after-follower-stopped")
    )
    status, said = run("before-truncation", "saved.ndjson", leader, follower)
    lost = len((tmp_path / "saved.ndjson").read_text().splitlines())
    assert (status, lost > 0) == (1, True) and f"{lost} of {lost} records that go are in saved.ndjson" in said
    assert run("before-truncation", "saved.ndjson", leader, follower)[0] == 2
    assert run("before-truncation", follower / "saved.ndjson", leader, follower)[0] == 4
    assert run("before-truncation", "none.ndjson", leader, truncated) == (0, "No record is lost.\n")
    assert not (tmp_path / "none.ndjson").exists()
