"""A replica that follows a leader: who the leader is, and the rounds in which it truncates."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from formats.names import CLUSTER_METADATA
from kcli.engine.contract import Unit
from kcli.jobs.common import other_identity
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.replication.epoch_comparison import find_divergence
from kcli.kafka.replication.follower import (
    CONVERGED,
    FAILED,
    HIGH_WATERMARK,
    LEADER_START,
    OUT_OF_RANGE,
    STUCK,
    TIERED,
    FetchRounds,
    LoadedReplica,
    ReplicaEpochs,
    as_leader,
    below_start,
    fetch_from_remote,
    follow_leader,
    replica_epochs,
)
from kcli.kafka.replication.truncation import Prediction, with_remote_state
from kcli.kafka.storage.leader_epochs import truncate_from_end
from kcli.kafka.storage.loaded_log import LoadedLog, checkpoints
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.rows.truncation import TruncationRound

if TYPE_CHECKING:
    from kcli.kafka.remote.cache import RemoteCache

LARGEST_EPOCH = 2**31 - 1


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
    """What counts of a leader's log, and its remote segments; None where its log begins on local disk."""

    side: ReplicaEpochs
    remote: "RemoteCache | None" = None


def leader_of(following: Following, unit: Unit) -> Generator[Finding, None, FollowedLeader]:
    """Return what counts of the leader; the findings of its start are yielded."""
    if following.leader is not None:
        return FollowedLeader(following.leader)
    if len(unit.targets) == 1:
        path = unit.target.path
        raise FileError(path, "no-leader", f"{following.path} has no replica of this partition")
    replica = Partition(unit.targets[1])
    yield from other_identity(Partition(unit.target), replica)
    log = yield from start(replica)
    if not log.is_tiered:
        return FollowedLeader(replica_epochs(LoadedReplica(log, checkpoints(replica).high_watermark)))
    from kcli.jobs.rlmm.follow import epochs_of_tiered
    from kcli.jobs.rlmm.leader import leader_with
    from kcli.jobs.rlmm.read import read_events

    yield from read_events(unit.targets[2:]).findings
    leader = leader_with(replica, log, unit.targets[2:])
    return FollowedLeader(epochs_of_tiered(leader), leader.remote)


def rounds_with_leader(
    partition: Partition,
    loaded: LoadedLog,
    high_watermark: int | None,
    followed: FollowedLeader,
    following: Following,
) -> FetchRounds:
    """Return what becomes of a loaded replica; FileError where its high watermark decides and is unknown.

    So it is where a tiered leader's remote segments decide, and no event about them is known.
    """
    leader, remote = followed
    follower = replica_epochs(LoadedReplica(loaded, high_watermark))
    epoch = following.epoch
    if epoch is None and following.leader is None:
        epoch = min(max(leader.last_epoch, follower.last_epoch) + 1, LARGEST_EPOCH)
    if epoch is not None:
        if epoch < leader.last_epoch:
            message = f"--leader-epoch {epoch}: the leader's log holds epoch {leader.last_epoch} already"
            raise FileError(partition.path, "older-epoch", message)
        leader = as_leader(leader, epoch)
    fetch_rounds = follow_leader(leader, follower, following.protocol)
    if partition.topic == CLUSTER_METADATA and _lacks_offsets(fetch_rounds):
        message = (
            f"the leader's metadata log has offsets {leader.log_start_offset} to {leader.log_end_offset}: "
            "its follower fetches the newest snapshot, and what follows is not predicted here"
        )
        raise FileError(partition.path, "unsupported", message)
    is_empty = follower.log_end_offset == follower.log_start_offset
    if fetch_rounds.needs_high_watermark and high_watermark is None and not is_empty:
        why = (
            "this protocol truncates to it"
            if following.protocol == HIGH_WATERMARK
            else "leader epochs cannot say where to truncate"
        )
        raise FileError(
            partition.path,
            "unknown-high-watermark",
            f"no high watermark is known for this partition, and {why}; name it with --high-watermark",
        )
    if fetch_rounds.outcome == TIERED:
        return _by_remote(partition, leader, remote, fetch_rounds, follower)
    if fetch_rounds.starts_over:
        return fetch_rounds
    kept = follower.cut(fetch_rounds.truncate_to)
    parted = find_divergence(leader.epochs, leader.log_end_offset, kept.epochs, kept.log_end_offset)
    return fetch_rounds._replace(differs_from=parted.offset)


def _lacks_offsets(fetch_rounds: FetchRounds) -> bool:
    """Whether the leader's log begins after, or ends before, what the follower fetches."""
    is_out = fetch_rounds.outcome in {OUT_OF_RANGE, TIERED}
    return is_out or any(one.rule == LEADER_START for one in fetch_rounds.rounds)


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


def with_state_of(leader: FollowedLeader, fetch_rounds: FetchRounds, prediction: Prediction) -> Prediction:
    """Return what a truncation leaves of a follower, with what it takes from remote storage."""
    if fetch_rounds.outcome != TIERED:
        return prediction
    epochs = truncate_from_end(leader.side.epochs, fetch_rounds.truncate_to)
    return with_remote_state(prediction, epochs, leader.side.log_start_offset)


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


def rounds_of(fetch_rounds: FetchRounds) -> tuple[TruncationRound, ...]:
    """Return the rounds as rows hold them."""
    return tuple(TruncationRound(number, *one) for number, one in enumerate(fetch_rounds.rounds, 1))


def warning_of(fetch_rounds: FetchRounds) -> str | None:
    """Return what a person should know about how the rounds end."""
    if fetch_rounds.outcome == STUCK:
        return "the follower repeats a fetch that is out of range for ever: the leader lacks its newest epoch"
    if fetch_rounds.outcome == TIERED:
        return (
            "the leader has the next offset in remote storage alone: every record here goes, and the "
            f"follower goes on at {fetch_rounds.truncate_to} with state from there (kcli rlmm follow shows "
            "it)"
        )
    if fetch_rounds.outcome not in {OUT_OF_RANGE, CONVERGED}:
        return "no remote segment has the state that the follower needs: it asks again for ever"
    if fetch_rounds.outcome == CONVERGED:
        return None if fetch_rounds.differs_from is None else _kept_differs(fetch_rounds.differs_from)
    if fetch_rounds.rounds[-1].rule == LEADER_START:
        return "the leader's log starts past the end of this one: every record here goes"
    return "the fetch is out of the leader's range: the follower goes on from the leader's log end"


def _kept_differs(offset: int) -> str:
    return (
        f"the logs differ from offset {offset} on, below the end of what is kept: no later fetch finds that"
    )


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
        words = f"the log of {name} begins at offset {start}: {deleted}"
        yield Finding("REPL-006", words, dir=partition.shown, expected=first, found=start)


def finding_of(partition: Partition, fetch_rounds: FetchRounds) -> Finding | None:
    """Return the finding about rounds that do not simply converge."""
    text = warning_of(fetch_rounds)
    if text is None:
        return None
    codes = {STUCK: "TRUNC-005", OUT_OF_RANGE: "TRUNC-004", TIERED: "TRUNC-006", CONVERGED: "TRUNC-008"}
    code = codes.get(fetch_rounds.outcome, "TRUNC-005")
    return Finding(code, text, dir=partition.shown)
