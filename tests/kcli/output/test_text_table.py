"""Tables of every column; what has a view of its own is in tests/screens."""

import pytest

from kcli.output.screen import Screen
from kcli.output.structured import write_tsv
from kcli.output.text_table import write_table, write_wide
from kcli.rows.partitions import PartitionRow, Where
from kcli.rows.remote_metadata import RlmmCommittedOffsetRow, RlmmPartitionRow, RlmmSnapshotRow
from tests.kcli.output.writing import FAILURE, lookup_row, write

AT = lookup_row()


def test_table_shows_timestamps_twice_and_cuts_nothing():
    long = lookup_row("x" * 3000)
    header, first, second = write(write_wide, [AT, long]).splitlines()

    assert "1700000000000 (2023-11-14T22:13:20.000Z)" in first
    assert first.startswith(r"d\n0 ")
    assert "x" * 3000 in second
    assert header.split()[:3] == ["dir", "broker_id", "cluster_id"]
    assert first.split()[2] == "-"


@pytest.mark.parametrize(
    "value", ["w" * 1_200_000, b"\1" * 1_200_000, "\U0001f600" * 70_000, ["a" * 40_000, "b" * 40_000]]
)
def test_table_says_where_it_shows_the_beginning_of_a_value_alone(value):
    row = lookup_row(value)
    header, line = write(write_wide, [row]).splitlines()

    assert header.split() == write(write_wide, [AT]).splitlines()[0].split()
    assert "... (its beginning; -o json shows all)" in line and len(line) < 10_000
    assert line.endswith("first at or after")


def test_integers_of_a_table_are_aligned_right():
    rows = [RlmmPartitionRow("t", partition, 10**partition) for partition in (1, 12)]
    wide = write(write_wide, rows, "rlmm partition")
    named = write(write_table, rows, "rlmm partition", columns="topic_id,partition,metadata_partition")

    assert wide == named
    assert wide.splitlines() == [
        "topic_id  partition  metadata_partition",
        "t                 1                  10",
        "t                12       1000000000000",
    ]


def test_rows_of_several_types_have_a_table_and_a_header_each():
    rows = [RlmmCommittedOffsetRow("d", "f", 3, 17), RlmmSnapshotRow("d", "g", 1, 4, 90, 2)]
    drawn = write(write_table, [*rows, rows[0]], "rlmm dump")
    piped = write(write_tsv, rows, "rlmm dump")

    assert drawn.count("COMMITTED OFFSET") == drawn.count("VERSION") == 1
    assert [block.count("\n") for block in piped.split("\n\n")] == [1, 2]


def test_table_has_one_line_a_row_and_shows_markup_as_text():
    row, marked = lookup_row("d\u2028\u2029\x85\x1ce"), lookup_row("[red]d[/red] :smile:")

    assert len(write(write_wide, [row]).splitlines()) == 2
    assert len(write(write_table, [AT], headers=False).splitlines()) == 1
    header, line = write(write_wide, [marked], screen=Screen(is_colored=True)).splitlines()
    assert "[red]d[/red] :smile:" in line and "\x1b" not in line
    assert header.startswith("\x1b[1mdir ") and header.endswith("\x1b[0m")


ROW = PartitionRow(
    Where("d/t-0", 1, None, "t", 0), 1, 100, 0, 0, 4096, 0, 5, "index", 0, 5, 5, None, 0, "normal"
)


REFUSED = FAILURE._replace(error="load-failed")


@pytest.mark.parametrize(
    ("rows", "failures", "more", "end"),
    [
        ([], [], {}, "No rows.\n"),
        ([], [FAILURE], {}, ""),
        ([ROW], [FAILURE] * 2, {}, "\n2 inputs have no answer.\n"),
        ([ROW], [REFUSED], {}, "\nA broker would not load 1 log, whatever the batches are.\n"),
        ([ROW, ROW], [], {"limit": 2}, "\nStopped after 2 rows (--limit).\n"),
        ([ROW], [], {"limit": 2}, "on disk.\n"),
    ],
)
def test_what_a_table_says_below(rows, failures, more, end):
    shown = write(write_table, rows, "ls", found=((), failures), **more)
    assert shown.endswith(end) and (rows or shown == end)


@pytest.mark.parametrize(
    ("failures", "said"),
    [
        ([], ""),
        ([FAILURE._replace(error="nothing-to-read")], ""),
        ([FAILURE] * 2, f"Incomplete: 1 input has no answer ({FAILURE.path}).\n\n"),
        (
            [FAILURE, REFUSED._replace(path="y")],
            f"Incomplete: 2 inputs have no answer ({FAILURE.path} and 1 more).\n\n",
        ),
    ],
)
def test_a_table_says_first_which_inputs_have_no_answer(failures, said):
    whole, shown = (write(write_table, [ROW], "ls", found=((), found)) for found in ((), failures))
    assert shown.startswith(said + whole.partition("\n")[0])
