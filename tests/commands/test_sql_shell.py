"""`kcli sql`: the shell, and queries that a signal or a closed pipe ends."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from kcli.views.definitions import VIEWS
from tests.processes import KCLI, let_work, run_program

LONG = "SELECT count(*) FROM range(10000000) a, range(1000000) b WHERE (a.range + b.range) % 7 = 1"
ENDLESS = "SELECT a.range FROM range(100000000) a, range(100000) b"


def interrupted(words, number, log_dir, listed):
    """Run a query of a log dir, and send it a signal a while after it was given that."""
    os.mkfifo(listed)
    process = subprocess.Popen(
        [*KCLI, *words, "--files-from", listed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    listed.write_text(f"{log_dir}\n")  # kcli has opened it
    let_work(process, 2)
    process.send_signal(number)
    return process


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_query_that_has_no_rows_yet(dirs, tmp_path, number, status):
    process = interrupted(["sql", LONG], number, dirs[0], tmp_path / "list")

    assert process.communicate(timeout=300) == ("", "kcli: interrupted\n")
    assert process.returncode == status


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("output", ["json", "ndjson"])
def test_a_signal_before_the_first_row_leaves_a_whole_document(dirs, tmp_path, number, status, output):
    words = ["sql", LONG, "-o", output, "--columns", "x", "--sort", "x"]
    process = interrupted(words, number, dirs[0], tmp_path / "list")
    out, error = process.communicate(timeout=300)

    assert (process.returncode, error) == (status, "error interrupted: the rows are not complete\n")
    if output == "json":
        document = json.loads(out)
        assert (document["rows"], [error["error"] for error in document["errors"]]) == ([], ["interrupted"])
    else:
        assert [json.loads(line)["error"] for line in out.splitlines()] == ["interrupted"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "number", "status"), [((ENDLESS,), signal.SIGINT, 130), (("--shell",), signal.SIGTERM, 143)]
)
def test_a_signal_among_the_rows_leaves_a_whole_document(dirs, tmp_path, words, number, status):
    queries, out = tmp_path / "queries", tmp_path / "out"
    queries.write_text(f"{ENDLESS};\nSELECT 1;\n")
    with queries.open() as given, out.open("w") as file:
        command = [*KCLI, "sql", *words, str(dirs[0]), "-o", "json"]
        process = subprocess.Popen(command, stdin=given, stdout=file)
        deadline = time.monotonic() + 300
        while not out.stat().st_size and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(number)

        assert process.wait(timeout=300) == status
    assert [error["error"] for error in json.loads(out.read_text())["errors"]] == ["interrupted"]


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly(dirs):
    done = run_program(
        [
            "bash",
            "-c",
            f'{sys.executable} -m kcli sql "{ENDLESS}" {dirs[0]} | head -2; echo "${{PIPESTATUS[0]}}"',
        ],
        timeout=300,
    )

    assert (done.stdout, done.stderr) == ("range\n0\n0\n", "")


def test_the_shell_reads_queries_from_stdin(kcli, dirs):
    view = "CREATE VIEW v AS FROM epochs(topic := 'clicks');"
    lines = f"SELECT 1 AS a,\n  2 AS b;\n.views\n\n{view}\nSELECT DISTINCT topic FROM v"
    done = kcli("sql", "--shell", dirs[0], input=lines)

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        *("a\tb", "1\t2"),
        *VIEWS,
        *("topic", "clicks"),
    ]


def test_the_shell_goes_on_after_an_error_and_says_so_at_its_end(kcli, dirs):
    done = kcli("sql", "--shell", dirs[0], input="SELECT x;\n.colums\nSELECT 1 AS a;\n.quit\nSELECT 2;\n")

    assert (done.exit_code, done.stdout) == (2, "a\n1\n")
    assert "Binder Error" in done.stderr and ".colums: expected .views" in done.stderr


def test_the_shell_answers_each_query_of_a_line(kcli, dirs):
    done = kcli("sql", "--shell", dirs[0], "-o", "csv", input="SELECT 1 a; SELECT x; SELECT 2 b;\nSELEC 3;")

    assert (done.exit_code, done.stdout) == (2, "a\n1\nb\n2\n")
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [" Binder Error", " Parser Error"]


def test_columns_of_a_view(kcli, dirs):
    done = kcli("sql", "--shell", dirs[0], input=".columns epochs\n.columns epoch\n")

    assert [line.split()[0] for line in done.stdout.splitlines()][-3:] == [
        "start_offset",
        "end_offset",
        "source",
    ]
    assert done.exit_code == 2 and "one of batches, records" in done.stderr


@pytest.mark.slow
def test_ctrl_c_cancels_a_query_of_the_shell_and_a_line(dirs, tmp_path):
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*KCLI, "sql", "--shell", str(dirs[0]), "--history", str(tmp_path / "history"), "-o", "tsv"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "dumb"},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(slave)
    shown = b""

    def until(text):
        nonlocal shown
        while text not in shown:
            shown += os.read(master, 65536)
        found, shown = shown.partition(text)[0], shown.partition(text)[2]
        return found

    until(b"kcli> ")
    os.write(master, f"{LONG};\n".encode())
    let_work(process, 1)
    process.send_signal(signal.SIGINT)
    assert b"interrupted" in until(b"kcli> ")
    os.write(master, b"SELECT wrong\n")
    until(b"  ... ")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    until(b"kcli> ")
    os.write(master, b"SELECT 40 + 2 AS answer;\n")
    assert b"answer\r\n42" in until(b"kcli> ")
    os.write(master, b".quit\n")

    assert process.wait(timeout=300) == 0
    os.close(master)
    assert "SELECT 40 + 2 AS answer;" in (tmp_path / "history").read_text()
