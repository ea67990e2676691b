"""The rounds of followers and leaders against Kafka's AbstractFetcherThread."""

from __future__ import annotations

import random
from typing import Any

import pytest

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.follower import (
    CONVERGED,
    EPOCH_PROTOCOL,
    FETCH,
    OUT_OF_RANGE,
    STUCK,
    TIERED,
    FetchRounds,
    ReplicaEpochs,
    as_leader,
    follow_leader,
)
from kcli.kafka.storage.leader_epochs import EpochCache
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 6000
NEW_EPOCH = 99
AT_ONCE = 500
EMPTY = ReplicaEpochs((), 0)
MADE = {
    CONVERGED: (
        ReplicaEpochs((EpochEntry(8, 41),), 49, log_start_offset=41),
        ReplicaEpochs((EpochEntry(1, 30), EpochEntry(8, 55)), 63, high_watermark=47),
        FETCH,
    ),
    OUT_OF_RANGE: (EMPTY, ReplicaEpochs((), 8, high_watermark=2), EPOCH_PROTOCOL),
    STUCK: (
        ReplicaEpochs((EpochEntry(0, 0),), 10),
        ReplicaEpochs((EpochEntry(0, 0), EpochEntry(3, 10)), 10, high_watermark=10),
        FETCH,
    ),
    TIERED: (
        ReplicaEpochs((), 64, log_start_offset=13, first_local_offset=15),
        ReplicaEpochs((), 11, high_watermark=10),
        FETCH,
    ),
}
"""A leader, a follower, its protocol for each outcome; the stuck one led in an epoch that is lost."""


def history(choose: random.Random) -> tuple[ReplicaEpochs, ReplicaEpochs]:
    """Return the logs of two replicas after unclean elections among them: each epoch is written by one."""
    logs: list[list[int]] = [[], []]
    for epoch in range(choose.randrange(1, 14)):
        leader = choose.randrange(2)
        if choose.random() < 0.3:
            logs[1 - leader] = list(logs[leader])
        records = choose.randrange(1, 9)
        logs[leader] += [epoch] * records
    one, other = map(of_log, logs)
    return one, other


def of_log(log: list[int]) -> ReplicaEpochs:
    entries = [EpochEntry(epoch, at) for at, epoch in enumerate(log) if not at or log[at - 1] != epoch]
    return ReplicaEpochs(tuple(entries), len(log))


def any_side(choose: random.Random) -> ReplicaEpochs:
    """Return any log: epochs and offsets at random."""
    count = choose.randrange(0, 6)
    epochs = sorted(choose.sample(range(12), count))
    starts = sorted(choose.sample(range(0, 60, choose.choice([1, 5])), count))
    end = choose.randrange(starts[-1] if starts else 0, 70)
    if starts and choose.random() < 0.3:
        end = starts[-1]  # the replica runs, and holds an epoch without records
    return ReplicaEpochs(tuple(map(EpochEntry, epochs, starts)), end)


def case(choose: random.Random) -> tuple[ReplicaEpochs, ReplicaEpochs, str]:
    leader, follower = history(choose) if choose.random() < 0.6 else (any_side(choose), any_side(choose))
    if choose.random() < 0.7:
        leader = as_leader(leader, NEW_EPOCH)
    if choose.random() < 0.2:
        leader = leader._replace(log_start_offset=choose.randrange(leader.log_end_offset + 1))
    if choose.random() < 0.2:
        leader = leader._replace(first_local_offset=choose.randrange(leader.log_end_offset + 1))
    if choose.random() < 0.1:
        follower = follower._replace(epochs=())
    follower = follower._replace(high_watermark=choose.randrange(follower.log_end_offset + 1))
    return leader, follower, choose.choice([FETCH, FETCH, EPOCH_PROTOCOL])


def listed(epochs: EpochCache) -> list[list[int]]:
    return [list(entry) for entry in epochs]


def asked(leader: ReplicaEpochs, follower: ReplicaEpochs, protocol: str) -> dict[str, Any]:
    both = {"leader": leader, "follower": follower}
    sides = {name: {**side._asdict(), "epochs": listed(side.epochs)} for name, side in both.items()}
    return {**sides, "protocol": protocol}


def assert_rounds(
    leader: ReplicaEpochs, follower: ReplicaEpochs, protocol: str, theirs: dict[str, Any]
) -> FetchRounds:
    ours = follow_leader(leader, follower, protocol)
    rounds = [list(step[:7]) for step in ours.rounds if step.truncate_to is not None]
    case = (leader, follower, protocol, theirs)
    assert rounds == theirs["rounds"], case
    assert ours.truncate_to == theirs["log_end_offset"], case
    assert ours.starts_over == theirs["starts_anew"], case
    assert {STUCK: "stuck", TIERED: "tiered"}.get(ours.outcome, "fetched") == theirs["outcome"], case
    kept = follower.cut(ours.truncate_to).epochs if rounds else follower.epochs
    assert listed(() if ours.starts_over else kept) == theirs["epochs"], case
    return ours


def test_rounds(oracle: Oracle, oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    for _ in range(cases(CASES) // AT_ONCE):
        made = [case(choose) for _ in range(AT_ONCE)]
        answers = oracle.ask("follow", cases=[asked(*question) for question in made])["cases"]
        for question, theirs in zip(made, answers, strict=True):
            assert_rounds(*question, theirs)


def test_every_outcome(oracle: Oracle) -> None:
    answers = oracle.ask("follow", cases=[asked(*question) for question in MADE.values()])["cases"]
    found = [
        assert_rounds(*question, theirs) for question, theirs in zip(MADE.values(), answers, strict=True)
    ]
    assert [row.outcome for row in found] == list(MADE)
    assert len(found[0].rounds) > 1
