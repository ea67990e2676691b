"""What the inputs of a command say about the settings of a start: the metadata logs that lie in them."""

import os
from collections.abc import Iterator, Mapping

from formats.names import CLUSTER_METADATA
from kcli.analysis.metadata_image import Image
from kcli.analysis.start_settings import (
    BrokerSettings,
    KnownSettings,
    TopicConfig,
    broker_settings,
    topic_configs,
)
from kcli.jobs.cluster import read_metadata
from kcli.logdir.buffers import FileError
from kcli.logdir.directory import directory_facts
from kcli.logdir.tree import Found


def known_settings(found: Found, properties: Mapping[str, str] | None) -> KnownSettings:
    """Return what a broker's server.properties says, None without it, and the metadata of each cluster."""
    broker = BrokerSettings() if properties is None else broker_settings(properties)
    topics: dict[str | None, Mapping[str, TopicConfig]] = {}
    for cluster_id, image in metadata_images(found):
        topics[cluster_id] = topic_configs(image)
    return KnownSettings(broker, topics)


def metadata_images(found: Found) -> Iterator[tuple[str | None, Image]]:
    """Yield the metadata image of each log dir among the inputs that has one, with its cluster id.

    One that cannot be read is a finding of its own.
    """
    log_dirs = dict.fromkeys([*found.named_log_dirs, *(one.log_dir for one in found.targets if one.log_dir)])
    for log_dir in log_dirs:
        path = os.path.join(log_dir, f"{CLUSTER_METADATA}-0")
        if not os.path.isdir(path):
            continue
        try:
            image = read_metadata(path)
        except FileError:
            continue
        yield directory_facts(log_dir).cluster_id, image
