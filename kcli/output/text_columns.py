"""Text made of columns by Arrow's kernels: one part of many lines, and the lines themselves.

`encoded_rows` makes of Arrow blocks the bytes that `kcli.output.structured` makes of rows. Columns whose JSON
Schema is open are null in blocks: their values are not what Arrow holds.
"""

import binascii
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kcli.output.formats import BETWEEN_ROWS, RowStyle
from kcli.output.view import View
from kcli.rows import ArrowBlock
from kcli.rows.arrow_arrays import LARGEST_VALUES, binary_parts, booleans, column, integers, texts_at

Array: TypeAlias = Any
Ints: TypeAlias = NDArray[np.int64]
TextColumn: TypeAlias = str | Array
"""One part of every line: the same text, or an array with one text per line; null is empty."""


def joined(columns: Sequence[TextColumn], count: int) -> Array:
    """Return the lines that the columns make side by side, as an array of so many texts."""
    merged: list[TextColumn] = []
    for piece in columns:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif not isinstance(piece, str) or piece:
            merged.append(piece)
    if not count:
        return pa.nulls(0, pa.string())
    if all(isinstance(piece, str) for piece in merged):
        return pa.repeat(_scalar("".join(merged)), count)
    arrays = [_datum(piece) for piece in merged]
    is_large = sum(0 if isinstance(piece, str) else piece.nbytes for piece in merged) > LARGEST_VALUES
    if is_large or any(pa.types.is_large_string(array.type) for array in arrays):
        arrays = [array.cast(pa.large_string()) for array in arrays]
    kind = arrays[0].type
    return pc.binary_join_element_wise(
        *arrays, _scalar("").cast(kind), null_handling="replace", null_replacement=""
    )


def texts(lines: Array) -> memoryview:
    """Return the bytes of an array of texts, one after the other."""
    data = lines.buffers()[2]
    if not len(lines) or data is None:
        return memoryview(b"")
    bounds = bounds_of(lines)
    return memoryview(data)[bounds[0] : bounds[-1]].cast("B")


def spans(lines: Array, first: Ints) -> Array:
    """Return consecutive lines joined: text i has those from `first[i]` to `first[i + 1]` (exclusive)."""
    bounds = np.ascontiguousarray(bounds_of(lines)[first])
    return pa.Array.from_buffers(lines.type, len(first) - 1, [None, pa.py_buffer(bounds), lines.buffers()[2]])


def decimal(values: NDArray[np.integer[Any]]) -> TextColumn:
    """Return numbers as decimal text."""
    return str(values[0]) if is_constant(values) else integers(values).cast(pa.string())


def either(mask: NDArray[np.bool_], yes: TextColumn, no: TextColumn) -> TextColumn:
    """Return one column where a mask is true, another where it is not."""
    if is_constant(mask):
        return yes if mask[0] else no
    return pc.if_else(booleans(mask), _datum(yes), _datum(no))


def chosen(choices: Sequence[str], which: NDArray[np.integer[Any]]) -> TextColumn:
    """Return the text of each number: its place in `choices`."""
    return choices[which[0]] if is_constant(which) else texts_at(choices, which)


def parts(data: bytes, starts: Ints, lengths: Ints) -> Array:
    """Return parts of the data, which lie in order, as texts; null where a length is below 0."""
    return as_texts(binary_parts(data, starts, lengths))


def as_texts(values: Array) -> Array:
    """Return an array of bytes as one of texts, without a copy."""
    return values.view(pa.large_string() if pa.types.is_large_binary(values.type) else pa.string())


def integer_texts(values: Array) -> TextColumn:
    """Return int64 numbers as decimal text; null stays null."""
    if values.null_count:
        return values.cast(pa.string())
    return decimal(np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values)])


def true_or_false(values: Array) -> TextColumn:
    """Return truth values as text; null stays null."""
    if not values.null_count and values.true_count in {0, len(values)}:
        return "true" if values.true_count else "false"
    return pc.if_else(values, _scalar("true"), _scalar("false"))


def lengths_of(values: Array) -> Ints:
    """Return how many bytes each value of an array has; -1 for a null."""
    sizes: Ints = np.diff(bounds_of(values)).astype(np.int64)
    if values.null_count:
        nulls = values.is_null()
        bits = np.unpackbits(np.frombuffer(nulls.buffers()[1], np.uint8), bitorder="little")
        sizes[bits[nulls.offset : nulls.offset + len(nulls)] > 0] = -1
    return sizes


