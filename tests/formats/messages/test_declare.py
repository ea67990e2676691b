"""The language of the declarations: what a table says, and what is not of it."""

import pytest

from formats.messages.declare import LATEST_VERSION, Field, Schema, Versions, by_key, declared, zero

TABLE = """
FirstKey 3 versions 0
    group  string
FirstValue 3 versions 0-4 flexible 2+
    plain   int32
    some    []int64  1-2
    text    string   3+ nullable
    one     uuid     2+ tag 0
    other   int8     tag 1 = -1
    inner   []Inner  nullable tag 2 = null
        name   string
        inner  Deep
            flag  bool
    again   Inner
"""


def test_a_table():
    schemas = declared(TABLE)
    first = schemas["FirstValue"]
    assert first[:4] == ("FirstValue", 3, Versions(0, 4), 2)
    assert [first.is_flexible(version) for version in range(5)] == [False, False, True, True, True]
    plain, some, text, one, other, inner, again = first.fields
    assert plain == Field("plain", "int32", False, Versions(0, LATEST_VERSION), False, None, 0, None)
    assert (some.array, some.versions, some.default) == (True, Versions(1, 2), [])
    assert (text.versions, text.nullable) == (Versions(3, LATEST_VERSION), True)
    assert (one.tag, one.default) == (0, "AAAAAAAAAAAAAAAAAAAAAA")
    assert (other.tag, other.default) == (1, -1)
    assert (inner.tag, inner.default) == (2, None)
    assert again.struct == inner.struct
    assert zero(again) == {"name": "", "inner": {"flag": False}}


def test_fields_on_the_line_of_their_owner():
    apart = """
A 1 versions 0-1 flexible 1+
    one   []Pair  nullable tag 0 = null
        key    string
        value  int32  1+
B 2 versions 0
    key   string
    rest  []Pair
        key    string
        value  int32  1+
"""
    together = """
A 1 versions 0-1 flexible 1+
    one   []Pair  nullable tag 0 = null: key string, value int32 1+
B 2 versions 0: key string, rest []Pair
"""
    assert declared(together) == declared(apart)


def test_by_key():
    schemas = declared(TABLE)
    assert by_key(schemas, "Key") == {3: schemas["FirstKey"]}
    assert by_key(schemas, "Value") == {3: schemas["FirstValue"]}


def test_versions():
    assert [version in Versions(1, 3) for version in (0, 1, 3, 4)] == [False, True, True, False]


def test_no_fields():
    assert declared("NoOp 1 versions 0 flexible 0+") == {"NoOp": Schema("NoOp", 1, Versions(0, 0), 0, ())}


@pytest.mark.parametrize(
    "table",
    [
        "Key versions 0",
        "Key 1 versions 0 flexible 1",
        "    name  string",
        "Key 1 versions 0\n   name  string",
        "Key 1 versions 0\n    name",
        "Key 1 versions 0\n    name  Struct",
        "Key 1 versions 0\n    name  string\n        inner  string",
        "Key 1 versions 0\n    name  int8  tag",
        "Key 1 versions 0\n    name  int8  = 1",
        "Key 1 versions 0\n    name  string  nonsense",
    ],
)
def test_what_is_not_of_the_language(table: str):
    with pytest.raises(ValueError, match=r"no message|no field|indented|too deep"):
        declared(table)
