"""`kcli dump`: everything that lies in a log dir, and the text of kafka-dump-log."""

import sys
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.dump_options import AUTO, CheckOptions, ContentOptions, SelectionOptions, ToolOptions
from kcli.cli.options import INT32, Common, Paths, UsageError, common_options, split_list

if TYPE_CHECKING:
    from kcli.cli.run import Command
    from kcli.dump.job import Dump, DumpOptions
    from kcli.output.formats import OutputFormat
    from kcli.output.structured import Form

TEXT = "text"


@common_options
def dump(
    paths: Paths = None,
    *,
    contents: ContentOptions,
    selection: SelectionOptions,
    tool: ToolOptions,
    checks: CheckOptions,
    common: Common,
) -> None:
    """Print what files hold: batches or records of logs, entries of all others.

    The others are indexes, snapshots, checkpoints and properties. With -o text, logs, indexes and snapshots
    are printed as kafka-dump-log of Kafka 4.3.1 prints them.

    Example: kcli dump --records --offsets 100..200 /var/lib/kafka/data/orders-0
    """
    if contents.layout and common.output is None and common.out is None:
        common = common._replace(output=TEXT)
    _refuse_contradictions(contents, selection, tool, checks, common)
    from kcli.cli.run import run
    from kcli.dump.job import Dump

    options = _job_options(contents, selection, tool, checks, common)
    some = bool(common.topic or common.topic_regex or common.partition)
    command = _command(Dump(options, only_partitions=some), options, common)
    # --limit counts lines of text: some rows print none
    common = common._replace(include_leftovers=True, limit=None if options.text else common.limit)
    run(command, [*(paths or []), *tool.paths()], common)


def _refuse_contradictions(
    contents: ContentOptions,
    selection: SelectionOptions,
    tool: ToolOptions,
    checks: CheckOptions,
    common: Common,
) -> None:
    """Raise UsageError for options that exclude each other."""
    if contents.layout and (contents.redact or contents.bytes_as):
        raise UsageError("--layout shows bytes as they are: not with --redact or --bytes")
    if selection.tail is not None and checks.max_bytes != INT32:
        raise UsageError(
            "--tail is about the end of a log, --max-bytes about its beginning: use only one of them"
        )
    if contents.bytes_as and (tool.key_decoder_class or tool.value_decoder_class):
        raise UsageError("--bytes and the decoder classes both say how contents are shown: use only one")
    if common.output == TEXT and (common.only or common.columns or common.sort or common.where):
        raise UsageError("--only, --columns, --where and --sort are about rows; -o text prints lines")


def _job_options(
    contents: ContentOptions,
    selection: SelectionOptions,
    tool: ToolOptions,
    checks: CheckOptions,
    common: Common,
) -> "DumpOptions":
    """Return the options of the job."""
    from kcli.dump.job import DumpOptions

    as_text, layout = common.output == TEXT, contents.layout
    topic = tool.topic() or contents.topic()
    record_filter = selection.record_filter()
    is_decoded = bool(topic or tool.key_decoder_class or tool.value_decoder_class)
    shows_records = is_decoded or record_filter.contents
    key_decoder, value_decoder = tool.decoder_classes()
    return DumpOptions(
        records=contents.records or tool.print_data_log or tool.deep_iteration or shows_records,
        text=as_text and not layout,
        layout=layout,
        blocks=_takes_rows_at_once(common) and _takes_blocks(common),
        form=_form(common) if not (as_text or layout) else None,
        print_data_log=tool.print_data_log or contents.records or shows_records,
        decoder=None if contents.redact else topic,
        decode_by_name=contents.decoder == AUTO and not ((as_text and not layout) or contents.redact),
        key_decoder=key_decoder,
        value_decoder=value_decoder,
        skip_record_metadata=tool.skip_record_metadata,
        max_bytes=checks.max_bytes,
        max_message_size=checks.max_message_size,
        verify_index_only=checks.verify_index_only,
        index_sanity_check=checks.index_sanity_check,
        filter=record_filter,
        tail=selection.tail,
        limit=common.limit if common.sort is None and common.where is None else None,
        bytes_as=contents.mode(),
        salt=contents.salt_bytes(),
        max_batch_bytes=contents.largest_batch(common.out),
    )


def _command(job: "Dump", options: "DumpOptions", common: Common) -> "Command":
    """Return what `run` runs; UsageError if --only names rows that a log does not give here."""
    from kcli.cli.engine import uses_spark
    from kcli.cli.run import Command
    from kcli.dump.job import ACCEPTS
    from kcli.dump.render.hexdump import layout_lines
    from kcli.dump.render.lines import dump_log_lines
    from kcli.dump.shown_bytes import types_as_shown
    from kcli.jobs.scan.log_ranges import (
        BATCHES_RANGE,
        SHOWN_RANGE,
        WRITTEN_RANGE,
        drop_after_end,
        split_logs,
    )
    from kcli.rows import row_types
    from kcli.rows.dump import DUMP_BATCH, DUMP_LAYOUT, DUMP_RECORD

    if common.only in {DUMP_BATCH.name, DUMP_RECORD.name, DUMP_LAYOUT.name} - {job.row_type_of_a_log}:
        raise UsageError(
            f"--only {common.only}: here a log gives rows of {job.row_type_of_a_log} (--records and --layout "
            "decide)"
        )
    shown_range = SHOWN_RANGE if options.records else BATCHES_RANGE
    splits = job.comes_in_pieces and (common.jobs > 1 or uses_spark(common))
    return Command(
        name="dump",
        job=job,
        accepts=ACCEPTS,
        expand=job.expand,
        row_types=types_as_shown(row_types("dump"), options),
        possible_types=job.row_types,
        usual_type=job.row_type_of_a_log,
        text=layout_lines if options.layout else partial(dump_log_lines, limit=common.limit),
        stop_at_limit=True,
        split=(lambda units, by_workers: split_logs(units, WRITTEN_RANGE if by_workers else shown_range))
        if splits
        else None,
        reduce=(lambda _: drop_after_end) if splits else None,
        unbounded_output=not options.selects and options.limit is None,
    )


def _takes_blocks(common: Common) -> bool:
    output = _format(common)
    return output is not None and output.takes_blocks


def _takes_rows_at_once(common: Common) -> bool:
    """Whether rows are written as they come, all of them."""
    return common.sort is None and common.limit is None and common.where is None


def _format(common: Common) -> "OutputFormat | None":
    """Return the format of the output; None if the words name none."""
    from kcli.output.formats import format_of

    return format_of(common.output, common.out, is_terminal=sys.stdout.isatty())


def _form(common: Common) -> "Form | None":
    """Return the format in which rows can be made where they are read, and which columns.

    None where there is none.
    """
    from kcli.output.structured import Form

    output = _format(common)
    if output is None or output.style is None or not _takes_rows_at_once(common):
        return None
    return Form(
        output.name,
        None if common.columns is None else tuple(split_list(common.columns)),
        common.null,
    )
