"""Moments and durations as people write them, in epoch milliseconds. Days are those of UTC.

| words                                      | moment                                     |
|--------------------------------------------|--------------------------------------------|
| `1795263018449`                            | epoch milliseconds                         |
| `2026-01-31`, `2026-01-31T12:00[:00[.5]]`  | ISO-8601, without a zone in UTC            |
| `1h`, `30m`, `2d`, `1h30m`, `@-1h`         | so long ago                                |
| `@+1h`                                     | so long from now                           |
| `now`, `today`, `yesterday`, `tomorrow`    | now, and the midnight that begins the day  |
"""

import re

INT64 = 2**63 - 1
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
DURATION = re.compile(r"([0-9]{1,12}(ms|[smhdw]))+")
EXPECTED = "expected epoch milliseconds, ISO-8601, 1h or @-1h (ago), now, today or yesterday"

LIKE_SECONDS = range(1_000_000_000, 10_000_000_000)
"""Epoch seconds of 2001 to 2286; as milliseconds they are of the first months of 1970."""

SECOND, MINUTE, HOUR, DAY = UNITS["s"], UNITS["m"], UNITS["h"], UNITS["d"]


class TimeWordError(ValueError):
    """Words that are no time; the message says what is expected."""


def duration_ms(text: str) -> int:
    """Return the milliseconds of a duration like `30m`, `2d` or `1h30m`; TimeWordError for what is none."""
    if not DURATION.fullmatch(text):
        raise TimeWordError(f"duration {text!r}: expected a duration such as 500ms, 30s, 15m, 1h, 2d or 1w")
    duration = sum(int(number) * UNITS[unit] for number, unit in re.findall(r"([0-9]+)(ms|[smhdw])", text))
    if duration > INT64:
        raise TimeWordError(f"duration {text!r}: more milliseconds than a 64-bit number holds")
    return duration


def duration(milliseconds: int) -> str:
    """Return a span of time in its two largest units: 99 ms, 4.2 s, 3 min 5 s, 2 h 10 min, 3 d 4 h."""
    if milliseconds < SECOND:
        return f"{milliseconds} ms"
    if milliseconds < MINUTE:
        return f"{milliseconds / SECOND:.1f} s"
    large, first, small, second = (
        (MINUTE, "min", SECOND, "s")
        if milliseconds < HOUR
        else (HOUR, "h", MINUTE, "min")
        if milliseconds < DAY
        else (DAY, "d", HOUR, "h")
    )
    rest = milliseconds % large // small
    return f"{milliseconds // large} {first}" + (f" {rest} {second}" if rest else "")


def moment_ms(text: str, now_ms: int | None = None) -> int:
    """Return a moment in epoch milliseconds; TimeWordError for what is none. `now_ms`: None for the clock."""
    if re.fullmatch(r"-?[0-9]{1,19}", text):
        return _bounded(text, int(text))
    if text in DAYS:
        now = _now(now_ms)
        return now - now % UNITS["d"] + DAYS[text] * UNITS["d"]
    if text == "now":
        return _now(now_ms)
    if DURATION.fullmatch(text):
        return _bounded(text, _now(now_ms) - duration_ms(text))
    if text.startswith("-") and DURATION.fullmatch(text[1:]):
        raise TimeWordError(f"time {text!r}: for so long ago write {text[1:]}")
    if text.startswith(("@-", "@+")):
        by = duration_ms(text[2:])
        return _bounded(text, _now(now_ms) + (by if text[1] == "+" else -by))
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise TimeWordError(f"time {text!r}: {EXPECTED}") from error


def _now(now_ms: int | None) -> int:
    import time

    return time.time_ns() // 1_000_000 if now_ms is None else now_ms


def _bounded(text: str, moment: int) -> int:
    if not -INT64 - 1 <= moment <= INT64:
        raise TimeWordError(f"time {text!r}: more milliseconds than a 64-bit number holds")
    return moment
