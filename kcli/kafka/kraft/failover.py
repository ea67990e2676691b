"""What happens when brokers go away: the partitions that change.

As `ReplicationControlManager.handleBrokerFenced`: for each partition with the broker in its ISR. Brokers go
one after the other, in the order given.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcli.kafka.kraft import election
from kcli.kafka.kraft.election import Rules
from kcli.kafka.kraft.metadata_image import (
    ELR_FEATURE,
    MIN_ISR,
    UNCLEAN_ELECTION,
    Image,
    PartitionState,
    merged,
)
from kcli.kafka.kraft.releases import METADATA_VERSION

NEW_LEADER, OFFLINE, SHRINKS, UNCHANGED = "new-leader", "offline", "isr-shrinks", "unchanged"
NEWEST_VERSION = 1 << 15
"""For metadata that names no metadata.version: as the newest release does."""


class Defaults(NamedTuple):
    """Settings of server.properties, for topics and clusters without their own in the metadata."""

    min_isr: int = 1
    may_be_unclean: bool = False


class Forecast(NamedTuple):
    """A partition before and after; `elected` is the last election that was held, None without one."""

    topic: str
    topic_id: str
    number: int
    before: PartitionState
    after: PartitionState
    elected: election.Elected | None
    min_isr: int

    @property
    def outcome(self) -> str:
        """What becomes of the partition, in a word."""
        if self.after.leader == election.NO_LEADER:
            return OFFLINE
        if self.after.leader != self.before.leader:
            return NEW_LEADER
        return UNCHANGED if self.after.isr == self.before.isr else SHRINKS

    @property
    def is_unclean(self) -> bool:
        """Whether the next leader is elected although it may lack records."""
        return self.elected is not None and self.elected.is_unclean

    @property
    def reason(self) -> str:
        """Why this leader is elected, or none."""
        if self.elected is not None:
            return self.elected.rule
        return election.NO_REPLICA if self.after.leader == election.NO_LEADER else election.LEADER_STAYS


def rules_for(
    image: Image, topic_id: str, partition: PartitionState, defaults: Defaults, failed: Sequence[int] = ()
) -> Rules:
    """Return what elections of a partition depend on; brokers that `failed` may not lead."""
    topic = image.topics[topic_id]
    min_isr = image.config(topic.name, MIN_ISR)
    unclean = image.config(topic.name, UNCLEAN_ELECTION)
    configured = int(min_isr) if min_isr is not None and min_isr.isdecimal() else defaults.min_isr
    first = topic.partitions.get(0, partition)
    return Rules(
        is_acceptable=lambda broker: broker not in failed and image.is_acceptable(partition, broker),
        min_isr=min(configured, len(first.replicas)),
        may_be_unclean=defaults.may_be_unclean if unclean is None else unclean.lower() == "true",
        has_elr=image.features.get(ELR_FEATURE, 0) > 0,
        metadata_version=image.features.get(METADATA_VERSION, NEWEST_VERSION),
    )


def forecast(
    image: Image, brokers: Sequence[int], defaults: Defaults, *, zookeeper: bool = False
) -> Iterator[Forecast]:
    """Yield every partition as it is and as it would be once the brokers are gone."""
    for topic_id, number, before in image.partitions():
        partition, last = before, None
        rules = rules_for(image, topic_id, before, defaults)
        for position, broker in enumerate(brokers):
            failed = brokers[: position + 1]
            if broker not in partition.isr:
                continue
            rules = rules_for(image, topic_id, partition, defaults, failed)
            if zookeeper:
                partition, last = election.zookeeper_failure(
                    partition, broker, is_live=rules.is_acceptable, may_be_unclean=rules.may_be_unclean
                )
                continue
            isr = tuple(replica for replica in partition.isr if replica != broker)
            change, last = election.changed(partition, isr, rules)
            if change is not None:
                partition = merged(partition, change)
        topic = image.topics[topic_id].name
        yield Forecast(topic, topic_id, number, before, partition, last, rules.min_isr)
