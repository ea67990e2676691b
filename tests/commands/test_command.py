"""The words of shared options, and what typer is shown of them."""

import pytest
from typer.main import get_command

from commands.app import app
from kcli.cli.command import EngineOptions, Inputs, Output
from kcli.cli.parsers import parse_time
from kcli.rows import ASK_CLUSTERS, COMMANDS, READ_NO_FILES


@pytest.mark.parametrize("command", sorted({*COMMANDS} - READ_NO_FILES - ASK_CLUSTERS))
def test_every_command_that_reads_files_has_every_shared_option(command):
    found = get_command(app)
    for word in command.split():
        found = found.get_command(None, word)
    names = {parameter.name for parameter in found.params}

    assert {*Inputs._fields, *Output._fields, *EngineOptions._fields} <= names
    assert found.help, command


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1700000000", "kcli: time 1700000000: taken as milliseconds, a moment of 1970; of seconds write "),
        ("1700000000000", ""),
        ("5000", ""),
        ("1970-01-20", ""),
    ],
)
def test_a_time_that_looks_like_seconds_is_said_to_be_milliseconds(text, said, capsys):
    parse_time(text)
    found = capsys.readouterr().err
    assert found.startswith(said) and bool(found) == bool(said)
