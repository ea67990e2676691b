"""Brokers of a real cluster are killed one after the other: the prediction first, then what happens."""

import time
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.live.tools import asked
from tests.processes import free_base_port
from tests.recordings.brokers import Cluster, Node, wait
from tests.recordings.client import create, records, send

pytestmark = pytest.mark.oracle

SETTINGS = {
    "controller.quorum.election.timeout.ms": 4000,  # none is repeated because the machine is busy
    "metadata.log.max.record.bytes.between.snapshots": 1500,
}
CONTROLLERS = (100, 101, 102)
VOTERS = (1, 2, 3)
"""Controllers whose voters are in their log."""
PATIENT = {**SETTINGS, "controller.quorum.fetch.timeout.ms": 6000}
"""No other controller leads because the machine is busy."""
ROLES = {**dict.fromkeys(CONTROLLERS, "controller"), 1: "broker", 2: "broker", 3: "broker"}
BEHIND_SECONDS = 2
"""A record every half a second goes to the metadata log: so long, and a paused controller is behind."""
NOW = ("leader", "isr", "leader_epoch", "partition_epoch")
LEADS, ASKS = "to Leader", "to (Prospective|Candidate)"
"""What a controller says of its next state."""
LOST = 8
"""Records that broker 1 alone has when it is killed."""


class Metadata:
    """What kcli reads in the controller's metadata log."""

    def __init__(self, cluster: Cluster) -> None:
        self.path = cluster.nodes[100].folder / "metadata" / "__cluster_metadata-0"

    def forecast(self, broker: int) -> tuple[dict[str, dict], bool]:
        """Return the rows of all partitions, and whether the broker is fenced already."""
        document = asked("failover", "--broker", broker, "--all", self.path)
        codes = {finding["code"] for finding in document["findings"]}
        return {f"{row['topic']}-{row['partition']}": row for row in document["rows"]}, "META-006" in codes

    def state(self) -> dict[str, list]:
        rows, _ = self.forecast(2)
        return {name: [*(row[column] for column in NOW), sorted(row["elr"])] for name, row in rows.items()}


def take_away(cluster: Cluster, metadata: Metadata, broker: int, *, cleanly: bool = False) -> dict[str, dict]:
    """Kill or stop a broker; the state once the controller has fenced it is the one that was predicted."""
    rows, _ = metadata.forecast(broker)
    predicted = {
        name: [*(row[f"next_{column}"] for column in NOW), sorted(row["next_elr"])]
        for name, row in rows.items()
    }
    node = cluster.nodes[broker]
    node.stop() if cleanly else node.kill()
    wait(lambda: metadata.forecast(broker)[1], f"broker {broker} to be fenced")
    assert metadata.state() == predicted
    return rows


def controllers(cluster: Cluster) -> dict[int, dict]:
    """Return what is said of the quorum by each controller's metadata log."""
    paths = [node.folder / "metadata" / "__cluster_metadata-0" for node in cluster.controllers]
    return {row["node_id"]: row for row in asked("failover", "--controller", *paths)["rows"]}


def ends(said: dict[int, dict]) -> dict[int, int]:
    return {number: row["log_end_offset"] for number, row in said.items()}


def starts(*nodes: Node) -> tuple[str, dict[int, bool | None]]:
    """Return what is said of controllers that start: in words, and which of them may lead."""
    dirs = [path for node in nodes for path in (node.logs, node.folder / "metadata")]
    rows = [row for row in asked("startup", *dirs)["rows"] if row["type"] == "startup_broker"]
    words = CliRunner().invoke(app, ["startup", *map(str, dirs), "-o", "table"]).stdout
    return " ".join(words.split()), {row["broker_id"]: row["electable"] for row in rows}


def take_the_controller_away(cluster: Cluster) -> None:
    """Kill the active controller while another one is behind: the third leads, in the epoch that was said."""
    leader = controllers(cluster)[100]["leader"]
    behind, ahead = (number for number in CONTROLLERS if number != leader)
    cluster.nodes[behind].pause()
    time.sleep(BEHIND_SECONDS)
    cluster.nodes[leader].kill()
    said = controllers(cluster)
    assert [number for number, row in said.items() if row["electable"]] == [ahead]
    cluster.nodes[behind].resume()
    before = said[ahead]["leader_epoch"]

    def leads() -> bool:
        """Whether there is a leader in a later epoch: while the others vote, there is the epoch alone."""
        now = controllers(cluster)[ahead]
        return now["leader"] is not None and now["leader_epoch"] > before

    wait(leads, "another controller")
    now = controllers(cluster)[ahead]
    assert (now["leader"], now["leader_epoch"]) == (ahead, said[ahead]["next_leader_epoch"])


