"""`kcli help`: the manual in a pipe and on a terminal, and what an unknown topic gives."""

import sys

import pytest

from kcli.analysis.findings import CATALOGUE
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
