"""What a command that predicts a start asks about the broker; `common_options` unfolds it."""

from typing import Annotated, NamedTuple

import typer

from kcli.cli.status import UsageError

BROKER = "What the broker knows"
CLEAN = "clean"
SHUTDOWNS = (CLEAN, "unclean")
SMALLEST_INDEX = 4

IndexIntervalBytes = Annotated[
    int | None,
    typer.Option(
        "--index-interval-bytes",
        metavar="N",
        min=0,
        help="The topic's index.interval.bytes; by default as its metadata or --server-config says.",
        rich_help_panel=BROKER,
        show_default=False,
    ),
]


class StartOptions(NamedTuple):
    """How the broker stopped, and the settings of topics that recovery uses."""

    shutdown: Annotated[
        str | None,
        typer.Option(
            "--shutdown",
            metavar="clean|unclean",
            help="How the broker stopped; by default as the log dir's clean shutdown marker says.",
            rich_help_panel=BROKER,
            show_default=False,
        ),
    ] = None
    index_interval_bytes: IndexIntervalBytes = None
    segment_index_bytes: Annotated[
        int | None,
        typer.Option(
            "--segment-index-bytes",
            metavar="N",
            min=SMALLEST_INDEX,
            help="The topic's segment.index.bytes; by default as above, else an index of any length fits.",
            rich_help_panel=BROKER,
            show_default=False,
        ),
    ] = None

    def how_stopped(self) -> str | None:
        """Return `clean`, `unclean` or None, as was asked for; UsageError for another word."""
        if self.shutdown is not None and self.shutdown not in SHUTDOWNS:
            raise UsageError(f"--shutdown {self.shutdown}: expected one of {', '.join(SHUTDOWNS)}")
        return self.shutdown
