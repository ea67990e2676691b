"""The epoch cache against Kafka's LeaderEpochFileCache: loading, sequences of changes, every answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from formats.checkpoint import EpochEntry
from formats.errors import CorruptError
from kcli.kafka.storage import leader_epochs
from kcli.kafka.storage.leader_epochs import EpochCache
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 2000
EXTREMES = [0, 2147483647]


def lines(choose: random.Random) -> list[tuple[int, int]]:
    """Return lines of a checkpoint: rising as brokers write them, or in any order, with repeats."""
    count = choose.randrange(0, 9)
    if choose.random() < 0.5:
        newest = sorted(choose.sample(range(30), count))
        starts = sorted(choose.sample(range(200), count))
        return list(zip(newest, starts, strict=True))
    wide = choose.random() < 0.1
    return [
        (
            choose.choice([*range(8), *EXTREMES]) if wide else choose.randrange(8),
            choose.randrange(0, 60, choose.choice([1, 10])),
        )
        for _ in range(count)
    ]


def operation(choose: random.Random) -> list[Any]:
    word = choose.choice(["assign", "assign", "truncate_from_end", "truncate_from_start", "clear"])
    if word == "assign":
        return [word, choose.randrange(-1, 12), choose.randrange(-1, 80)]
    return ["clear"] if word == "clear" else [word, choose.randrange(-2, 90)]


CHANGES: dict[str, Callable[..., EpochCache]] = {
    "assign": leader_epochs.assign,
    "truncate_from_end": leader_epochs.truncate_from_end,
    "truncate_from_start": leader_epochs.truncate_from_start,
    "clear": lambda _: (),
}


def listed(entries: EpochCache) -> list[list[int]]:
    return [list(entry) for entry in entries]


def test_random_caches(oracle: Oracle, oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    for number in range(cases(CASES)):
        entries = lines(choose)
        operations = [operation(choose) for _ in range(choose.choice([0, 0, choose.randrange(1, 12)]))]
        end = choose.choice([0, choose.randrange(100), choose.randrange(250)])
        asked, offsets = [*range(-3, 32), 2147483646, 2147483647], list(range(-1, 100, 3))
        kafka = oracle.ask(
            "epoch_cache",
            entries=entries,
            operations=operations,
            end_offset_for=asked,
            log_end_offset=end,
            epoch_for_offset=offsets,
        )
        answer = f"KCLI_SEED={oracle_seed} case {number}: {entries} {operations} {end}"
        cache = leader_epochs.replay(EpochEntry(*entry) for entry in entries)
        assert listed(cache) == kafka["loaded"], answer
        for (word, *arguments), after in zip(operations, kafka["after"], strict=True):
            try:
                cache = CHANGES[word](cache, *arguments)
            except CorruptError:
                assert after["error"] == "IllegalArgumentException", answer
            else:
                assert listed(cache) == after, answer
        assert [list(leader_epochs.end_offset_for(cache, epoch, end)[:2]) for epoch in asked] == kafka[
            "end_offset_for"
        ], answer
        found = [leader_epochs.epoch_for_offset(cache, offset) for offset in offsets]
        assert [entry.epoch if entry else None for entry in found] == kafka["epoch_for_offset"], answer


@pytest.mark.parametrize("entries", [[(-1, 5)], [(2, -1)], [(0, 0), (3, -7)]])
def test_a_negative_number_fails_the_load(oracle: Oracle, entries: list[tuple[int, int]]) -> None:
    assert oracle.ask("epoch_cache", entries=entries)["error"] == "IllegalArgumentException"
    with pytest.raises(CorruptError):
        leader_epochs.replay(EpochEntry(*entry) for entry in entries)
