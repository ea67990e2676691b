"""Logs that the judge writes of its own knobs, batch by batch."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.oracle import Oracle

NOW = 1_700_000_000_000


SMALL = {"segment_index_bytes": 65536, "index_interval_bytes": 64, "now_ms": NOW}


# three batches of ten records, one each append, one epoch, no producers
TENS = {
    **SMALL,
    "batches": 3,
    "records_min": 10,
    "records_max": 10,
    "batches_per_append_max": 1,
    "epoch_chance": 0,
    "empty_epoch_chance": 0,
    "flush_chance": 0,
    "snapshot_chance": 0,
    "segment_bytes": 1 << 20,
    "seed": 7,
}


def written(oracle: Oracle, **knobs) -> tuple[Path, dict]:
    directory = oracle.fresh("topic-0")
    return directory, oracle.ask("write_log", directory=directory, **{**TENS, **knobs})


def truncated(oracle: Oracle, directory: Path, target: int | None, **options) -> dict:
    options = {"high_watermark": 10**9, **SMALL, **options}
    return oracle.ask_of_copy("truncate", directory, target=target, **options)
