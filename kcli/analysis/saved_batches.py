"""Which batches of a damaged log a clean copy can hold: whole, of right checksum, and with rising offsets.

What is left out is said, range by range.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from formats.batch import LOG_OVERHEAD
from formats.magic import is_above_latest
from kcli.analysis.log_findings import contradicts_itself, has_unknown_codec, is_out_of_reach
from kcli.analysis.salvage import verified_windows
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window
from kcli.logdir.segment import TORN, ZEROS, DamagedRange

DAMAGED, CHECKSUM, MAGIC, HEADER, OFFSETS, CODEC, TRANSACTION = (
    "damaged",
    "checksum",
    "magic",
    "header",
    "offsets",
    "codec",
    "transaction",
)
"""Why bytes are left out."""


class Kept(NamedTuple):
    """Bytes of a log that go into the copy: batches in a row, `last` is the offset of the last."""

    start: int
    end: int
    batches: int
    last: int


class LeftOut(NamedTuple):
    """Bytes that do not, and why; `first_offset` of the batch there, None where there is none."""

    start: int
    end: int
    first_offset: int | None
    reason: str
    batches: int = 0


def sorted_out(file: DataFile, base: int, after: int) -> Iterator[Kept | LeftOut]:
    """Yield what of a log goes into a copy and what does not, in the order of its bytes.

    `base` is the segment's base offset, `after` the last offset of the segments before, -1 for none. A tail
    that is not complete, or zeros, is left out as well: no broker would keep it.
    """
    suspects: list[LeftOut] = []  # batches of wrong checksum, at which a damaged range may begin
    for item in verified_windows(file, 0):
        if isinstance(item, Window):
            for one in _of_window(item, base, after):
                if isinstance(one, LeftOut) and one.reason == CHECKSUM:
                    suspects.append(one)
                    continue
                yield from suspects
                suspects.clear()
                after = one.last if isinstance(one, Kept) else after
                yield one
        elif isinstance(item, DamagedRange):
            yield from _of_range(item, suspects)
            suspects.clear()
        elif item.reason in TORN or item.reason == ZEROS:
            yield from suspects
            suspects.clear()
            yield LeftOut(item.position, file.size, None, DAMAGED)
    yield from suspects


def _of_range(damaged: DamagedRange, suspects: list[LeftOut]) -> Iterator[LeftOut]:
    """Yield the suspects, then the bytes of a damaged range that are not theirs.

    A suspect that runs past the range's end, where a good batch begins, is no batch.
    """
    start = damaged.start
    for one in suspects:
        if one.end <= damaged.end:
            yield one
            start = max(start, one.end)
    if start < damaged.end:
        yield LeftOut(start, damaged.end, None, DAMAGED)


def _of_window(window: Window, base: int, after: int) -> Iterator[Kept | LeftOut]:
    fields, positions = window.fields, window.positions
    sizes = fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    first = fields["base_offset"].astype(np.int64)
    last = first + fields["last_offset_delta"]
    reasons = np.zeros(len(positions), np.int8)
    reasons[has_unknown_codec(fields)] = 5
    reasons[contradicts_itself(fields)] = 3
    reasons[is_above_latest(fields["magic"])] = 2
    if window.valid is not None:
        reasons[~window.valid] = 1
    reasons[(reasons == 0) & is_out_of_reach(fields, base)] = 4
    _mark_out_of_order(reasons, first, last, after)
    begins = np.flatnonzero(np.append(True, (reasons[1:] != reasons[:-1]) | (reasons[1:] > 0)))
    ends = np.append(begins[1:], len(positions))
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        start, stop = int(positions[begin]), int(positions[end - 1] + sizes[end - 1])
        if reasons[begin]:
            reason = (CHECKSUM, MAGIC, HEADER, OFFSETS, CODEC)[int(reasons[begin]) - 1]
            yield LeftOut(start, stop, int(first[begin]), reason, end - begin)
        else:
            yield Kept(start, stop, end - begin, int(last[end - 1]))


def _mark_out_of_order(
    reasons: "np.ndarray[tuple[int], np.dtype[np.int8]]",
    first: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    last: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    after: int,
) -> None:
    """Mark the fewest batches without which offsets rise, from above `after`.

    No checksum covers a base offset: one that is changed to a large one must not cost all batches after it.
    """
    good = np.flatnonzero(reasons == 0)
    highest = np.maximum.accumulate(np.append(after, last[good]))[:-1]
    if (first[good] > highest).all():
        return
    lowest: list[int] = []  # the last offset of a chain of 1, 2, ... batches, as low as it can be
    ends: list[int] = []  # the batch that such a chain ends with
    before: dict[int, int | None] = {}  # the batch before it in its chain
    reasons[good] = 4
    for number in good.tolist():
        if first[number] <= after:
            continue
        length = bisect_left(lowest, first[number])
        before[number] = ends[length - 1] if length else None
        if length == len(lowest):
            lowest.append(int(last[number]))
            ends.append(number)
        elif last[number] < lowest[length]:
            lowest[length], ends[length] = int(last[number]), number
    kept = ends[-1] if ends else None
    while kept is not None:
        reasons[kept] = 0
        kept = before[kept]
