"""A live cluster as a reader sees it: partitions, their leaders, where they begin and end, their records."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple, TypeAlias

from kcli.broker.settings import ClientSettings, SettingError

EXTRA = "pip install 'kcli-for-kafka[cluster]'"

CALL_SECONDS = 0.5  # seconds of one call into the library: no signal interrupts it
MESSAGES = 1000  # records of one call into the library

ERROR_NAMES = {
    -1: "UNKNOWN_SERVER_ERROR",
    1: "OFFSET_OUT_OF_RANGE",
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    9: "REPLICA_NOT_AVAILABLE",
    29: "TOPIC_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    35: "UNSUPPORTED_VERSION",
    43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    56: "KAFKA_STORAGE_ERROR",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    78: "OFFSET_NOT_AVAILABLE",
}
"""Kafka's errors of Metadata, ListOffsets and Fetch, by number (`common.protocol.Errors`)."""
UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE = ERROR_NAMES[3], ERROR_NAMES[5]
TOPIC_AUTHORIZATION_FAILED = ERROR_NAMES[29]

HOPELESS = ("authentication", "ssl handshake", "brokers are down", "resolve")
"""Words of errors that no further attempt gets over."""

TopicPartition: TypeAlias = tuple[str, int]


class ClusterError(Exception):
    """The cluster cannot be reached, does not answer in time, or not what it should; one line."""


class ListedOffset(NamedTuple):
    """What ListOffsets answers for a partition; offset -1 and epoch -1 for none."""

    offset: int
    epoch: int


class ClusterRecord(NamedTuple):
    """A record of a live partition; `timestamp` in ms, -1 for none."""

    offset: int
    timestamp: int
    value: bytes | None


