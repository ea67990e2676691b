"""Rows, a finding and an error, and what the writers make of them."""

import io

import pyarrow.parquet as pq
from rich.console import Console

from kcli.kafka.findings.findings import Finding
from kcli.output.files import nothing
from kcli.output.screen import Screen
from kcli.output.table import draw
from kcli.output.table.table_view import TableInput
from kcli.output.view import Answer, ViewOptions, make_view
from kcli.rows import Failure
from kcli.rows.declare import type_of
from kcli.rows.lookups import FoundRecord, LookupTimestampRow
from kcli.rows.partitions import Where
from kcli.rows.remote_metadata import RlmmPartitionRow

FINDING = Finding("LOG-001", "short", "d", "d/0.log", 100, "61 bytes", 12)
FAILURE = Failure("x", "corrupt", 5, "crc", "byte 5: crc")
ROWS = [RlmmPartitionRow(f"topic,{n}", n, 7 * n) for n in range(5)]
FILE_FORMATS = ("parquet", "csv", "ndjson")


def lookup_row(directory="d\n0", topic="t", reason="first at or after"):
    """Return a row of `lookup timestamp`."""
    found = FoundRecord(offset=7, leader_epoch=3, segment_base_offset=0, position=61)
    where = Where(directory, 1, None, topic, 0)
    return LookupTimestampRow(where, 1_700_000_000_000, found=True, record=found, reason=reason)


def view_of(output, command="lookup timestamp", **more):
    """Return a view of a command's rows in an output format."""
    return make_view(command, Answer(), ViewOptions(output, **more))


def file_view(output, command="rlmm partition", **more):
    """Return the view of a file of rows."""
    return view_of(output, command, to_file=True, **more)


def on_stdout(rows, view, tail=nothing):
    """Return the bytes of rows on stdout."""
    out = io.StringIO()
    view.format.load_writer()(iter(rows), view, out, tail)
    return out.getvalue().encode("utf-8", "backslashreplace")


def read_parquet(path):
    """Return the rows of a file."""
    return [tuple(row.values()) for row in pq.ParquetFile(path).read().to_pylist()]


def write(writer, rows, command="lookup timestamp", found=((), ()), **more):
    """Return what a writer writes; `found` are findings and errors."""
    view = view_of(writer.__name__.removeprefix("write_"), command, **more)
    return on_stdout(rows, view, lambda: (list(found[0]), list(found[1]))).decode()


def draw_lines(rows, *findings, width=80, **more):
    """Return the lines that the view of the rows draws."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, _environ={})
    for part in draw(type_of(rows[0]), TableInput(rows, Screen(width, **more), findings)):
        console.print(part, crop=False)
    return out.getvalue().splitlines()
