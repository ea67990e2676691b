"""Values as people write them: numbers, ranges like `0..3,7`, rates, durations, moments; days are of UTC.

| words of a moment                          | in epoch milliseconds                      |
|--------------------------------------------|--------------------------------------------|
| `1795263018449`                            | epoch milliseconds                         |
| `2026-01-31`, `2026-01-31T12:00[:00[.5]]`  | ISO-8601, without a zone in UTC            |
| `1h`, `30m`, `2d`, `1h30m`, `@-1h`         | so long ago                                |
| `@+1h`                                     | so long from now                           |
| `now`, `today`, `yesterday`, `tomorrow`    | now, and the midnight that begins the day  |
"""

import re
import time
from collections.abc import Callable, Iterable
from itertools import chain, groupby, pairwise

INT32 = 2**31 - 1
INT64 = 2**63 - 1
MOST_NUMBERS = 1_000_000
MULTIPLES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
DURATION_TEXT = re.compile(r"([0-9]{1,12}(ms|[smhdw]))+")
EXPECTED_TIME = "expected epoch milliseconds, ISO-8601, 1h or @-1h (ago), now, today or yesterday"

LIKE_SECONDS = range(1_000_000_000, 10_000_000_000)
"""Epoch seconds of 2001 to 2286; as milliseconds they are of the first months of 1970."""

SECOND, MINUTE, HOUR, DAY = UNITS["s"], UNITS["m"], UNITS["h"], UNITS["d"]
ONE_YEAR = 365 * DAY


class WordError(ValueError):
    """Words that are no such value; the message says what is expected."""


def integer(text: str, what: str, low: int, high: int) -> int:
    """Return the number of a word; `what` names it in the WordError."""
    if not re.fullmatch(r"-?[0-9]{1,19}", text) or not low <= int(text) <= high:
        raise WordError(f"{what} {text!r}: expected a whole number from {low} to {high}")
    return int(text)


def parse_integers(what: str, texts: list[str], low: int, high: int) -> tuple[int, ...]:
    """Return the numbers of words like `7` and `0..3`, inclusive, in the order given, each once."""
    ranges = []
    for text in texts:
        first, dots, last = text.partition("..")
        if dots and not (first and last):
            example = f"{first or 0}..{last or '9' * (len(first) + 1)}"
            raise WordError(f"{what} {text!r}: write both ends of a range, such as {example}")
        if not first:
            raise WordError(f"{what} {text!r}: expected a whole number, or a range such as 0..3")
        begin = integer(first, what, low, high)
        end = integer(last, what, low, high) if dots else begin
        if end < begin:
            raise WordError(f"{what} {text!r}: the range is empty; did you mean {last}..{first}?")
        ranges.append(range(begin, end + 1))
    if sum(numbers.stop - numbers.start for numbers in ranges) > MOST_NUMBERS:
        raise WordError(f"{what} {','.join(texts)!r}: more than {MOST_NUMBERS} numbers")
    return tuple(dict.fromkeys(chain.from_iterable(ranges)))


def parse_partitions(texts: list[str]) -> frozenset[int]:
    """Return the partitions of words like `7`, `0..3` or `0-3`, inclusive."""
    texts = [re.sub(r"^([0-9]+)-([0-9]+)$", r"\1..\2", text) for text in texts]
    return frozenset(parse_integers("partition", texts, 0, INT32))


def partition_ranges(numbers: Iterable[int]) -> str:
    """Return rising numbers in words, three or more in a row as `0..3`."""
    parts: list[str] = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        neighbours = [number for _, number in run]
        parts += [f"{neighbours[0]}..{neighbours[-1]}"] if len(neighbours) > 2 else map(str, neighbours)
    return ", ".join(parts)


def parse_offsets(what: str, text: str) -> tuple[int, int]:
    """Return the first and last offset of `A..B`, `A..`, `..B` or `A`."""
    first, dots, last = text.partition("..")
    low = high = -1
    if re.fullmatch(r"[0-9]{1,19}|[0-9]{0,19}\.\.[0-9]{0,19}", text):
        low = int(first or 0)
        high = int(last) if last else INT64 if dots else low
    if not (first or last) or not 0 <= low <= INT64 or not 0 <= high <= INT64:
        raise WordError(f"{what} {text}: expected offsets such as 100..200, 100.., ..200 or 100")
    if low > high:
        raise WordError(f"{what} {text}: the range is empty; did you mean {high}..{low}?")
    return low, high


