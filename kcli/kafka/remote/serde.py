"""What remote log metadata means to a broker.

How Kafka prints it, what Kafka refuses. The truth is
RemoteLogMetadataSerde.RemoteLogMetadataFormatter and the constructors of
the classes in `org.apache.kafka.server.log.remote.storage` of 4.3.1.
"""

from formats.errors import FormatError
from formats.remote_metadata import (
    DELETE_SEGMENT_FINISHED,
    STATES,
    RemoteLogMetadata,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
    RemotePartitionDeleteMetadata,
    SegmentLeaderEpoch,
    state_name,
)
from formats.remote_snapshot import SNAPSHOT_HEADER, SnapshotEntry, decode_entry
from kcli.kafka.findings.collector import FindingCollector

CONSUMER_STOPS = frozenset({"RLMM-001", "RLMM-002", "RLMM-035"})
"""Findings about what ends the metadata consumer of a broker (`ConsumerTask`)."""
NOT_ALL_READ = CONSUMER_STOPS | {"RLMM-032", "RLMM-036", "RLMM-037"}
"""Findings that say that a broker which starts does not read all events."""


def unreadable(record: RemoteLogMetadata) -> str | None:
    """Return why Kafka's serde refuses to make an object of a value that decodes, or None if it makes one.

    The old layout is not asked about here: which release reads it is `record.layout`.
    """
    if record.state not in STATES[type(record)]:
        return f"state {record.state} is unknown"
    if isinstance(record, (RemoteLogSegmentMetadataUpdate, RemotePartitionDeleteMetadata)):
        return None
    if not record.segment_leader_epochs:
        return "it has no leader epochs"
    return _impossible_offsets(record) if isinstance(record, RemoteLogSegmentMetadata) else None


def refusal(record: RemoteLogMetadata, *, in_topic: bool) -> str | None:
    """Return why a broker cannot use a record of the topic, or an entry of a snapshot file.

    None if it can.
    """
    reason = unreadable(record)
    if reason or not isinstance(record, RemoteLogSegmentMetadataSnapshot):
        return reason
    if in_topic:
        return "it is an entry of snapshot files and names no partition"
    if record.state == DELETE_SEGMENT_FINISHED:
        return "DELETE_SEGMENT_FINISHED must not occur in a snapshot file"
    return _impossible_offsets(record)


def _impossible_offsets(record: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataSnapshot) -> str | None:
    if record.start_offset < 0:
        return f"start offset {record.start_offset} is negative"
    if record.end_offset < record.start_offset:
        return f"end offset {record.end_offset} is below start offset {record.start_offset}"
    return None


def kafka_text(partition: int | None, offset: int | None, record: RemoteLogMetadata) -> str:
    """Return the line that RemoteLogMetadataFormatter of 4.3.1 prints for a record, without its end of line.

    Older layouts, which 4.3.1 cannot read, are printed as if they could be; missing numbers as `null`, as
    Java would.
    """
    return f"partition: {_java(partition)}, offset: {_java(offset)}, value: {java_text(record)}"


def java_text(record: RemoteLogMetadata) -> str:
    """Return `toString()` of the Java object that Kafka makes of a record."""
    if isinstance(record, RemotePartitionDeleteMetadata):
        return (
            f"RemotePartitionDeleteMetadata{{topicPartition={_topic_id_partition(record)}, "
            f"state={state_name(record)}, "
            f"eventTimestampMs={record.event_timestamp_ms}, brokerId={record.broker_id}}}"
        )
    custom = _optional_custom_metadata(record.custom_metadata)
    if isinstance(record, RemoteLogSegmentMetadataUpdate):
        return (
            f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment_id(record)}, "
            f"customMetadata={custom}, state={state_name(record)}, "
            f"eventTimestampMs={record.event_timestamp_ms}, "
            f"brokerId={record.broker_id}}}"
        )
    epochs = _java_map(record.segment_leader_epochs)
    tail = (
        f"segmentLeaderEpochs={epochs}, segmentSizeInBytes={record.segment_size_in_bytes}, "
        f"customMetadata={custom}, "
        f"state={state_name(record)}, txnIdxEmpty={_java(bool(record.txn_index_empty))}}}"
    )
    if isinstance(record, RemoteLogSegmentMetadataSnapshot):
        return (
            f"RemoteLogSegmentMetadataSnapshot{{segmentId={record.segment_id}, "
            f"startOffset={record.start_offset}, endOffset={record.end_offset}, "
            f"maxTimestampMs={record.max_timestamp_ms}, {tail}"
        )
    return (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment_id(record)}, "
        f"startOffset={record.start_offset}, endOffset={record.end_offset}, brokerId={record.broker_id}, "
        f"maxTimestampMs={record.max_timestamp_ms}, "
        f"eventTimestampMs={record.event_timestamp_ms}, {tail}"
    )


def _java(value: int | None) -> str:
    return "null" if value is None else str(value).lower()


def _topic_id_partition(
    record: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate | RemotePartitionDeleteMetadata,
) -> str:
    return f"{record.topic_id}:{record.topic}-{record.partition}"


def _segment_id(record: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate) -> str:
    return f"RemoteLogSegmentId{{topicIdPartition={_topic_id_partition(record)}, id={record.segment_id}}}"


def _optional_custom_metadata(custom: bytes | None) -> str:
    return "Optional.empty" if custom is None else f"Optional[CustomMetadata{{{len(custom)} bytes}}]"


def _java_map(epochs: tuple[SegmentLeaderEpoch, ...]) -> str:
    # A TreeMap: by epoch, the last of equal epochs wins.
    return "{" + ", ".join(f"{epoch}={offset}" for epoch, offset in sorted(dict(epochs).items())) + "}"


def has_whole_header(raw: bytes, findings: FindingCollector) -> bool:
    """Whether the first bytes of a remote_log_snapshot are a whole header; report it where they are not."""
    if not raw:
        findings.add("RLMM-006", 0, "an empty file")
    elif len(raw) < SNAPSHOT_HEADER.size:
        findings.add("RLMM-005", len(raw), f"{len(raw)} of {SNAPSHOT_HEADER.size} bytes")
    return len(raw) >= SNAPSHOT_HEADER.size


def read_entry(
    entry: SnapshotEntry, findings: FindingCollector
) -> tuple[RemoteLogSegmentMetadataSnapshot | None, str | None]:
    """Return what an entry of a remote_log_snapshot says, and why a broker cannot use it.

    What is wrong is reported. None for one that cannot be decoded.
    """
    try:
        metadata = decode_entry(entry)
    except FormatError as error:
        findings.add("RLMM-001", entry.position, f"entry {entry.number}: {error}")
        return None, str(error)
    refused = refusal(metadata, in_topic=False)
    if refused is not None:
        findings.add("RLMM-001", entry.position, f"entry {entry.number}: {refused}")
    return metadata, refused
