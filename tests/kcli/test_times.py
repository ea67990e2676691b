"""Times and durations as people read them."""

import pytest

from kcli.times import TimeWordError, duration, duration_ms, moment_ms


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


NOW = 1_780_000_000_123  # 2026-05-28 20:26:40.123
HOUR, DAY = 3_600_000, 86_400_000
TODAY = NOW - NOW % DAY


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("0", 0),
        ("-1", -1),
        ("9223372036854775807", (1 << 63) - 1),
        ("now", NOW),
        ("today", TODAY),
        ("yesterday", TODAY - DAY),
        ("tomorrow", TODAY + DAY),
        ("1h", NOW - HOUR),
        ("@-1h", NOW - HOUR),
        ("@+1h30m", NOW + HOUR * 3 // 2),
        ("500ms", NOW - 500),
        ("1970-01-02", DAY),
        ("1970-01-01T01:00", HOUR),
        ("1970-01-01T01:00:00.5", HOUR + 500),
        ("1970-01-01T01:00+02:00", -HOUR),
        ("1969-12-31T23:59:59.9999", -1),
    ],
)
def test_moments(text, moment):
    assert moment_ms(text, NOW) == moment


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-1h", "for so long ago write 1h"),
        ("-", "expected epoch milliseconds"),
        ("soon", "expected epoch milliseconds"),
        ("2026-13-01", "expected epoch milliseconds"),
        ("9223372036854775808", "64-bit"),
        ("@+999999999999w", "64-bit"),
        ("@-1x", "expected a duration"),
    ],
)
def test_words_that_are_no_moment(text, says):
    with pytest.raises(TimeWordError, match=says):
        moment_ms(text, NOW)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("0s", 0), ("500ms", 500), ("15m", 900_000), ("1h30m", HOUR * 3 // 2), ("2d1w", 9 * DAY)],
)
def test_durations(text, milliseconds):
    assert duration_ms(text) == milliseconds


def test_a_duration_of_more_milliseconds_than_64_bits_hold_is_refused():
    with pytest.raises(TimeWordError, match="64-bit"):
        duration_ms("999999999999w")
