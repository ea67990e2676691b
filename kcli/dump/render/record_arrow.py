"""Records of a log as Arrow, made of the columns of `formats.record_columns` without a row in between."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from formats.control import control_type
from formats.record_columns import RecordColumns
from kcli.output.arrow import ArrowSchema, RecordBatch, schema
from kcli.rows.arrow_arrays import column, integers, repeated
from kcli.rows.declare import Value
from kcli.rows.dump import DUMP_RECORD
from kcli.rows.places import FROM_FILE

if TYPE_CHECKING:
    from formats.record_columns import Ints

Array: TypeAlias = Any
DataType: TypeAlias = Any


def record_batch(
    columns: RecordColumns, where: Sequence[Value], positions: "Sequence[int] | Ints"
) -> RecordBatch:
    """Return the records as a RecordBatch of the schema of DUMP_RECORD, as `kcli.output.arrow.batch` makes it of rows.

    `where` are the values of FROM_FILE; `positions` of the columns' batches count bytes of the file. Columns of
    DUMP_RECORD that neither of them tells are null.
    """
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for columns pays for it
    import pyarrow as pa  # noqa: PLC0415

    count, declared = len(columns.offset), _schema()
    made = {
        "position": np.asarray(positions, np.int64)[columns.batch],
        "offset": columns.offset,
        "timestamp": columns.timestamp,
        "key": _binary(columns.data, columns.key_start, columns.key_length),
        "value": _binary(columns.data, columns.value_start, columns.value_length),
        "headers": _headers(columns, declared.field("headers").type),
        "sequence": columns.sequence,
        "control_type": _control_types(columns),
    }
    constant = dict(zip((column.name for column in FROM_FILE), where, strict=True))
    arrays = []
    for field in declared:
        if field.name in made:
            array = made[field.name]
            arrays.append(array if isinstance(array, pa.Array) else integers(array))
        else:
            arrays.append(repeated(constant.get(field.name), field.type, count))
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


@cache
def _schema() -> ArrowSchema:
    return schema(DUMP_RECORD)


def _binary(data: bytes, starts: "Ints", lengths: "Ints") -> Array:
    """Return the parts of the data as an array; a length below 0 is null. Parts must lie in order."""
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for columns pays for it
    import pyarrow as pa  # noqa: PLC0415

    # One array over all of the data: its even elements are the parts, the odd ones what lies between them.
    bounds = np.empty(2 * len(starts) + 1, np.int32)
    bounds[:-1:2], bounds[1::2], bounds[-1] = starts, starts + np.maximum(lengths, 0), len(data)
    whole = pa.Array.from_buffers(
        pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    )
    return whole.take(integers(np.arange(0, len(bounds) - 1, 2), lengths < 0))


def _headers(columns: RecordColumns, kind: DataType) -> Array:
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for columns pays for it
    import pyarrow as pa  # noqa: PLC0415

    bounds = np.concatenate(([0], np.cumsum(columns.headers_count))).astype(np.int32)
    begin = int(columns.headers_first[0]) if len(columns.headers_first) else 0
    span = slice(begin, begin + int(bounds[-1]))
    keys = _texts(_binary(columns.data, columns.header_key_start[span], columns.header_key_length[span]))
    values = _binary(columns.data, columns.header_value_start[span], columns.header_value_length[span])
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(kind.value_type))
    return pa.Array.from_buffers(kind, len(bounds) - 1, [None, pa.py_buffer(bounds)], children=[pairs])


def _texts(keys: Array) -> Array:
    """Return the text of header keys, with Python's escapes for bytes that are not UTF-8."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return column([key.decode(errors="backslashreplace") for key in keys.to_pylist()], pa.string())


def _control_types(columns: RecordColumns) -> Array:
    """Return the types of control records; null for data."""
    import pyarrow as pa  # noqa: PLC0415 - heavy: only who asks for columns pays for it

    at = columns.controls()
    if not len(at):
        return pa.nulls(len(columns.batch), pa.string())
    types: list[str | None] = [None] * len(columns.batch)
    for row, key in zip(
        at.tolist(),
        _binary(columns.data, columns.key_start[at], columns.key_length[at]).to_pylist(),
        strict=True,
    ):
        types[row] = control_type(key)
    return column(types, pa.string())
