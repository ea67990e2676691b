"""Units of two replicas of a partition: each with the first that was named, or each with its leader."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat

from kcli.engine.contract import Unit
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.replication.follower import (
    FetchRounds,
    LoadedReplica,
    ReplicaEpochs,
    below_start,
    replica_epochs,
)
from kcli.kafka.storage.leader_epochs import load, replay
from kcli.kafka.storage.load_findings import dropped_epochs
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target


def report_alone(partition: Partition) -> Finding:
    """Return that a replica has no other one to be compared with."""
    return Finding("REPL-002", "no other replica of it was named", dir=partition.shown)


def pairs(units: Sequence[Unit]) -> list[Unit]:
    """Return a unit for each pair of replicas of a partition, one alone too; any two others are a pair."""
    partitions: dict[object, list[Target]] = {}
    is_one_pair = len(units) == 2 and None in [unit.target.name for unit in units]
    for unit in units:
        name = unit.target.name
        key = None if is_one_pair else (name.topic, name.partition) if name else unit.target.path
        partitions.setdefault(key, []).append(unit.target)
    groups: list[tuple[Target, ...]] = [
        targets
        for first, *other_replicas in partitions.values()
        for targets in (zip(repeat(first), other_replicas) if other_replicas else [(first,)])
    ]
    return [Unit(number=number, targets=targets) for number, targets in enumerate(groups)]


def with_leaders(
    units: Sequence[Unit], leaders: Sequence[Target], metadata: Sequence[Target] = ()
) -> list[Unit]:
    """Return the units with the leader's replica as second target where there is one, then `metadata`."""
    leaders_by_name: dict[object, Target] = {}
    for target in leaders:
        if target.kind == PARTITION and target.name is not None:
            leaders_by_name.setdefault((target.name.topic, target.name.partition), target)
    paired = []
    for unit in units:
        name = unit.target.name
        leader = leaders_by_name.get((name.topic, name.partition)) if name else None
        paired.append(unit if leader is None else replace(unit, targets=(unit.target, leader, *metadata)))
    return paired


def load_replica(partition: Partition, *, running: bool) -> Reporting[LoadedLog]:
    """Yield what a start finds; return the log that it loads, or that a `running` broker holds."""
    # A broker that runs has recovered its log: the log ends where the file does.
    loaded = yield from start(partition, exact=not running)
    return as_running(loaded) if running else loaded


def as_running(loaded: LoadedLog) -> LoadedLog:
    """Return a log as a running broker holds it: with an epoch that begins at the log end."""
    if loaded.emptied or loaded.high_watermark is not None:
        return loaded
    lines, begin = replay(loaded.epoch_lines or ()), loaded.checkpoints.log_start_offset
    return loaded._replace(epochs=load(lines, loaded.log_end_offset, begin, running=True).entries)


def dropped_by_start(partition: Partition, loaded: LoadedLog) -> Iterator[Finding]:
    """Yield that a start drops leader epochs which begin at or past the log end."""
    if not loaded.emptied and loaded.high_watermark is None:
        end = loaded.log_end_offset
        yield from dropped_epochs(partition, load(loaded.recovered_epochs, end, 0).past_end, end)


def start_finding(
    partition: Partition,
    leader: ReplicaEpochs,
    loaded: LoadedLog,
    fetch_rounds: FetchRounds | None,
    name: str = "the leader",
) -> Iterator[Finding]:
    """Yield that a follower deletes what lies below the log start of a leader, which `name` names."""
    follower = replica_epochs(LoadedReplica(loaded, None))
    count = below_start(leader, follower, fetch_rounds)
    if count:
        first, start = follower.log_start_offset, leader.log_start_offset
        deleted = f"as its follower this replica drops offsets {first}..{first + count - 1}"
        message = f"the log of {name} begins at offset {start}: {deleted}"
        yield Finding("REPL-006", message, dir=partition.shown, expected=first, found=start)
