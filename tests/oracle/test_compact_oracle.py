"""Random compacted logs, cleaned before or not, against Kafka's Cleaner: its counts, and what is left."""

import json
import os
import random
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kcli.engine.contract import Unit
from kcli.jobs.compact import compact
from kcli.jobs.held_log import FAILED, RetentionQuery
from tests.messages import put_message, put_wrapper
from tests.partitions import segment, unit
from tests.rows import named
from tests.seeds import cases

from . import logs
from .logs import CLEANER, CODECS, NOW, RandomLog, checkpoint, unit_of
from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES, LEGACY_CASES = 300, 100
HOUR = 3_600_000
ENTRY = 24  # bytes of a key in the cleaner's memory


def random_log(oracle: Oracle, seed: int, choose: random.Random) -> RandomLog:
    """Write a log of few keys, stopped cleanly."""
    opening = logs.settings(choose)
    request = {
        **logs.knobs(choose),
        "batches": choose.randint(10, 60),
        "keys": choose.choice([1, 5, 30]),
        "null_value_chance": choose.choice([0.05, 0.4]),
        "abort_chance": choose.choice([0.2, 0.8]),
        "codecs": choose.choice([["none"], CODECS]),
        "roll_chance": choose.choice([0.1, 0.3]),
    }
    request = {name: value for name, value in request.items() if value is not None}
    directory = oracle.fresh(f"topic-{seed % 10}")
    facts = oracle.ask(
        "write_log", directory=directory, seed=seed, end="clean", checkpoints=True, **request, **opening
    )
    assert "error" not in facts, (seed, facts)
    return RandomLog(seed, directory, clean=True, damage=(), facts=facts, settings=opening)


def random_settings(choose: random.Random) -> dict[str, str]:
    settings = {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": choose.choice([0, 0, 0, HOUR - 30_000]),
        "delete.retention.ms": choose.choice([0, HOUR, 24 * HOUR]),
    }
    return {name: str(value) for name, value in settings.items()}


