"""`kcli lookup`: where an offset or a timestamp lives."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from formats.bounds import LARGEST_BATCH
from kcli.cli.options import INT32, Common, Paths, UsageError, common_options, parse_offset, parse_time
from kcli.cli.typer_command import Group

if TYPE_CHECKING:
    from kcli.engine.contract import Unit

app = Group(
    no_args_is_help=True,
    help="Find the batch of an offset, or the first record at or after a time.",
)

MAX = "max"
ExitCode: TypeAlias = Annotated[
    bool, typer.Option("--exit-code", help="End with status 1 if a partition does not have it.")
]


def _is_missing(row: object) -> bool:
    return not getattr(row, "found", True)


@app.command("offset")
@common_options
def offset(
    offset: Annotated[
        str, typer.Argument(metavar="OFFSET", help="A number, earliest or latest.", show_default=False)
    ],
    paths: Paths = None,
    *,
    remote_metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--remote-metadata",
            metavar="PATH",
            help="Name the remote segment of an offset that is not on disk, by __remote_log_metadata here.",
            show_default=False,
        ),
    ] = None,
    exit_code: ExitCode = False,
    common: Common,
) -> None:
    """Print the segment, position and batch that a fetch at this offset starts with.

    Example: kcli lookup offset 1200 /var/lib/kafka/data/orders-0
    """
    from kcli.cli.run import Command, run
    from kcli.jobs import lookup as jobs

    def split(units: "list[Unit]", _: bool) -> "list[Unit]":  # noqa: FBT001 - as Command.split is called
        from kcli.jobs.rlmm.leader import metadata_targets

        found = metadata_targets(remote_metadata or [])
        if found.failures:
            raise UsageError(f"--remote-metadata {found.failures[0]}")
        return [replace(unit, targets=(*unit.targets, *found.targets)) for unit in units]

    command = Command(
        name="lookup offset",
        job=partial(jobs.offset, offset=parse_offset(offset), by_events=bool(remote_metadata)),
        split=split if remote_metadata else None,
        differs=_is_missing if exit_code else None,
    )
    run(command, paths, common)


@app.command("timestamp")
@common_options
def timestamp(
    timestamp: Annotated[
        str,
        typer.Argument(
            metavar="TIME",
            help="Epoch ms, ISO-8601 (UTC without a zone), 1h (ago), yesterday, or max.",
            show_default=False,
        ),
    ],
    paths: Paths = None,
    *,
    exit_code: ExitCode = False,
    max_batch_bytes: Annotated[
        int,
        typer.Option(
            "--max-batch-bytes", metavar="N", min=1, max=INT32, help="Bound on a batch that is decompressed."
        ),
    ] = LARGEST_BATCH,
    common: Common,
) -> None:
    """Print the first record at or after a time as ListOffsets finds it.

    TIME max: the first record with the largest timestamp.

    Example: kcli lookup timestamp 2026-01-31T12:00 /var/lib/kafka/data/orders-0
    """
    from kcli.cli.run import Command, run
    from kcli.jobs import lookup as jobs

    earliest = None if timestamp == MAX else parse_time(timestamp)
    job = partial(jobs.timestamp, timestamp=earliest, max_batch_bytes=max_batch_bytes)
    run(Command(name="lookup timestamp", job=job, differs=_is_missing if exit_code else None), paths, common)
