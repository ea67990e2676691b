"""The man page: every command once, with its options, in the order of `kcli --help`."""

import re

from kcli.cli.man_page import man_page
from kcli.manual import TOPICS
from kcli.rows import COMMANDS


def section(text, name):
    """Return the lines of a section of the page."""
    return re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def plain(text):
    return text.replace("\\-", "-")


def test_every_command_is_there_once():
    text = plain(man_page())
    named = re.findall(r"^\.SS kcli ([a-z -]+[a-z])", section(text, "COMMANDS"), re.MULTILINE)

    assert [command for command in COMMANDS if named.count(command) != 1] == []
    assert len(named) == len(set(named))


def test_an_option_that_commands_share_is_described_once():
    text = plain(man_page())

    assert text.count("--columns") >= 1
    assert "--columns" in section(text, "SHARED OPTIONS")
    assert "--dry-run" in section(text, "COMMANDS")


def test_exit_status_and_pages_of_the_manual_are_there():
    text = plain(man_page())

    assert "130" in section(text, "EXIT STATUS")
    assert [topic for topic in TOPICS if f"kcli help {topic}" not in section(text, "SEE ALSO")] == []
