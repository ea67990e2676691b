"""The columns of every row type: the one source of JSON Schema, CSV header, table and Arrow schema."""

from kcli.rows.columns import (
    EPOCH_ENTRY,
    INTEGER,
    NULLABLE_INTEGER,
    WHERE,
    Away,
    Block,
    Column,
    Failure,
    Lines,
    Row,
    RowType,
    Schema,
    Value,
    Written,
    array,
    binary,
    boolean,
    integer,
    record,
    text,
    timestamp,
)
from kcli.rows.dump import (
    DUMP_BATCH,
    DUMP_CLEAN_SHUTDOWN,
    DUMP_EPOCH,
    DUMP_FILE,
    DUMP_INDEX,
    DUMP_META_PROPERTIES,
    DUMP_OFFSET,
    DUMP_PARTITION_METADATA,
    DUMP_PRODUCER,
    DUMP_QUORUM_STATE,
    DUMP_RECORD,
    DUMP_TIME_INDEX,
    DUMP_TXN_INDEX,
)
from kcli.rows.layout import DUMP_LAYOUT
from kcli.rows.scan import SCAN_PARTITION, SCAN_SEGMENT

EPOCH = RowType(
    "epoch",
    (
        *WHERE,
        integer("epoch", "leader epoch"),
        integer("start_offset", "first offset written in this epoch, inclusive"),
        integer("end_offset", "exclusive: the next epoch's start, the log end offset for the last"),
        text("source", "checkpoint or batches"),
    ),
)

END_OFFSET = RowType(
    "end_offset",
    (
        *WHERE,
        integer("requested_epoch", "the epoch asked for"),
        integer("leader_epoch", "the epoch answered; -1 undefined"),
        integer("end_offset", "exclusive end of the answered epoch; -1 undefined"),
        integer("log_end_offset", "the log end offset that the answer was computed with"),
        text("log_end_offset_source", "index, scan or given"),
        text("rule", "undefined-request, latest, above-all, below-all or between"),
    ),
)

EPOCH_AT = RowType(
    "epoch_at",
    (
        *WHERE,
        integer("offset", "the offset asked for"),
        integer("epoch", "the leader epoch at that offset; null where the cache has none", null=True),
        integer("start_offset", "first offset of that epoch", null=True),
    ),
)

SEGMENT_CHANGE = record(
    {
        "base_offset": INTEGER,
        "action": {"enum": ["keep", "cut", "delete", "create"]},
        "size_before": NULLABLE_INTEGER,
        "size_after": NULLABLE_INTEGER,
        "offset_index_entries_before": NULLABLE_INTEGER,
        "offset_index_entries_after": NULLABLE_INTEGER,
        "time_index_entries_before": NULLABLE_INTEGER,
        "time_index_entries_after": NULLABLE_INTEGER,
        "txn_index_entries_before": NULLABLE_INTEGER,
        "txn_index_entries_after": NULLABLE_INTEGER,
    }
)
SNAPSHOT_CHANGE = record({"offset": INTEGER, "action": {"enum": ["keep", "delete", "create"]}})

TRUNCATION = RowType(
    "truncation",
    (
        *WHERE,
        integer("target_offset", "the offset that the log is truncated to"),
        text("kind", "none, partial or full"),
        integer("log_end_offset_before", "as loaded"),
        integer("log_end_offset_after", "live, right after the truncation"),
        integer(
            "log_end_offset_after_restart",
            "after a clean stop and start; null when that start would fail",
            null=True,
        ),
        integer("log_start_offset_before", "as loaded"),
        integer("log_start_offset_after", "right after the truncation"),
        integer("high_watermark_before", "null when unknown", null=True),
        integer("high_watermark_after", "null when unknown", null=True),
        integer("recovery_point_before", "as loaded", null=True),
        integer("recovery_point_after", "right after the truncation", null=True),
        integer("batches_removed", "whole batches that go"),
        integer(
            "records_removed",
            "records in them; null when a compressed batch of magic 0 or 1 hides the count",
            null=True,
        ),
        integer("bytes_removed", "bytes of .log files that go"),
        integer("first_removed_offset", "base offset of the first batch that goes", null=True),
        integer("last_removed_offset", "inclusive", null=True),
        timestamp("first_removed_timestamp", "of the first batch that goes (its base timestamp)", null=True),
        timestamp("max_removed_timestamp", "largest timestamp that goes", null=True),
        array("segments", "what happens to each segment", SEGMENT_CHANGE),
        array("epochs_before", "as loaded", EPOCH_ENTRY),
        array("epochs_after", "right after the truncation", EPOCH_ENTRY),
        array("producer_snapshots", "what happens to each producer snapshot", SNAPSHOT_CHANGE),
        array("rounds", "the exchange with a leader; empty for a given offset", {"type": "object"}),
        array("warnings", "what a person should know before it happens", {"type": "string"}),
    ),
)

