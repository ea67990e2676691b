"""What the exit status says, and that every end is a quiet one."""

import fcntl
import json
import os
import re
import subprocess
import sys
import time

import pytest

from commands.demo import OPENING, STORY
from kcli.cli.status import PRECEDENCE, ExitStatus, worst
from kcli.engine.contract import EngineMissingError
from kcli.jobs import epoch as epoch_jobs
from tests.processes import ENVIRONMENT, KCLI, run_program, unread

pytestmark = pytest.mark.slow

ASK = ("epoch", "end-offset", "--epoch", "0")


@pytest.fixture
def orders(log_dir):
    log_dir.partition("orders-0")
    return log_dir.path


def test_the_worst_status_wins():
    assert [int(status) for status in PRECEDENCE] == [130, 70, 5, 2, 4, 3, 1, 0]
    assert worst(ExitStatus.FINDINGS, ExitStatus.NOTHING_ANSWERED, ExitStatus.SOME_UNANSWERED) == 4
    assert worst() == 0


@pytest.mark.parametrize(
    ("inputs", "status"),
    [
        (["orders-0"], 0),
        (["absent"], 3),
        (["absent", "orders-0"], 4),
        (["absent", "gone"], 3),
        (["meta.properties"], 3),
        (["bad-0"], 3),
        (["."], 4),
    ],
)
def test_unanswered_inputs_exit_3_or_4(kcli, log_dir, orders, inputs, status):
    (log_dir.partition("bad-0") / "leader-epoch-checkpoint").write_text("9\n")
    result = kcli(*ASK, *(orders / name for name in inputs), "-o", "json")

    assert result.exit_code == status
    assert bool(json.loads(result.stdout)["errors"]) == (status != 0)


@pytest.mark.parametrize(("level", "status"), [("info", 1), ("warning", 1), ("error", 0), ("never", 0)])
def test_findings_at_the_level_of_fail_on_exit_1(kcli, orders, level, status):
    (orders / "orders-0" / "leader-epoch-checkpoint").unlink()

    assert kcli(*ASK, orders, "--fail-on", level).exit_code == status
    assert kcli(*ASK, orders, "--fail-on", level, "-q").exit_code == status


def raising(error):
    def engine(scan, units):
        raise error
        yield

    return engine


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (EngineMissingError("install Java"), 4, "environment"),
        (RuntimeError("a bug"), 70, "internal"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
@pytest.mark.parametrize("output", ["json", "tsv"])
def test_an_engine_that_ends_leaves_a_whole_document(kcli, orders, monkeypatch, error, status, word, output):
    monkeypatch.setattr("kcli.engine.inline.inline", raising(error))
    result = kcli(*ASK, orders, "-o", output)

    assert result.exit_code == status
    assert result.stderr.count("\n") == 1
    if output == "json":
        assert [failure["error"] for failure in json.loads(result.stdout)["errors"]] == [word]
    else:
        assert result.stdout == ""


def test_an_internal_error_shows_its_traceback_when_asked(kcli, orders, monkeypatch):
    monkeypatch.setattr("kcli.engine.inline.inline", raising(RuntimeError("a bug")))

    assert "Traceback (most recent call last)" in kcli(*ASK, orders, "-vv").stderr
    assert "Traceback" not in kcli(*ASK, orders).stderr


def test_a_scan_that_breaks_is_70_and_does_not_stop_the_others(kcli, log_dir, orders, monkeypatch):
    log_dir.partition("orders-1")
    real = epoch_jobs.end_offset

    def broken(unit, **options):
        if unit.target.name.partition == 0:
            raise ZeroDivisionError("one")
        return real(unit, **options)

    monkeypatch.setattr(epoch_jobs, "end_offset", broken)
    result = kcli(*ASK, orders, "-o", "json")
    document = json.loads(result.stdout)

    assert result.exit_code == 70
    assert [row["partition"] for row in document["rows"]] == [1]
    assert [error["error"] for error in document["errors"]] == ["internal"]


@pytest.fixture
def many(log_dir):
    for number in range(300):
        log_dir.partition(f"many-{number}")
    return log_dir.path


@pytest.mark.parametrize("output", ["ndjson", "json", "tsv", "csv"])
def test_a_broken_pipe_is_quiet(many, output):
    words = ("epoch", "end-offset", "--epoch", "all", many, "-o", output)
    done = run_program(
        ["bash", "-c", '"$@" | head -c 20 >/dev/null; exit ${PIPESTATUS[0]}', "-", *KCLI, *words]
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_pipe_without_a_reader_is_quiet_at_the_last_flush(orders):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*KCLI, *ASK, orders / "orders-0"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "words",
    [(*ASK, "orders-0"), (*ASK, "orders-0", "-o", "json"), ("explain",), ("schema", "ls"), ("--version",)],
)
def test_a_full_disk_is_not_silent(orders, words):
    line = ["bash", "-c", '"$@" > /dev/full', "-", *KCLI, *words]
    done = run_program(line, cwd=orders, env=ENVIRONMENT)

    assert (done.returncode, done.stderr) == (4, "kcli: cannot write output: no space left on device\n")


NOT_OPEN = "kcli: cannot write output: bad file descriptor\n"


@pytest.mark.parametrize(
    ("redirection", "words", "status", "answer"),
    [
        (">&-", ASK, 4, NOT_OPEN),
        (">&-", (*ASK, "-o", "json"), 4, NOT_OPEN),
        (">&-", (*ASK, "-q"), 0, ""),
        (">&-", (*ASK, "--jobs", "2"), 4, NOT_OPEN),
        (">&-", ("--version",), 4, NOT_OPEN),
        (">&-", (*ASK, "--out", "../ends.csv"), 0, ""),
        ("<&-", (*ASK, "-q"), 0, ""),
        ("<&-", (*ASK, "-"), 2, "kcli: -: stdin is closed\n"),
        ("<&-", (*ASK, "--files-from", "-"), 2, "kcli: --files-from -: stdin is closed\n"),
        ("2>&-", (*ASK, "absent", "-q"), 4, ""),
        ("<&- >&- 2>&-", (*ASK, "absent"), 4, ""),
    ],
)
def test_closed_streams_are_no_reason_to_fail(orders, redirection, words, status, answer):
    paths = [] if words == ("--version",) else ["orders-0"]
    line = ["bash", "-c", f'"$@" {redirection}', "-", *KCLI, *words, *paths]
    done = run_program(line, cwd=orders, env=ENVIRONMENT)

    assert (done.returncode, done.stdout, done.stderr) == (status, "", answer)


def test_a_foreign_package_in_the_working_directory_is_reported(tmp_path):
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "__init__.py").write_text("raise SystemExit('foreign code ran')")
    done = run_program([*KCLI, "--version"], cwd=tmp_path, env=ENVIRONMENT)

    assert (done.returncode, done.stdout) == (70, "")
    assert (
        done.stderr == f"kcli: {tmp_path}/commands is in the way of kcli's own package of that name; "
        "run kcli from another directory\n"
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_foreign_modules_in_the_working_directory_do_not_run(orders, tmp_path, jobs):
    script = tmp_path / "bin" / "kcli"
    script.parent.mkdir()
    script.write_text("from kcli.__main__ import main\nif __name__ == '__main__':\n    main()\n")
    for name in ("struct", "pickle", "signal", "socket", "numpy"):
        (orders / f"{name}.py").write_text("open('/dev/stderr', 'w').write('foreign code ran')\n")
    done = run_program([sys.executable, script, *ASK, ".", "--jobs", jobs, "-q"], cwd=orders, env=ENVIRONMENT)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "words", [("ls",), ("epoch", "end-offset"), ("truncate",), ("schema",), ("demo",), ("rlmm", "dump"), ()]
)
def test_version_after_any_command(kcli, words):
    result = kcli(*words, "--version")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "kcli 0.2.0\n", "")


