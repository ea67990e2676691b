"""`kcli dump`: everything that lies in a log dir, and the text of kafka-dump-log."""

import os
import re
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands._files import split_files
from commands._options import INT32, INT64, Common, Paths, common_options, parse_time
from commands._options import UsageError as Usage
from formats.bounds import LARGEST_BATCH, LARGEST_BATCH_GROWN

if TYPE_CHECKING:
    from kcli.dump.filter import RecordFilter
    from kcli.output.formats import OutputFormat
    from kcli.output.structured import Form

TEXT = "text"
SELECTION, CONTENTS, TOOL = "Selection", "Contents", "As kafka-dump-log"
DECODERS = {
    "offsets_decoder": "__consumer_offsets",
    "transaction_log_decoder": "__transaction_state",
    "cluster_metadata_decoder": "__cluster_metadata",
    "remote_log_metadata_decoder": "__remote_log_metadata",
    "share_group_state_decoder": "__share_group_state",
}
MOST_OF_A_TAIL = 100_000
"""What --tail may ask for: it is held in memory."""
AUTO, NONE = "auto", "none"


def _option(*names: str, panel: str, text: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False, **more)


def _decoder(name: str, topic: str) -> Any:
    return _option(name, panel=TOOL, text=f"Contents decoded as those of {topic}.")


