"""Replicas side by side: their names, and where their epochs part."""

import pytest

from kcli.output.screen import Screen
from kcli.output.table.replicas import Parting, parting, replicas
from kcli.rows.epochs import EpochRow
from kcli.rows.places import Where


def history(*starts, end, directory="d/t-0", broker=1):
    """Return the rows of epochs, given as (epoch, start offset)."""
    ends = [*(start for _, start in starts[1:]), end]
    where = Where(directory, broker, None, "t", 0)
    return [
        EpochRow(where, epoch, start, stop, "checkpoint")
        for (epoch, start), stop in zip(starts, ends, strict=True)
    ]


ONE = history((0, 0), (2, 100), end=150)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (history((0, 0), (2, 100), end=150), Parting(None, is_same=True)),
        (history((0, 0), (2, 100), end=120), Parting(None, is_same=False)),
        (history((0, 0), (1, 100), end=150), Parting(100, is_same=False)),
        (history((0, 0), (3, 60), end=150), Parting(60, is_same=False)),
        (history((0, 0), (2, 100), (3, 140), end=150), Parting(140, is_same=False)),
        (history((2, 110), end=150), Parting(None, is_same=True)),
        (history((0, 0), end=100), Parting(None, is_same=False)),
    ],
)
def test_histories_part_at_the_first_offset_of_another_epoch(other, expected):
    assert parting(ONE, other) == parting(other, ONE) == expected


def names(*places):
    rows = [history((0, 0), end=1, directory=directory, broker=broker)[0] for directory, broker in places]
    return [[one.name for one in found] for found in replicas(rows, Screen(100))]


def test_replicas_are_named_by_broker_or_by_directory():
    assert names(("a/t-0", 1), ("b/t-0", 2)) == [["broker 1", "broker 2"]]
    assert names(("x/a/t-0", 1), ("x/b/t-0", 1)) == [["a", "b"]]
    assert names(("x/a/t-0", None), ("x/b/t-0", 2)) == [["a", "b"]]
