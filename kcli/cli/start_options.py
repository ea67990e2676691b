"""What a command that predicts a start asks about the broker; `common_options` unfolds it."""

from typing import NamedTuple

from kcli.cli.option import option

BROKER = "What the broker knows"
CLEAN = "clean"
SHUTDOWNS = (CLEAN, "unclean")
SMALLEST_INDEX = 4

INDEX_INTERVAL_BYTES = option(
    "--index-interval-bytes N",
    "The topic's index.interval.bytes; by default as its metadata or --server-config says.",
    BROKER,
    min=0,
)


class StartOptions(NamedTuple):
    """How the broker stopped, and the settings of topics that recovery uses."""

    shutdown: str | None = option(
        "--shutdown",
        "How the broker stopped; by default as the log dir's clean shutdown marker says.",
        BROKER,
        choices=SHUTDOWNS,
    )
    index_interval_bytes: int | None = INDEX_INTERVAL_BYTES
    segment_index_bytes: int | None = option(
        "--segment-index-bytes N",
        "The topic's segment.index.bytes; by default as above, else an index of any length fits.",
        BROKER,
        min=SMALLEST_INDEX,
    )
