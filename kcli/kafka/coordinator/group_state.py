"""What a coordinator says of a group that it has loaded: its state, its members, when its offsets expire.

The truth is `ClassicGroup`, `ConsumerGroup`, `ShareGroup` and `StreamsGroup`: `maybeUpdateGroupState`,
`isSubscribedToTopic` and `offsetExpirationCondition`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from formats.errors import FormatError
from formats.messages.group import CONSUMER_PROTOCOL, CONSUMER_PROTOCOL_FIELDS
from formats.messages.reader import Collector, read_message
from formats.primitives import int16
from formats.types import TopicPartition
from kcli.kafka.coordinator import group_fold
from kcli.kafka.coordinator.group_fold import GROUP_METADATA, Fields, FoldedGroup

EMPTY, STABLE, ASSIGNING, RECONCILING, NOT_READY = "Empty", "Stable", "Assigning", "Reconciling", "NotReady"
CONSUMER_PROTOCOL_TYPE = "consumer"
FIRST_EPOCH = 1
"""The epoch of a group and of its target assignment that no record has said yet."""


REGULAR_EXPRESSION, TOPOLOGY = 16, 23
Names: TypeAlias = Mapping[str, str]
"""Topics by id."""


class Member(NamedTuple):
    """A member of a group; None for topics that are not known, an id for one whose name is not."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: tuple[TopicPartition, ...] | None
    subscribed_topics: tuple[str, ...] | None


def state_of(group: FoldedGroup) -> str:
    """Return the state of a group once it is loaded, as Kafka names it."""
    if group.type == group_fold.CLASSIC:
        return STABLE if group.fields(GROUP_METADATA).get("members") else EMPTY
    numbers = group_fold.RECORDS_OF[group.type]
    current = group.of_type(numbers.current)
    if not group.of_type(numbers.member) and not current:
        return EMPTY
    if group.type == group_fold.SHARE:
        return STABLE
    epoch = group.fields(numbers.target).get("assignmentEpoch", FIRST_EPOCH)
    of_group = group.fields(numbers.group)
    if group.type == group_fold.STREAMS:
        topology = group.fields(TOPOLOGY).get("epoch")
        if topology is None or topology != of_group.get("validatedTopologyEpoch", -1):
            return NOT_READY
    if of_group.get("epoch", FIRST_EPOCH) > epoch:
        return ASSIGNING
    stable = numbers.stable, epoch
    is_settled = all((member["state"], member["memberEpoch"]) == stable for member in current.values())
    return STABLE if is_settled and group.of_type(numbers.member).keys() <= current.keys() else RECONCILING


def generation_of(group: FoldedGroup) -> int | None:
    """Return the generation of a classic group, the epoch of another; None where no record has it."""
    if group.type == group_fold.CLASSIC:
        return group.fields(GROUP_METADATA).get("generation")
    return group.fields(group_fold.RECORDS_OF[group.type].group).get("epoch")


def members_of(group: FoldedGroup, names: Names) -> Iterator[Member]:
    """Yield the members of a group by their ids."""
    if group.type == group_fold.CLASSIC:
        of_group = group.fields(GROUP_METADATA)
        is_consumer = of_group.get("protocolType") == CONSUMER_PROTOCOL_TYPE
        for member in sorted(of_group.get("members", ()), key=lambda member: str(member["memberId"])):
            subscription = _embedded(member, "subscription") if is_consumer else None
            assignment = _embedded(member, "assignment") if is_consumer else None
            names_of = None if subscription is None else tuple(sorted(subscription["topics"]))
            topics = None if assignment is None else assignment["assignedPartitions"]
            partitions = None if topics is None else _partitions(topics, "topic", {})
            client = member.get("groupInstanceId"), member["clientId"], member["clientHost"]
            yield Member(member["memberId"], *client, partitions, names_of)
        return
    numbers = group_fold.RECORDS_OF[group.type]
    current, about = group.of_type(numbers.current), group.of_type(numbers.member)
    for member_id in sorted(current.keys() | about.keys()):
        placement, member = current.get(member_id, {}), about.get(member_id, {})
        if group.type == group_fold.STREAMS:
            assigned, topics = _tasks(group, placement), source_topics(group)
        else:
            assigned = _partitions(placement.get("assignedPartitions", ()), "topicId", names)
            topics = {*member.get("subscribedTopicNames", ()), *_matched(group, member)}
        client = member.get("instanceId"), member.get("clientId", ""), member.get("clientHost", "")
        yield Member(member_id, *client, assigned, tuple(sorted(topics)))


