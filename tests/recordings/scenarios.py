"""The recordings: what each does to a cluster, what it keeps.

A scenario gets an empty folder for what it keeps, a `Recorder` for its manifest and a seeded random generator.
Topics are tiny, their names say what is in them.
"""

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.recordings.brokers import QUIET, Cluster, Node, remote_storage, wait
from tests.recordings.client import (
    create,
    elect_preferred,
    epoch_answers,
    leaders,
    list_offsets,
    producer,
    records,
    send,
    transactions,
    write,
)
from tests.recordings.java_tools import run
from tests.recordings.pack import copy

SMALL = {"internal.segment.bytes": 2048, "index.interval.bytes": 256}
"""Segments far below the least that segment.bytes allows."""
FOREVER = {"retention.ms": -1}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Recorder:
    """Collects a manifest: steps as they are done, what was kept, what the live cluster answered."""

    def __init__(self, name: str, folder: Path, work: Path, base_port: int) -> None:
        self.name, self.folder, self.work, self.base_port = name, folder, work, base_port
        self.random = Random(f"kcli {name}")
        self.steps: list[str] = []
        self.captures: dict[str, str] = {}
        self.facts: dict[str, Any] = {}

    def cluster(self, roles: dict[int, str], **settings: object) -> Cluster:
        return Cluster(self.work / "cluster", roles, self.base_port, self.random, {name.replace("_", "."): value for name, value in settings.items()})

    def step(self, text: str) -> None:
        print(f"{self.name}: {text}", flush=True)
        self.steps.append(text)

    def capture(self, name: str, node: Node, about: str) -> None:
        """Keep a node's log dir under a name; a running broker is paused meanwhile, so that facts and files agree."""
        if node.running:
            node.pause()
        copy(node.logs, self.folder / name)
        if node.running:
            node.resume()
        self.captures[name] = about
        self.step(f"captured {name}: {about}")


def settle(seconds: float = 1.5) -> None:
    """Give checkpoints and high watermarks time to reach the disk."""
    time.sleep(seconds)


def in_sync(cluster: Cluster, count: int) -> None:
    cluster.wait_partitions(lambda partition: len(partition.isrs) == count, f"{count} replicas in sync")


def led_without(cluster: Cluster, gone: int) -> None:
    cluster.wait_partitions(lambda partition: partition.leader not in (-1, gone), f"leaders other than {gone}")


