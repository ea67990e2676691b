"""What a start asks the metadata log, where it goes by it: the settings of the topic of a log.

Whether the log begins in remote storage: its log start then lies below its first segment. How recovery makes
indexes.
"""

from collections.abc import Callable
from typing import TypeAlias

from formats.types import TopicPartition
from kcli.kafka.storage.loaded_log import Settings, TopicConfig
from kcli.logdir.partition import Partition

Configured: TypeAlias = Callable[[Partition], TopicConfig | None]
"""What the configuration of a partition's topic says; None where that is not known."""


def completed(settings: Settings, partition: Partition, configured: Configured) -> Settings:
    """Return the settings with which a log is recovered; what is given wins over the topic's."""
    if settings.is_completed:
        return settings
    server = partition.target.server
    return settings.completed(
        configured(partition),
        index_interval_bytes=server.index_interval_bytes,
        segment_index_bytes=server.segment_index_bytes,
    )


def is_tiered(
    partition: Partition, first_base_offset: int, configured: Configured, *, given: bool | None
) -> bool | None:
    """Whether a log is tiered, as given or where that decides about its log start. None: it is not known.

    The broker goes by the configuration of the topic (`UnifiedLog.isRemoteLogEnabled`), unless its
    server.properties switches remote storage off. That is asked for where the log dir does not show it: a log
    start is checkpointed below the first segment for tiered topics alone, and where a retention ran after the
    last checkpoint (`LogManager.checkpointLogStartOffsets`). A log dir in which remote storage made its index
    cache decides where the configuration is not known.
    """
    if given is not None:
        return given
    facts, name = partition.directory, partition.target.name
    if name is None or partition.target.log_dir is None or not first_base_offset:
        return False
    if partition.target.server.remote_log is False:
        return False
    key, offsets = TopicPartition(name.topic, name.partition), facts.log_start_offsets
    is_below = offsets is not None and offsets.get(key, first_base_offset) < first_base_offset
    if offsets is not None and not is_below:
        return False
    known = configured(partition)
    if known is not None or not is_below:
        return known is not None and known.remote_storage
    return facts.remote_storage or None
