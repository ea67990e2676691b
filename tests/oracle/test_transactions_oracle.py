"""Random records of __transaction_state, whole and damaged: the states that Kafka's own classes load."""

from __future__ import annotations

import random

import pytest

from kcli.kafka.coordinator.transactions import TransactionStates
from tests.seeds import cases, chance
from tests.transactions import coordinator_records, key_of, value_of

from .oracle import Oracle, encoded

pytestmark = pytest.mark.oracle

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead")
LOGS = 300


def random_record(rng: random.Random) -> tuple[bytes | None, bytes | None]:
    key = key_of(f"id-{rng.randrange(6)}")
    partitions = [(rng.choice("ab"), rng.randrange(3)) for _ in range(rng.randrange(4))]
    value = value_of(
        *(rng.randrange(-1, 99), rng.randrange(-1, 99), rng.choice(STATES)),
        None if rng.random() < 0.05 else partitions,
        timeout=rng.randrange(1 << 31),
        start=rng.randrange(-1, 1 << 40),
    )
    if rng.random() < 0.1:
        damaged = bytearray(value)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        value = bytes(damaged)[: rng.choice([len(value), rng.randrange(len(value))])]
    if rng.random() < 0.02:
        key = rng.choice([b"", b"\0", b"\0\1xyz", b"\0\0\0\x09abc"])
    return (None if rng.random() < 0.01 else key), (None if rng.random() < 0.1 else value)


def test_states_and_what_ends_the_load(oracle: Oracle):
    for number in range(cases(LOGS)):
        compare(oracle, chance("transactions", number))


def compare(oracle: Oracle, rng: random.Random) -> None:
    records = [random_record(rng) for _ in range(rng.randrange(1, 30))]
    asked = [[None if part is None else encoded(part) for part in record] for record in records]
    answer = oracle.ask("transactions", records=asked)

    states = TransactionStates("dir")
    list(states.take(coordinator_records(*records)))
    assert states.stop == (answer["read"] if answer["error"] else None)

    loaded = TransactionStates("dir")
    findings = list(loaded.take(coordinator_records(*records[: answer["read"]])))
    assert sum((finding.more or 0) + 1 for finding in findings) == len(answer["passed_over"])
    assert {
        key: [
            *(state.producer_id, state.producer_epoch, state.previous_producer_id),
            *(state.state, state.timeout_ms),
            *(state.start_timestamp, state.last_update_timestamp),
            sorted(map(str, set(state.partitions))),
        ]
        for key, state in loaded.states.items()
    } == answer["states"]
