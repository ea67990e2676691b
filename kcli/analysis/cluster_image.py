"""What the metadata log of a partition's broker says about the partition's topic."""

import os
from functools import lru_cache

from formats.names import parse_partition_dir
from kcli.analysis.loaded_log import checkpoints
from kcli.analysis.log_loader import LogLoader
from kcli.analysis.log_segment import BrokerError
from kcli.analysis.metadata_image import Image
from kcli.analysis.metadata_source import metadata_of_log
from kcli.analysis.start_settings import topic_config
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.directory import version_of
from kcli.logdir.metadata_dirs import METADATA_DIRECTORY, metadata_log
from kcli.logdir.partition import Partition
from kcli.logdir.tree import PARTITION, Target

Version = tuple[int, int, int]


def cluster_image(target: Target) -> Image | None:
    """Return the cluster metadata that the broker of a target has; None where there is none to be read."""
    for log_dir in (target.log_dir, target.metadata_dir):
        path = None if log_dir is None else metadata_log(log_dir)
        if path is not None:
            return _image(path, log_dir, _versions(path))
    return None


def is_tiered_by_configuration(partition: Partition) -> bool | None:
    """Whether the topic of a partition is tiered by its configuration; None where that is not known.

    As `LogManager.loadLog`: by the name of the topic, and one without a configuration is not.
    """
    image = cluster_image(partition.target)
    config = None if image is None else topic_config(image, partition.topic or "")
    return None if config is None else config.remote_storage


@lru_cache(maxsize=8)
def _image(path: str, log_dir: str, _versions: tuple[Version | None, ...]) -> Image | None:
    name = parse_partition_dir(METADATA_DIRECTORY)
    partition = Partition(Target(kind=PARTITION, path=path, shown=shown(path), name=name, log_dir=log_dir))
    try:
        loader = LogLoader(partition, checkpoints(partition), exact=True)
        return metadata_of_log(partition, loader.load()).image
    except (BrokerError, FileError):
        return None


def _versions(path: str) -> tuple[Version | None, ...]:
    """Return what changes when the metadata log does."""
    try:
        return tuple(version_of(os.path.join(path, name)) for name in sorted(os.listdir(path)))
    except OSError:
        return ()
