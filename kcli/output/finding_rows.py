"""Findings and errors in files of their own: rows of csv and parquet, lines of ndjson."""

from collections.abc import Iterable

from kcli.kafka.findings.findings import Finding
from kcli.output.files import write_rows
from kcli.output.formats import OutputFormat
from kcli.output.values import finding_values
from kcli.output.view import View
from kcli.rows import Failure
from kcli.rows.declare import Column, RowType, plain_row_type

FINDING_ROW = RowType(
    "finding",
    tuple(
        Column(name, kind, nullable=name not in {"code", "severity", "message"}, doc="")
        for name, kind in (
            ("code", "str"),
            ("severity", "str"),
            ("message", "str"),
            ("dir", "str"),
            ("file", "str"),
            ("path", "str"),
            ("position", "int"),
            ("expected", "str"),
            ("found", "str"),
        )
    ),
)


ERROR_ROW = RowType(
    "error",
    tuple(
        Column(name, kind, nullable=name in {"position", "field"}, doc="")
        for name, kind in (
            ("path", "str"),
            ("error", "str"),
            ("position", "int"),
            ("field", "str"),
            ("message", "str"),
        )
    ),
)


def write_finding_rows(path: str, form: OutputFormat, findings: list[Finding]) -> None:
    """Write findings to a new file in place of `path`."""
    _write(path, form, FINDING_ROW, map(_values, findings), (findings, []))


def write_failure_rows(path: str, form: OutputFormat, failures: list[Failure]) -> None:
    """Write errors to a new file in place of `path`."""
    _write(path, form, ERROR_ROW, map(tuple, failures), ([], failures))


def write_messages(path: str, form: OutputFormat, findings: list[Finding], failures: list[Failure]) -> None:
    """Write findings to a new file in place of `path`; ndjson, as on stdout, has the errors, too."""
    if form.carries_findings:
        _write(path, form, FINDING_ROW, (), (findings, failures))
    else:
        write_finding_rows(path, form, findings)


def _write(
    path: str,
    form: OutputFormat,
    row_type: RowType,
    values: Iterable[Iterable[object]],
    messages: tuple[list[Finding], list[Failure]],
) -> None:
    """Write rows, or the lines that a format has for findings and errors."""
    view = View(f"{row_type.name}s", form, (row_type,), tagged=False)
    if form.carries_findings:
        write_rows(path, (), view, lambda: messages)
        return
    row = plain_row_type(row_type)
    write_rows(path, (row(one) for one in values), view, lambda: ([], []))


def _values(finding: Finding) -> list[object]:
    values = finding_values(finding)
    texts = {name: None if values[name] is None else str(values[name]) for name in ("expected", "found")}
    return [*{**values, **texts}.values()]
