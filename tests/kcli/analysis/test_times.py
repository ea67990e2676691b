"""Times and durations as people read them."""

import pytest

from kcli.analysis.times import duration


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (4_200, "4.2 s"),
        (60_000, "1 min"),
        (185_000, "3 min 5 s"),
        (7_800_000, "2 h 10 min"),
        (86_400_000, "1 d"),
        (273_600_000, "3 d 4 h"),
    ],
)
def test_durations_have_their_two_largest_units(milliseconds, text):
    assert duration(milliseconds) == text
