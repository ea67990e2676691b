"""Output for programs: json, ndjson, csv and tsv. Rows are pulled and written one by one.

Findings and errors are complete only after the last row: `tail()` gives them then.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeAlias

from kcli.kafka.findings.findings import Finding
from kcli.output.formats import BETWEEN_ROWS
from kcli.output.long_values import csv_slices, is_long, json_slices, tsv_slices
from kcli.output.values import compact, csv_cell, failure_values, finding_values, spaced, tsv_cell
from kcli.output.view import View
from kcli.rows import EncodedRows, Failure, Item, Value

DOCUMENT_VERSION = 1
Tail: TypeAlias = Callable[[], tuple[list[Finding], list[Failure]]]


class Form(NamedTuple):
    """How rows are encoded: in a format that has a style, and with these columns; None for all.

    `null`: the text of a null in csv and tsv; None: the usual one.
    """

    format: str
    columns: tuple[str, ...] | None
    null: str | None = None


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
    for row in view.shown(rows):
        out.write(separator)
        separator = BETWEEN_ROWS
        if isinstance(row, EncodedRows):
            _write_bytes(row, out)
            continue
        values: dict[str, Value] = {"type": row.type_name} if view.tagged else {}
        values.update(zip(names[row.type_name], row.values, strict=True))
        out.writelines(json_slices(values, spaced, ", ", ": "))
    findings, failures = tail()
    found, failed = _items(map(finding_values, findings)), _items(map(failure_values, failures))
    out.write(f'],\n "findings": [{found}],\n "errors": [{failed}]}}\n')


def _write_bytes(row: EncodedRows, out: TextOut) -> None:
    out.flush()
    out.buffer.write(row.buffer)


def _items(values: Iterable[dict[str, Value]]) -> str:
    return ",".join(f"\n  {spaced(value)}" for value in values)


def write_ndjson(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write one JSON object a line, each with its `type`, each flushed; findings and errors at the end."""
    names = {row_type.name: ("type", *view.names_of(row_type)) for row_type in view.types}
    for row in view.shown(rows):
        if isinstance(row, EncodedRows):
            _write_bytes(row, out)
            continue
        values = dict(zip(names[row.type_name], (row.type_name, *row.values), strict=True))
        out.writelines(json_slices(values, compact))
        out.write("\n")
        out.flush()
    findings, failures = tail()
    out.writelines(compact({"type": "finding", **finding_values(finding)}) + "\n" for finding in findings)
    out.writelines(compact({"type": "error", **failure_values(failure)}) + "\n" for failure in failures)


def write_tsv(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write tab-separated values."""
    cell = tsv_cell if view.null is None else partial(tsv_cell, null=view.null)
    _write_cells(_with_header(rows, view, tail), out, "\t", cell, tsv_slices)


def write_csv(rows: Iterable[Item], view: View, out: TextOut, tail: Tail) -> None:
    """Write comma-separated values, quoted as in RFC 4180; lines end in a newline alone."""
    cell = csv_cell if view.null is None else partial(csv_cell, null=view.null)
    _write_cells(_with_header(rows, view, tail), out, ",", cell, csv_slices)


def _write_cells(
    rows: Iterable[tuple[Any, ...] | EncodedRows],
    out: TextOut,
    separator: str,
    cell: Callable[[Any], str],
    slices: Callable[[Any], Iterator[str]],
) -> None:
    for values in rows:
        if isinstance(values, EncodedRows):
            _write_bytes(values, out)
        elif is_long(values):
            out.writelines(_sliced(values, separator, cell, slices))
        else:
            out.write(separator.join(map(cell, values)) + "\n")


def _sliced(
    values: tuple[Any, ...],
    separator: str,
    cell: Callable[[Any], str],
    slices: Callable[[Any], Iterator[str]],
) -> Iterator[str]:
    before = ""
    for value in values:
        yield before
        yield from slices(value) if is_long(value) else (cell(value),)
        before = separator
    yield "\n"


def _with_header(rows: Iterable[Item], view: View, tail: Tail) -> Iterator[tuple[Any, ...] | EncodedRows]:
    """Yield the header and the rows; a failure without any row must not look like an empty table."""
    header = view.names_of(view.types[0]) if view.headers else None
    for row in view.shown(rows):
        if header is not None:
            yield header
            header = None
        yield row if isinstance(row, EncodedRows) else row.values
    if header is not None and not tail()[1]:
        yield header
