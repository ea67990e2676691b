"""Two real brokers: what `replica simulate`, `truncate --leader` and `epoch end-offset` say comes to be.

Stops are clean: what is written is on disk. Where epochs begin is compared, not their numbers, which skip
those without a leader. The last in-sync replica that stops stays in the ISR of the model, or is in the ELR.
"""

import json
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from confluent_kafka import ElectionType, TopicPartition

from formats.names import REMOTE_LOG_METADATA
from tests.live.tools import asked
from tests.processes import free_base_port
from tests.recordings.brokers import Cluster, Node, answered, remote_storage, wait
from tests.recordings.client import create, records, send
from tests.recordings.wire import epoch_answer, high_watermark, log_end_offset

pytestmark = [pytest.mark.oracle, pytest.mark.moving]

ROLES = {100: "controller", 1: "broker", 2: "broker"}
BROKERS = {"A": 1, "B": 2}
TOPIC, TIERED = "story", "tiered"
ERRORS = {None: 0, "NOT_LEADER_OR_FOLLOWER": 6, "FENCED_LEADER_EPOCH": 74, "UNKNOWN_LEADER_EPOCH": 75}
RETAINED = 3000
LAST_FETCH_SECONDS = 0.8
"""So long the fetch of a paused follower waits at the leader; a record written then would be its answer."""


class State(NamedTuple):
    """A replica: its log end, high watermark, where its epochs begin, and whether it is in sync."""

    log_end_offset: int | None
    high_watermark: int | None
    epoch_starts: tuple[int, ...]
    in_isr: bool


def rows(*words: object) -> list[dict]:
    return asked(*words)["rows"]


class Story:
    """The cluster and the steps so far."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.file, self.steps = cluster, folder / "story.toml", list[str]()
        self.metadata = cluster.nodes[100].folder / "metadata" / "__cluster_metadata-0"
        self.lines: list[str] = []

    def predicted(self) -> dict[str, State]:
        """Return what `replica simulate` says of each replica after the steps so far."""
        self.file.write_text(f'replicas = ["A", "B"]\nsteps = {json.dumps(self.steps)}\n')
        replicas = rows("replica", "simulate", self.file)[-len(BROKERS) :]
        return {
            row["replica"]: State(
                row["log_end_offset"],
                row["high_watermark"],
                tuple(entry["start_offset"] for entry in row["epochs"]),
                row["in_isr"],
            )
            for row in replicas
        }

    def happened(self, name: str) -> State:
        """Return what a running broker answers of its replica; of one that is down, what its files say."""
        node = self.cluster.nodes[BROKERS[name]]
        if node.running:
            ends = log_end_offset(node.port, TOPIC, 0), high_watermark(node.port, TOPIC, 0)
        else:
            (found,) = rows("ls", node.logs / f"{TOPIC}-0")
            ends = found["log_end_offset"], found["high_watermark"]
        epochs = rows("epoch", "show", "--broker", "running", node.logs / f"{TOPIC}-0")
        starts = tuple(epoch["start_offset"] for epoch in epochs)
        return State(*ends, starts, self.in_isr(name))

    def in_isr(self, name: str) -> bool:
        (row,) = rows("failover", "--all", self.metadata, "--topic", TOPIC)
        return BROKERS[name] in (row["isr"] or row["elr"])

    def step(self, does: Callable[[], object], *steps: str, paused: str = "") -> None:
        """Do a step; what was predicted comes to be, while a replica that is paused stays in sync."""
        does()
        self.steps += steps
        predicted = self.predicted()
        predicted.pop(paused, None)
        found: dict[str, State] = {}

        def is_so() -> bool:
            found.update({name: self.happened(name) for name in predicted})
            return found == predicted or (paused != "" and not self.in_isr(paused))

        try:
            wait(is_so, str(steps))
        except TimeoutError as error:
            raise AssertionError(f"{self.steps}: predicted {predicted}, found {found}") from error
        states = "  ".join(
            f"{name} LEO {replica.log_end_offset} HW {replica.high_watermark}"
            for name, replica in found.items()
        )
        self.lines.append(f"{'; '.join(steps):44} {states}")

    def produce(self, *values: str) -> Callable[[], None]:
        made = [{"value": value} for value in values]
        return lambda: send(self.cluster, TOPIC, made, batch=1, acks=1)

    def elect(self, name: str) -> Callable[[], None]:
        def unclean() -> None:
            asked_for = [TopicPartition(TOPIC, 0)]
            answered(lambda: self.cluster.admin.elect_leaders(ElectionType.UNCLEAN, asked_for).result(20))
            wait(
                lambda: (
                    rows("failover", "--all", self.metadata, "--topic", TOPIC)[0]["leader"] == BROKERS[name]
                ),
                "the election",
            )

        return unclean


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("replicas")
    settings = {
        **remote_storage(folder / "remote"),
        "rlmm.config.remote.log.metadata.topic.num.partitions": 1,
        "rlmm.config.remote.log.metadata.topic.replication.factor": 2,
        "rlmm.config.remote.log.metadata.topic.min.isr": 1,
    }
    with Cluster(folder, ROLES, free_base_port(), Random("replicas"), settings) as cluster:
        yield cluster


def test_a_story_of_two_brokers(cluster: Cluster, tmp_path: Path) -> None:
    create(cluster, {TOPIC: {}}, [[1, 2]])
    cluster.wait_partitions(lambda partition: len(partition.isrs) == 2, "both replicas in sync")
    story, (a, b) = Story(cluster, tmp_path), (cluster.nodes[number] for number in BROKERS.values())

    def pause() -> None:
        b.pause()
        time.sleep(LAST_FETCH_SECONDS)
        story.produce("m1")()

    story.step(story.produce("m0"), "produce m0", "fetch B", "fetch B")
    story.step(pause, "produce m1", paused="B")
    story.step(b.resume, "fetch B", "fetch B")
    story.step(b.stop, "crash B")
    story.step(story.produce("m2", "m3"), "produce m2 m3")
    story.step(a.stop, "crash A")
    story.step(b.start, "restart B")
    story.step(story.elect("B"), "elect B")
    story.step(story.produce("b2"), "produce b2")
    story.step(a.start, "restart A", "fetch A", "fetch A", "fetch A")
    story.step(a.stop, "crash A")
    story.step(story.produce("b3"), "produce b3")
    story.step(b.stop, "crash B")
    story.step(a.start, "restart A")
    story.step(story.elect("A"), "elect A")
    story.step(story.produce("a3", "a4"), "produce a3 a4")
    story.step(b.start, "restart B", "fetch B", "fetch B", "fetch B")
    print(*story.lines, sep="\n")

    (now,) = rows("failover", "--all", story.metadata, "--topic", TOPIC)
    for node, current in product((a, b), range(-1, now["leader_epoch"] + 2)):
        words = () if current < 0 else ("--current-leader-epoch", current)
        (row,) = rows(
            *("epoch", "end-offset", "--epoch", now["leader_epoch"], "--broker", "running"),
            *("--metadata", story.metadata, *words, node.logs / f"{TOPIC}-0"),
        )
        said = epoch_answer(node.port, TOPIC, 0, now["leader_epoch"], current)
        assert (ERRORS[row["error"]], row["leader_epoch"], row["end_offset"]) == said, (node, current)

    a.stop()
    b.stop()
    ranges = rows("replica", "diff", a.logs, b.logs, "--topic", TOPIC)
    assert {row["verdict"] for row in ranges} == {"equal"}
    log = rows("dump", "--records", "--only", "dump_record", "--bytes", "text", a.logs / f"{TOPIC}-0")
    assert [row["value"] for row in log] == ["m0", "m1", "b2", "a3", "a4"]


def first_offset(node: Node) -> int:
    """Return where a broker's local log of the tiered topic begins."""
    return min(int(path.stem) for path in (node.logs / f"{TIERED}-0").glob("*.log"))


