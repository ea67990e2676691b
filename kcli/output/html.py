"""A page of HTML that needs nothing else: no script, no network, readable on a phone and in the dark."""

from collections.abc import Iterable, Iterator
from html import escape

from kcli.output.page import PageBlock, heading, written_page
from kcli.output.structured import Tail, TextOut
from kcli.output.table.fitted_table import Line
from kcli.output.units import counted
from kcli.output.view import View
from kcli.rows import Item

FOLDED = 50
"""Rows of a table that is folded, where it may be."""
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2126; --soft: #f4f6f8; --line: #d9dfe5;
  --dim: #66707a; --red: #b3261e; --yellow: #8a5a00; --green: #19703c; --cyan: #0a6a8a }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e3e7ea; --soft: #1d2226;
  --line: #343b42; --dim: #97a1aa; --red: #ff8a80; --yellow: #e5b567; --green: #7fd399; --cyan: #6cc7e6 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
main { max-width: 76rem; margin: 0 auto; padding: 1rem clamp(.75rem, 3vw, 2rem) 4rem }
h1 { font-size: 1.4rem; line-height: 1.25; margin: .5rem 0 1rem }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--line) }
p, li { margin: .3rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
ul { padding-left: 1.1rem }
.below { margin-left: 1.1rem; font-size: 14px; list-style: circle }
a { color: inherit }
.box { overflow-x: auto; margin: .75rem 0; border: 1px solid var(--line); border-radius: 6px }
pre, table { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
pre { margin: 0; padding: .6rem .8rem }
pre.drawing { line-height: 1.3 }
pre.code { background: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { padding: .25rem .7rem; text-align: left; vertical-align: top; white-space: pre }
th { background: var(--soft); font-weight: 600; color: var(--dim) }
tbody tr + tr > * { border-top: 1px solid var(--line) }
.right { text-align: right }
.folds { white-space: pre-wrap; width: 100%; min-width: min(18rem, 42vw); overflow-wrap: anywhere }
summary { cursor: pointer; margin: .75rem 0 }
.bold { font-weight: 600 }
.dim { color: var(--dim) } .red { color: var(--red) } .yellow { color: var(--yellow) }
.green { color: var(--green) } .cyan { color: var(--cyan) }
"""
PAGE_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body><main>
"""


def write_html(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> int:
    """Write rows as people read them, then findings and errors; return how many rows there are."""
    page = written_page(rows, view, tail)
    title = f"kcli {view.command}"
    out.writelines(html(title, [heading(title), *page.blocks]))
    return page.rows


def html(title: str, blocks: Iterable[PageBlock], *, folds: bool = False) -> Iterator[str]:
    """Yield the text of a page; where it `folds` a long table is shown on demand."""
    yield PAGE_HEAD.format(title=escape(title), style=STYLE)
    for block in blocks:
        is_folded = folds and block.kind == "table" and len(block.columns[0].cells) > FOLDED
        if is_folded:
            rows = counted(len(block.columns[0].cells), "row")
            yield f"<details><summary>{rows}</summary>\n"
        yield from _HTML_OF[block.kind](block)
        yield "</details>\n" if is_folded else ""
    yield "</main></body>\n</html>\n"


def _span(line: Line) -> str:
    """Return styled text: names of styles are classes, but for `#name`, a link."""
    pieces = []
    for text, style in line:
        safe = escape(text)
        link = f'<a href="{style}">{safe}</a>' if style.startswith("#") else ""
        pieces.append(link or (f'<span class="{style}">{safe}</span>' if style else safe))
    return "".join(pieces)


def _heading(block: PageBlock) -> Iterator[str]:
    name, anchor = ("h2", f' id="{block.anchor}"') if block.anchor else ("h1", "")
    yield f"<{name}{anchor}>{_span(block.lines[0])}</{name}>\n"


def _list(block: PageBlock) -> Iterator[str]:
    items = ((' class="below"' if line[0][0][:1] == " " else "", _span(line)) for line in block.lines)
    yield f"<ul>\n{''.join(f'<li{below}>{text.lstrip()}</li>{chr(10)}' for below, text in items)}</ul>\n"


def _pre(block: PageBlock) -> Iterator[str]:
    lines = "\n".join(map(_span, block.lines))
    yield f'<div class="box" tabindex="0"><pre class="{block.kind}">{lines}</pre></div>\n'


def _table(block: PageBlock) -> Iterator[str]:
    columns = [column.declared for column in block.columns]
    folds = ["" if column.least is None else ' class="folds"' for column in columns]
    classes = [' class="right"' if column.is_right else of for column, of in zip(columns, folds, strict=True)]
    yield '<div class="box" tabindex="0"><table>\n'
    if any(column.header for column in columns):
        heads = (f"<th{of}>{escape(column.header)}</th>" for column, of in zip(columns, classes, strict=True))
        yield f"<thead><tr>{''.join(heads)}</tr></thead>\n"
    yield "<tbody>\n"
    cells = (zip(column.cells, column.styles, strict=True) for column in block.columns)
    for row in zip(*cells, strict=True):
        texts = (f"<td{of}>{_span([cell])}</td>" for cell, of in zip(row, classes, strict=True))
        yield f"<tr>{''.join(texts)}</tr>\n"
    yield "</tbody></table></div>\n"


_HTML_OF = {
    "heading": _heading,
    "text": lambda block: (f"<p>{_span(line)}</p>\n" for line in block.lines),
    "code": _pre,
    "drawing": _pre,
    "list": _list,
    "table": _table,
}
