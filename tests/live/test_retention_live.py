"""A broker whose retention and cleaner were held back is stopped, predicted by kcli, and let loose: compared.

It starts with looks an hour apart, and starts again with looks that follow each other at once.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import TopicPartition

from formats.bounds import LARGEST_BATCH
from formats.checkpoint import read_offset_checkpoint
from formats.record import batch_records
from kcli.kafka.storage.log_segment import file_batches
from kcli.logdir.buffers import DataFile
from tests.live.tools import asked
from tests.processes import free_base_port
from tests.recordings.brokers import Cluster, Node, answered, wait
from tests.recordings.client import create, producer, records, write
from tests.recordings.java_tools import NEWEST

pytestmark = pytest.mark.oracle

HOUR = 3_600_000
HELD = {
    "log.retention.check.interval.ms": HOUR,
    "log.initial.task.delay.ms": HOUR,
    "log.cleaner.backoff.ms": HOUR,
}
LOOSE = {
    "log.retention.check.interval.ms": 200,
    "log.initial.task.delay.ms": 0,
    "log.cleaner.backoff.ms": 200,
}
SEGMENTS = {
    "internal.segment.bytes": 4096,
    "index.interval.bytes": 512,
    "file.delete.delay.ms": 0,
    "message.timestamp.after.max.ms": 1 << 60,
}
LIMITED = {**SEGMENTS, "retention.ms": HOUR}
COMPACTED = {**SEGMENTS, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01}
TOPICS = {
    "by-time": LIMITED,
    "by-size": {**SEGMENTS, "retention.ms": -1, "retention.bytes": 10_000},
    "by-start": {**SEGMENTS, "retention.ms": -1},
    "future": LIMITED,
    "unlimited": {**SEGMENTS, "retention.ms": -1},
    "both": {
        **COMPACTED,
        "cleanup.policy": "compact,delete",
        "retention.ms": HOUR,
        "min.cleanable.dirty.ratio": 1,
    },
    "compacted": COMPACTED,
    "open": COMPACTED,
    "young": {**COMPACTED, "min.compaction.lag.ms": HOUR},
    "again": LIMITED,
}
CLEANED = {"compacted", "open", "young"}
"""Topics that the cleaner takes, the last two in part."""


def fill(cluster: Cluster, topic: str, age: int, count: int = 150, keys: int = 20) -> None:
    """Write several segments of records of so many ms ago."""
    made = records(Random(topic), count, keys=keys, words=20)
    stamp = time.time_ns() // 1_000_000 - age
    write(producer(cluster), topic, [{**record, "timestamp": stamp} for record in made], batch=10)


def leave_open(cluster: Cluster, topic: str) -> None:
    """Write records of an hour ago in a transaction that does not end."""
    writer = producer(cluster, transactional_id="open", transaction_timeout_ms=900_000)
    answered(lambda: writer.init_transactions(30))
    writer.begin_transaction()
    stamp = time.time_ns() // 1_000_000 - HOUR
    write(writer, topic, [{**record, "timestamp": stamp} for record in records(Random(1), 5)])


def make(cluster: Cluster) -> None:
    for name, settings in TOPICS.items():
        create(cluster, {name: settings}, [[1]])
    for topic in ("by-time", "both", "young"):
        fill(cluster, topic, 2 * HOUR)
        fill(cluster, topic, 0)
    for topic in ("by-size", "by-start", "unlimited", "compacted"):
        fill(cluster, topic, 9 * HOUR)
    for age in (2 * HOUR, -9 * HOUR, 2 * HOUR):
        fill(cluster, "future", age)
    fill(cluster, "open", 2 * HOUR)
    leave_open(cluster, "open")
    fill(cluster, "open", 0)
    answered(lambda: cluster.admin.delete_records([TopicPartition("by-start", 0, 100)]))


def answer(node: Node, *words: object) -> tuple[list[dict], list[dict]]:
    """Return the rows and findings of a command over the log dir, at rest."""
    document = asked(*words, "--server-config", node.folder / "server.properties", node.logs)
    assert document["errors"] == [], document
    return document["rows"], document["findings"]


def segments(node: Node, topic: str) -> list[int]:
    return sorted(int(path.stem) for path in (node.logs / f"{topic}-0").glob("*.log"))


def cleaned_to(node: Node) -> dict[str, int]:
    path = node.logs / "cleaner-offset-checkpoint"
    lines = read_offset_checkpoint(path.read_bytes()) if path.exists() else {}
    return {partition.topic: offset for partition, offset in lines.items()}


def held(path: Path) -> Iterator[int]:
    """Yield the offsets of the records in a log."""
    with DataFile(str(path)) as log:
        for batch in file_batches(log, 0, log.size):
            for record in batch_records(log.read(batch.position, batch.size), LARGEST_BATCH):
                yield record.offset


def offsets(node: Node, topic: str) -> dict[int, list[int]]:
    return {int(path.stem): [*held(path)] for path in (node.logs / f"{topic}-0").glob("*.log")}


def let_loose(node: Node) -> None:
    path = node.folder / "server.properties"
    text = path.read_text()
    for name, value in LOOSE.items():
        text = re.sub(rf"(?m)^{name}=.*$", f"{name}={value}", text)
    path.write_text(text)
    node.start()


def wait_for_a_look(cluster: Cluster) -> None:
    """Wait until what is old goes twice: between the two, each log was looked at."""
    node = cluster.nodes[1]
    for _ in range(2):
        before = segments(node, "again")[-1]
        fill(cluster, "again", 2 * HOUR, count=50)
        wait(lambda before=before: segments(node, "again")[0] > before, "old segments to go")


def test_what_goes_and_what_is_cleaned_is_as_predicted(tmp_path):
    with Cluster(
        tmp_path, {1: "broker,controller"}, free_base_port(), Random("retention"), HELD, release=NEWEST
    ) as cluster:
        node = cluster.nodes[1]
        make(cluster)
        node.stop()
        before = {topic: offsets(node, topic) for topic in TOPICS}
        retained, findings = answer(node, "retention")
        compacted, _ = answer(node, "compact", "--records")
        let_loose(node)

        logs = {row["topic"]: row for row in retained if "cleanup_policy" in row}
        assert {topic for topic, row in logs.items() if topic in TOPICS and row["will_clean"]} == CLEANED
        left = {topic: [] for topic in TOPICS}
        for row in retained:
            if row.get("action") == "keep" and row["topic"] in TOPICS:
                left[row["topic"]].append(row["segment_base_offset"])
        cleanings = {row["topic"]: row for row in compacted if "picked" in row}
        ends = {topic: cleanings[topic]["clean_checkpoint_after"] for topic in CLEANED}
        for topic in CLEANED:
            mine = [row for row in compacted if row["topic"] == topic]
            left[topic] = [row["segment_base_offset"] for row in mine if "sources" in row]
        goes = {topic: set(before[topic]) - set(left[topic]) for topic in TOPICS}
        assert {topic for topic in TOPICS if goes[topic]} == {
            "by-time",
            "by-size",
            "by-start",
            "future",
            "both",
        }
        wait(lambda: cleaned_to(node).items() >= ends.items(), f"the cleaner to come to {ends}")
        wait_for_a_look(cluster)
        assert {topic: segments(node, topic) for topic in TOPICS if topic != "again"} == {
            topic: bases for topic, bases in left.items() if topic != "again"
        }
        node.stop()
        assert {topic: cleaned_to(node)[topic] for topic in CLEANED} == ends
        for topic in CLEANED:
            mine = [row for row in compacted if row["topic"] == topic]
            gone = {row["offset"] for row in mine if "reason" in row}
            was = [offset for one in sorted(before[topic].items()) for offset in one[1]]
            now = [offset for one in sorted(offsets(node, topic).items()) for offset in one[1]]
            assert [offset for offset in was if offset not in gone] == now
            assert gone
            sizes = {row["segment_base_offset"]: row["size_after"] for row in mine if "sources" in row}
            logs_now = {int(path.stem): path for path in (node.logs / f"{topic}-0").glob("*.log")}
            assert {base: path.stat().st_size for base, path in logs_now.items()} == sizes
        _, found = answer(node, "check")
    assert {finding["code"] for finding in findings if finding["severity"] != "info"} == {"LOG-028"}
    late = {
        (Path(finding["dir"]).name, finding["code"]) for finding in found if finding["severity"] != "info"
    }
    assert late == {("future-0", "LOG-028"), ("open-0", "LOG-029")}
