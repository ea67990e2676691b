"""Lookups and log ends against the real log: each offset, many timestamps, on random directories."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kcli.engine.contract import Unit
from kcli.jobs import epoch as epoch_jobs
from kcli.jobs import lookup, ls
from kcli.jobs.log_starts import StartRequest
from tests.oracle.logs import MAX_TIMESTAMP, row, unit_of
from tests.oracle.truncations import assert_split
from tests.partitions import refused
from tests.rows import named
from tests.seeds import cases

from .logs import NOW, RandomLog, random_log
from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 150
OFFSETS_ASKED = 60
UNSUPPORTED = "unsupported"
"""A flipped offset makes the broker split a segment, which kcli refuses to foresee."""


def assert_same_offset(
    unit: Unit, offset: int, kafka: dict[str, Any], output: str, *, with_index: bool
) -> None:
    outcome = lookup.offset(unit, offset=offset)
    if outcome.error is not None:  # damage that recovery leaves: the read fails for both
        assert outcome.error.error == "lookup-failed", output
        assert kafka["error"] in outcome.error.message, output
        return
    mine = row(outcome)
    if "error" in kafka:
        assert kafka["error"] == "OffsetOutOfRangeException", output
        assert not mine["found"], output
        assert mine["reason"].startswith(("above log end", "below log start")), (output, mine)
        return
    assert mine["found"] == kafka["found"], (output, mine)
    if kafka["found"]:
        same = ("segment_base_offset", "position", "batch_base_offset", "batch_last_offset", "leader_epoch")
        same += ("index_entry_offset", "index_entry_position") if with_index else ()
        assert {key: mine[key] for key in same} == {key: kafka[key] for key in same}, output


def assert_same_timestamp(
    unit: Unit, timestamp: int | None, kafka: dict[str, Any] | None, output: str
) -> None:
    outcome = lookup.timestamp(unit, timestamp=timestamp)
    if kafka is not None and "error" in kafka:  # a batch that recovery leaves, with unreadable records
        assert outcome.error is not None, output
        return
    mine = row(outcome)
    assert mine["found"] == (kafka is not None), (output, mine)
    if kafka is not None:
        epoch_said = -1 if kafka["leader_epoch"] is None else kafka["leader_epoch"]
        assert (mine["offset"], mine["record_timestamp"], mine["leader_epoch"]) == (
            kafka["offset"],
            kafka["timestamp"],
            epoch_said,
        ), output


def ask(oracle: Oracle, log: RandomLog, choose: random.Random) -> tuple[dict[str, Any], list[int], list[int]]:
    end = log.facts["log_end_offset"]
    offsets = sorted(
        {*choose.sample(range(end + 3), min(OFFSETS_ASKED, end + 3)), end - 1, end, end + 1} - {-1}
    )
    timestamps = [
        MAX_TIMESTAMP,
        0,
        NOW + 10**9,
        *(NOW - 3_600_000 + choose.randrange(-700_000, 700_000) for _ in range(20)),
    ]
    timestamps += [NOW - 3_600_000 + choose.randrange(0, 40_000) for _ in range(10)]
    opening = {key: value for key, value in log.opening.items() if key != "high_watermark"}
    kafka = oracle.ask_of_copy("lookup", log.directory, offsets=offsets, timestamps=timestamps, **opening)
    return kafka, offsets, timestamps


def test_random_logs(oracle: Oracle, oracle_seed: int) -> None:
    for number in range(cases(CASES)):
        seed = oracle_seed + number
        log, choose = random_log(oracle, seed), random.Random(seed)
        output = f"KCLI_SEED={oracle_seed} log {seed} clean={log.clean} {log.damage}"
        kafka, offsets, timestamps = ask(oracle, log, choose)
        unit = unit_of(log)
        outcome = ls.ls(unit, request=StartRequest())
        if outcome.error is not None and outcome.error.error == UNSUPPORTED:
            assert_split(kafka, log.directory)
            log.remove()
            continue
        if "error" in kafka:
            assert kafka["error"] in refused(outcome), output
            log.remove()
            continue
        listed = row(outcome)
        assert (listed["log_start_offset"], listed["log_end_offset"]) == (
            kafka["log_start_offset"],
            kafka["log_end_offset"],
        ), output
        for offset, answer in zip(offsets, kafka["offsets"], strict=True):
            # below the log start the log itself would still read; the partition refuses
            if offset >= kafka["log_start_offset"]:
                where, whole = f"{output} offset {offset}", log.clean and "an index gone" not in log.damage
                assert_same_offset(unit, offset, answer, where, with_index=whole)
        for timestamp, answer in zip(timestamps, kafka["timestamps"], strict=True):
            asked = None if timestamp == MAX_TIMESTAMP else timestamp
            assert_same_timestamp(unit, asked, answer, f"{output} timestamp {timestamp}")
        log.remove()


def test_end_offsets_after_loading(oracle: Oracle, oracle_seed: int) -> None:
    """The cache of a log that was loaded by the real loader, cut at both ends, against `epoch show`."""
    for number in range(cases(CASES)):
        seed = oracle_seed + 10_000 + number
        log = random_log(oracle, seed)
        kafka = oracle.ask_of_copy("truncate", log.directory, restart="none", **log.opening)
        if "epochs" in kafka.get("loaded", {}):
            outcome = epoch_jobs.show(unit_of(log))
            mine = [[shown["epoch"], shown["start_offset"]] for shown in map(named, outcome.rows)]
            assert mine == kafka["loaded"]["epochs"], (
                f"KCLI_SEED={oracle_seed} log {seed} {log.damage} {kafka['loaded']}"
            )
        log.remove()