@common_options
def dump(
    paths: Paths = None,
    *,
    records: Annotated[
        bool, _option("--records", panel=CONTENTS, text="Records with keys, values and headers, not batches.")
    ] = False,
    layout: Annotated[
        bool,
        _option(
            "--layout", panel=CONTENTS, text="Byte by byte, with the names of the fields; text if no -o."
        ),
    ] = False,
    decoder: Annotated[
        str,
        _option(
            "--decoder",
            panel=CONTENTS,
            metavar="TOPIC",
            text="Decode records as those of TOPIC; auto (by directory) or none.",
        ),
    ] = AUTO,
    bytes_as: Annotated[
        str | None,
        _option(
            "--bytes",
            panel=CONTENTS,
            metavar="HOW",
            text="Keys and values as base64, text, hex, size or sha256.",
        ),
    ] = None,
    redact: Annotated[
        bool,
        _option("--redact", panel=CONTENTS, text="Sizes and salted hashes instead of keys, values, headers."),
    ] = False,
    salt: Annotated[
        str | None,
        _option(
            "--salt",
            panel=CONTENTS,
            metavar="TEXT",
            text="Salt for --redact, to compare dumps; else made anew.",
        ),
    ] = None,
    max_batch_bytes: Annotated[
        int | None,
        _option(
            "--max-batch-bytes",
            panel=CONTENTS,
            metavar="N",
            min=1,
            max=INT32,
            text="Bound on a batch, packed and unpacked; 10 MiB.",
        ),
    ] = None,
    offsets: Annotated[
        str | None,
        _option("--offsets", panel=SELECTION, metavar="A..B", text="Inclusive; either end may be left out."),
    ] = None,
    time: Annotated[
        str | None,
        _option(
            "--time",
            panel=SELECTION,
            metavar="A..B",
            text="Of records, inclusive: epoch ms, ISO-8601 or @-1h.",
        ),
    ] = None,
    epoch: Annotated[
        list[int] | None,
        _option(
            "--epoch",
            panel=SELECTION,
            metavar="N",
            text="Written in this leader epoch; repeatable.",
            min=-1,
            max=INT32,
        ),
    ] = None,
    producer_id: Annotated[
        list[int] | None,
        _option(
            "--producer-id",
            panel=SELECTION,
            metavar="N",
            text="Of this producer; repeatable.",
            min=-1,
            max=INT64,
        ),
    ] = None,
    transactional: Annotated[
        bool | None,
        _option("--transactional/--no-transactional", panel=SELECTION, text="Part of a transaction, or not."),
    ] = None,
    control: Annotated[
        bool | None, _option("--control/--no-control", panel=SELECTION, text="Control batches, or data.")
    ] = None,
    codec: Annotated[
        list[str] | None,
        _option(
            "--codec", panel=SELECTION, metavar="NAME", text="none, gzip, snappy, lz4 or zstd; repeatable."
        ),
    ] = None,
    key: Annotated[
        str | None, _option("--key", panel=SELECTION, metavar="KEY", text="Records with exactly this key.")
    ] = None,
    grep: Annotated[
        str | None,
        _option(
            "--grep", panel=SELECTION, metavar="REGEX", text="Records whose key, value or header matches."
        ),
    ] = None,
    tail: Annotated[
        int | None,
        _option(
            "--tail",
            panel=SELECTION,
            metavar="N",
            min=1,
            text="The last N batches, or records, of each partition or file named.",
            max=MOST_OF_A_TAIL,
        ),
    ] = None,
    files: Annotated[
        list[str] | None, _option("--files", panel=TOOL, metavar="A,B", text="Paths in one word.")
    ] = None,
    print_data_log: Annotated[
        bool, _option("--print-data-log", panel=TOOL, text="Keys and payloads too.")
    ] = False,
    deep_iteration: Annotated[
        bool, _option("--deep-iteration", panel=TOOL, text="A line per record too.")
    ] = False,
    skip_record_metadata: Annotated[
        bool, _option("--skip-record-metadata", panel=TOOL, text="Contents of records alone.")
    ] = False,
    key_decoder_class: Annotated[
        str, _option("--key-decoder-class", panel=TOOL, metavar="CLASS", text="Prints keys in text.")
    ] = "",
    value_decoder_class: Annotated[
        str, _option("--value-decoder-class", panel=TOOL, metavar="CLASS", text="Prints values in text.")
    ] = "",
    offsets_decoder: Annotated[bool, _decoder("--offsets-decoder", "__consumer_offsets")] = False,
    transaction_log_decoder: Annotated[
        bool, _decoder("--transaction-log-decoder", "__transaction_state")
    ] = False,
    cluster_metadata_decoder: Annotated[
        bool, _decoder("--cluster-metadata-decoder", "__cluster_metadata")
    ] = False,
    remote_log_metadata_decoder: Annotated[
        bool, _decoder("--remote-log-metadata-decoder", "__remote_log_metadata")
    ] = False,
    share_group_state_decoder: Annotated[
        bool, _decoder("--share-group-state-decoder", "__share_group_state")
    ] = False,
    verify_index_only: Annotated[
        bool, _option("--verify-index-only", panel=TOOL, text="Compare indexes with logs; print no entries.")
    ] = False,
    index_sanity_check: Annotated[
        bool, _option("--index-sanity-check", panel=TOOL, text="Check indexes as a starting broker does.")
    ] = False,
    max_bytes: Annotated[
        int,
        _option("--max-bytes", panel=TOOL, metavar="N", min=0, max=INT32, text="Read this much of each log."),
    ] = INT32,
    max_message_size: Annotated[
        int,
        _option(
            "--max-message-size",
            panel=TOOL,
            metavar="N",
            min=0,
            max=INT32,
            text="Bytes read to compare one index entry.",
        ),
    ] = 5 << 20,
    common: Common,
) -> None:
    """Dump every file of log dirs, partition dirs, or named.

    Logs, indexes, snapshots, checkpoints, properties. With -o text, logs, indexes and snapshots are printed
    as kafka-dump-log of Kafka 4.3.1 prints them.

    Example: kcli dump -o ndjson --records --offsets 100..200 /var/lib/kafka/data/orders-0
    """
    if layout and (redact or bytes_as):
        raise Usage("--layout shows bytes as they are: not with --redact or --bytes")
    if tail is not None and max_bytes != INT32:
        raise Usage("--tail is about the end of a log, --max-bytes about its beginning: name one")
    if bytes_as and (key_decoder_class or value_decoder_class):
        raise Usage("--bytes and the decoder classes are two ways to show contents: name one")
    if layout and common.output is None and common.out is None:
        common = replace(common, output=TEXT)
    as_text = common.output == TEXT
    if as_text and (common.only or common.columns or common.sort):
        raise Usage("--only, --columns and --sort are about rows; -o text prints lines")
    from commands._engine import uses_spark  # noqa: PLC0415 - kept out of --help
    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.dump.job import ACCEPTS, Dump, Options  # noqa: PLC0415 - kept out of --help
    from kcli.dump.render.hexdump import layout_lines  # noqa: PLC0415 - kept out of --help
    from kcli.dump.render.lines import dump_log_lines  # noqa: PLC0415 - kept out of --help
    from kcli.dump.shown_bytes import types_as_shown  # noqa: PLC0415 - kept out of --help
    from kcli.jobs.cuts import SHOWN_RANGE, WRITTEN_RANGE, drop_after_end, split_logs  # noqa: PLC0415 - kept out of --help
    from kcli.rows import row_types  # noqa: PLC0415 - kept out of --help
    from kcli.rows.dump import (  # noqa: PLC0415 - kept out of --help
        DUMP_BATCH,
        DUMP_LAYOUT,
        DUMP_RECORD,
    )

    given = locals()
    forced = next((topic for name, topic in DECODERS.items() if given[name]), None) or _topic(decoder)
    is_decoded = bool(forced or key_decoder_class or value_decoder_class)
    wanted = _wanted(
        offsets=offsets,
        time=time,
        epoch=epoch,
        producer_id=producer_id,
        transactional=transactional,
        control=control,
        codec=codec,
        key=key,
        grep=grep,
    )
    options = Options(
        records=records or print_data_log or deep_iteration or is_decoded or wanted.contents,
        text=as_text and not layout,
        layout=layout,
        blocks=_takes_rows_at_once(common) and _takes_blocks(common),
        form=_form(common) if not (as_text or layout) else None,
        print_data_log=print_data_log or records or is_decoded or wanted.contents,
        decoder=None if redact else forced,
        decode_by_name=decoder == AUTO and not ((as_text and not layout) or redact),
        key_decoder=_class("--key-decoder-class", key_decoder_class),
        value_decoder=_class("--value-decoder-class", value_decoder_class),
        skip_record_metadata=skip_record_metadata,
        max_bytes=max_bytes,
        max_message_size=max_message_size,
        verify_index_only=verify_index_only,
        index_sanity_check=index_sanity_check,
        filter=wanted,
        tail=tail,
        limit=common.limit if common.sort is None else None,
        bytes_as=_bytes_as(bytes_as, redact=redact),
        salt=_salt(salt, redact=redact),
        max_batch_bytes=max_batch_bytes or _largest_batch(bytes_as, common.out),
    )
    some = bool(common.topic or common.topic_regex or common.partition)
    job = Dump(options, only_partitions=some)
    if common.only in {DUMP_BATCH.name, DUMP_RECORD.name, DUMP_LAYOUT.name} - {job.row_type_of_a_log}:
        raise Usage(
            f"--only {common.only}: here a log gives rows of {job.row_type_of_a_log} (--records and --layout "
            "decide)"
        )
    splits = job.comes_in_pieces and (common.jobs > 1 or uses_spark(common))
    command = Command(
        name="dump",
        job=job,
        accepts=ACCEPTS,
        expand=job.expand,
        row_types=types_as_shown(row_types("dump"), options),
        possible_types=job.row_types,
        text=layout_lines if layout else partial(dump_log_lines, limit=common.limit),
        stop_at_limit=True,
        split=(lambda units, by_workers: split_logs(units, WRITTEN_RANGE if by_workers else SHOWN_RANGE))
        if splits
        else None,
        reduce=(lambda _: drop_after_end) if splits else None,
        unbounded_output=not options.selects and options.limit is None,
    )
    # --limit counts lines of text: some rows print none
    common = replace(common, include_leftovers=True, limit=None if options.text else common.limit)
    run(command, [*(paths or []), *split_files(files)], common)


