"""The settings of a start that a broker has from elsewhere: server.properties, and its cluster's metadata.

A log is opened with the configuration of its topic over that of the broker (`LogManager.loadLog`). A dynamic
configuration of the broker comes later: it changes logs that are open (`DynamicLogConfig`).
"""

from collections.abc import Mapping
from typing import NamedTuple

from formats.names import MADE_BY_BROKERS
from formats.properties import log_dirs
from kcli.kafka.kraft.metadata_image import BROKER, TOPIC, Image
from kcli.kafka.storage import loaded_log
from kcli.kafka.storage.loaded_log import Settings, TopicConfig
from kcli.logdir.partition import Partition
from kcli.logdir.targets import OFFSETS_RETENTION_MS, PRODUCER_EXPIRATION_MS, Server

MINUTE_MS = 60_000

NEVER_TIERED = MADE_BY_BROKERS
"""`UnifiedLog.isRemoteLogEnabled`: topics whose remote.storage.enable says nothing."""


class KnownSettings(NamedTuple):
    """What metadata logs that were read know of topics: by cluster, and by the log dir that has the log."""

    topics: Mapping[str | None, Mapping[str, TopicConfig]] = {}
    of_log_dirs: Mapping[str, Mapping[str, TopicConfig]] = {}

    def of(
        self,
        partition: Partition,
        *,
        now_ms: int = 0,
        index_interval_bytes: int | None = None,
        segment_index_bytes: int | None = None,
        remote_storage: bool | None = None,
    ) -> Settings:
        """Return the settings with which a broker opens a log; what is given wins."""
        server, topic = partition.target.server, self._topic(partition)
        settings = Settings(
            now_ms=now_ms,
            index_interval_bytes=index_interval_bytes,
            max_index_size=segment_index_bytes,
            producer_expiration_ms=server.producer_expiration_ms,
            remote_storage=remote_storage,
        )
        if remote_storage is None and server.remote_log is False:
            settings = settings._replace(remote_storage=False)
        elif remote_storage is None and topic is not None:
            settings = settings._replace(remote_storage=topic.remote_storage)
        return settings.completed(topic, server)._replace(is_completed=topic is not None)

    def is_compacted(self, partition: Partition) -> bool | None:
        """Whether the configuration of the topic says that the cleaner comes to its logs; None: not known."""
        topic = self._topic(partition)
        return None if topic is None else topic.is_compacted

    def is_tiered(self, partition: Partition) -> bool | None:
        """Whether the configuration of the topic says that its logs are tiered; None: not known."""
        topic = self._topic(partition)
        return None if topic is None else topic.remote_storage

    def _topic(self, partition: Partition) -> TopicConfig | None:
        """Return what the metadata says that the broker has, else the newest here of its cluster."""
        for log_dir in (partition.target.log_dir, partition.target.metadata_dir):
            topics = self.of_log_dirs.get(log_dir or "")
            if topics is not None:
                return topics.get(partition.topic or "")
        return self.topics.get(partition.directory.cluster_id, {}).get(partition.topic or "")


NO_KNOWN_SETTINGS = KnownSettings()


def topic_configs(image: Image) -> dict[str, TopicConfig]:
    """Return the configuration of each topic in a metadata image."""
    return {topic.name: _topic_config(image, topic.name) for topic in image.topics.values()}


def topic_config(image: Image, name: str) -> TopicConfig | None:
    """Return a topic's configuration in a metadata image; None if it is not in it, as in one that is cut."""
    is_known = any(topic.name == name for topic in image.topics.values())
    return _topic_config(image, name) if is_known else None


def _topic_config(image: Image, name: str) -> TopicConfig:
    configs = image.configs.get((TOPIC, name), {})
    policy = configs.get("cleanup.policy") or ",".join(
        of_broker.get("log.cleanup.policy", "")
        for (kind, _), of_broker in image.configs.items()
        if kind == BROKER
    )
    is_compacted = "compact" in policy
    is_enabled = configs.get("remote.storage.enable", "").strip().lower() == "true"
    return TopicConfig(
        whole_number(configs.get("index.interval.bytes")),
        whole_number(configs.get("segment.index.bytes")),
        is_enabled and not is_compacted and name not in NEVER_TIERED,
        is_compacted,
    )


def server_of(properties: Mapping[str, str]) -> Server:
    """Return what a server.properties says, with Kafka's defaults for what it does not."""
    named = log_dirs(properties)
    return Server(
        named.log_dirs,
        named.metadata_log_dir or None,
        properties.get("remote.log.storage.system.enable", "").strip().lower() == "true",
        _number_or(properties.get("log.index.interval.bytes"), loaded_log.DEFAULT_INDEX_INTERVAL_BYTES),
        _number_or(properties.get("log.index.size.max.bytes"), loaded_log.DEFAULT_MAX_INDEX_SIZE),
        _number_or(properties.get("producer.id.expiration.ms"), PRODUCER_EXPIRATION_MS),
        _number_or(properties.get("offsets.retention.minutes"), OFFSETS_RETENTION_MS // MINUTE_MS)
        * MINUTE_MS,
    )


def _number_or(text: str | None, default: int) -> int:
    number = whole_number(text)
    return default if number is None else number


def whole_number(text: str | None) -> int | None:
    """Return a setting as a number; None without one, and where the broker would refuse it."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
