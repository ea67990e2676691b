"""A metadata log beside snapshots that lie before, in and past it, opened by KafkaRaftLog."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from commands.app import app
from kcli.jobs import epoch as epoch_jobs
from kcli.jobs import ls
from kcli.jobs.log_starts import StartRequest
from kcli.jobs.truncate import Request, dry_run
from kcli.kafka.kraft.metadata_snapshot import newest_snapshot_trouble
from kcli.kafka.replication.consumer_positions import Position
from tests.oracle.metadata_logs import NOW, damaged, written
from tests.partitions import refused
from tests.partitions import unit as unit_of
from tests.rows import named
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 60
SNAPSHOTS = 400


def rows_of_check(directory: Path) -> list[dict[str, Any]]:
    printed = CliRunner().invoke(app, ["check", "--quick", "-o", "json", str(directory)])
    rows: list[dict[str, Any]] = json.loads(printed.stdout)["rows"]
    return rows


def test_the_metadata_log_begins_where_its_newest_snapshot_ends(oracle: Oracle, oracle_seed: int) -> None:
    for number in range(cases(CASES)):
        choose = random.Random(f"{oracle_seed}:{number}")
        directory, end = written(oracle, choose, choose.choice([0, 0, 0, 40]))
        if number % 10 == 0:
            (directory / f"{end + 20:020d}-{7:010d}.checkpoint").touch()
        kafka = oracle.ask_of_copy("metadata_log", directory, now_ms=NOW)
        unit = unit_of(directory)
        output = f"{oracle_seed}:{number} {sorted(path.name for path in directory.iterdir())} {kafka}"
        (checked,) = rows_of_check(directory)
        assert (checked["result"] == "will-not-load") == ("error" in kafka), (output, checked)
        assert checked["log_end_offset"] == kafka.get("log_end_offset"), (output, checked)
        for recover in (False, True):
            outcome = ls.ls(unit, request=StartRequest(is_bounded=not recover))
            if "error" in kafka:
                assert kafka["error"] in refused(outcome), (output, outcome)
                continue
            assert (outcome.error, refused(outcome)) == (None, ""), output
            row = named(outcome.rows[0])
            assert row["log_start_offset"] == kafka["log_start_offset"], (output, row)
            assert row["log_end_offset"] == kafka["log_end_offset"], (output, row)
            if row["high_watermark"] is not None:
                assert row["high_watermark"] == kafka["high_watermark"], (output, row)
        if kafka.get("log_end_offset", end) != end:
            assert epoch_jobs.show(unit).rows == [], output
            (cut,) = map(named, dry_run(unit, request=Request(now_ms=NOW, to_offset=1 << 40)).rows)
            validated = epoch_jobs.validate_positions(unit, positions=(Position(5, 0),), reset="latest")
            (valid,) = map(named, validated.rows)
            assert cut["high_watermark_before"] == valid["high_watermark"] == kafka["high_watermark"], output
            assert cut["log_end_offset_before"] == valid["log_end_offset"] == kafka["log_end_offset"], output
        oracle.discard(directory)


def test_a_snapshot_that_ends_the_process_does_so_here(oracle: Oracle, oracle_seed: int) -> None:
    for number in range(cases(SNAPSHOTS)):
        directory = oracle.fresh("__cluster_metadata-0")
        directory.mkdir()
        (directory / f"{40:020d}-{1:010d}.checkpoint").write_bytes(
            damaged(random.Random(f"{oracle_seed}:{number}"), number % 5)
        )
        if not number % 50:
            path = next(directory.iterdir())
            path.unlink()
            path.mkdir() if number % 100 else path.symlink_to("nowhere")
            (directory / f"{number % 4 // 2 * 40:020d}.log").touch()
        found = newest_snapshot_trouble(str(directory))
        kafka = oracle.ask_of_copy("metadata_snapshot", directory, now_ms=NOW)
        exception = None if found is None else found.exception
        assert exception == kafka.get("error"), (oracle_seed, number, found, kafka)
        oracle.discard(directory)
