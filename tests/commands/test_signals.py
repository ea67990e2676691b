"""Signals at any moment: the document is closed, the workers are gone, and nothing waits for ever."""

import json
import os
import random
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.commands.conftest import MANY_PARTITIONS
from tests.processes import KCLI, unread

pytestmark = pytest.mark.slow

WAIT_SECONDS = 120


def start(*words, **more):
    return subprocess.Popen(
        [*KCLI, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def living(group):
    """Return the processes of a group that are more than an entry that init has not seen to yet."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = path.read_text().rpartition(")")
        except OSError:  # gone since
            continue
        state, _, its_group = fields.split()[:3]
        if int(its_group) == group and state not in "ZX":
            found.append(name)
    return found


def group_is_gone(group):
    end = time.monotonic() + WAIT_SECONDS
    while living(group) and time.monotonic() < end:
        time.sleep(0.02)
    return not living(group)


def ended(process):
    """Return what a process printed; it must end, and leave nothing."""
    try:
        out, error = process.communicate(timeout=WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert group_is_gone(process.pid)
    return out, error


def errors_of(out, output):
    """Return the errors of a document, which must be whole."""
    if output == "json":
        return [failure["error"] for failure in json.loads(out)["errors"]]
    lines = [json.loads(line) for line in out.splitlines()]
    assert out.endswith("\n")
    return [line["error"] for line in lines if line["type"] == "error"]


def is_of_python(error):
    """Whether Python was interrupted before kcli began, in its start or the first imports: it prints so."""
    frames = error.replace("/kcli/__main__.py", "")
    return error.endswith("KeyboardInterrupt\n") and not re.search("/kcli/|/commands/|, in main", frames)


@pytest.mark.parametrize(("jobs", "output"), [("1", "json"), ("2", "json"), ("1", "ndjson"), ("2", "ndjson")])
def test_ctrl_c_at_any_time_leaves_a_valid_document(many_partitions, jobs, output):
    moments = random.Random(f"{jobs} {output}")
    for earliest, latest in ((0.05, 0.3), (0.15, 0.9), (0.15, 0.9), (0.5, 2)):
        process = start(
            "epoch", "end-offset", "--epoch", "all", many_partitions, "--jobs", jobs, "-o", output
        )
        time.sleep(moments.uniform(earliest, latest))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        out, error = ended(process)

        if process.returncode in {1, -signal.SIGINT} and not out and is_of_python(error):
            continue
        assert process.returncode in {0, 130, -signal.SIGINT}, error
        assert not re.search("Traceback|leaked|Exception", error), error
        if process.returncode == -signal.SIGINT:  # Python itself was still starting
            assert (out, error) == ("", "")
            continue
        too_late = process.returncode == 0 or (error == "kcli: interrupted\n" and out)  # after the last word
        assert errors_of(out, output) == ([] if too_late else ["interrupted"])


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("output", ["json", "ndjson"])
def test_a_signal_between_rows_leaves_a_valid_document(many_partitions, number, status, output):
    process = start("epoch", "end-offset", "--epoch", "all", many_partitions, "-o", output)
    begun = os.read(process.stdout.fileno(), 2000).decode()
    process.send_signal(number)
    rest, error = ended(process)

    assert process.returncode == status
    assert errors_of(begun + rest, output) == ["interrupted"]
    assert error == "error interrupted: the rows are not complete\n"


def test_a_second_signal_ends_kcli_even_if_its_pipe_is_full(many_partitions):
    process = start("epoch", "end-offset", "--epoch", "all", many_partitions, "-o", "json")
    while unread(process.stdout) < 30_000:
        time.sleep(0.01)
    time.sleep(0.3)  # the pipe is full: it is writing
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)

    assert process.wait(WAIT_SECONDS) == 130
    process.communicate()


def test_several_signals_in_the_same_moment_count_as_one(many_partitions, tmp_path):
    """The file that is begun is removed."""
    for gap in (0, 0.0005, 0.002, 0.01):
        process = start(
            "epoch", "end-offset", "--epoch", "all", many_partitions, "--out", tmp_path / "x.parquet"
        )
        while not os.listdir(tmp_path):
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        time.sleep(gap)
        process.send_signal(signal.SIGHUP)
        ended(process)

        assert (process.returncode, os.listdir(tmp_path)) == (129, [])


def test_signals_that_the_parent_ignores_are_ignored(many_partitions):
    words = ("epoch", "end-offset", "--epoch", "0", many_partitions, "-o", "json")
    process = start(*words, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    os.read(process.stdout.fileno(), 10)
    process.send_signal(signal.SIGHUP)
    ended(process)

    assert process.returncode == 0


@pytest.mark.parametrize("moment", [0, 0.1])
def test_a_signal_ends_a_table_at_once(many_partitions, tmp_path, moment):
    os.mkfifo(tmp_path / "list")
    process = start("epoch", "end-offset", "--epoch", "all", "--files-from", tmp_path / "list", "-o", "table")
    with open(tmp_path / "list", "w") as paths:  # kcli has opened it
        paths.write(f"{many_partitions}\n")
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    out, error = ended(process)

    assert process.returncode == 130
    assert len(out.splitlines()) < MANY_PARTITIONS  # nothing, or where the table had begun its head
    # while the directories are listed, and later
    assert error in {"error interrupted: the rows are not complete\n", "kcli: interrupted\n"}


def test_a_signal_before_the_document_begins_prints_one_line(tmp_path):
    os.mkfifo(tmp_path / "list")
    process = start("ls", "--files-from", tmp_path / "list", "-o", "json")
    with open(tmp_path / "list", "w"):  # kcli has opened it, and waits
        process.send_signal(signal.SIGTERM)
        out, error = ended(process)

    assert process.returncode == 143
    assert errors_of(out, "json") == ["interrupted"]
    assert error == "error interrupted: the rows are not complete\n"
