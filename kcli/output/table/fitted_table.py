"""Tables and texts that fit the screen: which columns there is room for, how wide each is, and their lines.

Rich's own table neither leaves out a column nor gives a long name a line of its own.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from textwrap import wrap
from typing import Any, NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text

from kcli.output.screen import Screen, Symbols
from kcli.output.table.columns import SHOWN_AS, ShownColumn
from kcli.output.values import one_line

GAP = "  "
"""Between columns."""
SHORTEST = 8
"""Columns that a text is cut to where there is no room for more."""
TYPICAL = 0.9
"""The share of names that have room on the lines of their rows."""

Line: TypeAlias = list[tuple[str, str]]
"""Pieces of text, each with the name of its style."""


class StyledLines:
    """Lines as Rich prints them, wrapped to the screen: of sentences (`is_text`), or a table of `columns`."""

    def __init__(
        self,
        lines: Iterable[Line],
        screen: Screen,
        *,
        is_text: bool = False,
        columns: "Sequence[Measured]" = (),
    ) -> None:
        self.lines = [[(printable(text, screen), style) for text, style in line] for line in lines]
        self.width = screen.width
        self.is_text = is_text
        self.columns = columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment | Text]:
        """Yield the segments of every line."""
        for line in self.lines:
            if sum(cell_len(text) for text, _ in line) <= self.width:
                for text, style in line:
                    yield Segment(text, console.get_style(style) if style else None)
                yield Segment.line()
            else:
                for folded_line in Text.assemble(*line).wrap(console, self.width, overflow="fold"):
                    folded_line.rstrip()
                    yield folded_line


def printable(text: str, screen: Screen) -> str:
    """Return text as one line, with escapes for what is not ASCII on a screen that shows no more."""
    if not text.isprintable():
        text = one_line(text)
    return text if screen.is_utf8 or text.isascii() else text.encode("ascii", "backslashreplace").decode()


def cut(text: str, width: int, symbols: Symbols) -> str:
    """Return text that takes at most so many columns; what is cut off is marked."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - len(symbols.ellipsis), 0)).rstrip() + symbols.ellipsis[:width]


def sentences(screen: Screen, *texts: str, style: str = "", indent: str = "") -> StyledLines:
    """Return texts that are not empty, each broken between words where it is wider than the screen."""
    lines = [
        line
        for text in texts
        for line in wrap(
            printable(text, screen), screen.room, break_on_hyphens=False, subsequent_indent=indent
        )
    ]
    return StyledLines([[(line, style)] for line in lines], screen, is_text=True)


def command_lines(arguments: Iterable[str], screen: Screen) -> str:
    """Return a command line as a shell takes it, on lines that fit."""
    text = shlex.join(arguments)
    lines = wrap(text, screen.room - 4, break_on_hyphens=False, break_long_words=False) or [""]
    return " \\\n    ".join([f"  {lines[0]}", *lines[1:]])


class Measured(NamedTuple):
    """A column with its cells: their texts and styles, how wide it is, and how narrow it may become."""

    declared: ShownColumn
    cells: list[str]
    styles: list[str]
    width: int
    least: int


def table(columns: Sequence[ShownColumn], rows: Sequence[Any], screen: Screen) -> StyledLines:
    """Return rows as a table that fits the screen."""
    return lines_of(fitted(columns, rows, screen), screen)


def lines_of(columns: Sequence[Measured], screen: Screen) -> StyledLines:
    """Return the lines of columns that have room."""
    return StyledLines(() if screen.is_page else _lines(columns, screen.symbols), screen, columns=columns)


