"""`kcli check`: whether log dirs and partitions are whole, and whether a broker would load them."""

from typing import Annotated

import typer

from commands._options import INT32, Common, Paths, common_options
from commands.scan import parse_rate
from formats.bounds import LARGEST_BATCH


@common_options
def check(
    paths: Paths = None,
    *,
    records: Annotated[
        bool, typer.Option("--records", help="Read the records of every batch, too: decompress and decode.")
    ] = False,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="BYTES",
            help="Read at most 50M a second in each process; implies --cold.",
            show_default=False,
        ),
    ] = None,
    cold: Annotated[
        bool,
        typer.Option(
            "--cold", help="Give what was read back to the system: its page cache is left to others."
        ),
    ] = False,
    max_batch_bytes: Annotated[
        int,
        typer.Option(
            "--max-batch-bytes",
            metavar="N",
            min=1,
            max=INT32,
            help="Bound on one batch whose records are read.",
        ),
    ] = LARGEST_BATCH,
    common: Common,
) -> None:
    """Read everything that a broker relies on, and say for each partition whether it is whole.

    The result is clean, warning, damaged or will-not-load; the findings say what is wrong and where.

    Example: kcli check --jobs 4 /var/lib/kafka/data
    """
    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.check import ACCEPTS, CheckLog, expand, reducer  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.scan import ScanLog, ScanOptions, split_segments  # noqa: PLC0415 - kept out of --help

    options = ScanOptions(
        max_batch_bytes=max_batch_bytes,
        rate=parse_rate(rate) if rate is not None else 0,
        cold=cold or rate is not None,
        rows=frozenset(),
    )
    scan = ScanLog(options)
    command = Command(
        name="check",
        job=CheckLog(scan, records),
        accepts=ACCEPTS,
        expand=expand,
        split=lambda units, _: split_segments(units, 0),
        reduce=lambda found: reducer(scan, found),
        rows_from_reduce=True,
    )
    run(command, paths, common)
