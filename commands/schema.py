"""`kcli schema`: what the JSON of a command looks like."""

import typer

from kcli.cli.command import argument, choose
from kcli.rows import COMMANDS


def schema(words: list[str] | None = argument("COMMAND...", "e.g. epoch end-offset")) -> None:
    """Print the JSON Schema of what a command prints with -o json."""
    from kcli.output.schema import document_schema, pretty

    command = choose("schema", " ".join(words or ["COMMAND"]), COMMANDS)
    typer.echo(pretty(document_schema(command)))
