"""The `kcli` command: its groups and the options before any of them.

A command's module is imported, and its options are made, only when the command line names it (or `--help`
lists it), and it imports jobs and engines inside the function that runs: so a command pays only for what it
uses. Typer's rich help is off for the same reason.
"""

import os
from copy import copy
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from commands._boundary import boundary
from commands._typer import Group
from kcli import __version__

COMMANDS = (
    "ls",
    "scan",
    "dump",
    "epoch",
    "truncate",
    "rlmm",
    "lookup",
    "schema",
    "explain",
    "sql",
    "spark",
    "demo",
    "help",
)
"""The modules of this package that hold a command: a group as `app`, or a function of the module's name."""


COMPLETE = "_KCLI_COMPLETE"
"""Set by the shell's completion script: kcli then prints words instead of running."""


class Commands(TyperGroup):
    """The group of all commands, each made when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return the command of this name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"commands.{cmd_name}")
        group = getattr(module, "app", None)
        if group is None:
            group = Group()
            group.command(cmd_name)(getattr(module, cmd_name))
        command = typer.main.get_command(group)
        command.name = cmd_name
        version = copy(next(parameter for parameter in self.params if parameter.name == "version"))
        version.expose_value = False
        _add(version, command)
        return command


def _add(option: Any, command: Any) -> None:
    """Give an option to a command, and to every command below it."""
    command.params.append(option)
    for below in getattr(command, "commands", {}).values():
        _add(option, below)


app = Group(
    name="kcli",
    cls=Commands,
    no_args_is_help=True,
    help="Read the files of an Apache Kafka broker, offline, and say what the broker would do with them.",
    epilog="kcli help shows the manual. Begin with: kcli help start",
)

if COMPLETE in os.environ:  # a shell asks which words may follow
    from typer._completion_classes import completion_init

    completion_init()


def _version(value: bool) -> None:  # noqa: FBT001 - typer calls it
    if value:
        with boundary():
            typer.echo(f"kcli {__version__}")
        raise typer.Exit


@app.callback()
def kcli(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the files of an Apache Kafka broker, offline, and say what the broker would do with them."""
