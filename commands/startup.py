"""`kcli startup`: what a starting broker would do to its log dirs."""

from functools import partial
from typing import Annotated

import typer

from commands._options import Common, Paths, UsageError, common_options

INDEX_INTERVAL_BYTES = 4096
SMALLEST_INDEX = 4
SHUTDOWNS = ("clean", "unclean")
BROKER = "What the broker knows"


@common_options
def startup(
    paths: Paths = None,
    *,
    shutdown: Annotated[
        str | None,
        typer.Option(
            "--shutdown",
            metavar="clean|unclean",
            help="How the broker stopped; by default as the log dir's clean shutdown marker says.",
            rich_help_panel=BROKER,
            show_default=False,
        ),
    ] = None,
    index_interval_bytes: Annotated[
        int,
        typer.Option(
            "--index-interval-bytes",
            metavar="N",
            min=0,
            help="The topic's index.interval.bytes.",
            rich_help_panel=BROKER,
        ),
    ] = INDEX_INTERVAL_BYTES,
    segment_index_bytes: Annotated[
        int | None,
        typer.Option(
            "--segment-index-bytes",
            metavar="N",
            min=SMALLEST_INDEX,
            help="The topic's segment.index.bytes; without it an index of any length fits.",
            rich_help_panel=BROKER,
            show_default=False,
        ),
    ] = None,
    remote_storage: Annotated[
        bool | None,
        typer.Option(
            "--remote-storage/--no-remote-storage",
            help="Whether the topics are tiered; by default as the log dir says.",
            rich_help_panel=BROKER,
            show_default=False,
        ),
    ] = None,
    common: Common,
) -> None:
    """Show whether a broker would start with these log dirs, and what it would do to each partition.

    Example: kcli startup /var/lib/kafka/data
    """
    if shutdown is not None and shutdown not in SHUTDOWNS:
        raise UsageError(f"--shutdown {shutdown}: expected one of {', '.join(SHUTDOWNS)}")
    import time  # noqa: PLC0415 - kept out of --help

    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.jobs import startup as jobs  # noqa: PLC0415 - kept out of --help

    request = jobs.StartRequest(
        now_ms=time.time_ns() // 1_000_000,
        shutdown=shutdown,
        index_interval_bytes=index_interval_bytes,
        segment_index_bytes=segment_index_bytes,
        remote_storage=remote_storage,
    )
    run(Command(name="startup", job=partial(jobs.startup, request=request)), paths, common)
