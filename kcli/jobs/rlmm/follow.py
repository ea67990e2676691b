"""`rlmm follow`: how a follower gets into a tiered log, step by step, and what it holds then.

The state that goes with a segment is read from directories of remote storage where these are given, and what
is not there fails the follower, as `TierStateMachine.buildRemoteLogAuxState` does: when its log is truncated
already. Without them the leader's own epochs below the segment's end are taken for those that were uploaded
with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from formats.checkpoint import read_leader_epoch_checkpoint
from formats.names import LEADER_EPOCH_CHECKPOINT, PRODUCER_SNAPSHOT, file_prefix
from formats.producer_snapshot import read_snapshot
from kcli.engine.contract import Unit
from kcli.jobs.common import Yield, unit_job, where
from kcli.jobs.metadata_partitions import read_events
from kcli.jobs.replica_pairs import with_leaders
from kcli.jobs.rlmm.storage import fetched_index
from kcli.jobs.rlmm.tiers import place_of
from kcli.jobs.tiered_leader import cache_of, load_leader, user_units
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.remote.lineage import Leader
from kcli.kafka.replication.follower import (
    FAILED,
    LEADER_END,
    LEADER_START,
    LOCAL,
    OUT_OF_RANGE,
    STUCK,
    LoadedReplica,
    TieredFetch,
    fetch_from_remote,
    follow_leader,
    leader_epochs,
    replica_epochs,
)
from kcli.kafka.storage.leader_epochs import EpochCache, replay, truncate_from_end
from kcli.kafka.storage.loaded_log import checkpoints
from kcli.logdir.buffers import FileError, reading
from kcli.logdir.partition import Partition
from kcli.logdir.targets import Selection, Target
from kcli.rows.remote_tiers import RlmmFollowRow

FROM_STORAGE, FROM_LEADER = "storage", "leader"
FOR_EVER = "the follower tries again for ever"


class Auxiliary(NamedTuple):
    """Leader epochs, their source, and producers that go with a segment, or what storage has `lost`."""

    epochs: EpochCache
    source: str | None
    producers: int | None = None
    lost: str | None = None


def with_leader_and_metadata(
    units: Sequence[Unit], leaders: Sequence[Target], metadata: Sequence[Target], selection: Selection
) -> list[Unit]:
    """Return a unit for each selected follower: its directory, the leader's, those of the metadata topic."""
    paired = with_leaders(user_units(units, selection), leaders, metadata)
    return [replace(unit, number=number) for number, unit in enumerate(paired)]


@unit_job
def predict_follower(
    partition: Partition, unit: Unit, *, leader_path: str, storage: tuple[str, ...] = ()
) -> Yield:
    """Yield one row: what the follower of the unit does."""
    name = partition.target.name
    if len(unit.targets) == 1 or unit.targets[1].name != name:
        raise FileError(partition.path, "no-leader", f"{leader_path} has no replica of this partition")
    events = read_events(unit.targets[2:])
    yield from events.findings
    log = yield from start(partition)
    replica = Partition(unit.targets[1])
    leader = yield from load_leader(replica, cache_of(replica, events), unit.targets[2:])
    follower = replica_epochs(LoadedReplica(log, checkpoints(partition).high_watermark))
    fetch_rounds = follow_leader(leader_epochs(leader), follower)
    followed = fetch_from_remote(leader_epochs(leader), leader.remote, fetch_rounds, follower)
    auxiliary = _auxiliary(followed, leader, storage)
    if auxiliary is None:
        auxiliary = Auxiliary(follower.cut(followed.fetch_offset).epochs, None)
    outcome, next_offset = followed.outcome, followed.next_offset
    if auxiliary.lost is not None:
        outcome, next_offset = FAILED, None
    writes_snapshot = auxiliary.source is not None and next_offset is not None
    yield RlmmFollowRow(
        where(partition),
        leader.partition.shown,
        leader.topic_id,
        outcome,
        followed.fetch_offset,
        followed.last_fetched_epoch,
        leader.log_start_offset,
        None if followed.earliest_local is None else followed.earliest_local.start_offset,
        None if followed.earliest_local is None else followed.earliest_local.epoch,
        followed.asked_epoch,
        None if followed.answered is None else followed.answered.epoch,
        None if followed.answered is None else followed.answered.start_offset,
        followed.target_epoch,
        place_of(followed.segment),
        auxiliary.epochs,
        auxiliary.source,
        f"{file_prefix(next_offset or 0)}.snapshot" if writes_snapshot else None,
        auxiliary.producers,
        next_offset,
        tuple(_steps(followed, leader, auxiliary)),
    )


