"""Columns, JSON Schema and values of rows derive from a NamedTuple class."""

from typing import Annotated, Any, Literal, NamedTuple, NewType

import pytest

from kcli.rows.declare import Column, Timestamp, columns_of, declared_type, row_schema, type_of, values_of
from tests.rows import ROW_TYPES

Offset = NewType("Offset", int)


class Place(NamedTuple):
    dir: Annotated[str, "where"]
    broker_id: Annotated[int | None, "of meta.properties"] = None


class Source(NamedTuple):
    place: Place
    file: Annotated[str, "file name"]


class Pair(NamedTuple):
    key: str
    value: bytes | None
    offset: Offset
    action: Literal["keep", "cut"]


class EveryRow(NamedTuple):
    source: Source
    flag: Annotated[bool, "f"]
    data: Annotated[bytes | None, "d"]
    at: Annotated[Timestamp, "a"]
    maybe_at: Annotated[Timestamp | None, "m"]
    ratio: Annotated[float | None, "r"]
    pairs: Annotated[tuple[Pair, ...], "p"]
    numbers: Annotated[tuple[int, ...] | None, "n"]
    anything: Annotated[dict[str, Any] | None, "any keys"]
    words: Annotated[tuple[str, ...], "w"]


EVERY = declared_type(EveryRow)
PAIR = {
    "type": "object",
    "properties": {
        "key": {"type": "string"},
        "value": {"type": ["string", "null"], "contentEncoding": "base64"},
        "offset": {"type": "integer"},
        "action": {"enum": ["keep", "cut"]},
    },
    "required": ["key", "value", "offset", "action"],
    "additionalProperties": False,
}


def test_columns_of_every_kind_of_field_in_order():
    assert EVERY.columns == (
        Column("dir", "str", False, "where"),
        Column("broker_id", "int", True, "of meta.properties"),
        Column("file", "str", False, "file name"),
        Column("flag", "bool", False, "f"),
        Column("data", "bytes", True, "d"),
        Column("at", "timestamp", False, "a"),
        Column("maybe_at", "timestamp", True, "m"),
        Column("ratio", "json", True, "r", {"type": "number"}),
        Column("pairs", "json", False, "p", {"type": "array", "items": PAIR}),
        Column("numbers", "json", True, "n", {"type": "array", "items": {"type": "integer"}}),
        Column("anything", "json", True, "any keys", {"type": "object"}),
        Column("words", "json", False, "w", {"type": "array", "items": {"type": "string"}}),
    )


def test_json_schema_of_a_row_has_all_columns_and_no_other():
    schema = row_schema(EVERY)

    assert list(schema["properties"]) == schema["required"] == list(EVERY.names)
    assert schema["additionalProperties"] is False
    assert schema["properties"]["data"] == {
        "type": ["string", "null"],
        "contentEncoding": "base64",
        "description": "d",
    }
    assert schema["properties"]["maybe_at"] == {"type": ["integer", "null"], "description": "m"}
    assert schema["properties"]["numbers"] == {
        "type": ["array", "null"],
        "items": {"type": "integer"},
        "description": "n",
    }


def test_values_are_flat_with_nested_tuples_as_json_has_them():
    row = EveryRow(
        Source(Place("d", 3), "f"),
        flag=True,
        data=b"\0",
        at=5,
        maybe_at=None,
        ratio=0.5,
        pairs=(Pair("k", None, Offset(1), "keep"),),
        numbers=(1, 2),
        anything={"a": (1,)},
        words=(),
    )

    assert values_of(row) == (
        *("d", 3, "f", True, b"\0", 5, None, 0.5),
        [{"key": "k", "value": None, "offset": 1, "action": "keep"}],
        [1, 2],
        {"a": (1,)},
        [],
    )
    assert type_of(row) is EVERY


def test_a_tuple_that_no_module_declares_is_no_row():
    with pytest.raises(KeyError):
        type_of(Place("d"))


def test_a_field_without_a_meaning_is_refused():
    class Bare(NamedTuple):
        number: int

    with pytest.raises(ValueError, match="number"):
        columns_of(Bare)


@pytest.mark.parametrize("name", ROW_TYPES)
def test_every_column_says_what_it_means_and_has_a_name_of_its_own(name):
    columns = ROW_TYPES[name].columns

    assert all(column.doc for column in columns)
    assert len({column.name for column in columns}) == len(columns)
