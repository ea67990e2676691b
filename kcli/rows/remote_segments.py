"""The rows of `rlmm` about the states of remote segments."""

from typing import Annotated, NamedTuple

from formats.checkpoint import EpochEntry
from kcli.rows.declare import Timestamp


class RemotePartition(NamedTuple):
    """The user partition that a row is about, and where its events are."""

    dir: Annotated[str, "directory of the events, as reached from the argument"]
    metadata_partition: Annotated[int | None, "partition of __remote_log_metadata"]
    topic_id: Annotated[
        str | None, "of the user topic; null of a remote_log_snapshot without partition.metadata"
    ]
    topic: Annotated[str, "user topic"]
    partition: Annotated[int, "of the user topic"]


class RemoteSegmentRow(NamedTuple):
    """One remote segment, in the state that the last of its events gave it."""

    of: RemotePartition
    segment_id: Annotated[str, "id of the remote segment"]
    start_offset: Annotated[int, "inclusive"]
    end_offset: Annotated[int, "inclusive"]
    state: Annotated[str, "Kafka's name of the state"]
    referenced: Annotated[
        bool, "whether an offset leads to it: false while copied or deleted, and superseded"
    ]
    segment_leader_epochs: Annotated[tuple[EpochEntry, ...], "leader epochs inside the segment"]
    max_timestamp_ms: Annotated[Timestamp, "largest timestamp in the segment"]
    segment_size_bytes: Annotated[int, "bytes of the segment's log"]
    custom_metadata: Annotated[bytes | None, "of the remote storage manager; null apart from empty"]
    event_timestamp_ms: Annotated[Timestamp, "of the last event"]
    copy_started_ms: Annotated[Timestamp | None, "of the first event with this state, as those that follow"]
    copy_finished_ms: Annotated[Timestamp | None, "null where it has not come so far"]
    delete_started_ms: Annotated[Timestamp | None, "null where it has not come so far"]
    delete_finished_ms: Annotated[Timestamp | None, "null but with --deleted: the cache forgets the segment"]
    metadata_offset: Annotated[
        int | None,
        "offset of the last event in the metadata partition; null of a remote_log_snapshot's entry",
    ]
    broker_id: Annotated[int, "of the last event"]
    txn_index_empty: Annotated[bool | None, "null in the layout of 3.0"]


class RemoteHighestRow(NamedTuple):
    """The highest offset that was ever copied of a leader epoch."""

    of: RemotePartition
    epoch: Annotated[int, "leader epoch"]
    highest_offset: Annotated[int | None, "inclusive; null for none"]


class RemoteHistoryRow(NamedTuple):
    """One event of a remote segment."""

    of: RemotePartition
    segment_id: Annotated[str, "id of the remote segment"]
    metadata_offset: Annotated[int, "of the event in the metadata partition"]
    event_timestamp_ms: Annotated[Timestamp, "of the event"]
    since_previous_ms: Annotated[int | None, "since the event of this segment before; null for the first"]
    broker_id: Annotated[int, "of the event"]
    state: Annotated[str, "Kafka's name of the state that the event asks for"]
    refused: Annotated[str | None, "why the cache does not take it; null where it does"]


class RemoteCheckRow(NamedTuple):
    """What is wrong with the remote segments of one partition."""

    of: RemotePartition
    result: Annotated[str, "clean, warning or damaged: the worst finding about it"]
    events: Annotated[int, "events about it"]
    copied: Annotated[int, "segments that can be read: COPY_SEGMENT_FINISHED and referenced"]
    superseded: Annotated[int, "segments that are copied, and that no offset leads to"]
    unfinished_copies: Annotated[int, "segments in COPY_SEGMENT_STARTED"]
    unfinished_deletions: Annotated[int, "segments in DELETE_SEGMENT_STARTED"]
    remote_bytes: Annotated[int, "bytes of all of them"]
    findings: Annotated[int, "findings about it"]
    leader_dir: Annotated[str | None, "replica whose epochs and offsets these were compared with; or null"]
    objects: Annotated[int | None, "objects whose names and sizes were compared; null without --storage"]


class RemoteReplayRow(NamedTuple):
    """A remote_log_snapshot: which offset it covers, and what a replay of the later events here adds."""

    of: RemotePartition
    file: Annotated[str, "file name"]
    covered_offset: Annotated[int, "of the metadata partition: the file holds what events up to it come to"]
    committed_offset: Annotated[int | None, "of _rlmm_committed_offsets; null for none"]
    segments: Annotated[int, "remote segments in the file"]
    is_as_events: Annotated[
        bool | None, "whether that is what the events up to there come to; null where they are not all here"
    ]
    last_offset: Annotated[int | None, "last offset of the metadata partition that is here; null for none"]
    events_after: Annotated[int, "events about the partition after the covered offset"]
    segments_added: Annotated[int, "that these events begin"]
    segments_changed: Annotated[int, "of the file, in another state after them"]
    segments_removed: Annotated[int, "of the file, deleted by them"]
