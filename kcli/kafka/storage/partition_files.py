"""The two text files of a partition directory as a starting broker reads them.

`leader-epoch-checkpoint` (LeaderEpochCheckpointFile, then LeaderEpochFileCache) and `partition.metadata`
(`UnifiedLog.initializeTopicId`).
"""

import os

from formats.checkpoint import (
    IO_EXCEPTION,
    EpochEntry,
    check_epoch_entries,
    java_exception,
    read_leader_epoch_checkpoint,
)
from formats.errors import FormatError, TruncatedError
from formats.names import CLUSTER_METADATA
from formats.properties import read_partition_metadata
from kcli.kafka.storage import epochs
from kcli.kafka.storage.epochs import EpochCache
from kcli.kafka.storage.loaded_log import METADATA_TOPIC_ID
from kcli.kafka.storage.log_segment import ILLEGAL_ARGUMENT, KAFKA_STORAGE, BrokerError
from kcli.logdir.buffers import read_optional
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, Partition


def epoch_file(partition: Partition) -> tuple[tuple[EpochEntry, ...] | None, EpochCache]:
    """Return the lines of leader-epoch-checkpoint (None: no such file), and the cache that they give.

    BrokerError where the broker refuses them.
    """
    path = os.path.join(partition.path, LEADER_EPOCH_CHECKPOINT)
    data = read_optional(path)
    if data is None:
        return None, ()
    try:
        lines = read_leader_epoch_checkpoint(data)
    except FormatError as error:
        exception = java_exception(error)
        if exception == IO_EXCEPTION:
            exception = KAFKA_STORAGE
        raise BrokerError(exception, path, error.position, str(error)) from error
    try:
        check_epoch_entries(lines, data)
    except FormatError as error:
        raise BrokerError(ILLEGAL_ARGUMENT, path, error.position, str(error)) from error
    return tuple(lines), epochs.replay(lines)


def check_partition_metadata(partition: Partition) -> str | None:
    """Return the topic id of partition.metadata, None without; BrokerError where the broker refuses it."""
    path = os.path.join(partition.path, PARTITION_METADATA)
    data = read_optional(path)
    if data is None:
        return None
    try:
        topic_id = read_partition_metadata(data).topic_id
    except FormatError as error:
        exception = KAFKA_STORAGE
        if isinstance(error, TruncatedError):
            exception = "NullPointerException"
        elif error.field.endswith(", topic_id"):
            exception = ILLEGAL_ARGUMENT
        raise BrokerError(exception, path, error.position, str(error)) from error
    if partition.topic == CLUSTER_METADATA and topic_id != METADATA_TOPIC_ID:
        message = f"topic id {topic_id}, that of {CLUSTER_METADATA} is {METADATA_TOPIC_ID}"
        raise BrokerError("InconsistentTopicIdException", path, None, message)
    return topic_id
