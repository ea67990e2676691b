"""What a KRaft cluster knows about itself: the records of its metadata log, replayed into one image.

This is the one fold over these records. The truth is `org.apache.kafka.image.MetadataDelta` with
`MetadataBatchLoader` for transactions (KIP-866), `PartitionRegistration` and
`ReplicationControlManager.replay` for partitions. Of a record that does not fit the image Kafka says that it
must not be there, and stops; here it is passed over and reported.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from formats.messages.reader import Message

TOPIC, BROKER = 2, 4
"""Types of configuration resources."""
ELR_FEATURE = "eligible.leader.replicas.version"
MIN_ISR, UNCLEAN_ELECTION = "min.insync.replicas", "unclean.leader.election.enable"
NO_CHANGE = -2
"""The leader in a PartitionChangeRecord that leaves it as it is."""
KEEP_RECOVERY = -1
NO_TOPIC = "there is no topic"
MIGRATING, UNASSIGNED, LOST = ("A" * 21 + last for last in "AQg")
"""Ids of log dirs that are none: unknown yet, not yet placed, gone offline (`DirectoryId`)."""

Brokers: TypeAlias = tuple[int, ...]
Fields: TypeAlias = Mapping[str, Any]
Entity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Types and names of who has a quota; of a default the name is None."""
Watch: TypeAlias = Callable[[int, Message, Callable[[int, Message], None]], None]


class Endpoint(NamedTuple):
    """Where a listener is reached."""

    name: str
    host: str
    port: int
    security_protocol: str | None


class Broker(NamedTuple):
    """The registration of a broker."""

    epoch: int
    is_fenced: bool
    is_shutting_down: bool = False
    directories: tuple[str, ...] = ()
    incarnation_id: str | None = None
    rack: str | None = None
    endpoints: tuple[Fields, ...] = ()
    cordoned: tuple[str, ...] | None = None

    @property
    def is_active(self) -> bool:
        """Whether it may lead."""
        return not self.is_fenced and not self.is_shutting_down

    def has_online(self, directory: str | None) -> bool:
        """Whether a log dir of it is online: so are unknown ones, and all where it named none."""
        if directory in {None, MIGRATING, UNASSIGNED} or not self.directories:
            return directory != LOST
        return directory in self.directories


class PartitionState(NamedTuple):
    """The state of a partition in the metadata: brokers by id, epochs; a leader of -1 is none.

    `last_known_elr`: with one entry the last leader before there was none. `directories`: of `replicas`.
    """

    replicas: Brokers
    isr: Brokers
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: Brokers = ()
    last_known_elr: Brokers = ()
    removing: Brokers = ()
    adding: Brokers = ()
    is_recovering: bool = False
    directories: tuple[str, ...] = ()

    def directory_of(self, broker: int) -> str | None:
        """Return the id of the log dir of a broker's replica; None where it is unknown."""
        by_broker = dict(zip(self.replicas, self.directories, strict=False))
        return by_broker.get(broker)


class Change(NamedTuple):
    """A PartitionChangeRecord: what it sets, None for nothing; any `leader` raises the leader epoch."""

    isr: Brokers | None = None
    leader: int | None = None
    replicas: Brokers | None = None
    removing: Brokers | None = None
    adding: Brokers | None = None
    is_recovering: bool | None = None
    elr: Brokers | None = None
    last_known_elr: Brokers | None = None
    directories: tuple[str, ...] | None = None


def merged(partition: PartitionState, change: Change) -> PartitionState:
    """Return the partition after a change; its partition epoch rises always."""
    return PartitionState(  # field by field: a metadata log has a million of them
        replicas=partition.replicas if change.replicas is None else change.replicas,
        isr=partition.isr if change.isr is None else change.isr,
        leader=partition.leader if change.leader is None else change.leader,
        leader_epoch=partition.leader_epoch + (change.leader is not None),
        partition_epoch=partition.partition_epoch + 1,
        elr=partition.elr if change.elr is None else change.elr,
        last_known_elr=partition.last_known_elr if change.last_known_elr is None else change.last_known_elr,
        removing=partition.removing if change.removing is None else change.removing,
        adding=partition.adding if change.adding is None else change.adding,
        is_recovering=partition.is_recovering if change.is_recovering is None else change.is_recovering,
        directories=partition.directories if change.directories is None else change.directories,
    )


class Misfit(NamedTuple):
    """A record that does not fit the image: its offset and name, and why."""

    offset: int
    record: str
    reason: str

    def __str__(self) -> str:
        return f"{self.record}: {self.reason}"


