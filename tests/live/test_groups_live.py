"""`group` over the log dirs of a real broker answers as the broker does over its Admin API."""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupTopicPartitions, TopicPartition

from tests.commands.answers import ask
from tests.live.tools import same
from tests.processes import free_base_port
from tests.recordings import java_tools, wire
from tests.recordings.brokers import LONGEST, QUIET, Cluster, answered, wait
from tests.recordings.client import create, producer, records, write
from tests.recordings.java_tools import NEWEST

pytestmark = pytest.mark.oracle

PARTITIONS, RECORDS = 3, 20
SETTINGS = {
    "offsets.topic.num.partitions": 3,
    "offsets.retention.check.interval.ms": 500,
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.streams.initial.rebalance.delay.ms": 0,
}
GROUP_COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OTHER_GROUPS = Path(__file__).parent / "OtherGroups.java"
HELD = (("g-classic", "classic"), ("g-static", "classic", "one"), ("g-consumer", "consumer"))
CONSUMERS = (
    *(*HELD, ("g-left", "classic"), ("g-consumer-left", "consumer")),
    ("g-consumer-deleted", "consumer"),
)
"""Group, protocol and group.instance.id of consumers; those that are not held leave."""
DELETED = ("g-deleted", "g-consumer-deleted")
EMPTIED = {"g-classic", "g-consumer", "g-java", "g-left", "g-simple", "g-dropped"}
HOUR_MS = 3_600_000


def consumer(cluster: Cluster, group: str, protocol: str, instance: str | None = None) -> Consumer:
    """Return a consumer that has read from each partition of `orders`, and committed where it is."""
    made = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **({} if instance is None else {"group.instance.id": instance}),
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
def open_groups(cluster: Cluster) -> Iterator[subprocess.Popen]:
    """Have groups of every kind, those with members until the end; give the process of Kafka's clients."""
    port = cluster.nodes[1].port
    simple(cluster, "g-simple", {0: 3, 1: 4})
    simple(cluster, "g-deleted", {0: 2})
    simple(cluster, "g-dropped", {0: 5, 2: 6})
    for group, kept_ms in (("g-kept", HOUR_MS), ("g-expired", 1)):
        arguments = (port, group, "orders", 1, 9, kept_ms)
        wait(lambda arguments=arguments: wire.commit_offset(*arguments) == 0, "its coordinator")
    line = java_tools.command(
        str(OTHER_GROUPS), cluster.bootstrap, "orders", str(PARTITIONS * RECORDS), heap=96, release=NEWEST
    )
    with (
        subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as others,
        ThreadPoolExecutor() as threads,
    ):
        try:
            made = [threads.submit(consumer, cluster, *one) for one in CONSUMERS]
            held = [future.result() for future in made[: len(HELD)]]
            for future in made[len(HELD) :]:
                future.result().close()
            for name in DELETED:
                request = partial(cluster.admin.delete_consumer_groups, [name])
                answered(lambda request=request, name=name: request()[name].result(30))
            writers = [transaction(cluster, name, end) for name, end in (("a", "c"), ("b", "a"), ("c", "o"))]
            assert others.stdout is not None
            assert others.stdout.readline() == "ready\n"
            yield others
            for member in held:
                member.close()
            del writers
            said(others, answers=False)
            others.wait(LONGEST)
        finally:
            others.kill()


def said(others: subprocess.Popen, *, answers: bool = True) -> dict:
    """Return what the broker says to Kafka's own clients."""
    others.stdin.write("\n")
    others.stdin.flush()
    return json.loads(others.stdout.readline()) if answers else {}


def simple(cluster: Cluster, group: str, offsets: dict[int, int]) -> None:
    """Commit offsets without a member, once the coordinator has loaded its partition."""
    for number, offset in offsets.items():
        arguments = (cluster.nodes[1].port, group, "orders", number, offset)
        wait(lambda arguments=arguments: wire.commit_offset(*arguments) == 0, "its coordinator")


def transaction(cluster: Cluster, name: str, end: str) -> object:
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
        (partition.topic, partition.partition): (
            partition.offset,
            -1 if partition.leader_epoch is None else partition.leader_epoch,
        )
        for partition in found.topic_partitions
        if partition.offset >= 0
    }


