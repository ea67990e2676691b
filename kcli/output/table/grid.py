"""Tables that fit the screen: which columns there is room for, how wide each is, and their lines.

Widths are computed here, and lines are given to Rich as segments: a table of 10,000 rows is drawn in the time
that Rich's own needs for a few hundred.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.segment import Segment

from kcli.output import units
from kcli.output.screen import Screen, Symbols
from kcli.output.values import one_line

GAP = 2
"""Spaces between columns."""
SHORTEST = 8
"""Columns that a text is cut to where there is no room for more."""
MOST_NAMES = 0.9
"""The share of names that have room on the lines of their rows."""

Line: TypeAlias = list[tuple[str, str]]
"""Pieces of text, each with the name of its style."""
Cell: TypeAlias = tuple[str, str, int, bool]
"""Text, style, the width of its column, and whether it is right-aligned."""


class Kind(NamedTuple):
    """How the values of a column are shown, nulls apart."""

    show: Callable[[Any, Symbols], str]
    is_right: bool = False


TEXT = Kind(lambda value, _: one_line(str(value)))
AT_RIGHT = Kind(lambda value, _: one_line(str(value)), is_right=True)
NUMBER = Kind(lambda value, _: str(value), is_right=True)
"""What identifies: offsets, epochs, positions."""
COUNT = Kind(lambda value, _: units.number(value), is_right=True)
SIZE = Kind(lambda value, _: units.size(value), is_right=True)
TIME = Kind(lambda value, _: units.moment(value), is_right=True)
CLOCK = Kind(lambda value, _: units.moment(value, with_day=False, with_ms=True), is_right=True)
RANGE = Kind(lambda value, _: span(*value), is_right=True)
"""A pair of offsets: the first, and one past the last."""


def span(first: int, end: int) -> str:
    """Return a range of offsets with the last of them: 0..59; of an empty range where it would begin."""
    return f"{first}..{end - 1}" if end > first else f"{first}.."


class ShownColumn(NamedTuple):
    """One column of a table.

    `value` is the path of an attribute of the row, or a function of the row. `rank` 0 is always shown; of
    those above the highest goes first where there is no room. One whose values are all null or empty goes,
    too. Those below go where names that may overflow have made room, and it is too little: the lowest first.
    `least` is the width that it may be cut to; None: it is never cut. `style`: of a value.
    `may_overflow`: of names, a few of which are far longer than the others; where there is no room for all,
    there is for this `share` of them.
    """

    header: str
    value: str | Callable[[Any], Any]
    kind: Kind = TEXT
    rank: int = 0
    least: int | None = None
    style: Callable[[Any], str] | str = ""
    may_overflow: bool = False
    share: float = MOST_NAMES


class DrawnColumn(NamedTuple):
    """A column of small drawings, as wide as there is room for.

    `scale` looks at all rows and returns what draws one of them in so many columns.
    """

    header: str
    scale: Callable[[Sequence[Any], Symbols], Callable[[Any, int], str]]
    least: int = 6
    most: int = 20
    rank: int = 1
    style: str = "cyan"


Columns: TypeAlias = Sequence[ShownColumn | DrawnColumn]


class Lines:
    """Lines of styled text as Rich prints them, each folded where it is wider than the screen."""

    def __init__(self, lines: Iterable[Line], width: int) -> None:
        self.lines = [
            [(text if text.isprintable() else one_line(text), style) for text, style in line]
            for line in lines
        ]
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the segments of every line."""
        for line in self.lines:
            for part in _folded(line, self.width):
                for text, style in part:
                    yield Segment(text, console.get_style(style) if style else None)
                yield Segment.line()