BEFORE = len(f"{OPENING}\n{STORY[0][0]}\n$ kcli {STORY[0][1]}\n")
"""Bytes of the demo up to its first command line."""


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="only Linux says how large a pipe is")
def test_a_demo_stops_when_its_pipe_is_closed(tmp_path):
    command = [sys.executable, "-X", "importtime", "-m", "kcli", "demo", "--keep"]
    ours, theirs = os.pipe()
    filled = os.write(theirs, bytes(fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, 4096) - BEFORE))
    with subprocess.Popen(
        [*command, tmp_path / "left"], stdout=theirs, stderr=subprocess.PIPE, text=True
    ) as demo:
        os.close(theirs)
        while demo.poll() is None and unread(ours) < filled + BEFORE:
            time.sleep(0.01)
        os.close(ours)
        _, answer = demo.communicate()
    read = run_program([*command, tmp_path / "read"], check=True)

    assert demo.returncode == 0 and "kcli: " not in answer
    assert "check" in jobs_loaded(answer) and "salvage" not in jobs_loaded(answer)
    assert "salvage" in jobs_loaded(read.stderr)


def jobs_loaded(imports):
    """Return the names of the jobs whose modules were loaded, as `python -X importtime` says."""
    return re.findall(r"\| +kcli\.jobs\.(\w+)$", imports, re.MULTILINE)


def test_text_of_what_cannot_be_read_answers_nothing(kcli, tmp_path):
    (tmp_path / f"{5:020d}.snapshot").write_bytes(bytes(30))
    done = kcli("dump", "-o", "text", tmp_path / f"{5:020d}.snapshot")

    assert done.exit_code == 3
    assert done.stdout.startswith("Dumping ")


def test_lines_are_written_many_at_once_though_python_is_asked_not_to_buffer():
    """Images for servers set PYTHONUNBUFFERED: two system calls a line take a quarter of the time."""
    code = (
        "import kcli.__main__ as door, sys; door._complete_streams();"
        "print(type(sys.stdout.buffer).__name__, sys.stdout.write_through)"
    )
    done = run_program([sys.executable, "-c", code], env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"})
    assert (done.stdout, done.stderr) == ("BufferedWriter False\n", "")
