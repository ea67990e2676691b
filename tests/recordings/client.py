"""What a scenario does to a live cluster, and what it asks it: topics, records, transactions, offsets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from confluent_kafka import ElectionType, IsolationLevel, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import NewTopic, OffsetSpec

from tests.recordings.brokers import LONGEST, QUIET, Cluster, answered
from tests.recordings.wire import offset_for_leader_epoch

WORDS = (
    *("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "hazel", "indigo", "juniper", "krill"),
    *("lemon", "maple", "nectar"),
)
Records = Iterable[Mapping[str, Any]]


def records(random: Random, count: int, *, keys: int = 1000, words: int = 5) -> list[dict[str, Any]]:
    """Return made-up records: keys that repeat, values of a few words, a header now and then."""
    made = []
    for _ in range(count):
        value = " ".join(random.choice(WORDS) for _ in range(random.randint(1, words * 2)))
        headers = [("trace", random.randbytes(4))] if random.random() < 0.2 else []
        made.append({"key": f"key-{random.randrange(keys)}", "value": value, "headers": headers})
    return made


def create(
    cluster: Cluster, topics: Mapping[str, Mapping[str, Any]], replicas: Sequence[Sequence[int]]
) -> None:
    """Create topics with their configs; `replicas`: the brokers of each partition, preferred leader first."""
    new = [
        NewTopic(
            name,
            len(replicas),
            config={key: str(value) for key, value in config.items()},
            replica_assignment=[list(brokers) for brokers in replicas],
        )
        for name, config in topics.items()
    ]
    for topic in new:
        answered(
            lambda topic=topic: cluster.admin.create_topics([topic])[topic.topic].result(30),
            done=KafkaError.TOPIC_ALREADY_EXISTS,
        )
    cluster.wait_partitions(lambda partition: partition.leader >= 0, "leaders of new topics")


def producer(cluster: Cluster, **config: object) -> Producer:
    """Return a producer with short linger; config keys with underscores for dots."""
    return Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "linger.ms": 2,
            **QUIET,
            **{key.replace("_", "."): value for key, value in config.items()},
        }
    )


def write(
    producer: Producer, topic: str, made: Records, *, batch: int = 5, partition: int = 0, wait: bool = True
) -> None:
    """Produce records in acknowledged batches of `batch`; without `wait` in one, waiting for nothing."""
    failed: list[object] = []

    def output(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    for number, record in enumerate(made, 1):
        producer.produce(topic, partition=partition, on_delivery=output, **record)
        if wait and number % batch == 0:
            producer.flush(LONGEST)
    if wait:
        assert producer.flush(LONGEST) == 0, topic
        assert not failed, (topic, failed[0])


def send(
    cluster: Cluster, topic: str, made: Records, *, batch: int = 5, partition: int = 0, **config: object
) -> None:
    """Write with a producer of its own."""
    write(producer(cluster, **config), topic, made, batch=batch, partition=partition)


def transactions(
    cluster: Cluster, topic: str, random: Random, ends: str, *, name: str = "tx", count: int = 6
) -> None:
    """Run a transaction per letter of `ends`: c commits, a aborts, o stays open without a word."""
    for number, end in enumerate(ends):
        writer = producer(
            cluster,
            transactional_id=f"{name}-{number % 2 if end != 'o' else number}",
            transaction_timeout_ms=900000,
        )
        writer.init_transactions(LONGEST)
        writer.begin_transaction()
        write(writer, topic, records(random, count), batch=3)
        if end == "c":
            writer.commit_transaction(LONGEST)
        elif end == "a":
            writer.abort_transaction(LONGEST)


SPECS = {
    "earliest": OffsetSpec.earliest,
    "latest": OffsetSpec.latest,
    "max-timestamp": OffsetSpec.max_timestamp,
}


def leaders(cluster: Cluster) -> Iterator[tuple[str, int, int]]:
    """Yield (topic, partition, leader) of every partition that is not internal."""
    for topic, partition in cluster.partitions():
        yield topic, partition.id, partition.leader


def list_offsets(cluster: Cluster, timestamps: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return what ListOffsets answers for earliest, latest, max-timestamp and each timestamp."""
    rows = []
    asked = [(name, spec()) for name, spec in SPECS.items()] + [
        (str(stamp), OffsetSpec.for_timestamp(stamp)) for stamp in timestamps
    ]
    partitions = list(leaders(cluster))
    for name, spec in asked:
        request = {TopicPartition(topic, partition): spec for topic, partition, _ in partitions}
        answers = answered(
            lambda request=request: [
                future.result(20)
                for future in cluster.admin.list_offsets(
                    request, isolation_level=IsolationLevel.READ_UNCOMMITTED
                ).values()
            ]
        )
        for (topic, partition, leader), answer in zip(partitions, answers, strict=True):
            rows.append(
                {
                    "node": leader,
                    "topic": topic,
                    "partition": partition,
                    "spec": name,
                    "offset": answer.offset,
                    "timestamp": answer.timestamp,
                    "leader_epoch": answer.leader_epoch,
                }
            )
    return rows


def epoch_answers(cluster: Cluster) -> list[dict[str, Any]]:
    """Return every leader's OffsetForLeaderEpoch answers for -1 up to two above its newest epoch."""
    rows = []
    for topic, partition, leader in leaders(cluster):
        port = cluster.nodes[leader].port
        newest = newest_epoch(port, topic, partition)
        for epoch in range(-1, newest + 3):
            leader_epoch, end_offset = offset_for_leader_epoch(port, topic, partition, epoch)
            rows.append(
                {
                    "node": leader,
                    "topic": topic,
                    "partition": partition,
                    "requested_epoch": epoch,
                    "leader_epoch": leader_epoch,
                    "end_offset": end_offset,
                }
            )
    return rows


def newest_epoch(port: int, topic: str, partition: int) -> int:
    """Return the newest epoch in a leader's cache: the largest one that it answers with itself."""
    newest, epoch, unanswered = -1, 0, 0
    while unanswered < 5:
        found = offset_for_leader_epoch(port, topic, partition, epoch)[0]
        newest, unanswered = (epoch, 0) if found == epoch else (newest, unanswered + 1)
        epoch += 1
    return newest


def elect_preferred(cluster: Cluster) -> None:
    """Give every partition back to its preferred leader, where it is not there already."""
    partitions = [TopicPartition(topic, partition) for topic, partition, _ in leaders(cluster)]
    answered(lambda: cluster.admin.elect_leaders(ElectionType.PREFERRED, partitions).result(30))
