"""A small model of one replicated partition: log ends, high watermarks, leader epochs, step by step.

What a step does is what `Partition`, `ReplicaManager` and `AbstractFetcherThread` do: a fetch gives the
leader the follower's log end; the leader's high watermark is the lowest log end in the ISR; a follower's is
the lower of the leader's and its own log end; who becomes a follower truncates, by the protocol of its
release. Time, batches, segments and disks are left out: a record is a word.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from formats.checkpoint import EpochEntry
from kcli.kafka.replication.replication import (
    FETCH,
    HIGH_WATERMARK,
    Side,
    fetch,
    out_of_range_state,
    truncating,
    truncation_state,
)
from kcli.kafka.storage.epochs import UNDEFINED_EPOCH, EpochCache, assign, truncate_from_end

LEADER, FOLLOWER, DOWN = "leader", "follower", "down"
MOST_RECORDS = 10_000


class ScenarioError(Exception):
    """A step or a scenario that makes no sense; the text says which and why."""


class Written(NamedTuple):
    """A record of the model: who led when it was written, and a word."""

    epoch: int
    value: str


@dataclass
class Simulated:
    """One replica: its log from offset 0 on, and what it knows.

    `remote`: while it leads, the log end of each follower as its last fetch said; None before the first.
    `is_checked`: whether its log is known to be a part of the leader's.
    """

    name: str
    is_up: bool = True
    log: list[Written] = field(default_factory=list)
    high_watermark: int = 0
    epochs: EpochCache = ()
    remote: dict[str, int | None] = field(default_factory=dict)
    is_checked: bool = True

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return len(self.log)

    @property
    def side(self) -> Side:
        """What counts of it where a follower meets a leader."""
        return Side(self.epochs, self.log_end_offset, high_watermark=self.high_watermark)

    def cut(self, offset: int) -> list[Written]:
        """Truncate to an offset; return what is gone."""
        gone = self.log[offset:]
        del self.log[offset:]
        self.epochs = truncate_from_end(self.epochs, offset)
        self.high_watermark = min(self.high_watermark, self.log_end_offset)
        return gone


class ReplicaState(NamedTuple):
    """A replica after a step, its offsets as `Simulated` has them; `events`: what happened to it."""

    name: str
    role: str
    is_in_isr: bool
    log_end_offset: int
    high_watermark: int
    remote: tuple[tuple[str, int | None], ...]
    epochs: EpochCache
    log: tuple[Written, ...]
    events: tuple[str, ...]


class StepState(NamedTuple):
    """The partition after a step."""

    number: int
    action: str
    leader_epoch: int
    replicas: tuple[ReplicaState, ...]


class Scenario(NamedTuple):
    """A story: who is there, who leads at first, how followers truncate, and what happens."""

    name: str
    title: str
    protocol: str
    replicas: tuple[str, ...]
    leader: str
    steps: tuple[str, ...]


class Model:
    """The partition; each step changes it."""

    def __init__(self, scenario: Scenario) -> None:
        self.protocol = scenario.protocol
        self.replicas = {name: Simulated(name) for name in scenario.replicas}
        self.isr = list(scenario.replicas)
        self.leader: str | None = None
        self.leader_epoch = -1
        self.committed: dict[tuple[int, str], None] = {}
        """Offsets and values of every record that was below a high watermark, in that order."""
        self.lost: set[tuple[int, str]] = set()
        self.said: set[str] = set()
        self.events: dict[str, list[str]] = {}
        self.elect(scenario.leader)
        of_leader = self.replicas[scenario.leader]
        of_leader.remote = dict.fromkeys(of_leader.remote, 0)
        self.events.clear()

    def view(self, number: int, action: str) -> StepState:
        """Return the state after a step, and forget its events."""
        events, self.events = self.events, {}
        return StepState(
            number,
            action,
            self.leader_epoch,
            tuple(
                ReplicaState(
                    one.name,
                    self._role(one),
                    one.name in self.isr,
                    one.log_end_offset,
                    one.high_watermark,
                    tuple(one.remote.items()) if one.name == self.leader else (),
                    one.epochs,
                    tuple(one.log),
                    tuple(events.get(one.name, ())),
                )
                for one in self.replicas.values()
            ),
        )

    def _role(self, replica: Simulated) -> str:
        if not replica.is_up:
            return DOWN
        return LEADER if replica.name == self.leader else FOLLOWER

    def say(self, name: str, event: str) -> None:
        """Keep what happened to a replica."""
        self.events.setdefault(name, []).append(event)

    def _leading(self) -> Simulated:
        if self.leader is None:
            raise ScenarioError("there is no leader; elect one first")
        return self.replicas[self.leader]

    def produce(self, *values: str) -> None:
        """Append records to the leader."""
        leader = self._leading()
        if leader.log_end_offset + len(values) > MOST_RECORDS:
            raise ScenarioError(f"more than {MOST_RECORDS} records")
        leader.log += [Written(self.leader_epoch, value) for value in values]
        self._advance(leader)

    def fetch(self, name: str, *, is_answered: bool = True) -> None:
        """Let a follower fetch once, to the leader's log end; unanswered: the response does not arrive."""
        follower, leader = self._up(name), self._leading()
        if follower is leader:
            raise ScenarioError(f"{name} is the leader")
        at = follower.log_end_offset
        epoch = follower.side.last_epoch if self.protocol == FETCH and follower.epochs else None
        found = fetch(leader.side, at, epoch)
        if found.diverging is not None:
            state = truncation_state(found.diverging, follower.side, at)
            self._cut(
                follower, state.offset, _exchange(leader.name, follower.side.last_epoch, found.diverging)
            )
            return
        if found.is_out_of_range:
            reset = out_of_range_state(leader.side, at)
            if reset is not None:
                self._cut(follower, reset.offset, "its log end is out of the leader's range")
                follower.is_checked = True
            return
        leader.remote[name] = at
        if name not in self.isr and at >= leader.high_watermark and at >= self._epoch_start(leader):
            self.isr = [one for one in self.replicas if one in {*self.isr, name}]
            self.say(name, "is in the ISR again")
        self._advance(leader)
        if not is_answered:
            self.say(name, "gets no answer")
            return
        for record in leader.log[at:]:
            if self.protocol != HIGH_WATERMARK:
                follower.epochs = assign(follower.epochs, record.epoch, follower.log_end_offset)
            follower.log.append(record)
        follower.high_watermark = min(leader.high_watermark, follower.log_end_offset)
        follower.is_checked = True

    def crash(self, losing: dict[str, int]) -> None:
        """Stop replicas at once, each losing so many records that are not on its disk yet.

        One alone leaves the ISR; where several fail together the ISR stays as it is.
        """
        for name, records in losing.items():
            replica = self._up(name)
            replica.is_up, replica.remote = False, {}
            self._lose(replica, records)
            if self.leader == name:
                self.leader = None
        if len(losing) == 1:
            rest = [name for name in self.isr if name not in losing]
            self.isr = rest or self.isr
        if self.leader is not None:
            self._advance(self.replicas[self.leader])

    def _lose(self, replica: Simulated, records: int) -> None:
        gone = replica.cut(max(0, replica.log_end_offset - records))
        if gone:
            self.say(replica.name, f"loses {_words(gone)}: not yet on disk")

    def bounce(self, name: str, losing: int = 0) -> None:
        """Stop and start a follower so fast that it stays in the ISR."""
        replica = self._up(name)
        if self.leader in {name, None}:
            raise ScenarioError(f"{name} has no leader to follow; use crash, restart, elect")
        self._lose(replica, losing)
        self._follow(replica)

    def restart(self, name: str) -> None:
        """Start a replica that is down; where there is a leader it follows."""
        replica = self._named(name)
        if replica.is_up:
            raise ScenarioError(f"{name} is up")
        replica.is_up = True
        if self.leader is not None:
            self._follow(replica)

    def elect(self, name: str) -> None:
        """Make a replica the leader, as the controller does; the others that are up follow it."""
        leader = self._up(name)
        self.leader_epoch += 1
        self.leader = name
        if name in self.isr:
            self.isr = [one for one in self.isr if self.replicas[one].is_up]
        else:
            self.isr = [name]
            self.say(name, "is elected out of sync: an unclean election")
        if self.protocol != HIGH_WATERMARK:
            leader.epochs = assign(leader.epochs, self.leader_epoch, leader.log_end_offset)
        leader.remote = dict.fromkeys((one for one in self.replicas if one != name), None)
        leader.is_checked = True
        self._advance(leader)
        for other in self.replicas.values():
            other.remote = other.remote if other is leader else {}
            if other.is_up and other is not leader:
                self._follow(other)

    def notice(self) -> None:
        """Say which committed records the leader lacks, and where a follower's log differs from its log."""
        if self.leader is None:
            return
        leader = self.replicas[self.leader]
        for one in self.committed:
            offset, value = one
            is_here = offset < leader.log_end_offset and leader.log[offset].value == value
            if is_here and one in self.lost:
                self.lost.discard(one)
                self.say(leader.name, f"{value} is back: offset {offset}")
            elif not is_here and one not in self.lost:
                self.lost.add(one)
                self.say(leader.name, f"{value} is lost: offset {offset} was committed")
        for other in self.replicas.values():
            if other.is_up and other is not leader and other.is_checked:
                for offset, (one, two) in enumerate(zip(leader.log, other.log, strict=False)):
                    if one != two:
                        event = f"differs from {leader.name} at offset {offset}: {two.value}, not {one.value}"
                        self._once(other.name, event)
                        break

    def _once(self, name: str, event: str) -> None:
        if event not in self.said:
            self.said.add(event)
            self.say(name, event)

    def _named(self, name: str) -> Simulated:
        if name not in self.replicas:
            raise ScenarioError(f"there is no replica {name}")
        return self.replicas[name]

    def _up(self, name: str) -> Simulated:
        replica = self._named(name)
        if not replica.is_up:
            raise ScenarioError(f"{name} is down")
        return replica

    def _epoch_start(self, leader: Simulated) -> int:
        return leader.epochs[-1].start_offset if leader.epochs else 0

    def _advance(self, leader: Simulated) -> None:
        """Raise the leader's high watermark to the lowest log end in the ISR, as far as it is known."""
        ends = [leader.log_end_offset]
        ends += [leader.remote.get(name) or 0 for name in self.isr if name != leader.name]
        leader.high_watermark = max(leader.high_watermark, min(ends))
        for offset in range(leader.high_watermark):
            self.committed.setdefault((offset, leader.log[offset].value))

    def _cut(self, follower: Simulated, offset: int, why: str) -> None:
        gone = follower.cut(offset)
        self.say(
            follower.name,
            f"truncates to {offset}, {_words(gone)} gone: {why}" if gone else f"keeps all: {why}",
        )

    def _follow(self, follower: Simulated) -> None:
        """Let a replica become a follower: it truncates, or will while it fetches."""
        leader = self._leading()
        if self.protocol == FETCH and follower.epochs:
            follower.is_checked = False
            return
        for number, one in enumerate(truncating(leader.side, follower.side, self.protocol)):
            assert one.truncate_to is not None
            asked, epoch, end = one.requested_epoch, one.leader_epoch, one.end_offset
            if asked is not None and epoch is not None and end is not None:
                self._cut(follower, one.truncate_to, _exchange(leader.name, asked, EpochEntry(epoch, end)))
            elif not number and follower.log:
                self._cut(follower, one.truncate_to, f"its high watermark is {one.truncate_to}")


def _exchange(leader: str, asked: int, found: EpochEntry) -> str:
    epoch = "" if found.epoch == UNDEFINED_EPOCH else f"epoch {found.epoch} "
    return f"asks for epoch {asked}, {leader} answers: {epoch}ends at {found.start_offset}"


def _words(records: list[Written]) -> str:
    return ", ".join(record.value for record in records)
