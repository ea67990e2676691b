"""The rows of `rlmm` about the tiers of a partition: what a leader answers, keeps and deletes."""

from typing import Annotated, NamedTuple

from formats.checkpoint import EpochEntry
from kcli.rows.declare import Timestamp
from kcli.rows.lookups import FoundBatch, FoundRecord
from kcli.rows.partitions import Where


class RemotePlace(NamedTuple):
    """A remote segment, by its metadata; all null where there is none."""

    segment_id: Annotated[str | None, "id of the remote segment"] = None
    start_offset: Annotated[int | None, "of the remote segment, inclusive"] = None
    end_offset: Annotated[int | None, "of the remote segment, inclusive"] = None


class RlmmOffsetsRow(NamedTuple):
    """What ListOffsets answers for each special timestamp; offset -1 and epoch null where it finds none."""

    where: Where
    topic_id: Annotated[str | None, "of partition.metadata"]
    remote_storage: Annotated[bool, "whether it has or had remote segments, or the log begins below the disk"]
    earliest_offset: Annotated[int, "of timestamp -2: log start offset, remote storage included"]
    earliest_epoch: Annotated[int | None, "its leader epoch"]
    latest_offset: Annotated[int, "of timestamp -1: the high watermark, the log end where it is unknown"]
    latest_epoch: Annotated[int | None, "its leader epoch"]
    max_timestamp_offset: Annotated[int, "of timestamp -3: in the local log alone"]
    max_timestamp: Annotated[Timestamp, "of that record, -1 for none"]
    max_timestamp_epoch: Annotated[int | None, "its leader epoch"]
    earliest_local_offset: Annotated[int, "of timestamp -4: the first offset on local disk"]
    earliest_local_epoch: Annotated[int | None, "its leader epoch"]
    latest_tiered_offset: Annotated[int, "of timestamp -5: the last offset in remote storage"]
    latest_tiered_epoch: Annotated[int | None, "its leader epoch"]
    earliest_pending_upload_offset: Annotated[int, "of timestamp -6: the first offset that is not copied yet"]
    earliest_pending_upload_epoch: Annotated[int | None, "its leader epoch"]
    high_watermark: Annotated[int | None, "of replication-offset-checkpoint"]
    log_end_offset: Annotated[int, "of the local log, exclusive"]


class RlmmLookupOffsetRow(NamedTuple):
    """Which tier and segment serve a fetch at an offset."""

    where: Where
    topic_id: Annotated[str | None, "of partition.metadata"]
    offset: Annotated[int, "the offset asked for"]
    found: Annotated[bool, "whether a tier serves it"] = False
    tier: Annotated[str | None, "local or remote; null for none"] = None
    epoch: Annotated[int | None, "leader epoch of the offset by the replica's cache; null if it has none"] = (
        None
    )
    remote: RemotePlace = RemotePlace()
    batch: FoundBatch = FoundBatch()
    tries: Annotated[tuple[str, ...], "what the broker tries, in order, and what comes of it"] = ()
    reason: Annotated[str, "why this is the answer"] = ""


class RlmmLookupTimestampRow(NamedTuple):
    """Which tier and segment serve ListOffsets for a timestamp."""

    where: Where
    topic_id: Annotated[str | None, "of partition.metadata"]
    timestamp: Annotated[Timestamp, "the timestamp asked for"]
    found: Annotated[bool, "whether a tier answers"] = False
    tier: Annotated[str | None, "local or remote; null for none"] = None
    remote: RemotePlace = RemotePlace()
    record: FoundRecord = FoundRecord()
    tries: Annotated[tuple[str, ...], "what the broker tries, in order, and what comes of it"] = ()
    reason: Annotated[str, "why this is the answer"] = ""


class RlmmCoverageRow(NamedTuple):
    """A range of offsets of a partition, and the tiers that hold it."""

    where: Where
    topic_id: Annotated[str | None, "of partition.metadata"]
    first_offset: Annotated[int, "inclusive"]
    last_offset: Annotated[int, "inclusive"]
    tiers: Annotated[str, "local, remote, both or none"]
    remote_segments: Annotated[int, "how many remote segments serve it"]
    local_bytes: Annotated[int, "of the local segments that begin in it"]
    remote_bytes: Annotated[int, "of the remote segments that begin in it"]
    safe_to_lose_bytes: Annotated[int, "of local segments that begin in it, all of whose offsets are remote"]


