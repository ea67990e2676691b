"""Elections of partitions against PartitionChangeBuilder and PartitionRegistration, votes against raft's."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kcli.kafka.kraft.election import Rules, changed
from kcli.kafka.kraft.metadata_image import PartitionState, merged
from kcli.kafka.kraft.quorum import LogEnd, ballot
from tests.seeds import cases

from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 20_000
VOTES = {
    True: {"voters": [1, 2, 3], "candidate": 1, "gone": -1, "ends": {1: (2, 20), 2: (2, 10), 3: (2, 10)}},
    False: {"voters": [1, 2, 3], "candidate": 1, "gone": -1, "ends": {1: (1, 10), 2: (2, 20), 3: (2, 20)}},
    None: {"voters": [1, 2, 3], "candidate": 1, "gone": -1, "ends": {1: (2, 20)}},
}
"""A candidate that is elected, one that is not, and one whose other voters have not answered."""
BROKERS = range(1, 7)
LEVELS = (7, 11, 12, 19, 25, 29)
"""Of metadata.version: on both sides of 3.6-IV0 and of directories."""


def some(choose: random.Random, brokers: list[int]) -> list[int]:
    return choose.sample(brokers, choose.randrange(len(brokers) + 1))


def case(choose: random.Random) -> dict[str, Any]:
    """Return a partition in a state that is reachable, or nearly so, and what shall become of its ISR."""
    replicas = choose.sample(BROKERS, choose.randrange(1, 6))
    isr = some(choose, replicas)
    rest = [replica for replica in replicas if replica not in isr]
    has_elr = choose.random() < 0.5
    removing, adding = [], []
    if choose.random() < 0.3:
        removing = some(choose, replicas)
        adding = some(choose, [replica for replica in replicas if replica not in removing])
    return {
        "replicas": replicas,
        "isr": isr,
        "leader": choose.choice([*isr, -1]),
        "leader_epoch": choose.randrange(5),
        "partition_epoch": choose.randrange(9),
        "elr": some(choose, rest) if choose.random() < 0.5 else [],
        "last_known_elr": choose.sample(replicas, min(len(replicas), choose.choice([0, 0, 1, 2]))),
        "removing": removing,
        "adding": adding,
        "recovering": choose.random() < 0.2,
        "target_isr": [replica for replica in isr if choose.random() < 0.6],
        "live": some(choose, list(BROKERS)),
        "unclean_shutdown": some(choose, replicas) if choose.random() < 0.1 else [],
        "unclean": choose.random() < 0.4,
        "elr_enabled": has_elr,
        "min_isr": choose.randrange(1, 4),
        "metadata_version": choose.choice(LEVELS),
    }


BROKERS_OF = ("replicas", "isr", "elr", "last_known_elr", "removing", "adding")
NUMBERS = ("leader", "leader_epoch", "partition_epoch")


def ours(node: dict[str, Any]) -> dict[str, Any] | None:
    partition = PartitionState(
        **{name: tuple(node[name]) for name in BROKERS_OF},
        **{name: node[name] for name in NUMBERS},
        is_recovering=node["recovering"],
    )
    rules = Rules(
        is_acceptable=node["live"].__contains__,
        min_isr=node["min_isr"],
        may_be_unclean=node["unclean"],
        has_elr=node["elr_enabled"],
        metadata_version=node["metadata_version"],
    )
    change, _ = changed(partition, tuple(node["target_isr"]), rules, tuple(node["unclean_shutdown"]))
    if change is None:
        return None
    after = merged(partition, change)
    found = {name: [*getattr(after, name)] for name in BROKERS_OF}
    found |= {name: getattr(after, name) for name in NUMBERS}
    found["elr"].sort()
    return {**found, "recovering": after.is_recovering}


def election(choose: random.Random) -> dict[str, Any]:
    """Return a candidate and the ends of some voters' logs, many of them equal."""
    voters = choose.sample(BROKERS, choose.randrange(1, 7))
    known = [voter for voter in voters if choose.random() < 0.8] or voters[:1]
    ends = {voter: (choose.randrange(1, 4), choose.choice([10, 20, 20, 30])) for voter in known}
    candidate = choose.choice(known)
    return {
        "voters": voters,
        "candidate": candidate,
        "gone": choose.choice([-1, *(voter for voter in BROKERS if voter != candidate)]),
        "ends": ends,
    }


def test_random_votes(oracle: Oracle, oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    asked = [*VOTES.values(), *(election(choose) for _ in range(cases(CASES // 4)))]
    kafka = oracle.ask("ballot", cases=asked)["cases"]
    answers = []
    for number, (node, theirs) in enumerate(zip(asked, kafka, strict=True)):
        ends = {voter: LogEnd(*end) for voter, end in node["ends"].items()}
        found = ballot(node["candidate"], ends, node["voters"], node["gone"])
        answer = True if theirs["granted"] else False if theirs["rejected"] else None
        assert found == (theirs["votes"], answer), f"KCLI_SEED={oracle_seed} case {number}: {node}"
        answers.append(answer)
    assert answers[: len(VOTES)] == list(VOTES)


def test_random_partitions(oracle: Oracle, oracle_seed: int) -> None:
    choose = random.Random(oracle_seed)
    asked = [case(choose) for _ in range(cases(CASES))]
    kafka = oracle.ask("partition_change", cases=asked)["cases"]
    for number, (node, theirs) in enumerate(zip(asked, kafka, strict=True)):
        if theirs is not None:
            theirs["elr"].sort()  # Kafka's order is that of a hash set
        assert ours(node) == theirs, f"KCLI_SEED={oracle_seed} case {number}: {node}"


def test_the_next_replica_of_the_isr_leads_when_the_leader_fails(oracle: Oracle) -> None:
    node = case(random.Random(0)) | {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leader_epoch": 3}
    node |= {"elr": [], "last_known_elr": [], "removing": [], "adding": [], "unclean_shutdown": []}
    node |= {"target_isr": [2, 3], "live": [2, 3]}
    (theirs,) = oracle.ask("partition_change", cases=[node])["cases"]
    assert (theirs["leader"], theirs["isr"], theirs["leader_epoch"]) == (2, [2, 3], 4)
    assert ours(node) == theirs
