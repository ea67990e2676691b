"""Arrow arrays made of numpy's, from their buffers.

`pyarrow.array` and `pyarrow.scalar` import pandas where it is installed, to know its types: a third of a
second and 50 MB for a process that has none of them.
"""

import errno
from collections.abc import Sequence, Sized
from decimal import Context, Decimal
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from formats.batch import MAX_INT

Array: TypeAlias = Any
DataType: TypeAlias = Any

ALL_DIGITS = Context(prec=100)
LARGEST_VALUES = 1 << 29
"""Bytes of texts beyond which 32 bits may be too few to count them."""


def integers(values: NDArray[np.integer[Any]], missing: NDArray[np.bool_] | None = None) -> Array:
    """Return numbers as int64, null where they are missing."""
    data = pa.py_buffer(np.ascontiguousarray(values, np.int64))
    present = None if missing is None or not missing.any() else _bits(~missing)
    return pa.Array.from_buffers(pa.int64(), len(values), [present, data])


def booleans(values: NDArray[np.bool_]) -> Array:
    """Return truth values as bool."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def texts_at(texts: Sequence[str], which: NDArray[np.integer[Any]]) -> Array:
    """Return the text of each number: its place in `texts`."""
    return column(texts, pa.string()).take(integers(which))


def repeated(value: Any, kind: DataType, count: int) -> Array:
    """Return a text, a number or null, `count` times: the beginning of an array that is made once."""
    return _repeated(value, kind, 1 << count.bit_length())[:count]


@lru_cache(16)
def _repeated(value: Any, kind: DataType, count: int) -> Array:
    return pa.nulls(count, kind) if value is None else pa.repeat(column([value], kind)[0], count)


def binary_parts(data: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Array:
    """Return parts of the data, which lie in order, as binary; null where a length is below 0."""
    is_large = len(data) > LARGEST_VALUES
    # One array over all of the data: its even elements are the parts, the others what lies between them.
    bounds = np.empty(2 * len(starts) + 1, np.int64 if is_large else np.int32)
    bounds[:-1:2], bounds[1::2], bounds[-1] = starts, starts + np.maximum(lengths, 0), len(data)
    slices = pa.Array.from_buffers(
        pa.large_binary() if is_large else pa.binary(),
        len(bounds) - 1,
        [None, pa.py_buffer(bounds), pa.py_buffer(data)],
    )
    return slices.take(integers(np.arange(0, len(bounds) - 1, 2), lengths < 0))


def _bits(values: NDArray[np.bool_]) -> Any:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def column(values: Sequence[Any], kind: DataType, *, nullable: bool = True) -> Array:
    """Return Python values as an array of a type of `kcli.output.arrow`; None is null, or 0 or empty.

    The only value of a column is not copied. UnicodeEncodeError for text that is not Unicode, OverflowError
    for a number beyond 64 bits, OSError for one with more digits than a decimal has.
    """
    missing = values.count(None)
    has_nulls = missing > 0 and nullable
    if missing == len(values) and nullable and not pa.types.is_struct(kind):
        return pa.nulls(len(values), kind)
    buffers = [_bits(np.array([value is not None for value in values], np.bool_)) if has_nulls else None]
    children: list[Array] = []
    if pa.types.is_struct(kind):
        for field in kind:
            items = [None if value is None else value[field.name] for value in values]
            is_nullable = field.nullable or pa.types.is_struct(field.type)
            children.append(column(items, field.type, nullable=is_nullable))
    elif pa.types.is_list(kind):
        lists = [value or () for value in values]
        buffers.append(_ends(lists))
        children = [column(list(chain.from_iterable(lists)), kind.value_type)]
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        parts: Sequence[Any] = [value or b"" for value in values] if missing else values
        parts = [text.encode() if text else b"" for text in parts] if pa.types.is_string(kind) else parts
        buffers += [_ends(parts), pa.py_buffer(b"".join(parts))]
    elif pa.types.is_decimal(kind):
        buffers.append(pa.py_buffer(b"".join(_decimal(value or 0, kind) for value in values)))
    else:
        numbers = np.array([value or 0 for value in values] if missing else values, kind.to_pandas_dtype())
        buffers.append(_bits(numbers) if pa.types.is_boolean(kind) else pa.py_buffer(numbers))
    return pa.Array.from_buffers(kind, len(values), buffers, children=children)


def _decimal(value: float | str, kind: DataType) -> bytes:
    """Return a number, or the text of one, as a decimal."""
    number = int(ALL_DIGITS.scaleb(Decimal(str(value)), kind.scale))
    if abs(number) >= 10**kind.precision:
        raise OSError(errno.ERANGE, f"a number has more than {kind.precision} digits")
    return number.to_bytes(kind.byte_width, "little", signed=True)


def _ends(parts: Sequence[Sized]) -> Any:
    """Return the buffer of where parts begin among all of them, and where the last one ends."""
    ends = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=ends[1:])
    if ends[-1] > MAX_INT:
        raise OverflowError("more than 2 GiB of values")
    return pa.py_buffer(ends.astype(np.int32))
