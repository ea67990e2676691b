"""Views that are declarations: the columns of a table, and the lines that sum it up."""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from textwrap import wrap
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import CLOCK, TIME, Columns, Lines, ShownColumn, ascii_only, table
from kcli.output.table.marks import STYLES, findings_line, mark
from kcli.output.table.places import file_columns, place_columns, place_parts, subject, title, where_of
from kcli.output.units import only_day
from kcli.rows.places import Where


class TableView(NamedTuple):
    """How rows of one type are shown: the columns, and what a line at the end sums up.

    `verdict` is such a line in place of `closing` that concludes something from all rows.
    `severity` gives each row a mark; None: no mark. `facts`: what all rows share, for the title. `above`:
    what is drawn between the two.
    """

    columns: Columns
    closing: Callable[[Sequence[Any]], str] | None = None
    verdict: Callable[[Sequence[Any]], str] | None = None
    severity: Callable[[Any], str | None] | None = None
    facts: Callable[[Sequence[Any]], Sequence[str]] | None = None
    above: Callable[[Sequence[Any], Screen], Sequence[RenderableType]] | None = None


def draw_table(
    view: TableView,
    rows: Sequence[Any],
    screen: Screen,
    findings: Sequence[Finding] = (),
    *,
    title_of: Sequence[Any] = (),
) -> Iterator[RenderableType]:
    """Yield a title with what all rows share, the table, and the lines that sum it up.

    `title_of`: all rows, where `rows` are some of them.
    """
    places = [where for row in title_of or rows if (where := where_of(row)) is not None]
    columns = view.columns
    parts: list[str] = []
    if places:
        before, after = place_columns(places, _place)
        of_file, file_part = file_columns(rows)
        columns = (*before, *of_file, *columns, *after)
        parts = [*subject(places), *file_part, *place_parts(places)]
    parts += view.facts(rows) if view.facts is not None else ()
    if parts:
        yield title(parts, screen)
        yield ""
    if view.above is not None:
        yield from view.above(rows, screen)
    if view.severity is not None:
        columns = (_marks(view.severity, screen), *columns)
    yield table(columns, rows, screen)
    closing = view.closing(rows) if view.closing is not None else ""
    if view.verdict is not None and not screen.is_part:
        closing = view.verdict(rows)
    if closing or findings:
        yield ""
        yield sentences(screen, closing, findings_line(findings))


def time_column(
    header: str, path: str, rows: Sequence[Any], *, rank: int = 0
) -> tuple[ShownColumn, list[str]]:
    """Return a column of times in UTC; where all are of one day only the clock, and the day for the title."""
    value = attrgetter(path)
    day = only_day(map(value, rows))
    column = ShownColumn(f"{header} (UTC)", lambda row: _known(value(row)), CLOCK if day else TIME, rank=rank)
    return column, [f"{day} UTC"] if day else []


def _place(row: Any) -> Where:
    where = where_of(row)
    assert where is not None
    return where


def _known(timestamp: int | None) -> int | None:
    return None if timestamp is None or timestamp < 0 else timestamp


def sentences(screen: Screen, *texts: str, style: str = "", indent: str = "") -> Lines:
    """Return texts that are not empty, each broken between words where it is wider than the screen."""
    lines = [
        line
        for text in texts
        for line in wrap(text, screen.width, break_on_hyphens=False, subsequent_indent=indent)
    ]
    return Lines([[(line if screen.is_utf8 else ascii_only(line), style)] for line in lines], screen.width)


def conclusion(screen: Screen, text: str, *more: str, style: str = "") -> Iterator[Lines]:
    """Yield what all rows say together, unless the screen shows a part of them, and further sentences."""
    texts = [*([] if screen.is_part else [text]), *more]
    if any(texts):
        yield sentences(screen, *texts, style=style)


def _marks(severity: Callable[[Any], str | None], screen: Screen) -> ShownColumn:
    symbols = screen.symbols
    styles = {mark(word, symbols): style for word, style in STYLES.items()}

    def marked(row: Any) -> str:
        found = severity(row)
        return "" if found is None else mark(found, symbols)

    return ShownColumn("", marked, style=lambda text: styles.get(text, ""))
