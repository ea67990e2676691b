"""Consecutive bins of about equal cost, for the Spark engine and for the Spark source."""

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from kcli.engine.contract import Unit
from kcli.logdir.targets import Target

BINS_A_CORE = 4
COST_OF_A_UNIT = 64 << 10  # what it takes to open a file or a directory, in bytes read


def consecutive_bins(
    groups: Sequence[Sequence[Unit]], cores: int, most_bytes: int, count: int | None = None
) -> Iterator[list[Unit]]:
    """Yield groups of units, in order, in bins of about equal cost: `count`, or a few for each core."""
    costs = [sum(map(_cost, group)) for group in groups]
    total = sum(costs)
    count = count or max(cores * BINS_A_CORE, -(-total // most_bytes))
    middles = (end - (cost + 1) // 2 for end, cost in zip(accumulate(costs), costs, strict=True))
    numbered_groups = zip((middle * count // total for middle in middles), groups, strict=True)
    for _, pairs in groupby(numbered_groups, key=lambda pair: pair[0]):
        yield [unit for _, group in pairs for unit in group]


def _cost(unit: Unit) -> int:
    """Return about how many bytes there are to read of a unit."""
    return COST_OF_A_UNIT + max((unit.end or sum(map(_size_of, unit.targets))) - unit.start, 0)


def _size_of(target: Target) -> int:
    """Return the size of a target; 0 where it is not known."""
    try:
        return os.stat(target.path).st_size
    except OSError:
        return 0
