"""Markdown of GitHub, which Jira and Slack show well enough: paragraphs, tables, drawings as code, lists."""

import re
from collections.abc import Iterable, Iterator

from kcli.output.page import PageBlock, written_page
from kcli.output.structured import Tail, TextOut
from kcli.output.table.fitted_table import Line
from kcli.output.view import View
from kcli.rows import Item

_MARKUP = re.compile(r"[\\`*<|$]|~(?=~)|(?<=\])\(|&(?=#?\w+;)|_++(?![^\W_])")
"""What would be markup; an underscore within a word is none."""
_AT_BEGINNING = re.compile(r"^([#>+=-]|\d+(?=[.)]\s))")
"""Of a line, too."""
_TICKS = re.compile("`+")


def write_markdown(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> int:
    """Write rows as people read them, then findings and errors; return how many rows there are."""
    page = written_page(rows, view, tail)
    out.writelines(markdown(page.blocks))
    return page.rows


def markdown(blocks: Iterable[PageBlock]) -> Iterator[str]:
    """Yield the lines of a page."""
    between = ""
    for block in blocks:
        yield between
        between = "\n"
        yield from (f"{line}\n" for line in _MARKDOWN_OF[block.kind](block))


def escaped(text: str) -> str:
    """Return text without markup."""
    return _MARKUP.sub(lambda match: "".join(f"\\{character}" for character in match[0]), text)


def _span(line: Line) -> str:
    """Return styled text; wide gaps, which markdown does not have, become dots."""
    pieces = (
        f"**{escaped(text)}**" if "bold" in style and text == text.strip() else escaped(text)
        for text, style in line
    )
    text = re.sub("(?<=[^ ]) {2,}(?=[^ ])", " · ", "".join(pieces)).strip()
    if line[0][1]:
        return text
    return _AT_BEGINNING.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", text)


def _fenced(block: PageBlock) -> Iterator[str]:
    lines = ["".join(text for text, _ in line).rstrip() for line in block.lines]
    fence = "`" * max(3, *(len(run) + 1 for line in lines for run in _TICKS.findall(line)), 0)
    yield from (fence, *lines, fence)


def _table(block: PageBlock) -> Iterator[str]:
    columns = []
    for column in block.columns:  # cells that are drawn, or have gaps, are aligned in code alone
        is_drawn = column.declared.least is None and any(re.search("^ |  ", cell) for cell in column.cells)
        columns.append([_code(cell) if is_drawn else _span([(cell, "-")]) for cell in column.cells])
    yield _row(escaped(column.declared.header) for column in block.columns)
    yield _row("---:" if column.declared.is_right else "---" for column in block.columns)
    yield from map(_row, zip(*columns, strict=True))


def _code(cell: str) -> str:
    ticks = "`" * (max(map(len, _TICKS.findall(cell)), default=0) + 1)
    safe = cell.replace("|", r"\|")
    return f"{ticks}{safe}{ticks}" if cell else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


_MARKDOWN_OF = {
    "heading": lambda block: [f"{'##' if block.anchor else '#'} {_span(block.lines[0])}"],
    "text": lambda block: map(_span, block.lines),
    "code": _fenced,
    "drawing": _fenced,
    "list": lambda block: (f"{'  ' * (line[0][0][:1] == ' ')}- {_span(line)}" for line in block.lines),
    "table": _table,
}
