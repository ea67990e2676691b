"""Random tiered partitions against RemoteLogManager: reads, ListOffsets, what clean-up deletes next."""

import base64
import random
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kcli.engine.contract import Unit
from kcli.jobs.held_log import RetentionQuery
from kcli.jobs.rlmm import tiers
from kcli.jobs.tiered_leader import with_metadata
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.builders import put_record, put_records
from tests.partitions import rows, segment
from tests.seeds import cases

from .logs import NOW
from .oracle import Oracle

pytestmark = pytest.mark.oracle

CASES = 250
TOPIC_ID = "u4NdSfWRQjaZ_ENyxMXLJA"
EPOCH_FILE = "leader-epoch-checkpoint"
STATES = (
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
)
WAYS = {"unfinished": 1, "deleting": 3, "deleted": 4}
"""Which states a copy comes to; two for any other."""


class Tiered(NamedTuple):
    """A log dir with a partition and its remote segments; `opening` are the fields to open it with."""

    directory: Path
    storage: Path
    events: list[dict[str, Any]]
    facts: dict[str, Any]
    opening: dict[str, Any]


def settings(choose: random.Random) -> dict[str, Any]:
    return {
        "segment_bytes": choose.choice([2048, 3072, 4096]),
        "index_interval_bytes": choose.choice([1, 64, 512, 4096]),
        "segment_index_bytes": 65536,
        "now_ms": NOW,
    }


def knobs(choose: random.Random) -> dict[str, Any]:
    return {
        "batches": choose.randint(10, 70),
        "records_max": choose.choice([1, 6]),
        "codecs": choose.choice([["none"], ["none", "gzip", "zstd"]]),
        "timestamps": choose.choice(["rising", "rising", "random", "equal"]),
        "first_epoch": choose.choice([0, 0, 5]),
        "epoch_chance": choose.choice([0, 0.1, 0.3]),
        "empty_epoch_chance": choose.choice([0, 0.1]),
        "trailing_epoch_chance": 0.2,
        "roll_chance": choose.choice([0.03, 0.15]),
        "hole_chance": choose.choice([0, 0.2]),
        "high_watermark": choose.choice([1, 1, choose.random()]),
        "delete_records": choose.choice([0, 0, choose.random()]),
        "delete_segments": False,
    }


def epochs_of(directory: Path) -> list[tuple[int, int]]:
    lines = (directory / EPOCH_FILE).read_text().splitlines()[2:]
    return [(int(epoch), int(start)) for epoch, start in (line.split() for line in lines)]


def random_id(choose: random.Random) -> str:
    return base64.urlsafe_b64encode(choose.randbytes(16)).decode().rstrip("=")


def own_epochs(epochs: list[tuple[int, int]], start: int, end: int) -> list[list[int]]:
    """Return the epochs of a segment as the copy task writes them: from its first offset on."""
    before = [epoch for epoch, first in epochs if first <= start]
    inside = [[epoch, first] for epoch, first in epochs if start < first <= end]
    return [*([[before[-1], start]] if before else []), *inside]


def another_history(choose: random.Random, epochs: list[list[int]]) -> list[list[int]]:
    changed = [list(entry) for entry in epochs]
    place = choose.randrange(len(changed))
    changed[place][choose.choice((0, 0, 1))] += choose.choice((-1, 1, 2))
    return [[max(epoch, 0), max(start, 0)] for epoch, start in changed]


def copy(
    choose: random.Random, log: Path, bounds: tuple[int, int], newest: int, history: list[list[int]], way: str
) -> list[dict[str, Any]]:
    """Return the events of one copy of a segment, from its first offset to before that of the next one."""
    start, last, own = bounds[0], bounds[1] - 1, history
    if way == "other":
        own = another_history(choose, history)
        start, last = own[0][1], max([last, *(first for _, first in own)])
    if way == "shorter":
        last = choose.randrange(history[0][1], bounds[1])
        own = [entry for entry in history if entry[1] <= last]
    if way == "lost":  # its leader went on in the first epoch; an unclean election cut that
        own = history[:1]
    topic, _, partition = log.parent.name.rpartition("-")
    common = {"topic": topic, "topic_id": TOPIC_ID, "partition": int(partition)}
    common |= {"segment_id": random_id(choose), "broker_id": 1}
    first = {
        **common,
        "type": "RemoteLogSegmentMetadata",
        "start_offset": start,
        "end_offset": last,
        "max_timestamp_ms": newest,
        "segment_leader_epochs": own,
        "segment_size_bytes": log.stat().st_size,
        "txn_index_empty": True,
    }
    later = {**common, "type": "RemoteLogSegmentMetadataUpdate"}
    states = STATES[: WAYS.get(way, 2)]
    return [{**(later if number else first), "state": state} for number, state in enumerate(states)]


