"""Commands for a caller in this process: typer reads their words, and nothing ends the process."""

from collections.abc import Sequence
from typing import Any

import typer

from kcli.cli.caller import CALLER, Caller
from kcli.cli.typer_command import in_own_words


def command_of(app: typer.Typer, words: Sequence[str]) -> Any:
    """Return the command of these words, without the variables that say defaults of its options."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.get_command(None, word)
    for parameter in command.params:
        parameter.envvar = None
    return command


def run_for(caller: Caller, command: Any, name: str, line: list[str]) -> None:
    """Run a command with the words of a line; what ends it early is raised. No config file is read."""
    before = CALLER.set(caller)
    try:
        with in_own_words(), command.make_context(f"kcli {name}", line) as context:
            command.invoke(context)
    except typer.Exit:
        return
    finally:
        CALLER.reset(before)
