"""The columns of DUMP_BATCH, of batches of magic 2, as numpy makes them of header fields."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

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
from kcli.dump.render.pieces import Piece, either, is_constant, numerals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CODECS = [COMPRESSION_NAMES.get(codec, str(codec)) for codec in range(COMPRESSION_CODEC_MASK + 1)]


class Words(NamedTuple):
    """A column of few words, and which of them stands in each row."""

    named: Sequence[str]
    which: "NDArray[np.integer[Any]]"


class Sometimes(NamedTuple):
    """A column of numbers, and in which rows there is none."""

    values: "NDArray[np.integer[Any]]"
    missing: "NDArray[np.bool_]"


BatchColumn: TypeAlias = "NDArray[Any] | Words | Sometimes"


def batch_columns(
    fields: "NDArray[np.void]",
    positions: "NDArray[np.int64]",
    valid: "NDArray[np.bool_]",
    names: Iterable[str],
) -> dict[str, BatchColumn]:
    """Return columns of DUMP_BATCH by name, those of FROM_FILE apart; positions are bytes of the file."""
    import numpy as np  # noqa: PLC0415 - heavy: only who asks for columns pays for it

    attributes = fields["attributes"]
    delta = fields["last_offset_delta"].astype(np.int64)
    base_offset = fields["base_offset"]
    sequence = fields["base_sequence"].astype(np.int64)
    made: dict[str, BatchColumn] = {
        "position": positions,
        "size": fields["batch_length"].astype(np.int64) + LOG_OVERHEAD,
        "base_offset": base_offset,
        # tiny batches end where they begin: the same object, so that it is made text once
        "last_offset": base_offset.astype(np.int64) + delta if delta.any() else base_offset,
        "count": fields["records_count"],
        "last_sequence": np.where(sequence == NO_SEQUENCE, NO_SEQUENCE, add_sequences(sequence, delta)),
        "is_transactional": attributes & TRANSACTIONAL_MASK != 0,
        "is_control": attributes & CONTROL_MASK != 0,
        "delete_horizon_ms": Sometimes(fields["base_timestamp"], attributes & DELETE_HORIZON_MASK == 0),
        "timestamp_type": Words(TIMESTAMP_TYPES, (attributes & TIMESTAMP_TYPE_MASK != 0).astype(np.int64)),
        "compression": Words(CODECS, attributes & COMPRESSION_CODEC_MASK),
        "is_valid": valid,
    }
    return {name: made[name] if name in made else fields[name] for name in names}


def column_piece(
    column: BatchColumn, cell: Callable[[str | None], str], number: Callable[[int], str] = str
) -> Piece:
    """Return a column as text: words and what is missing as `cell` writes them, numbers that may be missing as `number` does."""
    if isinstance(column, Words):
        named = [cell(word) for word in column.named]
        return (
            named[column.which[0]]
            if is_constant(column.which)
            else [named[which] for which in column.which.tolist()]
        )
    if isinstance(column, Sometimes):
        if column.missing.all():
            return cell(None)
        pairs = zip(column.values.tolist(), column.missing.tolist(), strict=True)
        return [cell(None) if missing else number(value) for value, missing in pairs]
    return either(column, "true", "false") if column.dtype.kind == "b" else numerals(column)