def parse_times(what: str, text: str, moment: Callable[[str], int]) -> tuple[int, int]:
    """Return the first and last time of `A..B`, `A..` or `..B`, in epoch ms; `moment` reads one."""
    first, dots, last = text.partition("..")
    if not dots or not (first or last):
        example = "2026-01-31T10:00..2026-01-31T11:00, 1h.. (ago) or ..yesterday"
        raise WordError(f"{what} {text}: expected times such as {example}")
    low, high = moment(first) if first else -INT64 - 1, moment(last) if last else INT64
    if low > high:
        raise WordError(f"{what} {text}: the range is empty, it ends before it begins")
    return low, high


def parse_rate(text: str, option: str) -> int:
    """Return the bytes of words like 50M: K, M and G are binary."""
    match = re.fullmatch(r"([0-9]{1,12})([KMG]?)", text)
    rate = int(match[1]) * MULTIPLES[match[2]] if match else 0
    if not rate:
        raise WordError(f"{option} {text}: expected a rate such as 500K, 50M or 1G")
    return rate


def duration_ms(text: str) -> int:
    """Return the milliseconds of a duration like `30m`, `2d` or `1h30m`; WordError for what is none."""
    if not DURATION_TEXT.fullmatch(text):
        raise WordError(f"duration {text!r}: expected a duration such as 500ms, 30s, 15m, 1h, 2d or 1w")
    duration = sum(int(number) * UNITS[unit] for number, unit in re.findall(r"([0-9]+)(ms|[smhdw])", text))
    if duration > INT64:
        raise WordError(f"duration {text!r}: more milliseconds than a 64-bit number holds")
    return duration


def duration(milliseconds: int) -> str:
    """Return a span of time in its two largest units: 99 ms, 4.2 s, 3 min 5 s, 2 h 10 min, 3 d, 2 y 9 d."""
    if milliseconds < SECOND:
        return f"{milliseconds} ms"
    if milliseconds < MINUTE:
        return f"{milliseconds / SECOND:.1f} s"
    units = ((ONE_YEAR, "y"), (DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))
    (large, first), (small, second) = next(pair for pair in pairwise(units) if milliseconds >= pair[0][0])
    remainder = milliseconds % large // small
    return f"{milliseconds // large} {first}" + (f" {remainder} {second}" if remainder else "")


def clock_ms() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def moment_ms(text: str, now_ms: int | None = None) -> int:
    """Return a moment in epoch milliseconds; WordError for what is none. `now_ms`: None for the clock."""
    now = clock_ms() if now_ms is None else now_ms
    if re.fullmatch(r"-?[0-9]{1,19}", text):
        return _bounded(text, int(text))
    if text in DAYS:
        return now - now % UNITS["d"] + DAYS[text] * UNITS["d"]
    if text == "now":
        return now
    if DURATION_TEXT.fullmatch(text):
        return _bounded(text, now - duration_ms(text))
    if text.startswith("-") and DURATION_TEXT.fullmatch(text[1:]):
        raise WordError(f"time {text!r}: for so long ago write {text[1:]}")
    if text.startswith(("@-", "@+")):
        by = duration_ms(text[2:])
        return _bounded(text, now + (by if text[1] == "+" else -by))
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise WordError(f"time {text!r}: {EXPECTED_TIME}") from error


def _bounded(text: str, moment: int) -> int:
    if not -INT64 - 1 <= moment <= INT64:
        raise WordError(f"time {text!r}: more milliseconds than a 64-bit number holds")
    return moment


def resolve_offset(offset: int | str, log_start_offset: int, log_end_offset: int) -> int:
    """Return the offset that `earliest` (log start) or `latest` (log end) means; a number means itself."""
    if isinstance(offset, int):
        return offset
    return log_start_offset if offset == "earliest" else log_end_offset