def _takes_blocks(common: Common) -> bool:
    output = _format(common)
    return output is not None and output.takes_blocks


def _takes_rows_at_once(common: Common) -> bool:
    """Whether rows are written as they come, all of them."""
    return common.sort is None and common.limit is None


def _format(common: Common) -> "OutputFormat | None":
    """Return the format of the output; None if the words name none."""
    from kcli.output.formats import format_of  # noqa: PLC0415 - kept out of --help

    return format_of(common.output, common.out, is_terminal=sys.stdout.isatty())


def _form(common: Common) -> "Form | None":
    """Return the format in which rows can be made where they are read, and which columns.

    None where there is none.
    """
    from kcli.output.structured import Form  # noqa: PLC0415 - kept out of --help

    output = _format(common)
    if output is None or output.style is None or not _takes_rows_at_once(common):
        return None
    return Form(
        output.name,
        None if common.columns is None else tuple(word.strip() for word in common.columns.split(",")),
    )


def _largest_batch(bytes_as: str | None, out: str | None) -> int:
    grows = bytes_as in {"text", "hex"} and out is not None and out.endswith(".parquet")
    return LARGEST_BATCH_GROWN if grows else LARGEST_BATCH


def _topic(decoder: str) -> str | None:
    if decoder not in {AUTO, NONE, *DECODERS.values()}:
        raise Usage(f"--decoder {decoder}: one of {', '.join((AUTO, NONE, *DECODERS.values()))}")
    return decoder if decoder in DECODERS.values() else None


