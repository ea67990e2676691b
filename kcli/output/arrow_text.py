"""Arrow blocks as rows of json, ndjson, csv and tsv: the bytes that `kcli.output.structured` makes of rows.

Columns whose JSON Schema is open are null in blocks: their values are not what Arrow holds.
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from kcli.output.formats import BETWEEN_ROWS, RowStyle
from kcli.output.text_columns import (
    Array,
    TextColumn,
    base64,
    chosen,
    integer_texts,
    joined,
    lengths_of,
    same_text,
    strings,
    texts,
    true_or_false,
    with_null,
)
from kcli.output.view import View
from kcli.rows import ArrowBlock
from kcli.rows.arrow_arrays import column

Cells: TypeAlias = TextColumn | list[TextColumn]
"""A column of the rows, or columns that make it side by side."""

ROWS_AT_ONCE = 1 << 13
"""Rows that are encoded together, if they are small."""
BYTES_AT_ONCE = 2 << 20
"""Of rows that are encoded together, about."""


def encoded_rows(block: ArrowBlock, view: View) -> Iterator[memoryview]:
    """Yield the rows of a block in the format of a view, some at a time; in json with commas between them."""
    style = view.style
    (row_type,) = (one for one in view.types if one.name == block.type_name)
    batch = block.batch.select(list(view.names_of(row_type)))
    step = max(min(ROWS_AT_ONCE, batch.num_rows * BYTES_AT_ONCE // (block.batch.nbytes + 1)), 1)
    for start in range(0, batch.num_rows, step):
        some = batch.slice(start, step)
        cells: dict[str, Cells] = {}
        if style.colon is not None and (view.tagged or not style.end.endswith(BETWEEN_ROWS)):
            cells["type"] = style.cell(block.type_name)
        cells |= {name: _cells(values, style) for name, values in zip(batch.schema.names, some, strict=True)}
        yield _lines(cells, some.num_rows, style)


def _lines(cells: dict[str, Cells], count: int, style: RowStyle) -> memoryview:
    columns: list[TextColumn] = []
    before = "" if style.colon is None else "{"
    for name, cell in cells.items():
        columns.append(before if style.colon is None else f'{before}"{name}"{style.colon}')
        columns += cell if isinstance(cell, list) else [cell]
        before = style.comma
    raw = texts(joined([*columns, style.end], count))
    return raw[: len(raw) - len(BETWEEN_ROWS)] if style.end.endswith(BETWEEN_ROWS) else raw


def _cells(values: Array, style: RowStyle) -> Cells:
    """Return the cells of a column."""
    null, kind = style.cell(None), values.type
    if values.null_count == len(values):
        return null
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _binary_cells(values, style)
    if pa.types.is_list(kind) and not len(values.flatten()) and not values.null_count:
        return style.cell([])
    if pa.types.is_nested(kind):
        empty = style.cell([])
        return strings([empty if value == [] else style.cell(value) for value in values.to_pylist()])
    if pa.types.is_string(kind):
        cells = _text_cells(values, style)
    elif pa.types.is_boolean(kind):
        cells = true_or_false(values)
    else:
        cells = integer_texts(values)
    return with_null(cells, null) if values.null_count else cells


def _text_cells(values: Array, style: RowStyle) -> TextColumn:
    text = same_text(values)
    if text is not None:
        return style.cell(text)
    unique = values.dictionary_encode()
    encoded = [style.cell(text) for text in unique.dictionary.to_pylist()]
    return column(encoded, pa.string()).take(unique.indices)


def _binary_cells(values: Array, style: RowStyle) -> list[TextColumn]:
    """Return bytes as base64, with what is before and after it in a cell."""
    kind = np.sign(lengths_of(values)) + 1
    quote = "" if style.colon is None else '"'
    return [
        chosen([style.cell(None), style.cell(b""), quote], kind),
        base64(values),
        chosen(["", "", quote], kind),
    ]
