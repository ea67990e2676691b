"""The output formats: one table. A new format is a row here and its writer."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from kcli.output.values import compact, csv_cell, spaced, tsv_cell

BETWEEN_ROWS = ",\n  "
"""In a json document."""


class RowStyle(NamedTuple):
    """How a format writes values, and what separates these; `colon` is None where a header has the names."""

    cell: Callable[..., str]
    comma: str
    colon: str | None
    end: str

    def with_null(self, null: str | None) -> "RowStyle":
        """Return the same with another text for nulls, in csv and tsv; None: the usual one."""
        if null is None or self.colon is not None:
            return self
        return self._replace(cell=partial(self.cell, null=null))


class OutputFormat(NamedTuple):
    """One format of `-o` or `--out`.

    `is_flat`: one header for all rows, so they are of one type. `carries_findings`: findings are in the
    output itself, elsewhere they go to stderr. `streams`: rows are written as they come. `on_stdout`: `-o`
    takes it. `extension` of a file that `--out` takes, None for none. `writer`: the name, in a module of
    kcli.output, of the function that writes rows to stdout. `style`: how single rows are encoded, None where
    they are not. `of`: the commands whose rows it is for; None: any. `is_summary`: it is made of all rows at
    once, counts findings and errors wherever those are shown, and --out writes it even if no input could be
    answered: a number of before would look like now. `counts`: what it has many of. `is_view`: for people,
    rows of all types as the terminal shows them.
    """

    name: str
    is_flat: bool = False
    carries_findings: bool = False
    streams: bool = True
    on_stdout: bool = True
    extension: str | None = None
    writer: str = ""
    style: RowStyle | None = None
    of: frozenset[str] | None = None
    is_summary: bool = False
    counts: str = "rows"
    is_view: bool = False

    def is_for(self, command: str) -> bool:
        """Whether a command has it."""
        return self.of is None or command in self.of

    @property
    def takes_blocks(self) -> bool:
        """Whether rows may come as Arrow blocks."""
        return self.style is not None or self == PARQUET

    @property
    def is_whole(self) -> bool:
        """Whether its writer takes all rows at once, for a file too, and returns how many things it wrote."""
        return self.is_view or self.is_summary

    def load_writer(self) -> Any:
        """Return the `writer`; what it needs is imported now: rich is slow."""
        module, _, function = self.writer.partition(".")
        return getattr(import_module(f"kcli.output.{module}"), function)


TABLE = OutputFormat("table", is_flat=True, streams=False, writer="text_table.write_table", is_view=True)
"""The view of the rows, for people."""
WIDE = OutputFormat("wide", is_flat=True, streams=False, writer="text_table.write_wide")
"""A table of every column."""
JSON = OutputFormat(
    "json",
    carries_findings=True,
    writer="structured.write_json",
    style=RowStyle(spaced, ", ", ": ", "}" + BETWEEN_ROWS),
)
NDJSON = OutputFormat(
    "ndjson",
    carries_findings=True,
    extension="ndjson",
    writer="structured.write_ndjson",
    style=RowStyle(compact, ",", ":", "}\n"),
)
CSV = OutputFormat(
    "csv",
    is_flat=True,
    extension="csv",
    writer="structured.write_csv",
    style=RowStyle(csv_cell, ",", None, "\n"),
)
TSV = OutputFormat(
    "tsv", is_flat=True, writer="structured.write_tsv", style=RowStyle(tsv_cell, "\t", None, "\n")
)
TEXT = OutputFormat("text", extension="txt", counts="lines")
"""Lines that a command makes of its rows itself."""
IN_PROCESS = OutputFormat("rows", on_stdout=False)
"""No text: rows as they are, for a program that runs a command in its own process."""
PARQUET = OutputFormat("parquet", is_flat=True, on_stdout=False, extension="parquet")
HTML = OutputFormat(
    "html",
    is_flat=True,
    carries_findings=True,
    streams=False,
    extension="html",
    writer="html.write_html",
    is_view=True,
)
"""The view as a page that needs nothing else."""
MARKDOWN = HTML._replace(name="markdown", extension="md", writer="markdown.write_markdown")
JUNIT = OutputFormat(
    "junit", is_flat=True, carries_findings=True, writer="verdicts.write_junit", of=frozenset({"check"})
)
PROMETHEUS = OutputFormat(
    "prometheus",
    carries_findings=True,
    streams=False,
    extension="prom",
    writer="metrics.write_prometheus",
    of=frozenset({"check", "startup", "ls", "rlmm check", "retention", "group offsets", "txn open"}),
    is_summary=True,
    counts="series",
)

FORMATS = {
    form.name: form
    for form in (
        *(TABLE, WIDE, JSON, NDJSON, CSV, TSV, TEXT, IN_PROCESS, PARQUET, HTML, MARKDOWN, JUNIT),
        PROMETHEUS,
    )
}


_BY_EXTENSION = {form.extension: form for form in FORMATS.values() if form.extension is not None}


def is_run_directory(path: str | None) -> bool:
    """Whether the path of `--out` names a directory for rows, findings and errors."""
    return path is not None and path.endswith("/")


def format_of(name: str | None, path: str | None, *, is_terminal: bool) -> OutputFormat | None:
    """Return the format that `-o` names, `--out` ends in, or stdout has; None for no format."""
    if path is not None and not is_run_directory(path):
        stem, _, extension = path.rpartition("/")[2].rpartition(".")
        return _BY_EXTENSION.get(extension) if stem else None
    if path is not None:
        return NDJSON if name is None else FORMATS.get(name)
    if name is not None:
        return FORMATS.get(name)
    return TABLE if is_terminal else TSV
