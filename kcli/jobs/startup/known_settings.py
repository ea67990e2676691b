"""What the metadata logs among the inputs of a command say: settings of topics, topic ids, replicas."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kcli.kafka.kraft.cluster_image import image_in
from kcli.kafka.kraft.metadata_image import Image
from kcli.kafka.kraft.start_settings import BrokerSettings, KnownSettings, broker_settings, topic_configs
from kcli.kafka.storage.loaded_log import TopicConfig
from kcli.logdir.find import Found
from kcli.logdir.log_dirs import directory_facts


class KnownMetadata(NamedTuple):
    """The metadata image of a broker's log dir."""

    cluster_id: str | None
    broker_id: int | None
    log_dir: str
    image: Image


def metadata_of(found: Found) -> list[KnownMetadata]:
    """Return the metadata image of each log dir among the inputs that has one.

    One that cannot be read is a finding of its own.
    """
    known = []
    for log_dir in found.log_dirs:
        image = image_in(log_dir)
        if image is not None:
            facts = directory_facts(log_dir)
            known.append(KnownMetadata(facts.cluster_id, facts.broker_id, log_dir, image))
    return known


def newest_images(known: Iterable[KnownMetadata]) -> dict[str | None, Image]:
    """Return the newest image of each cluster, by its id."""
    return {one.cluster_id: one.image for one in sorted(known, key=lambda one: one.image.offset)}


def known_settings(known: Iterable[KnownMetadata], properties: Mapping[str, str] | None) -> KnownSettings:
    """Return what a broker's server.properties says, None without it, and the metadata of each log dir."""
    broker = BrokerSettings() if properties is None else broker_settings(properties)
    clusters: dict[str | None, dict[str, TopicConfig]] = {}
    log_dirs: dict[str, dict[str, TopicConfig]] = {}
    for one in sorted(known, key=lambda one: -one.image.offset):
        configs = topic_configs(one.image)
        newest = clusters.setdefault(one.cluster_id, configs)
        log_dirs[one.log_dir] = newest if configs == newest else configs  # equal ones are pickled once
    return KnownSettings(broker, clusters, log_dirs)