class Cluster:
    """A cluster that answered in time, else ClusterError; `leaders`: every partition -> broker id or None."""

    def __init__(self, settings: ClientSettings, timeout: float) -> None:
        self.settings = settings
        self._timeout = timeout
        self._kafka, self._admin_module = _library()
        self._errors: list[str] = []
        # not `self`: a client in a cycle is collected by any thread, and the library aborts in one of its own
        errors = self._errors
        on_error = {"error_cb": lambda error: errors.append(error.str())}
        self._consumer_config = {**settings.connection, **settings.consumer, **on_error}
        try:
            self._admin = self._admin_module.AdminClient({**settings.connection, **on_error})
        except (self._kafka.KafkaException, ValueError, TypeError) as error:
            raise SettingError(_error_text(error)) from error
        self.leaders = self._leaders()

    def bounds(self, topic: str) -> dict[int, tuple[int, int] | ClusterError]:
        """Return partition -> its first offset and its end (exclusive), or why they are not known."""
        partitions = sorted(partition for partition in self.leaders if partition[0] == topic)
        specs = self._admin_module.OffsetSpec
        begins, ends = (self._listed(partitions, spec) for spec in (specs.earliest(), specs.latest()))
        bounds: dict[int, tuple[int, int] | ClusterError] = {}
        for partition in partitions:
            begin, end = begins[partition], ends[partition]
            if isinstance(begin, ClusterError):
                bounds[partition[1]] = begin
            elif isinstance(end, ClusterError):
                bounds[partition[1]] = end
            else:
                bounds[partition[1]] = (begin.offset, end.offset)
        return bounds

    def refused(self, topics: Iterable[str], *, to_read: bool = False) -> dict[str, str]:
        """Return topic -> Kafka's error, of those that this client may not describe, nor read (`to_read`)."""
        names = list(topics)
        if not names:
            return {}
        answers = self._admin.describe_topics(
            self._kafka.TopicCollection(names),
            include_authorized_operations=to_read,
            request_timeout=self._timeout,
        )
        refusals: dict[str, str] = {}
        for topic, future in answers.items():
            try:
                allowed = future.result(self._timeout + 1).authorized_operations
            except (self._kafka.KafkaException, TimeoutError) as error:
                refusals[topic] = _error_text(error)
            else:
                if to_read and allowed and self._admin_module.AclOperation.READ not in allowed:
                    refusals[topic] = TOPIC_AUTHORIZATION_FAILED
        return refusals

    def special_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int, ListedOffset | ClusterError]]:
        """Yield what leaders answer to ListOffsets for -1, -2 and -3, or why they do not.

        librdkafka asks for no other special timestamp. Nothing for a partition without a leader.
        """
        with_leader = [partition for partition in partitions if self.leaders.get(partition) is not None]
        specs = self._admin_module.OffsetSpec
        for timestamp, spec in ((-1, specs.latest()), (-2, specs.earliest()), (-3, specs.max_timestamp())):
            answers = self._listed(with_leader, spec)
            yield from ((partition, timestamp, answers[partition]) for partition in with_leader)

    def records(self, topic: str, partition: int, begin: int, end: int) -> Iterator[ClusterRecord]:
        """Yield the records of a partition from `begin` to before `end`, in order, without control records.

        A consumer looks for its group's coordinator: a broker without __consumer_offsets may create it then.
        """
        if begin >= end:
            return
        consumer = self._kafka.Consumer(self._consumer_config)
        with closing(consumer):
            consumer.assign([self._kafka.TopicPartition(topic, partition, begin)])
            last_answer = time.monotonic()
            while True:
                for message in consumer.consume(MESSAGES, CALL_SECONDS):
                    error = message.error()
                    if error is None:
                        last_answer = time.monotonic()
                        if message.offset() < end:
                            yield ClusterRecord(message.offset(), message.timestamp()[1], message.value())
                        if message.offset() >= end - 1:
                            return
                    elif error.code() == self._kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001
                        return
                    elif not _is_transient(error, self._kafka.KafkaError):
                        raise ClusterError(f"Fetch: {_error_name(error)}")
                if time.monotonic() - last_answer > self._timeout:
                    raise ClusterError(f"no record within {self._timeout:g} s")

    def _leaders(self) -> dict[TopicPartition, int | None]:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                metadata = self._admin.list_topics(timeout=min(CALL_SECONDS, self._timeout))
                break
            except self._kafka.KafkaException as error:
                self._admin.poll(0)
                is_hopeless = any(phrase in text.lower() for text in self._errors for phrase in HOPELESS)
                if is_hopeless or time.monotonic() >= deadline:
                    reasons = (text for text in self._errors if "brokers are down" not in text)
                    reason = next(reasons, _error_text(error))
                    raise ClusterError(f"--bootstrap-server {self.settings.servers}: {reason}") from error
        return {
            (name, partition.id): partition.leader if partition.leader in metadata.brokers else None
            for name, topic in sorted(metadata.topics.items())
            for partition in topic.partitions.values()
        }

    def _listed(
        self, partitions: Iterable[TopicPartition], spec: Any
    ) -> dict[TopicPartition, ListedOffset | ClusterError]:
        offsets: dict[TopicPartition, ListedOffset | ClusterError] = {
            partition: ClusterError(LEADER_NOT_AVAILABLE) for partition in partitions
        }
        with_leader = [partition for partition in offsets if self.leaders[partition] is not None]
        request = {self._kafka.TopicPartition(*partition): spec for partition in with_leader}
        if not request:
            return offsets
        answers = self._admin.list_offsets(
            request,
            isolation_level=self._kafka.IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self._timeout,
        )
        for topic_partition, future in answers.items():
            partition = (topic_partition.topic, topic_partition.partition)
            try:
                answer = future.result(self._timeout + 1)
            except (self._kafka.KafkaException, TimeoutError) as error:
                offsets[partition] = ClusterError(f"ListOffsets: {_error_text(error)}")
            else:
                epoch = -1 if answer.leader_epoch is None else answer.leader_epoch
                offsets[partition] = ListedOffset(answer.offset, epoch)
        return offsets


def _is_transient(error: Any, codes: Any) -> bool:
    """Whether an error is one that the library gets over, or is about the group, which kcli never joins."""
    return error.retriable() or error.code() in {
        codes._TRANSPORT,  # noqa: SLF001 - its public name
        codes._ALL_BROKERS_DOWN,  # noqa: SLF001 - its public name
        codes._RESOLVE,  # noqa: SLF001 - its public name
        codes.GROUP_AUTHORIZATION_FAILED,
    }


def _error_text(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return _error_name(first) if hasattr(first, "str") else str(first)


def _error_name(error: Any) -> str:
    """Return Kafka's name of an error of the library, in its words where it has none."""
    return ERROR_NAMES.get(error.code()) or str(error.str())


def _library() -> tuple[Any, Any]:
    try:
        import confluent_kafka
        from confluent_kafka import admin
    except ImportError as error:
        raise ClusterError(
            f"confluent-kafka is not installed, and a live cluster needs it: {EXTRA}"
        ) from error
    return confluent_kafka, admin
