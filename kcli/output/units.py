"""Sizes, counts, times and durations in the units of people."""

import re
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from kcli.output.values import iso
from kcli.words import DAY

EPOCH_MS = re.compile(r"(?<![\w.-])1[0-9]{12}(?!\w)", re.ASCII)
YEAR = 31_556_952_000
"""A mean year in milliseconds."""
SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(count: int) -> str:
    """Return a number of bytes in binary units, with one decimal below ten: 460 B, 7.3 KiB, 20 MiB."""
    value = float(count)
    for unit in SIZE_UNITS:
        if abs(value) < 1023.5 or unit == SIZE_UNITS[-1]:
            break
        value /= 1024
    return f"{value:.1f} {unit}" if unit != "B" and abs(value) < 9.95 else f"{value:.0f} {unit}"


def number(count: int) -> str:
    """Return a count with separators of thousands."""
    return f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count and what it counts: 1 batch, 2 batches."""
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def moment(timestamp: int, *, with_day: bool = True, with_ms: bool = False) -> str:
    """Return epoch milliseconds as UTC, 2026-01-31 12:10:18; the year alone past 9999, a negative number."""
    text = iso(timestamp) if timestamp >= 0 else None
    if text is None:
        return str(timestamp) if timestamp < 0 else f"year {1970 + timestamp // YEAR}"
    day, _, clock = text.removesuffix("Z").partition("T")
    clock = clock if with_ms else clock.partition(".")[0]
    return f"{day} {clock}" if with_day else clock


def period(first: int | None, last: int | None) -> str | None:
    """Return two moments, on one day without the day again, or the one that both are; None for none."""
    if first is None or last is None or first < 0:
        return None
    begin, end = moment(first), moment(last)
    if begin == end:
        return begin
    return f"{begin} to {moment(last, with_day=first // DAY != last // DAY)}"


def readable(text: str) -> str:
    """Return a text with its epoch milliseconds as UTC."""
    return EPOCH_MS.sub(lambda match: f"{moment(int(match[0]))} UTC", text)


def only_day(timestamps: Iterable[int | None]) -> str | None:
    """Return the UTC day that all timestamps are of; None for several days, or none."""
    days = {timestamp // DAY for timestamp in timestamps if timestamp is not None and timestamp >= 0}
    return moment(days.pop() * DAY).partition(" ")[0] if len(days) == 1 else None


def joined(items: Iterable[object]) -> str:
    """Return the parts that are not empty with commas between."""
    return ", ".join(str(item) for item in items if item)


def sums(rows: Iterable[Any], *names: str) -> list[int]:
    """Return the sum of each of several attributes of rows; nulls count as 0."""
    values = zip(*map(attrgetter(*names), rows), strict=True)
    return [sum(filter(None, column)) for column in values] or [0] * len(names)


def tally(counts: Mapping[str, int]) -> str:
    """Return the counts that are not zero, each with its words: 2 damaged, 5 clean."""
    return joined(f"{number(count)} {text}" for text, count in counts.items() if count)
