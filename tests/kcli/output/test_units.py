"""Sizes, times and durations as people read them."""

import pytest

from kcli.output.units import moment, only_day, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (10_188, "9.9 KiB"),
        (10_200, "10 KiB"),
        (1_048_063, "1023 KiB"),
        (1_048_064, "1.0 MiB"),
        (36_175_872, "34 MiB"),
        (1 << 40, "1.0 TiB"),
        (1 << 62, "4096 PiB"),
    ],
)
def test_sizes_are_in_binary_units(count, text):
    assert size(count) == text


def test_moments_are_utc_and_what_no_calendar_has_is_a_year_or_a_number():
    assert moment(1_700_000_000_123) == "2023-11-14 22:13:20"
    assert moment(1_700_000_000_123, with_day=False, with_ms=True) == "22:13:20.123"
    assert moment(-1) == "-1"
    assert moment(1_794_954_820_073_090) == "year 58849"


def test_the_day_is_named_where_there_is_one():
    assert only_day([1_700_000_000_000, None, -1, 1_700_000_001_000]) == "2023-11-14"
    assert only_day([1_700_000_000_000, 1_700_086_400_000]) is None
    assert only_day([None, -1]) is None
