"""`replica simulate`: a story of leader changes in one replicated partition, step by step.

A story is bundled (`stories.toml`) or a TOML file of the same keys; the manual's page `replication` has the
steps. Each does what `Partition`, `ReplicaManager` and `AbstractFetcherThread` do. Time, batches and disks
are left out: a record is a word.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, NamedTuple

from kcli.kafka.replication.follower import (
    FETCH,
    HIGH_WATERMARK_PROTOCOL,
    PROTOCOLS,
    ReplicaEpochs,
    fetch,
    truncating,
    truncation_state,
)
from kcli.kafka.storage.leader_epochs import UNDEFINED_EPOCH, EpochCache, assign, truncate_from_end
from kcli.logdir.buffers import read_whole
from kcli.rows.replicas import RemoteEnd, ScenarioRow, SimulatedRecord, SimulationRow

LOSS = r"\S+?(?: losing \d{1,9})?"
STEPS = {
    "produce": ("RECORD...", "(.+)"),
    "fetch": ("REPLICA [unanswered]", r"(\S+)( unanswered)?"),
    "crash": ("REPLICA [losing N][, REPLICA...]", f"((?:{LOSS}(?: ?, ?|$))+)"),
    "bounce": ("REPLICA [losing N]", f"({LOSS})"),
    "restart": ("REPLICA", r"(\S+)"),
    "elect": ("REPLICA", r"(\S+)"),
}
"""First word of a step, and the method that does it -> what follows, the arguments of the method."""


class ScenarioError(Exception):
    """A step or a scenario that makes no sense; the text says which and why."""


class Scenario(NamedTuple):
    """A story: who is there, who leads at first, how followers truncate, and what happens."""

    name: str
    title: str
    protocol: str
    replicas: tuple[str, ...]
    leader: str
    steps: tuple[str, ...]


def bundled() -> dict[str, Scenario]:
    """Return the stories that come with kcli by name, in the order of reading."""
    toml = (resources.files(__package__) / "stories.toml").read_text(encoding="utf-8")
    return {name: checked_scenario(name, table) for name, table in tomllib.loads(toml).items()}


def list_stories() -> Iterator[ScenarioRow]:
    """Yield a row for each of the stories that come with kcli."""
    for story in bundled().values():
        yield ScenarioRow(story.name, story.title, story.protocol, story.replicas, len(story.steps))


def load_scenario(word: str) -> Scenario:
    """Return the story of a name, or of a file; FileError, and ScenarioError for what is none."""
    stories = bundled()
    if word in stories:
        return stories[word]
    if not word.endswith(".toml"):
        raise ScenarioError(f"{word}: expected a .toml file, or one of {', '.join(stories)}")
    try:
        return checked_scenario(word, tomllib.loads(read_whole(word).decode()))
    except ValueError as error:
        raise ScenarioError(f"{word}: {error}") from error


def checked_scenario(name: str, table: dict[str, Any]) -> Scenario:
    """Return the story that a TOML document holds; ScenarioError with the key that is wrong."""
    for key in sorted(table.keys() - {*Scenario._fields[1:]}):
        raise ScenarioError(f"{name}: {key}: expected title, protocol, replicas, leader and steps")
    for key in ("replicas", "steps"):
        texts = table.get(key)
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise ScenarioError(f"{name}: {key}: expected a list of texts")
    replicas, protocol = tuple(table["replicas"]), str(table.get("protocol", FETCH))
    leader = str(table.get("leader", replicas[0]))
    if protocol not in PROTOCOLS:
        raise ScenarioError(f"{name}: protocol {protocol}: expected one of {', '.join(PROTOCOLS)}")
    if len(set(replicas)) < len(replicas) or any(len(text.split()) != 1 or "," in text for text in replicas):
        raise ScenarioError(f"{name}: replicas: expected names of one word, each once")
    if leader not in replicas:
        raise ScenarioError(f"{name}: leader {leader}: expected one of the replicas")
    return Scenario(name, str(table.get("title", name)), protocol, replicas, leader, tuple(table["steps"]))


def simulate(scenario: Scenario) -> list[SimulationRow]:
    """Return a row for each replica after each step; ScenarioError for a step that cannot be done."""
    model = Simulation(scenario)
    rows = list(model.rows(0, "start"))
    for number, step in enumerate(scenario.steps, 1):
        try:
            model.do(step)
        except ScenarioError as error:
            raise ScenarioError(f"step {number}, {step!r}: {error}") from error
        rows += model.rows(number, step)
    return rows


@dataclass(eq=False)
class SimulatedReplica:
    """One replica: its log from offset 0 on, and what it knows.

    `remote_ends`: while it leads, the log end of each follower as its last fetch said; None before the first.
    `is_checked`: whether its log is known to be a part of the leader's. `events`: since the last row.
    """

    name: str
    is_up: bool = True
    log: list[SimulatedRecord] = field(default_factory=list)
    high_watermark: int = 0
    epochs: EpochCache = ()
    remote_ends: dict[str, int | None] = field(default_factory=dict)
    is_checked: bool = True
    events: list[str] = field(default_factory=list)

    @property
    def state(self) -> ReplicaEpochs:
        """What counts of it where a follower fetches from a leader."""
        return ReplicaEpochs(self.epochs, len(self.log), high_watermark=self.high_watermark)

    def truncate(self, offset: int, reason: str = "") -> str:
        """Truncate to an offset; return the words that are gone. With a reason that is an event."""
        gone = ", ".join(record.value for record in self.log[offset:])
        del self.log[offset:]
        self.epochs = truncate_from_end(self.epochs, offset)
        self.high_watermark = min(self.high_watermark, len(self.log))
        if reason:
            what = f"truncates to {offset}, {gone} gone" if gone else "keeps all"
            self.events.append(f"{what}: {reason}")
        return gone


class Simulation:
    """The partition of a story; `isr` are names.

    `committed`: offset and value of every record that was below a high watermark, in that order; `lost`:
    those that the leader lacks. `differences`: events that were reported.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.replicas = [SimulatedReplica(name) for name in scenario.replicas]
        self.leader: SimulatedReplica | None = None
        self.leader_epoch = -1
        self.isr = set(scenario.replicas)
        self.committed: dict[tuple[int, str], None] = {}
        self.lost: set[tuple[int, str]] = set()
        self.differences: set[str] = set()
        self.elect(scenario.leader)
        leader = self._leader()
        leader.remote_ends = dict.fromkeys(leader.remote_ends, 0)

    def rows(self, number: int, action: str) -> Iterator[SimulationRow]:
        """Yield the replicas after a step, and forget their events."""
        for replica in self.replicas:
            role = "leader" if replica is self.leader else "follower"
            yield SimulationRow(
                self.scenario.name,
                number,
                action,
                self.leader_epoch,
                replica.name,
                role if replica.is_up else "down",
                in_isr=replica.name in self.isr,
                log_end_offset=len(replica.log),
                high_watermark=replica.high_watermark,
                remote_log_end_offsets=tuple(RemoteEnd(*end) for end in replica.remote_ends.items()),
                epochs=replica.epochs,
                log=tuple(replica.log),
                events=tuple(replica.events),
                title=self.scenario.title,
                protocol=self.scenario.protocol,
            )
            replica.events.clear()

    def do(self, step: str) -> None:
        """Do a step as it is written."""
        word, _, rest = " ".join(step.split()).partition(" ")
        if word not in STEPS or not rest:
            raise ScenarioError(f"expected one of {', '.join(STEPS)}, and a name")
        expected, pattern = STEPS[word]
        match = re.fullmatch(pattern, rest)
        if match is None:
            raise ScenarioError(f"expected: {word} {expected}")
        getattr(self, word)(*match.groups())
        if self.leader is not None:
            self._report_differences(self.leader)

    def produce(self, values: str) -> None:
        """Append records to the leader."""
        leader = self._leader()
        leader.log += [SimulatedRecord(self.leader_epoch, value) for value in values.split()]
        self._advance(leader)

    def fetch(self, name: str, unanswered: str | None) -> None:
        """Let a follower fetch once, to the leader's log end; `unanswered`: the response does not arrive."""
        follower, leader = self._replica(name), self._leader()
        if follower is leader:
            raise ScenarioError(f"{name} is the leader")
        offset, last_epoch = len(follower.log), follower.state.last_epoch
        names_epoch = self.scenario.protocol == FETCH and follower.epochs
        answer = fetch(leader.state, offset, last_epoch if names_epoch else None)
        if answer.diverging is not None:
            state = truncation_state(answer.diverging, follower.state, offset)
            follower.truncate(state.offset, _exchange(leader.name, last_epoch, *answer.diverging))
            return
        if answer.is_out_of_range:
            if offset > len(leader.log):
                follower.truncate(len(leader.log), "its log end is out of the leader's range")
                follower.is_checked = True
            return
        leader.remote_ends[name] = offset
        epoch_start = leader.epochs[-1].start_offset if leader.epochs else 0
        if name not in self.isr and offset >= max(leader.high_watermark, epoch_start):
            self.isr.add(name)
            follower.events.append("is in the ISR again")
        self._advance(leader)
        if unanswered:
            follower.events.append("gets no answer")
            return
        for record in leader.log[offset:]:
            if self.scenario.protocol != HIGH_WATERMARK_PROTOCOL:
                follower.epochs = assign(follower.epochs, record.epoch, len(follower.log))
            follower.log.append(record)
        follower.high_watermark = min(leader.high_watermark, len(follower.log))
        follower.is_checked = True

    def crash(self, losses: str) -> None:
        """Stop replicas at once, each losing newest records; where several fail together the ISR stays."""
        crashes = re.split(" ?, ?", losses)
        for replica in map(self._losing, crashes):
            replica.is_up, replica.remote_ends = False, {}
            if replica is self.leader:
                self.leader = None
            if len(crashes) == 1:
                self.isr = self.isr - {replica.name} or self.isr
        if self.leader is not None:
            self._advance(self.leader)

    def bounce(self, loss: str) -> None:
        """Stop and start a follower so fast that it stays in the ISR."""
        replica = self._losing(loss)
        if self.leader in (replica, None):
            raise ScenarioError(f"{replica.name} has no leader to follow; use crash, restart, elect")
        self._follow(replica)

    def restart(self, name: str) -> None:
        """Start a replica that is down; where there is a leader it follows."""
        replica = self._replica(name, is_up=False)
        replica.is_up = True
        if self.leader is not None:
            self._follow(replica)

    def elect(self, name: str) -> None:
        """Have the controller elect a replica as if it were the only one; the others follow it."""
        leader = self._replica(name)
        self.leader, self.leader_epoch = leader, self.leader_epoch + 1
        self.isr = {replica.name for replica in self.replicas if replica.is_up and replica.name in self.isr}
        if name not in self.isr:
            self.isr = {name}
            leader.events.append("is elected out of sync: an unclean election")
        if self.scenario.protocol != HIGH_WATERMARK_PROTOCOL:
            leader.epochs = assign(leader.epochs, self.leader_epoch, len(leader.log))
        leader.is_checked = True
        others = [replica for replica in self.replicas if replica is not leader]
        leader.remote_ends = dict.fromkeys(replica.name for replica in others)
        self._advance(leader)
        for replica in others:
            replica.remote_ends = {}
            if replica.is_up:
                self._follow(replica)

    def _report_differences(self, leader: SimulatedReplica) -> None:
        """Report which committed records the leader lacks, and where the log of a follower differs."""
        own = {(offset, record.value) for offset, record in enumerate(leader.log)}
        lost = self.committed.keys() - own
        for offset, value in self.committed:
            if (offset, value) in self.lost - lost:
                leader.events.append(f"{value} is back: offset {offset}")
            elif (offset, value) in lost - self.lost:
                leader.events.append(f"{value} is lost: offset {offset} was committed")
        self.lost = lost
        for follower in (replica for replica in self.replicas if replica.is_up and replica.is_checked):
            for offset, (record, other) in enumerate(zip(leader.log, follower.log, strict=False)):
                if record != other:
                    values = f"{other.value}, not {record.value}"
                    event = f"differs from {leader.name} at offset {offset}: {values}"
                    follower.events += [event] if event not in self.differences else []
                    self.differences.add(event)
                    break

    def _replica(self, name: str, *, is_up: bool = True) -> SimulatedReplica:
        replica = next((replica for replica in self.replicas if replica.name == name), None)
        if replica is None:
            raise ScenarioError(f"there is no replica {name}")
        if replica.is_up != is_up:
            raise ScenarioError(f"{name} is {'up' if replica.is_up else 'down'}")
        return replica

    def _losing(self, loss: str) -> SimulatedReplica:
        """Return a replica without its newest records: as many as `REPLICA losing N` says."""
        name, _, records = loss.partition(" losing ")
        replica = self._replica(name)
        gone = replica.truncate(max(0, len(replica.log) - int(records or 0)))
        if gone:
            replica.events.append(f"loses {gone}: not yet on disk")
        return replica

    def _leader(self) -> SimulatedReplica:
        if self.leader is None:
            raise ScenarioError("there is no leader; elect one first")
        return self.leader

    def _advance(self, leader: SimulatedReplica) -> None:
        """Raise the leader's high watermark to the lowest log end in the ISR, as far as it is known."""
        ends = [leader.remote_ends.get(name) or 0 for name in self.isr if name != leader.name]
        leader.high_watermark = max(leader.high_watermark, min([len(leader.log), *ends]))
        for offset in range(leader.high_watermark):
            self.committed.setdefault((offset, leader.log[offset].value))

    def _follow(self, follower: SimulatedReplica) -> None:
        """Make a replica a follower: it truncates, or will while it fetches."""
        leader = self._leader()
        if self.scenario.protocol == FETCH and follower.epochs:
            follower.is_checked = False
            return
        for number, done in enumerate(truncating(leader.state, follower.state, self.scenario.protocol)):
            assert done.truncate_to is not None
            if done.requested_epoch is not None:
                exchange = _exchange(leader.name, done.requested_epoch, done.leader_epoch, done.end_offset)
                follower.truncate(done.truncate_to, exchange)
            elif not number and follower.log:
                follower.truncate(done.truncate_to, f"its high watermark is {done.truncate_to}")


def _exchange(leader: str, requested_epoch: int, epoch: int | None, end_offset: int | None) -> str:
    of = "" if epoch == UNDEFINED_EPOCH else f"epoch {epoch} "
    return f"asks for epoch {requested_epoch}, {leader} answers: {of}ends at {end_offset}"