def test_the_controller_does_what_was_predicted(tmp_path: Path) -> None:
    with Cluster(tmp_path, ROLES, free_base_port(), Random("failover"), SETTINGS) as cluster:
        random = Random("records")
        create(
            cluster, {"three": {}, "strict": {"min.insync.replicas": 2}}, [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
        )
        create(cluster, {"lossy": {"unclean.leader.election.enable": "true"}}, [[1, 3]])
        create(cluster, {"alone": {}}, [[1]])
        cluster.wait_partitions(
            lambda partition: len(partition.isrs) == len(partition.replicas), "all replicas in sync"
        )
        send(cluster, "lossy", records(random, 10))
        metadata = Metadata(cluster)

        rows = take_away(cluster, metadata, 3)
        assert {row["outcome"] for row in rows.values()} == {"new-leader", "isr-shrinks", "unchanged"}
        send(cluster, "lossy", records(random, LOST))
        checkpoint = cluster.nodes[1].logs / "replication-offset-checkpoint"
        wait(lambda: f"lossy 0 {10 + LOST}" in checkpoint.read_text(), "the high watermark on disk")
        rows = take_away(cluster, metadata, 1)
        assert {name for name, row in rows.items() if row["outcome"] == "offline"} == {"lossy-0", "alone-0"}
        assert not any(row["writable"] for name, row in rows.items() if name.startswith("strict"))

        logs = [cluster.nodes[number].logs for number in (1, 3)]
        document = asked("replica", "elect", "--metadata", metadata.path, *logs, "--topic", "lossy")
        with_1, with_3 = document["rows"]
        assert (with_1["would_be_elected"], with_1["records_lost"]) == (True, 0)
        assert (with_3["records_lost"], with_3["committed_records_lost"]) == (LOST, LOST)

        rows = take_away(cluster, metadata, 2, cleanly=True)
        assert {row["next_leader"] for row in rows.values()} == {-1}
        assert any(row["next_elr"] for row in rows.values()), "ELR is on"

        cluster.nodes[3].start()
        wait(lambda: metadata.state()["lossy-0"][0] == 3, "the unclean election of broker 3")
        send(cluster, "lossy", records(random, 3))
        cluster.nodes[1].start()
        assert list(metadata.path.glob("*.checkpoint")), "snapshots were read, too"
        line = rf"lossy-0.*Truncating to offset {with_3['truncate_to']} "
        wait(lambda: bool(cluster.nodes[1].log_lines(line)), "broker 1 to truncate")
        take_the_controller_away(cluster)


def test_the_controller_that_may_lead_leads(tmp_path: Path) -> None:
    """Of three voters of a voters record one waits alone; of two the one that is ahead leads."""
    roles = dict.fromkeys(VOTERS, "controller")
    with Cluster(tmp_path, roles, free_base_port(), Random("voters"), PATIENT, is_dynamic=True) as cluster:
        wait(lambda: None not in {row["leader"] for row in controllers(cluster).values()}, "a controller")
        leader = controllers(cluster)[1]["leader"]
        behind, ahead = (cluster.nodes[number] for number in VOTERS if number != leader)
        behind.kill()

        def is_ahead() -> bool:
            found = ends(controllers(cluster))
            return found[ahead.number] > found[behind.number]

        wait(is_ahead, "records that one controller lacks")
        ahead.kill()
        cluster.nodes[leader].kill()
        may_lead = {number: row["electable"] for number, row in controllers(cluster).items()}
        assert may_lead == {leader: False, ahead.number: True, behind.number: False}
        nodes = list(cluster.nodes.values())
        assert starts(*nodes)[1] == {leader: True, ahead.number: True, behind.number: False}
        words, said = starts(ahead, behind)
        assert said == {ahead.number: True, behind.number: None}
        assert f"Quorum: 2 of 3 voters would start here, node {ahead.number} may lead" in words
        assert starts(ahead)[1] == {ahead.number: None}
        ahead.start()
        wait(lambda: len(ahead.log_lines(ASKS)) > 1, "an election that fails")
        assert not ahead.log_lines(LEADS)
        behind.start()
        wait(lambda: bool(ahead.log_lines(LEADS) or behind.log_lines(LEADS)), "a leader")
        assert not behind.log_lines(LEADS)
