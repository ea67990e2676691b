"""Batches of a log as Arrow, made of their header fields without a row in between."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    COMPRESSION_NAMES,
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    LOG_OVERHEAD,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_MASK,
    TIMESTAMP_TYPES,
    TRANSACTIONAL_MASK,
)
from formats.record_columns import add_sequences
from kcli.arrow_arrays import booleans, integers, repeated, words
from kcli.columns import Value
from kcli.dump_rows import DUMP_BATCH, FROM_FILE
from kcli.output.arrow import ArrowSchema, RecordBatch, schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def batches(fields: "NDArray[np.void]", positions: "NDArray[np.int64]", valid: "NDArray[np.bool_]", where: Sequence[Value]) -> RecordBatch:
    """Return batches of magic 2 as a RecordBatch of the schema of DUMP_BATCH, as `kcli.output.arrow.batch` makes it of rows.

    `where` are the values of FROM_FILE; positions are bytes of the file.
    """
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for columns pays for it
    import pyarrow as pa  # noqa: PLC0415

    declared, count = _schema(), len(positions)
    attributes = fields["attributes"]
    delta = fields["last_offset_delta"].astype(np.int64)
    sequence = fields["base_sequence"].astype(np.int64)
    made: dict[str, Any] = {
        "position": positions,
        "size": fields["batch_length"].astype(np.int64) + LOG_OVERHEAD,
        "last_offset": fields["base_offset"].astype(np.int64) + delta,
        "count": fields["records_count"],
        "last_sequence": np.where(sequence == NO_SEQUENCE, NO_SEQUENCE, add_sequences(sequence, delta)),
        "is_transactional": attributes & TRANSACTIONAL_MASK != 0,
        "is_control": attributes & CONTROL_MASK != 0,
        "delete_horizon_ms": integers(fields["base_timestamp"], attributes & DELETE_HORIZON_MASK == 0),
        "timestamp_type": words(TIMESTAMP_TYPES, attributes & TIMESTAMP_TYPE_MASK != 0),
        "compression": words(_CODECS, attributes & COMPRESSION_CODEC_MASK),
        "is_valid": valid,
    }
    constant = dict(zip((column.name for column in FROM_FILE), where, strict=True))
    arrays = []
    for field in declared:
        if field.name in constant:
            arrays.append(repeated(constant[field.name], field.type, count))
            continue
        found = made[field.name] if field.name in made else fields[field.name]
        if not isinstance(found, pa.Array):
            found = booleans(found) if found.dtype == np.bool_ else integers(found)
        arrays.append(found)
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


_CODECS = [COMPRESSION_NAMES.get(codec, str(codec)) for codec in range(COMPRESSION_CODEC_MASK + 1)]


@cache
def _schema() -> ArrowSchema:
    return schema(DUMP_BATCH)