class RlmmRetentionRow(NamedTuple):
    """What the next clean-up does with a segment, in the order in which segments go, then those that stay."""

    where: Where
    topic_id: Annotated[str | None, "of partition.metadata"]
    order: Annotated[int | None, "place among those of its tier that go, from 1 on; null if it stays"]
    tier: Annotated[str, "remote or local; the broker cleans them independently"]
    action: Annotated[str, "delete or keep"]
    rule: Annotated[
        str,
        "delete: retry, log-start, time, size, below-lineage; keep: lineage, within-limits, not-reached, "
        "high-watermark, active, not-copied, not-tiered, log.cleaner.enable",
    ]
    segment_id: Annotated[str | None, "of a remote segment"]
    start_offset: Annotated[int, "base offset of the segment"]
    end_offset: Annotated[int, "inclusive"]
    size_bytes: Annotated[int, "of its log"]
    max_timestamp_ms: Annotated[
        Timestamp, "largest timestamp, of a local segment without any its file's mtime"
    ]
    state: Annotated[str | None, "of a remote segment"]
    log_start_offset_after: Annotated[int, "of the partition, once all of it is done"]
    reason: Annotated[str, "why"]
    retention_ms: Annotated[int, "the limit of the tier that counts; -1 for none"]
    retention_bytes: Annotated[int, "the limit of the tier that counts; -1 for none"]


class RlmmFollowRow(NamedTuple):
    """A follower's way into a tiered log; null where it does not come to that."""

    where: Where
    leader_dir: Annotated[str, "the leader's partition directory"]
    topic_id: Annotated[str | None, "of the leader's partition.metadata"]
    outcome: Annotated[
        str,
        "local: it fetches from the leader's local log; tiered: it takes the state of a remote segment; "
        "failed: no such segment, or its state is not in --storage; out-of-range: it is reset to an end of "
        "the leader's log",
    ]
    fetch_offset: Annotated[int, "of the fetch after the rounds in which it truncates"]
    last_fetched_epoch: Annotated[int | None, "in that fetch"]
    leader_log_start_offset: Annotated[int, "of the leader, remote storage included"]
    earliest_local_offset: Annotated[int | None, "of the leader, by ListOffsets -4"]
    earliest_local_epoch: Annotated[int | None, "leader epoch of that answer, -1 for none"]
    requested_epoch: Annotated[int | None, "in OffsetForLeaderEpoch: the epoch before; null for epoch 0"]
    answered_epoch: Annotated[int | None, "leader epoch of its answer"]
    answered_end_offset: Annotated[int | None, "end offset of its answer, exclusive"]
    target_epoch: Annotated[int | None, "leader epoch in which the offset before the local log is looked up"]
    remote: RemotePlace
    epochs_after: Annotated[tuple[EpochEntry, ...], "leader epochs that the follower holds then"]
    epochs_source: Annotated[
        str | None,
        "storage: the segment's own checkpoint; leader: the leader's epochs below the segment's end",
    ]
    producer_snapshot: Annotated[str | None, "file that the follower writes"]
    producers: Annotated[int | None, "producers in it; null where it is not at hand"]
    next_fetch_offset: Annotated[int | None, "from which it fetches next"]
    steps: Annotated[tuple[str, ...], "requests and answers in order"]


class RlmmClusterOffsetRow(NamedTuple):
    """What a live cluster answers to ListOffsets for a special timestamp, and what a log dir's files give."""

    dir: Annotated[str | None, "partition directory on disk; null where none is known"]
    broker_id: Annotated[int | None, "of that log dir's meta.properties"]
    topic: Annotated[str, "user topic"]
    partition: Annotated[int, "of the user topic"]
    leader: Annotated[int | None, "broker that answered"]
    query: Annotated[
        str, "earliest, earliest-local, latest-tiered, earliest-pending-upload, latest or max-timestamp"
    ]
    timestamp: Annotated[int, "the special timestamp of ListOffsets, -1 to -6"]
    cluster_offset: Annotated[int | None, "-1 where the leader finds none; null where it is not asked"]
    cluster_epoch: Annotated[int | None, "leader epoch of that answer"]
    disk_offset: Annotated[int | None, "as rlmm offsets gives it of the directory"]
    disk_epoch: Annotated[int | None, "its leader epoch"]
    agrees: Annotated[bool | None, "whether both offsets are equal; null where one is not known"]
