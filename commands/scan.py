"""`kcli scan`: what segments and partitions hold, and whether every checksum is right."""

import re
import sys
from typing import Annotated

import typer

from commands._options import INT32, Common, Paths, UsageError, common_options
from formats.bounds import LARGEST_BATCH

MULTIPLES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@common_options
def scan(
    paths: Paths = None,
    *,
    summary: Annotated[bool, typer.Option("--summary", help="Rows of partitions alone.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Check the checksum of every batch.")
    ] = True,
    ratio: Annotated[
        bool, typer.Option("--ratio", help="Decompress every batch, to tell how well each codec does.")
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
            help="Bound on one batch that is decompressed.",
        ),
    ] = LARGEST_BATCH,
    common: Common,
) -> None:
    """Verify every checksum, and count what segments and partitions hold.

    The rows count batches, offsets, times, epochs, producers, codecs, transactions and damage.
    In json and ndjson there are rows of segments and of partitions; else of segments, or with --summary of
    partitions.

    Example: kcli scan --summary --jobs 4 /var/lib/kafka/data
    """
    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.contradictions import with_contradictions  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.scan import (  # noqa: PLC0415 - kept out of --help
        PIECE_BYTES,
        ScanLog,
        ScanOptions,
        ScanReducer,
        piece_bytes,
        split_segments,
    )
    from kcli.jobs.scan_logs import ACCEPTS, expand, unread  # noqa: PLC0415 - kept out of --help
    from kcli.output.formats import format_of, is_run_directory  # noqa: PLC0415 - kept out of --help
    from kcli.rows.scan import SCAN_PARTITION, SCAN_SEGMENT  # noqa: PLC0415 - kept out of --help

    if summary and common.only == SCAN_SEGMENT.name:
        raise UsageError(f"--summary and --only {common.only} contradict each other: use only one of them")
    output = format_of(common.output, common.out, is_terminal=sys.stdout.isatty())
    if summary:
        types = {SCAN_PARTITION.name}
    elif common.only or is_run_directory(common.out) or (output is not None and not output.is_flat):
        types = {SCAN_SEGMENT.name, SCAN_PARTITION.name}
    else:
        types = {SCAN_SEGMENT.name}
    options = ScanOptions(
        verify=verify,
        ratio=ratio,
        max_batch_bytes=max_batch_bytes,
        rate=parse_rate(rate) if rate is not None else 0,
        cold=cold or rate is not None,
        rows=frozenset(types),
    )
    spreads = bool(common.spark or common.spark_master or common.spark_remote or common.spark_conf)
    cuts = PIECE_BYTES if spreads else piece_bytes(common.jobs) if common.jobs > 1 else 0

    command = Command(
        name="scan",
        job=ScanLog(options),
        accepts=ACCEPTS,
        expand=lambda found: expand(with_contradictions(found), starts=True),
        possible_types=lambda _: options.rows,
        split=lambda units, _: split_segments(units, cuts),
        reduce=lambda found: ScanReducer(ScanLog(options), unread(found)),
        rows_from_reduce=True,
    )
    run(command, paths, common)


def parse_rate(text: str, option: str = "--rate") -> int:
    """Return the bytes of words like 50M: K, M and G are binary."""
    found = re.fullmatch(r"([0-9]{1,12})([KMG]?)", text)
    rate = int(found[1]) * MULTIPLES[found[2]] if found else 0
    if not rate:
        raise UsageError(f"{option} {text}: expected a rate such as 500K, 50M or 1G")
    return rate
