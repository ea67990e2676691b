"""`kcli scan`: what segments and partitions hold, and whether every checksum is right."""

import sys
from functools import partial

from kcli.cli.command import Command, Options, ReadingOptions, option
from kcli.cli.status import UsageError
from kcli.output.answer import Answer
from kcli.rows.declare import names_of


def scan(
    *,
    summary: bool = option("--summary", "Rows of partitions alone."),
    verify: bool = option("--verify/--no-verify", "Check the checksum of every batch.", default=True),
    ratio: bool = option("--ratio", "Decompress every batch, to tell how well each codec does."),
    reading: ReadingOptions,
    options: Options,
) -> Command:
    """Verify every checksum, and count what segments and partitions hold.

    The rows count batches, offsets, times, epochs, producers, codecs, transactions and damage.
    In json and ndjson there are rows of segments and of partitions; else of segments, or with --summary of
    partitions.

    Example: kcli scan --summary --jobs 4 /var/lib/kafka/data
    """
    from kcli.jobs.contradictions import with_contradictions
    from kcli.jobs.log_pass.log_targets import LOG_ACCEPTS, expand, unread
    from kcli.jobs.log_pass.scan import (
        DirectoryScan,
        ScanLog,
        ScanOptions,
        fold_directories,
        group_directories,
    )
    from kcli.output.formats import format_of, is_run_directory
    from kcli.rows.scan import ScanPartitionRow, ScanSegmentRow

    output = options.output
    if summary and output.only in names_of(ScanSegmentRow):
        raise UsageError(f"--summary and --only {output.only} contradict each other: use only one of them")
    row_format = format_of(output.format, output.out, is_terminal=sys.stdout.isatty())
    if summary:
        types = names_of(ScanPartitionRow)
    elif output.only or is_run_directory(output.out) or (row_format is not None and not row_format.is_flat):
        types = names_of(ScanSegmentRow, ScanPartitionRow)
    else:
        types = names_of(ScanSegmentRow)
    scan_options = ScanOptions(
        verify=verify,
        ratio=ratio,
        max_batch_bytes=reading.max_batch_bytes,
        rate=reading.bytes_per_second,
        cold=reading.is_cold,
        rows=types,
    )
    return Command(
        "scan",
        options,
        ScanLog(scan_options),
        accepts=LOG_ACCEPTS,
        expand=lambda file_set: expand(with_contradictions(file_set), starts=True),
        answer=Answer(possible=types),
        split=group_directories,
        reduce=lambda file_set: fold_directories(partial(DirectoryScan, types, unread(file_set))),
        rows_from_reduce=True,
    )