def failover(recorder: Recorder) -> None:
    """Three replicas through stops, kills and preferred elections: leader epochs, and the leaders' answers about them."""
    random = recorder.random
    with recorder.cluster({100: "controller", 1: "broker", 2: "broker", 3: "broker"}, transaction_state_log_replication_factor=3) as cluster:
        create(cluster, {"three": SMALL}, [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
        create(cluster, {"txn": SMALL, "quiet": {}, "empty": {}}, [[1, 2, 3]])
        in_sync(cluster, 3)

        def burst(tag: str) -> None:
            for partition in range(3):
                if random.random() < 0.7:
                    send(cluster, "three", records(random, random.randint(8, 20)), partition=partition)
            transactions(cluster, "txn", random, "ca", name=tag)

        send(cluster, "quiet", records(random, 7))
        burst("first")
        recorder.step("wrote with every broker up")
        for number, how in ((1, "stop"), (2, "kill"), (3, "stop"), (1, "kill")):
            node = cluster.nodes[number]
            node.stop() if how == "stop" else node.kill()
            led_without(cluster, number)
            burst(f"without-{number}")
            node.start()
            in_sync(cluster, 3)
            if how == "stop":
                elect_preferred(cluster)
                wait(lambda: {1, 2, 3} == {leader for _, _, leader in leaders(cluster)}, "preferred leaders")
            recorder.step(f"broker {number}: {how}, wrote, start" + (", preferred election" if how == "stop" else ""))
            burst(f"with-{number}")
        settle()
        recorder.facts["offset_for_leader_epoch"] = epoch_answers(cluster)
        recorder.facts["offsets"] = list_offsets(cluster)
        for number in (1, 2, 3):
            recorder.capture(f"node{number}", cluster.nodes[number], "running; facts name the leader of each partition")


TRUNCATING = re.compile(r"Truncating partition (?P<topic>.+)-(?P<partition>\d+) with TruncationState\(offset=(?P<offset>\d+), completed=(?P<completed>\w+)\)")


def truncation(recorder: Recorder) -> None:
    """A leader dies with records that its follower never saw, comes back as a follower, and truncates."""
    random = recorder.random
    alone = ("plain", "quiet", "segments", "zstd", "all-lost")
    with recorder.cluster({3: "broker,controller", 1: "broker", 2: "broker"}, **{"broker_session_timeout_ms": 9000, "replica_lag_time_max_ms": 30000}) as cluster:
        old, new = cluster.nodes[1], cluster.nodes[2]
        warm = producer(cluster, transactional_id="internal topics lie on broker 3", transaction_timeout_ms=900000)
        create(cluster, {"__transaction_state": {"cleanup.policy": "compact"}}, [[3]])
        warm.init_transactions(30)
        topics = {"plain": {}, "quiet": {}, "segments": SMALL, "zstd": {}, "all-lost": {}, "idempotent": SMALL, "txn": SMALL, "equal": {}}
        create(cluster, topics, [[1, 2]])
        recorder.facts["topics"] = topics
        in_sync(cluster, 2)
        for topic in ("plain", "quiet", "segments", "equal"):
            send(cluster, topic, records(random, 40 if topic == "segments" else 20))
        send(cluster, "zstd", records(random, 40), batch=20, compression_type="zstd")
        transactions(cluster, "txn", random, "caca")
        idempotent = producer(cluster, enable_idempotence=True)
        write(idempotent, "idempotent", records(random, 30))
        open_transaction = producer(cluster, transactional_id="open", transaction_timeout_ms=900000)
        open_transaction.init_transactions(30)
        open_transaction.begin_transaction()
        write(open_transaction, "txn", records(random, 4))
        careless = {codec: producer(cluster, acks=1, compression_type=codec) for codec in ("none", "zstd")}
        for writer in careless.values():
            writer.list_topics(timeout=10)
        recorder.step("wrote what both replicas have, left a transaction open")
        settle()
        new.pause()
        time.sleep(1)  # the fetch that waits at the leader is answered empty; else the first new batch would still get through
        for topic in alone:
            write(careless["zstd" if topic == "zstd" else "none"], topic, records(random, 25), batch=20 if topic == "zstd" else 5)
        for writer, topic in ((idempotent, "idempotent"), (open_transaction, "txn")):
            write(writer, topic, records(random, 25), wait=False)
        time.sleep(0.5)
        for writer in (idempotent, open_transaction, *careless.values()):
            writer.purge()
        recorder.step("paused broker 2, wrote to broker 1 alone")
        old.kill()
        new.resume()
        recorder.step("killed broker 1, resumed broker 2")
        led_without(cluster, 1)
        for topic in ("plain", "segments", "zstd"):
            send(cluster, topic, records(random, 15))
        transactions(cluster, "txn", random, "c", name="later")
        settle()
        recorder.facts["offset_for_leader_epoch"] = epoch_answers(cluster)
        recorder.facts["offsets"] = list_offsets(cluster)
        recorder.capture("before-follower", old, "broker 1 as it was killed, with records that broker 2 never saw")
        recorder.capture("before-leader", new, "broker 2, leader since, running")
        old.start()
        in_sync(cluster, 2)
        settle()
        old.stop()
        lines = old.said("Truncating partition|Truncating to")
        recorder.facts["log_lines"] = [line for line in lines if "__" not in line]
        recorder.facts["truncations"] = [
            {"topic": found["topic"], "partition": int(found["partition"]), "offset": int(found["offset"]), "completed": found["completed"] == "true"}
            for line in lines if (found := TRUNCATING.search(line))
        ]
        recorder.capture("after-follower-stopped", old, "broker 1 after it truncated, caught up and was shut down cleanly")


def remote_events(cluster: Cluster, partitions: int = 2) -> list[dict[str, Any]]:
    """Read __remote_log_metadata to its end; return each record's place with what Kafka's serde makes of its value."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none", "enable.auto.commit": False, "isolation.level": "read_uncommitted", **QUIET})
    messages = []
    for number in range(partitions):
        place = TopicPartition("__remote_log_metadata", number, 0)
        consumer.assign([place])
        _, end = consumer.get_watermark_offsets(place, timeout=10)
        offset = 0
        while offset < end:
            message = consumer.poll(10)
            assert message is not None
            assert message.error() is None, message.error()
            offset = message.offset() + 1
            messages.append(message)
    consumer.close()
    read = run(str(Path(__file__).with_name("RemoteEvents.java")), told="".join(b64encode(message.value()).decode() + "\n" for message in messages))
    return [
        {"metadata_partition": message.partition(), "metadata_offset": message.offset(), "timestamp": message.timestamp()[1], **json.loads(line)}
        for message, line in zip(messages, read.splitlines(), strict=True)
    ]


TIERED = {"remote.storage.enable": "true", "local.retention.ms": 500, **FOREVER, **SMALL}


def settled_events(cluster: Cluster) -> list[dict[str, Any]]:
    """Return the events once two readings, some seconds apart, are the same."""
    before: list[dict[str, Any]] = []
    after = remote_events(cluster)
    while before != after or not after:
        time.sleep(3)
        before, after = after, remote_events(cluster)
    return after


def tiered(recorder: Recorder) -> None:
    """Segments copied to remote storage, deleted from it by retention and with their topic."""
    random = recorder.random
    with recorder.cluster({1: "broker,controller"}, **remote_storage(recorder.work / "remote"), **{"file_delete_delay_ms": 200}) as cluster:
        create(cluster, {"kept": TIERED, "expired": {**TIERED, "retention.bytes": 4000}, "removed": TIERED, "txn": TIERED, "local-only": SMALL}, [[1]])
        for tag in ("first", "second"):
            for topic in ("kept", "expired", "removed", "local-only"):
                send(cluster, topic, records(random, 60))
            transactions(cluster, "txn", random, "cacac", name=tag, count=12)
            recorder.step(f"wrote ({tag})")
            settled_events(cluster)
            if tag == "first":
                cluster.nodes[1].stop()
                cluster.nodes[1].start()
                recorder.step("restarted: next leader epoch")
        cluster.admin.delete_topics(["removed"])["removed"].result(20)
        recorder.step("deleted topic removed")
        events = settled_events(cluster)
        recorder.facts["offsets"] = list_offsets(cluster)
        cluster.nodes[1].stop()
        recorder.capture("node1", cluster.nodes[1], "after a clean shutdown; topic removed is deleted")
    (recorder.folder / "rlmm-events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


SHAPES: list[dict[str, Any]] = [
    {"key": None, "value": None}, {"key": None, "value": b""}, {"key": b"", "value": None}, {"key": b"", "value": b""},
    {"key": "tombstone", "value": None}, {"key": "a,b", "value": "comma, \"quote\"\ttab\nline"},
    {"key": b"\xff\xfe\x00", "value": bytes(range(256))}, {"key": "日本語", "value": "😀"},
    {"key": "headers", "value": "v", "headers": [("", b"no name"), ("null", None), ("empty", b""), ("twice", b"1"), ("twice", b"2"), ("ümläut", "€".encode())]},
    {"key": "many", "value": "headers", "headers": [(f"h{number}", b"x") for number in range(130)]},
    {"key": "long", "value": "y" * 20000},
]
LONG_NAME = "long-" + "n" * 195


def single(recorder: Recorder) -> None:
    """One broker with a bit of everything that a batch or a record can be."""
    random = recorder.random
    compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01, **SMALL}
    backwards = {**SMALL, **FOREVER}
    with recorder.cluster({1: "broker,controller"}) as cluster:
        node = cluster.nodes[1]
        create(cluster, {
            "codecs": {}, "shapes": {}, "txn": SMALL, "compacted": compacted, "deleted-records": SMALL, "append-time": {"message.timestamp.type": "LogAppendTime", **SMALL},
            "timestamps": backwards, "empty": {}, LONG_NAME: {},
        }, [[1]])
        for codec in CODECS:
            send(cluster, "codecs", records(random, 12), batch=12, compression_type=codec)
            send(cluster, "append-time", records(random, 6), compression_type=codec)
        for batch in (1, len(SHAPES)):
            send(cluster, "shapes", SHAPES, batch=batch)
        transactions(cluster, "txn", random, "cacacco")
        send(cluster, "txn", records(random, 8))
        for _ in range(3):
            send(cluster, "compacted", records(random, 60, keys=12))
        send(cluster, "deleted-records", records(random, 80))
        cluster.admin.delete_records([TopicPartition("deleted-records", 0, 47)])[TopicPartition("deleted-records", 0)].result(20)
        start = 1767225600000
        stamps = [start + minute * 60000 for minute in (0, 1, 2, 3, 10, 9, 8, 7, 30, 5, 4, 31, 20, 40)]
        for number in range(0, len(stamps), 2):
            send(cluster, "timestamps", [{**record, "timestamp": stamp} for record, stamp in zip(records(random, 2, words=30), stamps[number:], strict=False)])
        send(cluster, LONG_NAME, records(random, 5))
        recorder.step("wrote; one transaction stays open; deleted records below 47 of deleted-records")
        wait(lambda: any((node.logs / "compacted-0").glob("*.deleted")) or len(list((node.logs / "compacted-0").glob("*.log"))) < 4, "the log cleaner")
        asked = [start - 1, start, start + 60001, start + 9 * 60000, start + 31 * 60000, start + 40 * 60000, start + 41 * 60000, 0]
        settle()
        recorder.facts["offsets"] = list_offsets(cluster, asked)
        recorder.facts["offset_for_leader_epoch"] = epoch_answers(cluster)
        recorder.capture("running", node, "running: preallocated indexes, an open transaction")
        node.stop()
        recorder.capture("stopped", node, "after a clean shutdown")


def demo(recorder: Recorder) -> None:
    """A log dir to try kcli on: several epochs and segments, a transaction, timestamps by the minute, remote log metadata."""
    random = recorder.random
    with recorder.cluster({1: "broker,controller"}, **remote_storage(recorder.work / "remote"), **{"broker_session_timeout_ms": 3000}) as cluster:
        node = cluster.nodes[1]
        create(cluster, {"orders": {**SMALL, **FOREVER}}, [[1], [1]])
        create(cluster, {"payments": {**SMALL, **FOREVER}, "clicks": {**TIERED}}, [[1]])
        minute = 1767258000000
        for shift in range(4):
            for partition in range(2):
                made = records(random, 24)
                for record in made:
                    record["timestamp"] = minute + random.randint(0, 40000)
                    minute += 60000
                send(cluster, "orders", made, partition=partition, compression_type=("none", "zstd")[partition])
            transactions(cluster, "payments", random, "cca", name=f"till-{shift}")
            send(cluster, "clicks", records(random, 45))
            settled_events(cluster)
            if shift < 3:
                node.stop() if shift != 1 else node.kill()
                node.start()
        recorder.step("wrote, with two restarts and a kill between")
        settle()
        node.stop()
        recorder.capture("kcli-demo", node, "after a clean shutdown")


SCENARIOS: dict[str, Callable[[Recorder], None]] = {scenario.__name__: scenario for scenario in (failover, truncation, tiered, single, demo)}
