"""Random logs of __consumer_offsets: what Kafka's own coordinator loads of them, and which offsets expire."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.jobs.group import GroupQuery, list_groups, offsets
from kcli.kafka.coordinator.group_fold import RECORDS_OF
from tests.groups import (
    NOW,
    batch,
    commit_key,
    commit_value,
    coordinator,
    group_key,
    group_value,
    record_value,
    text,
)
from tests.partitions import rows, unit
from tests.seeds import cases, chance
from tests.transactions import ended

from .oracle import Oracle, encoded

pytestmark = pytest.mark.oracle

LOGS, STEPS = 60, 40
DAY = 86_400_000
TOPICS = {"a": 3, "b": 2}
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAw"
CLASSIC, NEWER = ("g0", "g1", "g2", ""), {"c0": "consumer", "c1": "consumer", "s0": "share", "t0": "streams"}
COMMITTING = (*CLASSIC, "c0", "c1", "t0")
Step = tuple[int, bytes, bytes | None] | tuple[int, bool]
"""A record of a producer, -1 for none: key and value; or a marker: whether it commits."""


def then(rng: random.Random) -> int:
    return NOW - rng.randrange(14 * DAY)


def commit(rng: random.Random) -> Step:
    topic = rng.choice([*TOPICS])
    kind = rng.randrange(2)
    key = commit_key(rng.choice(COMMITTING), topic, rng.randrange(TOPICS[topic]), kind)
    if rng.random() < 0.15:
        return -1, key, None
    version = rng.randrange(5) if kind or rng.random() < 0.02 else 0
    expires = rng.choice([-1, NOW + rng.randrange(-DAY, DAY)])
    value = commit_value(
        *(rng.randrange(100), rng.randrange(-1, 5), then(rng)),
        version=version,
        metadata=rng.choice(["", "note"]),
        expires=expires,
        topic_id=rng.choice([None, TOPIC_ID]),
    )
    return rng.choice((-1, -1, 1, 2)), key, value


def without_offsets(group: str) -> Iterator[Step]:
    """Yield the tombstones that come before that of a group."""
    for topic, count in TOPICS.items():
        yield from ((-1, commit_key(group, topic, number), None) for number in range(count))


def classic(rng: random.Random) -> Iterator[Step]:
    group = rng.choice(CLASSIC if rng.random() < 0.95 else [*NEWER])
    if rng.random() < 0.2:
        yield from (*without_offsets(group), (-1, group_key(group), None))
        return
    members = [(f"m{number}", *rng.sample([*TOPICS], rng.randrange(3))) for number in range(rng.randrange(3))]
    kind = rng.choice(("consumer", "consumer", "connect", *(() if members else ("",))))
    yield -1, group_key(group), group_value(*members, protocol_type=kind, since=then(rng))


def newer(rng: random.Random, epochs: dict[str, int]) -> Iterator[Step]:
    """Yield what a member writes that joins or leaves a group, or what the deletion of a group does."""
    group, member = rng.choice([*NEWER]), f"m{rng.randrange(2)}"
    types = RECORDS_OF[NEWER[group]]
    of_member, current, target, targets, whole, _ = RECORDS_OF[NEWER[group]]

    def step(kind: int, name: str | None, **values: Any) -> Step:
        value = record_value(kind, **values) if values else None
        return -1, struct.pack(">h", kind) + text(group) + (text(name) if name else b""), value

    if rng.random() < 0.15:
        yield from without_offsets(group)
        for name in ("m0", "m1"):
            yield from (step(kind, name) for kind in (current, target, of_member))
        yield from (step(targets, None), step(whole, None))
        return
    epoch = epochs[group] = epochs.get(group, 0) + 1
    if rng.random() < 0.3:
        yield from (step(kind, member) for kind in (current, target, of_member))
        yield step(whole, None, epoch=epoch)
        return
    subscribed = {"subscribedTopicNames": rng.sample([*TOPICS], rng.randrange(3))}
    names = ("instanceId", "rackId", "subscribedTopicRegex", "serverAssignor")
    yield step(of_member, member, clientId="client", **subscribed, **dict.fromkeys(names))
    yield step(whole, None, epoch=epoch)
    if rng.random() < 0.8:
        yield step(target, member, topicPartitions=[])
        yield step(targets, None, assignmentEpoch=epoch)
    if rng.random() < 0.8:
        yield step(current, member, memberEpoch=epoch - rng.randrange(2), state=rng.choice([types.stable, 0]))


def steps(rng: random.Random, harm: float) -> Iterator[Step]:
    """Yield the records of a log; each is left out or damaged with a chance."""
    epochs: dict[str, int] = {}
    for _ in range(rng.randrange(1, STEPS)):
        kind = rng.random()
        if kind < 0.15:
            yield rng.choice((1, 2)), rng.random() < 0.7
        elif kind < 0.6:
            yield commit(rng)
        else:
            for record in classic(rng) if kind < 0.8 else newer(rng, epochs):
                harmed = rng.random() < harm and record[1][1] > 1  # no offset is left without its group
                if harmed and record[-1] and rng.random() < 0.5:
                    value = record[-1]
                    yield (
                        -1,
                        record[1],
                        rng.choice([value[: rng.randrange(2, len(value))], b"\0\x63" + value]),
                    )
                elif not harmed:
                    yield record
    if rng.random() < harm:
        yield -1, struct.pack(">h", 99) + b"later", b"\0\0"


def test_groups_and_offsets_are_those_that_the_coordinator_loads(oracle: Oracle, tmp_path: Path) -> None:
    loaded = 0
    for number in range(cases(LOGS)):
        rng = chance("groups", number)
        log = [*steps(rng, rng.choice((0, 0, 0.02)))]
        loaded += compare(oracle, tmp_path / str(number), log)
    assert loaded > cases(LOGS) // 2


def compare(oracle: Oracle, root: Path, log: list[Step]) -> bool:
    """Compare what becomes of a log; return whether its load comes to the end."""
    batches = (
        ended(offset, step[0], commits=step[1])
        if len(step) == 2
        else batch(offset, step[1:], producer=step[0])
        for offset, step in enumerate(log)
    )
    source = unit(coordinator(root, *batches))
    listed, committed = list_groups(source), rows(offsets(source, query=GroupQuery(now_ms=NOW)))
    expires = {
        (row["group_id"], row["topic"], row["partition"]): row["expire_timestamp"]
        for row in committed
        if row["expire_timestamp"] is not None
    }
    moments = sorted({at + off for at in expires.values() for off in (-1, 0)})
    asked = [[part if isinstance(part, int | None) else encoded(part) for part in step] for step in log]
    answer = oracle.ask("groups", records=asked, topics=TOPICS, times=moments)

    stops = [finding.found for finding in listed.findings if finding.code == "COORD-002"]
    assert stops == ([answer["read"]] if answer["error"] else []), answer
    if answer["error"]:
        return False
    groups = {row["group_id"]: [row["group_type"], row["state"]] for row in rows(listed)}
    assert groups == answer["groups"]
    assert {
        (row["group_id"], row["topic"], row["partition"]): (
            -1 if row["committed_offset"] is None else row["committed_offset"],
            -1 if row["committed_leader_epoch"] is None else row["committed_leader_epoch"],
            row["metadata"] or "",
            row["pending_offset"] is not None,
        )
        for row in committed
    } == {(*one[:3],): (*one[3:],) for one in answer["offsets"]}
    assert [{key for key, at in expires.items() if at <= moment} for moment in moments] == [
        {(*key,) for key in keys} for keys in answer["expired"]
    ]
    return True
