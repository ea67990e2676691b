"""The table for people: aligned, coloured on a terminal; only values above 64 KiB are cut, marked so."""

from collections.abc import Iterable
from typing import TextIO

from kcli.output.long_values import beginning, is_long
from kcli.output.structured import Tail
from kcli.output.values import cell, iso, one_line
from kcli.output.view import ShownRow, View
from kcli.rows import Column, Item, Value

WIDE = 1 << 24
"""Columns of the console: a table is as wide as its values, whatever the terminal does with long lines."""
SHOWN_OF_A_LONG_VALUE = 1000
"""Characters."""


def write_table(rows: Iterable[Item], view: View, out: TextIO, tail: Tail) -> None:
    """Write a table of all rows at once: rich needs them all to align the columns."""
    columns = view.columns_of(view.types[0])
    cells = [
        [_cell(value, column) for value, column in zip(row.values, columns, strict=True)]
        for row in view.shown(rows)
        if isinstance(row, ShownRow)
    ]
    if not cells and tail()[1]:
        return
    from rich.console import Console  # noqa: PLC0415 - half the start-up time, for tables alone
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        box=None, show_header=view.headers, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0)
    )
    for column in columns:
        numeric = column.kind == "int"
        table.add_column(column.name, justify="right" if numeric else "left", no_wrap=True, overflow="fold")
    for line in cells:
        table.add_row(*map(Text, line))
    console = Console(
        file=out,
        width=WIDE,
        force_terminal=view.is_colored,
        no_color=not view.is_colored,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        legacy_windows=False,
        color_system="standard" if view.is_colored else None,
        _environ={},
    )
    with console.capture() as captured:
        console.print(table, crop=False)
    out.write("".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1]))


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