def is_as_large(size: int, expected: int, is_compressed: bool) -> bool:
    """Whether bytes are as many as the judge's; his versions of compressors pack a little otherwise."""
    return abs(size - expected) <= (max(16, expected // 50) if is_compressed else 0)


def compare(oracle: Oracle, unit: Unit, asked: dict[str, Any], output: tuple[Any, ...]) -> bool:
    """Compare what both say of a log; return whether there was something to clean."""
    directory = Path(unit.target.path)
    settings = asked["config"] | {
        "segment.bytes": str(asked["segment_bytes"]),
        "segment.index.bytes": str(asked["segment_index_bytes"]),
    }
    broker = {"log.cleaner.dedupe.buffer.size": str(asked["keys_memory"])}
    query = RetentionQuery(asked["now_ms"], broker, settings)
    outcome = compact(unit, query=query, release=(4, 4), records=True)
    kafka = oracle.ask_of_copy("compact", directory, **asked)
    output = (*output, asked, json.dumps(kafka))
    if "error" in kafka:
        assert outcome.error is not None, output
        assert outcome.error.error == FAILED, (output, outcome.error)
        return True
    assert outcome.error is None, (output, outcome.error)
    rows = [named(row) for row in outcome.rows]
    partition = rows[-1]
    names = set(partition) & set(kafka) - {"bytes_written"}
    assert {name: partition[name] for name in names} == {name: kafka[name] for name in names}, output
    is_compressed = any(each["compressed"] for each in kafka["segments"])
    if "bytes_written" in kafka:
        assert is_as_large(partition["bytes_written"], kafka["bytes_written"], is_compressed), output
    after = [row for row in rows if "sources" in row]
    answered = [(row["segment_base_offset"], row["records_after"], row["batches_after"]) for row in after]
    expected = [(each["base_offset"], len(each["offsets"]), each["batches"]) for each in kafka["segments"]]
    assert answered == expected, output
    for row, each in zip(after, kafka["segments"], strict=True):
        assert is_as_large(row["size_after"], each["size"], each["compressed"]), (row, output)
    asked = {**asked, "last_clean_offset": partition["end_offset"], "high_watermark": partition["end_offset"]}
    before = oracle.ask_of_copy("compact", directory, **asked)
    assert "keys" not in before, output
    was, left = (
        [offset for each in answer["segments"] for offset in each["offsets"]] for answer in (before, kafka)
    )
    gone = [row["offset"] for row in rows if "reason" in row]
    assert [offset for offset in was if offset not in set(left)] == gone, output
    return "keys" in kafka


def test_random_logs(oracle: Oracle, oracle_seed: int) -> None:
    cleaned = 0
    for seed in count(oracle_seed):
        choose = random.Random(seed)
        log, settings, now = random_log(oracle, seed, choose), random_settings(choose), NOW
        end = log.facts["log_end_offset"]
        log.facts["high_watermark"] = high = choose.choice([end, end, end, log.facts["high_watermark"]])
        checkpoint(log, "replication-offset-checkpoint", high)
        memory = choose.choice([1 << 20, ENTRY * choose.randint(3, 12)])
        point = choose.choice([None, None, choose.randrange(end + 1)])
        question: dict[str, Any] = {**log.opening, "config": settings, "keys_memory": memory}
        for _ in range(choose.choice([0, 1, 2, 3])):
            asked = {**question, "now_ms": now, "last_clean_offset": point, "keep": True}
            kafka = oracle.ask("compact", directory=log.directory, **asked)
            assert "error" not in kafka, (seed, kafka)
            point = choose.choice([None, None, kafka.get("clean_checkpoint_after", point)])
            now += choose.choice([1000, HOUR, 25 * HOUR])
        checkpoint(log, CLEANER, point)
        question |= {"now_ms": now, "last_clean_offset": point}
        cleaned += compare(oracle, unit_of(log), question, (f"KCLI_SEED={seed}",))
        log.remove()
        if cleaned == cases(CASES):
            return


def legacy_entry(choose: random.Random, offset: int, most: int) -> bytes:
    """Return a message of magic 0 or 1 at an offset, or a wrapper of several that ends there."""
    magic, held = choose.choice([0, 1]), choose.randint(1, most)
    first = offset - held + 1

    def message(at: int) -> bytes:
        key = choose.choice([None, b"a", b"b", b"c", b"d"])
        value = choose.choice([None, b"", b"v" * choose.randrange(60)])
        return put_message(at, magic, NOW - choose.randrange(HOUR), key, value)

    if held == 1 and choose.random() < 0.7:
        return message(offset)
    inner = [message(at if magic else first + at) for at in range(held)]
    stamp = {"timestamp": NOW, "attributes": choose.choice([0, 8]) if magic else 0}
    return put_wrapper(offset, b"".join(inner), choose.choice([1, 2, 3] if magic else [1, 2]), magic, **stamp)


def test_logs_of_magic_0_and_1(oracle: Oracle, oracle_seed: int) -> None:
    for seed in range(oracle_seed, oracle_seed + cases(LEGACY_CASES)):
        choose = random.Random(seed)
        directory = oracle.fresh("topic-0")
        offset, bases = 0, []
        for number in range(choose.randint(2, 6)):
            bases.append(offset)
            entries = b""
            for _ in range(choose.randint(1, 5)):
                most = choose.choice([1, 4])
                offset += most
                entries += legacy_entry(choose, offset - 1, most)
            segment(directory, bases[-1], entries)
            modified = NOW - HOUR * choose.randrange(30) + number
            path = directory / f"{bases[-1]:020d}.log"
            os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))
        end = choose.choice([offset, choose.choice(bases)])
        point = choose.choice([None, choose.randrange(offset + 1)])
        files = {"replication-offset-checkpoint": end, CLEANER: point}
        for name, value in files.items():
            lines = [] if value is None else [f"topic 0 {value}"]
            (directory.parent / name).write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
        (directory.parent / ".kafka_cleanshutdown").write_text("")
        asked = {
            "clean": True,
            "log_start_offset": 0,
            "recovery_point": offset,
            "high_watermark": end,
            "segment_bytes": choose.choice([300, 2000]),
            "segment_index_bytes": 65536,
            "index_interval_bytes": 4096,
            "keys_memory": 1 << 20,
            "now_ms": NOW,
            "config": random_settings(choose) | {"min.compaction.lag.ms": "0"},
            "last_clean_offset": point,
        }
        compare(oracle, unit(directory.parent), asked, (f"KCLI_SEED={seed}",))
