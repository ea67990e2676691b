"""Rows, findings and errors that are written, in every format."""

import io

import pyarrow.parquet as pq

from kcli.kafka.findings.findings import Finding
from kcli.output.files import (
    nothing,
)
from kcli.output.view import Answer, ViewOptions, make_view
from kcli.rows import Failure
from kcli.rows.remote_metadata import RlmmPartitionRow

ROWS = [RlmmPartitionRow(f"topic,{n}", n, 7 * n) for n in range(5)]


FINDING = Finding("LOG-001", "short", "d", "d/0.log", 100, "61 bytes", 12)


FAILURE = Failure("x", "corrupt", 5, "crc", "byte 5: crc")


FORMATS = ("parquet", "csv", "ndjson")


def view_of(output, command="rlmm partition", **more):
    return make_view(command, Answer(), ViewOptions(output, to_file=True, **more))


def on_stdout(rows, view, tail=nothing):
    out = io.StringIO()
    view.format.load(view.format.writer)(iter(rows), view, out, tail)
    return out.getvalue().encode("utf-8", "backslashreplace")


def read(path):
    return [tuple(row.values()) for row in pq.ParquetFile(path).read().to_pylist()]
