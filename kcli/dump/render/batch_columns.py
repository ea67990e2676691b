"""The columns of DUMP_BATCH, as numpy makes them of header fields."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
from formats.bulk import UNKNOWN_COUNT
from formats.record_columns import add_sequences
from kcli.dump.blocks import Block
from kcli.dump.filter import last_offsets

CODECS = [COMPRESSION_NAMES.get(codec, str(codec)) for codec in range(COMPRESSION_CODEC_MASK + 1)]
ALL_TIMESTAMP_TYPES = (*TIMESTAMP_TYPES, "NoTimestampType")
NO_TIMESTAMP_TYPE = len(TIMESTAMP_TYPES)


class DictionaryColumn(NamedTuple):
    """A column of few texts, and which of them each row has."""

    texts: Sequence[str]
    which: NDArray[np.integer[Any]]


class NullableColumn(NamedTuple):
    """A column of numbers, and in which rows there is none."""

    values: NDArray[np.integer[Any]]
    missing: NDArray[np.bool_]


BatchColumn: TypeAlias = NDArray[Any] | DictionaryColumn | NullableColumn


def batch_columns(block: Block, names: Iterable[str]) -> dict[str, BatchColumn]:
    """Return columns of DUMP_BATCH by name, in the order of the names; those of its source apart."""
    return {name: _MADE[name](block) if name in _MADE else block.fields[name] for name in names}


def timestamp_types(block: Block) -> DictionaryColumn:
    """Return the timestamp type of each batch; magic 0 has none."""
    which = (block.fields["attributes"] & TIMESTAMP_TYPE_MASK != 0).astype(np.int64)
    if not block.is_v2:
        which = np.where(block.fields["magic"] == 0, NO_TIMESTAMP_TYPE, which)
    return DictionaryColumn(ALL_TIMESTAMP_TYPES, which)


def is_control(block: Block) -> NDArray[np.bool_]:
    """Return which batches hold control records."""
    return _flag(block, CONTROL_MASK)


def _flag(block: Block, mask: int) -> NDArray[np.bool_]:
    """Return of which batches an attribute is set; of a message of magic 0 or 1 these bits mean nothing."""
    found: NDArray[np.bool_] = (block.fields["attributes"] & mask != 0) & block.is_v2
    return found


def _counts(block: Block) -> BatchColumn:
    counts: NDArray[np.integer[Any]] = block.fields["records_count"]
    return counts if block.is_v2 else NullableColumn(counts, counts == UNKNOWN_COUNT)


def _last_sequences(block: Block) -> BatchColumn:
    first = block.fields["base_sequence"].astype(np.int64)
    delta = block.fields["last_offset_delta"].astype(np.int64)
    found: NDArray[np.int64] = np.where(first == NO_SEQUENCE, NO_SEQUENCE, add_sequences(first, delta))
    return found


_MADE: dict[str, Callable[[Block], BatchColumn]] = {
    "position": lambda block: block.positions,
    "size": lambda block: block.fields["batch_length"].astype(np.int64) + LOG_OVERHEAD,
    "last_offset": lambda block: last_offsets(block.fields),
    "count": _counts,
    "last_sequence": _last_sequences,
    "is_transactional": lambda block: _flag(block, TRANSACTIONAL_MASK),
    "is_control": is_control,
    "delete_horizon_ms": lambda block: NullableColumn(
        block.fields["base_timestamp"], ~_flag(block, DELETE_HORIZON_MASK)
    ),
    "timestamp_type": timestamp_types,
    "compression": lambda block: DictionaryColumn(
        CODECS, block.fields["attributes"] & COMPRESSION_CODEC_MASK
    ),
    "is_valid": lambda block: block.valid,
}
"""Columns that are not stored as they are shown."""


def listed(column: BatchColumn) -> list[Any]:
    """Return a column as Python's values."""
    if isinstance(column, DictionaryColumn):
        return [column.texts[which] for which in column.which.tolist()]
    if isinstance(column, NullableColumn):
        pairs = zip(column.values.tolist(), column.missing.tolist(), strict=True)
        return [None if missing else value for value, missing in pairs]
    values: list[Any] = column.tolist()
    return values
