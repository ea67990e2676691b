"""Rows with long values are written as short ones are, in pieces."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.output import long_values
from kcli.output.long_values import LONG, SLICE, csv_slices, is_long, json_slices, tsv_slices
from kcli.output.structured import write_csv, write_json, write_ndjson, write_tsv
from kcli.output.values import compact, csv_cell, spaced, tsv_cell

from .writing import lookup_row, view_of

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(['"', "\\", "\ud800", "é\n", "a,b", "\t", r"\N", "\U0001f600", "\0"]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS, st.binary(max_size=30)),
    lambda inside: st.one_of(st.lists(inside, max_size=3), st.dictionaries(TEXTS, inside, max_size=3)),
    max_leaves=8,
)


@pytest.fixture
def everything_is_long(monkeypatch):
    monkeypatch.setattr(long_values, "LONG", 2)
    monkeypatch.setattr(long_values, "SLICE", 3)


@pytest.mark.usefixtures("everything_is_long")
@given(VALUES)
def test_pieces_are_those_of_the_whole(value):
    assert "".join(json_slices(value, compact)) == compact(value)
    assert "".join(json_slices(value, spaced, ", ", ": ")) == spaced(value)
    if is_long(value):
        assert "".join(csv_slices(value)) == csv_cell(value)
        assert "".join(tsv_slices(value)) == tsv_cell(value)


@pytest.mark.parametrize(
    ("value", "long"),
    [
        (b"x" * LONG, False),
        (b"x" * (LONG + 1), True),
        ("x" * (LONG + 1), True),
        ([{"key": "k", "value": b"x" * (LONG + 1)}], True),
        ((None, 1, "", []), False),
        ((None, {"a": ["x" * (LONG + 1)]}), True),
    ],
)
def test_values_are_long_by_all_texts_and_bytes_in_them(value, long):
    assert is_long(value) is long


@pytest.mark.parametrize(
    "value", [b"\xff" * (3 * SLICE + 1), 'é"\\\n\t,' * SLICE, [{"key": "\U0001f600" * SLICE, "value": None}]]
)
@pytest.mark.parametrize("writer", [write_json, write_ndjson, write_csv, write_tsv])
def test_no_piece_of_a_row_is_long(writer, value):
    written = []

    class Out(io.StringIO):
        def write(self, text):
            written.append(len(text))
            return super().write(text)

        def writelines(self, texts):
            for text in texts:
                self.write(text)

    form = writer.__name__.removeprefix("write_")
    row = lookup_row(topic=value, reason=value)
    out = Out()
    writer(iter([row]), view_of(form), out, lambda: ([], []))

    assert max(written) <= 6 * SLICE
    if form == "ndjson":
        assert json.loads(out.getvalue())["topic"] == json.loads(compact(value))
    elif form == "json":
        assert json.loads(out.getvalue())["rows"][0]["topic"] == json.loads(compact(value))
    else:
        assert out.getvalue().count((csv_cell if form == "csv" else tsv_cell)(value)) == 2
