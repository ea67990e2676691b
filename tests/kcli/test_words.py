"""Numbers, ranges, times and durations as people write and read them."""

import pytest

from kcli.cli.parsers import parse_epochs as epochs_of
from kcli.cli.parsers import parse_offset
from kcli.cli.status import UsageError
from kcli.words import WordError, duration, duration_ms, moment_ms, parse_times, partition_ranges
from kcli.words import parse_offsets as offsets_of
from kcli.words import parse_partitions as partitions_of

NOW = 1_780_000_000_123  # 2026-05-28 20:26:40.123


def moment(text):
    return moment_ms(text, NOW)


def times(text):
    return parse_times("--time", text, moment)


def parse_epochs(text):
    return epochs_of([text])


def parse_partitions(text):
    return partitions_of(text.split(","))


def parse_offsets(text):
    return offsets_of("--offsets", text)


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


HOUR, DAY = 3_600_000, 86_400_000
TODAY = NOW - NOW % DAY


@pytest.mark.parametrize(
    ("text", "milliseconds"),
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
def test_moments(text, milliseconds):
    assert moment(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("0s", 0), ("500ms", 500), ("15m", 900_000), ("1h30m", HOUR * 3 // 2), ("2d1w", 9 * DAY)],
)
def test_durations(text, milliseconds):
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_epochs, "all", None),
        (parse_epochs, "7,-1, 3", (7, -1, 3)),
        (parse_epochs, "2147483647", (2**31 - 1,)),
        (parse_epochs, "7,-1..2,1", (7, -1, 0, 1, 2)),
        (parse_partitions, "0-3,7", {0, 1, 2, 3, 7}),
        (parse_partitions, "0..3,7", {0, 1, 2, 3, 7}),
        (parse_partitions, "1-1", {1}),
        (parse_partitions, "0-2,1-3", {0, 1, 2, 3}),
        (parse_offsets, "100..200", (100, 200)),
        (parse_offsets, "100", (100, 100)),
        (parse_offsets, "..5", (0, 5)),
        (parse_offsets, "5..", (5, 2**63 - 1)),
        (parse_offset, "9223372036854775807", 2**63 - 1),
        (parse_offset, "earliest", "earliest"),
    ],
)
def test_numbers_and_ranges(parse, text, value):
    assert parse(text) == value


NUMBERS = "expected a whole number from"


@pytest.mark.parametrize(
    ("parse", "says", "texts"),
    [
        (moment, "for so long ago write 1h", ["-1h"]),
        (moment, "expected epoch milliseconds", ["-", "", "soon", "2026-13-01", "1y", "@", "@1h", "max"]),
        (moment, "64-bit", ["9223372036854775808", "-9223372036854775809", "@+999999999999w"]),
        (moment, "expected a duration", ["@-1x", "@-", "@-1", "@-" + "9" * 40 + "h"]),
        (duration_ms, "expected a duration", ["", "1", "h", "1y", "-1h", "1h ", "1.5h"]),
        (duration_ms, "64-bit", ["999999999999w", "9" * 12 + "w1ms"]),
        (parse_epochs, "write both ends of a range", ["0..", "..3"]),
        (parse_epochs, "the range is empty; did you mean 1..3", ["3..1"]),
        (parse_epochs, "expected a whole number, or a range", ["", "1,"]),
        (parse_epochs, NUMBERS, ["0-3", "x", "1.5", "2147483648", "-2147483649", "ALL", "９", "0..3..5"]),
        (parse_epochs, "more than 1000000 numbers", ["0..2000000"]),
        (parse_partitions, NUMBERS, ["-1", "1-", "a", "99999999999"]),
        (parse_partitions, "the range is empty", ["3-1"]),
        (parse_partitions, "expected a whole number, or a range", ["", "1,,2"]),
        (parse_offsets, "expected offsets such as 100..200", ["", "..", "-1", "9..x", "9223372036854775808"]),
        (parse_offsets, "did you mean 1..9", ["9..1"]),
        (times, "expected times such as", ["", "..", "now"]),
        (times, "the range is empty", ["now..yesterday"]),
        (parse_offset, "expected a", ["", "-1", "x", "9223372036854775808", "1e3", "٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣"]),
    ],
)
def test_other_words_are_refused(parse, says, texts):
    for text in texts:
        with pytest.raises((WordError, UsageError), match=says):
            parse(text)


def test_numbers_in_a_row_are_a_range():
    assert partition_ranges([0, 1, 2, 5, 7, 8, 9]) == "0..2, 5, 7..9"
    assert partition_ranges([1, 2]) == "1, 2"