RLMM_EVENT = RowType(
    "rlmm_event",
    (
        text("dir", "directory of the file, as reached from the argument"),
        text("file", "file name"),
        integer("metadata_partition", "partition of __remote_log_metadata", null=True),
        integer("metadata_offset", "offset in that partition; null in a snapshot file", null=True),
        timestamp("timestamp", "of the record; null in a snapshot file", null=True),
        text("record_type", "Kafka's name of the record; null if the value cannot be decoded", null=True),
        integer("record_version", "version inside the envelope", null=True),
        text("layout", "3.0, 3.6 or 4.0: the oldest release that writes these bytes", null=True),
        text("topic", "user topic", null=True),
        text("topic_id", "of the user topic", null=True),
        integer("partition", "of the user topic", null=True),
        text("segment_id", "id of the remote segment", null=True),
        integer("start_offset", "inclusive", null=True),
        integer("end_offset", "inclusive", null=True),
        integer("broker_id", "of the event", null=True),
        timestamp("max_timestamp_ms", "largest timestamp in the segment", null=True),
        timestamp("event_timestamp_ms", "of the event", null=True),
        array("segment_leader_epochs", "leader epochs inside the segment", EPOCH_ENTRY, null=True),
        integer("segment_size_bytes", "bytes of the segment's log", null=True),
        binary("custom_metadata", "of the remote storage manager; null apart from empty"),
        text("state", "Kafka's name of the state, or its number if unknown", null=True),
        boolean(
            "txn_index_empty",
            "false where it is left out, as Kafka reads it; null in the layout of 3.0 and for other records",
            null=True,
        ),
        binary("raw", "the value's bytes"),
        text("error", "why the value cannot be decoded", null=True),
    ),
)

RLMM_SNAPSHOT = RowType(
    "rlmm_snapshot",
    (
        text("dir", "directory of the file, as reached from the argument"),
        text("file", "file name"),
        integer("version", "of the file"),
        integer("metadata_partition", "partition of __remote_log_metadata"),
        integer("metadata_partition_offset", "offset up to which the content is covered"),
        integer("entries", "count in the header"),
    ),
)

RLMM_COMMITTED = RowType(
    "rlmm_committed_offset",
    (
        text("dir", "directory of the file, as reached from the argument"),
        text("file", "file name"),
        integer("metadata_partition", "partition of __remote_log_metadata"),
        integer("committed_offset", "last offset consumed"),
    ),
)

RLMM_PARTITION = RowType(
    "rlmm_partition",
    (
        text("topic_id", "of the user topic"),
        integer("partition", "of the user topic"),
        integer("metadata_partition", "partition of __remote_log_metadata that holds its events"),
    ),
)

LOOKUP_OFFSET = RowType(
    "lookup_offset",
    (
        *WHERE,
        integer("offset", "the offset asked for"),
        boolean("found", "whether a batch holds it or follows it"),
        integer("segment_base_offset", "of the segment that answers", null=True),
        text("file", "the .log file that answers", null=True),
        integer("position", "byte position of the batch", null=True),
        integer("batch_base_offset", "first offset of the batch", null=True),
        integer("batch_last_offset", "last offset of the batch, inclusive", null=True),
        integer("leader_epoch", "of the batch", null=True),
        integer("index_entry_offset", "of the index entry that the search started from", null=True),
        integer("index_entry_position", "of that entry", null=True),
        text("reason", "why this is the answer"),
    ),
)

