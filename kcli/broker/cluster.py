"""A live cluster as a reader sees it: partitions, their leaders, where they begin and end, their records."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple, TypeAlias, cast

from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError
from formats.legacy import LegacyHeader
from formats.magic import holds_header, is_valid, read_header
from formats.record import batch_records
from kcli.broker.errors import NAMES, ClusterError, SettingError, error_name
from kcli.broker.settings import ClientSettings
from kcli.broker.wire import LISTED_SINCE, Connection, Listed, is_supported

EXTRA = "pip install 'kcli-for-kafka[cluster]'"

CONSUMER_OFFSETS = "__consumer_offsets"
SLICE = 0.5
"""Seconds of one call into the library: no signal interrupts it."""
UNKNOWN, NO_LEADER, NOT_AUTHORIZED = error_name(3), error_name(5), error_name(29)
MESSAGES = 1000
"""Records of one call into the library."""

TopicPartition: TypeAlias = tuple[str, int]


class LiveBroker(NamedTuple):
    """A broker as the cluster's metadata names it."""

    id: int
    host: str
    port: int


class ClusterRecord(NamedTuple):
    """A record of a live partition; `timestamp` in ms, -1 for none."""

    offset: int
    timestamp: int
    value: bytes | None


class Cluster:
    """A cluster that has answered once; ClusterError where it does not within `timeout` seconds.

    `leaders`: every partition -> its leader, None where there is none.
    """

    def __init__(self, settings: ClientSettings, timeout: float) -> None:
        self.settings = settings
        self._timeout = timeout
        self._kafka, self._admin_module = _library()
        self._errors: list[str] = []
        self._client = {**settings.client, "error_cb": lambda error: self._errors.append(error.str())}
        own = {"bootstrap.servers", "client.id", "log_level", "error_cb", *settings.security.values}
        try:
            self._admin = self._admin_module.AdminClient(
                {name: value for name, value in self._client.items() if name in own}
            )
        except (self._kafka.KafkaException, ValueError, TypeError) as error:
            raise SettingError(_text(error)) from error
        self.leaders = self._leaders()

    def bounds(self, topic: str) -> dict[int, tuple[int, int] | ClusterError]:
        """Return partition -> its first offset and its end (exclusive), of a topic, by rising partition.

        Or why they are not known.
        """
        partitions = sorted(each for each in self.leaders if each[0] == topic)
        spec = self._admin_module.OffsetSpec
        begins, ends = (self._listed(partitions, which) for which in (spec.earliest(), spec.latest()))
        found: dict[int, tuple[int, int] | ClusterError] = {}
        for each in partitions:
            begin, end = begins[each], ends[each]
            if isinstance(begin, ClusterError) or isinstance(end, ClusterError):
                found[each[1]] = begin if isinstance(begin, ClusterError) else cast("ClusterError", end)
            else:
                found[each[1]] = (begin.offset, end.offset)
        return found

    def refused(self, topics: Iterable[str], *, to_read: bool = False) -> dict[str, str]:
        """Return topic -> Kafka's error, of those that do not exist or that this client may not describe.

        `to_read`: or that it may not read.
        """
        names = list(topics)
        if not names:
            return {}
        answers = self._admin.describe_topics(
            self._kafka.TopicCollection(names),
            include_authorized_operations=to_read,
            request_timeout=self._timeout,
        )
        found: dict[str, str] = {}
        for topic, future in answers.items():
            try:
                allowed = future.result(self._timeout + 1).authorized_operations
            except (self._kafka.KafkaException, TimeoutError) as error:
                found[topic] = _text(error)
            else:
                if to_read and allowed and self._admin_module.AclOperation.READ not in allowed:
                    found[topic] = NOT_AUTHORIZED
        return found

    def special_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int, Listed | ClusterError]]:
        """Yield what leaders answer to ListOffsets for each special timestamp, -1 to -6, or why they do not.

        Nothing for a timestamp that a leader does not know, or a partition without a leader.
        """
        with_leader = [each for each in partitions if self.leaders.get(each) is not None]
        if not is_supported(self.settings.security):
            spec = self._admin_module.OffsetSpec
            for timestamp, which in ((-1, spec.latest()), (-2, spec.earliest()), (-3, spec.max_timestamp())):
                answers = self._listed(with_leader, which)
                yield from ((each, timestamp, answers[each]) for each in with_leader)
            return
        for broker in sorted({broker for each in with_leader if (broker := self.leaders[each]) is not None}):
            led = [each for each in with_leader if self.leaders[each] == broker]
            try:
                with self._connection(broker) as connection:
                    for timestamp in LISTED_SINCE:
                        listed = connection.list_offsets(timestamp, led)
                        yield from ((each, timestamp, listed[each]) for each in led if each in listed)
            except ClusterError as error:
                yield from ((each, -1, error) for each in led)

    def records(self, topic: str, partition: int, begin: int, end: int) -> Iterator[ClusterRecord]:
        """Yield the records of a partition from `begin` to before `end`, in order, without control records.

        A consumer looks for its group's coordinator, and a broker creates __consumer_offsets then: where it
        does not exist, there is no consumer.
        """
        if begin >= end:
            return
        if any(name == CONSUMER_OFFSETS for name, _ in self.leaders):
            yield from self._consumed(topic, partition, begin, end)
        elif is_supported(self.settings.security):
            yield from self._fetched(topic, partition, begin, end)
        else:
            raise ClusterError(
                f"this cluster has no {CONSUMER_OFFSETS}, which a broker would create for a consumer; "
                "without one kcli knows PLAINTEXT, SSL with PEM files, and SASL's PLAIN and SCRAM"
            )

    def _leaders(self) -> dict[TopicPartition, LiveBroker | None]:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                metadata = self._admin.list_topics(timeout=min(SLICE, self._timeout))
                break
            except self._kafka.KafkaException as error:
                self._admin.poll(0)
                if time.monotonic() >= deadline or self._is_hopeless():
                    raise self._error(error) from error
        brokers = {one.id: LiveBroker(one.id, one.host, one.port) for one in metadata.brokers.values()}
        return {
            (name, partition.id): brokers.get(partition.leader)
            for name, topic in sorted(metadata.topics.items())
            for partition in topic.partitions.values()
        }

    def _is_hopeless(self) -> bool:
        words = ("authentication", "ssl handshake", "brokers are down", "resolve")
        return any(word in error.lower() for error in self._errors for word in words)

    def _listed(
        self, partitions: Iterable[TopicPartition], spec: Any
    ) -> dict[TopicPartition, Listed | ClusterError]:
        found: dict[TopicPartition, Listed | ClusterError] = {
            each: ClusterError(NO_LEADER) for each in partitions
        }
        request = {
            self._kafka.TopicPartition(*each): spec for each in found if self.leaders[each] is not None
        }
        if not request:
            return found
        answers = self._admin.list_offsets(
            request,
            isolation_level=self._kafka.IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self._timeout,
        )
        for asked, future in answers.items():
            each = (asked.topic, asked.partition)
            try:
                answer = future.result(self._timeout + 1)
            except (self._kafka.KafkaException, TimeoutError) as error:
                found[each] = ClusterError(f"ListOffsets: {_text(error)}")
            else:
                epoch = -1 if answer.leader_epoch is None else answer.leader_epoch
                found[each] = Listed(0, answer.offset, epoch, answer.timestamp)
        return found

    def _consumed(self, topic: str, partition: int, begin: int, end: int) -> Iterator[ClusterRecord]:
        consumer = self._kafka.Consumer(self._client)
        with closing(consumer):
            consumer.assign([self._kafka.TopicPartition(topic, partition, begin)])
            heard = time.monotonic()
            while True:
                for message in consumer.consume(MESSAGES, SLICE):
                    error = message.error()
                    if error is None:
                        heard = time.monotonic()
                        if message.offset() < end:
                            yield ClusterRecord(message.offset(), message.timestamp()[1], message.value())
                        if message.offset() >= end - 1:
                            return
                    elif error.code() == self._kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001
                        return
                    elif not _may_pass(error, self._kafka.KafkaError):
                        raise ClusterError(f"Fetch: {_name(error)}")
                if time.monotonic() - heard > self._timeout:
                    raise ClusterError(f"no record within {self._timeout:g} s")

    def _fetched(self, topic: str, partition: int, begin: int, end: int) -> Iterator[ClusterRecord]:
        leader = self.leaders[topic, partition]
        if leader is None:
            raise ClusterError(NO_LEADER)
        offset = begin
        with self._connection(leader) as connection:
            while offset < end:
                answer = connection.fetch(topic, partition, offset)
                if answer.error:
                    raise ClusterError(f"Fetch: {error_name(answer.error)}")
                before = offset
                for following, records in _batches(answer.records):
                    yield from (record for record in records if offset <= record.offset < end)
                    offset = max(offset, following)
                if offset == before:
                    raise ClusterError(f"no whole batch at offset {offset}")

    def _connection(self, broker: LiveBroker) -> Connection:
        return Connection(broker.host, broker.port, self.settings.security, self._timeout)

    def _error(self, error: Exception) -> ClusterError:
        said = next((one for one in self._errors if "brokers are down" not in one), _text(error))
        return ClusterError(f"--bootstrap-server {self.settings.servers}: {said}")


