"""`kcli help`: the pages of the manual, which need no network."""

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from commands._boundary import boundary
from commands._status import UsageError
from commands._terminal import is_colored, is_dumb
from kcli.manual import TOPICS, title


def help(  # noqa: A001 - it has the name of its command
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]", help="A page of the manual, or a command.", show_default=False),
    ] = None,
) -> None:
    """Show a page of the manual, or list its pages and the commands.

    Example: kcli help truncation
    """
    from commands.app import app  # noqa: PLC0415 - the app knows this module
    from kcli.output.manual import draw_page, full_page  # noqa: PLC0415 - kept out of --help

    with boundary():
        group: Any = typer.main.get_command(app)
        commands = group.list_commands(None)
        topic = " ".join(words or ())
        if not topic:
            typer.echo("\n".join(_contents(group, commands)))
        elif topic in TOPICS:
            if sys.stdout.isatty() and not is_dumb():
                draw_page(full_page(topic), sys.stdout, colored=is_colored("auto"))
            else:
                typer.echo(full_page(topic), nl=False)
        elif words and words[0] in commands:
            app([*words, "--help"], prog_name="kcli")
        else:
            raise UsageError(f"help {topic}: no such page; {_advice(topic, [*TOPICS, *commands])}")


def _contents(group: Any, commands: list[str]) -> Iterator[str]:
    yield "kcli reads the files of an Apache Kafka broker, offline. It changes nothing.\n"
    yield "Pages of the manual (kcli help TOPIC):"
    width = max(map(len, (*TOPICS, *commands)))
    for topic in TOPICS:
        yield f"  {topic:{width}}  {title(topic)}"
    yield "\nCommands (kcli COMMAND --help):"
    for name in commands:
        yield f"  {name:{width}}  {group.get_command(None, name).get_short_help_str(limit=80)}"
    yield "\nBegin with: kcli help start"


def _advice(word: str, known: list[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for typing errors

    close = get_close_matches(word, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else "kcli help lists the pages"
