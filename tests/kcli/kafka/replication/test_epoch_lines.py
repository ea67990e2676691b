"""Lines of a leader-epoch-checkpoint against the epochs of the batches."""

import pytest

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.epoch_lines import compared


def cache(*entries):
    return tuple(EpochEntry(*entry) for entry in entries)


@pytest.mark.parametrize(
    ("written", "batches", "expected"),
    [
        ([(1, 0)], [(1, 0)], [(1, "equal")]),
        ([(1, 0), (2, 20)], [(1, 0), (2, 25)], [(1, "equal"), (2, "shifted")]),
        ([(1, 0)], [(1, 0), (2, 20)], [(1, "equal"), (2, "missing")]),
        ([(1, 0), (2, 20)], [(1, 0)], [(1, "equal"), (2, "extra")]),
        ([(1, 0), (2, 40)], [(1, 0)], [(1, "equal"), (2, "past-end")]),
        ([(0, 0), (1, 5)], [(1, 10)], [(0, "below-start"), (1, "equal")]),
    ],
)
def test_each_epoch_has_a_verdict(written, batches, expected):
    found = compared(cache(*written), cache(*batches), 40, 10)

    assert [(one.epoch, one.verdict) for one in found] == expected
