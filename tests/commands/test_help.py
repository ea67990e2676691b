"""`kcli help`: the manual in a pipe and on a terminal, and what an unknown topic gives."""

import os
import subprocess
import sys

import pytest

from kcli.analysis.catalogue import CATALOGUE
from kcli.manual import TOPICS, page, title
from tests.terminal import terminal


def test_help_alone_lists_every_page_and_every_command(kcli):
    done = kcli("help")

    assert (done.exit_code, done.stderr) == (0, "")
    for topic in TOPICS:
        assert f"  {topic} " in done.stdout and title(topic) in done.stdout
    for command in ("ls", "epoch", "truncate", "help"):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic != "findings"])
def test_a_page_in_a_pipe_is_its_markdown(kcli, topic):
    done = kcli("help", topic)

    assert (done.exit_code, done.stdout, done.stderr) == (0, page(topic), "")


def test_the_page_of_findings_holds_the_catalogue(kcli):
    printed = kcli("help", "findings").stdout

    assert printed.startswith(page("findings"))
    for code, rule in CATALOGUE.items():
        assert f"**{code}** ({rule.severity}): {rule.title}" in printed


@pytest.mark.slow
def test_a_page_on_a_terminal_is_drawn():
    command = [sys.executable, "-m", "kcli", "help", "truncation"]
    shown, said, status = terminal(command, COLUMNS="80", NO_COLOR="1")

    assert (said, status) == (b"", 0)
    assert b"|---|" not in shown and b"\x1b[3" not in shown
    assert b"high watermark" in shown


@pytest.mark.parametrize(
    ("topic", "advice"),
    [("trunc", "did you mean truncate or truncation?"), ("wxyz", "kcli help lists the pages")],
)
def test_an_unknown_topic_is_a_usage_error_with_a_suggestion(kcli, topic, advice):
    done = kcli("help", topic)

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"kcli: help {topic}: no such page; {advice}\n"


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
        "What the broker knows:",
        "Input:",
        "Output:",
        "Engine:",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kcli ep", "epoch"),
        ("kcli epoch end-", "end-offset"),
        ("kcli epoch end-offset --fr", "--from"),
        ("kcli l", "ls\nlookup"),
    ],
)
def test_completion_works_from_the_top_level(line, expected):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'kcli'; from kcli.__main__ import main; main()"],
        env={**os.environ, "_KCLI_COMPLETE": "complete_bash", **words},
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout.strip(), done.stderr) == (expected, "")


@pytest.mark.parametrize("group", ["epoch", "lookup", "rlmm", "spark"])
def test_no_group_offers_a_completion_of_its_own(kcli, group):
    assert "completion" not in kcli(group, "--help").stdout
