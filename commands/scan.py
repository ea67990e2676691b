"""`kcli scan`: what segments and partitions hold, and whether every checksum is right."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kcli.cli.options import Common, Paths, UsageError, common_options
from kcli.cli.reading_options import ReadingOptions

if TYPE_CHECKING:
    from kcli.engine.contract import Reduce
    from kcli.logdir.find import Found


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
    reading: ReadingOptions,
    common: Common,
) -> None:
    """Verify every checksum, and count what segments and partitions hold.

    The rows count batches, offsets, times, epochs, producers, codecs, transactions and damage.
    In json and ndjson there are rows of segments and of partitions; else of segments, or with --summary of
    partitions.

    Example: kcli scan --summary --jobs 4 /var/lib/kafka/data
    """
    from kcli.cli.run import Command, run
    from kcli.jobs.check.contradictions import with_contradictions
    from kcli.jobs.scan.log_targets import ACCEPTS, expand, unread
    from kcli.jobs.scan.scan import (
        PIECE_BYTES,
        DirectoryScan,
        ScanLog,
        ScanOptions,
        fold_directories,
        piece_bytes,
        split_segments,
    )
    from kcli.output.formats import format_of, is_run_directory
    from kcli.rows.scan import SCAN_PARTITION, SCAN_SEGMENT

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
        max_batch_bytes=reading.max_batch_bytes,
        rate=reading.bytes_per_second,
        cold=reading.is_cold,
        rows=frozenset(types),
    )
    spreads = bool(common.spark or common.spark_master or common.spark_remote or common.spark_conf)
    cuts = PIECE_BYTES if spreads else piece_bytes(common.jobs) if common.jobs > 1 else 0

    def reduce_of(found: "Found") -> "Reduce":
        unread_logs = unread(found)
        return fold_directories(lambda: DirectoryScan(ScanLog(options), unread_logs))

    command = Command(
        name="scan",
        job=ScanLog(options),
        accepts=ACCEPTS,
        expand=lambda found: expand(with_contradictions(found), starts=True),
        possible_types=lambda _: options.rows,
        split=lambda units, _: split_segments(units, cuts),
        reduce=reduce_of,
        rows_from_reduce=True,
    )
    run(command, paths, common)
