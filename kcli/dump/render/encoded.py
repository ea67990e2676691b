"""Batches and records of a log as rows of json, ndjson, csv and tsv, many at once: the fast twin of `kcli.output.structured`."""

import binascii
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formats.batch import CONTROL_MASK
from formats.control import control_type
from formats.record_columns import RecordColumns
from kcli.dump.render.batch_columns import batch_columns, column_piece
from kcli.dump.render.pieces import Piece, numerals, side_by_side
from kcli.output.formats import BETWEEN_ROWS, FORMATS, RowStyle
from kcli.output.structured import Form
from kcli.rows import EncodedRows
from kcli.rows.declare import RowType, Value
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD
from kcli.rows.places import FROM_FILE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from formats.record_columns import Ints

ROWS_AT_ONCE = 1 << 11
"""Rows whose pieces are in memory together, if they are small."""
BYTES_AT_ONCE = 1 << 20
"""Of records whose rows are in memory together, about."""


class _Some(NamedTuple):
    """Some of the records of columns, and the positions of the columns' batches."""

    columns: RecordColumns
    span: slice
    positions: "Ints"


def _style(form: Form) -> RowStyle:
    style = FORMATS[form.format].style
    assert style is not None, form
    return style


def batch_rows(
    fields: "NDArray[np.void]",
    positions: "NDArray[np.int64]",
    valid: "NDArray[np.bool_]",
    where: Sequence[Value],
    form: Form,
) -> Iterator[EncodedRows]:
    """Yield rows of DUMP_BATCH, of batches of magic 2, as text; the arguments are those of `kcli.dump.render.batch_arrow.batches`."""
    style, constant = _style(form), _constant(where)
    names = [name for name in form.columns or DUMP_BATCH.names if name in DUMP_BATCH.names]
    for start in range(0, len(positions), ROWS_AT_ONCE):
        span = slice(start, start + ROWS_AT_ONCE)
        made = batch_columns(
            fields[span], positions[span], valid[span], [name for name in names if name not in constant]
        )
        cells = [
            (name, [column_piece(made[name], style.cell) if name in made else style.cell(constant[name])])
            for name in names
        ]
        yield _written(DUMP_BATCH, cells, len(positions[span]), style)


def record_rows(
    columns: RecordColumns, positions: "Ints", where: Sequence[Value], form: Form
) -> Iterator[EncodedRows]:
    """Yield rows of DUMP_RECORD as text; the arguments are those of `kcli.dump.render.record_arrow.record_batch`.

    Columns that neither of them tells are null.
    """
    style, constant, count = _style(form), _constant(where), len(columns.offset)
    names = [name for name in form.columns or DUMP_RECORD.names if name in DUMP_RECORD.names]
    step = max(min(ROWS_AT_ONCE, count * BYTES_AT_ONCE // (len(columns.data) + 1)), 1)
    for start in range(0, count, step):
        some = _Some(columns, slice(start, min(start + step, count)), positions)
        cells = [
            (name, _RECORDS[name](some, style) if name in _RECORDS else _same(constant.get(name), style))
            for name in names
        ]
        yield _written(DUMP_RECORD, cells, some.span.stop - start, style)


def _constant(where: Sequence[Value]) -> dict[str, Value]:
    return dict(zip((column.name for column in FROM_FILE), where, strict=True))


def _written(
    row_type: RowType, cells: Sequence[tuple[str, list[Piece]]], count: int, style: RowStyle
) -> EncodedRows:
    """Return rows, given what stands in each column."""
    whole: list[Piece] = []
    if style.colon is not None:
        whole.append(f'{{"type"{style.colon}"{row_type.name}"')
    for number, (name, pieces) in enumerate(cells):
        if style.colon is not None:
            whole.append(f'{style.comma}"{name}"{style.colon}')
        elif number:
            whole.append(style.comma)
        whole += pieces
    text = side_by_side(count, [*whole, style.end]).removesuffix(BETWEEN_ROWS)
    return EncodedRows(row_type.name, count, text.encode("utf-8", "backslashreplace"))


def _same(value: Value, style: RowStyle) -> list[Piece]:
    return [style.cell(value)]


def _binary(data: bytes, starts: "Ints", lengths: "Ints", style: RowStyle) -> list[Piece]:
    """Return bytes as base64; a length below 0 is null."""
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for bulk pays for it

    null, empty = style.cell(None), style.cell(b"")
    if (lengths < 0).all():
        return [null]
    encode, quote = binascii.b2a_base64, empty[:1] if style.colon is not None else ""
    ends = (starts + np.maximum(lengths, 0)).tolist()
    if (lengths > 0).all():
        return [
            quote,
            [
                encode(data[start:end], newline=False).decode("ascii")
                for start, end in zip(starts.tolist(), ends, strict=True)
            ],
            quote,
        ]
    spans = zip(starts.tolist(), ends, lengths.tolist(), strict=True)
    return [
        [
            f"{quote}{encode(data[start:end], newline=False).decode('ascii')}{quote}"
            if length > 0
            else null
            if length
            else empty
            for start, end, length in spans
        ]
    ]


def _headers(columns: RecordColumns, span: slice, style: RowStyle) -> Piece:
    none = style.cell([])
    counts = columns.headers_count[span]
    if not counts.any():
        return none
    firsts = columns.headers_first[span].tolist()
    return [
        style.cell(_of_record(columns, first, count)) if count else none
        for first, count in zip(firsts, counts.tolist(), strict=True)
    ]


def _of_record(columns: RecordColumns, first: int, count: int) -> list[dict[str, Value]]:
    """Return the headers of a record, as its row has them."""
    found: list[dict[str, Value]] = []
    for number in range(first, first + count):
        key = _part(columns.data, columns.header_key_start[number], columns.header_key_length[number]) or b""
        value = _part(columns.data, columns.header_value_start[number], columns.header_value_length[number])
        found.append({"key": key.decode(errors="backslashreplace"), "value": value})
    return found


def _control_types(columns: RecordColumns, span: slice, style: RowStyle) -> Piece:
    null = style.cell(None)
    control = columns.headers["attributes"][columns.batch[span]] & CONTROL_MASK != 0
    if not control.any():
        return null
    rows = zip(columns.key_start[span], columns.key_length[span], control.tolist(), strict=True)
    return [
        style.cell(control_type(_part(columns.data, start, length))) if it_is else null
        for start, length, it_is in rows
    ]


def _part(data: bytes, start: "np.int64", length: "np.int64") -> bytes | None:
    return None if length < 0 else data[start : start + length]


_RECORDS: dict[str, Callable[[_Some, RowStyle], list[Piece]]] = {
    "position": lambda some, _: [numerals(some.positions[some.columns.batch[some.span]])],
    "offset": lambda some, _: [numerals(some.columns.offset[some.span])],
    "timestamp": lambda some, _: [numerals(some.columns.timestamp[some.span])],
    "key": lambda some, style: _binary(
        some.columns.data, some.columns.key_start[some.span], some.columns.key_length[some.span], style
    ),
    "value": lambda some, style: _binary(
        some.columns.data, some.columns.value_start[some.span], some.columns.value_length[some.span], style
    ),
    "headers": lambda some, style: [_headers(some.columns, some.span, style)],
    "sequence": lambda some, _: [numerals(some.columns.sequence[some.span])],
    "control_type": lambda some, style: [_control_types(some.columns, some.span, style)],
}
"""What stands in the columns of DUMP_RECORD that differ from record to record."""