def _class(option: str, name: str) -> str:
    from kcli.dump.decoders import DECODER_CLASSES  # noqa: PLC0415 - kept out of --help
    from kcli.dump.options import STRING_DECODER  # noqa: PLC0415 - kept out of --help

    if name not in {"", *DECODER_CLASSES}:
        raise Usage(f"{option} {name}: one of {', '.join(DECODER_CLASSES)}; kcli runs no Java")
    return name or STRING_DECODER


def _bytes_as(how: str | None, *, redact: bool) -> str | None:
    from kcli.dump.shown_bytes import MODES  # noqa: PLC0415 - kept out of --help

    if how is not None and redact:
        raise Usage("--bytes and --redact are two ways to show contents: name one")
    if how not in {None, *MODES}:
        raise Usage(f"--bytes {how}: one of {', '.join(MODES)}")
    return how


def _salt(salt: str | None, *, redact: bool) -> bytes | None:
    if not redact:
        if salt is not None:
            raise Usage("--salt is for --redact")
        return None
    if not salt and salt is not None:
        raise Usage("--salt: an empty salt hides nothing")
    return os.urandom(16) if salt is None else os.fsencode(salt)


def _wanted(
    *,
    offsets: str | None,
    time: str | None,
    epoch: list[int] | None,
    producer_id: list[int] | None,
    transactional: bool | None,
    control: bool | None,
    codec: list[str] | None,
    key: str | None,
    grep: str | None,
) -> "RecordFilter":
    from formats.batch import COMPRESSION_NAMES  # noqa: PLC0415 - kept out of --help
    from kcli.dump.filter import RecordFilter  # noqa: PLC0415 - kept out of --help

    for name in codec or ():
        if name not in COMPRESSION_NAMES.values():
            raise Usage(f"--codec {name}: one of {', '.join(COMPRESSION_NAMES.values())}")
    pattern = None if grep is None else os.fsencode(grep)
    try:
        re.compile(pattern or b"")
    except (re.error, OverflowError, RecursionError) as error:
        raise Usage(f"--grep {grep}: {error}") from error
    return RecordFilter(
        offsets=None if offsets is None else parse_offsets(offsets),
        times=None if time is None else _times(time),
        epochs=frozenset(epoch or ()),
        producer_ids=frozenset(producer_id or ()),
        transactional=transactional,
        control=control,
        codecs=frozenset(codec or ()),
        key=None if key is None else os.fsencode(key),
        grep=pattern,
    )


def parse_offsets(words: str) -> tuple[int, int]:
    """Return the first and last offset of `A..B`, `A..`, `..B` or `A`."""
    first, dots, last = words.partition("..")
    low = high = -1
    if re.fullmatch(r"[0-9]{1,19}|[0-9]{0,19}\.\.[0-9]{0,19}", words):
        low = int(first) if first else 0
        high = int(last) if last else INT64 if dots else low
    if not (first or last) or not 0 <= low <= high <= INT64:
        raise Usage(f"--offsets {words}: not like 100..200, 100.., ..200 or 100")
    return low, high


def _times(words: str) -> tuple[int, int]:
    """Return the first and last time of `A..B`, `A..` or `..B`, in epoch ms."""
    first, dots, last = words.partition("..")
    if not dots or not (first or last):
        raise Usage(f"--time {words}: not like 2026-01-31T10:00..2026-01-31T11:00, @-1h.. or ..1700000000000")
    low, high = parse_time(first) if first else -INT64 - 1, parse_time(last) if last else INT64
    if low > high:
        raise Usage(f"--time {words}: it ends before it begins")
    return low, high
