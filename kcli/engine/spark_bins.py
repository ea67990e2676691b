"""Consecutive bins of about equal cost, for the Spark engine and for the Spark source."""

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import TypeVar

from kcli.logdir.targets import Target

BINS_A_CORE = 4
COST_OF_A_UNIT = 64 << 10
"""What it takes to open a file or a directory, in bytes read."""

T = TypeVar("T")


def consecutive_bins(items: Sequence[T], costs: Sequence[int], count: int) -> Iterator[list[T]]:
    """Yield items, in order, in up to `count` bins of about equal cost; costs are above 0.

    An item is in the bin that the middle of its cost lies in.
    """
    total = sum(costs)
    middles = (end - (cost + 1) // 2 for end, cost in zip(accumulate(costs), costs, strict=True))
    numbered = zip((middle * count // total for middle in middles), items, strict=True)
    for _, group in groupby(numbered, key=lambda pair: pair[0]):
        yield [item for _, item in group]


def bin_count(costs: Sequence[int], cores: int, most_bytes: int) -> int:
    """Return how many bins to make: a few for each core, and none much above `most_bytes`."""
    return max(cores * BINS_A_CORE, -(-sum(costs) // most_bytes))


def size_of(target: Target) -> int:
    """Return about how many bytes there are to read of a target; 0 where its size is not known."""
    try:
        return os.stat(target.path).st_size
    except OSError:
        return 0