class DeletedTopic(NamedTuple):
    """A topic that was deleted, and the offset of the record that says so.

    `left_in`: ids of log dirs where `ReplicationControlManager` still counts it: of partitions with no ISR.
    """

    name: str
    topic_id: str
    partitions: int
    offset: int
    left_in: frozenset[str] = frozenset()


@dataclass
class Topic:
    """A topic, and its partitions by number."""

    name: str
    partitions: dict[int, PartitionState] = field(default_factory=dict)


@dataclass
class Image:
    """The state that the records replayed so far make.

    `configs`: by (resource type, name). `offset`, `epoch`: of the last record. `controllers`, `acls`, `scram`
    (by user and mechanism), `tokens`: the fields of their records; `quotas`: by an entity's types and names.
    `open_since`: the begin of a transaction that is not ended; its records are not in the image. `watch` is
    given each record's application, in its place.
    """

    brokers: dict[int, Broker] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    removed: list[DeletedTopic] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    controllers: dict[int, Fields] = field(default_factory=dict)
    acls: dict[str, Fields] = field(default_factory=dict)
    quotas: dict[Entity, dict[str, float]] = field(default_factory=dict)
    scram: dict[tuple[str, int], Fields] = field(default_factory=dict)
    tokens: dict[str, Fields] = field(default_factory=dict)
    next_producer_id: int = -1
    offset: int = -1
    epoch: int = -1
    open_since: int | None = None
    watch: Watch | None = None
    _pending: list[tuple[int, Message]] = field(default_factory=list)

    def named(self, topic: str | None) -> tuple[str, Topic] | tuple[None, None]:
        """Return a topic by its name, with its id; None for both where there is none."""
        return next((item for item in self.topics.items() if item[1].name == topic), (None, None))

    def replay(self, offset: int, message: Message) -> None:
        """Apply the record at an offset; those of a transaction wait for its end."""
        if message.name == "BeginTransactionRecord":
            if self.open_since is not None:
                self.misfits.append(Misfit(offset, message.name, "a transaction begins within another"))
            self.open_since = offset
        elif message.name in {"EndTransactionRecord", "AbortTransactionRecord"}:
            if self.open_since is None:
                self.misfits.append(Misfit(offset, message.name, "a transaction ends that did not begin"))
            pending, self._pending, self.open_since = self._pending, [], None
            if message.name == "EndTransactionRecord":
                for record in pending:
                    self._take(*record)
        elif self.open_since is not None:
            self._pending.append((offset, message))
        else:
            self._take(offset, message)

    def _take(self, offset: int, message: Message) -> None:
        if self.watch is None:
            self._apply(offset, message)
        else:
            self.watch(offset, message, self._apply)

    def _apply(self, offset: int, message: Message) -> None:
        rule = RECORD_RULES.get(message.name)
        reason = rule.replay(self, offset, message.fields) if rule else None
        if reason is not None:
            self.misfits.append(Misfit(offset, message.name, reason))

    def partitions(self) -> Iterator[tuple[str, int, PartitionState]]:
        """Yield topic id, number and state of every partition, by topic name and number."""
        for topic_id, topic in sorted(self.topics.items(), key=lambda item: item[1].name):
            for number, partition in sorted(topic.partitions.items()):
                yield topic_id, number, partition

    def config(self, topic: str, name: str) -> str | None:
        """Return a topic's setting or the cluster's default in the metadata; None where both lack it."""
        for resource in ((TOPIC, topic), (BROKER, "")):
            value = self.configs.get(resource, {}).get(name)
            if value is not None:
                return value
        return None

    def is_acceptable(self, partition: PartitionState, broker: int) -> bool:
        """Whether a broker may lead a partition: registered, unfenced, its replica's log dir online."""
        registration = self.brokers.get(broker)
        return (
            registration is not None
            and registration.is_active
            and registration.has_online(partition.directory_of(broker))
        )


Replay: TypeAlias = Callable[[Image, int, Fields], str | None]
"""Applies the fields of a record at an offset; returns why they do not fit."""


class RecordRule(NamedTuple):
    """How a record is replayed, and what it is about: the attribute of the image, and the key in it."""

    replay: Replay
    kind: str
    key_of: Callable[[Fields], Any]


def _rule(replay: Replay, kind: str, *names: str) -> RecordRule:
    """Return the rule of a record whose fields of these names are the key."""
    return RecordRule(replay, kind, itemgetter(*names))


