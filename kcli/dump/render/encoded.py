"""Blocks of a log as rows of json, ndjson, csv and tsv, equal to those of `kcli.output.structured`."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from formats.control import control_type
from formats.record_columns import RecordColumns
from kcli.dump.block import Block, Ints, records_at
from kcli.dump.render.batch_columns import (
    BatchColumn,
    DictionaryColumn,
    NullableColumn,
    batch_columns,
    is_control,
)
from kcli.dump.render.headers import record_headers
from kcli.dump.render.text_columns import (
    TextColumn,
    base64,
    chosen,
    decimal,
    either,
    joined,
    optional,
    strings,
    texts,
)
from kcli.output.formats import BETWEEN_ROWS, FORMATS, RowStyle
from kcli.output.structured import Form
from kcli.rows import EncodedRows
from kcli.rows.declare import RowType, Value, values_of
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD
from kcli.rows.places import FROM_FILE, FromFile

Cells: TypeAlias = TextColumn | list[TextColumn]
"""A column of the rows, or columns that make it side by side."""

ROWS_AT_ONCE = 1 << 13
"""Rows that are encoded together, if they are small."""
BYTES_AT_ONCE = 1 << 20
"""Of records whose rows are encoded together, about."""


def _style(form: Form) -> RowStyle:
    style = FORMATS[form.format].style
    if style is None:
        raise AssertionError(f"rows are not encoded as {form.format}")
    return style.with_null(form.null)


def encoded_batches(block: Block, source: FromFile, form: Form) -> Iterator[EncodedRows]:
    """Yield the batches of a block as rows of DUMP_BATCH in a format."""
    style, constant = _style(form), _constant(source)
    names = [name for name in form.columns or DUMP_BATCH.names if name in DUMP_BATCH.names]
    made = batch_columns(block, [name for name in names if name not in constant])
    cells = {
        name: _batch_cells(made[name], style) if name in made else style.cell(constant[name])
        for name in names
    }
    if len(block.positions):
        yield _encoded(DUMP_BATCH, cells, len(block.positions), style)


def encoded_records(block: Block, source: FromFile, form: Form) -> Iterator[EncodedRows]:
    """Yield the records of a block as rows of DUMP_RECORD in a format; what is decoded of them is null."""
    if block.records is None:
        raise AssertionError("a block of records has their columns")
    style, constant, count = _style(form), _constant(source), len(block.records.offset)
    names = [name for name in form.columns or DUMP_RECORD.names if name in DUMP_RECORD.names]
    step = max(min(ROWS_AT_ONCE, count * BYTES_AT_ONCE // (len(block.records.data) + 1)), 1)
    for start in range(0, count, step):
        span = slice(start, min(start + step, count))
        cells = {
            name: _RECORD_CELLS[name](block, block.records, span, style)
            if name in _RECORD_CELLS
            else style.cell(constant.get(name))
            for name in names
        }
        yield _encoded(DUMP_RECORD, cells, span.stop - start, style)


def _constant(source: FromFile) -> dict[str, Value]:
    return dict(zip((column.name for column in FROM_FILE), values_of(source), strict=True))


def _encoded(row_type: RowType, cells: dict[str, Cells], count: int, style: RowStyle) -> EncodedRows:
    """Return rows, given the cells of each column."""
    columns: list[TextColumn] = []
    if style.colon is not None:
        columns.append(f'{{"type"{style.colon}"{row_type.name}"')
    for number, (name, cell) in enumerate(cells.items()):
        if style.colon is not None:
            columns.append(f'{style.comma}"{name}"{style.colon}')
        elif number:
            columns.append(style.comma)
        columns += cell if isinstance(cell, list) else [cell]
    raw = texts(joined([*columns, style.end], count))
    return EncodedRows(
        row_type.name, count, raw[: len(raw) - len(BETWEEN_ROWS)] if style.end.endswith(BETWEEN_ROWS) else raw
    )


def _batch_cells(column: BatchColumn, style: RowStyle) -> TextColumn:
    if isinstance(column, DictionaryColumn):
        return chosen([style.cell(text) for text in column.texts], column.which)
    if isinstance(column, NullableColumn):
        return optional(column.values, column.missing, style.cell(None))
    return either(column, "true", "false") if column.dtype.kind == "b" else decimal(column)


def _number_cells(values: Ints, span: slice) -> TextColumn:
    return decimal(values[span])


def _binary_cells(data: bytes, starts: Ints, lengths: Ints, style: RowStyle) -> list[TextColumn]:
    """Return bytes as base64, with what is before and after it in a cell; a length below 0 is null."""
    kind = np.sign(lengths) + 1
    quote = "" if style.colon is None else '"'
    return [
        chosen([style.cell(None), style.cell(b""), quote], kind),
        base64(data, starts, lengths),
        chosen(["", "", quote], kind),
    ]


def _header_cells(records: RecordColumns, span: slice, style: RowStyle) -> TextColumn:
    none = style.cell([])
    if not records.headers_count[span].any():
        return none
    first = int(records.headers_first[span][0])
    end = int(records.headers_first[span][-1] + records.headers_count[span][-1])
    inside_span = slice(first, end)
    some = records._replace(
        headers_first=records.headers_first[span] - first,
        headers_count=records.headers_count[span],
        header_key_start=records.header_key_start[inside_span],
        header_key_length=records.header_key_length[inside_span],
        header_value_start=records.header_value_start[inside_span],
        header_value_length=records.header_value_length[inside_span],
    )
    return strings(
        [
            style.cell([header._asdict() for header in headers]) if headers else none
            for headers in record_headers(some, None)
        ]
    )


def _control_cells(block: Block, records: RecordColumns, span: slice, style: RowStyle) -> TextColumn:
    null, control = style.cell(None), is_control(block)[records.batch[span]]
    if not control.any():
        return null
    cells = [null] * len(control)
    numbers = control.nonzero()[0]
    for number, record in zip(numbers.tolist(), records_at(records, numbers + span.start), strict=True):
        cells[number] = style.cell(control_type(record.key))
    return strings(cells)


def _positions(block: Block, records: RecordColumns, span: slice, _: RowStyle) -> TextColumn:
    return _number_cells(block.positions[records.batch[span]], slice(None))


_RECORD_CELLS: dict[str, Callable[[Block, RecordColumns, slice, RowStyle], Cells]] = {
    "position": _positions,
    "offset": lambda _, records, span, __: _number_cells(records.offset, span),
    "timestamp": lambda _, records, span, __: _number_cells(records.timestamp, span),
    "key": lambda _, records, span, style: _binary_cells(
        records.data, records.key_start[span], records.key_length[span], style
    ),
    "value": lambda _, records, span, style: _binary_cells(
        records.data, records.value_start[span], records.value_length[span], style
    ),
    "headers": lambda _, records, span, style: _header_cells(records, span, style),
    "sequence": lambda _, records, span, __: _number_cells(records.sequence, span),
    "control_type": _control_cells,
}
"""The cells of the columns of DUMP_RECORD that differ from record to record."""
