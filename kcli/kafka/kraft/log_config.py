"""The configuration with which a broker keeps the log of a topic, and where each setting comes from.

A topic's setting goes before the broker's: its dynamic one, that of all brokers, then server.properties
(`LogConfig`, `ServerTopicConfigSynonyms`). Names are the topic's; numbers are ms and bytes.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from formats.names import CONSUMER_OFFSETS, REMOTE_LOG_METADATA, SHARE_GROUP_STATE, TRANSACTION_STATE
from kcli.kafka.kraft.log_settings import NEVER_TIERED
from kcli.kafka.kraft.metadata_image import BROKER, TOPIC, Image

OF_OPTION, OF_TOPIC, OF_BROKER, OF_DEFAULT = "option", "topic", "broker", "default"
OF_CHECKPOINT, OF_BATCHES = "cleaner-offset-checkpoint", "cleaned-batches"
DELETES = "delete"
POLICY = "cleanup.policy"
MINUTES, HOURS = 60_000, 3_600_000
LARGEST, MAX_INT = (1 << 63) - 1, (1 << 31) - 1
CLEANER_ENTRY = 24
"""Bytes of a key in the cleaner's memory: its MD5 and an offset."""


class Synonyms(NamedTuple):
    """The default of a topic's setting, its least value, and the broker's names for it, each with a unit."""

    default: str
    broker_names: tuple[tuple[str, int], ...] = ()
    least: int = 0

    def refusal(self, value: str) -> str | None:
        """Return what a broker expects where it refuses a value."""
        if self.default in {"true", "false"}:
            return None if value.strip().lower() in {"true", "false"} else "true or false"
        if self.default == DELETES:
            policies = {policy.strip() for policy in value.split(",")} - {""}
            return None if policies <= {DELETES, "compact"} else "delete, compact or compact,delete"
        is_whole = self.default.lstrip("-").isdigit()
        number = math.nan
        if value.removeprefix("-").isdigit() or not is_whole:
            with suppress(ValueError):
                number = int(value) if is_whole else float(value)
        kind, most = ("a whole number", LARGEST) if is_whole else ("a number", 1)
        return None if self.least <= number <= most else f"{kind} from {self.least} to {most}"


def _of(default: object, *names: str, least: int = 0) -> Synonyms:
    units = {"minutes": MINUTES, "hours": HOURS}
    return Synonyms(
        str(default), tuple((name, units.get(name.rpartition(".")[2], 1)) for name in names), least
    )


