"""The view of rows that are values alone: a column for each, as many as there is room for."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rich.console import RenderableType

from kcli.output.long_values import beginning, is_long
from kcli.output.screen import Screen
from kcli.output.table.columns import NUMBER, SIZE, TEXT, TIME, Columns, ShownColumn
from kcli.output.table.fitted_table import fitted, sentences
from kcli.output.table.shared_columns import where_of
from kcli.output.table.table_view import TableInput, TableView
from kcli.output.units import counted
from kcli.output.values import cell
from kcli.rows.declare import Column, PlainRow, values_of
from kcli.rows.partitions import FROM_FILE, WHERE

LEAST_OF_A_TEXT = 24
"""Characters that a text is cut to where there is no room."""
MOST_OF_A_TEXT = 300
"""Characters: no terminal shows more in a column."""


def default_view(columns: Sequence[Column], drawn: TableInput) -> TableView:
    """Return a view of the columns: the later ones go first where there is no room.

    What `Where` and `FromFile` say is in the title as for every view.
    """
    row = drawn.rows[0]
    first = 0 if where_of(row) is None else len(FROM_FILE if hasattr(row, "source") else WHERE)
    shown = [_column(place, column, row) for place, column in enumerate(columns)][first:]
    shown[0] = shown[0]._replace(rank=0)
    return TableView(shown, below=partial(_count_hidden, shown))


def _column(place: int, column: Column, row: Any) -> ShownColumn:
    kind = TEXT
    if column.kind == "int":
        kind = SIZE if column.name.endswith(("_bytes", "_size")) else NUMBER
    elif column.kind == "timestamp":
        kind = TIME
    is_query = isinstance(row, PlainRow)
    header = column.name if is_query else column.name.upper().replace("_", " ")
    header += " (UTC)" if kind is TIME else ""
    least = LEAST_OF_A_TEXT if kind is TEXT else None
    return ShownColumn(
        header, partial(_value, place, is_text=kind is TEXT), kind, rank=place + 1, least=least
    )


def _value(place: int, row: Any, *, is_text: bool) -> Any:
    value = values_of(row)[place]
    if value is None or not is_text:
        return value
    return beginning(value, MOST_OF_A_TEXT) if is_long(value) else cell(value)


def _count_hidden(columns: Columns, rows: Sequence[Any], screen: Screen) -> Iterator[RenderableType]:
    hidden = len(columns) - len(fitted(columns, rows, screen))
    if hidden:
        yield sentences(screen, f"{counted(hidden, 'more column')}: -o wide shows them.")
