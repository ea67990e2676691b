"""Pages for people, in markdown and HTML: what the terminal shows, in blocks, with nothing cut or folded.

A page takes as much memory as ROWS_OF_A_PAGE rows of MOST_BYTES together, whatever a command reads.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.kafka.findings.catalogue import CATALOGUE
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.files import bytes_of
from kcli.output.screen import Screen
from kcli.output.structured import Tail
from kcli.output.table import without_rows
from kcli.output.table.columns import STYLES, ShownColumn
from kcli.output.table.fitted_table import Line, Measured, printable
from kcli.output.text import by_code, failure_line, first_of
from kcli.output.text_table import cells_of, draw_rows
from kcli.output.units import counted, number
from kcli.output.view import View
from kcli.rows import Failure, Item

if TYPE_CHECKING:
    from rich.console import RenderableType

ROWS_OF_A_PAGE = 50_000
MOST_BYTES = 64 << 20
MOST_LISTED = 5000
"""Rows of a table."""
SCREEN = Screen(100, is_page=True)
ALL_OF_THEM = "-o json has all of them."


class PageBlock(NamedTuple):
    """A part of a page: a heading, text, code, a drawing, a list or a table.

    `lines`: of a list the first is the item, those that begin with a space are below it. `columns`: of a
    table. `anchor`: of a heading, what links name.
    """

    kind: str
    lines: Sequence[Line] = ()
    columns: Sequence[Measured] = ()
    anchor: str = ""


class Page(NamedTuple):
    """The blocks of an answer without its findings, how many rows it has, and the findings and errors."""

    blocks: list[PageBlock]
    rows: int
    findings: Sequence[Finding]
    failures: Sequence[Failure]


def text_block(text: str, style: str = "") -> PageBlock:
    """Return a sentence."""
    return PageBlock("text", [[(printable(text, SCREEN), style)]])


def heading(text: str, anchor: str = "") -> PageBlock:
    """Return a heading: with an anchor that of a section, else that of the page."""
    return PageBlock("heading", text_block(text).lines, anchor=anchor)


def table_block(columns: Sequence[ShownColumn], rows: Sequence[Sequence[tuple[str, str]]]) -> PageBlock:
    """Return a table of texts with their styles; `value` of a column is not used."""
    cells = zip(*rows, strict=True) if rows else [()] * len(columns)
    measured = (
        Measured(column, [printable(text, SCREEN) for text, _ in line], [style for _, style in line], 0, 0)
        for column, line in zip(columns, cells, strict=True)
    )
    return PageBlock("table", columns=[*measured])


def page_of(rows: Iterable[Item], view: View, tail: Tail) -> Page:
    """Return what a page shows of rows, all of which are read."""
    items: list[Item] = []
    count = size = 0
    for row in view.chosen(rows):
        count += 1
        if len(items) < ROWS_OF_A_PAGE and size < MOST_BYTES:
            items.append(row)
            size += bytes_of(row)
    findings, failures = tail()
    view = view._replace(screen=SCREEN._replace(is_part=count > len(items)))
    blocks = [*_blocks(_parts(items, view, findings, failures))]
    if count > len(items):
        cut = f"Made of the first {number(len(items))} of {number(count)} rows: no verdict. {ALL_OF_THEM}"
        blocks.append(text_block(cut, "yellow"))
    return Page(blocks, count, findings, failures)


def finding_blocks(findings: Iterable[Finding], failures: Iterable[Failure]) -> Iterator[PageBlock]:
    """Yield a list of findings by code, the worst first, then the errors; of info the codes alone."""
    lines: list[Line] = []
    for severity, code, group in by_code(findings):
        count = f" ({len(group)})" if len(group) > 1 else ""
        lines.append([(code, STYLES[severity]), (f" {severity}{count}: {CATALOGUE[code].title}", "")])
        if severity == SEVERITIES[0]:
            continue
        first, remaining = first_of(group, all_of_them=False)
        texts = [": ".join(filter(None, (finding.place, finding.message))) for finding in first]
        texts += [f"{number(remaining)} more: {ALL_OF_THEM}"] if remaining else []
        texts.append(f"To do: {CATALOGUE[code].action}")
        lines += [[(f" {printable(text, SCREEN)}", "")] for text in texts]
    lines += [[(printable(failure_line(failure), SCREEN), "red")] for failure in failures]
    if lines:
        yield PageBlock("list", lines)


def written_page(rows: Iterable[Item], view: View, tail: Tail) -> Page:
    """Return the page of an answer, with its findings where they go with the rows, and its errors."""
    page = page_of(rows, view, tail)
    findings = page.findings if view.lists_findings else ()
    return page._replace(blocks=[*page.blocks, *finding_blocks(findings, page.failures)])


def _parts(
    rows: list[Item], view: View, findings: Sequence[Finding], failures: Sequence[Failure]
) -> "Iterator[RenderableType | PageBlock]":
    """Yield what is printed of rows: their view, or the columns that are asked for as they are."""
    if view.columns is not None or not view.headers:
        columns = [
            ShownColumn(column.name * view.headers, "", "number")
            if column.kind == "int"
            else ShownColumn(column.name * view.headers, "", least=0)
            for column in view.columns_of(view.types[0])
        ]
        body = [[(text, "") for text in row] for row in cells_of(rows, view._replace(where=None, limit=None))]
        yield from cut_table(table_block(columns, body).columns)
    elif rows:
        yield from draw_rows(rows, view, findings, failures)
    else:
        yield from map(text_block, without_rows(view.types[0].name, findings, failures))


def _blocks(parts: "Iterable[RenderableType | PageBlock]") -> Iterator[PageBlock]:
    """Yield the blocks of what is printed; lines of text that are indented are code."""
    for kind, group in groupby(_single_blocks(parts), key=lambda block: block.kind):
        if kind == "code":
            yield PageBlock(kind, [[(line[0][0][2:], line[0][1])] for block in group for line in block.lines])
        else:
            yield from group


def _single_blocks(parts: "Iterable[RenderableType | PageBlock]") -> Iterator[PageBlock]:
    for renderable in parts:
        if isinstance(renderable, PageBlock):
            yield renderable
            continue
        if isinstance(renderable, str):
            yield from [text_block(renderable)] if renderable else []
            continue
        styled: Any = renderable  # StyledLines
        lines: list[Line] = styled.lines
        if styled.columns:
            yield from cut_table(styled.columns)
        elif not styled.is_text and not (len(lines) == 1 and lines[0][0][1] == "bold"):
            yield PageBlock("drawing", lines)
        else:
            yield from (
                PageBlock("code" if line[0][0].startswith("  ") else "text", [line]) for line in lines
            )


def cut_table(columns: Sequence[Measured]) -> Iterator[PageBlock]:
    """Yield a table of as many rows as a page shows, and what is left out."""
    count = len(columns[0].cells)
    if count > MOST_LISTED:
        columns = [
            column._replace(cells=column.cells[:MOST_LISTED], styles=column.styles[:MOST_LISTED])
            for column in columns
        ]
    yield PageBlock("table", columns=columns)
    if count > MOST_LISTED:
        yield text_block(f"{number(MOST_LISTED)} of {counted(count, 'row')}: {ALL_OF_THEM}", "yellow")
