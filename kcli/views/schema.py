"""The Spark schema of a view, made from the declarations of its rows; comments say what columns mean."""

from typing import Any, TypeAlias

from kcli.output.arrow import schema as arrow_schema
from kcli.rows.declare import Column, RowType
from kcli.views.definitions import MOMENT, view_columns
from kcli.views.options import OptionError

StructType: TypeAlias = Any


def view_schema(view: str) -> StructType:
    """Return the StructType of a view.

    Integers and epoch milliseconds are bigint, bytes binary, nested values arrays and structs.
    """
    from pyspark.sql.types import StructType

    return StructType([_field(one.column) for one in view_columns(view)])


def refuse_others(view: str, given: StructType) -> None:
    """Raise OptionError unless a schema has columns of a view, each once, with exactly their types.

    It may allow more nulls.
    """
    own = {field.name.lower(): field for field in view_schema(view)}
    seen: set[str] = set()
    for field in given:
        name = field.name.lower()
        if name not in own:
            raise OptionError(
                f"schema: {field.name} is no column of the view {view}; its columns are {', '.join(own)}"
            )
        if name in seen:
            raise OptionError(f"schema: column {field.name} appears twice")
        seen.add(name)
        if not _holds(field.dataType, own[name].dataType):
            expected, found = own[name].dataType.simpleString(), field.dataType.simpleString()
            way = f"timestamp_millis({name})" if (expected, found) == ("bigint", "timestamp") else "a cast"
            raise OptionError(
                f"schema: column {field.name} is {expected}, not {found}; use {way} in the query"
            )
        if own[name].nullable and not field.nullable:
            raise OptionError(f"schema: column {field.name} can be null: leave out NOT NULL")


def _holds(given: Any, own: Any) -> bool:
    """Whether a type is another one, but for nulls inside that it allows."""
    from pyspark.sql import types

    if isinstance(given, types.ArrayType) and isinstance(own, types.ArrayType):
        return (given.containsNull or not own.containsNull) and _holds(given.elementType, own.elementType)
    if isinstance(given, types.StructType) and isinstance(own, types.StructType):
        return given.names == own.names and all(
            (one.nullable or not other.nullable) and _holds(one.dataType, other.dataType)
            for one, other in zip(given, own, strict=True)
        )
    return bool(given == own)


def _field(column: Column) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, TimestampType

    is_moment = column.kind == MOMENT
    kind = (
        TimestampType() if is_moment else from_arrow_type(arrow_schema(RowType("", (column,))).field(0).type)
    )
    return StructField(column.name, kind, column.nullable, {"comment": column.doc})
