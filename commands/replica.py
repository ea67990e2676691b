"""`kcli replica`: the replicas of a partition, compared."""

from functools import partial
from typing import Annotated

import typer

from commands._options import Common, Paths, UsageError, common_options
from commands._typer import Group

app = Group(no_args_is_help=True, help="Replicas of a partition: what they have in common, and what not.")


@app.callback()
def replica() -> None:
    """Keep `diff` a word of its own while it is the only command."""


@app.command("diff")
@common_options
def diff(
    paths: Paths = None,
    *,
    ignore_compression: Annotated[
        bool,
        typer.Option(
            "--ignore-compression", help="Batches of the same records are equal, however they are compressed."
        ),
    ] = False,
    common: Common,
) -> None:
    """Compare replicas batch by batch: the first log dir or partition with each of the others.

    Example: kcli replica diff broker1/data broker2/data
    """
    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.engine.contract import Unit  # noqa: PLC0415 - kept out of --help
    from kcli.jobs import replica as jobs  # noqa: PLC0415 - kept out of --help

    def pairs(units: list[Unit], _: bool) -> list[Unit]:  # noqa: FBT001 - as Command.split is called
        found = jobs.pairs(units)
        if found and all(len(unit.targets) == 1 for unit in found):
            raise UsageError("expected two replicas of a partition at least: log dirs or partition dirs")
        return found

    job = partial(jobs.diff, ignore_compression=ignore_compression)
    run(Command(name="replica diff", job=job, split=pairs), paths, common)
