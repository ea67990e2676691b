"""How Kafka prints remote log metadata, and what it refuses.

The truth is RemoteLogMetadataSerde.RemoteLogMetadataFormatter and the constructors of the classes in
`org.apache.kafka.server.log.remote.storage` of 4.3.1.
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
    state_name,
)
from formats.remote_snapshot import SNAPSHOT_HEADER, SnapshotEntry, decode_entry
from kcli.kafka.findings.collector import FindingCollector

CONSUMER_STOPS = frozenset({"RLMM-001", "RLMM-002", "RLMM-035"})
"""Findings about what ends the metadata consumer of a broker (`ConsumerTask`)."""
NOT_ALL_READ = CONSUMER_STOPS | {"RLMM-032", "RLMM-036", "RLMM-037"}
"""Findings that say that a broker which starts does not read all events."""


def unreadable(record: RemoteLogMetadata) -> str | None:
    """Return why Kafka's serde makes no object of a value that decodes, layout aside; None if it does."""
    if record.state not in STATES[type(record)]:
        return f"state {record.state} is unknown"
    if isinstance(record, (RemoteLogSegmentMetadataUpdate, RemotePartitionDeleteMetadata)):
        return None
    if not record.segment_leader_epochs:
        return "it has no leader epochs"
    return _impossible_offsets(record) if isinstance(record, RemoteLogSegmentMetadata) else None


def refusal(record: RemoteLogMetadata, *, in_topic: bool) -> str | None:
    """Return why a broker cannot use a record of the topic, or an entry of a file; None if it can."""
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
    """Return the line that RemoteLogMetadataFormatter of 4.3.1 prints for a record; older layouts alike."""
    return f"partition: {_java(partition)}, offset: {_java(offset)}, value: {java_text(record)}"


def java_text(record: RemoteLogMetadata) -> str:
    """Return `toString()` of the Java object that Kafka makes of a record."""
    name, state, custom = type(record).__name__, state_name(record), "Optional.empty"
    if isinstance(record, RemotePartitionDeleteMetadata):
        fields = {"topicPartition": _topic_id_partition(record), "state": state}
        return _java_object(
            name, **fields, eventTimestampMs=record.event_timestamp_ms, brokerId=record.broker_id
        )
    if record.custom_metadata is not None:
        custom = f"Optional[CustomMetadata{{{len(record.custom_metadata)} bytes}}]"
    if isinstance(record, RemoteLogSegmentMetadataUpdate):
        return _java_object(
            name,
            remoteLogSegmentId=_segment_id(record),
            customMetadata=custom,
            state=state,
            eventTimestampMs=record.event_timestamp_ms,
            brokerId=record.broker_id,
        )
    # a TreeMap: by epoch, the last of equal epochs wins
    epochs = (f"{epoch}={offset}" for epoch, offset in sorted(dict(record.segment_leader_epochs).items()))
    if isinstance(record, RemoteLogSegmentMetadataSnapshot):
        segment, broker, time = {"segmentId": record.segment_id}, dict[str, int](), dict[str, int]()
    else:
        segment, broker = {"remoteLogSegmentId": _segment_id(record)}, {"brokerId": record.broker_id}
        time = {"eventTimestampMs": record.event_timestamp_ms}
    return _java_object(
        name,
        **segment,
        startOffset=record.start_offset,
        endOffset=record.end_offset,
        **broker,
        maxTimestampMs=record.max_timestamp_ms,
        **time,
        segmentLeaderEpochs=f"{{{', '.join(epochs)}}}",
        segmentSizeInBytes=record.segment_size_in_bytes,
        customMetadata=custom,
        state=state,
        txnIdxEmpty=_java(bool(record.txn_index_empty)),
    )


def _java_object(name: str, **fields: object) -> str:
    return f"{name}{{{', '.join(f'{field}={value}' for field, value in fields.items())}}}"


def _java(value: int | None) -> str:
    return "null" if value is None else str(value).lower()


def _topic_id_partition(
    record: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate | RemotePartitionDeleteMetadata,
) -> str:
    return f"{record.topic_id}:{record.topic}-{record.partition}"


def _segment_id(record: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate) -> str:
    return f"RemoteLogSegmentId{{topicIdPartition={_topic_id_partition(record)}, id={record.segment_id}}}"


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
    """Return what an entry of a remote_log_snapshot says, None for nothing, and why no broker can use it."""
    try:
        metadata = decode_entry(entry)
    except FormatError as error:
        findings.add("RLMM-001", entry.position, f"entry {entry.number}: {error}")
        return None, str(error)
    refused = refusal(metadata, in_topic=False)
    if refused is not None:
        findings.add("RLMM-001", entry.position, f"entry {entry.number}: {refused}")
    return metadata, refused