LOOKUP_TIMESTAMP = RowType(
    "lookup_timestamp",
    (
        *WHERE,
        timestamp("timestamp", "the timestamp asked for; null for max", null=True),
        boolean("found", "whether there is an answer"),
        integer("offset", "of the first record at or after the timestamp", null=True),
        timestamp("record_timestamp", "of that record", null=True),
        integer("leader_epoch", "of its batch", null=True),
        integer("segment_base_offset", "of the segment that answers", null=True),
        integer("position", "byte position of the batch", null=True),
        text("reason", "why this is the answer"),
    ),
)

PARTITION = RowType(
    "partition",
    (
        *WHERE,
        integer("segments", "segments on disk"),
        integer("size_bytes", "bytes of all files in the directory"),
        integer("log_start_offset", "as a starting broker would take it", null=True),
        integer("log_end_offset", "null when it cannot be read", null=True),
        text("log_end_offset_source", "index or scan", null=True),
        integer("latest_epoch", "newest leader epoch; null when none", null=True),
        integer("high_watermark", "of replication-offset-checkpoint", null=True),
        integer("recovery_point", "of recovery-point-offset-checkpoint", null=True),
        text("topic_id", "of partition.metadata", null=True),
        integer("leftovers", "files that an interrupted deletion, cleaning or swap left"),
        text("state", "normal, delete, stray or future"),
    ),
)

COMMANDS: dict[str, tuple[RowType, ...]] = {
    "epoch show": (EPOCH,),
    "epoch end-offset": (END_OFFSET,),
    "epoch at": (EPOCH_AT,),
    "truncate": (TRUNCATION,),
    "rlmm dump": (RLMM_EVENT, RLMM_SNAPSHOT, RLMM_COMMITTED),
    "rlmm partition": (RLMM_PARTITION,),
    "lookup offset": (LOOKUP_OFFSET,),
    "lookup timestamp": (LOOKUP_TIMESTAMP,),
    "ls": (PARTITION,),
    "scan": (SCAN_SEGMENT, SCAN_PARTITION),
    "dump": (
        DUMP_BATCH,
        DUMP_RECORD,
        DUMP_INDEX,
        DUMP_TIME_INDEX,
        DUMP_TXN_INDEX,
        DUMP_PRODUCER,
        DUMP_EPOCH,
        DUMP_OFFSET,
        DUMP_META_PROPERTIES,
        DUMP_PARTITION_METADATA,
        DUMP_QUORUM_STATE,
        DUMP_CLEAN_SHUTDOWN,
        RLMM_SNAPSHOT,
        RLMM_EVENT,
        RLMM_COMMITTED,
        DUMP_LAYOUT,
        DUMP_FILE,
    ),
}
"""The row types that each command can print, first the usual one."""

ROW_TYPES: dict[str, RowType] = {row_type.name: row_type for types in COMMANDS.values() for row_type in types}

_KINDS: dict[str, str] = {
    "int": "integer",
    "str": "string",
    "bool": "boolean",
    "bytes": "string",
    "timestamp": "integer",
}


def column_schema(column: Column) -> Schema:
    """Return the JSON Schema of one column's values."""
    if column.nested is not None:
        schema: Schema = dict(column.nested)
        kind = schema["type"]
    else:
        kind = _KINDS[column.kind]
        schema = {"type": kind}
        if column.kind == "bytes":
            schema["contentEncoding"] = "base64"
    if column.nullable:
        schema["type"] = [kind, "null"]
    return {**schema, "description": column.doc}


def row_schema(row_type: RowType) -> Schema:
    """Return the JSON Schema of one row type: every key present, no other allowed."""
    properties = {column.name: column_schema(column) for column in row_type.columns}
    return {
        "title": row_type.name,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


__all__ = [
    "COMMANDS",
    "END_OFFSET",
    "EPOCH",
    "EPOCH_AT",
    "LOOKUP_OFFSET",
    "LOOKUP_TIMESTAMP",
    "PARTITION",
    "RLMM_COMMITTED",
    "RLMM_EVENT",
    "RLMM_PARTITION",
    "RLMM_SNAPSHOT",
    "ROW_TYPES",
    "TRUNCATION",
    "Away",
    "Block",
    "Column",
    "Failure",
    "Lines",
    "Row",
    "RowType",
    "Schema",
    "Value",
    "Written",
    "column_schema",
    "row_schema",
]