def length(text: str) -> int:
    """Return the columns that a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def _folded(line: Line, width: int) -> list[Line]:
    """Return a line as one that fits, or as several without spaces at their ends."""
    if sum(length(text) for text, _ in line) <= width:
        return [line]
    parts: list[Line] = [[]]
    used = 0
    for text, style in line:
        rest = text
        while rest:
            first = chop_cells(rest, width - used)[0] if used < width else ""
            if first:
                parts[-1].append((first, style))
            rest = rest[len(first) :]
            used += length(first)
            if rest:
                parts.append([])
                used = 0
    return [_stripped(part) for part in parts]


def _stripped(line: Line) -> Line:
    while line and not line[-1][0].rstrip():
        line = line[:-1]
    return [*line[:-1], (line[-1][0].rstrip(), line[-1][1])] if line else []


def cut(text: str, width: int, symbols: Symbols) -> str:
    """Return text that takes at most so many columns; what is cut off is marked."""
    if length(text) <= width:
        return text
    return set_cell_size(text, max(width - len(symbols.more), 0)).rstrip() + symbols.more[:width]


def aligned(text: str, width: int, *, right: bool = False) -> str:
    """Return text with the spaces that fill its column."""
    spaces = " " * (width - length(text))
    return spaces + text if right else text + spaces


class _Laid(NamedTuple):
    """A column with its cells: their texts and styles, and how wide it is or may be."""

    column: ShownColumn | DrawnColumn
    cells: list[str]
    styles: list[str]
    width: int
    least: int

    @property
    def is_right(self) -> bool:
        return isinstance(self.column, ShownColumn) and self.column.kind.is_right

    @property
    def is_cut(self) -> bool:
        """Whether cells that are too long are cut."""
        return isinstance(self.column, ShownColumn) and self.column.least is not None

    @property
    def may_overflow(self) -> bool:
        """Whether a cell that is too long ends its line, and the others come on the next."""
        return isinstance(self.column, ShownColumn) and self.column.may_overflow


def table(columns: Columns, rows: Sequence[Any], screen: Screen) -> Lines:
    """Return rows as a table that fits the screen.

    A long name, of a column that `may_overflow`, ends its line where the others have no room beside it.
    """
    return Lines(_lines(_fitted(_chosen(columns, rows, screen), screen.width), rows, screen), screen.width)


def stacked(
    first: ShownColumn, columns: Columns, last: Columns, rows: Sequence[Any], screen: Screen
) -> Iterator[Lines | str]:
    """Yield a table of all columns, or tables below each other of as many as there is room for."""

    def widths(some: Columns) -> list[int]:
        laid = (_laid(column, rows, screen) for column in some)
        return [0 if one is None else one.width + GAP for one in laid]

    room = screen.width + GAP - sum(widths([first, *last]))
    parts: list[list[ShownColumn | DrawnColumn]] = [[]]
    used = 0
    for column, width in zip(columns, widths(columns), strict=True):
        if parts[-1] and used + width > room:
            parts.append([])
            used = 0
        parts[-1].append(column)
        used += width
    for place, part in enumerate(parts):
        if place:
            yield ""
        yield table([first, *part, *last], rows, screen)


def left_out(columns: Columns, rows: Sequence[Any], screen: Screen) -> int:
    """Return for how many columns `table` has no room."""
    return len(columns) - len(_chosen(columns, rows, screen))


def _chosen(columns: Columns, rows: Sequence[Any], screen: Screen) -> list[_Laid]:
    """Return the columns that have room, and how narrow each may become."""
    laid = [found for column in columns if (found := _laid(column, rows, screen)) is not None]
    if _least(laid) > screen.width:
        laid = list(map(_usual, laid))
    while _least(laid) > screen.width and (optional := [one for one in laid if one.column.rank > 0]):
        laid.remove(max(optional, key=lambda one: one.column.rank))
    excess = _least(laid) - screen.width
    if excess > 0:
        laid = [_narrower(one, excess) if one.may_overflow else one for one in laid]
    while _least(laid) > screen.width and (last := [one for one in laid if one.column.rank < 0]):
        laid.remove(min(last, key=lambda one: one.column.rank))
    if _least(laid) > screen.width:
        laid = [one._replace(least=min(one.least, SHORTEST)) if one.is_cut else one for one in laid]
    return _roomier(laid, screen.width)


def _roomier(laid: list[_Laid], width: int) -> list[_Laid]:
    """Return columns of names with the room that drawings can give, if that is room for one name more."""
    room = width - sum(
        (one.width if isinstance(one.column, ShownColumn) else one.least) + GAP for one in laid
    )
    roomy = []
    for one in laid:
        most = max((at for at in map(length, one.cells) if at <= one.least + room + GAP), default=0)
        if one.may_overflow and most > one.least:
            room -= most - one.least
            roomy.append(one._replace(width=most, least=most))
        else:
            roomy.append(one)
    return roomy


def _usual(one: _Laid) -> _Laid:
    """Return a column of names with the width of most of them."""
    if not (isinstance(one.column, ShownColumn) and one.column.may_overflow and one.cells):
        return one
    lengths = sorted(map(length, one.cells))
    width = max(lengths[int(len(lengths) * one.column.share)], len(one.column.header))
    return one._replace(width=width, least=width)


def _narrower(one: _Laid, excess: int) -> _Laid:
    """Return a column of names so much narrower: longer ones have lines of their own."""
    width = max(one.least - excess, min(one.least, SHORTEST), len(one.column.header))
    return one._replace(width=width, least=width)


def _laid(column: ShownColumn | DrawnColumn, rows: Sequence[Any], screen: Screen) -> _Laid | None:
    if isinstance(column, DrawnColumn):
        least = max(column.least, len(column.header))
        return _Laid(column, [], [], max(column.most, least), least)
    of = attrgetter(column.value) if isinstance(column.value, str) else column.value
    values = [of(row) for row in rows]
    if column.rank > 0 and all(value is None or value == "" for value in values):
        return None
    show, symbols = column.kind.show, screen.symbols
    cells = [symbols.null if value is None else show(value, symbols) for value in values]
    if not screen.is_utf8:
        cells = [cell if cell.isascii() else ascii_only(cell) for cell in cells]
    style = column.style
    styles = list(map(style, values)) if callable(style) else [style] * len(cells)
    width = max(map(length, cells), default=0)
    width = max(width, len(column.header))
    least = width if column.least is None else min(width, max(column.least, len(column.header)))
    return _Laid(column, cells, styles, width, least)


def ascii_only(text: str) -> str:
    """Return text with escapes for what is not ASCII."""
    return text.encode("ascii", "backslashreplace").decode()


def _least(laid: list[_Laid]) -> int:
    return sum(one.least + GAP for one in laid) - GAP


def _fitted(laid: list[_Laid], width: int) -> list[_Laid]:
    """Return columns of which those that may be cut take what the others leave, the widest cut first."""
    excess = sum(one.width + GAP for one in laid) - GAP - width
    widths = [one.width for one in laid]
    while excess > 0:
        place = max(range(len(laid)), key=lambda at: (widths[at] - laid[at].least > 0, widths[at]))
        room = widths[place] - laid[place].least
        if not room:
            names = next((at for at, one in enumerate(laid) if one.may_overflow), 0)
            widths[names] = max(widths[names] - excess, len(laid[names].column.header))
            break
        others = [widths[at] for at, one in enumerate(laid) if at != place and widths[at] > one.least]
        step = min(room, excess, max(widths[place] - max(others, default=0), 1))
        widths[place] -= step
        excess -= step
    return [one._replace(width=width) for one, width in zip(laid, widths, strict=True)]


def _lines(laid: list[_Laid], rows: Sequence[Any], screen: Screen) -> Iterator[Line]:
    symbols = screen.symbols
    filled = []
    for one in laid:
        if isinstance(one.column, DrawnColumn):
            draw, style = one.column.scale(rows, symbols), one.column.style
            bars = [draw(row, one.width) for row in rows]
            filled.append(one._replace(cells=bars, styles=[style] * len(bars)))
        elif one.is_cut:
            filled.append(one._replace(cells=[cut(cell, one.width, symbols) for cell in one.cells]))
        else:
            filled.append(one)
    if any(one.column.header for one in laid):
        yield _line([(one.column.header, "bold", one.width, one.is_right) for one in filled])
    columns: list[list[Cell]] = [
        [(cell, style, one.width, one.is_right) for cell, style in zip(one.cells, one.styles, strict=True)]
        for one in filled
    ]
    overflowing = [at for at, one in enumerate(filled) if any(length(cell) > one.width for cell in one.cells)]
    above: list[str] = []
    for cells in zip(*columns, strict=True):
        begin = 0
        named = above
        ends = [at + 1 for at in overflowing if length(cells[at][0]) > cells[at][2]]
        above = [text for text, *_ in cells[: max(ends, default=0)]]
        for end in ends:
            if above != named:  # rows of one long name follow the line that has it
                yield _line([*_blank(cells[:begin]), *cells[begin:end]])
            begin = end
        yield _line([*_blank(cells[:begin]), *cells[begin:]])


def _blank(cells: Sequence[Cell]) -> list[Cell]:
    return [("", "", width, False) for _, _, width, _ in cells]


def _line(cells: Sequence[Cell]) -> Line:
    """Return the cells side by side, without spaces at the end."""
    line: Line = []
    spaces = 0
    for text, style, width, is_right in cells:
        fill = width - length(text)
        if text:
            before = max(spaces + (fill if is_right else 0), GAP if line else 0)
            if before:
                line.append((" " * before, ""))
            line.append((text.rstrip(), style))
            spaces = GAP + (0 if is_right else fill) + len(text) - len(text.rstrip())
        else:
            spaces += fill + GAP
    return line
