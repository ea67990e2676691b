"""The table of output formats is the only place that lists them."""

import ast
from pathlib import Path

import pytest

from kcli.output.formats import CSV, FORMATS, NDJSON, PARQUET, TABLE, TEXT, TSV, format_of

ROOT = Path(__file__).parents[3]
NAMES = {"ndjson", "csv", "tsv", "parquet"}


def modules():
    return [path for package in ("kcli", "commands") for path in (ROOT / package).rglob("*.py")]


def names_of_formats(path):
    words = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return NAMES.intersection(word for word in words if isinstance(word, str))


def test_no_other_module_names_a_format():
    table = ROOT / "kcli/output/formats.py"

    assert names_of_formats(table) == NAMES
    assert [path for path in modules() if path != table and names_of_formats(path)] == []


@pytest.mark.parametrize("name", FORMATS)
def test_writers_of_a_format_exist(name):
    output = FORMATS[name]

    assert output.writer == "" or callable(output.load_writer())
    assert bool(output.writer) == (output.on_stdout and output != TEXT)


def test_help_names_every_format(kcli):
    text = " ".join(kcli("help", "options").stdout.split())

    assert [name for name, form in FORMATS.items() if form.on_stdout and name not in text] == []
    assert [
        form.name
        for form in FORMATS.values()
        if form.extension not in (None, "txt") and f".{form.extension}" not in text
    ] == []


@pytest.mark.parametrize(
    ("name", "path", "is_terminal", "output"),
    [
        (None, None, True, TABLE),
        (None, None, False, TSV),
        ("ndjson", None, True, NDJSON),
        ("xml", None, True, None),
        ("parquet", "out.csv", True, CSV),
        (None, "a.b/out.parquet", False, PARQUET),
        ("text", "out.txt", False, TEXT),
        (None, "parquet", False, None),
        (None, "out.xml", False, None),
    ],
)
def test_format_of_the_options(name, path, is_terminal, output):
    assert format_of(name, path, is_terminal=is_terminal) == output