TOPIC_SETTINGS = {
    POLICY: _of(DELETES, "log.cleanup.policy"),
    "retention.ms": _of(
        168 * HOURS, "log.retention.ms", "log.retention.minutes", "log.retention.hours", least=-1
    ),
    "retention.bytes": _of(-1, "log.retention.bytes", least=-1),
    "segment.ms": _of(168 * HOURS, "log.roll.ms", "log.roll.hours", least=1),
    "segment.bytes": _of(1 << 30, "log.segment.bytes"),
    "segment.index.bytes": _of(10 << 20, "log.index.size.max.bytes"),
    "min.cleanable.dirty.ratio": _of(0.5, "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": _of(0, "log.cleaner.min.compaction.lag.ms"),
    "max.compaction.lag.ms": _of(LARGEST, "log.cleaner.max.compaction.lag.ms"),
    "delete.retention.ms": _of(24 * HOURS, "log.cleaner.delete.retention.ms"),
    "remote.storage.enable": _of("false"),
    "remote.log.copy.disable": _of("false"),
    "local.retention.ms": _of(-2, "log.local.retention.ms", least=-2),
    "local.retention.bytes": _of(-2, "log.local.retention.bytes", least=-2),
}
INTERNAL_SEGMENT_BYTES = "internal.segment.bytes"
"""Goes before segment.bytes, whose least value is 1 MiB."""
COMPACT, KEPT = {POLICY: _of("compact")}, {POLICY: _of("delete"), "retention.ms": _of(-1)}
OF_INTERNAL_TOPICS = {
    CONSUMER_OFFSETS: COMPACT | {"segment.bytes": _of(100 << 20, "offsets.topic.segment.bytes")},
    TRANSACTION_STATE: COMPACT | {"segment.bytes": _of(100 << 20, "transaction.state.log.segment.bytes")},
    SHARE_GROUP_STATE: KEPT
    | {"segment.bytes": _of(100 << 20, "share.coordinator.state.topic.segment.bytes")},
    REMOTE_LOG_METADATA: KEPT
    | {"retention.ms": _of(-1, "rlmm.config.remote.log.metadata.topic.retention.ms")},
}
"""With what a broker makes a topic of its own; used where the metadata does not know the topic.

As `groupMetadataTopicConfigs`, `transactionTopicConfigs`, `shareGroupStateTopicConfigs`, and
`TopicBasedRemoteLogMetadataManager.newRemoteLogMetadataTopic`.
"""
REMOTE_STORAGE = "remote.log.storage.system.enable"
CLEANER_ENABLE = "log.cleaner.enable"


class LogConfig(NamedTuple):
    """The settings of a log, and of each where it comes from: option, topic, broker, default.

    A policy may be known by what a cleaner left. `of_broker`: by its names; `is_known`: by the metadata.
    """

    topic: str
    values: Mapping[str, str]
    sources: Mapping[str, str]
    of_broker: Mapping[str, str] = {}
    is_known: bool = True

    @property
    def is_in_force(self) -> bool:
        """Whether the broker has these settings: of a topic that is known or its own, and none is tried."""
        return OF_OPTION not in self.sources.values() and (self.is_known or self.topic in OF_INTERNAL_TOPICS)

    def number(self, name: str) -> int:
        """Return a setting as a whole number; its default where the broker would refuse it."""
        try:
            return int(self.values[name])
        except ValueError:
            return int(TOPIC_SETTINGS[name].default)

    @property
    def policy(self) -> frozenset[str]:
        """The words of cleanup.policy."""
        return frozenset(filter(None, (policy.strip() for policy in self.values[POLICY].split(","))))

    def is_set(self, name: str) -> bool:
        """Whether a setting is true."""
        return self.values[name].strip().lower() == "true"

    @property
    def is_tiered(self) -> bool:
        """Whether the log is in remote storage, too."""
        return self.is_set("remote.storage.enable") and self.can_be_tiered

    @property
    def can_be_tiered(self) -> bool:
        """Whether remote.storage.enable counts for the log."""
        has_storage = self.of_broker[REMOTE_STORAGE].strip().lower() == "true"
        return has_storage and "compact" not in self.policy and self.topic not in NEVER_TIERED

    @property
    def has_cleaner(self) -> bool:
        """Whether the broker has a log cleaner, which also deletes the segments of compacted logs."""
        return self.of_broker.get(CLEANER_ENABLE, "true").strip().lower() != "false"

    def cleaned(self, by: str) -> "LogConfig":
        """Return the same of a log that a cleaner has cleaned: compacted, unless the policy is known."""
        if self.is_known or "compact" in self.policy or self.sources[POLICY] == OF_OPTION:
            return self
        values, sources = {**self.values, POLICY: "compact"}, {**self.sources, POLICY: by}
        return self._replace(values=values, sources=sources)

    @property
    def ratio(self) -> float:
        """The min.cleanable.dirty.ratio."""
        try:
            return float(self.values["min.cleanable.dirty.ratio"])
        except ValueError:
            return float(TOPIC_SETTINGS["min.cleanable.dirty.ratio"].default)

    @property
    def cleaner_keys(self) -> int:
        """How many keys a thread of the cleaner holds: so much of its share of the memory as may be full."""
        threads = max(self._of_broker("log.cleaner.threads", 1), 1)
        share = self._of_broker("log.cleaner.dedupe.buffer.size", 128 << 20) // threads
        load_factor = self._of_broker("log.cleaner.io.buffer.load.factor", 0.9)
        return max(int(min(int(share), MAX_INT) // CLEANER_ENTRY * load_factor), 1)

    def _of_broker(self, name: str, default: float) -> float:
        try:
            return float(self.of_broker[name])
        except (KeyError, ValueError):
            return default

    @property
    def segment_ms(self) -> int:
        """After how many ms a segment rolls (`LogConfig.maxSegmentMs`)."""
        segment_ms, lag = self.number("segment.ms"), self.number("max.compaction.lag.ms")
        return min(segment_ms, lag) if "compact" in self.policy and lag > 0 else segment_ms


def log_config(
    topic: str,
    image: Image | None,
    *,
    broker_id: int | None = None,
    server: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> LogConfig:
    """Return the settings of a topic's logs on a broker; `options` go before all others.

    `image`: the cluster's metadata, if here; `server`: its server.properties; topics may be tiered without.
    """
    of_broker = {REMOTE_STORAGE: "false" if server else "true", **(server or {})}
    of_topic: Mapping[str, str] = {}
    if image is not None:
        of_broker |= image.configs.get((BROKER, ""), {})
        of_broker |= image.configs.get((BROKER, str(broker_id)), {})
        of_topic = image.configs.get((TOPIC, topic), {})
    is_known = image is not None and any(each.name == topic for each in image.topics.values())
    made_with = {} if is_known else OF_INTERNAL_TOPICS.get(topic, {})
    values, sources = {}, {}
    for name, synonyms in (TOPIC_SETTINGS | made_with).items():
        topic_name = name
        if name == "segment.bytes" and (INTERNAL_SEGMENT_BYTES in of_topic):
            topic_name = INTERNAL_SEGMENT_BYTES
        if options is not None and name in options:
            values[name], sources[name] = options[name], OF_OPTION
        elif topic_name in of_topic:
            values[name], sources[name] = of_topic[topic_name], OF_TOPIC
        elif (value := _broker_value(synonyms, of_broker)) is not None:
            values[name], sources[name] = value, OF_BROKER
        else:
            values[name], sources[name] = synonyms.default, OF_DEFAULT
    return LogConfig(topic, values, sources, of_broker, is_known=is_known)


def refused_setting(server: Mapping[str, str]) -> str | None:
    """Return in words a setting of logs in a server.properties with which a broker does not start."""
    for synonyms in TOPIC_SETTINGS.values():
        for name, _ in synonyms.broker_names:
            expected = (
                synonyms._replace(least=-LARGEST).refusal(server[name].strip()) if name in server else None
            )
            if expected is not None:
                return f"{name}={server[name]}: expected {expected}"
    return None


def _broker_value(synonyms: Synonyms, of_broker: Mapping[str, str]) -> str | None:
    for name, unit in synonyms.broker_names:
        if name in of_broker:
            value = of_broker[name].strip()
            return str(max(int(value) * unit, synonyms.least)) if value.lstrip("-").isdigit() else value
    return None
