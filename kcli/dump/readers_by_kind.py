"""Which reader reads a file of a kind, as rows, as text or field by field, and which row types it gives."""

from typing import TYPE_CHECKING

from formats.names import (
    COMMITTED_OFFSETS,
    KRAFT_SNAPSHOT,
    LOCK,
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    REMOTE_INDEXES,
    REMOTE_LOG_SNAPSHOT,
    TIME_INDEX,
    TXN_INDEX,
    UNKNOWN,
)
from kcli.dump.indexes import INDEX_FILES
from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause, Reader, Scanned
from kcli.dump.render.index_entries import index_rows, index_text, producers_text
from kcli.dump.render.lines import StderrLine, line
from kcli.dump.small_files import READERS, name_file, read_file
from kcli.engine.contract import Unit
from kcli.kafka.findings.collector import FindingCollector
from kcli.logdir.partition_names import file_name
from kcli.logdir.remote_objects import open_file
from kcli.logdir.targets import PARTITION, Target
from kcli.rows.dump import (
    DUMP_BATCH,
    DUMP_FILE,
    DUMP_INDEX,
    DUMP_LAYOUT,
    DUMP_RECORD,
    DUMP_TIME_INDEX,
    DUMP_TXN_INDEX,
)
from kcli.rows.remote_metadata import ROW_TYPES_OF_KIND

if TYPE_CHECKING:
    from kcli.dump.read_blocks import Log

LOGS = frozenset({LOG, KRAFT_SNAPSHOT})


def read_log(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield what the options ask for of a log or KRaft snapshot, and findings about what is damaged."""
    from kcli.dump.read_blocks import Log
    from kcli.kafka.findings.log_findings import report_growth

    with open_file(unit.target) as file:
        log = Log(file, unit.target, options, findings)
        items = _render_log(log, unit)
        # a tail is short: it is given at once
        yield from (
            items if options.tail is None else (item for item in items if not isinstance(item, Pause))
        )
        if not unit.end:
            report_growth(file, findings)


def _render_log(log: "Log", unit: Unit) -> Scanned:
    from kcli.dump.read_blocks import byte_range, last_rows, read_blocks

    options = log.options
    start, end = byte_range(log)
    start = unit.position or start
    if options.layout:
        from kcli.dump.render.layout import render_layout

        return render_layout(log, read_blocks(log, start, end, cut=unit.end), end, cursor=unit.cursor)
    items = read_blocks(log, start, end, cut=unit.end, cursor=unit.cursor)
    if options.tail is not None:
        items = last_rows(log, items, options.tail)
    if options.text:
        from kcli.dump.render.text import render_text

        return render_text(log, items, end, begins=unit.begins)
    from kcli.dump.render.rows import render_rows

    return render_rows(log, items)


def _print_file(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the lines of a file; a file that the tool does not know is named as the tool names it."""
    target = unit.target
    if unit.begins:
        yield line(f"Dumping {target.shown}", is_title=True)
    reader = _TEXT_READERS.get(target.kind)
    if reader is None or file_name(target).suffix:
        yield StderrLine(f"Ignoring unknown file {target.shown}")
    else:
        yield from reader(unit, options, findings)


def _refuse_indexes(
    unit: Unit,
    options: DumpOptions,  # noqa: ARG001 - as every reader
    findings: FindingCollector,  # noqa: ARG001
) -> Scanned:
    """Raise why the parts of an `.indexes` cannot be found: where they can, each is a target of its own."""
    open_file(unit.target).close()
    yield from ()


def has_lines(target: Target) -> bool:
    """Whether the tool prints lines of such a file, or kcli does not know it either."""
    return target.kind in _TEXT_READERS or target.kind == UNKNOWN


_ROW_READERS: dict[str, Reader] = {
    **dict.fromkeys(LOGS, read_log),
    **dict.fromkeys(INDEX_FILES, index_rows),
    **dict.fromkeys(READERS, read_file),
    REMOTE_INDEXES: _refuse_indexes,
    LOCK: name_file,
    UNKNOWN: name_file,
}
_TEXT_READERS: dict[str, Reader] = {
    **dict.fromkeys(LOGS, read_log),
    **dict.fromkeys(INDEX_FILES, index_text),
    PRODUCER_SNAPSHOT: producers_text,
    REMOTE_INDEXES: _refuse_indexes,
}
_ROW_TYPES = {
    OFFSET_INDEX: {DUMP_INDEX.name},
    TIME_INDEX: {DUMP_TIME_INDEX.name},
    TXN_INDEX: {DUMP_TXN_INDEX.name},
    **{kind: {reader.row_type.name} for kind, reader in READERS.items()},
    REMOTE_LOG_SNAPSHOT: ROW_TYPES_OF_KIND[REMOTE_LOG_SNAPSHOT],
    COMMITTED_OFFSETS: ROW_TYPES_OF_KIND[COMMITTED_OFFSETS],
}
ACCEPTS = frozenset({*_ROW_READERS, REMOTE_LOG_SNAPSHOT, COMMITTED_OFFSETS, PARTITION})


def reader_for(kind: str, options: DumpOptions) -> Reader | None:
    """Return the reader of files of a kind; None for those whose rows are the ones of `rlmm dump`."""
    if kind == REMOTE_INDEXES:
        return _refuse_indexes
    if options.layout:
        from kcli.dump.render.layout import LAYOUT_KINDS, read_layout

        return read_log if kind in LOGS else read_layout if kind in LAYOUT_KINDS else name_file
    return _print_file if options.text else _ROW_READERS.get(kind)


def row_type_of_a_log(options: DumpOptions) -> str:
    """Return the name of the row type that logs give."""
    of_data = DUMP_RECORD if options.records else DUMP_BATCH
    return (DUMP_LAYOUT if options.layout else of_data).name


def row_types_of(kind: str, options: DumpOptions) -> set[str]:
    """Return the names of the row types that a file of a kind, or the logs of a partition, can give."""
    if kind in {*LOGS, PARTITION}:
        return {row_type_of_a_log(options)}
    if options.layout:
        from kcli.dump.render.layout import LAYOUT_KINDS

        return {(DUMP_LAYOUT if kind in LAYOUT_KINDS else DUMP_FILE).name}
    return _ROW_TYPES.get(kind, {DUMP_FILE.name})
