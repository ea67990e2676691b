"""The table for people."""

import pytest

from kcli.output.table import write_table
from kcli.rows.remote_metadata import RlmmPartitionRow

from .writing import lookup_row, write

AT = lookup_row()


def test_table_shows_timestamps_twice_and_cuts_nothing():
    long = lookup_row("x" * 3000)
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
    row = lookup_row(value)
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
    row = lookup_row("d\u2028\u2029\x85\x1ce")

    assert len(write(write_table, [row]).splitlines()) == 2


def test_table_shows_markup_as_text():
    row = lookup_row("[red]d[/red] :smile:")

    assert "[red]d[/red] :smile:" in write(write_table, [row], is_colored=True)