def _auxiliary(followed: TieredFetch, leader: Leader, storage: tuple[str, ...]) -> Auxiliary | None:
    """Return what the follower takes from remote storage with a segment; None where it takes none."""
    if followed.segment is None or followed.next_offset is None:
        return None
    if not storage:
        return Auxiliary(truncate_from_end(leader.epochs, followed.next_offset), FROM_LEADER)
    lines = fetched_index(followed.segment, storage, LEADER_EPOCH_CHECKPOINT)
    if lines is None:
        return Auxiliary((), None, lost=f"leader epoch checkpoint: not in {', '.join(storage)}")
    with reading(lines[0]):
        epochs = replay(read_leader_epoch_checkpoint(lines[1]))
    snapshot = fetched_index(followed.segment, storage, PRODUCER_SNAPSHOT)
    if snapshot is None:
        return Auxiliary(epochs, FROM_STORAGE, lost=f"producer snapshot: not in {', '.join(storage)}")
    with reading(snapshot[0]):
        return Auxiliary(epochs, FROM_STORAGE, len(read_snapshot(snapshot[1]).entries))


def _fetch(offset: int | None, last_epoch: int | None) -> str:
    return f"fetch from {offset}, last epoch {'none' if last_epoch is None else last_epoch}"


def _steps(followed: TieredFetch, leader: Leader, auxiliary: Auxiliary) -> Iterator[str]:
    """Yield what happens, request by request."""
    for step in followed.fetch_rounds.rounds:
        fetch = _fetch(step.fetch_offset, step.last_fetched_epoch)
        if step.end_offset is not None:
            answer = f"it diverges: epoch {step.leader_epoch} ends at {step.end_offset}"
            yield f"{fetch}: {answer}; truncate to {step.truncate_to}"
        elif step.rule == LEADER_END:
            yield f"{fetch}: OFFSET_OUT_OF_RANGE; ListOffsets latest: {step.truncate_to}; truncate to it"
        elif step.rule == LEADER_START:
            answer = f"ListOffsets earliest: {step.truncate_to}; truncate the whole log, and begin there"
            yield f"{fetch}: OFFSET_OUT_OF_RANGE; {answer}"
    fetch = _fetch(followed.fetch_offset, followed.last_fetched_epoch)
    if followed.fetch_rounds.outcome == STUCK:
        yield f"{fetch}: OFFSET_OUT_OF_RANGE; the follower tries the same again for ever"
        return
    if followed.outcome in {LOCAL, OUT_OF_RANGE}:
        yield f"{fetch}: records from {followed.next_offset}"
        return
    assert followed.earliest_local is not None
    local_epoch, local_start = followed.earliest_local
    yield f"{fetch}: OFFSET_MOVED_TO_TIERED_STORAGE"
    yield f"ListOffsets earliest: {leader.log_start_offset}"
    yield f"ListOffsets earliest local: {local_start}, epoch {local_epoch}"
    if followed.answered is not None:
        epoch, end_offset = followed.answered
        yield f"OffsetForLeaderEpoch {followed.asked_epoch}: epoch {epoch} ends at {end_offset}"
    lookup = f"remote segment of epoch {followed.target_epoch}, offset {local_start - 1}"
    if followed.segment is None or followed.next_offset is None:
        yield f"{lookup}: none, RemoteStorageException; {FOR_EVER}"
        return
    metadata = followed.segment.metadata
    yield f"{lookup}: {metadata.segment_id}, offsets {metadata.start_offset} to {metadata.end_offset}"
    yield f"truncate the whole log, and begin at {followed.next_offset}; log start {leader.log_start_offset}"
    yield from _taking(auxiliary, followed.next_offset)


def _taking(auxiliary: Auxiliary, next_offset: int) -> Iterator[str]:
    """Yield what happens once the log is truncated, up to the next fetch or the failure."""
    if auxiliary.source is not None:
        is_stored = auxiliary.source == FROM_STORAGE
        where_from = "by the segment's checkpoint" if is_stored else "as the leader's below"
        epochs = ", ".join(f"{entry.epoch} from {entry.start_offset}" for entry in auxiliary.epochs)
        yield f"its leader epochs, {where_from}: {epochs or 'none'}"
    if auxiliary.lost is not None:
        yield f"its {auxiliary.lost}, RemoteResourceNotFoundException; {FOR_EVER}"
        return
    count = "" if auxiliary.producers is None else f", {auxiliary.producers} producers"
    yield f"producer snapshot {file_prefix(next_offset)}.snapshot{count}"
    yield _fetch(next_offset, auxiliary.epochs[-1].epoch if auxiliary.epochs else None)
