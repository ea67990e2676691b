"""Types that Arrow does not have become text, also inside others; the rest of a relation stays as it is."""

import duckdb
import pytest

from kcli.views.duckdb import with_text


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1::HUGEINT", "HUGEINT"),
        ("1::UHUGEINT", "VARCHAR"),
        ("{'size': '1'::BIT, 'a b': [1]}", 'STRUCT(size VARCHAR, "a b" INTEGER[])'),
        ("['1'::BIT, NULL]::BIT[2]", "VARCHAR[2]"),
        ("[1, 2]::INTEGER[2]", "INTEGER[2]"),
        ("MAP {'1'::BIT: ['10:00:00+02'::TIMETZ]}", "MAP(VARCHAR, VARCHAR[])"),
        ("row(1, [union_value(n := 1)])", "VARCHAR"),
        ("row(1, 2)", "TUPLE(INTEGER, INTEGER)"),
        ("'a'::ENUM('a', 'BIT')", "ENUM('a', 'BIT')"),
        ("{}", "STRUCT"),
    ],
)
def test_the_type_of_an_answer(value, kind):
    relation = with_text(duckdb.connect().sql(f'SELECT {value} AS "a""b", 1 AS x, {value} AS x'))

    assert [str(one) for one in relation.types] == [kind, "INTEGER", kind]
    assert relation.columns == ['a"b', "x", "x"]


def test_a_relation_without_such_types_is_the_same():
    relation = duckdb.connect().sql("SELECT 1 AS x, {'a': [1]} AS y")

    assert with_text(relation) is relation
