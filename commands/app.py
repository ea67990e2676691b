"""The `kcli` command: its groups and the options before any of them.

The command modules are imported here and import neither jobs nor engines at
module level: those are imported inside the function that runs, so that
`kcli --help` stays quick and a command pays only for what it uses. Typer's
rich help is off for the same reason.
"""

from typing import Annotated

import typer

from commands import demo, epoch, explain, lookup, ls, rlmm, schema, truncate
from kcli import __version__

app = typer.Typer(
    name="kcli",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Read the files of an Apache Kafka broker, offline, and tell what the broker would do with them.",
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it
    if wanted:
        typer.echo(f"kcli {__version__}")
        raise typer.Exit


@app.callback()
def kcli(
    *,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Read the files of an Apache Kafka broker, offline, and tell what the broker would do with them."""


app.command("ls")(ls.ls)
app.add_typer(epoch.app, name="epoch")
app.command("truncate")(truncate.truncate)
app.add_typer(rlmm.app, name="rlmm")
app.add_typer(lookup.app, name="lookup")
app.command("schema")(schema.schema)
app.command("explain")(explain.explain)
app.command("demo")(demo.demo)
