"""Conditions of `--where`, judged by DuckDB: which rows a condition is true for."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.output.where import Condition, columns_of, keeps
from kcli.rows.declare import Column, RowType

NUMBERS, TEXTS, FLAGS = [None, -7, -1, 0, 1, 3, 200], [None, "", "a", "ab", "b%", "'"], [None, True, False]
ROWS = [
    (NUMBERS[i % 7], NUMBERS[(i // 3) % 7], TEXTS[i % 6], TEXTS[(i // 5) % 6], FLAGS[i % 3])
    for i in range(120)
]
KINDS = {"m": "int", "n": "int", "s": "str", "t": "str", "f": "bool"}
ROW = RowType("row", tuple(Column(name, kind, nullable=True, doc="") for name, kind in KINDS.items()))

quoted = st.sampled_from(["''", "'a'", "'ab'", "'b%'", "''''"])
number = st.sampled_from(["m", "n", "0", "1", "-7", "200", "2.5"])
text = st.sampled_from(["s", "t"]) | quoted
sign = st.sampled_from(["=", "==", "!=", "<>", "<", "<=", ">", ">="])
name = st.sampled_from(list(KINDS))
test = st.one_of(
    st.just("f"),
    st.just("not f"),
    st.builds("{} {} {}".format, number, sign, number),
    st.builds("{} {} {}".format, text, sign, text),
    st.builds("{} is null".format, name),
    st.builds("{} is not null".format, name),
    st.builds("{} in ({}, {})".format, number, number, number),
    st.builds("{} not in ({}, {})".format, text, text, quoted),
    st.builds("{} IN ({})".format, text, quoted),
)
conditions = st.recursive(
    test,
    lambda inside: st.one_of(
        st.builds("({} and {})".format, inside, inside),
        st.builds("{} or {}".format, inside, inside),
        st.builds("not ({})".format, inside),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        connection.execute("SET ieee_floating_point_ops = false; SET error_on_division_by_zero = false")
        connection.execute("CREATE TABLE rows (i INT, m BIGINT, n BIGINT, s TEXT, t TEXT, f BOOL)")
        connection.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", [(i, *row) for i, row in enumerate(ROWS)]
        )
        yield connection


@given(words=conditions)
def test_rows_are_those_of_duckdb(words, database):
    expected = database.execute(f"SELECT i FROM rows WHERE {words} ORDER BY i").fetchall()
    meets = keeps(Condition(words, 0), ROW)
    assert [i for i, row in enumerate(ROWS) if meets(row)] == [i for (i,) in expected]


def test_columns_of_a_condition():
    assert set(columns_of("a = 1 and not b or len = 'c' and TRUE")) == {"a", "b", "len"}


@pytest.mark.parametrize(
    ("words", "meeting"),
    [("0 < m < 4", [1, 3]), ("m not in (1)", [-7, -1, 0, 3, 200]), ("m in (0, 3) and 'a' <> s", [0, 3])],
)
def test_words_of_python(words, meeting):
    meets = keeps(Condition(words, 0), ROW)
    assert [row[0] for row in ROWS[:7] if meets(row)] == [value for value in NUMBERS if value in meeting]


def test_words_for_times_are_from_when_the_condition_was_given():
    row = RowType("row", (Column("at", "timestamp", nullable=True, doc=""),))
    hour = 3_600_000
    meets = keeps(Condition("at >= 1h and at < 'now'", 10 * hour), row)
    assert [meets((at,)) for at in (9 * hour - 1, 9 * hour, 10 * hour - 1, 10 * hour, None)] == [
        False,
        True,
        True,
        False,
        False,
    ]
