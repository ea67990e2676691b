"""The line of a partition's remote segments: which offsets can be read, which cannot, which are in none."""

import re

import pytest

from kcli.output.screen import Screen
from kcli.output.table.rlmm import draw_line
from kcli.output.text_table import write_table
from kcli.rows.remote_segments import RemotePartition, RemoteSegmentRow
from tests.kcli.output.writing import write

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


def many_segments():
    """Return segments of three partitions in the order of their events; one copy is not finished."""
    for topic, state in (("b", COPIED), ("a", COPIED), ("c", STARTED)):
        of = RemotePartition("d/__remote_log_metadata-0", 0, None, topic, 0)
        for number in range(8):
            yield EMPTY._replace(
                of=of,
                segment_id=f"{topic}{number}",
                start_offset=number * 10,
                end_offset=number * 10 + 9,
                state=state if number == 7 else COPIED,
                referenced=True,
                segment_leader_epochs=(),
                segment_size_bytes=1024,
            )


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ["c", "a", "b"]),
        ({"sort": "start_offset"}, ["b", "a", "c"] * 8),
        ({"limit": 10}, ["a"] * 2 + ["b"] * 8),
    ],
)
def test_many_segments_are_a_line_for_each_partition(more, expected):
    """Those in trouble first; who sorts or limits segments wants segments."""
    screen = write(write_table, list(many_segments()), "rlmm state", only="remote_segment", **more)

    assert re.findall(r"^[! ]*([abc])-0 ", screen, re.MULTILINE) == expected
