"""The `kcli` command: its groups and the options before any of them.

A command's module is imported, and its options are made, only when the command line names it (or `--help`
lists it), and it imports jobs and engines inside the function that runs: so a command pays only for what it
uses. Typer's rich help is off for the same reason.
"""

from collections.abc import Sequence
from copy import copy
from importlib import import_module
from itertools import chain
from typing import Any

import typer

from kcli import __version__
from kcli.cli.boundary import boundary
from kcli.cli.command import option
from kcli.cli.settings import variables
from kcli.cli.status import UsageError
from kcli.cli.typer_command import COMMAND_LINE, Group, GroupOfCommands, in_own_words, keep_command_line

GROUPS = {
    "What is on disk": ("ls", "check", "diff", "report", "salvage", "bundle", "scan", "dump", "sql"),
    "What a start does": ("startup",),
    "What a leader change does": ("epoch", "checkpoint", "truncate", "replica", "failover"),
    "Where a record is": ("lookup", "partition-for", "uuid"),
    "What the cluster knows": ("metadata",),
    "Who reads": ("group",),
    "Who writes": ("txn", "producers"),
    "What is deleted when": ("retention", "compact"),
    "Tiered storage": ("rlmm",),
    "Learn": ("help", "explain", "runbook", "schema", "demo"),
    "Set up": ("completion", "spark"),
}
"""The modules that hold a command, as the help groups them: each has `app`, or a function of its name."""
COMMAND_NAMES = tuple(chain.from_iterable(GROUPS.values()))

EPILOG = """
Start here:
  kcli ls /var/lib/kafka/data       what is in a log dir
  kcli check /var/lib/kafka/data    is it whole, will it load? status 1 if not
  kcli ls -h                        what a command answers, and an example
  kcli help intro                   which command answers which question
  kcli help options                 the options of most commands
  kcli demo                         one incident in six commands
"""


class Commands(GroupOfCommands):
    """The group of all commands, each made when it is asked for."""

    named_below: Sequence[str] = ()
    """The word of the command line after the name of a group, where there is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cache: dict[tuple[str | None, ...], Any] = {}
        """Commands by name and what is named below them: each takes a while to make."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        """Return the names in the order of the help."""
        return list(COMMAND_NAMES)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in their groups."""
        for title, names in GROUPS.items():
            self.write_section(ctx, formatter, title, names)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write what to type first."""
        formatter.write(EPILOG)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words begin with; one that is unknown gives a suggestion."""
        self.named_below = args[1:2]
        return super().resolve_command(ctx, args)

    def advice(self, path: str, name: str, names: list[str]) -> str:
        """Return what to type in place of a word that is no command: other tools have words of their own."""
        if name in OTHER_WORDS:
            return f"{OTHER_WORDS[name]} answers that"
        return super().advice(path, name, names)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Return the context of the options before the command."""
        with in_own_words():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what is wrong with its words is said as all errors are."""
        with in_own_words():
            return super().invoke(ctx)

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that keeps what is given: --version looks for -v."""
        return keep_command_line(super().make_parser(ctx), ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return the command of this name, or None."""
        if cmd_name not in COMMAND_NAMES:
            return None
        group = _group(cmd_name)
        named = [info for info in group.registered_commands if info.name in self.named_below]
        key = (cmd_name, *(info.name for info in named))
        if key not in self.cache:
            if named and named != group.registered_commands:
                group = copy(group)
                group.registered_commands = named
                command: Any = typer.main.get_group(group)
            else:
                command = typer.main.get_command(group)
            command.name = cmd_name
            version = copy(next(parameter for parameter in self.params if parameter.name == "version"))
            version.expose_value = False
            _finish(command, (cmd_name,), version)
            self.cache[key] = command
        return self.cache[key]


OTHER_WORDS = {
    "fsck": "kcli check",
    "verify": "kcli check, or kcli scan",
    "du": "kcli ls",
    "cat": "kcli dump --records",
    "dump-log": "kcli dump",
    "groups": "kcli group list",
    "consumer-groups": "kcli group list, or kcli group offsets",
    "transactions": "kcli txn",
    "topics": "kcli ls, or kcli metadata show topics",
    "recover": "kcli startup",
    "retention": "kcli rlmm retention",
    "man": "kcli help",
    "version": "kcli --version",
}
"""Words that people type, and the command that answers them."""


def _group(cmd_name: str) -> Group:
    """Return the group of a command; one that is a function has a group of its own."""
    name = cmd_name.replace("-", "_")
    module = import_module(f"commands.{name}")
    group: Group | None = getattr(module, "app", None)
    if group is None:
        group = Group()
        group.command(cmd_name)(getattr(module, name))
    return group


def _finish(command: Any, words: tuple[str, ...], version: Any) -> None:
    """Give a command, and every command below it, its words, its variables and the option --version."""
    command.words = words
    for parameter in command.params:
        if parameter.param_type_name == "option":
            parameter.envvar = variables(words, parameter)
    command.params.append(version)
    for name, below in getattr(command, "commands", {}).items():
        _finish(below, (*words, name), version)


app = Group(
    name="kcli",
    cls=Commands,
    text="Read the files of an Apache Kafka broker, offline, and say what the broker would do with them. "
    "kcli never changes them.",
)


def _version(ctx: typer.Context, value: bool) -> None:  # noqa: FBT001 - typer calls it
    if value:
        with boundary():
            if ctx.meta[COMMAND_LINE].get("verbose"):
                from kcli.cli.version import version_lines

                typer.echo("\n".join(version_lines()))
            else:
                typer.echo(f"kcli {__version__}")
        raise typer.Exit


@app.callback()
def kcli(
    *,
    version: bool = option(  # noqa: ARG001 - its callback has done it
        "--version", "Print the version and exit; -v: all versions.", callback=_version, is_eager=True
    ),
    verbose: int = option("-v --verbose", "", default=0, count=True, hidden=True),
) -> None:
    """Read the files of an Apache Kafka broker, offline, and say what the broker would do with them."""
    if verbose:
        with boundary():
            raise UsageError("-v belongs after the command, as in: kcli ls -v PATH")
