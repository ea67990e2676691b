"""The columns that say where a row is from; the rows of `ls` and of `checkpoint show`."""

from typing import Annotated, NamedTuple

from kcli.rows.declare import Timestamp, columns_of


class OfDirectory(NamedTuple):
    """The directory that a row is from."""

    dir: Annotated[str, "directory, as reached from the argument"]
    broker_id: Annotated[int | None, "node id of meta.properties"]
    cluster_id: Annotated[str | None, "of meta.properties"]


class Where(NamedTuple):
    """The partition directory that a row is about."""

    dir: Annotated[str, "partition directory, as reached from the argument"]
    broker_id: Annotated[int | None, "of meta.properties"]
    cluster_id: Annotated[str | None, "of meta.properties"]
    topic: Annotated[str | None, "from the directory's name"]
    partition: Annotated[int | None, "from the directory's name"]


class FromFile(NamedTuple):
    """The file that a row is from."""

    where: Where
    file: Annotated[str, "file name, with what was added to it (.deleted, .cleaned, .swap)"]


class PartitionRow(NamedTuple):
    """One partition directory."""

    where: Where
    segments: Annotated[int, "segments on disk"]
    log_bytes: Annotated[int, "bytes of its .log files, leftovers included"]
    index_bytes: Annotated[int, "bytes of its offset, time and transaction indexes"]
    other_bytes: Annotated[int, "bytes of its other files"]
    disk_bytes: Annotated[int, "bytes that all of them take on disk: less where a file has holes"]
    log_start_offset: Annotated[int | None, "as a starting broker would take it"]
    log_end_offset: Annotated[int | None, "null when it cannot be read"]
    log_end_offset_source: Annotated[
        str | None, "index (last index entry and the tail), recovered or headers"
    ]
    latest_epoch: Annotated[int | None, "newest leader epoch; null when none"]
    high_watermark: Annotated[int | None, "of replication-offset-checkpoint"]
    recovery_point: Annotated[int | None, "of recovery-point-offset-checkpoint"]
    topic_id: Annotated[str | None, "of partition.metadata"]
    leftovers: Annotated[int, "files that an interrupted deletion, cleaning or swap left"]
    state: Annotated[str, "normal, delete, stray or future"]


class DiskSumRow(NamedTuple):
    """What the partition directories of a topic, a log dir or a state take on disk."""

    by: Annotated[str, "topic, log-dir or state"]
    name: Annotated[str, "of the topic, the log dir or the state"]
    partitions: Annotated[int, "partition directories"]
    segments: Annotated[int, "segments on disk, without those of -delete directories"] = 0
    log_bytes: Annotated[int, "bytes of its .log files"] = 0
    index_bytes: Annotated[int, "bytes of its indexes up to their last entries"] = 0
    preallocated_bytes: Annotated[int, "bytes behind these: zeros, a start cuts them"] = 0
    other_bytes: Annotated[
        int, "bytes of its other files, .swap too; of a log-dir its remote-log-index-cache, too"
    ] = 0
    leaving_bytes: Annotated[
        int, "on disk, of -delete directories and .deleted, .cleaned files: a running broker frees them"
    ] = 0
    disk_bytes: Annotated[int, "that all of them take on disk: less where a file has holes"] = 0
    oldest_timestamp: Annotated[Timestamp | None, "smallest that a segment begins with; null for none"] = None
    newest_timestamp: Annotated[Timestamp | None, "largest of the records; null for none"] = None
    file_system_bytes: Annotated[int | None, "size of the log dir's file system; of a log-dir alone"] = None
    file_system_free_bytes: Annotated[int | None, "free for the broker there; of a log-dir alone"] = None


WHERE = columns_of(Where)
FROM_FILE = columns_of(FromFile)


class CheckpointRow(NamedTuple):
    """What each checkpoint file says about a partition, as stored, and the log that it is about."""

    where: Where
    log_start_offset: Annotated[int | None, "of log-start-offset-checkpoint; null without a line"]
    recovery_point: Annotated[int | None, "of recovery-point-offset-checkpoint"]
    high_watermark: Annotated[int | None, "of replication-offset-checkpoint"]
    cleaner_point: Annotated[int | None, "of cleaner-offset-checkpoint: the first offset not yet cleaned"]
    latest_epoch: Annotated[int | None, "of the last line of leader-epoch-checkpoint"]
    latest_epoch_start_offset: Annotated[int | None, "of the same line"]
    first_segment_offset: Annotated[int, "base offset of the first segment after a start"]
    log_end_offset: Annotated[int, "after a start"]
    log_end_offset_source: Annotated[str, "index (last index entry and the tail) or recovered"]
    violations: Annotated[
        tuple[str, ...],
        "which invariants do not hold: log-start-above-log-end, log-start-above-high-watermark, "
        "high-watermark-above-log-end, recovery-point-above-log-end, cleaner-point-above-log-end, "
        "epoch-start-above-log-end",
    ]
