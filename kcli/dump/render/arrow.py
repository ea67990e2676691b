"""Blocks of a log as Arrow, without rows in between, equal to what `kcli.output.arrow` makes of rows."""

from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from formats.control import control_type
from formats.record_columns import RecordColumns
from kcli.dump.block import Block
from kcli.dump.render.batch_columns import (
    BatchColumn,
    DictionaryColumn,
    NullableColumn,
    batch_columns,
    is_control,
)
from kcli.dump.render.text_columns import binary_parts
from kcli.output.arrow import ArrowSchema, RecordBatch, schema
from kcli.rows.arrow_arrays import booleans, column, integers, repeated, words
from kcli.rows.declare import RowType, values_of
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD
from kcli.rows.places import FROM_FILE, FromFile

Array: TypeAlias = Any
DataType: TypeAlias = Any


def arrow_batches(block: Block, source: FromFile) -> RecordBatch:
    """Return the batches of a block as a RecordBatch of the schema of DUMP_BATCH; `source` is their file."""
    made = batch_columns(block, [column.name for column in DUMP_BATCH.columns[len(FROM_FILE) :]])
    return _record_batch(
        DUMP_BATCH, {name: _array(found) for name, found in made.items()}, source, len(block.positions)
    )


def arrow_records(block: Block, source: FromFile) -> RecordBatch:
    """Return the records of a block as a RecordBatch of the schema of DUMP_RECORD, decoded columns null."""
    columns = block.records
    if columns is None:
        raise AssertionError("a block of records has their columns")
    made = {
        "position": integers(block.positions[columns.batch]),
        "offset": integers(columns.offset),
        "timestamp": integers(columns.timestamp),
        "key": binary_parts(columns.data, columns.key_start, columns.key_length),
        "value": binary_parts(columns.data, columns.value_start, columns.value_length),
        "headers": _headers(columns, _schema(DUMP_RECORD.name).field("headers").type),
        "sequence": integers(columns.sequence),
        "control_type": _control_types(block, columns),
    }
    return _record_batch(DUMP_RECORD, made, source, len(columns.offset))


def _record_batch(row_type: RowType, made: dict[str, Array], source: FromFile, count: int) -> RecordBatch:
    constant = dict(zip((column.name for column in FROM_FILE), values_of(source), strict=True))
    declared = _schema(row_type.name)
    arrays = [
        made[field.name] if field.name in made else repeated(constant.get(field.name), field.type, count)
        for field in declared
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


@cache
def _schema(name: str) -> ArrowSchema:
    return schema({declared.name: declared for declared in (DUMP_BATCH, DUMP_RECORD)}[name])


def _array(found: BatchColumn) -> Array:
    if isinstance(found, DictionaryColumn):
        return words(found.texts, found.which)
    if isinstance(found, NullableColumn):
        return integers(found.values, found.missing)
    return booleans(found) if found.dtype.kind == "b" else integers(found)


def _headers(columns: RecordColumns, kind: DataType) -> Array:
    bounds = np.concatenate(([0], np.cumsum(columns.headers_count))).astype(np.int32)
    begin = int(columns.headers_first[0]) if len(columns.headers_first) else 0
    span = slice(begin, begin + int(bounds[-1]))
    keys = _header_keys(
        binary_parts(columns.data, columns.header_key_start[span], columns.header_key_length[span])
    )
    values = binary_parts(columns.data, columns.header_value_start[span], columns.header_value_length[span])
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(kind.value_type))
    return pa.Array.from_buffers(kind, len(bounds) - 1, [None, pa.py_buffer(bounds)], children=[pairs])


def _header_keys(keys: Array) -> Array:
    """Return header keys as text, with Python's escapes for bytes that are not UTF-8."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return column([key.decode(errors="backslashreplace") for key in keys.to_pylist()], pa.string())


def _control_types(block: Block, columns: RecordColumns) -> Array:
    """Return the types of control records; null for data."""
    at = is_control(block)[columns.batch].nonzero()[0]
    if not len(at):
        return pa.nulls(len(columns.batch), pa.string())
    types: list[str | None] = [None] * len(columns.batch)
    keys = binary_parts(columns.data, columns.key_start[at], columns.key_length[at]).to_pylist()
    for row, key in zip(at.tolist(), keys, strict=True):
        types[row] = control_type(key)
    return column(types, pa.string())
