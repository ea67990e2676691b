"""How single values are written."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.output.values import NULL, cell, compact, csv_cell, iso, one_line, tsv_cell


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, r"\N"),
        ("", ""),
        (b"", ""),
        (b"\0\xff", "AP8="),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-1, "-1"),
        (2**63 - 1, "9223372036854775807"),
        ([], "[]"),
        ([{"epoch": 1, "start_offset": None}], '[{"epoch":1,"start_offset":null}]'),
        ({"k": b"\1"}, '{"k":"AQ=="}'),
        ("å\n", "å\n"),
    ],
)
def test_cells(value, text):
    assert cell(value) == text


@pytest.mark.parametrize(
    ("value", "tsv", "csv_text"),
    [
        (None, r"\N", ""),
        (r"\N", r"\\N", r"\N"),
        ("a\tb\nc\rd", r"a\tb\nc\rd", '"a\tb\nc\rd"'),
        ("", "", '""'),
        ("a", "a", "a"),
        ('say "so"', 'say "so"', '"say ""so"""'),
    ],
)
def test_cells_of_tsv_and_csv_keep_null_apart(value, tsv, csv_text):
    assert (tsv_cell(value), csv_cell(value)) == (tsv, csv_text)


def unescaped(text):
    out, letters = "", iter(text)
    for letter in letters:
        out += {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[next(letters)] if letter == "\\" else letter
    return out


@given(st.text())
def test_tsv_cells_are_read_back(text):
    written = tsv_cell(text)

    assert not set(written) & set("\t\n\r")
    assert written != NULL
    assert unescaped(written) == text


@given(st.lists(st.text().filter(lambda text: "\0" not in text), min_size=1))
def test_csv_cells_are_read_back(texts):
    line = ",".join(map(csv_cell, texts)) + "\n"

    assert list(csv.reader(io.StringIO(line, newline=""))) == [texts]


def test_compact_json_has_no_spaces_and_keeps_text():
    assert compact({"a": [1, None], "b": "å"}) == '{"a":[1,null],"b":"å"}'
    assert json.loads(compact({"bytes": b"", "none": None})) == {"bytes": "", "none": None}


def test_iso():
    moments = (1_700_000_000_123, -1, 2**63 - 1, -(2**63))
    texts = ["2023-11-14T22:13:20.123Z", "1969-12-31T23:59:59.999Z", None, None]
    assert list(map(iso, moments)) == texts


@given(st.text())
def test_one_line_is_one_line_without_control_characters(text):
    assert not any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in one_line(text))
    assert len(one_line(text).splitlines()) <= 1


def test_one_line_shows_what_separates_lines_or_turns_their_direction():
    assert one_line("a\u2028b\u2029c\u202ed\u2066e\x85") == r"a\u2028b\u2029c\u202ed\u2066e\x85"
