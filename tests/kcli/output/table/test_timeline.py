"""The line of offsets: columns of a terminal for numbers."""

from kcli.output.table.timeline import Timeline


def test_a_line_has_a_column_for_every_range():
    timeline = Timeline(100, 1100, 10)

    assert [timeline.column(offset) for offset in (0, 100, 600, 1100, 9999)] == [0, 0, 5, 10, 10]
    assert timeline.columns(100, 101) == slice(0, 1)
    assert timeline.columns(1099, 1100) == slice(9, 10)
    assert timeline.columns(500, 500) == slice(4, 4)
    assert Timeline(5, 5, 10).column(5) == 0
