"""Whether a log begins in remote storage: its log start then lies below its first segment."""

from collections.abc import Callable
from typing import TypeAlias

from formats.types import TopicPartition
from kcli.logdir.partition import Partition

Configured: TypeAlias = Callable[[Partition], bool | None]
"""Whether the configuration of a partition's topic makes it tiered; None where that is not known."""


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
    if partition.target.remote_log is False:
        return False
    key, offsets = TopicPartition(name.topic, name.partition), facts.log_start_offsets
    is_below = offsets is not None and offsets.get(key, first_base_offset) < first_base_offset
    if offsets is not None and not is_below:
        return False
    known = configured(partition)
    if known is not None or not is_below:
        return bool(known)
    return facts.remote_storage or None
