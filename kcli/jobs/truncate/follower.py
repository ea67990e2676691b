"""A replica that follows a leader: who the leader is, and the rounds in which it truncates."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from formats.batch import MAX_INT
from formats.names import CLUSTER_METADATA
from kcli.engine.contract import Unit
from kcli.jobs.common import other_identity
from kcli.jobs.replica_pairs import OtherReplicaError
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.replication.follower import (
    CONVERGED,
    FAILED,
    HIGH_WATERMARK_PROTOCOL,
    LEADER_START,
    OUT_OF_RANGE,
    STUCK,
    TIERED,
    FetchRounds,
    LoadedReplica,
    ReplicaEpochs,
    as_leader,
    fetch_from_remote,
    find_divergence,
    follow_leader,
    leader_epochs,
    replica_epochs,
)
from kcli.kafka.storage.loaded_log import LoadedLog, checkpoints
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition

if TYPE_CHECKING:
    from kcli.kafka.remote.cache import RemoteCache

CODES = {
    OUT_OF_RANGE: "TRUNC-004",
    STUCK: "TRUNC-005",
    TIERED: "TRUNC-006",
    FAILED: "TRUNC-005",
    CONVERGED: "TRUNC-008",
}
WARNINGS = {
    OUT_OF_RANGE: "the fetch is out of the leader's range: the follower goes on from the leader's log end",
    LEADER_START: "the leader's log starts past the end of this one: every record here goes",
    STUCK: "the follower repeats a fetch that is out of range for ever: the leader lacks its newest epoch",
    TIERED: "the leader has the next offset in remote storage alone: every record here goes, and the follower"
    " goes on at {0.truncate_to} with state from there (kcli rlmm follow shows it)",
    FAILED: "no remote segment has the state that the follower needs: it asks again for ever",
    CONVERGED: "the logs differ from offset {0.differs_from} on, below the end of what is kept: no later "
    "fetch finds that",
}
"""What an outcome means, or the reset to a later start of the leader's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Whom the replicas follow, and how: `protocol` is one of kcli.kafka.replication.follower's.

    The units' targets are a follower, the leader's replica of the same partition, and those of the topic
    __remote_log_metadata.

    `leader` is what counts of a leader that was described; None: it is the second target of each unit, and
    `path` names what it was looked for in. `epoch` is the epoch that it leads in; None: a new one for a
    leader on disk, none but its own ones for a described one.
    """

    protocol: str
    path: str = ""
    leader: ReplicaEpochs | None = None
    epoch: int | None = None


class FollowedLeader(NamedTuple):
    """What counts of a leader's log, where it is on disk, and its remote segments.

    None for a described leader; no remote segments where its log begins on local disk.
    """

    following: Following
    side: ReplicaEpochs
    dir: str | None = None
    remote: "RemoteCache | None" = None


def leader_of(following: Following, unit: Unit) -> Generator[Finding, None, FollowedLeader]:
    """Return what counts of the leader; the findings of its start are yielded."""
    if following.leader is not None:
        return FollowedLeader(following, following.leader)
    if len(unit.targets) == 1:
        path = unit.target.path
        raise FileError(path, "no-leader", f"{following.path} has no replica of this partition")
    replica = Partition(unit.targets[1])
    try:
        yield from other_identity(Partition(unit.target), replica)
        log = yield from start(replica)
        if not log.is_tiered:
            side = replica_epochs(LoadedReplica(log, checkpoints(replica).high_watermark))
            return FollowedLeader(following, side, replica.shown)
        from kcli.jobs.metadata_partitions import read_events
        from kcli.jobs.tiered_leader import leader_with

        yield from read_events(unit.targets[2:]).findings
        leader = leader_with(replica, log, unit.targets[2:])
    except FileError as error:
        raise OtherReplicaError(unit.targets[1], error) from error
    return FollowedLeader(following, leader_epochs(leader), replica.shown, leader.remote)


def rounds_with_leader(
    partition: Partition, loaded: LoadedLog, high_watermark: int | None, followed: FollowedLeader
) -> FetchRounds:
    """Return what becomes of a loaded replica; FileError where its high watermark decides and is unknown.

    So it is where a tiered leader's remote segments decide, and no event about them is known.
    """
    following, leader = followed.following, followed.side
    follower = replica_epochs(LoadedReplica(loaded, high_watermark))
    epoch = following.epoch
    if epoch is None and following.leader is None:
        epoch = min(max(leader.last_epoch, follower.last_epoch) + 1, MAX_INT)
    if epoch is not None:
        if epoch < leader.last_epoch:
            message = f"--leader-epoch {epoch}: the leader's log holds epoch {leader.last_epoch} already"
            raise FileError(partition.path, "older-epoch", message)
        leader = as_leader(leader, epoch)
    fetch_rounds = follow_leader(leader, follower, following.protocol)
    is_reset = any(one.rule == LEADER_START for one in fetch_rounds.rounds)
    if partition.topic == CLUSTER_METADATA and (is_reset or fetch_rounds.outcome in {OUT_OF_RANGE, TIERED}):
        message = (
            f"the leader's metadata log has offsets {leader.log_start_offset} to {leader.log_end_offset}: "
            "its follower fetches the newest snapshot, and what follows is not predicted here"
        )
        raise FileError(partition.path, "unsupported", message)
    is_empty = follower.log_end_offset == follower.log_start_offset
    if fetch_rounds.needs_high_watermark and high_watermark is None and not is_empty:
        is_asked = following.protocol == HIGH_WATERMARK_PROTOCOL
        why = "this protocol truncates to it" if is_asked else "leader epochs cannot say where to truncate"
        message = f"no high watermark is known for this partition, and {why}; name it with --high-watermark"
        raise FileError(partition.path, "unknown-high-watermark", message)
    if fetch_rounds.outcome == TIERED:
        return _by_remote(partition, leader, followed.remote, fetch_rounds, follower)
    if fetch_rounds.starts_over:
        return fetch_rounds
    kept = follower.cut(fetch_rounds.truncate_to)
    parted = find_divergence(leader.epochs, leader.log_end_offset, kept.epochs, kept.log_end_offset)
    return fetch_rounds._replace(differs_from=parted.offset)


def _by_remote(
    partition: Partition,
    leader: ReplicaEpochs,
    remote: "RemoteCache | None",
    fetch_rounds: FetchRounds,
    follower: ReplicaEpochs,
) -> FetchRounds:
    """Return the rounds of a follower that begins past the remote segment whose state it takes."""
    if remote is None or not remote.segments:
        raise FileError(
            partition.path,
            "unknown-remote-segments",
            f"the fetch from {fetch_rounds.truncate_to} is answered OFFSET_MOVED_TO_TIERED_STORAGE: the "
            f"leader's local log begins at {leader.local_start}. Where the follower goes on, its remote "
            "segments say: name __remote_log_metadata with --remote-metadata",
        )
    found = fetch_from_remote(leader, remote, fetch_rounds, follower)
    if found.outcome == FAILED or found.next_offset is None:
        return fetch_rounds._replace(outcome=FAILED)
    last = fetch_rounds.rounds[-1]._replace(truncate_to=found.next_offset, completed=True)
    rounds = (*fetch_rounds.rounds[:-1], last)
    return fetch_rounds._replace(truncate_to=found.next_offset, starts_over=True, rounds=rounds)


def kept_remotely(fetch_rounds: FetchRounds) -> int | None:
    """Return the offset below which remote storage has the follower's records; None where it has none.

    The leader's history is the follower's as far as the fetch that is answered with remote storage.
    """
    is_kept = fetch_rounds.outcome == TIERED and all(one.rule != LEADER_START for one in fetch_rounds.rounds)
    return fetch_rounds.rounds[-1].fetch_offset if is_kept else None


def without_remote(lost: str | None, fetch_rounds: FetchRounds, loaded: LoadedLog) -> str | None:
    """Return the offsets that are lost, `A..B`, but for those that remote storage has."""
    kept = kept_remotely(fetch_rounds)
    if lost is None or kept is None:
        return lost
    return f"{kept}..{lost.rpartition('..')[2]}" if kept < loaded.log_end_offset else None


def outcome_finding(partition: Partition, fetch_rounds: FetchRounds) -> Finding | None:
    """Return the finding about rounds that do not simply converge; its words are a warning, too."""
    if fetch_rounds.outcome == CONVERGED and fetch_rounds.differs_from is None:
        return None
    is_reset = fetch_rounds.outcome == OUT_OF_RANGE and fetch_rounds.rounds[-1].rule == LEADER_START
    text = WARNINGS[LEADER_START if is_reset else fetch_rounds.outcome].format(fetch_rounds)
    return Finding(CODES[fetch_rounds.outcome], text, dir=partition.shown)
