"""A metadata log beside snapshots that lie before, in and past it, opened by KafkaRaftLog."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from commands.app import app
from kcli.engine.contract import Unit
from kcli.jobs import ls
from kcli.jobs.epoch import epoch, positions
from kcli.jobs.truncate.truncate import Request, dry_run
from kcli.kafka.kraft.metadata_snapshot import newest_snapshot_trouble
from kcli.kafka.kraft.start import LOAD_FAILED
from kcli.kafka.replication.positions import Position
from kcli.logdir.tree import Selection, find
from tests.recordings import pack
from tests.rows import named
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 60
SNAPSHOTS = 400
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


def rows_of_check(directory: Path) -> list[dict[str, Any]]:
    printed = CliRunner().invoke(app, ["check", "--quick", "-o", "json", str(directory)])
    rows: list[dict[str, Any]] = json.loads(printed.stdout)["rows"]
    return rows


def test_the_metadata_log_begins_where_its_newest_snapshot_ends(oracle: Oracle, oracle_seed: int) -> None:
    behind = 0
    for number in range(cases(CASES)):
        choose = random.Random(f"{oracle_seed}:{number}")
        directory, end = written(oracle, choose, choose.choice([0, 0, 0, 40]))
        said = oracle.ask("metadata_log", directory=oracle.copy(directory), now_ms=NOW)
        unit = Unit(number=0, targets=(find([str(directory)], Selection()).targets[0],))
        output = f"{oracle_seed}:{number} {sorted(path.name for path in directory.iterdir())} {said}"
        (checked,) = rows_of_check(directory)
        assert (checked["result"] == "will-not-load") == ("error" in said), (output, checked)
        assert checked["log_end_offset"] == said.get("log_end_offset"), (output, checked)
        for recover in (False, True):
            outcome = ls.ls(unit, recover=recover)
            if "error" in said:
                assert outcome.error is not None and outcome.error.error == LOAD_FAILED, output
                assert said["error"] in outcome.error.message, (output, outcome.error)
                continue
            assert outcome.error is None, (output, outcome.error)
            row = named(outcome.rows[0])
            assert row["log_start_offset"] == said["log_start_offset"], (output, row)
            assert row["log_end_offset"] == said["log_end_offset"], (output, row)
            if row["high_watermark"] is not None:
                assert row["high_watermark"] == said["high_watermark"], (output, row)
        if said.get("log_end_offset", end) != end:
            behind += 1
            assert epoch.show(unit).rows == [], output
            (cut,) = map(named, dry_run(unit, request=Request(now_ms=NOW, to_offset=1 << 40)).rows)
            consumer = positions.Consumer((Position(5, 0),), "latest")
            (valid,) = map(named, positions.check(unit, consumer=consumer).rows)
            assert cut["high_watermark_before"] == valid["high_watermark"] == said["high_watermark"], output
            assert cut["log_end_offset_before"] == valid["log_end_offset"] == said["log_end_offset"], output
        oracle.discard(directory)
    assert behind


def damaged(choose: random.Random) -> bytes:
    """Return a snapshot of which batches are gone or there twice, and a few bytes cut, added or changed."""
    batches = [SNAPSHOT[start:end] for start, end in pairwise(BATCHES)]
    kept = [one for one in batches if choose.random() < 0.9]
    data = bytearray(b"".join([*kept, *choose.choices(batches, k=choose.choice([0, 0, 1]))]))
    damage = choose.randrange(5)
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


def test_a_snapshot_that_ends_the_process_does_so_here(oracle: Oracle, oracle_seed: int) -> None:
    seen: Counter[str | None] = Counter()
    for number in range(cases(SNAPSHOTS)):
        directory = oracle.fresh("__cluster_metadata-0")
        directory.mkdir()
        (directory / f"{40:020d}-{1:010d}.checkpoint").write_bytes(
            damaged(random.Random(f"{oracle_seed}:{number}"))
        )
        if not number % 50:
            path = next(directory.iterdir())
            path.unlink()
            path.mkdir() if number % 100 else path.symlink_to("nowhere")
            (directory / f"{number % 4 // 2 * 40:020d}.log").touch()
        found = newest_snapshot_trouble(str(directory))
        said = oracle.ask("metadata_snapshot", directory=oracle.copy(directory), now_ms=NOW)
        exception = None if found is None else found.exception
        assert exception == said.get("error"), (oracle_seed, number, found, said)
        seen[exception] += 1
        oracle.discard(directory)
    assert len(seen) > 3, seen
