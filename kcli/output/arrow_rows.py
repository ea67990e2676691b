"""Arrow as rows: columns of any Arrow schema, such as that of a query, and the values of its batches.

| Arrow                            | kind of column, and value                                       |
|----------------------------------|-----------------------------------------------------------------|
| integers, decimals without scale | int                                                             |
| floats                           | json: a number; what is not finite is NaN, Infinity, -Infinity  |
| other decimals                   | json: a number, a Decimal if a double does not hold its digits  |
| bool, string, binary             | bool, str, bytes                                                |
| list, struct, map                | json: an array, an object, an array of pairs                    |
| times, dates and all others      | str: ISO-8601, times of a zone in UTC; those outside the years  |
|                                  | 1 to 9999 as a number: of microseconds or days since 1970       |
"""

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import Any, TypeAlias

from pyarrow import MonthDayNano, string, types

from kcli.rows.declare import Column, RowType, Schema, Value, record

ArrowSchema: TypeAlias = Any
DataType: TypeAlias = Any

PLAIN = frozenset({"int", "bool", "bytes"})
"""Kinds whose values Arrow gives as they are, if they are no decimals."""
DIGITS_OF_A_LONG = 18


def row_type_of(name: str, schema: ArrowSchema) -> RowType:
    """Return a row type with the columns of an Arrow schema; the second `x` becomes `x_1`."""
    names: set[str] = set()
    columns = []
    for field in schema:
        unique, count = field.name, 0
        while unique in names:
            count += 1
            unique = f"{field.name}_{count}"
        names.add(unique)
        kind, nested = _kind(field.type)
        columns.append(Column(unique, kind, nullable=True, doc="", nested=nested))
    return RowType(name, tuple(columns))


def rows_of(batches: Iterable[Any], row: type[Any]) -> Iterator[Any]:
    """Yield the rows of batches as instances of a class that takes the values of a row."""
    for batch in batches:
        columns = [_values(column) for column in batch.columns]
        yield from map(row, zip(*columns, strict=True))


def _kind(kind: DataType) -> tuple[str, Schema | None]:
    """Return the kind of a column of an Arrow type, and the JSON Schema of nested values."""
    schema = _schema(kind)
    if schema["type"] in {"array", "object", "number"}:
        return "json", schema
    if "contentEncoding" in schema:
        return "bytes", None
    nested = schema if "arrow" in schema else None
    return {"integer": "int", "boolean": "bool", "string": "str"}[schema["type"]], nested


def _schema(kind: DataType) -> Schema:
    """Return the JSON Schema of values of an Arrow type; text for those that JSON has no word for."""
    if types.is_map(kind):
        return {"type": "array", "items": {"type": "array"}}
    if types.is_nested(kind) and types.is_struct(kind):
        return record({field.name: _nullable(_schema(field.type)) for field in kind})
    if types.is_nested(kind) and hasattr(kind, "value_type"):
        return {"type": "array", "items": _nullable(_schema(kind.value_type))}
    schema = next((schema for is_such, schema in _SCALAR_SCHEMAS if is_such(kind)), {"type": "string"})
    return {**schema, "arrow": kind} if _is_large(kind) else schema


def _is_large(kind: DataType) -> bool:
    """Whether neither int64 nor a double holds all such numbers."""
    of_a_long = types.is_decimal(kind) and kind.scale == 0 and kind.precision <= DIGITS_OF_A_LONG
    return bool(types.is_uint64(kind) or (types.is_decimal(kind) and not of_a_long))


_SCALAR_SCHEMAS: tuple[tuple[Callable[[DataType], bool], Schema], ...] = (
    (types.is_integer, {"type": "integer"}),
    (lambda kind: types.is_decimal(kind) and kind.scale == 0, {"type": "integer"}),
    (types.is_floating, {"type": "number"}),
    (types.is_decimal, {"type": "number"}),
    (types.is_boolean, {"type": "boolean"}),
    (types.is_binary, {"type": "string", "contentEncoding": "base64"}),
    (types.is_large_binary, {"type": "string", "contentEncoding": "base64"}),
)


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _values(column: Any) -> list[Value]:
    """Return the values of an Arrow column."""
    if _has_nanoseconds(column.type):
        return [_of_scalar(scalar) for scalar in column]
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return [_of_scalar(scalar) for scalar in column]
    kind, _ = _kind(column.type)
    is_plain = (kind in PLAIN and not types.is_decimal(column.type)) or types.is_string(column.type)
    return values if is_plain else [_plain(value) for value in values]


def _has_nanoseconds(kind: DataType) -> bool:
    """Whether there are times in nanoseconds at any depth: Arrow cuts them to microseconds for Python."""
    if types.is_timestamp(kind) or types.is_time64(kind):
        return bool(kind.unit == "ns")
    return any(_has_nanoseconds(kind.field(number).type) for number in range(kind.num_fields))


def _of_scalar(scalar: Any) -> Value:
    """Return one value, which may be nested."""
    if not scalar.is_valid:
        return None
    if types.is_map(scalar.type):
        return [[_of_scalar(pair["key"]), _of_scalar(pair["value"])] for pair in scalar.values]
    if types.is_struct(scalar.type):
        return {name: _of_scalar(value) for name, value in scalar.items()}
    if types.is_union(scalar.type):
        return _of_scalar(scalar.value)
    return [_of_scalar(value) for value in scalar.values] if hasattr(scalar, "values") else _of_flat(scalar)


def _of_flat(scalar: Any) -> Value:
    """Return one value; of a time that Python has no word for, the number of its units since 1970."""
    if _has_nanoseconds(scalar.type):
        return str(scalar.cast(string()).as_py()).replace(" ", "T")
    try:
        return _plain(scalar.as_py())
    except OverflowError:
        return str(scalar.value)


def _plain(value: Any) -> Value:
    """Return a value of Python that Arrow gives as one that every output format takes."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if type(value) in {list, tuple}:
        return [_plain(item) for item in value]
    return value if isinstance(value, (NoneType, int, str, bytes)) else _CONVERT.get(type(value), str)(value)


def _iso(value: Any) -> str:
    """Return a date or a time as ISO-8601, one of a zone in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value.isoformat())


def _interval(value: Any) -> str:
    """Return an interval as ISO-8601: P1M2DT3.5S, P0D for none."""
    days = "".join(f"{count}{unit}" for count, unit in ((value.months, "M"), (value.days, "D")) if count)
    seconds, nanoseconds = divmod(abs(value.nanoseconds), 10**9)
    fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
    time = f"T{'-' if value.nanoseconds < 0 else ''}{seconds}{fraction}S" if value.nanoseconds else ""
    return f"P{days}{time}" if days or time else "P0D"


def _float(value: float) -> float | str:
    return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity"}.get(str(value), "-Infinity")


def _number(value: Decimal) -> float | Decimal:
    """Return a decimal as a plain number if that has all its digits."""
    if value.as_tuple().exponent == 0:
        return int(value)
    number = float(value)
    return number if Decimal(str(number)) == value else value


_CONVERT: dict[type, Callable[[Any], Value]] = {
    float: _float,
    Decimal: _number,
    datetime: _iso,
    date: _iso,
    time: _iso,
    MonthDayNano: _interval,
}
"""Of all others the text is shown."""
