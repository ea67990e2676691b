"""The man page: every command once, with its options, in the order of `kcli --help`."""

import re
import shutil
import subprocess

from typer.main import get_command

from commands.app import app
from kcli.cli.settings import every_command
from kcli.manual import TOPICS
from kcli.rows import COMMANDS
from tests.packaging.man_page import man_page


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


def test_the_man_page_has_every_option_once_and_no_error_of_troff():
    printed = man_page()

    for words, command in every_command(get_command(app)).items():
        assert f".SS kcli {' '.join(words)}" in printed
        for option in command.params:
            if option.param_type_name == "option":
                assert rf"\fB{max(option.opts, key=len)}\fR".replace("-", r"\-") in printed
    assert printed.count(r"\fB\-\-limit\fR") == 1
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww"], input=printed.encode(), capture_output=True, check=True
        )
        assert done.stderr == b""