def base64(values: Array) -> TextColumn:
    """Return the base64 of an array of bytes; a null gives an empty text."""
    sizes = np.maximum(lengths_of(values), 0)
    if not sizes.any():
        return ""
    # Whole groups of three bytes are encoded together. Where zeros fill a group, "=" replaces their digits.
    fill = -sizes % 3
    groups = joined([as_texts(values), chosen(["", "\0", "\0\0"], fill)], len(sizes))
    encoded = bytearray(binascii.b2a_base64(texts(groups), newline=False))
    ends = np.zeros(len(sizes) + 1, np.int64 if len(encoded) > LARGEST_VALUES else np.int32)
    np.cumsum((sizes + fill) // 3 * 4, out=ends[1:])
    characters = np.frombuffer(encoded, np.uint8)
    characters[ends[1:][fill > 0] - 1] = ord("=")
    characters[ends[1:][fill > 1] - 2] = ord("=")
    kind = pa.large_string() if len(encoded) > LARGEST_VALUES else pa.string()
    return pa.Array.from_buffers(kind, len(sizes), [None, pa.py_buffer(ends), pa.py_buffer(encoded)])


def same_text(values: Array) -> str | None:
    """Return the text that all of an array are; None where they differ or one is null."""
    bounds = bounds_of(values)
    sizes = np.diff(bounds)
    if values.null_count or not is_constant(sizes):
        return None
    data, size = np.frombuffer(texts(values), np.uint8), int(sizes[0])
    if not (data[size:] == data[: len(data) - size]).all():
        return None
    text: str = values[0].as_py()
    return text


def strings(values: Sequence[str | bytes | None]) -> Array:
    """Return Python's texts, or bytes of UTF-8, as an array."""
    raw = [value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value for value in values]
    return column(raw, pa.binary()).view(pa.string())


def is_constant(values: NDArray[np.generic]) -> bool:
    """Whether all of some values, which are not none, are the same."""
    return bool(len(values)) and bool((values == values[0]).all())


def bounds_of(lines: Array) -> NDArray[np.signedinteger[Any]]:
    """Return where each text begins in the bytes of an array, and where the last one ends."""
    is_large = pa.types.is_large_string(lines.type) or pa.types.is_large_binary(lines.type)
    kind = np.int64 if is_large else np.int32
    bounds: NDArray[np.signedinteger[Any]] = np.frombuffer(lines.buffers()[1], kind)
    return bounds[lines.offset : lines.offset + len(lines) + 1]


def _datum(piece: TextColumn) -> Any:
    return _scalar(piece) if isinstance(piece, str) else piece


def _scalar(text: str) -> Any:
    return column([text], pa.string())[0]


# Rows of blocks

Cells: TypeAlias = TextColumn | list[TextColumn]
"""A column of the rows, or columns that make it side by side."""

ROWS_AT_ONCE = 1 << 13
"""Rows that are encoded together, if they are small."""
BYTES_AT_ONCE = 2 << 20
"""Of rows that are encoded together, about."""


def encoded_rows(block: ArrowBlock, view: View) -> Iterator[memoryview]:
    """Yield the rows of a block in the format of a view, some at a time; in json with commas between them."""
    style = view.style
    (row_type,) = (row_type for row_type in view.types if row_type.name == block.type_name)
    sources = view.sources_of(row_type)
    batch = block.batch
    step = max(min(ROWS_AT_ONCE, batch.num_rows * BYTES_AT_ONCE // (batch.nbytes + 1)), 1)
    for start in range(0, batch.num_rows, step):
        rows = batch.slice(start, step)
        cells: dict[str, Cells] = {}
        if style.colon is not None and (view.tagged or not style.end.endswith(BETWEEN_ROWS)):
            cells["type"] = style.cell(block.type_name)
        for declared, source in sources:
            is_text = isinstance(source, str)
            cells[declared.name] = style.cell(source) if is_text else _cells(rows.column(source), style)
        yield _lines(cells, rows.num_rows, style)


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
    return cells if isinstance(cells, str) or not values.null_count else pc.coalesce(cells, _scalar(null))


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
