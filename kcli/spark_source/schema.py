"""The Spark schema of a view, made from the declarations of its rows; what columns mean stands in their comments."""

from typing import Any, TypeAlias

from kcli.columns import Column, RowType
from kcli.output.arrow import schema as arrow_schema
from kcli.spark_source.views import MOMENT, view_columns

StructType: TypeAlias = Any


def view_schema(view: str) -> StructType:
    """Return the StructType of a view: integers and epoch milliseconds are bigint, bytes binary, nested values arrays and structs."""
    from pyspark.sql.types import StructType  # noqa: PLC0415

    return StructType([_field(one.column) for one in view_columns(view)])


def _field(column: Column) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type  # noqa: PLC0415
    from pyspark.sql.types import StructField, TimestampType  # noqa: PLC0415

    is_moment = column.kind == MOMENT
    kind = TimestampType() if is_moment else from_arrow_type(arrow_schema(RowType("", (column,))).field(0).type)
    return StructField(column.name, kind, column.nullable, {"comment": column.doc})
