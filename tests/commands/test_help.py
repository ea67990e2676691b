"""`kcli help`: the manual in a pipe and on a terminal, and what an unknown topic gives."""

import os
import platform
import re
from importlib.metadata import version

import pytest

from commands.app import COMMAND_NAMES, GROUPS
from kcli import __version__
from kcli.manual import TOPICS, page, title
from kcli.rows import COMMANDS as ROWS_OF
from kcli.rows import row_types
from tests.processes import KCLI, run_program
from tests.terminal import terminal


def test_help_alone_lists_every_page_and_every_command(kcli):
    done = kcli("help")

    assert (done.exit_code, done.stderr) == (0, "")
    for topic in TOPICS:
        assert f"  {topic} " in done.stdout and title(topic) in done.stdout
    for command in ("ls", "epoch", "truncate", "help"):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_in_a_pipe_is_its_markdown(kcli, topic):
    done = kcli("help", topic)

    assert (done.exit_code, done.stdout, done.stderr) == (0, page(topic), "")


@pytest.mark.slow
def test_a_page_on_a_terminal_is_drawn():
    command = [*KCLI, "help", "truncation"]
    shown, said, status = terminal(command, COLUMNS="80", NO_COLOR="1")

    assert (said, status) == (b"", 0)
    assert b"|---|" not in shown and b"\x1b[3" not in shown
    assert b"high watermark" in shown


def test_the_name_of_a_command_gives_its_help(kcli):
    assert kcli("help", "epoch", "at").stdout == kcli("epoch", "at", "--help").stdout != ""


@pytest.mark.parametrize("words", [(), ("epoch",), ("epoch", "at"), ("ls",), ("spark", "submit-command")])
def test_h_is_help(kcli, words):
    assert kcli(*words, "-h").stdout == kcli(*words, "--help").stdout != ""


def test_options_are_listed_in_groups(kcli):
    lines = kcli("truncate", "--help").stdout.splitlines()

    sections = [line for line in lines if line and not line.startswith(" ") and line.endswith(":")]
    assert sections == [
        "Arguments:",
        "Options:",
        "Target:",
        "Leader:",
        "What the broker knows:",
    ]
    assert lines[-3] == "Options of input, output and engine (--topic, -o, --jobs): kcli help options"
    shared = kcli("help", "options").stdout
    titles = [line for line in shared.splitlines() if line and not line.startswith(" ")]
    assert titles == ["Input:", "Output:", "Engine:"]
    assert "\n  --only TYPE" in shared and "--only" not in "".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "widest"), [(80, 80), (100, 100), (120, 120), (200, 120)])
def test_help_is_as_wide_as_the_terminal(columns, widest):
    for words in ((), ("epoch",), ("dump",)):
        done = run_program([*KCLI, *words, "-h"], check=True, env={**os.environ, "COLUMNS": str(columns)})
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= widest
        assert not [line for line in lines if line.endswith("...") and "Usage" not in line], (
            "a summary is cut"
        )
    assert max(map(len, lines)) > widest - 20


@pytest.mark.parametrize("command", ["sql", "spark submit-command", *ROWS_OF])
def test_an_example_is_one_line_that_can_be_copied_and_bounds_are_words(kcli, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    lines = kcli(*command.split(), "-h").stdout.splitlines()
    after = [lines[number + 1] for number, line in enumerate(lines) if line.startswith("  Example: ")]

    assert set(after) <= {""}
    assert not [line for line in lines if "<=" in line.split("--where")[0] or "2147483647" in line]


def test_the_commands_are_grouped_and_a_beginner_sees_what_to_type(kcli):
    shown = kcli("-h").stdout
    titles = [line[:-1] for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]

    assert titles == ["Options", *GROUPS, "Start here"]
    for command in COMMAND_NAMES:
        assert f"\n  {command} " in shown
    assert "kcli ls /var/lib/kafka/data" in shown


@pytest.mark.parametrize("command", ROWS_OF)
def test_help_says_where_the_columns_are_listed(kcli, command):
    where = f"help columns {command}"

    assert f"Columns of its rows: kcli {where}\n" in kcli(*command.split(), "-h").stdout
    listed = kcli(*where.split()).stdout
    for row_type in row_types(command):
        for column in row_type.columns:
            assert f"\n  {column.name} " in listed and column.doc in listed


@pytest.mark.parametrize(
    "words", ["--version -v", "-v --version", "ls --version -v", "epoch at -v --version"]
)
def test_the_version_with_v_says_what_kcli_runs_with(kcli, words):
    lines = kcli(*words.split()).stdout.splitlines()

    assert lines[0] == kcli("--version").stdout.strip() == f"kcli {__version__}"
    said = dict(line.split(maxsplit=1) for line in lines[1:])
    assert set(said) == {"commit", "reads", "python", "pyarrow", "numpy", "pyspark", "duckdb", "files"}
    assert said["python"].startswith(platform.python_version())
    assert said["pyarrow"] == version("pyarrow")
    assert said["reads"] == "files of Kafka 0.8 to 4.4" and "Kafka 0.8 to 4.4" in page("intro")
    assert re.fullmatch("[0-9a-f]{12,40}(-dirty)?|unknown", said["commit"])


@pytest.mark.slow
def test_a_usage_error_fits_the_terminal():
    command = [*KCLI, "rlmm", "dump", "/", "--columns", "x"]
    shown = terminal(command, stream="stderr", columns=60, COLUMNS="")[0].decode().splitlines()
    piped = run_program(command).stderr

    assert max(map(len, shown)) <= 60 < max(map(len, piped.splitlines()))
    assert " ".join(shown).split() == piped.split()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["help"], ["help", "columns", "truncate"], ["explain"], ["explain", "LOG-009", "RLMM-011"]]
)
@pytest.mark.parametrize("columns", [60, 100])
def test_what_is_said_fits_the_terminal_and_is_a_line_in_a_pipe(words, columns):
    kcli = [*KCLI, *words]
    shown = terminal(kcli, columns=columns, COLUMNS="")[0].decode().replace("\r\n", "\n")
    piped = run_program(kcli, check=True).stdout

    assert max(map(len, shown.splitlines())) <= columns
    assert len(piped.splitlines()) < len(shown.splitlines())
    assert piped.split() == shown.split()
