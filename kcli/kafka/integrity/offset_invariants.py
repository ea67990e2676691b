"""Which offsets of a partition's checkpoint files cannot all be right.

Each is written at another time: log start and recovery point every minute, the high watermark every five
seconds, all of them at a clean stop. After a crash some of these orders may not hold. The truth is what a
start does about it: `UnifiedLog`, `LogLoader`, `LogCleanerManager`.
"""

from collections.abc import Iterator
from typing import NamedTuple

START_ABOVE_END = "log-start-above-log-end"
"""The name of the one that a start itself finds: it then deletes every segment."""
FLUSHED_ABOVE_END = "recovery-point-above-log-end"
"""The name of the one that a crash may leave, and a clean stop never does."""


class Offsets(NamedTuple):
    """Offsets of a partition as stored, None for unknown; `log_end`: as started, `clean`: the log dir."""

    log_start: int | None
    recovery_point: int | None
    high_watermark: int | None
    cleaner_point: int | None
    epoch_start: int | None
    log_end: int | None
    clean: bool = False


class Violation(NamedTuple):
    """An invariant that does not hold: its name, an offset, the one that it may not exceed, the effect."""

    name: str
    found: int
    limit: int
    effect: str


_LOWERED = "a start lowers the high watermark to the log end: committed records are missing here"
_INVARIANTS = (
    ("log_start", "high_watermark", "a start raises the high watermark to the log start"),
    ("high_watermark", "log_end", _LOWERED),
    ("recovery_point", "log_end", "the log that a start opens lacks records that were flushed"),
    ("cleaner_point", "log_end", "the cleaner begins anew at the log start"),
    ("epoch_start", "log_end", "a start drops the epoch"),
)
"""The first offset of each may not be above the second; its name says so, as START_ABOVE_END."""


def violations(offsets: Offsets) -> Iterator[Violation]:
    """Yield the invariants that do not hold, in a fixed order; what is unknown violates none."""
    values = offsets._asdict()
    for lower, upper, effect in _INVARIANTS:
        value, limit = values[lower], values[upper]
        if value is not None and limit is not None and value > limit:
            yield Violation(f"{lower}-above-{upper}".replace("_", "-"), value, limit, effect)