def _batches(data: bytes) -> Iterator[tuple[int, list[ClusterRecord]]]:
    """Yield the offset after each whole batch, and its records."""
    position = 0
    while holds_header(data, position):
        header = read_header(data, position)
        raw = data[position : position + header.size]
        if len(raw) < header.size:
            return
        position += header.size
        if not is_valid(raw) or isinstance(header, LegacyHeader):
            raise ClusterError(f"the batch at offset {header.base_offset} is damaged, or of before 0.11")
        try:
            found = () if header.is_control else batch_records(raw, LARGEST_BATCH)
            records = [
                ClusterRecord(one.offset, one.timestamp, None if one.value is None else bytes(one.value))
                for one in found
            ]
        except FormatError as error:
            raise ClusterError(f"the batch at offset {header.base_offset}: {error}") from error
        yield header.last_offset + 1, records


def _may_pass(error: Any, codes: Any) -> bool:
    """Whether an error is one that the library gets over, or is about the group, which kcli never joins."""
    return error.retriable() or error.code() in {
        codes._TRANSPORT,  # noqa: SLF001 - its public name
        codes._ALL_BROKERS_DOWN,  # noqa: SLF001 - its public name
        codes._RESOLVE,  # noqa: SLF001 - its public name
        codes.GROUP_AUTHORIZATION_FAILED,
    }


def _text(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return _name(first) if hasattr(first, "str") else str(first)


def _name(error: Any) -> str:
    """Return Kafka's name of an error of the library, in its words where it has none."""
    return NAMES.get(error.code()) or str(error.str())


def _library() -> tuple[Any, Any]:
    try:
        import confluent_kafka
        from confluent_kafka import admin
    except ImportError as error:
        raise ClusterError(
            f"confluent-kafka is not installed, and a live cluster needs it: {EXTRA}"
        ) from error
    return confluent_kafka, admin
