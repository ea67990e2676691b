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
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from kcli.output.values import compact
from kcli.rows.arrow_arrays import column as column_of
from kcli.rows.declare import Column, RowType, Schema, Value

ArrowSchema: TypeAlias = Any
RecordBatch: TypeAlias = Any
DataType: TypeAlias = Any
Field: TypeAlias = Any

SIGN = 1 << 63


def schema(row_type: RowType) -> ArrowSchema:
    """Return the Arrow schema of a row type; a field's metadata says what it means (description) and its kind."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and only for those who ask for columns

    return pa.schema([_field(column) for column in row_type.columns], metadata={"row_type": row_type.name})


def batch(row_type: RowType, rows: Sequence[tuple[Value, ...]]) -> RecordBatch:
    """Return rows of one type, given their values, as a RecordBatch of its schema.

    Text that is not Unicode (half a surrogate pair) is escaped as on stdout; a number that 64 bits cannot hold wraps,
    as a long of Java does.
    """
    import pyarrow as pa  # noqa: PLC0415

    declared = schema(row_type)
    columns: Iterable[tuple[Any, ...]] = zip(*rows, strict=True) if rows else ((),) * len(declared)
    arrays = [
        _array(values, column, field.type)
        for values, column, field in zip(columns, row_type.columns, declared, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


def _field(column: Column) -> Field:
    import pyarrow as pa  # noqa: PLC0415

    kind = _TYPES[column.kind]() if column.nested is None else _nested(column.nested)
    return pa.field(
        column.name, kind, nullable=column.nullable, metadata={"description": column.doc, "kind": column.kind}
    )


def _array(values: tuple[Any, ...], column: Column, kind: DataType) -> Any:
    given: Sequence[Any] = values
    if column.nested is not None and _is_open(column.nested):
        given = [_closed(value, column.nested) for value in values]
    try:
        return column_of(given, kind)
    except (UnicodeEncodeError, OverflowError):
        return column_of([_mended(value) for value in given], kind)


def _nested(wanted: Schema) -> DataType:
    """Return the type of values of a JSON Schema."""
    import pyarrow as pa  # noqa: PLC0415

    kind = _kind(wanted)
    if kind == "array":
        items = wanted["items"]
        return pa.list_(pa.field("item", _nested(items), nullable=_is_nullable(items)))
    if kind == "object":
        return pa.struct(
            [
                pa.field(name, _nested(value), nullable=_is_nullable(value))
                for name, value in wanted["properties"].items()
            ]
        )
    if wanted.get("contentEncoding") == "base64":
        return pa.binary()
    return _TYPES.get(kind, pa.string)()


def _kind(wanted: Schema) -> str:
    """Return the JSON type of a schema that says all about its values; `open` for one that does not."""
    if "enum" in wanted:
        return "string" if all(isinstance(value, str) for value in wanted["enum"]) else "open"
    found = wanted.get("type")
    kinds = [kind for kind in (found if isinstance(found, list) else [found]) if kind != "null"]
    if (
        kinds in ([], [None])
        or len(kinds) != 1
        or (kinds[0] == "array" and "items" not in wanted)
        or (kinds[0] == "object" and not wanted.get("properties"))
    ):
        return "open"
    return str(kinds[0])


def _is_nullable(wanted: Schema) -> bool:
    return (
        "null" in (wanted.get("type") or ())
        or None in wanted.get("enum", ())
        or ("type" not in wanted and "enum" not in wanted)
    )


def _is_open(wanted: Schema) -> bool:
    """Whether anything in it stands as compact JSON."""
    kind = _kind(wanted)
    if kind == "array":
        return _is_open(wanted["items"])
    return kind == "open" or (kind == "object" and any(map(_is_open, wanted["properties"].values())))


def _closed(value: Any, wanted: Schema) -> Any:
    """Return a value with compact JSON where its schema is open."""
    if value is None:
        return None
    kind = _kind(wanted)
    if kind == "array":
        return [_closed(item, wanted["items"]) for item in value]
    if kind == "object":
        return {name: _closed(value[name], inside) for name, inside in wanted["properties"].items()}
    return compact(value) if kind == "open" else value


def _mended(value: Any) -> Any:
    """Return a value that Arrow can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and not isinstance(value, bool):
        return (value + SIGN) % (2 * SIGN) - SIGN
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {name: _mended(inside) for name, inside in value.items()}
    return value


def _pa(name: str) -> Callable[[], DataType]:
    def make() -> DataType:
        import pyarrow as pa  # noqa: PLC0415

        return getattr(pa, name)()

    return make


_TYPES: dict[str, Callable[[], DataType]] = {
    "int": _pa("int64"),
    "timestamp": _pa("int64"),
    "str": _pa("string"),
    "bool": _pa("bool_"),
    "bytes": _pa("binary"),
    "integer": _pa("int64"),
    "string": _pa("string"),
    "boolean": _pa("bool_"),
    "number": _pa("float64"),
}
"""Of the kinds of columns, and of JSON's types."""
