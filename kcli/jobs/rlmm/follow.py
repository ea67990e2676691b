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
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.pairs import with_leaders
from kcli.jobs.rlmm.leader import NEVER_TIERED, Leader, load_leader, side_of_leader
from kcli.jobs.rlmm.locate import cache_of
from kcli.jobs.rlmm.read import read_events
from kcli.jobs.rlmm.storage import fetched_index
from kcli.jobs.rlmm.tiers import place_of
from kcli.kafka.kraft.start import start
from kcli.kafka.replication.candidates import LoadedReplica, side_of
from kcli.kafka.replication.replication import LEADER_END, LEADER_START, OUT_OF_RANGE, STUCK, meet
from kcli.kafka.replication.tiered_follow import FAILED, LOCAL, Follow, follow
from kcli.kafka.storage.epochs import EpochCache, replay, truncate_from_end
from kcli.kafka.storage.loaded_log import checkpoints
from kcli.logdir.buffers import FileError, reading
from kcli.logdir.partition import Partition
from kcli.logdir.select import Selection
from kcli.logdir.targets import Target
from kcli.rows.remote_tier import RlmmFollowRow

STORAGE, LEADER = "storage", "leader"
FOR_EVER = "the follower tries again for ever"


class Auxiliary(NamedTuple):
    """The state that goes with a remote segment.

    Leader epochs and where they are from, producers of its snapshot; None where that is not at hand. `lost`
    says what of it is not in the directories of remote storage.
    """

    epochs: EpochCache
    source: str | None
    producers: int | None = None
    lost: str | None = None


def with_leader_and_metadata(
    units: Sequence[Unit], leaders: Sequence[Target], metadata: Sequence[Target], selection: Selection
) -> list[Unit]:
    """Return a unit for each selected follower: its directory, the leader's, those of the metadata topic."""
    users = [
        unit
        for unit in units
        if selection.wants(unit.target.name)
        and not (unit.target.name and unit.target.name.topic in NEVER_TIERED)
    ]
    paired = with_leaders(users, leaders)
    return [replace(unit, number=n, targets=(*unit.targets, *metadata)) for n, unit in enumerate(paired)]


def follow_leader(unit: Unit, *, leader_path: str, storage: tuple[str, ...] = ()) -> Outcome:
    """Return one row: what the follower of the unit does."""
    return answer(unit, lambda partition: _follow(partition, unit, leader_path, storage))


def _follow(partition: Partition, unit: Unit, leader_path: str, storage: tuple[str, ...]) -> Yield:
    name = partition.target.name
    if len(unit.targets) == 1 or unit.targets[1].name != name:
        raise FileError(partition.path, "no-leader", f"{leader_path} has no replica of this partition")
    events = read_events(unit.targets[2:])
    yield from events.findings
    log = yield from start(partition)
    replica = Partition(unit.targets[1])
    leader = yield from load_leader(replica, replica.topic_id(), cache_of(replica, events))
    given = checkpoints(partition)
    follower = side_of(LoadedReplica(log, given.high_watermark))
    leading = side_of_leader(leader)
    found = follow(leading, leader.remote, meet(leading, follower), follower)
    auxiliary = _auxiliary(found, leader, storage)
    epochs = follower.cut(found.fetch_offset).epochs if auxiliary is None else auxiliary.epochs
    if auxiliary is not None and auxiliary.lost is not None:
        outcome, next_offset = FAILED, None
    else:
        outcome, next_offset = found.outcome, found.next_offset
    yield RlmmFollowRow(
        where(partition),
        leader.partition.shown,
        leader.topic_id,
        outcome,
        found.fetch_offset,
        found.last_fetched_epoch,
        leader.log_start_offset,
        None if found.earliest_local is None else found.earliest_local.start_offset,
        None if found.earliest_local is None else found.earliest_local.epoch,
        found.asked_epoch,
        None if found.answered is None else found.answered.epoch,
        None if found.answered is None else found.answered.start_offset,
        found.target_epoch,
        place_of(found.segment),
        epochs,
        None if auxiliary is None else auxiliary.source,
        f"{file_prefix(next_offset)}.snapshot" if auxiliary and next_offset is not None else None,
        None if auxiliary is None else auxiliary.producers,
        next_offset,
        tuple(_steps(found, leader, auxiliary)),
    )


