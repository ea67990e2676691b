"""Schemas that users give: columns of the view with their types, and nothing else."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kcli.views.definitions import VIEWS
from kcli.views.spark import refuse_others, view_schema
from kcli.words import WordError

TYPES = {
    "max_timestamp": (
        TimestampType(),
        (
            "schema: column max_timestamp is bigint, not timestamp; use timestamp_millis(max_timestamp) in "
            "the query"
        ),
    ),
    "size": (IntegerType(), "schema: column size is bigint, not int; use a cast in the query"),
    "nope": (StringType(), "schema: nope is no column of the view batches; its columns are host, broker_id,"),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_schema_of_other_columns_or_types_is_refused_by_name(name):
    kind, words = TYPES[name]

    with pytest.raises(WordError) as raised:
        refuse_others("batches", StructType([StructField("topic", StringType()), StructField(name, kind)]))

    assert str(raised.value).startswith(words)


def test_a_schema_with_a_column_twice_or_without_its_nulls_is_refused():
    with pytest.raises(WordError, match="schema: column SIZE appears twice"):
        refuse_others(
            "batches", StructType([StructField("size", LongType()), StructField("SIZE", LongType())])
        )
    with pytest.raises(WordError, match="schema: column count can be null: leave out NOT NULL"):
        refuse_others("batches", StructType([StructField("count", LongType(), nullable=False)]))


@pytest.mark.parametrize("view", VIEWS)
def test_a_schema_of_the_columns_of_a_view_is_taken_in_any_order_and_with_more_nulls(view):
    own = view_schema(view)

    refuse_others(view, own)
    refuse_others(
        view,
        StructType(
            [StructField(field.name.upper(), _nullable(field.dataType)) for field in reversed(own.fields)]
        ),
    )


def _nullable(kind):
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType), containsNull=True)
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _nullable(field.dataType)) for field in kind])
    return kind
