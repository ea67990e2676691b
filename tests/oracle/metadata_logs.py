"""Random directories of the metadata log, and damaged snapshots of it."""

from __future__ import annotations

import gzip
import random
from itertools import pairwise
from pathlib import Path

from tests.oracle.oracle import Oracle
from tests.recordings import pack

SNAPSHOT = gzip.decompress((pack.DATA.parent / "batches" / "snapshot.checkpoint.gz").read_bytes())


BATCHES = (0, 83, 9432, len(SNAPSHOT))


SUFFIXES = (".checkpoint", ".checkpoint", ".checkpoint", ".checkpoint.part", ".checkpoint.deleted")


NAMES = (
    "{offset:020d}-{epoch:010d} (1)",
    "{offset:020d}-{epoch:010d}-12345",
    "{offset:020d}_{epoch:010d}",
    "{offset:020d}",
    "{offset}-{epoch}",
    "old-{offset:020d}-{epoch:010d}",
    "bootstrap",
)
"""Also of copies of snapshots, and of what is none."""


NOW = 1_700_000_000_000


def written(oracle: Oracle, choose: random.Random, start: int) -> tuple[Path, int]:
    """Return a directory of the metadata log with snapshots, and where its log ended."""
    directory = oracle.fresh("__cluster_metadata-0")
    answer = oracle.ask(
        "write_log",
        directory=directory,
        seed=choose.randrange(1 << 31),
        batches=choose.randrange(40),
        now_ms=NOW,
        epoch_chance=0.1,
        start_offset=start,
        end=choose.choice(["clean", "kill"]),
    )
    end = answer["log_end_offset"]
    for _ in range(choose.randrange(4)):
        offset, number = choose.randrange(end + 40), choose.randrange(8)
        (directory / f"{offset:020d}-{number:010d}{choose.choice(SUFFIXES)}").write_bytes(b"")
    if choose.random() < 0.3:
        offset, number = choose.randrange(end + 40), choose.choice([0, 7, 7, 1 << 31])
        name = choose.choice(NAMES).format(offset=offset, epoch=number) + choose.choice(SUFFIXES)
        (directory / name).touch()
    for name in directory.glob("partition.metadata"):
        name.unlink()
    if choose.random() < 0.2:
        id_of = choose.choice(["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"])
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {id_of}\n")
    return directory, end


def damaged(choose: random.Random, damage: int) -> bytes:
    """Return a snapshot of which batches are gone or there twice, and a few bytes cut, added or changed."""
    batches = [SNAPSHOT[start:end] for start, end in pairwise(BATCHES)]
    kept = [batch for batch in batches if choose.random() < 0.9]
    data = bytearray(b"".join([*kept, *choose.choices(batches, k=choose.choice([0, 0, 1]))]))
    if damage == 1:
        del data[choose.randrange(len(data) + 1) :]
    if damage == 2:
        data += choose.choice([bytes, choose.randbytes])(choose.randrange(40))
    if damage == 3 and data:
        at = choose.choice([0, 83, 9432]) + choose.randrange(24)
        data[at % len(data)] = choose.choice([0, 1, 2, 3, 255])
    if damage == 4:
        del data[choose.randrange(20) :]
    return bytes(data)
