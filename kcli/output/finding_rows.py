"""Findings in a file of their own: rows of csv and parquet, lines of ndjson."""

from kcli.analysis.findings import Finding
from kcli.output.files import write_rows
from kcli.output.formats import OutputFormat
from kcli.output.values import finding_values
from kcli.output.view import View
from kcli.rows import Column, Failure, RowType
from kcli.rows.declare import plain_row_type

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


def write_finding_rows(
    path: str, form: OutputFormat, findings: list[Finding], failures: list[Failure]
) -> None:
    """Write findings to a new file in place of `path`; ndjson, as on stdout, has the errors, too."""
    view = View("findings", form, (FINDING_ROW,), tagged=False)
    if form.carries_findings:
        write_rows(path, (), view, lambda: (findings, failures))
        return
    row = plain_row_type(FINDING_ROW)
    write_rows(path, (row(_values(finding)) for finding in findings), view, lambda: ([], []))


def _values(finding: Finding) -> list[object]:
    values = finding_values(finding)
    texts = {name: None if values[name] is None else str(values[name]) for name in ("expected", "found")}
    return [*{**values, **texts}.values()]
