"""Which inputs there are, what they hold, and whether they are in the cache; `make` makes them.

Small: what measures imports it.
"""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

STAMP = "made.json"
TIERED_PARTITIONS = 20
ALIVE = 500 * TIERED_PARTITIONS
"""Of the segments in `lives`: one is deleted when so many later ones are copied."""


class Spec(NamedTuple):
    """Which input: its kind and how much of it (`big`, `tiny`: bytes; else records, partitions or events)."""

    kind: str
    amount: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.amount}"

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.amount}"

    @property
    def about(self) -> int:
        """Bytes on disk, roughly."""
        each = {"big": 1, "tiny": 1, "partitions": 16 << 10, "events": 280, "small": 200, "lives.zstd": 25}
        return self.amount * each.get(self.kind, 130)


class Facts(NamedTuple):
    """What an input holds."""

    bytes: int
    batches: int
    records: int
    last_offset: int


class Made(NamedTuple):
    """An input that is there: `folder` is a log dir or a partition directory, `log` its first segment."""

    folder: Path
    facts: Facts

    @property
    def log(self) -> Path:
        return min(self.folder.rglob("*.log"))


def alive(events: int) -> int:
    """Return how many segments are left after so many events of `lives`."""
    later = events - 2 * ALIVE
    return -(-events // 2) if later <= 0 else ALIVE + bool(later % 4)


def fingerprint() -> str:
    """Return what changes when inputs would be made differently."""
    here = Path(__file__).parent
    return hashlib.sha256(
        (here / "make.py").read_bytes() + (here.parent / "builders.py").read_bytes()
    ).hexdigest()[:16]


def load(cache: Path, spec: Spec) -> Made | None:
    """Return an input that is already in the cache and made by this very code."""
    stamp = cache / spec.name / STAMP
    if not stamp.is_file():
        return None
    answer = json.loads(stamp.read_text())
    return (
        Made(cache / spec.name / answer["folder"], Facts(**answer["facts"]))
        if answer["by"] == fingerprint()
        else None
    )