def _auxiliary(found: Follow, leader: Leader, storage: tuple[str, ...]) -> Auxiliary | None:
    """Return what the follower takes from remote storage with a segment; None where it takes none."""
    if found.segment is None or found.next_offset is None:
        return None
    if not storage:
        return Auxiliary(truncate_from_end(leader.epochs, found.next_offset), LEADER)
    lines = fetched_index(found.segment, storage, LEADER_EPOCH_CHECKPOINT)
    if lines is None:
        return Auxiliary((), None, lost=f"leader epoch checkpoint: not in {', '.join(storage)}")
    with reading(lines[0]):
        epochs = replay(read_leader_epoch_checkpoint(lines[1]))
    snapshot = fetched_index(found.segment, storage, PRODUCER_SNAPSHOT)
    if snapshot is None:
        return Auxiliary(epochs, STORAGE, lost=f"producer snapshot: not in {', '.join(storage)}")
    with reading(snapshot[0]):
        return Auxiliary(epochs, STORAGE, len(read_snapshot(snapshot[1]).entries))


def _steps(found: Follow, leader: Leader, auxiliary: Auxiliary | None) -> Iterator[str]:
    """Yield what happens, request by request."""
    for one in found.meeting.rounds:
        epoch = "none" if one.last_fetched_epoch is None else one.last_fetched_epoch
        asked = f"fetch from {one.fetch_offset}, last epoch {epoch}"
        if one.end_offset is not None:
            answer = f"it diverges: epoch {one.leader_epoch} ends at {one.end_offset}"
            yield f"{asked}: {answer}; truncate to {one.truncate_to}"
        elif one.rule == LEADER_END:
            yield f"{asked}: OFFSET_OUT_OF_RANGE; ListOffsets latest: {one.truncate_to}; truncate to it"
        elif one.rule == LEADER_START:
            answer = f"ListOffsets earliest: {one.truncate_to}; truncate the whole log, and begin there"
            yield f"{asked}: OFFSET_OUT_OF_RANGE; {answer}"
    epoch = "none" if found.last_fetched_epoch is None else found.last_fetched_epoch
    fetch = f"fetch from {found.fetch_offset}, last epoch {epoch}"
    if found.meeting.outcome == STUCK:
        yield f"{fetch}: OFFSET_OUT_OF_RANGE; the follower tries the same again for ever"
        return
    if found.outcome in {LOCAL, OUT_OF_RANGE}:
        yield f"{fetch}: records from {found.next_offset}"
        return
    assert found.earliest_local is not None
    local_epoch, local_start = found.earliest_local
    yield f"{fetch}: OFFSET_MOVED_TO_TIERED_STORAGE"
    yield f"ListOffsets earliest: {leader.log_start_offset}"
    yield f"ListOffsets earliest local: {local_start}, epoch {local_epoch}"
    if found.answered is not None:
        yield (
            f"OffsetForLeaderEpoch {found.asked_epoch}: epoch {found.answered.epoch} "
            f"ends at {found.answered.start_offset}"
        )
    lookup = f"remote segment of epoch {found.target_epoch}, offset {local_start - 1}"
    if found.segment is None or auxiliary is None:
        yield f"{lookup}: none, RemoteStorageException; {FOR_EVER}"
        return
    metadata = found.segment.metadata
    yield f"{lookup}: {metadata.segment_id}, offsets {metadata.start_offset} to {metadata.end_offset}"
    yield f"truncate the whole log, and begin at {found.next_offset}; log start {leader.log_start_offset}"
    yield from _taking(auxiliary, found.next_offset or 0)


def _taking(auxiliary: Auxiliary, next_offset: int) -> Iterator[str]:
    """Yield what happens once the log is truncated, up to the next fetch or the failure."""
    if auxiliary.source is not None:
        where_from = "by the segment's checkpoint" if auxiliary.source == STORAGE else "as the leader's below"
        epochs = ", ".join(f"{entry.epoch} from {entry.start_offset}" for entry in auxiliary.epochs)
        yield f"its leader epochs, {where_from}: {epochs or 'none'}"
    if auxiliary.lost is not None:
        yield f"its {auxiliary.lost}, RemoteResourceNotFoundException; {FOR_EVER}"
        return
    count = "" if auxiliary.producers is None else f", {auxiliary.producers} producers"
    yield f"producer snapshot {file_prefix(next_offset)}.snapshot{count}"
    newest = auxiliary.epochs[-1].epoch if auxiliary.epochs else "none"
    yield f"fetch from {next_offset}, last epoch {newest}"
