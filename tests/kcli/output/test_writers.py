"""The writers: json, ndjson, csv, tsv and the table."""

import io
import json

import pytest

from kcli.analysis.findings import Finding
from kcli.output.structured import write_csv, write_json, write_ndjson, write_tsv
from kcli.output.table import write_table
from kcli.output.text import distinct, failure_line, finding_line
from kcli.output.view import make_view
from kcli.rows import Failure, Row, row_types
from kcli.rows.remote_metadata import RlmmPartitionRow

AT = Row(
    "lookup_timestamp",
    ("d\n0", 1, None, "t", 0, 1_700_000_000_000, True, 7, None, 3, 0, 61, "first at or after"),
)
FINDING = Finding("LOG-001", "short", "d", "0.log", 100, "61 bytes", 12)
FAILURE = Failure("x", "corrupt", 5, "crc", "byte 5: crc")


def write(writer, rows, command="lookup timestamp", found=((), ()), is_colored=False, **more):
    only = more.pop("only", None)
    view = make_view(
        command,
        row_types(command),
        output=writer.__name__.removeprefix("write_"),
        only=only,
        columns=None,
        sort=None,
        limit=None,
        headers=more.pop("headers", True),
        text=False,
        quiet=False,
        is_colored=is_colored,
    )
    out = io.StringIO()
    writer(iter(rows), view, out, lambda: (list(found[0]), list(found[1])))
    return out.getvalue()


def test_json_of_nothing():
    assert json.loads(write(write_json, [])) == {
        "command": "lookup timestamp",
        "version": 1,
        "rows": [],
        "findings": [],
        "errors": [],
    }


def test_json_of_everything():
    document = json.loads(write(write_json, [AT, AT], found=([FINDING], [FAILURE])))

    assert len(document["rows"]) == 2
    assert document["rows"][0]["dir"] == "d\n0"
    assert document["rows"][0]["timestamp"] == 1_700_000_000_000
    assert document["findings"] == [
        {
            "code": "LOG-001",
            "severity": "warning",
            "message": "short",
            "dir": "d",
            "file": "0.log",
            "path": "d/0.log",
            "position": 100,
            "expected": "61 bytes",
            "found": 12,
        }
    ]
    assert document["errors"] == [
        {"path": "x", "error": "corrupt", "position": 5, "field": "crc", "message": "byte 5: crc"}
    ]


def test_rows_of_several_types_carry_theirs():
    snapshot = Row("rlmm_snapshot", ("d", "g", 1, 4, 90, 2))

    assert next(iter(json.loads(write(write_json, [snapshot], "rlmm dump"))["rows"][0].items())) == (
        "type",
        "rlmm_snapshot",
    )
    assert json.loads(write(write_ndjson, [snapshot], "rlmm dump"))["type"] == "rlmm_snapshot"
    assert (
        write(write_tsv, [snapshot], "rlmm dump", only="rlmm_snapshot").splitlines()[1] == "d\tg\t1\t4\t90\t2"
    )


class Flushed(io.StringIO):
    flushes = 0

    def flush(self):
        self.flushes += 1


def test_ndjson_flushes_every_row_before_the_next_is_pulled():
    view = make_view(
        "ls",
        row_types("ls"),
        output="ndjson",
        only=None,
        columns="dir",
        sort=None,
        limit=None,
        headers=True,
        text=False,
        quiet=False,
    )
    out, seen = Flushed(), []

    def rows():
        for number in range(3):
            seen.append((out.flushes, out.getvalue().count("\n")))
            yield Row("partition", (f"d{number}", *[None] * (len(row_types("ls")[0].columns) - 1)))

    write_ndjson(rows(), view, out, lambda: ([], []))

    assert seen == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize("writer", [write_tsv, write_csv])
def test_a_header_even_without_rows_but_not_beside_errors(writer):
    assert len(write(writer, []).splitlines()) == 1
    assert write(writer, [], headers=False) == ""
    assert write(writer, [], found=([], [FAILURE])) == ""
    assert len(write(writer, [AT], found=([], [FAILURE])).splitlines()) >= 2


def test_table_shows_timestamps_twice_and_cuts_nothing():
    long = AT._replace(values=("x" * 3000, *AT.values[1:]))
    header, first, second = write(write_table, [AT, long]).splitlines()

    assert "1700000000000 (2023-11-14T22:13:20.000Z)" in first
    assert first.startswith(r"d\n0 ")
    assert "x" * 3000 in second
    assert header.split()[:3] == ["dir", "broker_id", "cluster_id"]
    assert first.split()[2] == "-"


@pytest.mark.parametrize(
    "value", ["w" * 1_200_000, b"\1" * 1_200_000, "\U0001f600" * 70_000, ["a" * 40_000, "b" * 40_000]]
)
def test_table_says_where_it_shows_the_beginning_of_a_value_alone(value):
    row = AT._replace(values=(value, *AT.values[1:]))
    header, line = write(write_table, [row]).splitlines()

    assert header.split() == write(write_table, [AT]).splitlines()[0].split()
    assert "... (its beginning; -o json shows all)" in line and len(line) < 10_000
    assert line.endswith("first at or after")


def test_integers_of_a_table_are_aligned_right():
    rows = [RlmmPartitionRow("t", partition, 10**partition) for partition in (1, 12)]
    lines = write(write_table, rows, "rlmm partition").splitlines()

    assert lines == [
        "topic_id  partition  metadata_partition",
        "t                 1                  10",
        "t                12       1000000000000",
    ]


def test_table_has_one_line_a_row():
    row = AT._replace(values=("d\u2028\u2029\x85\x1ce", *AT.values[1:]))

    assert len(write(write_table, [row]).splitlines()) == 2


def test_table_takes_markup_for_text():
    row = AT._replace(values=("[red]d[/red] :smile:", *AT.values[1:]))

    assert "[red]d[/red] :smile:" in write(write_table, [row], is_colored=True)


def test_lines_of_stderr():
    assert finding_line(FINDING) == "warning LOG-001 d/0.log: short"
    assert finding_line(FINDING._replace(file=None)) == "warning LOG-001 d: short"
    assert finding_line(FINDING._replace(file="a/b")) == "warning LOG-001 a/b: short"
    assert failure_line(FAILURE) == "error x: byte 5: crc"
    assert failure_line(FAILURE._replace(path="two\nlines\x1b[0m")) == r"error two\nlines\x1b[0m: byte 5: crc"


def test_findings_are_told_once():
    shared = [Finding("DIR-003", "bad", f"d/p-{n}", "d/meta.properties") for n in range(3)]
    leftover = [Finding("DIR-002", "left out", dir=f"d/p-{n}-delete") for n in range(2)]

    assert distinct([*shared, *leftover, FINDING, FINDING]) == [shared[0], *leftover, FINDING]
