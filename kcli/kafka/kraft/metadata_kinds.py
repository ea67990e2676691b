"""What a metadata image knows, by kind: topics, partitions, brokers ... each by a key, a name and its facts.

The facts have the names of the columns of `kcli metadata show`; a configuration's and a quota's are settings.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from formats.messages.metadata import CONFIG_RESOURCES, name_of_code
from kcli.kafka.kraft.metadata_image import TOPIC, Endpoint, Fields, Image, Topic
from kcli.kafka.kraft.metadata_loader import Metadata, Voter

Key: TypeAlias = Any
Facts: TypeAlias = dict[str, Any]


class ImageKind(NamedTuple):
    """A kind of what an image knows: its noun, all its keys, and the name and facts of what has a key."""

    noun: str
    keys: Callable[[Metadata], Iterable[Key]]
    facts: Callable[[Metadata, Key], Facts | None]
    name: Callable[[Metadata, Key], str]


def _word(field: str, number: int) -> str:
    return name_of_code(field, number) or str(number)


def endpoints(given: Iterable[Fields]) -> tuple[Endpoint, ...]:
    """Return the endpoints that a record names; those of voters have no protocol."""
    return tuple(
        Endpoint(
            one["name"],
            one["host"],
            one["port"],
            _word("securityProtocol", one["securityProtocol"]) if "securityProtocol" in one else None,
        )
        for one in given
    )


def _topic(found: Metadata, topic_id: str) -> Facts | None:
    topic = found.image.topics.get(topic_id)
    if topic is None:
        return None
    configs = found.image.configs.get((TOPIC, topic.name), {})
    return {
        "topic": topic.name,
        "topic_id": topic_id,
        "partitions": len(topic.partitions),
        "configs": dict(configs),
    }


def _topic_name(found: Metadata, topic_id: str) -> str:
    return found.image.topics.get(topic_id, Topic(topic_id)).name


def _partition_keys(found: Metadata) -> Iterable[tuple[str, int]]:
    return ((topic_id, number) for topic_id, number, _ in found.image.partitions())


def _partition(found: Metadata, key: tuple[str, int]) -> Facts | None:
    topic = found.image.topics.get(key[0])
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


def _broker(found: Metadata, node_id: int) -> Facts | None:
    broker = found.image.brokers.get(node_id)
    if broker is None:
        return None
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


def _controller(found: Metadata, node_id: int) -> Facts | None:
    fields = found.image.controllers.get(node_id)
    return (
        None
        if fields is None
        else {
            "node_id": node_id,
            "incarnation_id": fields["incarnationId"],
            "endpoints": endpoints(fields["endPoints"]),
        }
    )


def resource_name(key: tuple[int, str]) -> str:
    """Return the type and name of what a configuration is of, as `topic orders`."""
    return f"{CONFIG_RESOURCES.get(key[0], str(key[0])).lower().replace('_', '-')} {key[1] or 'default'}"


def _acl(found: Metadata, acl_id: str) -> Facts | None:
    fields = found.image.acls.get(acl_id)
    return (
        None
        if fields is None
        else {
            "id": acl_id,
            "resource_type": _word("resourceType", fields["resourceType"]),
            "resource_name": fields["resourceName"],
            "pattern_type": _word("patternType", fields["patternType"]),
            "principal": fields["principal"],
            "host": fields["host"],
            "operation": _word("operation", fields["operation"]),
            "permission": _word("permissionType", fields["permissionType"]),
        }
    )


def _scram(found: Metadata, key: tuple[str, int]) -> Facts | None:
    fields = found.image.scram.get(key)
    return (
        None
        if fields is None
        else {
            "user": key[0],
            "mechanism": _word("mechanism", key[1]),
            "iterations": fields["iterations"],
        }
    )


def _token(found: Metadata, token_id: str) -> Facts | None:
    fields = found.image.tokens.get(token_id)
    return (
        None
        if fields is None
        else {
            "token_id": token_id,
            "owner": fields["owner"],
            "requester": fields["requester"],
            "renewers": tuple(fields["renewers"]),
            "issue_timestamp": fields["issueTimestamp"],
            "expiry_timestamp": fields["expirationTimestamp"],
            "max_timestamp": fields["maxTimestamp"],
        }
    )


def _producer_ids(found: Metadata, _: Key) -> Facts | None:
    known = found.image.next_producer_id
    return None if known < 0 else {"next_producer_id": known}


def voters(found: Metadata) -> dict[int, Voter]:
    """Return the voters by id: of the last VotersRecord, else those that the last leader named."""
    named = found.quorum.voters if found.quorum is not None else ()
    return {one.node_id: one for one in found.voters or (Voter(number, None) for number in named)}


def kraft_version(found: Metadata) -> int:
    """Return the level of kraft.version."""
    return found.kraft_versions[-1].level if found.kraft_versions else 0


def _voter(found: Metadata, voter_id: int) -> Facts | None:
    voter = voters(found).get(voter_id)
    return (
        None
        if voter is None
        else {
            "voter_id": voter_id,
            "directory_id": voter.directory_id,
            "endpoints": endpoints(voter.endpoints),
            "kraft_version": kraft_version(found),
        }
    )


def _entity(_: Metadata, key: Iterable[tuple[str, str | None]]) -> str:
    return ", ".join(f"{kind} {name or 'default'}" for kind, name in key)


def _by_name(image: Image) -> list[str]:
    return sorted(image.topics, key=lambda one: image.topics[one].name)


IMAGE_KINDS: dict[str, ImageKind] = {
    "topics": ImageKind("topic", lambda found: _by_name(found.image), _topic, _topic_name),
    "partitions": ImageKind(
        "partition", _partition_keys, _partition, lambda found, key: f"{_topic_name(found, key[0])}-{key[1]}"
    ),
    "brokers": ImageKind(
        "broker", lambda found: sorted(found.image.brokers), _broker, lambda _, key: f"broker {key}"
    ),
    "controllers": ImageKind(
        "controller",
        lambda found: sorted(found.image.controllers),
        _controller,
        lambda _, key: f"controller {key}",
    ),
    "configs": ImageKind(
        "config",
        lambda found: sorted(found.image.configs),
        lambda found, key: dict(found.image.configs.get(key, {})) or None,
        lambda _, key: resource_name(key),
    ),
    "features": ImageKind(
        "feature",
        lambda found: sorted(found.image.features),
        lambda found, key: (
            {"feature": key, "level": found.image.features[key]} if key in found.image.features else None
        ),
        lambda _, key: key,
    ),
    "acls": ImageKind(
        "acl",
        lambda found: sorted(found.image.acls),
        _acl,
        lambda found, key: " ".join([*((_acl(found, key) or {"id": key}).values())][1:]) or key,
    ),
    "quotas": ImageKind(
        "quota",
        lambda found: sorted(found.image.quotas, key=str),
        lambda found, key: dict(found.image.quotas.get(key, {})) or None,
        _entity,
    ),
    "scram": ImageKind(
        "scram",
        lambda found: sorted(found.image.scram),
        _scram,
        lambda _, key: f"user {key[0]} {_word('mechanism', key[1])}",
    ),
    "tokens": ImageKind(
        "token", lambda found: sorted(found.image.tokens), _token, lambda _, key: f"token {key}"
    ),
    "producer-ids": ImageKind(
        "producer-ids",
        lambda found: [()] if found.image.next_producer_id >= 0 else [],
        _producer_ids,
        lambda *_: "producer ids",
    ),
    "voters": ImageKind("voter", lambda found: sorted(voters(found)), _voter, lambda _, key: f"voter {key}"),
}
"""By the words of `kcli metadata show`."""