def _embedded(member: Fields, name: str) -> Fields | None:
    """Return what a classic member's bytes say, read as of version 0; None where they are no consumer's."""
    data = member[name]
    try:
        _, start = int16(data, 0)
        schema = CONSUMER_PROTOCOL[CONSUMER_PROTOCOL_FIELDS[name]]
        return dict(read_message(schema, 0, data, start, Collector(replace_invalid_utf8=True)).fields)
    except FormatError:
        return None


def _partitions(topics: "list[Fields]", key: str, names: Names) -> tuple[TopicPartition, ...]:
    named = [(str(topic[key]), number) for topic in topics for number in topic["partitions"]]
    return tuple(sorted(TopicPartition(names.get(topic, topic), number) for topic, number in named))


def _matched(group: FoldedGroup, member: Fields) -> list[str]:
    """Return the topics that the regular expression of a member matched when the coordinator last looked."""
    regex = member.get("subscribedTopicRegex")
    return group.records.get((REGULAR_EXPRESSION, regex), {}).get("topics", []) if regex else []


def _topics_read(group: FoldedGroup) -> dict[str, list[str]]:
    """Return the topics that each subtopology of a streams group reads."""
    subtopologies = group.fields(TOPOLOGY).get("subtopologies", ())
    return {
        subtopology["subtopologyId"]: subtopology["sourceTopics"]
        + [each["name"] for each in subtopology["repartitionSourceTopics"]]
        for subtopology in subtopologies
    }


def source_topics(group: FoldedGroup) -> set[str]:
    """Return the topics that a streams group reads."""
    return {topic for topics in _topics_read(group).values() for topic in topics}


def _tasks(group: FoldedGroup, current: Fields) -> tuple[TopicPartition, ...]:
    """Return the partitions of the active tasks of a member: a task has one of each topic it reads."""
    topics, tasks = _topics_read(group), current.get("activeTasks", ())
    pairs = ((topic, task) for task in tasks for topic in topics.get(task["subtopologyId"], ()))
    assigned = (TopicPartition(topic, number) for topic, task in pairs for number in task["partitions"])
    return tuple(sorted(assigned))


class Expiry(NamedTuple):
    """How the offsets of a group expire.

    `base`: from when retention counts, None: of each commit; `subscribed`: topics that stay, None for all.
    """

    base: int | None
    subscribed: frozenset[str] | None

    def of(self, topic: str, fields: Fields, retention_ms: int) -> int | None:
        """Return when an offset expires; None for one that stays while the group is as it is."""
        if self.subscribed is None or topic in self.subscribed:
            return None
        stored = fields["expireTimestamp"]
        if stored != -1:
            return int(stored)
        return int(fields["commitTimestamp"] if self.base is None else self.base) + retention_ms


def expiry_of(group: FoldedGroup) -> Expiry:
    """Return how the offsets of a group expire."""
    if group.type == group_fold.SHARE:
        return Expiry(None, None)
    if group.type == group_fold.STREAMS:
        topics = source_topics(group) if state_of(group) != EMPTY else set()
        return Expiry(None, frozenset(topics))
    members = list(members_of(group, {}))
    topics_of = [member.subscribed_topics for member in members]
    subscribed = frozenset(topic for topics in topics_of for topic in topics or ())
    if group.type == group_fold.CONSUMER:
        return Expiry(None, subscribed)
    of_group = group.fields(GROUP_METADATA)
    if not of_group.get("protocolType"):
        return Expiry(None, frozenset())
    if not members:
        since = of_group.get("currentStateTimestamp", -1)
        return Expiry(None if since == -1 else since, frozenset())
    is_known = of_group.get("protocol") is not None and None not in topics_of
    return Expiry(None, subscribed if is_known else None)
