"""Views draw whatever rows hold: numbers far out, texts with anything in them, nulls."""

import importlib
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kcli.output.table import DRAWINGS
from kcli.rows import COMMANDS
from kcli.rows.declare import type_of
from tests.kcli.output.writing import draw_lines
from tests.seeds import examples

NUMBERS = st.one_of(st.integers(-1, 1000), st.sampled_from([-(2**63), 2**31, 2**63 - 1, 1_700_000_000_000]))
WORDS = st.sampled_from(
    ["", "a", "none", "keep", "delete", "cut", "create", "latest", "ä", "日本" * 20, "x" * 300, "a\nb\x1b[1m"]
)


def values(annotation):
    """Return a strategy for the values of an annotation of a row."""
    if get_origin(annotation) is Annotated:
        return values(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return st.one_of(*map(values, get_args(annotation)))
    annotation = getattr(annotation, "__supertype__", annotation)
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return st.builds(
            annotation, **{name: values(kind) for name, kind in annotation.__annotations__.items()}
        )
    if get_origin(annotation) is tuple:
        return st.lists(values(get_args(annotation)[0]), max_size=12).map(tuple)
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    if get_origin(annotation) is dict:
        return st.just({"key": "value"})
    return {
        int: NUMBERS,
        str: WORDS,
        bool: st.booleans(),
        bytes: st.binary(max_size=40),
        float: st.floats(allow_nan=False),
        NoneType: st.none(),
    }[annotation]


def row_classes():
    """Return the class of every row type."""
    found = {}
    for module in {name.partition(".")[0] for names in COMMANDS.values() for name in names.split()}:
        for row_type in vars(importlib.import_module(f"kcli.rows.{module}")).values():
            if isinstance(row_type, type) and hasattr(row_type, "_fields"):
                try:
                    found[type_of(row_type.__new__(row_type, *[None] * len(row_type._fields))).name] = (
                        row_type
                    )
                except KeyError:
                    continue
    return found


ROWS = row_classes()


def possible(row):
    """Whether a row is one that its command can give: what was found lies somewhere."""
    where = getattr(row, "batch", None) or getattr(row, "record", None)
    return where is None or not row.found or None not in where


def test_every_type_is_tried():
    assert set(ROWS) >= set(DRAWINGS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ROWS))
@examples(6)
@given(data=st.data(), width=st.sampled_from([40, 80, 200]), is_utf8=st.booleans())
def test_a_view_draws_any_rows(name, data, width, is_utf8):
    rows = data.draw(st.lists(values(ROWS[name]).filter(possible), min_size=1, max_size=6))
    lines = draw_lines(rows, width=width, is_utf8=is_utf8)
    shown = "".join(lines)

    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in shown
    assert is_utf8 or shown.isascii()
