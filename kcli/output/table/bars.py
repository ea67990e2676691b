"""Bars: how large something is, and where it lies on a line of offsets."""

from collections.abc import Callable, Sequence
from typing import Any

from kcli.output.screen import Symbols

EIGHTHS = 8


def bar(fraction: float, width: int, symbols: Symbols) -> str:
    """Return a bar of 0 to `width` columns; what is above 0 is never without one."""
    steps = len(symbols.eighths)
    units = round(fraction * width * steps)
    if fraction > 0:
        units = max(units, 1)
    whole, rest = divmod(min(units, width * steps), steps)
    return symbols.eighths[-1] * whole + (symbols.eighths[rest - 1] if rest else "")


def of_largest(
    value: Callable[[Any], int],
) -> Callable[[Sequence[Any], Symbols], Callable[[Any, int], str]]:
    """Return the scale of a column of bars: the largest value has the longest."""

    def scale(rows: Sequence[Any], symbols: Symbols) -> Callable[[Any, int], str]:
        largest = max(map(value, rows), default=0) or 1
        return lambda row, width: bar(value(row) / largest, width, symbols)

    return scale


class OffsetAxis:
    """Offsets `first` to `end`, which is exclusive, on so many columns."""

    def __init__(self, first: int, end: int, width: int) -> None:
        self.first = first
        self.span = max(end - first, 1)
        self.width = width

    def column(self, offset: int) -> int:
        """Return the column of an offset, that of `end` one past the last."""
        return max(0, min(self.width, round((offset - self.first) * self.width / self.span)))

    def stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the first column of a range of offsets and one past its last; one at least if it has any."""
        left, right = self.column(start), self.column(end)
        if end > start and left == right:
            left = min(left, self.width - 1)
            right = left + 1
        return left, right


def labels(axis: OffsetAxis, offsets: Sequence[int], width: int) -> str:
    """Return a line of numbers at their columns, as far as there is room for them.

    Those that come first in the sequence have the first choice. A number begins at its column, or ends there
    where it would leave the line.
    """
    taken: list[tuple[int, int, int]] = []
    for offset in offsets:
        text = str(offset)
        at = min(axis.column(offset), axis.width - 1)
        if at + len(text) > width:
            at = width - len(text)
        if at < 0 or any(at < end + 1 and start < at + len(text) + 1 for start, end, _ in taken):
            continue
        taken.append((at, at + len(text), offset))
    line = ""
    for start, _, offset in sorted(taken):
        line = line.ljust(start) + str(offset)
    return line
