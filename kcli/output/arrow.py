"""Rows as Arrow: the schema of a row type and a batch of its rows, both made from the row declarations alone.

| kind of column                              | Arrow                               |
|---------------------------------------------|-------------------------------------|
| int                                         | int64                               |
| timestamp                                   | int64: epoch milliseconds as stored |
| str                                         | string                              |
| bool                                        | bool                                |
| bytes, nested text that is base64 in JSON   | binary                              |
| json: an array with known items             | list                                |
| json: an object with known keys             | struct                              |
| json: anything else                         | string: compact JSON                |

A JSON Schema may name the Arrow type itself, as `arrow`: of numbers that these cannot hold.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from kcli.output.values import compact
from kcli.rows.arrow_arrays import column as column_of
from kcli.rows.declare import Column, RowType, Schema, Value

ArrowSchema: TypeAlias = Any
RecordBatch: TypeAlias = Any
DataType: TypeAlias = Any
Field: TypeAlias = Any

SIGN = 1 << 63


def schema(row_type: RowType) -> ArrowSchema:
    """Return the Arrow schema of a row type; the metadata of a field are its description and kind."""
    return pa.schema([_field(column) for column in row_type.columns], metadata={"row_type": row_type.name})


def batch(row_type: RowType, rows: Sequence[tuple[Value, ...]]) -> RecordBatch:
    """Return values as a RecordBatch; text that is not Unicode is escaped, too large a number wraps."""
    declared = schema(row_type)
    columns: Iterable[tuple[Any, ...]] = zip(*rows, strict=True) if rows else ((),) * len(declared)
    arrays = [
        _array(values, column, field.type)
        for values, column, field in zip(columns, row_type.columns, declared, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


def _field(column: Column) -> Field:
    kind = _TYPES[column.kind] if column.nested is None else _nested(column.nested)
    return pa.field(
        column.name, kind, nullable=column.nullable, metadata={"description": column.doc, "kind": column.kind}
    )


def _array(values: Sequence[Any], column: Column, kind: DataType) -> Any:
    if column.nested is not None and _is_open(column.nested):
        values = [_closed(value, column.nested) for value in values]
    try:
        return column_of(values, kind)
    except (UnicodeEncodeError, OverflowError):
        return column_of([_encodable(value) for value in values], kind)


def _nested(json_schema: Schema) -> DataType:
    """Return the type of values of a JSON Schema."""
    if "arrow" in json_schema:
        return json_schema["arrow"]
    kind = _kind(json_schema)
    if kind == "array":
        items = json_schema["items"]
        return pa.list_(pa.field("item", _nested(items), nullable=_is_nullable(items)))
    if kind == "object":
        return pa.struct(
            [
                pa.field(name, _nested(value), nullable=_is_nullable(value))
                for name, value in json_schema["properties"].items()
            ]
        )
    if json_schema.get("contentEncoding") == "base64":
        return pa.binary()
    return _TYPES.get(kind, pa.string())


def _kind(json_schema: Schema) -> str:
    """Return the JSON type of values but for null; `open` where the schema does not say what they hold."""
    # an enum has words; of two types are bytes that `dump --bytes text` shows
    types = json_schema.get("type", "open" if "anyOf" in json_schema else "string")
    kind: str = types if isinstance(types, str) else types[0]
    holds = {"array": "items", "object": "properties"}.get(kind)
    return kind if holds is None or json_schema.get(holds) else "open"


def _is_nullable(json_schema: Schema) -> bool:
    return "null" in json_schema.get("type", ()) or "anyOf" in json_schema


def _is_open(json_schema: Schema) -> bool:
    """Whether any value in it becomes compact JSON, for its schema does not say what it holds."""
    kind = _kind(json_schema)
    if kind == "array":
        return _is_open(json_schema["items"])
    return kind == "open" or (kind == "object" and any(map(_is_open, json_schema["properties"].values())))


def _closed(value: Any, json_schema: Schema) -> Any:
    """Return a value with compact JSON where its schema is open."""
    if value is None:
        return None
    kind = _kind(json_schema)
    if kind == "array":
        return [_closed(item, json_schema["items"]) for item in value]
    if kind == "object":
        return {name: _closed(value[name], schema) for name, schema in json_schema["properties"].items()}
    return compact(value) if kind == "open" else value


def _encodable(value: Any) -> Any:
    """Return a value that Arrow can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and not isinstance(value, bool):
        return (value + SIGN) % (2 * SIGN) - SIGN
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {name: _encodable(item) for name, item in value.items()}
    return value


_TYPES: dict[str, DataType] = {
    "int": pa.int64(),
    "timestamp": pa.int64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "bytes": pa.binary(),
    "integer": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "number": pa.float64(),
}
"""Of the kinds of columns, and of JSON's types."""
