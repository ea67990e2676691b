"""Where the leader epochs of two replicas part, and where a checkpoint differs from its batches."""

import pytest

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.epoch_comparison import find_divergence


def history(*entries):
    return tuple(EpochEntry(*entry) for entry in entries)


ONE = history((1, 0), (4, 10), (6, 20))


@pytest.mark.parametrize(
    ("other", "other_end", "expected"),
    [
        (ONE, 30, (None, 6, 0, 30)),
        (ONE, 15, (None, 4, 0, 15)),
        (history((1, 0), (5, 10)), 30, (10, 1, 0, 30)),
        (history((1, 0), (4, 10), (6, 22)), 30, (20, 4, 0, 30)),
        (history((2, 0)), 30, (0, None, 0, 30)),
        (history((4, 12), (7, 25)), 40, (20, 4, 12, 30)),
        (history((9, 50)), 60, (None, None, 50, 50)),
        ((), 0, (None, None, 0, 0)),
        ((), 20, (None, None, 0, 20)),
    ],
)
def test_histories_part_at_the_first_offset_of_different_epochs(other, other_end, expected):
    assert find_divergence(ONE, 30, other, other_end) == expected
    first, common, *bounds = find_divergence(other, other_end, ONE, 30)
    assert (first, common, *bounds) == expected
