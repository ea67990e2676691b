"""The epoch cache: by which rule an epoch ends, and which epochs are worth asking."""

import pytest

from formats.checkpoint import EpochEntry
from kcli.kafka.storage import leader_epochs


def cache(*pairs):
    return tuple(EpochEntry(*pair) for pair in pairs)


ASKED = cache((2, 10), (4, 20), (7, 35))


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
