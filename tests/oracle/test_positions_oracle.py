"""Errors of OffsetForLeaderEpoch, and positions of consumers, against Partition and SubscriptionState."""

from __future__ import annotations

import random
from typing import Any

import pytest

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.consumer_positions import (
    METADATA,
    Bounds,
    Leadership,
    Position,
    request_error,
    validate,
)
from kcli.kafka.storage.leader_epochs import NO_END_OFFSET, end_offset_for
from tests.seeds import cases

from .logs import random_log
from .oracle import Oracle

pytestmark = pytest.mark.oracle

LOGS = 12
CASES = 50
EARLIEST, LATEST = -7, -8
RESETS = ("earliest", "latest", "none")
"""Stand for what ListOffsets would answer."""


def grid(newest: int, end: int) -> list[dict[str, Any]]:
    """Return every kind of position: of each epoch, before and after the log end, asked of any broker."""
    return [
        {
            "current": current,
            "leader_epoch": newest + 1,
            "leads": leads,
            "offset": offset,
            "epoch": epoch,
            "reset": reset,
        }
        for current in (-1, newest, newest + 1, newest + 2)
        for leads in (True, False)
        for offset in (0, end // 2, end, end + 5)
        for epoch in range(-1, newest + 3)
        for reset in RESETS
    ]


def case(choose: random.Random, newest: int, end: int) -> dict[str, Any]:
    leader_epoch = newest + choose.choice([0, 0, 1])
    return {
        "current": choose.choice([-1, -1, leader_epoch, leader_epoch, leader_epoch - 1, leader_epoch + 1]),
        "leader_epoch": leader_epoch,
        "leads": choose.random() < 0.9,
        "offset": choose.randrange(end + 10),
        "epoch": choose.randrange(-1, newest + 3),
        "reset": choose.choice(RESETS),
    }


def test_random_positions(oracle: Oracle, oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    for number in range(cases(LOGS)):
        log = random_log(oracle, oracle_seed + number, clean=True, damaged=False)
        newest = max([epoch for epoch, _ in log.facts["epochs"]], default=0)
        end_offset = log.facts["log_end_offset"]
        asked = [*grid(newest, end_offset), *(case(choose, newest, end_offset) for _ in range(CASES))]
        kafka = oracle.ask("positions", directory=log.directory, cases=asked, **log.opening)
        log.remove()
        cache = tuple(EpochEntry(*entry) for entry in kafka["epochs"])
        for node, theirs in zip(asked, kafka["cases"], strict=True):
            known = Leadership(node["leader_epoch"], METADATA, is_leader=node["leads"])
            error = request_error(node["current"], known)
            end = NO_END_OFFSET
            if error is None:
                end = end_offset_for(cache, node["epoch"], kafka["log_end_offset"])
            place = f"KCLI_SEED={oracle_seed} log {number}: {node} {kafka['epochs']}"
            assert (error, end.epoch, end.end_offset) == (
                theirs["error"],
                theirs["leader_epoch"],
                theirs["end_offset"],
            ), place
            position = Position(node["offset"], node["epoch"])
            found = validate(position, error, end, node["reset"], Bounds(EARLIEST, LATEST))
            assert as_kafka(found, end, node["reset"]) == theirs["position"], place


def as_kafka(found: Any, end: Any, reset: str) -> dict[str, Any]:
    """Return what is concluded in the judge's words."""
    if found.outcome == "retry":
        return {"outcome": "retry"}
    if found.exception is not None:
        divergent = {"divergent_offset": end.end_offset, "divergent_epoch": end.epoch}
        return {"outcome": "exception", **(divergent if found.outcome == "truncated" else {})}
    if found.outcome == "undefined":
        assert found.next_offset == {"earliest": EARLIEST, "latest": LATEST}[reset]
        return {"outcome": "reset", "strategy": reset}
    outcome = "unchecked" if found.outcome == "unchecked" else "reads"
    return {"outcome": outcome, "offset": found.next_offset, "epoch": found.next_epoch}
