"""Rows as Parquet, in row groups that are bounded by rows and bytes."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from kcli.logdir.background import BackgroundCall
from kcli.output.arrow import RecordBatch, batch, schema
from kcli.output.structured import Tail
from kcli.output.view import ShownRow, View
from kcli.rows import COMMANDS, ArrowBlock, Item, row_types
from kcli.rows.arrow_arrays import repeated
from kcli.rows.declare import RowType

ROWS_A_GROUP = 100_000
BYTES_A_GROUP = 8 << 20
"""Of a row group, uncompressed: so much is held in memory."""


class ParquetWriter:
    """Writes Parquet of one row type, in row groups bounded by rows and bytes."""

    def __init__(self, file: BinaryIO, view: View, background: BackgroundCall) -> None:
        (row_type,) = view.types
        self.rows = 0
        self._view = view
        self._sources = view.sources_of(row_type)
        self._row_type = row_type._replace(columns=view.columns_of(row_type))
        self._parquet: Any = parquet.ParquetWriter(
            file,
            schema(self._row_type),
            compression="zstd",
            use_dictionary=_short_columns(view, self._row_type, {"str"}),
            write_statistics=_short_columns(view, self._row_type, {"str", "int", "timestamp", "bool"}),
        )
        self._background = background
        self._pending: list[RecordBatch] = []
        self._pending_rows = self._pending_bytes = 0

    def write(self, rows: Sequence[Item]) -> None:
        """Write rows, one by one or as blocks."""
        plain: list[Item] = []
        for row in self._view.chosen(rows):
            if isinstance(row, ArrowBlock):
                self._write_rows(plain)
                plain = []
                self.write_batch(self._shown_columns(row.batch))
            else:
                plain.append(row)
        self._write_rows(plain)

    def _write_rows(self, rows: list[Item]) -> None:
        if rows:
            self.write_batch(
                batch(
                    self._row_type,
                    [row.values for row in self._view.shown_rows(rows) if isinstance(row, ShownRow)],
                )
            )

    def _shown_columns(self, rows: RecordBatch) -> RecordBatch:
        """Return the shown columns of rows that have all of their type."""
        arrays, fields = [], []
        for column, source in self._sources:
            is_text = isinstance(source, str)
            arrays.append(repeated(source, pa.string(), rows.num_rows) if is_text else rows.column(source))
            fields.append(pa.field(column.name, arrays[-1].type, nullable=column.nullable))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def write_batch(self, rows: RecordBatch) -> None:
        """Write a RecordBatch of the shown columns."""
        self.rows += rows.num_rows
        self._pending.append(rows)
        self._pending_rows += rows.num_rows
        self._pending_bytes += rows.nbytes
        if self._pending_rows >= ROWS_A_GROUP or self._pending_bytes >= BYTES_A_GROUP:
            self._put()

    def finish(self, tail: Tail) -> None:  # noqa: ARG002 - Parquet has no place for findings
        """Write what is held, and the footer."""
        self._put()
        self._background.wait()
        self._parquet.close()

    def abandon(self) -> None:
        """Write no more to the file, whatever is still held."""
        for end in (self._background.wait, self._parquet.close):
            with suppress(Exception):
                end()

    def _put(self) -> None:
        """Write a row group in a thread while the next rows are computed."""
        if self._pending_rows:
            self._background.begin(
                partial(self._parquet.write_table, pa.Table.from_batches(self._pending), ROWS_A_GROUP)
            )
        self._pending.clear()
        self._pending_rows = self._pending_bytes = 0


def _short_columns(view: View, row_type: RowType, kinds: Collection[str]) -> list[str]:
    """Return the columns of these kinds, without those that show bytes as text or numbers.

    A dictionary of values that do not repeat costs time and saves nothing; for the least and the largest of
    long ones Arrow takes six times their bytes, and does not write them.
    """
    types = row_types(view.command) if view.command in COMMANDS else view.types
    declared = {full_type.name: full_type for full_type in types}
    holds_bytes = {column.name for column in declared[row_type.name].columns if column.kind == "bytes"}
    return [
        column.name for column in row_type.columns if column.kind in kinds and column.name not in holds_bytes
    ]


@contextmanager
def parquet_writer(file: BinaryIO, view: View) -> Iterator[ParquetWriter]:
    """Give a writer of Parquet; it writes to the file no more once the block ends."""
    with BackgroundCall() as background:
        out = ParquetWriter(file, view, background)
        try:
            yield out
        finally:
            out.abandon()
