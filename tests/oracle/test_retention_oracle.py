"""Random logs against deleteOldSegments and LogCleanerManager: what goes, why, when; what is cleaned."""

import json
import random
from typing import Any

import pytest

from kcli.engine.contract import Outcome
from kcli.jobs.held_log import FAILED, RetentionQuery
from kcli.jobs.retention import retention
from tests.rows import named
from tests.seeds import cases

from .logs import CLEANER, NOW, checkpoint, random_log, unit_of
from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 1000
HOUR = 3_600_000
POLICIES = ("delete", "delete", "compact", "compact", "compact,delete", "")


def random_settings(choose: random.Random, sizes: int) -> dict[str, str]:
    lag = choose.choice([0, 0, HOUR - 60_000 + choose.randrange(60_000), choose.randrange(2 * HOUR)])
    most = choose.choice([(1 << 63) - 1, choose.randrange(lag + 1, 2 * HOUR + 2)])
    settings = {
        "cleanup.policy": choose.choice(POLICIES),
        "retention.ms": choose.choice([-1, 10, HOUR, HOUR - choose.randrange(60_000), 30 * HOUR]),
        "retention.bytes": choose.choice([-1, -1, 0, choose.randrange(sizes + 2)]),
        "min.compaction.lag.ms": lag,
        "max.compaction.lag.ms": most,
        "min.cleanable.dirty.ratio": choose.choice([0, 0.5, round(choose.random(), 2), 1]),
    }
    return {name: str(value) for name, value in settings.items()}


def rows_of(outcome: Outcome) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    assert outcome.error is None, outcome.error
    first, *segments = [named(row) for row in outcome.rows]
    return first, segments


def test_random_logs(oracle: Oracle, oracle_seed: int) -> None:
    asked = 0
    for seed in range(oracle_seed, oracle_seed + cases(CASES)):
        log, choose = random_log(oracle, seed), random.Random(seed)
        sizes = sum(path.stat().st_size for path in log.directory.glob("*.log"))
        settings = random_settings(choose, sizes)
        end = log.facts["log_end_offset"]
        point = choose.choice([None, end, choose.randrange(end + 20), choose.randrange(end + 1)])
        checkpoint(log, CLEANER, point)
        output = f"KCLI_SEED={seed}"
        outcome = retention(unit_of(log), query=RetentionQuery(NOW, {}, settings))
        partition, segments = ({"rolls_at": None}, []) if outcome.error else rows_of(outcome)
        rolls_at = partition["rolls_at"]
        appends = [] if rolls_at is None else [rolls_at - 1, rolls_at]
        # recovery that cuts a file without timestamps gives it the time of the start, by the machine's clock
        is_cut = bool(log.damage) and not log.clean
        timed = [
            each
            for each in segments
            if each["deletable_at"] is not None and not (is_cut and each["max_timestamp"] is None)
        ]
        one = choose.choice(timed) if timed else None
        when = one["deletable_at"] if one else NOW
        looks = sorted({NOW, when - 1, when})
        kafka = oracle.ask(
            "retention",
            directory=log.directory,
            **log.opening | {"now_ms": NOW},
            config=settings,
            last_clean_offset=point,
            appends=appends,
            looks=looks,
        )
        if "error" in kafka:
            assert outcome.error is not None, (output, kafka)
            continue
        asked += 1
        context = (output, log.damage, settings, json.dumps(kafka))
        bases = [each["segment_base_offset"] for each in segments]
        assert bases == [each["base_offset"] for each in kafka["segments"]], context
        kept = [each["segment_base_offset"] for each in segments if each["action"] == "keep"]
        left = dict(zip(looks, kafka["left"], strict=True))  # where all went one was begun
        assert kept == sorted(set(bases) & set(left[NOW])), (context, segments)
        cleaner = kafka.get("cleaner")
        if cleaner is not None:
            names = ("first_dirty_offset", "first_uncleanable_offset", "clean_bytes", "cleanable_bytes")
            assert [partition[name] for name in names] == [cleaner[name] for name in names], context
            assert partition["dirty_ratio"] == {"NaN": None}.get(cleaner["ratio"], cleaner["ratio"]), context
            if partition["uncleanable_because"] != FAILED:  # the cleaner takes it, and throws
                assert partition["will_clean"] == cleaner["picked"], context
        if rolls_at is not None and rolls_at > NOW:
            assert kafka["rolls"] == [False, True], context
        if one is not None:
            base = one["segment_base_offset"]
            assert (base in left[when - 1], base in left[when]) == (True, False), (context, one)
        log.remove()
    assert asked > 0
