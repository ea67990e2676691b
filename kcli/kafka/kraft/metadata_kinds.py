"""What a metadata image knows, by kind: topics, partitions, brokers ... each by a key, a name and its facts.

The facts have the names of the columns of `kcli metadata show`; a configuration's and a quota's are settings.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from formats.messages.metadata import CONFIG_RESOURCES, name_of_code
from kcli.kafka.kraft.metadata_image import TOPIC, Broker, Endpoint, Fields, Topic
from kcli.kafka.kraft.metadata_loader import Metadata, Voter

Key: TypeAlias = Any
Facts: TypeAlias = dict[str, Any]


class ImageKind(NamedTuple):
    """A kind of what an image knows: its noun, all its keys, and the name and facts of what has a key."""

    noun: str
    keys: Callable[[Metadata], Iterable[Key]]
    facts: Callable[[Metadata, Key], Facts | None]
    name: Callable[[Metadata, Key], str]


def _name(field: str, number: int) -> str:
    return name_of_code(field, number) or str(number)


def endpoints(listeners: Iterable[Fields]) -> tuple[Endpoint, ...]:
    """Return the endpoints that a record names; those of voters have no protocol."""
    result = []
    for fields in listeners:
        code = fields.get("securityProtocol")
        protocol = None if code is None else _name("securityProtocol", code)
        result.append(Endpoint(fields["name"], fields["host"], fields["port"], protocol))
    return tuple(result)


def _mapped(
    noun: str,
    attribute: str,
    facts: Callable[[Metadata, Key, Any], Facts],
    name: Callable[[Metadata, Key], str],
    order: Callable[[Metadata, Key], Any] = lambda _, key: key,
) -> ImageKind:
    """Return the kind of what an attribute of the image maps keys to, sorted; what is empty has no facts."""

    def keys(metadata: Metadata) -> list[Key]:
        return sorted(getattr(metadata.image, attribute), key=lambda key: order(metadata, key))

    def facts_of(metadata: Metadata, key: Key) -> Facts | None:
        value = getattr(metadata.image, attribute).get(key)
        return None if value is None else facts(metadata, key, value) or None

    return ImageKind(noun, keys, facts_of, name)


def _topic(metadata: Metadata, topic_id: str, topic: Topic) -> Facts:
    configs = metadata.image.configs.get((TOPIC, topic.name), {})
    return {
        "topic": topic.name,
        "topic_id": topic_id,
        "partitions": len(topic.partitions),
        "configs": dict(configs),
    }


def _topic_name(metadata: Metadata, topic_id: str) -> str:
    return metadata.image.topics.get(topic_id, Topic(topic_id)).name


def _partition(metadata: Metadata, key: tuple[str, int]) -> Facts | None:
    topic = metadata.image.topics.get(key[0])
    state = None if topic is None else topic.partitions.get(key[1])
    if topic is None or state is None:
        return None
    return {
        "topic": topic.name,
        "topic_id": key[0],
        "partition": key[1],
        "leader": state.leader,
        "isr": state.isr,
        "elr": state.elr,
        "last_known_elr": state.last_known_elr,
        "replicas": state.replicas,
        "adding_replicas": state.adding,
        "removing_replicas": state.removing,
        "directories": state.directories,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "leader_recovery_state": "RECOVERING" if state.is_recovering else "RECOVERED",
    }


def _broker(_: Metadata, node_id: int, broker: Broker) -> Facts:
    return {
        "node_id": node_id,
        "incarnation_id": broker.incarnation_id,
        "broker_epoch": broker.epoch,
        "fenced": broker.is_fenced,
        "in_controlled_shutdown": broker.is_shutting_down,
        "rack": broker.rack,
        "endpoints": endpoints(broker.endpoints),
        "log_dirs": broker.directories,
        "cordoned_log_dirs": broker.cordoned,
    }


def _controller(_: Metadata, node_id: int, fields: Fields) -> Facts:
    ends = endpoints(fields["endPoints"])
    return {"node_id": node_id, "incarnation_id": fields["incarnationId"], "endpoints": ends}


def resource_name(key: tuple[int, str]) -> str:
    """Return the type and name of what a configuration is of, as `topic orders`."""
    return f"{CONFIG_RESOURCES.get(key[0], str(key[0])).lower().replace('_', '-')} {key[1] or 'default'}"


def _acl(_: Metadata, acl_id: str, fields: Fields) -> Facts:
    return {
        "id": acl_id,
        "resource_type": _name("resourceType", fields["resourceType"]),
        "resource_name": fields["resourceName"],
        "pattern_type": _name("patternType", fields["patternType"]),
        "principal": fields["principal"],
        "host": fields["host"],
        "operation": _name("operation", fields["operation"]),
        "permission": _name("permissionType", fields["permissionType"]),
    }


def _acl_name(metadata: Metadata, acl_id: str) -> str:
    fields = metadata.image.acls.get(acl_id)
    return acl_id if fields is None else " ".join([*_acl(metadata, acl_id, fields).values()][1:])


def _scram(_: Metadata, key: tuple[str, int], fields: Fields) -> Facts:
    return {"user": key[0], "mechanism": _name("mechanism", key[1]), "iterations": fields["iterations"]}


def _token(_: Metadata, token_id: str, fields: Fields) -> Facts:
    return {
        "token_id": token_id,
        "owner": fields["owner"],
        "requester": fields["requester"],
        "renewers": tuple(fields["renewers"]),
        "issue_timestamp": fields["issueTimestamp"],
        "expiry_timestamp": fields["expirationTimestamp"],
        "max_timestamp": fields["maxTimestamp"],
    }


def _producer_ids(metadata: Metadata, _: Key) -> Facts | None:
    next_id = metadata.image.next_producer_id
    return None if next_id < 0 else {"next_producer_id": next_id}


def voters(metadata: Metadata) -> dict[int, Voter]:
    """Return the voters by id: of the last VotersRecord, else those that the last leader named."""
    named = metadata.quorum.voters if metadata.quorum is not None else ()
    return {voter.node_id: voter for voter in metadata.voters or (Voter(number, None) for number in named)}


def kraft_version(metadata: Metadata) -> int:
    """Return the level of kraft.version."""
    return metadata.kraft_versions[-1].level if metadata.kraft_versions else 0


def _voter(metadata: Metadata, voter_id: int) -> Facts | None:
    voter = voters(metadata).get(voter_id)
    if voter is None:
        return None
    return {
        "voter_id": voter_id,
        "directory_id": voter.directory_id,
        "endpoints": endpoints(voter.endpoints),
        "kraft_version": kraft_version(metadata),
    }


IMAGE_KINDS: dict[str, ImageKind] = {
    "topics": _mapped("topic", "topics", _topic, _topic_name, order=_topic_name),
    "partitions": ImageKind(
        "partition",
        lambda metadata: ((topic_id, number) for topic_id, number, _ in metadata.image.partitions()),
        _partition,
        lambda metadata, key: f"{_topic_name(metadata, key[0])}-{key[1]}",
    ),
    "brokers": _mapped("broker", "brokers", _broker, lambda _, key: f"broker {key}"),
    "controllers": _mapped("controller", "controllers", _controller, lambda _, key: f"controller {key}"),
    "configs": _mapped("config", "configs", lambda *item: dict(item[-1]), lambda _, key: resource_name(key)),
    "features": _mapped(
        "feature", "features", lambda _, key, level: {"feature": key, "level": level}, lambda _, key: key
    ),
    "acls": _mapped("acl", "acls", _acl, _acl_name),
    "quotas": _mapped(
        "quota",
        "quotas",
        lambda *item: dict(item[-1]),
        lambda _, key: ", ".join(f"{kind} {name or 'default'}" for kind, name in key),
        order=lambda _, key: str(key),
    ),
    "scram": _mapped("scram", "scram", _scram, lambda _, key: f"user {key[0]} {_name('mechanism', key[1])}"),
    "tokens": _mapped("token", "tokens", _token, lambda _, key: f"token {key}"),
    "producer-ids": ImageKind(
        "producer-ids",
        lambda metadata: [()] if metadata.image.next_producer_id >= 0 else [],
        _producer_ids,
        lambda *_: "producer ids",
    ),
    "voters": ImageKind(
        "voter", lambda metadata: sorted(voters(metadata)), _voter, lambda _, key: f"voter {key}"
    ),
}
"""By the words of `kcli metadata show`."""
