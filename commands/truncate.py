"""`kcli truncate --dry-run`: what truncating a replica would delete, cut and lose."""

from functools import partial
from typing import Annotated

import typer

from commands._options import INT32, INT64, Common, Paths, RefusedError, UsageError, common_options

INDEX_INTERVAL_BYTES = 4096
SMALLEST_INDEX = 4
SHUTDOWNS = ("clean", "unclean")
TARGET, BROKER = "Target", "What the broker knows"


def _offset(name: str, panel: str, text: str, largest: int = INT64) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name, metavar="N", min=0, max=largest, help=text, rich_help_panel=panel, show_default=False
    )
    return option


@common_options
def truncate(
    paths: Paths = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Required: kcli predicts and changes nothing.")
    ] = False,
    to_offset: Annotated[int | None, _offset("--to-offset", TARGET, "Truncate to this offset.")] = None,
    to_epoch: Annotated[
        int | None,
        _offset("--to-epoch", TARGET, "Truncate to this replica's own end offset of leader epoch N.", INT32),
    ] = None,
    to_high_watermark: Annotated[
        bool,
        typer.Option("--to-high-watermark", help="Truncate to the high watermark.", rich_help_panel=TARGET),
    ] = False,
    high_watermark: Annotated[
        int | None, _offset("--high-watermark", BROKER, "Instead of what replication-offset-checkpoint says.")
    ] = None,
    log_start_offset: Annotated[
        int | None, _offset("--log-start-offset", BROKER, "Instead of what log-start-offset-checkpoint says.")
    ] = None,
    recovery_point: Annotated[
        int | None,
        _offset("--recovery-point", BROKER, "Instead of what recovery-point-offset-checkpoint says."),
    ] = None,
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
    common: Common,
) -> None:
    """Show what truncating each partition would delete, cut and lose.

    Example: kcli truncate --dry-run --to-offset 1200 /var/lib/kafka/data/orders-0
    """
    if not dry_run:
        raise RefusedError("kcli changes nothing: add --dry-run to see what the broker would do")
    if sum([to_offset is not None, to_epoch is not None, to_high_watermark]) != 1:
        raise UsageError("use exactly one of --to-offset, --to-epoch, --to-high-watermark")
    if shutdown is not None and shutdown not in SHUTDOWNS:
        raise UsageError(f"--shutdown {shutdown}: expected one of {', '.join(SHUTDOWNS)}")
    import time  # noqa: PLC0415 - kept out of --help

    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.jobs import truncate as jobs  # noqa: PLC0415 - kept out of --help

    request = jobs.Request(
        now_ms=time.time_ns() // 1_000_000,
        to_offset=to_offset,
        to_epoch=to_epoch,
        to_high_watermark=to_high_watermark,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        shutdown=shutdown,
        index_interval_bytes=index_interval_bytes,
        segment_index_bytes=segment_index_bytes,
    )
    run(Command(name="truncate", job=partial(jobs.dry_run, request=request)), paths, common)
