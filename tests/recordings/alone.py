"""Scenarios with one broker: every kind of batch and record, remote storage, the demo."""

import json
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.recordings.brokers import QUIET, Cluster, remote_storage, wait
from tests.recordings.client import create, epoch_answers, list_offsets, records, send, transactions
from tests.recordings.java_tools import run
from tests.recordings.recorder import FOREVER, SMALL, Recorder, settle

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def remote_events(cluster: Cluster, partitions: int = 2) -> list[dict[str, Any]]:
    """Read __remote_log_metadata; return each record's place and what Kafka's serde makes of it."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            **QUIET,
        }
    )
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
    read = run(
        str(Path(__file__).with_name("RemoteEvents.java")),
        answer="".join(b64encode(message.value()).decode() + "\n" for message in messages),
    )
    return [
        {
            "metadata_partition": message.partition(),
            "metadata_offset": message.offset(),
            "timestamp": message.timestamp()[1],
            **json.loads(line),
        }
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
    with recorder.cluster(
        {1: "broker,controller"}, file_delete_delay_ms=200, **remote_storage(recorder.work / "remote")
    ) as cluster:
        create(
            cluster,
            {
                "kept": TIERED,
                "expired": {**TIERED, "retention.bytes": 4000},
                "removed": TIERED,
                "txn": TIERED,
                "local-only": SMALL,
            },
            [[1]],
        )
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
    {"key": None, "value": None},
    {"key": None, "value": b""},
    {"key": b"", "value": None},
    {"key": b"", "value": b""},
    {"key": "tombstone", "value": None},
    {"key": "a,b", "value": 'comma, "quote"\ttab\nline'},
    {"key": b"\xff\xfe\x00", "value": bytes(range(256))},
    {"key": "日本語", "value": "😀"},
    {
        "key": "headers",
        "value": "v",
        "headers": [
            ("", b"no name"),
            ("null", None),
            ("empty", b""),
            ("twice", b"1"),
            ("twice", b"2"),
            ("ümläut", "€".encode()),
        ],
    },
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
        create(
            cluster,
            {
                "codecs": {},
                "shapes": {},
                "txn": SMALL,
                "compacted": compacted,
                "deleted-records": SMALL,
                "append-time": {"message.timestamp.type": "LogAppendTime", **SMALL},
                "timestamps": backwards,
                "empty": {},
                LONG_NAME: {},
            },
            [[1]],
        )
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
        cluster.admin.delete_records([TopicPartition("deleted-records", 0, 47)])[
            TopicPartition("deleted-records", 0)
        ].result(20)
        start = 1767225600000
        stamps = [start + minute * 60000 for minute in (0, 1, 2, 3, 10, 9, 8, 7, 30, 5, 4, 31, 20, 40)]
        for number in range(0, len(stamps), 2):
            send(
                cluster,
                "timestamps",
                [
                    {**record, "timestamp": stamp}
                    for record, stamp in zip(records(random, 2, words=30), stamps[number:], strict=False)
                ],
            )
        send(cluster, LONG_NAME, records(random, 5))
        recorder.step("wrote; one transaction stays open; deleted records below 47 of deleted-records")
        wait(
            lambda: (
                any((node.logs / "compacted-0").glob("*.deleted"))
                or len(list((node.logs / "compacted-0").glob("*.log"))) < 4
            ),
            "the log cleaner",
        )
        asked = [
            start - 1,
            start,
            start + 60001,
            start + 9 * 60000,
            start + 31 * 60000,
            start + 40 * 60000,
            start + 41 * 60000,
            0,
        ]
        settle()
        recorder.facts["offsets"] = list_offsets(cluster, asked)
        recorder.facts["offset_for_leader_epoch"] = epoch_answers(cluster)
        recorder.capture("running", node, "running: preallocated indexes, an open transaction")
        node.stop()
        recorder.capture("stopped", node, "after a clean shutdown")


def demo(recorder: Recorder) -> None:
    """A log dir to try kcli on: epochs, segments, a transaction, remote metadata, a minute a timestamp."""
    random = recorder.random
    with recorder.cluster(
        {1: "broker,controller"}, broker_session_timeout_ms=3000, **remote_storage(recorder.work / "remote")
    ) as cluster:
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
                send(
                    cluster, "orders", made, partition=partition, compression_type=("none", "zstd")[partition]
                )
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
