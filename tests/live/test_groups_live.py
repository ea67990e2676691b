"""`group` over the log dirs of a real broker answers as the broker does over its Admin API."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition

from tests.commands.answers import ask
from tests.processes import free_base_port
from tests.recordings import java_tools
from tests.recordings.brokers import LONGEST, QUIET, Cluster, answered, wait
from tests.recordings.client import create, producer, records, write

pytestmark = pytest.mark.oracle

PARTITIONS = 3
SETTINGS = {
    "offsets.topic.num.partitions": 3,
    "group.share.record.lock.duration.ms": 15000,
    "group.initial.rebalance.delay.ms": 0,
}
GROUP_COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"


def consumer(cluster: Cluster, group: str, protocol: str, **more: object) -> Consumer:
    """Return a consumer that has read from each partition of `orders`, and committed where it is."""
    made = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **{key.replace("_", "."): value for key, value in more.items()},
            **QUIET,
        }
    )
    made.subscribe(["orders"])
    seen: dict[int, int] = {}

    def has_read() -> bool:
        message = made.poll(1)
        if message is not None and message.error() is None:
            seen[message.partition()] = message.offset()
        return len(seen) == PARTITIONS

    wait(has_read, f"{group} to read")
    made.commit(asynchronous=False)
    return made


@contextmanager
def open_groups(cluster: Cluster) -> Iterator[None]:
    """Have groups of every kind; those with members keep them until the end."""
    held = [
        consumer(cluster, "g-classic", "classic"),
        consumer(cluster, "g-static", "classic", group_instance_id="one"),
        consumer(cluster, "g-consumer", "consumer"),
    ]
    for group, protocol in (("g-left", "classic"), ("g-consumer-left", "consumer")):
        consumer(cluster, group, protocol).close()
    simple(cluster, "g-simple", {0: 3, 1: 4})
    simple(cluster, "g-deleted", {0: 2})
    simple(cluster, "g-dropped", {0: 5, 2: 6})
    answered(lambda: cluster.admin.delete_consumer_groups(["g-deleted"])["g-deleted"].result(30))
    java_tools.run(
        GROUP_COMMAND,
        *("--bootstrap-server", cluster.bootstrap, "--delete-offsets"),
        *("--group", "g-dropped", "--topic", "orders:0"),
    )
    writers = [transaction(cluster, held[0], name, end) for name, end in (("a", "c"), ("b", "a"), ("c", "o"))]
    share = ["--bootstrap-server", cluster.bootstrap, "--topic", "orders", "--group", "g-share"]
    line = java_tools.command(SHARE_CONSUMER, *share, "--timeout-ms", "3000")
    subprocess.run(line, check=False, capture_output=True)
    yield
    for one in held:
        one.close()
    del writers


def simple(cluster: Cluster, group: str, offsets: dict[int, int]) -> None:
    """Commit offsets without a member."""
    places = [TopicPartition("orders", number, offset) for number, offset in offsets.items()]
    request = [ConsumerGroupTopicPartitions(group, places)]
    answered(lambda: cluster.admin.alter_consumer_group_offsets(request)[group].result(30))


def transaction(cluster: Cluster, member: Consumer, name: str, end: str) -> object:
    """Commit offsets of g-txn-NAME in a transaction that ends as the letter says; o: it stays open."""
    simple(cluster, f"g-txn-{name}", {0: 1})
    idle = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": f"g-txn-{name}", **QUIET})
    writer = producer(cluster, transactional_id=f"tx-{name}")
    writer.init_transactions(LONGEST)
    writer.begin_transaction()
    places = [TopicPartition("orders", number, 7 + number) for number in range(2)]
    writer.send_offsets_to_transaction(places, idle.consumer_group_metadata(), LONGEST)
    if end == "c":
        writer.commit_transaction(LONGEST)
    elif end == "a":
        writer.abort_transaction(LONGEST)
    idle.close()
    return writer


def offsets_of(cluster: Cluster, group: str) -> dict[tuple[str, int], tuple[int, int]]:
    """Return offset and leader epoch of each commit of a group, as the broker answers."""
    request = [ConsumerGroupTopicPartitions(group)]
    found = answered(lambda: cluster.admin.list_consumer_group_offsets(request)[group].result(30))
    return {
        (one.topic, one.partition): (one.offset, -1 if one.leader_epoch is None else one.leader_epoch)
        for one in found.topic_partitions
        if one.offset >= 0
    }


def lags(cluster: Cluster) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Return log end and lag of each commit, as kafka-consumer-groups.sh prints them."""
    text = java_tools.run(
        GROUP_COMMAND, "--bootstrap-server", cluster.bootstrap, "--describe", "--all-groups", "--offsets"
    )
    found = re.findall(r"^(g-\S+) +(\S+) +(\d+) +\d+ +(\d+) +(-?\d+) ", text, re.MULTILINE)
    return {(group, topic, int(number)): (int(end), int(lag)) for group, topic, number, end, lag in found}


