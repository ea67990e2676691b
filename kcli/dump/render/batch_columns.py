"""The columns of DUMP_BATCH as Arrow arrays, made of header fields."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

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
    UNKNOWN_COUNT,
)
from formats.record_columns import add_sequences
from kcli.dump.blocks import Block, Ints
from kcli.dump.filter import last_offsets
from kcli.rows.arrow_arrays import booleans, integers, words

Array: TypeAlias = Any

CODEC_NAMES = [COMPRESSION_NAMES.get(codec, str(codec)) for codec in range(COMPRESSION_CODEC_MASK + 1)]
ALL_TIMESTAMP_TYPES = (*TIMESTAMP_TYPES, "NoTimestampType")


def batch_columns(block: Block, names: Iterable[str]) -> dict[str, Array]:
    """Return columns of DUMP_BATCH by name, in the order of the names; those of its source apart."""
    return {name: _MADE[name](block) if name in _MADE else integers(block.fields[name]) for name in names}


def timestamp_types(block: Block) -> Ints:
    """Return which of ALL_TIMESTAMP_TYPES each batch has; magic 0 has none."""
    which: Ints = (block.fields["attributes"] & TIMESTAMP_TYPE_MASK != 0).astype(np.int64)
    return which if block.is_v2 else np.where(block.fields["magic"] == 0, len(TIMESTAMP_TYPES), which)


def is_control(block: Block) -> NDArray[np.bool_]:
    """Return which batches hold control records."""
    return _flag(block, CONTROL_MASK)


def _flag(block: Block, mask: int) -> NDArray[np.bool_]:
    """Return of which batches an attribute is set; of a message of magic 0 or 1 these bits mean nothing."""
    found: NDArray[np.bool_] = (block.fields["attributes"] & mask != 0) & block.is_v2
    return found


def _counts(block: Block) -> Array:
    counts = block.fields["records_count"]
    return integers(counts, None if block.is_v2 else counts == UNKNOWN_COUNT)


def _last_sequences(block: Block) -> Array:
    first = block.fields["base_sequence"].astype(np.int64)
    delta = block.fields["last_offset_delta"].astype(np.int64)
    return integers(np.where(first == NO_SEQUENCE, NO_SEQUENCE, add_sequences(first, delta)))


_MADE: dict[str, Callable[[Block], Array]] = {
    "position": lambda block: integers(block.positions),
    "size": lambda block: integers(block.fields["batch_length"].astype(np.int64) + LOG_OVERHEAD),
    "last_offset": lambda block: integers(last_offsets(block.fields)),
    "count": _counts,
    "last_sequence": _last_sequences,
    "is_transactional": lambda block: booleans(_flag(block, TRANSACTIONAL_MASK)),
    "is_control": lambda block: booleans(is_control(block)),
    "delete_horizon_ms": lambda block: integers(
        block.fields["base_timestamp"], ~_flag(block, DELETE_HORIZON_MASK)
    ),
    "timestamp_type": lambda block: words(ALL_TIMESTAMP_TYPES, timestamp_types(block)),
    "compression": lambda block: words(CODEC_NAMES, block.fields["attributes"] & COMPRESSION_CODEC_MASK),
    "is_valid": lambda block: booleans(block.valid),
}
"""Columns that are not stored as they are shown."""
