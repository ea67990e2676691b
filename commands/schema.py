"""`kcli schema`: what the JSON of a command looks like."""

import typer

from kcli.cli.command import argument
from kcli.cli.status import UsageError
from kcli.output.suggest import did_you_mean
from kcli.rows import COMMANDS


def schema(words: list[str] | None = argument("COMMAND...", "e.g. epoch end-offset")) -> None:
    """Print the JSON Schema of what a command prints with -o json."""
    from kcli.output.schema import document_schema, pretty

    command = " ".join(words or ())
    if command not in COMMANDS:
        raise UsageError(
            f"schema {command or 'COMMAND'}: {did_you_mean(command, COMMANDS)}expected one of "
            f"{', '.join(COMMANDS)}"
        )
    typer.echo(pretty(document_schema(command)))