def rows(log_dir: Path, *words: str) -> list[dict]:
    found, status = ask("group", *words, log_dir)
    assert status == 0, found
    return found["rows"]


def test_groups_are_as_the_broker_says(tmp_path: Path) -> None:
    with Cluster(tmp_path, {1: "broker,controller"}, free_base_port(), Random("groups"), SETTINGS) as cluster:
        create(cluster, {"orders": {}}, [[1]] * PARTITIONS)
        sender = producer(cluster)
        for partition in range(PARTITIONS):
            write(sender, "orders", records(Random("orders"), 20), partition=partition)
        (log_dir,) = {log.parent for log in tmp_path.rglob("__cluster_metadata-0")}
        with open_groups(cluster):
            compare(cluster, log_dir)
        cluster.nodes[1].stop()
        empty = {row["group_id"] for row in rows(log_dir, "list") if row["state"] != "Stable"}
        assert empty >= {"g-classic", "g-consumer", "g-left", "g-simple", "g-dropped"}
        history = [row["change"] for row in rows(log_dir, "history", "--group", "g-deleted")]
        assert history == ["first", "removed"]


def compare(cluster: Cluster, log_dir: Path) -> None:
    """Compare what is in the log dir of the running broker with what it answers."""
    listed = answered(lambda: cluster.admin.list_consumer_groups().result(30)).valid
    expected = {one.group_id: (one.type.name.lower(), one.state.name) for one in listed}
    found = {row["group_id"]: (row["group_type"], row["state"].upper()) for row in rows(log_dir, "list")}
    assert set(expected) >= {"g-classic", "g-consumer", "g-txn-c", "g-simple"}
    assert {name: one for name, one in found.items() if name != "g-share"} == {
        name: one for name, one in expected.items() if name != "g-share"
    }
    assert found["g-share"] == ("share", "EMPTY")

    names = sorted(set(found) - {"g-share"})
    offsets = rows(log_dir, "offsets")
    committed: dict[str, dict] = {name: {} for name in names}
    for row in offsets:
        if row["committed_offset"] is not None and row["group_id"] in committed:
            place = row["topic"], row["partition"]
            commit = row["committed_offset"], row["committed_leader_epoch"]
            committed[row["group_id"]][place] = commit
    assert committed == {name: offsets_of(cluster, name) for name in names}
    pending = [(row["group_id"], row["partition"], row["pending_offset"]) for row in offsets]
    assert [one for one in pending if one[2] is not None] == [("g-txn-c", 0, 7), ("g-txn-c", 1, 8)]
    assert {row["position"] for row in offsets} <= {"valid", "unknown"}
    printed = lags(cluster)
    assert len(printed) > len(names)
    found_lags = {
        (row["group_id"], row["topic"], row["partition"]): (
            row["log_end_offset"],
            row["log_end_offset"] - row["committed_offset"],
        )
        for row in offsets
        if row["committed_offset"] is not None
    }
    assert {one: found_lags[one] for one in printed} == printed

    described = cluster.admin.describe_consumer_groups(["g-classic", "g-static", "g-consumer"])
    members = {
        (name, member.member_id, member.client_id, member.host, member.group_instance_id): {
            (one.topic, one.partition) for one in member.assignment.topic_partitions
        }
        for name, future in described.items()
        for member in future.result(30).members
    }
    assert members == {
        (row["group_id"], row["member_id"], row["client_id"], row["client_host"], row["group_instance_id"]): {
            (one["topic"], one["partition"]) for one in row["assignment"]
        }
        for row in rows(log_dir, "members")
    }
