"""Row types: a NamedTuple class says what a row holds, and its columns and JSON Schema derive from the class.

    class EpochRow(NamedTuple):
        where: Where  # a NamedTuple of columns, which are columns of this row
        epoch: Annotated[int, "leader epoch"]
        start_offset: Annotated[int, "first offset written in this epoch, inclusive"]

Its name is that of the class without `Row`: of EpochRow `epoch`, of DumpBatchRow `dump_batch`.

| annotation                      | kind of column | JSON                                       |
|---------------------------------|----------------|--------------------------------------------|
| int, str, bool                  | int, str, bool | integer, string, boolean                   |
| bytes                           | bytes          | string of base64                           |
| Timestamp                       | timestamp      | integer: epoch ms; tables add ISO-8601     |
| float                           | json           | number                                     |
| a NamedTuple, tuple[T, ...]     | json           | object with its keys, array                |
| Literal[...], dict[str, Any]    | json           | one of the values, object with any keys    |

`T | None` may be null. The text in `Annotated` says what the column means.
"""

import copyreg
import re
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin

if TYPE_CHECKING:
    from decimal import Decimal

Schema: TypeAlias = dict[str, Any]
Value: TypeAlias = "int | str | bool | bytes | float | Decimal | list[Value] | dict[str, Value] | None"
AnyRow: TypeAlias = tuple[Any, ...]
"""An instance of any class of rows."""

MILLISECONDS = "ms"
Timestamp: TypeAlias = Annotated[int, MILLISECONDS]
"""Epoch milliseconds as stored."""


class Column(NamedTuple):
    """One column: its name, kind, whether it may be null, what it means, and the schema of a nested value."""

    name: str
    kind: str
    nullable: bool
    doc: str
    nested: Schema | None = None


class RowType(NamedTuple):
    """A type of row: the name that ndjson lines carry as `type`, and its columns in order."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)


_ROW_TYPES: dict[type, RowType] = {}
"""By class, once they are asked for."""


class PlainRow(tuple[Any, ...]):
    """A row that is its values in order; a class that `plain_row_type` returns has them as attributes."""

    __slots__ = ()


class _PlainRowClass(type):
    """A class that no module has: a pickle of its rows holds their columns."""


def plain_row_type(declared: RowType) -> type[PlainRow]:
    """Return a class for rows of columns that are known only now, such as those of a query."""
    columns = {
        name: property(itemgetter(number)) for number, name in enumerate(declared.names) if name[:1] != "_"
    }
    row: Any = _PlainRowClass(declared.name, (PlainRow,), {**columns, "__slots__": ()})
    _ROW_TYPES[row] = declared
    return row  # type: ignore[no-any-return]


def _made_anew(row: Any) -> Any:
    return plain_row_type, (declared_type(row),)


copyreg.pickle(_PlainRowClass, _made_anew)


def type_of(row: object) -> RowType:
    """Return the type of a row; KeyError for what is no row."""
    return declared_type(type(row))


def declared_type(row: type[Any]) -> RowType:
    """Return the name and the columns of a class of rows; KeyError for another class."""
    if row not in _ROW_TYPES:
        *names, last = re.findall("[A-Z][a-z]*", row.__name__)
        if last != "Row":
            raise KeyError(row)
        _ROW_TYPES[row] = RowType("_".join(names).lower(), columns_of(row))
    return _ROW_TYPES[row]


def names_of(*rows: type[AnyRow]) -> frozenset[str]:
    """Return the names of classes of rows."""
    return frozenset(declared_type(row).name for row in rows)


def columns_of(row: type[AnyRow]) -> tuple[Column, ...]:
    """Return the columns of a NamedTuple class in order, those of a NamedTuple inside in its place."""
    columns: list[Column] = []
    for name, annotation in row.__annotations__.items():
        columns += columns_of(annotation) if _is_named_tuple(annotation) else [_column(name, annotation)]
    return tuple(columns)


def values_of(row: AnyRow) -> tuple[Value, ...]:
    """Return the values of a row in column order: nested tuples as lists, nested NamedTuples as dicts."""
    if isinstance(row, PlainRow):
        return row
    values: list[Value] = []
    for value, convert in zip(row, _converters(type(row)), strict=True):
        if convert is None:
            values.append(value)
        else:
            values += convert(value)
    return tuple(values)


@cache
def _converters(row: type[AnyRow]) -> tuple[Callable[[Any], tuple[Value, ...]] | None, ...]:
    """Return for each field what makes values of it; None for a field that is a value already."""
    return tuple(
        values_of
        if _is_named_tuple(annotation)
        else (lambda value: (_plain(value),))
        if _column("", annotation).kind == "json"
        else None
        for annotation in row.__annotations__.values()
    )


def _plain(value: "Value | AnyRow") -> Value:
    if not isinstance(value, tuple):
        return value
    items = [_plain(item) for item in value]
    names = getattr(value, "_fields", None)
    return items if names is None else dict(zip(names, items, strict=True))


def _is_named_tuple(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "_fields")


_KINDS = {int: "int", str: "str", bool: "bool", bytes: "bytes"}
_TYPE_SCHEMAS: dict[Any, Schema] = {
    int: {"type": "integer"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    float: {"type": "number"},
}


def _column(name: str, annotation: Any) -> Column:
    """Return the column of a field; ValueError unless its annotation says what it means."""
    if get_origin(annotation) is not Annotated:
        raise ValueError(f"{name}: {annotation} does not say what the column means")
    annotated, *notes = get_args(annotation)
    kind, nullable = _without_none(annotated)
    if get_origin(kind) is Annotated:
        kind, *inner = get_args(kind)
        notes = [*inner, *notes]
    doc = notes[-1]
    if MILLISECONDS in notes[:-1]:
        return Column(name, "timestamp", nullable, doc)
    if kind in _KINDS:
        return Column(name, _KINDS[kind], nullable, doc)
    return Column(name, "json", nullable, doc, _schema(kind))


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """Return the type of values that are not null, and whether null is allowed."""
    if get_origin(annotation) not in {Union, UnionType}:
        return annotation, False
    (kind,) = (argument for argument in get_args(annotation) if argument is not NoneType)
    return kind, True


def _schema(annotation: Any) -> Schema:
    """Return the JSON Schema of a nested value."""
    kind, nullable = _without_none(annotation)
    kind = getattr(kind, "__supertype__", kind)  # a NewType
    origin = get_origin(kind)
    if _is_named_tuple(kind):
        return record({name: _schema(annotation) for name, annotation in kind.__annotations__.items()})
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0])}
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    schema = {"type": "object"} if origin is dict else _TYPE_SCHEMAS[kind]
    return {**schema, "type": [schema["type"], "null"]} if nullable else schema


def record(properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def column_schema(column: Column) -> Schema:
    """Return the JSON Schema of one column's values."""
    schema = dict(_SCALARS[column.kind] if column.nested is None else column.nested)
    if column.nullable:
        schema["type"] = [schema["type"], "null"]
    return {**schema, "description": column.doc}


_SCALARS = {**{name: _TYPE_SCHEMAS[kind] for kind, name in _KINDS.items()}, "timestamp": _TYPE_SCHEMAS[int]}


def row_schema(declared: RowType) -> Schema:
    """Return the JSON Schema of one row type: every key present, no other allowed."""
    properties = {column.name: column_schema(column) for column in declared.columns}
    return {"title": declared.name, **record(properties)}
