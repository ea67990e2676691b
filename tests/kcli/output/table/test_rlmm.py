"""The line of a partition's remote segments: which offsets can be read, which cannot, which are in none."""

import pytest

from kcli.output.screen import Screen
from kcli.output.table.rlmm import draw_line
from kcli.rows.remote_segments import RemotePartition, RemoteSegmentRow

COPIED, DELETED, STARTED = "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_FINISHED", "COPY_SEGMENT_STARTED"
EMPTY = RemoteSegmentRow(*[None] * len(RemoteSegmentRow._fields))
WIDTH = 40


def row(start, end, state=COPIED, *, referenced=True, partition=0):
    of = RemotePartition(*[None] * len(RemotePartition._fields))._replace(partition=partition)
    return EMPTY._replace(of=of, start_offset=start, end_offset=end, state=state, referenced=referenced)


def drawn(*rows):
    """Return the cells of the line, and the words of its legend."""
    parts = draw_line(rows, Screen(WIDTH))
    if not parts:
        return None
    _, line, legend = [text for ((text, _),) in parts[0].lines]
    return line, [part.partition(" ")[2] for part in legend.split("   ")]


def test_segments_that_follow_one_another_are_one_bar():
    assert drawn(row(0, 9), row(10, 19)) == ("█" * WIDTH, ["to read"])


def test_offsets_between_segments_are_in_none():
    assert drawn(row(0, 9), row(30, 39)) == ("█" * 10 + "!" * 20 + "█" * 10, ["to read", "in none of these"])


@pytest.mark.parametrize(
    ("state", "referenced", "cell", "word"),
    [
        (DELETED, False, "\u2573", "deleted"),
        (COPIED, False, "░", "not to read"),
        (STARTED, True, "░", "not to read"),
    ],
)
def test_what_cannot_be_read_is_drawn_apart(state, referenced, cell, word):
    line, words = drawn(row(0, 19), row(20, 39, state, referenced=referenced))

    assert line == "█" * 20 + cell * 20
    assert set(words) == {"to read", word}


def test_what_can_be_read_is_drawn_over_what_cannot():
    assert drawn(row(0, 39, referenced=False), row(10, 19))[0] == "░" * 10 + "█" * 10 + "░" * 20


def test_one_segment_or_several_partitions_are_no_line():
    assert drawn(row(0, 9)) is None
    assert drawn(row(0, 9), row(10, 19, partition=1)) is None


def test_a_single_offset_in_no_segment_is_drawn_however_long_the_line():
    line, words = drawn(row(0, 1999), row(2001, 3999))

    assert line.strip("█") == "!"
    assert words == ["to read", "in none of these"]
