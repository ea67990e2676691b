"""The epoch cache: the reference's worked examples, and a naive model."""

import pytest

from formats.checkpoint import EpochEntry
from kcli.kafka.storage import leader_epochs


def cache(*pairs):
    return tuple(EpochEntry(*pair) for pair in pairs)


BASE = cache((0, 0), (2, 10), (4, 20))
ASKED = cache((2, 10), (4, 20), (7, 35))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], ()),
        ([(5, 10), (4, 3)], cache((4, 3))),
        ([(0, 0), (1, 0)], cache((1, 0))),
        ([(0, 0), (0, 0), (3, 7)], cache((0, 0), (3, 7))),
        ([(2147483647, 0)], cache((2147483647, 0))),
    ],
)
def test_replay(lines, expected):
    lines = [EpochEntry(*line) for line in lines]
    assert leader_epochs.replay(lines) == expected
    assert leader_epochs.contradicts(lines, expected) == (tuple(lines) != expected)


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (-1, (-1, -1, "undefined-request")),
        (7, (7, 50, "latest")),
        (8, (-1, -1, "above-all")),
        (0, (0, 10, "below-all")),
        (-5, (-5, 10, "below-all")),
        (2, (2, 20, "between")),
        (3, (2, 20, "between")),
        (5, (4, 35, "between")),
    ],
)
def test_end_offset_for(requested, expected):
    assert leader_epochs.end_offset_for(ASKED, requested, 50) == expected


def test_loading():
    loaded = leader_epochs.load(BASE, 20, 12)
    assert loaded == (cache((2, 12)), cache((4, 20)), cache((0, 0), (2, 10)))
    assert leader_epochs.load(BASE, 20, 12, running=True).entries == cache((2, 12), (4, 20))
    assert leader_epochs.load(BASE, 19, 0, running=True).entries == BASE[:2]


def test_recovery_assigns_only_newer_epochs():
    batches = [(-1, 0), (3, 12), (4, 22), (5, 25), (4, 30), (9, 31)]
    assert leader_epochs.recover(BASE, batches) == cache((0, 0), (2, 10), (4, 20), (5, 25), (9, 31))
    assert leader_epochs.recover((), [(-1, 0), (0, 3), (0, 7)]) == cache((0, 3))
    assert leader_epochs.recover((), batches) == cache((3, 12), (4, 22), (5, 25), (9, 31))


def test_epochs_of_batches():
    assert leader_epochs.epochs_of_batches([(-1, 0), (1, 4), (1, 8), (3, 9), (2, 12)]) == cache(
        (1, 4), (2, 12)
    )


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((), (-1, 0)),
        (cache((0, 0)), (-1, 0, 1)),
        (ASKED, (-1, 1, 2, 3, 4, 5, 7, 8)),
        (cache((2147483647, 0)), (-1, 2147483646, 2147483647)),
    ],
)
def test_all_that_is_worth_asking(entries, expected):
    assert leader_epochs.requested_all(entries) == expected


def test_ends():
    assert leader_epochs.ends(BASE, 30) == [10, 20, 30]
    assert leader_epochs.ends((), 30) == []