def lags(cluster: Cluster) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Return log end and lag of each commit, as kafka-consumer-groups.sh prints them."""
    text = java_tools.run(
        *(GROUP_COMMAND, "--bootstrap-server", cluster.bootstrap, "--describe", "--all-groups", "--offsets"),
        release=NEWEST,
    )
    found = re.findall(r"^(g-\S+) +(\S+) +(\d+) +\d+ +(\d+) +(-?\d+) ", text, re.MULTILINE)
    return {(group, topic, int(number)): (int(end), int(lag)) for group, topic, number, end, lag in found}


def without_members(cluster: Cluster) -> set[str]:
    """Return the groups that the broker calls empty; a lost leave shows when the session ends."""
    groups = answered(lambda: cluster.admin.list_consumer_groups().result(30)).valid
    return {group.group_id for group in groups if group.state == ConsumerGroupState.EMPTY}


def rows(log_dir: Path, *words: str) -> list[dict]:
    found, status = ask("group", *words, log_dir)
    assert status == 0, found
    return found["rows"]


def test_groups_are_as_the_broker_says(tmp_path: Path) -> None:
    roles = {1: "broker,controller"}
    with Cluster(tmp_path, roles, free_base_port(), Random("groups"), SETTINGS, release=NEWEST) as cluster:
        create(cluster, {"orders": {}}, [[1]] * PARTITIONS)
        sender = producer(cluster)
        for partition in range(PARTITIONS):
            write(sender, "orders", records(Random("orders"), RECORDS), partition=partition)
        (log_dir,) = {log.parent for log in tmp_path.rglob("__cluster_metadata-0")}
        with open_groups(cluster) as others:
            compare(cluster, log_dir, said(others))
        wait(lambda: without_members(cluster) >= EMPTIED, "the groups to lose their members")
        cluster.nodes[1].stop()
        empty = {row["group_id"] for row in rows(log_dir, "list") if row["state"] == "Empty"}
        assert empty >= EMPTIED | {"g-share"}
        for gone in ("g-deleted", "g-expired"):
            begun, removed = rows(log_dir, "history", "--group", gone)
            assert (begun["change"], removed["change"]) == ("first", "removed")
        at = str(begun["offset_of_record"])
        (expired,) = rows(log_dir, "offsets", "--group", "g-expired", "--at", at)
        assert expired["expire_timestamp"] <= removed["timestamp"]
        (kept,) = rows(log_dir, "offsets", "--group", "g-kept")
        assert removed["timestamp"] < kept["expire_timestamp"]


def compare(cluster: Cluster, log_dir: Path, others: dict) -> None:
    """Compare what is in the log dir of the running broker with what it answers."""
    found = {row["group_id"]: row for row in rows(log_dir, "list")}
    types = {name: [row["group_type"], row["state"]] for name, row in found.items()}
    same("group: type, state", types, others["groups"])
    assert types["g-share"] == ["share", "Stable"]
    assert types["g-streams"] == ["streams", "Stable"]
    assert set(types) >= {"g-classic", "g-consumer", "g-txn-c", "g-simple", "g-kept", "g-java"}
    epochs = {name: found[name]["generation"] for name in ("g-java", *others["epochs"])}
    same("group: generation or epoch", epochs, {"g-java": others["generation"], **others["epochs"]})

    names = sorted(set(found) - {"g-share", "g-streams"})
    offsets = rows(log_dir, "offsets")
    committed: dict[str, dict] = {name: {} for name in names}
    for row in offsets:
        if row["committed_offset"] is not None and row["group_id"] in committed:
            place = row["topic"], row["partition"]
            commit = row["committed_offset"], row["committed_leader_epoch"]
            committed[row["group_id"]][place] = commit
    same(
        "group: its committed offsets and epochs",
        committed,
        {name: offsets_of(cluster, name) for name in names},
    )
    pending = [(row["group_id"], row["partition"], row["pending_offset"]) for row in offsets]
    assert [one for one in pending if one[2] is not None] == [("g-txn-c", 0, 7), ("g-txn-c", 1, 8)]
    assert {row["position"] for row in offsets} <= {"valid", "unknown"}
    (kept,) = (row for row in offsets if row["group_id"] == "g-kept")
    assert kept["expire_timestamp"] == kept["commit_timestamp"] + HOUR_MS
    starts = [
        [row["partition"], row["committed_offset"], row["lag"]]
        for row in offsets
        if row["group_id"] == "g-share"
    ]
    same("share group: partition, start offset, lag", starts, sorted(others["starts"]))
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
    same("commit: log end, lag", {one: found_lags[one] for one in printed}, printed)

    members, of_others = set(), []
    for row in rows(log_dir, "members"):
        places = {(partition["topic"], partition["partition"]) for partition in row["assignment"]}
        who = [row[column] for column in ("group_id", "member_id", "client_id", "client_host")]
        if row["group_id"] in {"g-share", "g-streams"}:
            of_others.append([*who, sorted(number for _, number in places)])
        elif row["group_id"] != "g-java":
            members.add((*who, row["group_instance_id"], frozenset(places)))
    same("member of share and streams groups: assignment", sorted(of_others), sorted(others["members"]))
    described = cluster.admin.describe_consumer_groups([name for name, *_ in HELD])
    of_live = {
        (
            *(name, member.member_id, member.client_id, member.host, member.group_instance_id),
            frozenset(
                (partition.topic, partition.partition) for partition in member.assignment.topic_partitions
            ),
        )
        for name, future in described.items()
        for member in future.result(30).members
    }
    same("member: ids, host, assignment", members, of_live)
