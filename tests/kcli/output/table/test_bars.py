"""Bars and the axis of offsets: columns of a terminal for numbers."""

from kcli.output.screen import ASCII, UTF8
from kcli.output.table.bars import OffsetAxis, bar, labels


def test_a_bar_shows_even_little():
    assert bar(0, 10, UTF8) == ""
    assert bar(1e-9, 10, UTF8) == "▏"
    assert bar(0.5, 10, UTF8) == "█████"
    assert bar(1, 10, UTF8) == "█" * 10
    assert bar(1e-9, 10, ASCII) == "#"


def test_an_axis_has_a_column_for_every_range():
    axis = OffsetAxis(100, 1100, 10)

    assert [axis.column(offset) for offset in (0, 100, 600, 1100, 9999)] == [0, 0, 5, 10, 10]
    assert axis.stretch(100, 101) == (0, 1)
    assert axis.stretch(1099, 1100) == (9, 10)
    assert axis.stretch(500, 500) == (4, 4)
    assert OffsetAxis(5, 5, 10).column(5) == 0


def test_numbers_of_an_axis_do_not_touch():
    assert (
        labels(OffsetAxis(0, 100, 40), [0, 100, 2, 50, 99], 41) == "0                   50                100"
    )
