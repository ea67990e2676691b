"""Output for programs: json, ndjson, csv and tsv. Rows are pulled and written one by one.

Findings and errors are complete only after the last row: `tail()` gives them then.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, Protocol, TypeAlias

from kcli.kafka.findings.findings import Finding
from kcli.output.formats import BETWEEN_ROWS
from kcli.output.long_values import csv_slices, is_long, json_slices, tsv_slices
from kcli.output.values import compact, finding_values, spaced
from kcli.output.view import View
from kcli.rows import ArrowBlock, Failure, Item
from kcli.rows.declare import Value

DOCUMENT_VERSION = 1
Tail: TypeAlias = Callable[[], tuple[list[Finding], list[Failure]]]


class TextOut(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> object:
        """Write text."""
        ...

    def writelines(self, texts: Iterable[str], /) -> object:
        """Write texts, one after the other."""
        ...

    def flush(self) -> None:
        """Pass on what is written."""
        ...

    @property
    def buffer(self) -> BinaryIO:
        """Where the text goes as bytes."""
        ...


def write_json(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write one JSON document, row by row; it is closed properly however the rows end."""
    names = {row_type.name: view.names_of(row_type) for row_type in view.types}
    out.write(f'{{"command": {spaced(view.command)}, "version": {DOCUMENT_VERSION},\n "rows": [')
    separator = "\n  "
    for row in view.shown_rows(rows):
        if isinstance(row, ArrowBlock):
            for chunk in _encoded(row, view):
                out.write(separator)
                separator = BETWEEN_ROWS
                _write_bytes(chunk, out)
            continue
        out.write(separator)
        separator = BETWEEN_ROWS
        values: dict[str, Value] = {"type": row.type_name} if view.tagged else {}
        values.update(zip(names[row.type_name], row.values, strict=True))
        out.writelines(json_slices(values, spaced, ", ", ": "))
    findings, failures = tail()
    finding_items = _items(map(finding_values, findings))
    failure_items = _items(failure._asdict() for failure in failures)
    out.write(f'],\n "findings": [{finding_items}],\n "errors": [{failure_items}]}}\n')


def _encoded(block: ArrowBlock, view: View) -> Iterator[memoryview]:
    """Yield the rows of a block, some at a time; pyarrow is imported for blocks alone."""
    from kcli.output.text_columns import encoded_rows

    return encoded_rows(block, view)


def _write_bytes(chunk: memoryview, out: TextOut) -> None:
    out.flush()
    out.buffer.write(chunk)


def _items(values: Iterable[dict[str, Value]]) -> str:
    return ",".join(f"\n  {spaced(value)}" for value in values)


def write_ndjson(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write one JSON object a line, each with its `type`, each flushed; findings and errors at the end."""
    names = {row_type.name: ("type", *view.names_of(row_type)) for row_type in view.types}
    for row in view.shown_rows(rows):
        if isinstance(row, ArrowBlock):
            for chunk in _encoded(row, view):
                _write_bytes(chunk, out)
            continue
        values = dict(zip(names[row.type_name], (row.type_name, *row.values), strict=True))
        out.writelines(json_slices(values, compact))
        out.write("\n")
        out.flush()
    findings, failures = tail()
    head = {head_column.column.name: head_column.text for head_column in view.head}
    messages: Iterator[dict[str, Value]] = chain(
        ({"type": "finding", **head, **finding_values(finding)} for finding in findings),
        ({"type": "error", **head, **failure._asdict()} for failure in failures),
    )
    out.writelines(compact(values) + "\n" for values in messages)


def write_tsv(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write tab-separated values."""
    _write_cells(rows, view, out, tail, tsv_slices)


def write_csv(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write comma-separated values, quoted as in RFC 4180; lines end in a newline alone."""
    _write_cells(rows, view, out, tail, csv_slices)


def _write_cells(
    rows: Iterable[Item], view: View, out: TextOut, tail: Tail, slices: Callable[[Any], Iterator[str]]
) -> None:
    """Write rows, and a header for each type; a failure without any row must not look like an empty table."""
    style = view.style
    headers = {
        row_type.name: (style.comma.join(map(style.cell, view.names_of(row_type))) + "\n") * view.headers
        for row_type in view.types
    }
    above = None
    for row in view.shown_rows(rows):
        if row.type_name != above:
            out.write(headers[row.type_name] if above is None else f"\n{headers[row.type_name]}")
            above = row.type_name
        if isinstance(row, ArrowBlock):
            for chunk in _encoded(row, view):
                _write_bytes(chunk, out)
        elif is_long(row.values):
            for number, value in enumerate(row.values):
                out.write(style.comma if number else "")
                out.writelines(slices(value) if is_long(value) else (style.cell(value),))
            out.write(style.end)
        else:
            out.write(style.comma.join(map(style.cell, row.values)) + style.end)
    if above is None and not tail()[1]:
        out.write(headers[view.types[0].name])
