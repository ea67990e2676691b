"""Tables that fit: which columns are left out, what is cut, and what never is."""

import io
from typing import NamedTuple

import pytest
from rich.cells import cell_len
from rich.console import Console

from kcli.output.screen import ASCII, UTF8, Screen
from kcli.output.table.columns import ShownColumn
from kcli.output.table.fitted_table import cut, table


class Row(NamedTuple):
    name: str
    number: int | None
    text: str = ""


NAME = ShownColumn("NAME", "name", may_overflow=True)
COLUMNS = (
    NAME,
    ShownColumn("NUMBER", "number", "number", rank=2),
    ShownColumn("COUNT", "number", "count", rank=1),
    ShownColumn("TEXT", "text", least=10),
)


def lines(columns, rows, width=80, **more):
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, _environ={})
    console.print(table(columns, rows, Screen(width, **more)), crop=False)
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("width", "header"), [(80, "NAME  NUMBER  COUNT  TEXT"), (30, "NAME  COUNT  TEXT"), (20, "NAME  TEXT")]
)
def test_columns_of_the_highest_rank_go_first(width, header):
    found = lines(COLUMNS, [Row("a", 1000, "long text, longer")], width)

    assert found[0] == header
    assert max(map(len, found)) <= width


def test_a_column_without_values_is_not_shown():
    assert lines(COLUMNS, [Row("a", None, "x")])[0] == "NAME  TEXT"


@pytest.mark.parametrize(
    ("is_cut", "folded"), [(True, ["CKPT-001\u2026"]), (False, ["CKPT-001", "LOG-003", "long"])]
)
def test_text_has_more_lines_and_contents_are_cut(is_cut, folded):
    name = ShownColumn("NAME", "name")
    text = ShownColumn("TEXT", "text", least=10, is_cut=is_cut)
    _, *found = lines((name, text, NAME), [Row("n" * 30, 1, "CKPT-001 LOG-003 long"), Row("m", 1)], 74)

    assert found == [
        f"{'n' * 30}  {folded[0]:10}  {'n' * 30}",
        *(f"{'':30}  {line}" for line in folded[1:]),
        f"{'m':30}  {'':10}  m",
    ]


def test_few_long_names_have_lines_of_their_own():
    rows = [*(Row("short", 1, "x") for _ in range(20)), Row("n" * 100, 2, "y")]
    found = lines(COLUMNS, rows, 50)

    assert found[1] == "short       1      1  x"
    assert found[-3:-1] == ["n" * 50] * 2
    assert found[-1] == "            2      2  y"


def test_rows_of_one_long_name_follow_one_line_that_has_it():
    long, other = "n" * 30, "m" * 30
    of_long = [
        Row(long, 2, "y"),
        Row(long, 3, "z"),
        Row(other, 4, "x"),
        Row("short", 5, "x"),
        Row(other, 6, "x"),
    ]
    found = lines(COLUMNS, [*(Row("short", 1, "x") for _ in range(40)), *of_long], 30)

    assert found[41:] == [
        long,
        "            2      2  y",
        "            3      3  z",
        other,
        "            4      4  x",
        "short       5      5  x",
        other,
        "            6      6  x",
    ]


def test_a_long_name_that_stands_right_does_not_touch_the_one_before():
    name = ShownColumn("NAME", "name", "right text", may_overflow=True)
    rows = [*(Row("x", 1, "text") for _ in range(20)), Row("a longer name", 2, "text")]

    assert lines([ShownColumn("TEXT", "text"), name, ShownColumn("NUMBER", "number", "number")], rows, 20)[
        -2:
    ] == ["text  a longer name", "                 2"]


def test_wide_characters_take_two_columns():
    found = lines(COLUMNS, [Row("日本", 1, "x"), Row("abcdef", 1, "語" * 40)], 40)

    assert max(map(cell_len, found)) <= 40
    assert cell_len(found[1].partition("1")[0]) == cell_len(found[2].partition("1")[0])


def test_without_utf8_text_is_escaped():
    assert lines(COLUMNS, [Row("é", None, "x")], is_utf8=False)[1] == "\\xe9  x"


def test_what_is_cut_off_is_marked():
    assert cut("abcdef", 6, UTF8) == "abcdef"
    assert cut("abcdef", 5, UTF8) == "abcd…"
    assert cut("abcdef", 5, ASCII) == "abc.."
    assert cut("abcdef", 1, ASCII) == "."