def _register(image: Image, _: int, fields: Fields) -> None:
    image.brokers[fields["brokerId"]] = Broker(
        fields["brokerEpoch"],
        fields["fenced"],
        fields.get("inControlledShutdown", False),
        tuple(fields.get("logDirs", ())),
        fields["incarnationId"],
        fields["rack"],
        tuple(fields["endPoints"]),
        None if (cordoned := fields.get("cordonedLogDirs")) is None else tuple(cordoned),
    )


def _registered(broker: str, epoch: str, change: Callable[[Broker, Fields], Broker | None]) -> RecordRule:
    """Return a change of the registration that two fields name; None: it goes."""

    def replay(image: Image, _: int, fields: Fields) -> str | None:
        broker_before = image.brokers.get(fields[broker])
        if broker_before is None:
            return f"broker {fields[broker]} is not registered"
        if broker_before.epoch != fields[epoch]:
            return f"broker {fields[broker]} has epoch {broker_before.epoch}, not {fields[epoch]}"
        after = change(broker_before, fields)
        if after is None:
            del image.brokers[fields[broker]]
        else:
            image.brokers[fields[broker]] = after
        return None

    return _rule(replay, "brokers", broker)


def _change_registration(broker: Broker, fields: Fields) -> Broker:
    if fields["fenced"]:
        broker = broker._replace(is_fenced=fields["fenced"] > 0)
    if fields.get("inControlledShutdown"):
        broker = broker._replace(is_shutting_down=True)
    if fields.get("logDirs"):
        broker = broker._replace(directories=tuple(fields["logDirs"]))
    if fields.get("cordonedLogDirs") is not None:
        broker = broker._replace(cordoned=tuple(fields["cordonedLogDirs"]))
    return broker


def _topic(image: Image, _: int, fields: Fields) -> None:
    image.topics[fields["topicId"]] = Topic(fields["name"])


def _remove_topic(image: Image, offset: int, fields: Fields) -> str | None:
    topic = image.topics.pop(fields["topicId"], None)
    if topic is None:
        return f"there is no topic {fields['topicId']}"
    image.configs.pop((TOPIC, topic.name), None)
    left_in = frozenset(
        uuid for state in topic.partitions.values() if not state.isr for uuid in state.directories or ()
    )
    image.removed.append(DeletedTopic(topic.name, fields["topicId"], len(topic.partitions), offset, left_in))
    return None


def _partition(image: Image, _: int, fields: Fields) -> str | None:
    topic = image.topics.get(fields["topicId"])
    if topic is None:
        return f"there is no topic {fields['topicId']}"
    replicas = tuple(fields["replicas"])
    topic.partitions[fields["partitionId"]] = PartitionState(
        replicas=replicas,
        isr=tuple(fields["isr"]),
        leader=fields["leader"],
        leader_epoch=fields["leaderEpoch"],
        partition_epoch=fields["partitionEpoch"],
        elr=tuple(fields.get("eligibleLeaderReplicas") or ()),
        last_known_elr=tuple(fields.get("lastKnownElr") or ()),
        removing=tuple(fields["removingReplicas"]),
        adding=tuple(fields["addingReplicas"]),
        is_recovering=bool(fields["leaderRecoveryState"]),
        directories=_directories(fields.get("directories"), replicas),
    )
    return None


