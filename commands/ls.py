"""`kcli ls`: one row per partition directory."""

from functools import partial
from typing import Annotated

import typer

from kcli.cli.options import Common, Paths, common_options


@common_options
def ls(
    paths: Paths = None,
    *,
    recover: Annotated[
        bool,
        typer.Option(
            "--recover",
            help="After an unclean stop, recover logs of any size as a broker does.",
        ),
    ] = False,
    common: Common,
) -> None:
    """List partitions with their sizes, offsets, newest epoch, topic id and leftovers.

    The log end is the broker's. After an unclean stop logs are recovered as a broker does, those with more
    than 64 MiB to recover only with --recover.
    Directories that end in -delete, -stray and -future are listed too.

    Example: kcli ls /var/lib/kafka/data
    """
    from kcli.cli.run import Command, run
    from kcli.jobs import ls as jobs
    from kcli.jobs.check.contradictions import with_contradictions

    run(
        Command(name="ls", job=partial(jobs.ls, recover=recover), expand=with_contradictions),
        paths,
        common._replace(include_leftovers=True),
    )