def fitted(columns: Sequence[ShownColumn], rows: Sequence[Any], screen: Screen) -> list[Measured]:
    """Return the columns that have room, each as wide as it is shown."""
    candidates = (_measured(column, rows, screen) for column in columns)
    measured = [column for column in candidates if column is not None]

    def excess(of: str) -> int:
        return sum(int(getattr(column, of)) + len(GAP) for column in measured) - len(GAP) - screen.room

    while excess("least") > 0 and any(column.declared.rank for column in measured):
        measured.remove(max(measured, key=lambda column: column.declared.rank))
    if excess("least") > 0:
        measured = [
            column._replace(least=min(column.least, max(SHORTEST, len(column.declared.header))))
            for column in measured
        ]
    while excess("width") > 0 and (wide := [column for column in measured if column.width > column.least]):
        widest = max(wide, key=lambda column: (not column.declared.may_overflow, column.width))
        measured[measured.index(widest)] = widest._replace(width=widest.width - 1)
    for number, column in enumerate(measured):
        if column.declared.may_overflow:  # as wide as the longest name that has room
            widths = (width for width in map(cell_len, column.cells) if width <= column.width)
            measured[number] = column._replace(width=max(len(column.declared.header), *widths, 0))
    return measured


def _measured(column: ShownColumn, rows: Sequence[Any], screen: Screen) -> Measured | None:
    """Return a column with its cells; None where it may go and has no values."""
    header, symbols = len(column.header), screen.symbols
    values = list(map(column.value_of, rows))
    cells = [
        symbols.null if value is None else printable(SHOWN_AS[column.kind](value, symbols), screen)
        for value in values
    ]
    if column.rank and all(cell in {"", symbols.null} for cell in cells):
        return None
    style = column.style
    styles = [style(value) or "" if callable(style) else style for value in values]
    widths = sorted(map(cell_len, cells))
    least = width = max([header, *widths[-1:]])
    if column.least is not None:
        least = min(width, max(column.least, header))
    elif column.may_overflow and widths:
        typical = max(widths[int(len(widths) * TYPICAL)] * 3 // 2, SHORTEST * 2)
        least = max([header, *(width for width in widths if width <= typical)])
    return Measured(column, cells, styles, width, least)


class Cell(NamedTuple):
    """One cell: its lines, and the columns that it has on the screen."""

    lines: list[str]
    style: str
    width: int
    is_right: bool


def _folded(text: str, column: Measured, symbols: Symbols) -> list[str]:
    """Return the lines of a cell: a text that is too wide is broken between words, or cut."""
    declared, width = column.declared, column.width
    if declared.least is None or cell_len(text) <= width:
        return [text]
    if declared.is_cut:
        return [cut(text, width, symbols)]
    lines = wrap(text, width, break_on_hyphens=False, break_long_words=False)  # a name stays whole
    return [piece for line in lines for piece in _in_parts(line, width)] or [""]


def _in_parts(line: str, width: int) -> list[str]:
    """Return a line in parts that fit: broken at hyphens, where that is enough."""
    texts = wrap(line, width, break_long_words=False)
    return wrap(line, width, break_on_hyphens=False) if any(len(text) > width for text in texts) else texts


def _lines(columns: Sequence[Measured], symbols: Symbols) -> Iterator[Line]:
    if any(column.declared.header for column in columns):
        yield _line((head.declared.header, "bold", head.width, head.declared.is_right) for head in columns)
    cells = [
        [
            Cell(_folded(text, column, symbols), style, column.width, column.declared.is_right)
            for text, style in zip(column.cells, column.styles, strict=True)
        ]
        for column in columns
    ]
    names: list[list[str]] = []
    for row in zip(*cells, strict=True):
        ends = [number for number, cell in enumerate(row, 1) if cell_len(cell.lines[0]) > cell.width]
        above, names = names, [cell.lines for cell in row[: max(ends, default=0)]]
        for begin, end in pairwise(sorted({0, *ends, len(row)})):
            if end == len(row) or names != above:  # rows of one long name follow the line that has it
                lines = [[""]] * begin + [cell.lines for cell in row[begin:end]]
                for texts in zip_longest(*lines, fillvalue=""):
                    yield _line((text, *cell[1:]) for text, cell in zip(texts, row, strict=False))


def _line(cells: Iterable[tuple[str, str, int, bool]]) -> Line:
    """Return texts side by side, each with its style and width, without spaces at the end."""
    line: Line = []
    gap = ""
    for cell, style, width, is_right in cells:
        text = cell.rstrip()
        space = " " * (width - cell_len(text))
        if text:
            line += [(gap + (space if is_right else ""), ""), (text, style)]
            gap = GAP + ("" if is_right else space)
        else:
            gap += space + GAP
    return line