def copied(
    choose: random.Random, directory: Path, storage: Path, epochs: list[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Copy some of the first segments to remote storage, remove some of these here; return the events."""
    bases = [int(path.stem) for path in sorted(directory.glob("*.log"))]
    events: list[dict[str, Any]] = []
    whole = choose.randint(0, len(bases) - 1)
    gone = choose.choice([0, 0, 0, choose.randrange(whole + 1), whole])
    into = storage / f"{directory.name}-{TOPIC_ID}"
    into.mkdir(parents=True)
    for number, bounds in enumerate(list(pairwise(bases))[:whole]):
        history = own_epochs(epochs, bounds[0], bounds[1] - 1)
        if not history:
            continue
        several = [*choose.choices(["unfinished", "copied", "other", "shorter"], k=2), "copied"]
        ways = ["copied"] if choose.random() < 0.6 else several
        if number == 0 and choose.random() < 0.3:
            ways = ["deleting"]
        if number == whole - 1 and len(history) > 1 and choose.random() < 0.5:
            ways = ["lost"]
        if number < gone:
            ways = ["deleted"]
        newest = choose.choice([NOW - 3_600_000 + 700 * bounds[1], NOW - 3_600_000, NOW])
        for way in ways:
            made = copy(choose, directory / f"{bounds[0]:020}.log", bounds, newest, history, way)
            events += made
            for extension in ("log", "index", "timeindex"):
                name = f"{made[0]['start_offset']:020}-{made[0]['segment_id']}.{extension}"
                shutil.copy(directory / f"{bounds[0]:020}.{extension}", into / name)
    for time, event in enumerate(events):
        event["event_timestamp_ms"] = NOW + time
    for base in bases[: choose.randint(0, whole)]:
        for path in directory.glob(f"{base:020}.*"):
            path.unlink()
    return events


def tiered(oracle: Oracle, seed: int) -> Tiered:
    choose = random.Random(seed)
    opening, directory = settings(choose), oracle.fresh(f"topic-{seed % 10}")
    facts = oracle.ask(
        "write_log", directory=directory, seed=seed, end="clean", checkpoints=True, **knobs(choose), **opening
    )
    assert "error" not in facts, (seed, facts)
    storage = oracle.fresh("storage")
    events = copied(choose, directory, storage, epochs_of(directory))
    (directory.parent / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
    (directory.parent / ".kafka_cleanshutdown").write_text("")
    checkpoint = directory.parent / "replication-offset-checkpoint"
    checkpoint.write_text(f"0\n1\n{' '.join(directory.name.rsplit('-', 1))} {facts['high_watermark']}\n")
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}\n")
    if events:
        values = oracle.ask("rlmm_encode", events=events)["values"]
        records = [put_record(n, n, None, base64.b64decode(value)) for n, value in enumerate(values)]
        segment(directory.parent / "__remote_log_metadata-0", 0, put_records(records))
    return Tiered(directory, storage, events, facts, opening)


def unit_of(log: Tiered) -> Unit:
    found = find([str(log.directory.parent)], Selection())
    units = [Unit(number=number, targets=(target,)) for number, target in enumerate(found.targets)]
    (unit,) = with_metadata(units, (), Selection())
    return unit


def random_limits(choose: random.Random, sizes: int) -> dict[str, str]:
    ms = choose.choice([-1, 3_600_000, choose.randrange(3_500_000, 3_600_001), 10])
    size = choose.choice([-1, -1, choose.randrange(sizes + 2)])
    limits = {
        "retention.ms": ms,
        "retention.bytes": size,
        "local.retention.ms": choose.choice([-2, choose.randrange(ms + 1) if ms >= 0 else 3_590_000, 0]),
        "local.retention.bytes": choose.choice([-2, choose.randrange(size + 1) if size >= 0 else sizes // 2]),
    }
    return {name: str(value) for name, value in limits.items()}


def assert_same_offset(unit: Unit, storage: Path, offset: int, kafka: dict[str, Any], output: str) -> None:
    (mine,) = rows(tiers.lookup_offset(unit, offset=offset, storage=(str(storage),)))
    if "error" in kafka:
        assert kafka["error"] == "OffsetOutOfRangeException", (output, offset, kafka)
        assert not mine["found"] and "OFFSET_OUT_OF_RANGE" in mine["reason"], (output, mine)
        return
    assert mine["found"] == kafka["found"], (output, offset, mine, kafka)
    if kafka["found"]:
        assert (mine["tier"], mine["segment_id"]) == ("remote", kafka["read"][-1]), (output, mine, kafka)
        same = ("position", "batch_base_offset", "batch_last_offset")
        assert {key: mine[key] for key in same} == {key: kafka[key] for key in same}, (output, mine)


def assert_same_time(unit: Unit, storage: Path, time: int, kafka: dict[str, Any] | None, output: str) -> None:
    (mine,) = rows(tiers.lookup_timestamp(unit, timestamp=time, storage=(str(storage),)))
    assert mine["found"] == (kafka is not None), (output, time, mine, kafka)
    if kafka is not None:
        found = (mine["offset"], mine["record_timestamp"], mine["leader_epoch"])
        case = (output, time, mine, kafka)
        assert found == (kafka["offset"], kafka["timestamp"], kafka["leader_epoch"]), case
        assert (mine["tier"] == "remote") <= bool(kafka["read"]), case


def assert_same_clean_up(
    log: Tiered, cleaned: list[dict[str, Any]], limits: dict[str, str], kafka: dict[str, Any], output: str
) -> None:
    """Kafka lists segments of one start in the order of a HashSet, and may delete one of two epochs twice."""
    begun = [event for event in log.events if "start_offset" in event]
    starts = {segment["segment_id"]: segment["start_offset"] for segment in begun}
    alike = {
        (segment["start_offset"], segment["max_timestamp_ms"], segment["segment_size_bytes"])
        for segment in begun
    }
    if len(alike) != len(set(starts.values())):
        return
    going = [row for row in cleaned if row["tier"] == "remote" and row["action"] == "delete"]
    going.sort(key=lambda row: row["order"])
    gone = list(dict.fromkeys(kafka["deleted"]))
    assert [row["start_offset"] for row in going] == [starts[segment_id] for segment_id in gone], (
        output,
        limits,
        cleaned,
    )
    if int(limits["retention.bytes"]) < 0 or len(set(starts.values())) == len(starts):
        assert {row["segment_id"] for row in going} == set(gone), (output, limits)
        after = max(kafka["log_start_after"] or 0, kafka["log_start_offset"])
        assert {row["log_start_offset_after"] for row in cleaned} == {after}, (output, limits)


ONE_RECORD = 1337337608
"""The seed of a log whose last remote segment has one record."""


def assert_same_answers(oracle: Oracle, seed: int) -> None:
    log, choose = tiered(oracle, seed), random.Random(seed)
    if not log.events:
        return
    output = f"KCLI_SEED={seed}"
    unit = unit_of(log)
    (specials,) = rows(tiers.offsets(unit))
    limits = random_limits(choose, sum(event.get("segment_size_bytes", 0) for event in log.events))
    asked = range(specials["earliest_offset"], specials["earliest_local_offset"])
    asked = sorted(choose.sample(asked, min(25, len(asked))))
    times = [0, NOW, *(NOW - 3_600_000 + choose.randrange(60_000) for _ in range(12))]
    kafka = oracle.ask_of_copy(
        "remote_log",
        log.directory,
        storage=log.storage,
        topic_id=TOPIC_ID,
        events=log.events,
        log_start_offset=log.facts["log_start_offset_checkpoint"],
        recovery_point=log.facts["recovery_point"],
        high_watermark=log.facts["high_watermark"],
        epochs=[entry for entry in epochs_of(log.directory) if entry[1] == log.facts["log_end_offset"]],
        remote_enabled=True,
        config=limits,
        offsets=asked,
        timestamps=times,
        **log.opening,
    )
    if kafka.get("error") == "OffsetOutOfRangeException":  # remote segments are above the high watermark
        return
    assert "error" not in kafka, (output, kafka)
    names = ("earliest", "earliest_local", "latest_tiered")
    found = [[specials[f"{name}_offset"], specials[f"{name}_epoch"]] for name in names]
    if log.facts["high_watermark"] <= kafka["specials"][2][0]:  # a consumer does not get it
        kafka["specials"][2] = [-1, -1]
    assert found == [[at, None if epoch == -1 else epoch] for at, epoch in kafka["specials"]], (
        output,
        specials,
    )
    for offset, answer in zip(asked, kafka["offsets"], strict=True):
        assert_same_offset(unit, log.storage, offset, answer, output)
    for time, answer in zip(times, kafka["timestamps"], strict=True):
        assert_same_time(unit, log.storage, time, answer, output)
    query = RetentionQuery(NOW, {}, {**limits, "remote.storage.enable": "true"})
    cleaned = rows(tiers.retention(unit, query=query))
    assert_same_clean_up(log, cleaned, limits, kafka, output)
    kept = {row["start_offset"] for row in cleaned if row["tier"] == "local" and row["action"] == "keep"}
    end = {kafka["log_end_offset"]}  # where a segment is rolled once all are gone
    assert kept - end == set(kafka["local"]) - end, (output, limits, cleaned)
    shutil.rmtree(log.directory.parent)


def test_random_tiered_logs(oracle: Oracle, oracle_seed: int) -> None:
    for seed in range(oracle_seed, oracle_seed + cases(CASES)):
        assert_same_answers(oracle, seed)


def test_a_copied_segment_of_one_record_counts_once(oracle: Oracle) -> None:
    """`onlyLocalLogSegmentsSize` of 4.4: what begins at the last copied offset is not only here."""
    log = tiered(oracle, ONE_RECORD)
    last = max(
        (event for event in log.events if "start_offset" in event), key=lambda event: event["start_offset"]
    )
    assert last["start_offset"] == last["end_offset"]
    assert_same_answers(oracle, ONE_RECORD)
