"""Output for programs: json, ndjson, csv and tsv. Rows are pulled and written one by one.

What a scan found beside its rows is known only when the rows are exhausted:
`tail()` gives findings and errors then.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, TypeAlias

from kcli.analysis.findings import Finding
from kcli.output.values import compact, csv_cell, failure_values, finding_values, spaced, tsv_cell
from kcli.output.view import View
from kcli.rows import Failure, Row, Value

DOCUMENT_VERSION = 1

Tail: TypeAlias = Callable[[], tuple[list[Finding], list[Failure]]]


def write_json(rows: Iterable[Row], view: View, out: TextIO, tail: Tail) -> None:
    """Write one JSON document, row by row; it is closed properly however the rows end."""
    names = {row_type.name: view.names_of(row_type) for row_type in view.types}
    out.write(f'{{"command": {spaced(view.command)}, "version": {DOCUMENT_VERSION},\n "rows": [')
    separator = "\n  "
    for row in view.shown(rows):
        values: dict[str, Value] = {"type": row.type} if view.tagged else {}
        values.update(zip(names[row.type], row.values, strict=True))
        out.write(separator + spaced(values))
        separator = ",\n  "
    findings, failures = tail()
    out.write(f'],\n "findings": [{_items(map(finding_values, findings))}],\n "errors": [{_items(map(failure_values, failures))}]}}\n')


def _items(values: Iterable[dict[str, Value]]) -> str:
    return ",".join(f"\n  {spaced(value)}" for value in values)


def write_ndjson(rows: Iterable[Row], view: View, out: TextIO, tail: Tail) -> None:
    """Write one JSON object a line, each with its `type`, each flushed; findings and errors at the end."""
    names = {row_type.name: ("type", *view.names_of(row_type)) for row_type in view.types}
    for row in view.shown(rows):
        out.write(compact(dict(zip(names[row.type], (row.type, *row.values), strict=True))))
        # a line may be long: it is not copied for the sake of its end
        out.write("\n")
        out.flush()
    findings, failures = tail()
    out.writelines(compact({"type": "finding", **finding_values(finding)}) + "\n" for finding in findings)
    out.writelines(compact({"type": "error", **failure_values(failure)}) + "\n" for failure in failures)


def write_tsv(rows: Iterable[Row], view: View, out: TextIO, tail: Tail) -> None:
    """Write tab-separated values."""
    out.writelines("\t".join(map(tsv_cell, values)) + "\n" for values in _with_header(rows, view, tail))


def write_csv(rows: Iterable[Row], view: View, out: TextIO, tail: Tail) -> None:
    """Write comma-separated values, quoted as in RFC 4180; lines end in a newline alone."""
    out.writelines(",".join(map(csv_cell, values)) + "\n" for values in _with_header(rows, view, tail))


def _with_header(rows: Iterable[Row], view: View, tail: Tail) -> Iterator[tuple[Any, ...]]:
    """Yield the header and the rows; a failure without any row must not look like an empty table."""
    header = view.names_of(view.types[0]) if view.headers else None
    for row in view.shown(rows):
        if header is not None:
            yield header
            header = None
        yield row.values
    if header is not None and not tail()[1]:
        yield header
