"""A real broker of two log dirs, kept busy: files and directories of all sorts come, go and move."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from tests.recordings.brokers import LONGEST, Cluster, answered, remote_storage, wait
from tests.recordings.client import create, producer, records, transactions, write
from tests.recordings.wire import alter_replica_log_dirs, commit_offset

SEGMENTS = {"internal.segment.bytes": 8192, "index.interval.bytes": 512, "file.delete.delay.ms": 300}
"""Configs of every topic: segments far below the least of segment.bytes, deleted soon after a rename."""
RETENTION = {**SEGMENTS, "retention.ms": 1500, "segment.ms": 1000}
COMPACTED = {
    **SEGMENTS,
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.01,
    "segment.ms": 500,
    "delete.retention.ms": 100,
    "max.compaction.lag.ms": 1000,
}
SETTINGS = {
    "log.retention.check.interval.ms": 300,
    "log.cleaner.backoff.ms": 200,
    "log.segment.delete.delay.ms": 300,
    "log.flush.offset.checkpoint.interval.ms": 200,
    "log.flush.start.offset.checkpoint.interval.ms": 200,
    "replica.high.watermark.checkpoint.interval.ms": 200,
    "replica.fetch.wait.max.ms": 100,
}
TIERED = {**SEGMENTS, "remote.storage.enable": "true", "local.retention.ms": 1000, "retention.ms": 4000}
NOT_YET = frozenset({3, 9})
"""UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE: the broker is about to make the partition."""
PARTITIONS = {"events": 3, "moved": 2, "compacted": 1, "ledger": 1, "tiered": 1}


class Workload:
    """What the client has done so far (`done`, by name), and what went wrong in a thread (`failures`)."""

    def __init__(self, cluster: Cluster, log_dirs: list[Path]) -> None:
        self.cluster = cluster
        self.log_dirs = log_dirs
        self.done: Counter[str] = Counter()
        self.failures: list[BaseException] = []
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for step in (self._write, self._compact, self._transact, self._delete_topics, self._move):
            random = Random(step.__name__)
            thread = threading.Thread(target=self._repeat, args=(step, random), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(LONGEST)

    def _repeat(self, step: Callable[[Random], None], random: Random) -> None:
        while not self._stop.is_set() and not self.failures:
            try:
                step(random)
                self.done[step.__name__.strip("_")] += 1
            except Exception as error:
                self.failures.append(error)

    def _write(self, random: Random) -> None:
        """Write to every partition, several segments in all, in batches of many sizes."""
        sender = producer(self.cluster)
        for _ in range(5):
            for topic in ("events", "moved", "tiered"):
                for partition in range(PARTITIONS[topic]):
                    made = records(random, 20, words=random.choice((2, 30)))
                    write(sender, topic, made, batch=random.randint(1, 20), partition=partition)
            self._stop.wait(0.05)

    def _compact(self, random: Random) -> None:
        write(producer(self.cluster), "compacted", records(random, 60, keys=20, words=20), batch=10)
        self._stop.wait(0.2)

    def _transact(self, random: Random) -> None:
        transactions(self.cluster, "ledger", random, "ca", count=4)
        self._stop.wait(0.2)

    def _delete_topics(self, random: Random) -> None:
        """Create a topic, write to it, delete it: every second one has a name that existed before."""
        name = random.choice(("short-lived", f"short-lived-{time.time_ns()}"))
        new = NewTopic(name, 3, 1, config={key: str(value) for key, value in SEGMENTS.items()})
        _until_done(lambda: self.cluster.admin.create_topics([new])[name].result(20), self._stop)
        wait(lambda: name in self.cluster.metadata().topics, name)
        sender = producer(self.cluster)
        for partition in range(3):
            write(sender, name, records(random, 40, words=20), batch=10, partition=partition)
        answered(
            lambda: self.cluster.admin.delete_topics([name])[name].result(20),
            done=KafkaError.UNKNOWN_TOPIC_OR_PART,
        )

    def _move(self, random: Random) -> None:
        """Have each partition of a topic moved to a log dir of two, where it may be already."""
        for partition in range(PARTITIONS["moved"]):
            target = random.choice(self.log_dirs)
            error = alter_replica_log_dirs(self.cluster.nodes[1].port, str(target), "moved", partition)
            assert error == 0 or error in NOT_YET, (target, partition, error)
            self.done["accepted_moves"] += not error
        self._stop.wait(1)


def _until_done(request: Callable[[], object], stop: threading.Event) -> None:
    """Repeat a request until the broker takes it: a topic that is being deleted is there for a moment."""
    while not stop.is_set():
        try:
            request()
        except (KafkaException, TimeoutError):
            stop.wait(0.1)
        else:
            return


@contextmanager
def busy_broker(folder: Path, base_port: int) -> Iterator[Workload]:
    """Start a broker in a folder and keep it busy; stop both at the end."""
    log_dirs = [folder / "data-1", folder / "data-2"]
    settings = {
        **SETTINGS,
        **remote_storage(folder / "remote"),
        "log.dirs": ",".join(map(str, log_dirs)),
        "metadata.log.dir": log_dirs[0],
    }
    with Cluster(folder, {1: "broker,controller"}, base_port, Random("busy broker"), settings) as cluster:
        for name, configs in {
            "events": RETENTION,
            "moved": RETENTION,
            "compacted": COMPACTED,
            "ledger": RETENTION,
            "tiered": TIERED,
        }.items():
            create(cluster, {name: configs}, [[1]] * PARTITIONS[name])
        arguments = (cluster.nodes[1].port, "readers", "compacted", 0, 0)
        wait(lambda: commit_offset(*arguments) == 0, "the coordinator of readers")
        workload = Workload(cluster, log_dirs)
        workload.start()
        try:
            yield workload
        finally:
            workload.stop()
