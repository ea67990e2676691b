"""`kcli help`: the pages of the manual, which need no network."""

import sys
from collections.abc import Iterator
from io import StringIO
from typing import Any

import typer

from kcli.cli.command import argument, choose
from kcli.cli.status import UsageError
from kcli.cli.terminal import hanging, is_colored, is_dumb, is_utf8
from kcli.cli.typer_command import summary
from kcli.manual import TOPICS, page, title
from kcli.output.suggest import did_you_mean

OPTIONS_PAGE = "options"
COLUMNS_PAGE = "columns"
"""The word before a command in `kcli help columns COMMAND`."""


def help(  # noqa: A001 - it has the name of its command
    words: list[str] | None = argument(
        "[TOPIC]", "A page of the manual; a command; columns COMMAND: what the columns of its rows mean."
    ),
) -> None:
    """Show a page of the manual, or list its pages and the commands.

    Example: kcli help truncation
    """
    from commands.app import app
    from kcli.cli.terminal import show
    from kcli.output.manual import draw_page

    group: Any = typer.main.get_command(app)
    commands = group.list_commands(None)
    topic = " ".join(words or ())
    topic = "intro" if topic == "start" else topic  # its name until there was `startup`
    if not topic:
        typer.echo("\n".join(_contents(group, commands)))
    elif topic in TOPICS:
        if sys.stdout.isatty() and not is_dumb():
            drawn = StringIO()
            draw_page(page(topic), drawn, colored=is_colored("auto"), is_utf8=is_utf8())
            show(drawn.getvalue())
        else:
            typer.echo(page(topic), nl=False)
    elif words and words[0] in commands:
        app([*words, "--help"], prog_name="kcli")
    elif topic == OPTIONS_PAGE:
        command = group.get_command(None, "check")
        context = command.make_context("kcli", [], resilient_parsing=True)
        formatter = context.make_formatter()
        command.write_shared_options(context, formatter)
        typer.echo(formatter.getvalue(), nl=False)
    elif words and words[0] == COLUMNS_PAGE:
        typer.echo("\n".join(_columns(" ".join(words[1:]))))
    else:
        advice = (
            did_you_mean(topic, [*TOPICS, OPTIONS_PAGE, COLUMNS_PAGE, *commands]).rstrip()
            or "kcli help lists the pages"
        )
        raise UsageError(f"help {topic}: no such page; {advice}")


def _contents(group: Any, commands: list[str]) -> Iterator[str]:
    yield hanging("", "kcli reads the files of an Apache Kafka broker, offline. It changes nothing.")
    yield ""
    yield "Pages of the manual (kcli help TOPIC):"
    width = max(map(len, (*TOPICS, *commands)))
    for topic in TOPICS:
        yield f"  {topic:{width}}  {title(topic)}"
    yield "\nCommands (kcli COMMAND --help):"
    for name in commands:
        yield hanging(f"  {name:{width}}  ", summary(group.get_command(None, name)))
    yield "\nOptions of most commands: kcli help options"
    yield "Columns of a command's rows: kcli help columns COMMAND"
    yield "Begin with: kcli help intro"


def _columns(command: str) -> Iterator[str]:
    """Yield a line for each column of each type of row that a command gives."""
    from kcli.rows import COMMANDS, row_types

    choose("help columns", command or "COMMAND", COMMANDS)
    for number, row_type in enumerate(row_types(command)):
        yield ("\n" if number else "") + f"{row_type.name} (kcli {command})"
        width = max(map(len, row_type.names))
        for column in row_type.columns:
            kind = f"{column.kind}{' or null' if column.nullable else ''}"
            yield hanging(f"  {column.name:{width}}  {kind:17}  ", column.doc)
