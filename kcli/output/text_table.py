"""What a terminal shows: the view that rows of a type have, or with -o wide a table of every column."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from kcli.kafka.findings.findings import Finding
from kcli.output.long_values import beginning, is_long
from kcli.output.screen import Screen
from kcli.output.structured import Tail
from kcli.output.table import WITHOUT_ANSWER, draw, lacking, without_rows
from kcli.output.table.columns import findings_line
from kcli.output.units import counted
from kcli.output.values import cell, iso, one_line
from kcli.output.view import ShownRow, View
from kcli.rows import Failure, Item, type_name
from kcli.rows.declare import Column, Value

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN_OF_A_LONG_VALUE = 1000
"""Characters."""


def write_table(rows: Iterable[Item], view: View, out: TextIO, tail: Tail) -> None:
    """Write rows as people read them; columns that were named, and rows without headers, as `wide`."""
    if view.columns is not None or not view.headers:
        write_wide(rows, view, out, tail)
        return
    items = list(view.chosen(rows))
    findings, failures = tail()
    lines = [] if items else without_rows(view.types[0].name, findings, failures)
    if not (items or lines):
        return
    from kcli.output.console import Console
    from kcli.output.table.fitted_table import sentences

    screen = view.screen
    console = Console(
        file=out,
        width=screen.width,
        force_terminal=screen.is_colored,
        no_color=not screen.is_colored,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        color_system="standard" if screen.is_colored else None,
        _environ={},
    )
    if lines:
        last = f"{lines[-1]} {findings_line(findings, explained=screen.is_explained)}".rstrip()
        console.print(sentences(screen, *lines[:-1], last), crop=False)
    for renderable in draw_rows(items, view, findings, failures) if items else ():
        console.print(renderable, crop=False)


def draw_rows(
    items: list[Item], view: View, findings: Sequence[Finding], failures: Sequence[Failure]
) -> Iterator["RenderableType"]:
    """Yield what is printed of rows, one at least: their views, and what has no answer or is not shown."""
    from kcli.output.table.fitted_table import sentences

    if not view.sort:
        items.sort(key=_remote_partition)
    is_limited = len(items) == view.limit
    is_part = view.screen.is_part or is_limited or view.where is not None
    screen = view.screen._replace(is_part=is_part)
    lacks = lacking(view.types[0].name, findings, failures)
    yield from _views(items, view, screen, [*findings, *_unreadable(failures)], lacks)
    unread = [failure for failure in failures if failure.error != "load-failed"]
    if len(unread) < len(failures):
        logs = counted(len(failures) - len(unread), "log")
        yield sentences(screen, f"A broker would not load {logs}, whatever the batches are.", style="red")
    if unread:
        yield sentences(screen, f"{counted(len(unread), *WITHOUT_ANSWER)}.", style="red")
    if view.where is not None:
        yield sentences(screen, "Only the rows that meet --where: no verdict on the others.", style="dim")
    if is_limited and view.limit is not None:
        yield sentences(screen, f"Stopped after {counted(view.limit, 'row')} (--limit).", style="dim")


def _views(
    items: Iterable[Item], view: View, screen: Screen, findings: Sequence[Finding], lacks: str
) -> Iterator["RenderableType"]:
    """Yield what is printed: a view of each type of row, or of all; the last concludes from findings."""
    from kcli.output.table.table_view import TableInput

    of_type: dict[str, list[Item]] = {row_type.name: [] for row_type in view.types}
    for row in items:
        of_type[view.types[0].name if view.single_view else type_name(row)].append(row)
    types = [row_type for row_type in view.types if of_type[row_type.name]]
    for row_type in types:
        yield from [] if row_type is types[0] else [""]
        last_findings = findings if row_type is types[-1] else ()
        answer = TableInput(of_type[row_type.name], screen, last_findings, bool(view.sort), findings, lacks)
        yield from draw(row_type, answer)
        lacks = ""


def _remote_partition(row: Item) -> tuple[str, int]:
    """Return the partition of a remote segment: brokers keep their events by a hash; other rows stay."""
    of = getattr(row, "of", None)
    return ("", 0) if of is None else (of.topic or "", of.partition)


def _unreadable(failures: Iterable[Failure]) -> Iterator[Finding]:
    """Yield a finding for each error about a file, so that its row has a mark."""
    for failure in failures:
        directory = os.path.dirname(failure.path)
        if directory and failure.error != "not-found":
            yield Finding("LOG-008", failure.message, directory, failure.path, failure.position)


def write_wide(rows: Iterable[Item], view: View, out: TextIO, tail: Tail) -> None:
    """Write a table of every shown column, as wide as its values are."""
    columns, cells = view.columns_of(view.types[0]), [*cells_of(rows, view)]
    if cells or not tail()[1]:
        out.writelines(f"{line}\n" for line in _aligned(cells, columns, view.screen, headers=view.headers))


def cells_of(rows: Iterable[Item], view: View) -> Iterator[list[str]]:
    """Yield the texts of the shown columns of each row."""
    columns = view.columns_of(view.types[0])
    for row in view.shown_rows(rows):
        if isinstance(row, ShownRow):
            yield [_cell(value, column) for value, column in zip(row.values, columns, strict=True)]


def _aligned(
    cells: list[list[str]], columns: Sequence[Column], screen: Screen, *, headers: bool
) -> Iterator[str]:
    """Yield the lines of a table: numbers right, no spaces at the end."""
    names = [column.name for column in columns]
    lines = [names, *cells] if headers else cells
    if all(text.isascii() for line in cells for text in line):
        length = len
    else:
        from rich.cells import cell_len as length  # type: ignore[assignment]

    widths = [max(map(length, column)) for column in zip(*lines, strict=True)]
    is_right = [column.kind == "int" for column in columns]
    for line in lines:
        padded = [
            " " * (width - length(text)) + text if right else text + " " * (width - length(text))
            for text, width, right in zip(line, widths, is_right, strict=True)
        ]
        if screen.is_colored and line is names:
            yield f"\x1b[1m{'  '.join(padded).rstrip()}\x1b[0m"
        else:
            yield "  ".join(padded).rstrip()


def _cell(value: Value, column: Column) -> str:
    if value is None:
        return "-"
    if is_long(value):
        return f"{one_line(beginning(value, SHOWN_OF_A_LONG_VALUE))}... (its beginning; -o json shows all)"
    text = one_line(cell(value))
    if column.kind == "timestamp" and isinstance(value, int):
        twin = iso(value)
        return f"{text} ({twin})" if twin else text
    return text
