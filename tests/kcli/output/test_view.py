"""What of the rows is shown."""

import pytest

from kcli.output.view import Answer, ShownRow, ViewError, ViewOptions, make_view
from kcli.rows.epochs import EpochAtRow
from kcli.rows.partitions import Where
from kcli.rows.remote_metadata import RlmmCommittedOffsetRow, RlmmSnapshotRow

EPOCH_ROWS = [
    EpochAtRow(Where("d", None, None, "t", n), 5, epoch, start)
    for n, (epoch, start) in enumerate([(2, 9), (None, None), (1, 0), (2, 3)])
]


ANY = Answer()


def view(command="epoch at", output="ndjson", answer=ANY, **more):
    return make_view(command, answer, ViewOptions(output, **more))


def partitions(chosen):
    return [row.values[4] for row in chosen]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (None, [0, 1, 2, 3]),
        ("epoch", [2, 0, 3, 1]),
        ("-epoch", [0, 3, 2, 1]),
        ("epoch,start_offset", [2, 3, 0, 1]),
        ("epoch,-start_offset", [2, 0, 3, 1]),
        ("-partition", [3, 2, 1, 0]),
    ],
)
def test_sorted_stably_with_nulls_last(sort, order):
    assert partitions(view(sort=sort).shown_rows(EPOCH_ROWS)) == order


@pytest.mark.parametrize(("limit", "order"), [(0, []), (2, [0, 1]), (9, [0, 1, 2, 3])])
def test_limited_but_all_are_read(limit, order):
    read = []

    assert (
        partitions(view(limit=limit).shown_rows(row for row in EPOCH_ROWS if not read.append(row))) == order
    )
    assert read == EPOCH_ROWS


def test_columns_in_the_order_asked_for():
    shown = list(view(columns="start_offset, partition").shown_rows(EPOCH_ROWS))

    assert [row.values for row in shown] == [(9, 0), (None, 1), (0, 2), (3, 3)]


MIXED = [RlmmCommittedOffsetRow("d", "f", 3, 17), RlmmSnapshotRow("d", "g", 1, 4, 90, 2)]


def test_mixed_rows_keep_the_columns_they_have():
    shown = list(view("rlmm dump", columns="committed_offset,file", sort="file").shown_rows(reversed(MIXED)))

    assert shown == [ShownRow("rlmm_committed_offset", (17, "f")), ShownRow("rlmm_snapshot", ("g",))]


def test_only_one_type():
    assert list(view("rlmm dump", "tsv", only="rlmm_snapshot").chosen(MIXED)) == MIXED[1:]


@pytest.mark.parametrize(
    "options",
    [
        {"command": "rlmm dump", "output": "csv"},
        {"command": "rlmm dump", "output": "tsv", "headers": False},
        {"command": "rlmm dump", "only": "rlmm_snapshot", "columns": "committed_offset"},
    ],
)
def test_refused_before_anything_is_read(options):
    with pytest.raises(ViewError):
        view(**options)


def test_quiet_needs_no_type():
    assert list(view("rlmm dump", "tsv", quiet=True).chosen(MIXED)) == MIXED
