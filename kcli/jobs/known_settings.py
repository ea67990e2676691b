"""What the metadata logs among the inputs of a command say: settings of topics, topic ids, replicas."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kcli.analysis.metadata_image import Image
from kcli.analysis.start_settings import BrokerSettings, KnownSettings, broker_settings, topic_configs
from kcli.jobs.cluster import read_metadata
from kcli.logdir.buffers import FileError
from kcli.logdir.directory import directory_facts
from kcli.logdir.metadata_dirs import metadata_log
from kcli.logdir.tree import Found


class KnownMetadata(NamedTuple):
    """The metadata image of a broker's log dir."""

    cluster_id: str | None
    broker_id: int | None
    image: Image


def metadata_of(found: Found) -> list[KnownMetadata]:
    """Return the metadata image of each log dir among the inputs that has one.

    One that cannot be read is a finding of its own.
    """
    known = []
    for log_dir in found.log_dirs:
        path = metadata_log(log_dir)
        if path is None:
            continue
        try:
            image = read_metadata(path)
        except FileError:
            continue
        facts = directory_facts(log_dir)
        known.append(KnownMetadata(facts.cluster_id, facts.broker_id, image))
    return known


def newest_images(known: Iterable[KnownMetadata]) -> dict[str | None, Image]:
    """Return the newest image of each cluster, by its id."""
    return {one.cluster_id: one.image for one in sorted(known, key=lambda one: one.image.offset)}


def known_settings(known: Iterable[KnownMetadata], properties: Mapping[str, str] | None) -> KnownSettings:
    """Return what a broker's server.properties says, None without it, and the metadata of each cluster."""
    broker = BrokerSettings() if properties is None else broker_settings(properties)
    images = newest_images(known)
    return KnownSettings(broker, {cluster_id: topic_configs(image) for cluster_id, image in images.items()})
