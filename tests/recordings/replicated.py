"""Scenarios with several brokers: leaders that change, replicas that diverge."""

import re
import time
from typing import Any

from tests.recordings.brokers import Cluster, wait
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
from tests.recordings.recorder import SMALL, Recorder, settle


def in_sync(cluster: Cluster, count: int) -> None:
    cluster.wait_partitions(lambda partition: len(partition.isrs) == count, f"{count} replicas in sync")


def led_without(cluster: Cluster, gone: int) -> None:
    cluster.wait_partitions(
        lambda partition: partition.leader not in (-1, gone), f"leaders other than {gone}"
    )


def failover(recorder: Recorder) -> None:
    """Three replicas through stops, kills, preferred elections: leader epochs, and answers about them."""
    random = recorder.random
    with recorder.cluster(
        {100: "controller", 1: "broker", 2: "broker", 3: "broker"}, transaction_state_log_replication_factor=3
    ) as cluster:
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
            recorder.step(
                f"broker {number}: {how}, wrote, start" + (", preferred election" if how == "stop" else "")
            )
            burst(f"with-{number}")
        settle()
        recorder.facts["offset_for_leader_epoch"] = epoch_answers(cluster)
        recorder.facts["offsets"] = list_offsets(cluster)
        for number in (1, 2, 3):
            recorder.capture(
                f"node{number}", cluster.nodes[number], "running; facts name the leader of each partition"
            )


TRUNCATING = re.compile(
    r"Truncating partition (?P<topic>.+)-(?P<partition>\d+) with "
    r"TruncationState\(offset=(?P<offset>\d+), completed=(?P<completed>\w+)\)"
)


def truncation(recorder: Recorder) -> None:
    """A leader dies with records that its follower never saw, comes back as a follower, and truncates."""
    random = recorder.random
    topics = {
        # the new leader writes to these
        "plain": {},
        "segments": SMALL,
        "zstd": {},
        "txn": SMALL,
        # and not to these
        "quiet": {},
        "quiet-segments": SMALL,
        "quiet-zstd": {},
        "quiet-idempotent": SMALL,
        "quiet-txn": SMALL,
        "all-lost": {},
        "equal": {},
    }
    recorder.facts["topics"] = topics
    plain = [topic for topic in topics if "txn" not in topic and "idempotent" not in topic]

    def made(topic: str, few: int, many: int) -> list[dict[str, Any]]:
        return records(random, many if "segments" in topic else few)

    def codec(topic: str) -> str:
        return "zstd" if "zstd" in topic else "none"

    def batch(topic: str) -> int:
        return 20 if "zstd" in topic else 5

    roles = {3: "broker,controller", 1: "broker", 2: "broker"}
    with recorder.cluster(roles, broker_session_timeout_ms=9000, replica_lag_time_max_ms=30000) as cluster:
        old, new = cluster.nodes[1], cluster.nodes[2]
        # away from the brokers that stop
        create(cluster, {"__transaction_state": {"cleanup.policy": "compact"}}, [[3]])
        create(cluster, topics, [[1, 2]])
        in_sync(cluster, 2)
        for topic in plain:
            if topic != "all-lost":
                send(cluster, topic, made(topic, 20, 40), batch=batch(topic), compression_type=codec(topic))
        transactions(cluster, "txn", random, "caca")
        transactions(cluster, "quiet-txn", random, "acaca")
        stateful = [("quiet-idempotent", producer(cluster, enable_idempotence=True)) for _ in range(4)]
        for number, topic in enumerate(("txn", "txn", "quiet-txn", "quiet-txn", "quiet-txn")):
            writer = producer(cluster, transactional_id=f"open-{number}", transaction_timeout_ms=900000)
            writer.init_transactions(30)
            writer.begin_transaction()
            stateful.append((topic, writer))
        for topic, writer in stateful:
            write(writer, topic, records(random, 9), batch=3)
        careless = {name: producer(cluster, acks=1, compression_type=name) for name in ("none", "zstd")}
        for writer in careless.values():
            writer.list_topics(timeout=10)
        recorder.step("wrote what both replicas have, left transactions open")
        settle()
        new.pause()
        # The fetch that waits at the leader is answered empty first; else the first new batch would still
        # get through.
        time.sleep(1)
        for topic in plain:
            if topic != "equal":
                write(careless[codec(topic)], topic, made(topic, 25, 60), batch=batch(topic))
        for topic, writer in stateful:
            write(writer, topic, records(random, 8), wait=False)
        time.sleep(0.5)
        for _, writer in stateful:
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
        recorder.capture(
            "before-follower", old, "broker 1 as it was killed, with records that broker 2 never saw"
        )
        recorder.capture("before-leader", new, "broker 2, leader since, running")
        old.start()
        in_sync(cluster, 2)
        settle()
        old.stop()
        lines = old.log_lines("Truncating partition|Truncating to")
        recorder.facts["log_lines"] = [line for line in lines if "__" not in line]
        recorder.facts["truncations"] = [
            {
                "topic": found["topic"],
                "partition": int(found["partition"]),
                "offset": int(found["offset"]),
                "completed": found["completed"] == "true",
            }
            for line in lines
            if (found := TRUNCATING.search(line))
        ]
        recorder.capture(
            "after-follower-stopped", old, "broker 1 after it truncated, caught up and was shut down cleanly"
        )
