"""`--null TEXT`: what csv and tsv have for a null."""

import csv
import json

import pytest

from tests.builders import put_record, put_records


@pytest.fixture
def rows(kcli, log_dir):
    """Both ways to say it: rows of a partition without a high watermark, as text and as json."""
    log_dir.partition("orders-0")
    (log_dir.path / "meta.properties").unlink()

    def rows_of(*words):
        return kcli("ls", log_dir.path, "--columns", "topic,cluster_id,broker_id,segments", *words).stdout

    return rows_of


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("-o", "csv"), "orders,,,1"),
        (("-o", "tsv", "--null", ""), "orders\t\t\t1"),
        (("-o", "csv", "--null", "NULL"), "orders,NULL,NULL,1"),
        (("-o", "csv", "--null", "orders"), '"orders",orders,orders,1'),
    ],
)
def test_text_of_a_null(rows, words, line):
    assert rows(*words).splitlines()[1] == line


def test_json_has_nulls_of_its_own(rows):
    assert json.loads(rows("-o", "json", "--null", "x"))["rows"][0]["cluster_id"] is None


def test_in_a_file(kcli, log_dir, tmp_path):
    log_dir.partition("orders-0")
    out = tmp_path / "rows.csv"
    log = log_dir.path / "orders-0" / f"{0:020}.log"
    command = ("dump", log, "--records", "--columns", "offset,control_type,headers")
    assert kcli(*command, "--out", out, "--null", "none").exit_code == 0
    (_, first, *_) = csv.reader(out.read_text().splitlines())
    assert first == ["0", "none", "[]"]


def test_inside_json_a_null_stays_null(kcli, tmp_path):
    log = tmp_path / f"{0:020}.log"
    log.write_bytes(put_records([put_record(headers=[(b"k", None)])]))
    words = ("dump", log, "--records", "--columns", "key,headers", "--null", "none", "--no-headers")
    for form in (("-o", "tsv"), ("-o", "tsv", "--limit", "9")):  # in bulk, and row by row
        key, headers = kcli(*words, *form).stdout.rstrip("\n").split("\t")
        assert (key, json.loads(headers)) == ("none", [{"key": "k", "value": None}])


@pytest.mark.parametrize("text", ["a,b", 'a"b', "a\tb", "a\nb", "x" * 65])
def test_a_text_that_would_break_a_cell(kcli, log_dir, text):
    result = kcli("ls", log_dir.path, "--null", text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--null" in result.stderr
