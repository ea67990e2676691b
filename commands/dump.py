"""`kcli dump`: everything that lies in a log dir, and the text of kafka-dump-log."""

from typing import Annotated

import typer

from commands._options import INT32, INT64, Common, Paths, Usage, common_options

TEXT = "text"
OFFSETS = "--offsets"
DECODED = "With -o text: contents decoded as those of"


@common_options
def dump(
    paths: Paths = None,
    *,
    files: Annotated[
        str | None, typer.Option("--files", metavar="A,B", help="Paths in one word, as kafka-dump-log takes them.", show_default=False)
    ] = None,
    records: Annotated[bool, typer.Option("--records", help="Records with keys, values and headers, not batches.")] = False,
    print_data_log: Annotated[bool, typer.Option("--print-data-log", help="With -o text: keys and payloads; else as --records.")] = False,
    deep_iteration: Annotated[bool, typer.Option("--deep-iteration", help="With -o text: a line per record; else as --records.")] = False,
    skip_record_metadata: Annotated[bool, typer.Option("--skip-record-metadata", help="With -o text: contents of records alone.")] = False,
    offsets_decoder: Annotated[bool, typer.Option("--offsets-decoder", help=f"{DECODED} __consumer_offsets.")] = False,
    transaction_log_decoder: Annotated[bool, typer.Option("--transaction-log-decoder", help=f"{DECODED} __transaction_state.")] = False,
    cluster_metadata_decoder: Annotated[bool, typer.Option("--cluster-metadata-decoder", help=f"{DECODED} __cluster_metadata.")] = False,
    remote_log_metadata_decoder: Annotated[
        bool, typer.Option("--remote-log-metadata-decoder", help=f"{DECODED} __remote_log_metadata.")
    ] = False,
    share_group_state_decoder: Annotated[bool, typer.Option("--share-group-state-decoder", help=f"{DECODED} __share_group_state.")] = False,
    verify_index_only: Annotated[bool, typer.Option("--verify-index-only", help="Compare indexes with logs; print no entries.")] = False,
    index_sanity_check: Annotated[bool, typer.Option("--index-sanity-check", help="Check indexes as a starting broker does.")] = False,
    max_bytes: Annotated[int, typer.Option("--max-bytes", metavar="N", min=0, max=INT32, help="Read this much of each log.")] = INT32,
    max_message_size: Annotated[
        int, typer.Option("--max-message-size", metavar="N", min=0, max=INT32, help="Bytes read to compare one index entry.")
    ] = 5 << 20,
    offsets: Annotated[
        str | None,
        typer.Option(OFFSETS, metavar="A..B", help="Only these offsets, inclusive; either end may be left out.", show_default=False),
    ] = None,
    tail: Annotated[
        int | None, typer.Option("--tail", metavar="N", min=1, help="The last N batches, or records, of each log.", show_default=False)
    ] = None,
    max_batch_bytes: Annotated[
        int, typer.Option("--max-batch-bytes", metavar="N", min=1, max=INT32, help="Bound on one batch, packed and unpacked.")
    ] = 64 << 20,
    common: Common,
) -> None:
    """Dump every file of log dirs, partition dirs, or named: logs, indexes, snapshots, checkpoints, properties.

    With -o text, logs, indexes and snapshots are printed as kafka-dump-log of Kafka 4.3.1 prints them.

    Example: kcli dump -o ndjson --records --offsets 100..200 /var/lib/kafka/data/orders-0
    """
    as_text = common.output == TEXT
    if as_text and (common.only or common.columns or common.sort):
        raise Usage("--only, --columns and --sort are about rows; -o text prints lines")
    from dataclasses import replace  # noqa: PLC0415 - kept out of --help

    from commands._run import run  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.dump import ACCEPTS, Dump, Options  # noqa: PLC0415 - kept out of --help
    from kcli.output.dump_log import dump_log_lines  # noqa: PLC0415 - kept out of --help

    decoders = {
        "__consumer_offsets": offsets_decoder,
        "__transaction_state": transaction_log_decoder,
        "__cluster_metadata": cluster_metadata_decoder,
        "__remote_log_metadata": remote_log_metadata_decoder,
        "__share_group_state": share_group_state_decoder,
    }
    decoder = next((topic for topic, wanted in decoders.items() if wanted), None)
    options = Options(
        records=records or print_data_log or deep_iteration or decoder is not None,
        text=as_text,
        print_data_log=print_data_log or records or decoder is not None,
        decoder=decoder,
        skip_record_metadata=skip_record_metadata,
        max_bytes=max_bytes,
        max_message_size=max_message_size,
        verify_index_only=verify_index_only,
        index_sanity_check=index_sanity_check,
        offsets=parse_offsets(offsets) if offsets is not None else None,
        tail=tail,
        max_batch_bytes=max_batch_bytes,
    )
    some = bool(common.topic or common.topic_regex or common.partition)
    job = Dump(options, only_partitions=some)
    named = [*(paths or []), *(files.split(",") if files else [])]
    everything = replace(common, include_leftovers=True)
    run("dump", named, everything, job, ACCEPTS, expand=job.expand, text=dump_log_lines, present=job.row_types)


def parse_offsets(words: str) -> tuple[int, int]:
    """Return the first and last offset of `A..B`, `A..`, `..B` or `A`."""
    first, dots, last = words.partition("..")
    try:
        low = int(first) if first else 0
        high = int(last) if last else INT64 if dots else low
    except ValueError:
        low, high = 0, -1
    if not (first or last) or not 0 <= low <= high <= INT64:
        raise Usage(f"{OFFSETS} {words}: not like 100..200, 100.., ..200 or 100")
    return low, high
