"""Where the records of many batches begin: the chains of their lengths.

Only the length of a record says where the next begins. The chains of many batches are
walked in step, those of a few one by one. The layout is that of `formats.record`.
"""

from array import array
from functools import cache
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

RECORDS_A_STEP = 32
"""A step of many batches at once costs as much as so many records one by one."""

VARINT = 5
"""Bytes of the longest."""
LONG, NO_RECORD = -1, 0


def chains(data: bytes, sizes: list[int], counts: list[int]) -> tuple[Ints, Ints, set[int]]:
    """Return where each record begins, the first record of each batch, and the batches of broken chains.

    The bodies lie one after the other in `data`, which has two bytes more; `sizes` are theirs in bytes,
    `counts` the records that each should have. A batch with a broken chain has no records.
    """
    walk = _stepped if sum(counts) >= RECORDS_A_STEP * max(counts) else _walked
    return walk(data, sizes, counts)


def _stepped(data: bytes, sizes: list[int], counts: list[int]) -> tuple[Ints, Ints, set[int]]:
    """Return what `_walked` does, all batches a record further in each step."""
    ends = np.cumsum(sizes)
    records = np.array(counts)
    # those of most records first, so that the ones still under way are the first ones
    order = np.argsort(-records, kind="stable")
    at = np.concatenate(([0], ends[:-1]))[order]
    going = np.searchsorted(-records[order], -np.arange(records.max()), side="left").tolist()
    starts = np.zeros(records.sum(), np.int64)
    place = (np.cumsum(records) - records)[order]
    broken = np.zeros(len(sizes), np.bool_)
    pairs = np.ndarray((len(data) - 1,), "<u2", data, strides=(1,))
    widths = _widths()
    for step, some in enumerate(going):
        here = at[:some]
        starts[place[:some] + step] = here
        width = widths[pairs[np.minimum(here, len(pairs) - 1)]]
        if width.min() <= 0:
            for number in np.flatnonzero(width == LONG).tolist():
                value, size = _length(data, int(here[number]))
                width[number] = NO_RECORD if value & 1 or not value else (value >> 1) + size
            broken[:some] |= width == NO_RECORD
        here += width
    bad = np.empty(len(sizes), np.bool_)
    bad[order] = broken | (at != ends[order])
    if bad.any():
        starts = starts[np.repeat(~bad, records)]
        records[bad] = 0
    return starts, np.concatenate(([0], np.cumsum(records))), set(np.flatnonzero(bad).tolist())


@cache
def _widths() -> NDArray[np.int64]:
    """Return for the first two bytes of a record, the low one first, how many bytes it has with its length.

    LONG for a length of more than two bytes, NO_RECORD for one that no record has.
    """
    pair = np.arange(1 << 16)
    is_short = pair & 0x80 == 0
    value = np.where(is_short, pair & 0x7F, pair & 0x7F | pair >> 1 & 0x3F80)
    width = np.where((value & 1 != 0) | (value == 0), NO_RECORD, (value >> 1) + np.where(is_short, 1, 2))
    return np.where(pair & 0x8080 == 0x8080, LONG, width)


def _walked(data: bytes, sizes: list[int], counts: list[int]) -> tuple[Ints, Ints, set[int]]:
    """Return where each record begins, the first record of each batch, and the batches of broken chains.

    A batch with a broken chain has no records.
    """
    starts = array("q")
    bounds, broken, at, end = [0], set(), 0, 0
    append = starts.append
    for number, (size_of_all, count) in enumerate(zip(sizes, counts, strict=True)):
        at, end = end, end + size_of_all
        for _ in repeat(None, count):
            if at >= end:
                break
            append(at)
            value, size = data[at], 1
            if value >= 0x80:
                high, size = data[at + 1], 2
                if high < 0x80:
                    value += (high - 1) << 7
                else:
                    value, size = _length(data, at)
            if value & 1 or not value:
                break
            at += (value >> 1) + size
        if at != end or len(starts) - bounds[-1] != count:
            broken.add(number)
            del starts[bounds[-1] :]
        bounds.append(len(starts))
    return np.frombuffer(starts, np.int64), np.array(bounds, np.int64), broken


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return the bits and the bytes of a length's varint; no bits for one that is too long."""
    value, shift = 0, 0
    for size, byte in enumerate(data[at : at + VARINT], 1):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, size
        shift += 7
    return 0, 0