def _directories(ids: list[str] | None, replicas: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(ids) if ids and len(ids) == len(replicas) else (MIGRATING,) * len(replicas)


def _change_partition(image: Image, _: int, fields: Fields) -> str | None:
    topic = image.topics.get(fields["topicId"])
    old = None if topic is None else topic.partitions.get(fields["partitionId"])
    if topic is None:
        return f"{NO_TOPIC} {fields['topicId']}"
    if old is None:
        return f"there is no partition {fields['partitionId']} of topic {fields['topicId']}"
    recovery = fields["leaderRecoveryState"]
    new = merged(
        old,
        Change(
            isr=_brokers(fields["isr"]),
            leader=None if fields["leader"] == NO_CHANGE else fields["leader"],
            replicas=_brokers(fields["replicas"]),
            removing=_brokers(fields["removingReplicas"]),
            adding=_brokers(fields["addingReplicas"]),
            is_recovering=None if recovery == KEEP_RECOVERY else bool(recovery),
            elr=_brokers(fields.get("eligibleLeaderReplicas")),
            last_known_elr=_brokers(fields.get("lastKnownElr")),
        ),
    )
    directories = fields.get("directories")
    if directories or fields["replicas"] is not None:
        new = new._replace(directories=_directories(directories or list(new.directories), new.replicas))
    topic.partitions[fields["partitionId"]] = new
    return None


def _brokers(ids: list[int] | None) -> tuple[int, ...] | None:
    return None if ids is None else tuple(ids)


def _config(image: Image, _: int, fields: Fields) -> None:
    resource = (fields["resourceType"], fields["resourceName"])
    settings = image.configs.setdefault(resource, {})
    if fields["value"] is not None:
        settings[fields["name"]] = fields["value"]
    else:
        settings.pop(fields["name"], None)
    if not settings:
        del image.configs[resource]


def _feature(image: Image, _: int, fields: Fields) -> None:
    if fields["featureLevel"]:
        image.features[fields["name"]] = fields["featureLevel"]
    else:
        image.features.pop(fields["name"], None)


def _clear_elr(image: Image, _: int, fields: Fields) -> str | None:
    name = fields["topicName"]
    topics = [topic for topic in image.topics.values() if topic.name == name or not name]
    if name and not topics:
        return f"there is no topic {name}"
    for topic in topics:
        for number, partition in topic.partitions.items():
            if partition.elr or partition.last_known_elr:
                topic.partitions[number] = merged(partition, Change(elr=(), last_known_elr=()))
    return None


def _producer_ids(image: Image, _: int, fields: Fields) -> None:
    image.next_producer_id = fields["nextProducerId"]


def _entity(fields: Fields) -> Entity:
    """Return who a quota is for, in one order."""
    in_order = sorted(fields["entity"], key=itemgetter("entityType"))
    return tuple(map(itemgetter("entityType", "entityName"), in_order))


def _quota(image: Image, _: int, fields: Fields) -> None:
    entity = _entity(fields)
    limits = image.quotas.setdefault(entity, {})
    if fields["remove"]:
        limits.pop(fields["key"], None)
    else:
        limits[fields["key"]] = fields["value"]
    if not limits:
        del image.quotas[entity]


def _set(kind: str, *names: str) -> RecordRule:
    """Return what keeps the fields of a record by its key."""
    key_of = itemgetter(*names)

    def replay(image: Image, _: int, fields: Fields) -> None:
        getattr(image, kind)[key_of(fields)] = fields

    return RecordRule(replay, kind, key_of)


def _remove(kind: str, *names: str, noun: str = "") -> RecordRule:
    """Return what removes what `_set` keeps; with a `noun` it must be there."""
    key_of = itemgetter(*names)

    def replay(image: Image, _: int, fields: Fields) -> str | None:
        removed = getattr(image, kind).pop(key_of(fields), None)
        return f"{noun} {key_of(fields)} is not there" if removed is None and noun else None

    return RecordRule(replay, kind, key_of)


RECORD_RULES: dict[str, RecordRule] = {
    "RegisterBrokerRecord": _rule(_register, "brokers", "brokerId"),
    "UnregisterBrokerRecord": _registered("brokerId", "brokerEpoch", lambda _, __: None),
    "FenceBrokerRecord": _registered("id", "epoch", lambda broker, _: broker._replace(is_fenced=True)),
    "UnfenceBrokerRecord": _registered("id", "epoch", lambda broker, _: broker._replace(is_fenced=False)),
    "BrokerRegistrationChangeRecord": _registered("brokerId", "brokerEpoch", _change_registration),
    "TopicRecord": _rule(_topic, "topics", "topicId"),
    "RemoveTopicRecord": _rule(_remove_topic, "topics", "topicId"),
    "PartitionRecord": _rule(_partition, "partitions", "topicId", "partitionId"),
    "PartitionChangeRecord": _rule(_change_partition, "partitions", "topicId", "partitionId"),
    "ConfigRecord": _rule(_config, "configs", "resourceType", "resourceName"),
    "FeatureLevelRecord": _rule(_feature, "features", "name"),
    "ClearElrRecord": _rule(_clear_elr, "topics", "topicName"),
    "RegisterControllerRecord": _set("controllers", "controllerId"),
    "UnregisterControllerRecord": _remove("controllers", "controllerId", noun="controller"),
    "AccessControlEntryRecord": _set("acls", "id"),
    "RemoveAccessControlEntryRecord": _remove("acls", "id", noun="the ACL"),
    "ClientQuotaRecord": RecordRule(_quota, "quotas", _entity),
    "UserScramCredentialRecord": _set("scram", "name", "mechanism"),
    "RemoveUserScramCredentialRecord": _remove("scram", "name", "mechanism"),
    "DelegationTokenRecord": _set("tokens", "tokenId"),
    "RemoveDelegationTokenRecord": _remove("tokens", "tokenId"),
    "ProducerIdsRecord": RecordRule(_producer_ids, "producer-ids", lambda _: ()),
}
"""Records of other types change nothing of the image."""
