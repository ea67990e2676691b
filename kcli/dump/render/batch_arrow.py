"""Batches of a log as Arrow, made of their header fields without a row in between."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from kcli.dump.render.batch_columns import BatchColumn, Sometimes, Words, batch_columns
from kcli.output.arrow import ArrowSchema, RecordBatch, schema
from kcli.rows.arrow_arrays import booleans, integers, repeated, words
from kcli.rows.declare import Value
from kcli.rows.dump import DUMP_BATCH
from kcli.rows.places import FROM_FILE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def batches(
    fields: "NDArray[np.void]",
    positions: "NDArray[np.int64]",
    valid: "NDArray[np.bool_]",
    where: Sequence[Value],
) -> RecordBatch:
    """Return batches of magic 2 as a RecordBatch of the schema of DUMP_BATCH, as `kcli.output.arrow.batch` makes it of rows.

    `where` are the values of FROM_FILE; positions are bytes of the file.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy: only who asks for columns pays for it

    declared = _schema()
    constant = dict(zip((column.name for column in FROM_FILE), where, strict=True))
    made = batch_columns(
        fields, positions, valid, [field.name for field in declared if field.name not in constant]
    )
    arrays = [
        repeated(constant[field.name], field.type, len(positions))
        if field.name in constant
        else _array(made[field.name])
        for field in declared
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


def _array(column: BatchColumn) -> Any:
    if isinstance(column, Words):
        return words(column.named, column.which)
    if isinstance(column, Sometimes):
        return integers(column.values, column.missing)
    return booleans(column) if column.dtype.kind == "b" else integers(column)


@cache
def _schema() -> ArrowSchema:
    return schema(DUMP_BATCH)
