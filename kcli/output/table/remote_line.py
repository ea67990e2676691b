"""The remote segments of a partition on a line of offsets."""

from collections.abc import Sequence

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.bars import OffsetAxis, labels
from kcli.output.table.grid import Lines
from kcli.output.table.remote import COPIED
from kcli.rows.remote_state import RemoteSegmentRow

DELETED = "DELETE_SEGMENT_FINISHED"
TO_READ, IS_DELETED, OTHERS, NOWHERE = "to read", "deleted", "not to read", "in none of these"
CELLS = {TO_READ: "█", IS_DELETED: "╳", OTHERS: "░", NOWHERE: "!"}  # noqa: RUF001 - a cell of a drawing
ASCII_CELLS = {TO_READ: "#", IS_DELETED: "x", OTHERS: "-", NOWHERE: "!"}
WIDEST, FEWEST, MOST = 76, 2, 2000
"""Columns, and how many segments make a line worth while."""


def segments_line(rows: Sequence[RemoteSegmentRow], screen: Screen) -> list[RenderableType]:
    """Return a partition's segments as a line of offsets with its scale; nothing for several partitions."""
    is_one = len({(row.of.dir, row.of.topic_id, row.of.topic, row.of.partition) for row in rows}) == 1
    if not is_one or not FEWEST <= len(rows) <= MOST:
        return []
    cells = CELLS if screen.is_utf8 else ASCII_CELLS
    first, end = min(row.start_offset for row in rows), max(row.end_offset for row in rows) + 1
    axis = OffsetAxis(first, end, min(screen.width, WIDEST))
    drawn = _drawn(rows, axis)
    places = [first, end - 1, *sorted({row.start_offset for row in rows})]
    legend = "   ".join(f"{cells[kind]} {kind}" for kind in cells if kind in drawn)
    line = "".join(cells[kind] for kind in drawn)
    texts = (labels(axis, places, screen.width), line, legend)
    return [Lines([[(text, "")] for text in texts], screen.width), ""]


def _drawn(rows: Sequence[RemoteSegmentRow], axis: OffsetAxis) -> list[str]:
    """Return what each column of the axis shows; offsets in no segment always show."""
    drawn = [NOWHERE] * axis.width
    for kind in (IS_DELETED, OTHERS, TO_READ):
        for row in rows:
            if _kind(row) == kind:
                left, right = axis.stretch(row.start_offset, row.end_offset + 1)
                drawn[left:right] = [kind] * (right - left)
    covered = axis.first
    for row in sorted(rows, key=lambda row: row.start_offset):
        if row.start_offset > covered:
            left, right = axis.stretch(covered, row.start_offset)
            drawn[left:right] = [NOWHERE] * (right - left)
        covered = max(covered, row.end_offset + 1)
    return drawn


def _kind(row: RemoteSegmentRow) -> str:
    if row.state == DELETED:
        return IS_DELETED
    return TO_READ if row.state == COPIED and row.referenced else OTHERS
