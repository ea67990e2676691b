"""Measurements of commands, made up for tests of the measuring."""

from tests.bench.inputs import Facts
from tests.bench.process import Measured, Run

FACTS = Facts(bytes=1000, batches=10, records=100, last_offset=99)


def taken(peak=50_000_000, **seconds):
    """Return measurements of commands: a time, or several."""
    every = {key: value if isinstance(value, tuple) else (value,) for key, value in seconds.items()}
    return {
        key: Measured(tuple(Run(wall, wall, peak, {}) for wall in walls), {"python": peak})
        for key, walls in every.items()
    }
