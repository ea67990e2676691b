"""Views that are declarations: the verdict, the columns of a table, and what is drawn around it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.long_values import beginning, is_long
from kcli.output.screen import Screen
from kcli.output.table.columns import KindName, ShownColumn, contents, findings_line, mark_column
from kcli.output.table.fitted_table import Line, StyledLines, fitted, lines_of, sentences
from kcli.output.table.shared_columns import SharedColumn, merged_replicas, where_columns, where_of
from kcli.output.units import counted, only_day
from kcli.output.values import cell
from kcli.rows.declare import Column, PlainRow, values_of
from kcli.rows.partitions import FROM_FILE, WHERE

BETWEEN = "   "
"""Between the parts of a title."""
ROWS_OF_A_SCREEN = 20
"""Rows after which the verdict is not in sight any more: it is said again."""
FEW = 4
"""Rows that have more than a line of a table."""


class TableInput(NamedTuple):
    """What a view draws: rows, the screen, findings to sum up, whether the user sorts, and every finding.

    `lacks`: a sentence before the verdict, about what the answer lacks.
    """

    rows: Sequence[Any]
    screen: Screen
    findings: Sequence[Finding] = ()
    is_sorted: bool = False
    all_findings: Sequence[Finding] = ()
    lacks: str = ""


Drawn: TypeAlias = "Iterable[RenderableType]"


class TableView(NamedTuple):
    """How rows of one type are shown: the columns, and what a line at the end sums up.

    `verdict` is the first line, in place of `closing`: it concludes something from all rows. `severity` gives
    each row a mark; None: no mark. `shared`: values for the title, or for columns where rows differ,
    besides those of `Where`. `facts`: further words of the title. `is_listed`: whether a row is in the
    table where all rows are at hand; `folded`: what is said of the others. `order`: rows are shown by it,
    the lowest first, unless the user sorts them. `merged`: the value by which rows of replicas of a
    partition are the same line. `names_replicas`: whether the columns name brokers and log dirs already.
    `above` and `below` the table: what else is drawn. `ranks` of columns of `Where`, by header. `assumes`:
    what the verdict rests on, by all findings.
    """

    columns: Sequence[ShownColumn]
    closing: Callable[[Sequence[Any]], str] | None = None
    verdict: Callable[[Sequence[Any]], str] | None = None
    severity: Callable[[Any], str | None] | None = None
    shared: Sequence[SharedColumn] = ()
    facts: Callable[[Sequence[Any]], Sequence[str]] | None = None
    is_listed: Callable[[Any], bool] | None = None
    folded: str = ""
    order: Callable[[Any], Any] | None = None
    merged: Callable[[Any], Any] | None = None
    names_replicas: bool = False
    above: Callable[[Sequence[Any], Screen], Drawn] | None = None
    below: Callable[[Sequence[Any], Screen], Drawn] | None = None
    ranks: Mapping[str, int] = MappingProxyType({})
    assumes: Callable[[Sequence[Finding]], Sequence[str]] | None = None


def table_view(*columns: ShownColumn, **fields: Any) -> TableView:
    """Return the view of some columns, with what else a TableView has."""
    return TableView(columns, **fields)


def draw_table(view: TableView, answer: TableInput) -> Iterator[RenderableType]:
    """Yield a title with what all rows share, the table, and the lines that sum it up."""
    rows, screen, findings, is_sorted, all_findings, lacks = answer
    columns, days = _without_day(view.columns, rows)
    places = (value._replace(rank=view.ranks.get(value.header, value.rank)) for value in where_columns(rows))
    shared = sorted([*places, *view.shared], key=lambda column: column.is_last)
    parts = [fact for value in shared for fact in value.fact(rows)]
    parts += [*(view.facts(rows) if view.facts is not None else ()), *days]
    verdicts = [lacks]
    if view.verdict is not None and not screen.is_part:
        assumed = view.assumes(all_findings) if view.assumes is not None else ()
        verdicts += [*assumed, view.verdict(rows)]
    verdict = "\n".join(filter(None, verdicts))
    listed = rows
    if view.is_listed is not None and not screen.is_part:
        listed = list(filter(view.is_listed, rows))
    if view.order is not None and not is_sorted:
        listed = sorted(listed, key=view.order)
    if view.merged is not None and (lines := merged_replicas(rows, view.merged)):
        listed, replicas = lines
        columns = [*columns, replicas]
    yield from _head(verdict, parts, screen, is_followed=bool(listed or view.above))
    if view.above is not None:
        yield from view.above(rows, screen)
    if view.names_replicas or len(columns) > len(view.columns):
        shared = [value for value in shared if not value.is_last]
    before, after = (
        [column for value in shared if value.is_last is is_last for column in value.column(rows)]
        for is_last in (False, True)
    )
    severity = view.severity
    has_marks = severity is not None and any(severity(row) is not None for row in listed)
    marks = [mark_column(severity, screen.symbols)] if severity is not None and has_marks else []
    measured = fitted((*marks, *before, *columns, *after), listed, screen) if listed else []
    if listed:
        yield lines_of(measured, screen)
    if view.folded and len(listed) < len(rows):
        suffix = " more" if listed else ""
        yield from [""] if listed else []
        yield sentences(screen, f"{len(rows) - len(listed)}{suffix} {view.folded}: -o wide shows them.")
    if view.below is not None:
        yield from view.below(rows, screen)
    closing = view.closing(rows) if view.closing is not None else ""
    closing = "\n".join(filter(None, (*(column.declared.legend for column in measured), closing)))
    repeat = verdict if len(listed) > ROWS_OF_A_SCREEN and not screen.is_page else ""  # it is out of sight
    yield from _below(closing, findings_line(findings, explained=screen.is_explained), repeat, screen)


def draw_tables(answer: TableInput, *tables: tuple[TableView, Sequence[Any]]) -> Iterator[RenderableType]:
    """Yield tables of rows one below the other: the first says what is lacking, the last sums up findings."""
    pairs = [(view, rows) for view, rows in tables if rows]
    for number, (view, rows) in enumerate(pairs):
        yield from [""] if number else []
        lacks = "" if number else answer.lacks
        findings = answer.findings if number == len(pairs) - 1 else ()
        yield from draw_table(view, answer._replace(rows=rows, findings=findings, lacks=lacks))


def _head(
    verdict: str, parts: Sequence[str], screen: Screen, *, is_followed: bool
) -> Iterator[RenderableType]:
    """Yield the verdict, and the title over what follows."""
    if verdict:
        yield sentences(screen, *verdict.split("\n"), style="bold")
        yield ""
    if parts:
        yield title(parts, screen)
        yield from [""] if is_followed else []


def _below(closing: str, findings: str, verdict: str, screen: Screen) -> Iterator[RenderableType]:
    if closing or findings or verdict:
        yield ""
        yield sentences(screen, *closing.split("\n"))
        yield sentences(screen, "" if screen.is_page else findings)  # a page lists them
        yield sentences(screen, *verdict.split("\n"), style="bold")


def title(parts: Iterable[str], screen: Screen) -> StyledLines:
    """Return the parts of a title, the first bold, on as few lines as they fit on."""
    lines: list[Line] = []
    for fact in parts:
        used = sum(cell_len(text) for text, _ in lines[-1]) if lines else screen.room
        if used + len(BETWEEN) + cell_len(fact) > screen.room:
            lines.append([(fact, "" if lines else "bold")])
        else:
            lines[-1] += [(BETWEEN, ""), (fact, "")]
    return StyledLines(lines, screen, is_text=True)


def _without_day(columns: Sequence[ShownColumn], rows: Sequence[Any]) -> tuple[list[ShownColumn], list[str]]:
    """Return columns whose times are all of one day as clocks, and the days."""
    shown_columns, days = list(columns), []
    for number, column in enumerate(columns):
        if column.kind == "time of day" and (day := only_day(map(column.value_of, rows))):
            days.append(f"{day} UTC")
            shown_columns[number] = column._replace(kind="clock")
    return shown_columns, days


LEAST_OF_A_TEXT = 24
"""Characters that a text is cut to where there is no room."""
MOST_OF_A_TEXT = 300
"""Characters: no terminal shows more in a column."""
SECONDARY = re.compile(r"dir|path|cluster_id|.*_bytes")
"""Columns of a query that go before all others where there is no room."""
MOST_COLUMNS = 1000


def default_view(declared: Sequence[Column], answer: TableInput) -> TableView:
    """Return a view of the columns: the later ones go first where there is no room.

    What `Where` and `FromFile` say is in the title as for every view; of rows without them what all rows
    share is there, in place of columns that have room, where not all have.
    """
    rows, screen, row = answer.rows, answer.screen, answer.rows[0]
    first = 0 if where_of(row) is None else len(FROM_FILE if hasattr(row, "source") else WHERE)
    columns = [_column(number, column, row) for number, column in enumerate(declared)][first:]
    columns[0] = columns[0]._replace(rank=0)
    facts: list[str] = []
    while isinstance(row, PlainRow) and len(has_room := fitted(columns, rows, screen)) < len(columns):
        shared = [column for column in has_room if len(set(column.cells)) == 1 < len(rows)]
        if not shared or len(shared) == len(columns):
            break
        facts += [f"{fact.declared.header} {fact.cells[0]}" for fact in shared]
        columns = [column for column in columns if all(column is not fact.declared for fact in shared)]
        best = min(range(len(columns)), key=lambda number: columns[number].rank)
        columns[best] = columns[best]._replace(rank=0)
    return TableView(columns, facts=lambda _: facts, below=partial(_count_hidden, columns))


def _column(number: int, column: Column, row: Any) -> ShownColumn:
    kind: KindName = "number" if column.kind == "int" else "time" if column.kind == "timestamp" else "text"
    if kind == "number" and column.name.endswith(("_bytes", "_size")):
        kind = "size"
    is_plain = isinstance(row, PlainRow)
    header = column.name if is_plain else column.name.upper().replace("_", " ")
    header += " (UTC)" if kind == "time" else ""
    least = LEAST_OF_A_TEXT if kind == "text" else None
    value = partial(_value, number, is_text=kind == "text")
    rank = number + 1 + (MOST_COLUMNS if is_plain and SECONDARY.fullmatch(column.name) else 0)
    return ShownColumn(header, value, kind, rank=rank, least=least, is_cut=True)


def _value(number: int, row: Any, *, is_text: bool) -> Any:
    value = values_of(row)[number]
    if value is None or not is_text:
        return value
    if isinstance(value, bytes):
        return contents(value)
    return beginning(value, MOST_OF_A_TEXT) if is_long(value) else cell(value)


def _count_hidden(
    columns: Sequence[ShownColumn], rows: Sequence[Any], screen: Screen
) -> Iterator[RenderableType]:
    hidden = len(columns) - len(fitted(columns, rows, screen))
    if hidden:
        yield sentences(screen, f"{counted(hidden, 'more column')}: -o wide shows them.")