def is_within_retention(node: Node) -> bool:
    """Return whether a broker has deleted from its local log what local.retention.bytes lets it."""
    first, *others = (path.stat().st_size for path in sorted((node.logs / f"{TIERED}-0").glob("*.log")))
    return bool(first) and sum(others) < RETAINED


def in_sync_everywhere(cluster: Cluster, topic: str) -> bool:
    """Return whether both brokers are in every ISR of a topic, also of one that a leader must write to."""
    partitions = cluster.metadata().topics[topic].partitions if topic in cluster.metadata().topics else {}
    return bool(partitions) and all(len(partition.isrs) == 2 for partition in partitions.values())


def test_a_follower_of_a_tiered_leader(cluster: Cluster) -> None:
    random, (a, b) = Random("tiered"), (cluster.nodes[number] for number in BROKERS.values())
    for node in (a, b):
        if not node.running:
            node.start()
    sizes = {"internal.segment.bytes": 1500, "local.retention.bytes": RETAINED, "index.interval.bytes": 1}
    create(cluster, {TIERED: {"remote.storage.enable": "true", **sizes}}, [[1, 2]])
    cluster.wait_partitions(lambda partition: len(partition.isrs) == 2, "both replicas in sync")
    wait(lambda: in_sync_everywhere(cluster, REMOTE_LOG_METADATA), "the metadata of remote logs in sync")
    send(cluster, TIERED, records(random, 10))
    wait(lambda: log_end_offset(b.port, TIERED, 0) == 10, "the follower to have it")
    b.stop()
    send(cluster, TIERED, records(random, 80))
    wait(lambda: is_within_retention(a), "the leader to delete what it has copied")
    assert first_offset(a) > 10
    ask = ("truncate", "--dry-run", "--leader", a.logs, b.logs / f"{TIERED}-0")
    (row,) = rows(*ask)
    b.start()
    wait(lambda: log_end_offset(b.port, TIERED, 0) == 90, "the follower to catch up")
    b.stop()

    assert (row["outcome"], row["rescue_command"]) == ("tiered", None)
    assert first_offset(b) == row["target_offset"] == first_offset(a)
    (found,) = rows("ls", b.logs / f"{TIERED}-0")
    assert found["log_start_offset"] == row["log_start_offset_after"] == 0
    epochs = rows("epoch", "show", b.logs / f"{TIERED}-0")
    assert [[epoch["epoch"], epoch["start_offset"]] for epoch in epochs] == [
        list(epoch.values()) for epoch in row["epochs_after"]
    ]
    created = {snapshot["offset"] for snapshot in row["producer_snapshots"] if snapshot["action"] == "create"}
    assert {int(path.stem) for path in (b.logs / f"{TIERED}-0").glob("*.snapshot")} >= created
