"""What the metadata log of a partition's broker says about the partition's topic."""

import os
from functools import lru_cache

from formats.names import parse_partition_dir
from kcli.kafka.kraft.metadata_image import Image
from kcli.kafka.kraft.metadata_source import metadata_of_log
from kcli.kafka.kraft.start_settings import topic_config
from kcli.kafka.storage.loaded_log import TopicConfig, checkpoints
from kcli.kafka.storage.log_loader import LogLoader
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.log_dirs import METADATA_DIRECTORY, is_running, metadata_log, metadata_place, version_of
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target


def cluster_image(target: Target) -> Image | None:
    """Return the cluster metadata that the broker of a target has; None where there is none to be read.

    A running broker adds to its log all the time: that is read anew with each segment and each snapshot.
    """
    place = metadata_place(target.log_dir, target.metadata_dir)
    if place is None:
        return None
    log_dir, path = place
    return _image(path, log_dir, _names(path) if is_running(target) else _versions(path))


def image_in(log_dir: str) -> Image | None:
    """Return the cluster metadata that a log dir holds; None where there is none to be read."""
    path = metadata_log(log_dir)
    return None if path is None else _image(path, log_dir, _versions(path))


def configuration_of(partition: Partition) -> TopicConfig | None:
    """Return the configuration of the topic of a partition; None where that is not known.

    As `LogManager.loadLog`: by the name of the topic.
    """
    image = cluster_image(partition.target)
    return None if image is None else topic_config(image, partition.topic or "")


@lru_cache(maxsize=8)
def _image(path: str, log_dir: str, _versions: tuple[object, ...]) -> Image | None:
    name = parse_partition_dir(METADATA_DIRECTORY)
    partition = Partition(Target(kind=PARTITION, path=path, shown=shown(path), name=name, log_dir=log_dir))
    try:
        loader = LogLoader(partition, checkpoints(partition), exact=True)
        return metadata_of_log(partition, loader.load()).image
    except (BrokerError, FileError):
        return None


def _versions(path: str) -> tuple[object, ...]:
    """Return what changes when the metadata log does."""
    return tuple(version_of(os.path.join(path, name)) for name in _names(path))


def _names(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(path)))
    except OSError:
        return ()
