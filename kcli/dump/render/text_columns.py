"""Text made of columns by Arrow's kernels: one part of many lines, and the lines themselves."""

import binascii
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kcli.rows.arrow_arrays import booleans, column, integers, words

Array: TypeAlias = Any
Ints: TypeAlias = NDArray[np.int64]
TextColumn: TypeAlias = str | Array
"""One part of every line: the same text, or an array with one text per line; null is empty."""

LARGEST_STRINGS = 1 << 29
"""Bytes of texts beyond which 32 bits may be too few to count them."""


def joined(columns: Sequence[TextColumn], count: int) -> Array:
    """Return the lines that the columns make side by side, as an array of so many texts."""
    merged: list[TextColumn] = []
    for one in columns:
        if isinstance(one, str) and merged and isinstance(merged[-1], str):
            merged[-1] += one
        elif not isinstance(one, str) or one:
            merged.append(one)
    if not count:
        return pa.nulls(0, pa.string())
    if all(isinstance(one, str) for one in merged):
        return pa.repeat(_scalar("".join(merged)), count)
    arrays = [_datum(one) for one in merged]
    is_large = sum(0 if isinstance(one, str) else one.nbytes for one in merged) > LARGEST_STRINGS
    if is_large or any(pa.types.is_large_string(one.type) for one in arrays):
        arrays = [one.cast(pa.large_string()) for one in arrays]
    kind = arrays[0].type
    return pc.binary_join_element_wise(
        *arrays, _scalar("").cast(kind), null_handling="replace", null_replacement=""
    )


def texts(lines: Array) -> memoryview:
    """Return the bytes of an array of texts, one after the other."""
    data = lines.buffers()[2]
    if not len(lines) or data is None:
        return memoryview(b"")
    bounds = _bounds(lines)
    return memoryview(data)[bounds[0] : bounds[-1]].cast("B")


def spans(lines: Array, first: Ints) -> Array:
    """Return consecutive lines joined: text i has those from `first[i]` to `first[i + 1]` (exclusive)."""
    bounds = np.ascontiguousarray(_bounds(lines)[first])
    return pa.Array.from_buffers(lines.type, len(first) - 1, [None, pa.py_buffer(bounds), lines.buffers()[2]])


def decimal(values: NDArray[np.integer[Any]]) -> TextColumn:
    """Return numbers as decimal text."""
    return str(values[0]) if is_constant(values) else integers(values).cast(pa.string())


def optional(
    values: NDArray[np.integer[Any]],
    missing: NDArray[np.bool_],
    none: str,
    around: tuple[str, str] = ("", ""),
) -> TextColumn:
    """Return numbers as decimal text with what is around each; `none` where they are missing."""
    before, after = around
    if missing.all():
        return none
    return either(missing, none, joined([before, decimal(values), after], len(values)))


def either(mask: NDArray[np.bool_], yes: TextColumn, no: TextColumn) -> TextColumn:
    """Return one column where a mask is true, another where it is not."""
    if is_constant(mask):
        return yes if mask[0] else no
    return pc.if_else(booleans(mask), _datum(yes), _datum(no))


def chosen(choices: Sequence[str], which: NDArray[np.integer[Any]]) -> TextColumn:
    """Return the text of each number: its place in `choices`."""
    return choices[which[0]] if is_constant(which) else words(choices, which)


def parts(data: bytes, starts: Ints, lengths: Ints) -> Array:
    """Return parts of the data, which lie in order; null where a length is below 0."""
    return binary_parts(data, starts, lengths).view(
        pa.large_string() if len(data) > LARGEST_STRINGS else pa.string()
    )


def binary_parts(data: bytes, starts: Ints, lengths: Ints) -> Array:
    """Return the same as bytes."""
    is_large = len(data) > LARGEST_STRINGS
    # One array over all of the data: its even elements are the parts, the others what lies between them.
    bounds = np.empty(2 * len(starts) + 1, np.int64 if is_large else np.int32)
    bounds[:-1:2], bounds[1::2], bounds[-1] = starts, starts + np.maximum(lengths, 0), len(data)
    whole = pa.Array.from_buffers(
        pa.large_binary() if is_large else pa.binary(),
        len(bounds) - 1,
        [None, pa.py_buffer(bounds), pa.py_buffer(data)],
    )
    return whole.take(integers(np.arange(0, len(bounds) - 1, 2), lengths < 0))


def base64(data: bytes, starts: Ints, lengths: Ints) -> TextColumn:
    """Return the base64 of parts of the data, in order; a length of 0 or less gives an empty text."""
    sizes = np.maximum(lengths, 0)
    if not sizes.any():
        return ""
    # Whole groups of three bytes are encoded together. Where zeros fill a group, "=" replaces their digits.
    fill = -sizes % 3
    groups = joined([parts(data, starts, lengths), chosen(["", "\0", "\0\0"], fill)], len(sizes))
    encoded = bytearray(binascii.b2a_base64(texts(groups), newline=False))
    ends = np.zeros(len(sizes) + 1, np.int64 if len(encoded) > LARGEST_STRINGS else np.int32)
    np.cumsum((sizes + fill) // 3 * 4, out=ends[1:])
    characters = np.frombuffer(encoded, np.uint8)
    characters[ends[1:][fill > 0] - 1] = ord("=")
    characters[ends[1:][fill > 1] - 2] = ord("=")
    kind = pa.large_string() if len(encoded) > LARGEST_STRINGS else pa.string()
    return pa.Array.from_buffers(kind, len(sizes), [None, pa.py_buffer(ends), pa.py_buffer(encoded)])


def strings(values: Sequence[str | bytes | None]) -> Array:
    """Return Python's texts, or bytes of UTF-8, as an array."""
    raw = [value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value for value in values]
    return column(raw, pa.binary()).view(pa.string())


def is_constant(values: NDArray[np.generic]) -> bool:
    """Whether all of some values, which are not none, are the same."""
    return bool(len(values)) and bool((values == values[0]).all())


def _bounds(lines: Array) -> NDArray[np.signedinteger[Any]]:
    """Return where each text begins in the bytes of an array, and where the last one ends."""
    kind = np.int64 if pa.types.is_large_string(lines.type) else np.int32
    bounds: NDArray[np.signedinteger[Any]] = np.frombuffer(lines.buffers()[1], kind)
    return bounds[lines.offset : lines.offset + len(lines) + 1]


def _datum(one: TextColumn) -> Any:
    return _scalar(one) if isinstance(one, str) else one


def _scalar(text: str) -> Any:
    return column([text], pa.string())[0]
