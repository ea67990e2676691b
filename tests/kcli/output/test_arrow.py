"""The Arrow schema says the same as the JSON Schema, and rows come back out of a batch as JSON has them."""

import base64
import json

import jsonschema
import pyarrow as pa
import pytest

from kcli.output.arrow import batch, schema
from kcli.output.values import compact
from kcli.rows.declare import Column, RowType, record, row_schema
from tests.rows import ROW_TYPES

pytestmark = pytest.mark.slow

INTEGER = {"type": "integer"}


def array(name, items, *, null=False):
    return Column(name, "json", null, "", {"type": "array", "items": items})


EVERYTHING = RowType(
    "everything",
    (
        Column("int", "int", True, "i"),
        Column("str", "str", True, "s"),
        Column("bool", "bool", False, "b"),
        Column("bytes", "bytes", True, "y"),
        Column("timestamp", "timestamp", False, "t"),
        array("numbers", INTEGER, null=True),
        array("maybe", {"type": ["integer", "null"]}),
        array(
            "pairs",
            record(
                {
                    "key": {"type": "string"},
                    "value": {"type": ["string", "null"], "contentEncoding": "base64"},
                }
            ),
        ),
        array("open", {"type": "object"}),
        array("words", {"enum": ["a", "b"]}),
        Column("free", "json", True, "f", {"type": "object"}),
        Column(
            "deep",
            "json",
            False,
            "d",
            record({"at": INTEGER, "rest": {"type": "object"}, "more": {"type": ["array", "null"]}}),
        ),
    ),
)
FULL = (
    -(2**63),
    "é\0",
    True,
    b"\0\xff",
    -1,
    [1, 2**63 - 1],
    [None, 3],
    [{"key": "", "value": None}, {"key": "k", "value": b""}],
    [{"x": {"y": [1, b"\0"]}}, {}],
    ["b"],
    {"a": None},
    {"at": 7, "rest": {"z": 1}, "more": [1]},
)
EMPTY = (None, None, False, None, 0, None, [], [], [], [], None, {"at": 0, "rest": {}, "more": None})


def json_of(field, value):
    """Return the JSON value that an Arrow value of this field means, of a field without open parts."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [json_of(field.type.value_field, item) for item in value]
    if isinstance(value, dict):
        return {name: json_of(field.type.field(name), inside) for name, inside in value.items()}
    return value


def with_text_for_open(kind, value):
    """Return a JSON value with compact JSON for objects that have no declared keys."""
    if isinstance(value, dict) and pa.types.is_string(kind):
        return compact(value)
    if isinstance(value, dict):
        return {name: with_text_for_open(kind.field(name).type, inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [with_text_for_open(kind.value_type, item) for item in value]
    return value


def filled(column, *, null):
    """Return a value that a column may have."""
    if null and column.nullable:
        return None
    if column.nested is None:
        return {"int": 3, "str": "s", "bool": True, "bytes": b"\xff", "timestamp": -1}[column.kind]
    return example(column.nested)


def example(selected):
    if "enum" in selected:
        return selected["enum"][0]
    kind = selected["type"] if isinstance(selected["type"], str) else selected["type"][0]
    if kind == "array":
        return [example(selected["items"])] if "items" in selected else [1]
    if kind == "object":
        return {name: example(inside) for name, inside in selected.get("properties", {}).items()}
    if selected.get("contentEncoding") == "base64":
        return b"\0"
    return {"integer": 5, "number": 0.5, "string": "t", "boolean": False}[kind]


ARROW_OF = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}


def arrow_field(name, selected):
    """Return the field that a JSON Schema means."""
    kinds = selected.get("type", "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == "array":
        arrow = pa.list_(arrow_field("item", selected["items"]))
    elif "properties" in selected:
        arrow = pa.struct([arrow_field(*inside) for inside in selected["properties"].items()])
    else:
        arrow = pa.binary() if "contentEncoding" in selected else ARROW_OF.get(kind, pa.string())
    return pa.field(name, arrow, nullable="null" in kinds)


@pytest.mark.parametrize("name", ROW_TYPES)
def test_the_arrow_schema_says_what_the_json_schema_says(name):
    row_type = ROW_TYPES[name]
    found, selected = schema(row_type), row_schema(row_type)

    assert found.names == list(selected["properties"])
    assert found.metadata == {b"row_type": name.encode()}
    for field in found:
        assert field == arrow_field(field.name, selected["properties"][field.name])
        assert field.metadata[b"description"].decode() == selected["properties"][field.name]["description"]


@pytest.mark.parametrize("name", ROW_TYPES)
@pytest.mark.parametrize("null", [True, False])
def test_a_row_of_every_type_comes_back_as_its_json(name, null):
    row_type = ROW_TYPES[name]
    row = tuple(filled(column, null=null) for column in row_type.columns)
    made = batch(row_type, [row])
    made.validate(full=True)
    expected = json.loads(compact(dict(zip(row_type.names, row, strict=True))))
    jsonschema.validate(expected, row_schema(row_type))
    (found,) = made.to_pylist()
    expected = {field.name: with_text_for_open(field.type, expected[field.name]) for field in made.schema}

    assert {field.name: json_of(field, found[field.name]) for field in made.schema} == expected


def test_every_kind_of_value():
    made = batch(EVERYTHING, [FULL, EMPTY])
    made.validate(full=True)

    first, second = (tuple(row.values()) for row in made.to_pylist())
    assert first == (
        *FULL[:8],
        ['{"x":{"y":[1,"AA=="]}}', "{}"],
        ["b"],
        '{"a":null}',
        {"at": 7, "rest": '{"z":1}', "more": "[1]"},
    )
    assert second == (*EMPTY[:11], {"at": 0, "rest": "{}", "more": None})


def test_no_rows_and_some_columns():
    made = batch(EVERYTHING, [])
    some = EVERYTHING._replace(columns=EVERYTHING.columns[4:1:-2])

    assert (made.num_rows, made.schema) == (0, schema(EVERYTHING))
    assert batch(some, [(-1, True)]).to_pylist() == [{"timestamp": -1, "bool": True}]


def test_text_that_is_not_unicode_is_escaped_as_on_stdout():
    nested = record({"key": {"type": "string"}, "free": {"type": "object"}})
    row_type = RowType("t", (Column("a", "str", True, ""), Column("nested", "json", False, "", nested)))
    rows = [("a\udc80", {"key": "\ud800", "free": {"k": "\udfff"}}), (None, {"key": "é", "free": {}})]

    assert batch(row_type, rows).to_pylist() == [
        {"a": "a\\udc80", "nested": {"key": "\\ud800", "free": '{"k":"\\udfff"}'}},
        {"a": None, "nested": {"key": "é", "free": "{}"}},
    ]


@pytest.mark.parametrize(
    ("number", "held"), [(2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 + 5, 5), (-(2**63) - 1, 2**63 - 1)]
)
def test_numbers_wrap_as_longs_of_java_do(number, held):
    row_type = RowType("t", (Column("a", "int", False, ""), Column("b", "bool", False, "")))

    assert batch(row_type, [(number, True), (-3, False)]).column(0).to_pylist() == [held, -3]
