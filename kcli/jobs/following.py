"""A replica that follows a leader: who the leader is, and the rounds in which they meet."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from kcli.analysis.candidates import LoadedReplica, side_of
from kcli.analysis.findings import Finding
from kcli.analysis.loaded_log import LoadedLog, checkpoints
from kcli.analysis.replication import (
    HIGH_WATERMARK,
    LEADER_START,
    OUT_OF_RANGE,
    STUCK,
    Meeting,
    Side,
    leading,
    meet,
)
from kcli.analysis.start import start
from kcli.engine.contract import Unit
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.tree import PARTITION, Target
from kcli.rows.truncation import TruncationRound

LARGEST_EPOCH = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Whom the replicas follow, and how: `protocol` is one of kcli.analysis.replication's.

    `leader` is what counts of a leader that was described; None: it is the second target of each unit, and
    `path` names what it was looked for in. `epoch` is the epoch that it leads in; None: a new one for a
    leader on disk, none but its own ones for a described one.
    """

    protocol: str
    path: str = ""
    leader: Side | None = None
    epoch: int | None = None


def with_leaders(units: Sequence[Unit], leaders: Sequence[Target]) -> list[Unit]:
    """Return the units, the leader's replica of the same partition as second target where there is one."""
    found: dict[object, Target] = {}
    for target in leaders:
        if target.kind == PARTITION and target.name is not None:
            found.setdefault((target.name.topic, target.name.partition), target)
    paired = []
    for unit in units:
        name = unit.target.name
        leader = found.get((name.topic, name.partition)) if name else None
        paired.append(unit if leader is None else replace(unit, targets=(unit.target, leader)))
    return paired


def leader_of(following: Following, unit: Unit) -> Generator[Finding, None, Side]:
    """Return what counts of the leader's log; its start's findings are yielded."""
    if following.leader is not None:
        return following.leader
    if len(unit.targets) == 1:
        path = unit.target.path
        raise FileError(path, "no-leader", f"{following.path} has no replica of this partition")
    replica = Partition(unit.targets[1])
    log = yield from start(replica)
    return side_of(LoadedReplica(log, checkpoints(replica).high_watermark))


def meeting_of(
    partition: Partition, loaded: LoadedLog, high_watermark: int | None, leader: Side, following: Following
) -> Meeting:
    """Return what becomes of a loaded replica; FileError where its high watermark decides and is unknown."""
    follower = side_of(LoadedReplica(loaded, high_watermark))
    epoch = following.epoch
    if epoch is None and following.leader is None:
        epoch = min(max(leader.last_epoch, follower.last_epoch) + 1, LARGEST_EPOCH)
    if epoch is not None:
        if epoch < leader.last_epoch:
            message = f"--leader-epoch {epoch}: the leader's log holds epoch {leader.last_epoch} already"
            raise FileError(partition.path, "older-epoch", message)
        leader = leading(leader, epoch)
    meeting = meet(leader, follower, following.protocol)
    is_empty = follower.log_end_offset == follower.log_start_offset
    if meeting.needs_high_watermark and high_watermark is None and not is_empty:
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
    return meeting


def rounds_of(meeting: Meeting) -> tuple[TruncationRound, ...]:
    """Return the rounds as rows hold them."""
    return tuple(TruncationRound(number, *one) for number, one in enumerate(meeting.rounds, 1))


def warning_of(meeting: Meeting) -> str | None:
    """Return what a person should know about how the meeting ends."""
    if meeting.outcome == STUCK:
        return "the follower repeats a fetch that is out of range for ever: the leader lacks its newest epoch"
    if meeting.outcome != OUT_OF_RANGE:
        return None
    if meeting.rounds[-1].rule == LEADER_START:
        return "the leader's log starts past the end of this one: every record here goes"
    return "the fetch is out of the leader's range: the follower goes on from the leader's log end"


def finding_of(partition: Partition, meeting: Meeting) -> Finding | None:
    """Return the finding about a meeting that does not simply converge."""
    text = warning_of(meeting)
    if text is None:
        return None
    return Finding("TRUNC-005" if meeting.outcome == STUCK else "TRUNC-004", text, dir=partition.shown)
