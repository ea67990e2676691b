"""Random partition directories for the judge: written by the real log, then damaged, all from one seed.

log = random_log(oracle, seed) answer = oracle.ask("truncate", directory=oracle.copy(log.directory), target=5,
**log.opening)
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kcli.engine.contract import Outcome, Unit
from kcli.logdir.find import find
from kcli.logdir.targets import Selection, Server
from tests.rows import named

from .oracle import Oracle

NOW = 1_700_000_000_000
MAX_TIMESTAMP = -3
CLEANER = "cleaner-offset-checkpoint"
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class RandomLog(NamedTuple):
    """A partition directory below a log dir of its own that holds the checkpoint files of a broker."""

    seed: int
    directory: Path
    clean: bool
    damage: tuple[str, ...]
    facts: dict[str, Any]  # what write_log answered: the state before the stop
    settings: dict[str, Any]  # log settings, the same for writing and opening

    @property
    def opening(self) -> dict[str, Any]:
        """Return the request fields with which a broker would open it: what the checkpoint files say."""
        return {
            "clean": self.clean,
            "log_start_offset": self.facts["log_start_offset_checkpoint"],
            "recovery_point": self.facts["recovery_point"],
            "high_watermark": self.facts["high_watermark"],
            **self.settings,
        }

    def remove(self) -> None:
        """Remove the directory and the log dir above it."""
        shutil.rmtree(self.directory.parent)


def settings(rng: random.Random) -> dict[str, Any]:
    """Return log settings that make several segments and index entries of a few KiB."""
    return {
        "segment_bytes": rng.choice([3072, 4096, 8192]),
        "index_interval_bytes": rng.choice([1, 64, 512, 4096]),
        "segment_index_bytes": 65536,
        "now_ms": NOW,
    }


def knobs(rng: random.Random) -> dict[str, Any]:
    """Return what write_log shall write."""
    deleted = rng.random() if rng.random() < 0.3 else None
    return {
        "batches": rng.choice([0, 1, rng.randint(2, 60), rng.randint(10, 60), rng.randint(10, 60)]),
        "records_max": rng.choice([1, 6]),
        "batches_per_append_max": rng.choice([1, 3]),
        "producers": rng.choice([0, 2]),
        "transactional_producers": rng.choice([0, 3]),
        "codecs": rng.choice([["none"], CODECS]),
        "timestamps": rng.choice(["rising", "rising", "random", "equal", "log_append", "none"]),
        "start_offset": rng.choice([0, 0, 1000]),
        "first_epoch": rng.choice([0, 0, 5]),
        "epoch_chance": rng.choice([0, 0.1, 0.4]),
        "gap_chance": rng.choice([0, 0.15]),
        "hole_chance": rng.choice([0, 0.3]),
        "empty_chance": rng.choice([0, 0.1]),
        "roll_chance": rng.choice([0, 0.03, 0.15]),
        "trailing_epoch_chance": 0.3,
        "delete_records": deleted,
        "delete_segments": rng.random() < 0.5,
        "recovery_point": rng.choice([1, rng.random()]),
    }


def random_log(oracle: Oracle, seed: int, *, clean: bool | None = None, damaged: bool = True) -> RandomLog:
    """Write one, stopped cleanly or killed (None: a coin decides), unharmed in half the cases."""
    rng = random.Random(seed)
    if clean is None:
        clean = rng.random() < 0.6
    opening, expected = settings(rng), knobs(rng)
    directory = oracle.fresh(f"topic-{seed % 10}")
    end = "clean" if clean else "kill"
    request = {key: value for key, value in expected.items() if value is not None}
    facts = oracle.ask(
        "write_log", directory=directory, seed=seed, end=end, checkpoints=True, **request, **opening
    )
    if "error" in facts:
        raise AssertionError(f"seed {seed}: {facts}")
    done = []
    if damaged and rng.random() < 0.5:
        table = HARMLESS if clean else {**HARMLESS, **UNCLEAN}
        for name in rng.sample(sorted(table), rng.choice([1, 1, 2])):
            table[name](rng, directory)
            done.append(name)
    return RandomLog(seed, directory, clean, tuple(done), facts, opening)


def _remove(pattern: str, share: float) -> Callable[[random.Random, Path], None]:
    def damage(rng: random.Random, directory: Path) -> None:
        for path in sorted(directory.glob(pattern)):
            if rng.random() < share:
                path.unlink()

    return damage


def _rewrite(change: Callable[[random.Random, bytes], bytes]) -> Callable[[random.Random, Path], None]:
    def damage(rng: random.Random, directory: Path) -> None:
        path = rng.choice(sorted(directory.glob("*.log"))[-2:])
        path.write_bytes(change(rng, path.read_bytes()))

    return damage


def _flip(rng: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _stray_epoch(rng: random.Random, directory: Path) -> None:
    path = directory / "leader-epoch-checkpoint"
    entries = path.read_text().splitlines()[2:] if path.exists() else []
    newest, start = map(int, entries[-1].split()) if entries else (0, 0)
    entries.append(f"{newest + rng.randint(0, 2)} {start + rng.randint(0, 400)}")
    path.write_text("\n".join(["0", str(len(entries)), *entries]) + "\n")


# what a broker opens after a clean stop
HARMLESS = {
    "no snapshots": _remove("*.snapshot", 1),
    "some snapshots gone": _remove("*.snapshot", 0.5),
    "an index gone": _remove("*.index", 0.4),
    "a time index gone": _remove("*.timeindex", 0.4),
    "no transaction index": _remove("*.txnindex", 1),
    "no epochs": _remove("leader-epoch-checkpoint", 1),
    "stray epoch": _stray_epoch,
}
# what it repairs after an unclean one
UNCLEAN = {
    "torn tail": _rewrite(
        lambda rng, data: data[: len(data) - rng.randint(1, 200)] if len(data) > 200 else data
    ),
    "zero tail": _rewrite(lambda rng, data: data + bytes(rng.randint(1, 5000))),
    "noise tail": _rewrite(lambda rng, data: data + rng.randbytes(rng.randint(1, 300))),
    "flipped bit": _rewrite(_flip),
}


def checkpoint(log: RandomLog, name: str, offset: int | None) -> None:
    """Write a checkpoint file beside a log, with or without a line for it."""
    topic, _, number = log.directory.name.rpartition("-")
    lines = [] if offset is None else [f"{topic} {number} {offset}"]
    text = "\n".join(["0", str(len(lines)), *lines]) + "\n"
    (log.directory.parent / name).write_text(text)


def unit_of(log: RandomLog) -> Unit:
    """Return the unit of a log; kcli knows of its topic what the broker does."""
    sizes = {name: log.settings[name] for name in ("index_interval_bytes", "segment_index_bytes")}
    found = find([str(log.directory.parent)], Selection(), Server(**sizes))
    assert not found.failures
    return Unit(number=0, targets=(found.targets[0],))


def row(outcome: Outcome) -> dict[str, Any]:
    """Return the first row of an outcome without error."""
    assert outcome.error is None, outcome.error
    return named(outcome.rows[0])
