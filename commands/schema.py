"""`kcli schema`: what the JSON of a command looks like."""

from typing import Annotated

import typer

from kcli.cli.boundary import boundary
from kcli.cli.status import UsageError
from kcli.rows import COMMANDS


def schema(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND...", help="e.g. epoch end-offset", show_default=False),
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with -o json."""
    from kcli.output.schema import document_schema, pretty

    with boundary():
        command = " ".join(words or ())
        if command not in COMMANDS:
            from kcli.output.suggest import did_you_mean

            raise UsageError(
                f"schema {command or 'COMMAND'}: {did_you_mean(command, COMMANDS)}expected one of "
                f"{', '.join(COMMANDS)}"
            )
        typer.echo(pretty(document_schema(command)))
