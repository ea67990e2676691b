"""What each record of a metadata log changes of the image, and what differs between two images."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from formats.messages.reader import Message
from kcli.kafka.kraft.metadata_image import BROKER, RECORD_RULES, TOPIC, Fields
from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS, Facts, Key, voters
from kcli.kafka.kraft.metadata_loader import Metadata

Subject: TypeAlias = tuple[str, Key]
"""A kind, and the key of what a record is about."""
COUNTED = frozenset({"partitions", "configs"})
"""Facts of a topic that changes of other kinds make."""


class MetadataChange(NamedTuple):
    """A change that a record makes: only what changed, before and after; `key`: of its kind."""

    offset: int
    epoch: int
    timestamp: int
    record_type: str
    kind: str
    key: Key
    name: str
    change: str
    before: Facts
    after: Facts
    topic: tuple[str, str] | None = None
    """Its id and name."""
    replicas: tuple[int, ...] = ()


class Difference(NamedTuple):
    """A difference between two images: of what was added or removed all facts, else one field."""

    kind: str
    key: Key
    name: str
    change: str
    field: str | None
    before: object
    after: object


def _of_topic(metadata: Metadata, fields: Fields) -> Iterator[Subject]:
    topic_id = fields["topicId"]
    topic = metadata.image.topics.get(topic_id)
    if topic is not None:
        yield from (("partitions", (topic_id, number)) for number in sorted(topic.partitions))
        yield "configs", (TOPIC, topic.name)
    yield "topics", topic_id


def _cleared(metadata: Metadata, fields: Fields) -> Iterator[Subject]:
    for topic_id, topic in metadata.image.topics.items():
        if fields["topicName"] in {"", topic.name}:
            yield from (("partitions", (topic_id, number)) for number in topic.partitions)


def _voters(metadata: Metadata, fields: Fields) -> Iterator[Subject]:
    named = {int(voter["voterId"]) for voter in fields["voters"]}
    yield from (("voters", number) for number in sorted(named | voters(metadata).keys()))


OF_SEVERAL: dict[str, Callable[[Metadata, Fields], Iterable[Subject]]] = {
    "RemoveTopicRecord": _of_topic,
    "ClearElrRecord": _cleared,
    "VotersRecord": _voters,
    "LeaderChangeMessage": _voters,
}
"""What records are about that may change several things, or the voters."""


def _subjects(metadata: Metadata, message: Message) -> list[Subject]:
    if message.name in OF_SEVERAL:
        return [*OF_SEVERAL[message.name](metadata, message.fields)]
    rule = RECORD_RULES.get(message.name)
    return [] if rule is None else [(rule.kind, rule.key_of(message.fields))]


class ChangeWatch:
    """Sees the records that an image takes, and hands on what each changes."""

    def __init__(self, metadata: Metadata, take: Callable[[MetadataChange], None]) -> None:
        self._metadata, self._take = metadata, take

    def __call__(self, offset: int, message: Message, apply: Callable[[int, Message], None]) -> None:
        """Apply a record, and hand on its changes."""
        metadata = self._metadata
        subjects = [(*subject, *self._state(*subject)) for subject in _subjects(metadata, message)]
        apply(offset, message)
        for kind, key, before, name, old_topic in subjects:
            after, new_name, new_topic = self._state(kind, key)
            values = changed(before or {}, after or {})
            if not any(values):
                continue
            epoch, timestamp = metadata.stamps.get(offset, (metadata.image.epoch, metadata.timestamp or -1))
            noun, label = IMAGE_KINDS[kind].noun, name if after is None else new_name
            change, topic = _change(kind, before, after, values[1]), new_topic or old_topic
            replicas = tuple((after or before or {}).get("replicas", ()))
            source = offset, epoch, timestamp, message.name
            self._take(MetadataChange(*source, noun, key, label, change, *values, topic, replicas))

    def _state(self, kind: str, key: Key) -> tuple[Facts | None, str, tuple[str, str] | None]:
        """Return the facts of what a record is about, its name, and its topic."""
        of_kind, topic = IMAGE_KINDS[kind], None
        facts, name = of_kind.facts(self._metadata, key), of_kind.name(self._metadata, key)
        if facts is not None and "topic_id" in facts:
            topic = facts["topic_id"], facts["topic"]
        if facts is not None and kind == "topics":
            name = f"topic {name}"
            facts = {field: value for field, value in facts.items() if field not in COUNTED}
        if kind == "configs" and key[0] == TOPIC:
            topic = "", key[1]
        return facts, name, topic


def changed(before: Facts, after: Facts) -> tuple[Facts, Facts]:
    """Return what of the facts before and after is not the same; none known and no known ones are."""

    def value(facts: Facts, name: str) -> object:
        return None if facts[name] == () else facts[name]

    names = [
        name
        for name in {**before, **after}
        if name not in before or name not in after or value(before, name) != value(after, name)
    ]
    return (
        {name: before[name] for name in names if name in before},
        {name: after[name] for name in names if name in after},
    )


WORDS_OF_A_PARTITION = {
    "replicas": "replicas",
    "adding_replicas": "replicas",
    "removing_replicas": "replicas",
    "leader": "leader",
    "isr": "isr",
    "elr": "elr",
    "last_known_elr": "elr",
    "directories": "directories",
    "leader_recovery_state": "recovered",
    "leader_epoch": "leader",
}
"""The first of these facts that changes names the change."""


def _change(kind: str, before: Facts | None, after: Facts | None, new_values: Facts) -> str:
    """Return a short word for a change."""
    if kind in {"configs", "quotas"}:
        return IMAGE_KINDS[kind].noun
    if before is None or after is None:
        return WORDS_OF_KIND.get(kind, ("created", "deleted"))[after is None]
    if kind == "partitions":
        return next((change for fact, change in WORDS_OF_A_PARTITION.items() if fact in new_values), "epoch")
    if "fenced" in new_values and "incarnation_id" not in new_values:
        return "fenced" if new_values["fenced"] else "unfenced"
    words_of_a_node = {"incarnation_id": "registered", "in_controlled_shutdown": "shutdown"}
    default = WORD_OF_KIND.get(kind, "changed")
    return next((of_fact for fact, of_fact in words_of_a_node.items() if fact in new_values), default)


WORD_OF_KIND = {"brokers": "log-dirs", "features": "level", "producer-ids": "block"}
WORDS_OF_KIND = {
    **dict.fromkeys(("brokers", "controllers"), ("registered", "unregistered")),
    "voters": ("added", "removed"),
}


def differences(before: Metadata, after: Metadata) -> Iterator[Difference]:
    """Yield what differs between two images, by kind."""
    for kind in IMAGE_KINDS.values():
        names = {key: kind.name(metadata, key) for metadata in (before, after) for key in kind.keys(metadata)}
        for key, name in sorted(names.items(), key=lambda item: _order(item[1])):
            old, new = kind.facts(before, key), kind.facts(after, key)
            if old is None:
                yield Difference(kind.noun, key, name, "added", None, None, new)
            elif new is None:
                yield Difference(kind.noun, key, name, "removed", None, old, None)
            else:
                old_values, new_values = changed(old, new)
                for field in {**old_values, **new_values}:
                    if not (kind.noun == "topic" and field == "configs"):
                        values = old_values.get(field), new_values.get(field)
                        yield Difference(kind.noun, key, name, "changed", field, *values)


def _order(name: str) -> tuple[str, int]:
    """Return the place of a name: partitions of a topic by their numbers."""
    topic, _, number = name.rpartition("-")
    return (topic, int(number)) if number.isdecimal() else (name, -1)


def is_about_node(change: MetadataChange, node: int) -> bool:
    """Whether a change is about a node: its registration, its vote, or its settings."""
    is_of_node = change.kind in {"broker", "controller", "voter"}
    return bool(change.key == (node if is_of_node else (BROKER, str(node))))
