"""Whether a cleaner compacts a partition, by its checkpoint and by the metadata of the topic."""

from formats.names import CLUSTER_METADATA
from kcli.kafka.findings.findings import Reporting
from kcli.kafka.integrity.checkpoints import cleaner_point
from kcli.kafka.kraft.log_config import COMPACT, OF_INTERNAL_TOPICS, POLICY
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.metadata_loader import configuration_of
from kcli.logdir.partition import Partition

COMPACTED_TOPICS = frozenset(
    topic for topic, made_with in OF_INTERNAL_TOPICS.items() if made_with[POLICY] == COMPACT[POLICY]
)
"""Topics that every cluster compacts."""


def is_compacted(*replicas: Partition, settings: KnownSettings = NO_KNOWN_SETTINGS) -> Reporting[bool | None]:
    """Yield why a cleaner's checkpoint cannot be used; return `is_cleaned` of the replicas together."""
    answer = None
    for replica in replicas:
        cleaned = is_cleaned(replica, (yield from cleaner_point(replica)), settings)
        answer = cleaned if answer is None else answer or bool(cleaned)
    return answer


def is_cleaned(partition: Partition, cleaner_point: int | None, settings: KnownSettings) -> bool | None:
    """Whether a cleaner compacts a partition, whose line in the cleaner's checkpoint is `cleaner_point`.

    None: no cleaner knows it, and no metadata log says what the policy of its topic is: neither the one of
    `settings`, nor that of its broker. Of a metadata log itself, segments are only deleted (`KafkaRaftLog`).
    """
    if partition.topic == CLUSTER_METADATA:
        return False
    if partition.topic in COMPACTED_TOPICS or cleaner_point is not None:
        return True
    by_inputs = settings.is_compacted(partition)
    if by_inputs is not None:
        return by_inputs
    config = configuration_of(partition)
    return None if config is None else config.is_compacted
