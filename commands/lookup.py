"""`kcli lookup`: where an offset or a timestamp lives."""

from dataclasses import replace
from functools import partial

from formats.bounds import LARGEST_BATCH
from kcli.cli.command import REQUIRED, Command, Options, argument, number, option
from kcli.cli.parsers import parse_offset, parse_time, remote_metadata_of
from kcli.cli.typer_command import Group

app = Group("Find the batch of an offset, or the first record at or after a time.")

MAX = "max"
EXIT_CODE = option("--exit-code", "End with status 1 if a partition does not have it.")


def _is_missing(row: object) -> bool:
    return not getattr(row, "found", True)


@app.command("offset")
def offset(
    offset: str = argument("OFFSET", "A number, earliest or latest.", default=REQUIRED),
    *,
    remote_metadata: list[str] | None = option(
        "--remote-metadata PATH",
        "Name the remote segment of an offset that is not on disk, by __remote_log_metadata here.",
    ),
    exit_code: bool = EXIT_CODE,
    options: Options,
) -> Command:
    """Print the segment, position and batch that a fetch at this offset starts with.

    Example: kcli lookup offset 1200 /var/lib/kafka/data/orders-0
    """
    from kcli.engine.contract import Unit
    from kcli.jobs import lookup as jobs

    def with_metadata(units: list[Unit]) -> list[Unit]:
        elsewhere = remote_metadata_of(remote_metadata)
        return [replace(unit, targets=(*unit.targets, *elsewhere)) for unit in units]

    return Command(
        "lookup offset",
        options,
        partial(jobs.offset, offset=parse_offset(offset), by_events=bool(remote_metadata)),
        split=with_metadata if remote_metadata else None,
        is_difference=_is_missing if exit_code else None,
    )


@app.command("timestamp")
def timestamp(
    timestamp: str = argument(
        "TIME", "Epoch ms, ISO-8601 (UTC without a zone), 1h (ago), yesterday, or max.", default=REQUIRED
    ),
    *,
    exit_code: bool = EXIT_CODE,
    max_batch_bytes: int = number(
        "--max-batch-bytes N", "Bound on a batch that is decompressed.", default=LARGEST_BATCH, min=1
    ),
    options: Options,
) -> Command:
    """Print the first record at or after a time as ListOffsets finds it.

    TIME max: the first record with the largest timestamp.

    Example: kcli lookup timestamp 2026-01-31T12:00 /var/lib/kafka/data/orders-0
    """
    from kcli.jobs import lookup as jobs

    earliest = None if timestamp == MAX else parse_time(timestamp)
    job = partial(jobs.timestamp, timestamp=earliest, max_batch_bytes=max_batch_bytes)
    return Command("lookup timestamp", options, job, is_difference=_is_missing if exit_code else None)
