"""`kcli dump`: everything that lies in a log dir, and the text of kafka-dump-log."""

import sys
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.command import Command, Options, Output
from kcli.cli.dump_options import AUTO, DumpOptionGroups
from kcli.cli.status import UsageError
from kcli.output.answer import Answer
from kcli.rows.declare import names_of
from kcli.words import INT32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcli.dump.job import Dump
    from kcli.dump.options import DumpOptions
    from kcli.rows import Item

TEXT_WORD = "text"


def dump(
    *,
    groups: DumpOptionGroups,
    options: Options,
) -> Command:
    """Print what files hold: batches or records of logs, entries of all others.

    The others are indexes, snapshots, checkpoints and properties. With -o text, logs, indexes and snapshots
    are printed as kafka-dump-log of Kafka 4.3.1 prints them.

    Example: kcli dump --records --offsets 100..200 /var/lib/kafka/data/orders-0
    """
    inputs, output, _ = options
    if groups.contents.layout and output.format is None and output.out is None:
        output = output._replace(format=TEXT_WORD)
    _refuse_contradictions(groups, output)
    from kcli.dump.job import Dump

    dump_options = _job_options(groups, output)
    some = bool(inputs.topic or inputs.topic_regex or inputs.partition)
    inputs = inputs.with_paths(groups.tool.paths())._replace(include_leftovers=True)
    options = options._replace(inputs=inputs, output=output)
    return _command(Dump(dump_options, only_partitions=some), dump_options, options)


def _refuse_contradictions(groups: DumpOptionGroups, output: Output) -> None:
    """Raise UsageError for options that exclude each other."""
    contents, selection, tool, checks = groups
    if contents.layout and (contents.redact or contents.bytes_as):
        raise UsageError("--layout shows bytes as they are: not with --redact or --bytes")
    if selection.tail is not None and checks.max_bytes != INT32:
        raise UsageError(
            "--tail is about the end of a log, --max-bytes about its beginning: use only one of them"
        )
    if contents.bytes_as and (tool.key_decoder_class or tool.value_decoder_class):
        raise UsageError("--bytes and the decoder classes both say how contents are shown: use only one")
    if output.format == TEXT_WORD and (output.only or output.columns or output.sort or output.where):
        raise UsageError("--only, --columns, --where and --sort are about rows; -o text prints lines")


def _job_options(groups: DumpOptionGroups, output: Output) -> "DumpOptions":
    """Return the options of the job."""
    from kcli.dump.options import DumpOptions

    contents, selection, tool, checks = groups
    as_text, layout = output.format == TEXT_WORD, contents.layout
    topic = tool.topic() or contents.topic()
    record_filter = selection.record_filter()
    is_decoded = bool(topic or tool.key_decoder_class or tool.value_decoder_class)
    shows_records = is_decoded or record_filter.contents
    key_decoder, value_decoder = tool.decoder_classes()
    return DumpOptions(
        records=contents.records or tool.print_data_log or tool.deep_iteration or shows_records,
        text=as_text and not layout,
        layout=layout,
        blocks=(output.sort, output.limit, output.where) == (None,) * 3 and _takes_blocks(output),
        print_data_log=tool.print_data_log or contents.records or shows_records,
        decoder=None if contents.redact else topic,
        decode_by_name=contents.decoder == AUTO and not ((as_text and not layout) or contents.redact),
        key_decoder=key_decoder,
        value_decoder=value_decoder,
        skip_record_metadata=tool.skip_record_metadata,
        **checks._asdict(),
        filter=record_filter,
        tail=selection.tail,
        limit=output.limit if output.sort is None and output.where is None else None,
        bytes_as=contents.mode(),
        salt=contents.salt_bytes(),
        max_batch_bytes=contents.largest_batch(output.out),
    )


def _command(job: "Dump", dump_options: "DumpOptions", options: Options) -> Command:
    """Return what is run; UsageError if --only names rows that a log does not give here."""
    from kcli.dump.bytes_as import types_as_shown
    from kcli.dump.job import DUMP_ACCEPTS
    from kcli.dump.render.lines import dump_log_lines
    from kcli.jobs.log_pass.log_ranges import (
        BATCHES_RANGE,
        SHOWN_RANGE,
        WRITTEN_RANGE,
        drop_after_end,
        split_logs,
    )
    from kcli.rows import row_types
    from kcli.rows.dump import DumpBatchRow, DumpLayoutRow, DumpRecordRow

    _, output, engine = options
    if output.only in names_of(DumpBatchRow, DumpRecordRow, DumpLayoutRow) - {job.row_type_of_a_log}:
        raise UsageError(
            f"--only {output.only}: here a log gives rows of {job.row_type_of_a_log} (--records and --layout "
            "decide)"
        )
    size = SHOWN_RANGE if dump_options.records else BATCHES_RANGE
    if engine.uses_spark and output.out is not None and _takes_blocks(output):
        size = WRITTEN_RANGE  # the workers write it; a page, and text, this process
    splits = job.comes_in_pieces and (engine.jobs > 1 or engine.uses_spark)
    # --limit counts lines of text: some rows print none
    row_output = output._replace(limit=None if dump_options.text else output.limit)
    return Command(
        "dump",
        options._replace(output=row_output),
        job,
        accepts=DUMP_ACCEPTS,
        expand=job.expand,
        answer=Answer(
            types=types_as_shown(row_types("dump"), dump_options),
            default_type=job.row_type_of_a_log,
            is_asked=dump_options.records or dump_options.layout,
            text=_layout_lines if dump_options.layout else partial(dump_log_lines, limit=output.limit),
            stop_at_limit=True,
        ),
        possible_types=job.row_types,
        split=partial(split_logs, size=size) if splits else None,
        reduce=(lambda _: drop_after_end) if splits else None,
        unbounded_output=not dump_options.selects and dump_options.limit is None,
    )


def _layout_lines(rows: "Iterable[Item]") -> "Iterator[str]":
    """Yield the lines of rows of --layout; the module that makes them reads logs, and is imported late."""
    from kcli.dump.render.layout import layout_lines

    return layout_lines(rows)


def _takes_blocks(output: Output) -> bool:
    """Whether rows are written as they come, as those of other commands: not as a page, not as lines."""
    from kcli.output.formats import format_of

    output_format = format_of(output.format, output.out, is_terminal=sys.stdout.isatty())
    return output_format is not None and output_format.takes_blocks
