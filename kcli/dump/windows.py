"""Some of the batches of a window, and the block that they are."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from formats.batch import LOG_OVERHEAD
from formats.bulk import together
from formats.magic import is_legacy
from kcli.dump.block import Block
from kcli.engine.contract import ResumePoint
from kcli.logdir.bulk import Window
from kcli.logdir.segment import DamagedRange, Stop

WORTH_A_BLOCK = 8192
"""Batches of a block: a call of an Arrow kernel costs as much for ten of them as for a thousand."""


def gathered_headers(
    items: Iterable[Window | DamagedRange | Stop],
) -> Iterator[Window | DamagedRange | Stop]:
    """Yield windows without their bytes, those with few batches joined to larger ones; all else as it is."""
    held: list[Window] = []
    for item in items:
        if isinstance(item, Window):
            held.append(item._replace(data=item.data[:0]))
            if sum(len(window.positions) for window in held) < WORTH_A_BLOCK:
                continue
        if held:
            yield _joined(held)
            held = []
        if not isinstance(item, Window):
            yield item
    if held:
        yield _joined(held)


def _joined(windows: list[Window]) -> Window:
    return windows[0]._replace(
        positions=np.concatenate([window.positions for window in windows]),
        fields=together([window.fields for window in windows]),
        valid=np.concatenate([valid_of(window) for window in windows]),
    )


def valid_of(window: Window) -> NDArray[np.bool_]:
    """Return which checksums of a verified window match."""
    if window.valid is None:
        raise AssertionError("a verified window knows its checksums")
    return window.valid


def some_of(window: Window, mask: NDArray[np.bool_]) -> Window:
    """Return some of the batches of a window."""
    if mask.all():
        return window
    return window._replace(
        positions=window.positions[mask], fields=window.fields[mask], valid=valid_of(window)[mask]
    )


def runs(window: Window) -> Iterator[Window]:
    """Yield the batches of a window, neighbours of one kind of magic together."""
    legacy = is_legacy(window.fields["magic"])
    bounds = [0, *((legacy[1:] != legacy[:-1]).nonzero()[0] + 1).tolist(), len(legacy)]
    for begin, end in pairwise(bounds):
        if begin < end:
            yield window_slice(window, begin, end)


def each(window: Window) -> Iterator[Window]:
    """Yield the batches of a window one by one."""
    return (window_slice(window, number, number + 1) for number in range(len(window.positions)))


def window_slice(window: Window, begin: int, end: int) -> Window:
    """Return the batches from `begin` to `end` (exclusive)."""
    span = slice(begin, end)
    return window._replace(
        positions=window.positions[span], fields=window.fields[span], valid=valid_of(window)[span]
    )


def block_of(window: Window) -> Block:
    """Return the batches of a window as a block that ends after the last one."""
    return Block(window.positions, window.fields, valid_of(window), resume=after(window))


def after(window: Window) -> ResumePoint:
    """Return the place after the last batch."""
    return ResumePoint(int(window.positions[-1]) + LOG_OVERHEAD + int(window.fields["batch_length"][-1]))
