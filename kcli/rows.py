"""The columns of every row type: the one source of JSON Schema, CSV header, table and Arrow schema.

A row is a tuple in column order. Kinds are JSON's, with two that carry more:
`bytes` (base64 in JSON) and `timestamp` (epoch milliseconds, with an ISO-8601
twin in tables). `json` columns hold nested values of the given schema.
"""

from typing import Any, NamedTuple, TypeAlias

Schema = dict[str, Any]
Value: TypeAlias = "int | str | bool | bytes | float | list[Value] | dict[str, Value] | None"


class Row(NamedTuple):
    """One row: the name of its type, and its values in column order."""

    type: str
    values: tuple[Value, ...]


class Failure(NamedTuple):
    """An input that could not be answered; `position` in bytes, path as reached from the argument."""

    path: str
    error: str
    position: int | None
    field: str | None
    message: str


class Column(NamedTuple):
    """One column: its name, kind, whether it may be null, what it means, and the schema of a nested value."""

    name: str
    kind: str
    nullable: bool
    doc: str
    nested: Schema | None = None


class RowType(NamedTuple):
    """A kind of row: the name that ndjson lines carry as `type`, and its columns in order."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)


def _int(name: str, doc: str, *, null: bool = False) -> Column:
    return Column(name, "int", null, doc)


def _str(name: str, doc: str, *, null: bool = False) -> Column:
    return Column(name, "str", null, doc)


def _bool(name: str, doc: str, *, null: bool = False) -> Column:
    return Column(name, "bool", null, doc)


def _bytes(name: str, doc: str) -> Column:
    return Column(name, "bytes", True, doc)


def _time(name: str, doc: str, *, null: bool = False) -> Column:
    return Column(name, "timestamp", null, doc)


def _array(name: str, doc: str, items: Schema, *, null: bool = False) -> Column:
    return Column(name, "json", null, doc, {"type": "array", "items": items})


def _object(required: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": required, "required": list(required), "additionalProperties": False}


INTEGER: Schema = {"type": "integer"}
NULLABLE_INTEGER: Schema = {"type": ["integer", "null"]}
EPOCH_ENTRY = _object({"epoch": INTEGER, "start_offset": INTEGER})

WHERE = (
    _str("dir", "partition directory, as reached from the argument"),
    _int("broker_id", "of meta.properties", null=True),
    _str("cluster_id", "of meta.properties", null=True),
    _str("topic", "from the directory's name", null=True),
    _int("partition", "from the directory's name", null=True),
)

EPOCH = RowType(
    "epoch",
    (
        *WHERE,
        _int("epoch", "leader epoch"),
        _int("start_offset", "first offset written in this epoch, inclusive"),
        _int("end_offset", "exclusive: the next epoch's start, the log end offset for the last"),
        _str("source", "checkpoint or batches"),
    ),
)

END_OFFSET = RowType(
    "end_offset",
    (
        *WHERE,
        _int("requested_epoch", "the epoch asked for"),
        _int("leader_epoch", "the epoch answered; -1 undefined"),
        _int("end_offset", "exclusive end of the answered epoch; -1 undefined"),
        _int("log_end_offset", "the log end offset that the answer was computed with"),
        _str("log_end_offset_source", "index, scan or given"),
        _str("rule", "undefined-request, latest, above-all, below-all or between"),
    ),
)

EPOCH_AT = RowType(
    "epoch_at",
    (
        *WHERE,
        _int("offset", "the offset asked for"),
        _int("epoch", "the leader epoch at that offset; null where the cache has none", null=True),
        _int("start_offset", "first offset of that epoch", null=True),
    ),
)

SEGMENT_CHANGE = _object(
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
SNAPSHOT_CHANGE = _object({"offset": INTEGER, "action": {"enum": ["keep", "delete", "create"]}})

TRUNCATION = RowType(
    "truncation",
    (
        *WHERE,
        _int("target_offset", "the offset that the log is truncated to"),
        _str("kind", "none, partial or full"),
        _int("log_end_offset_before", "as loaded"),
        _int("log_end_offset_after", "live, right after the truncation"),
        _int("log_end_offset_after_restart", "after a clean stop and start; null when that start would fail", null=True),
        _int("log_start_offset_before", "as loaded"),
        _int("log_start_offset_after", "right after the truncation"),
        _int("high_watermark_before", "null when unknown", null=True),
        _int("high_watermark_after", "null when unknown", null=True),
        _int("recovery_point_before", "as loaded", null=True),
        _int("recovery_point_after", "right after the truncation", null=True),
        _int("batches_removed", "whole batches that go"),
        _int("records_removed", "records in them; null when a compressed batch of magic 0 or 1 hides the count", null=True),
        _int("bytes_removed", "bytes of .log files that go"),
        _int("first_removed_offset", "base offset of the first batch that goes", null=True),
        _int("last_removed_offset", "inclusive", null=True),
        _time("first_removed_timestamp", "of the first batch that goes (its base timestamp)", null=True),
        _time("max_removed_timestamp", "largest timestamp that goes", null=True),
        _array("segments", "what happens to each segment", SEGMENT_CHANGE),
        _array("epochs_before", "as loaded", EPOCH_ENTRY),
        _array("epochs_after", "right after the truncation", EPOCH_ENTRY),
        _array("producer_snapshots", "what happens to each producer snapshot", SNAPSHOT_CHANGE),
        _array("rounds", "the exchange with a leader; empty for a given offset", {"type": "object"}),
        _array("warnings", "what a person should know before it happens", {"type": "string"}),
    ),
)

RLMM_EVENT = RowType(
    "rlmm_event",
    (
        _str("dir", "directory of the file, as reached from the argument"),
        _str("file", "file name"),
        _int("metadata_partition", "partition of __remote_log_metadata", null=True),
        _int("metadata_offset", "offset in that partition; null in a snapshot file", null=True),
        _time("timestamp", "of the record; null in a snapshot file", null=True),
        _str("record_type", "Kafka's name of the record; null if the value cannot be decoded", null=True),
        _int("record_version", "version inside the envelope", null=True),
        _str("layout", "3.0, 3.6 or 4.0: the oldest release that writes these bytes", null=True),
        _str("topic", "user topic", null=True),
        _str("topic_id", "of the user topic", null=True),
        _int("partition", "of the user topic", null=True),
        _str("segment_id", "id of the remote segment", null=True),
        _int("start_offset", "inclusive", null=True),
        _int("end_offset", "inclusive", null=True),
        _int("broker_id", "of the event", null=True),
        _time("max_timestamp_ms", "largest timestamp in the segment", null=True),
        _time("event_timestamp_ms", "of the event", null=True),
        _array("segment_leader_epochs", "leader epochs inside the segment", EPOCH_ENTRY, null=True),
        _int("segment_size_bytes", "bytes of the segment's log", null=True),
        _bytes("custom_metadata", "of the remote storage manager; null apart from empty"),
        _str("state", "Kafka's name of the state, or its number if unknown", null=True),
        _bool(
            "txn_index_empty", "false where it is left out, as Kafka reads it; null in the layout of 3.0 and for other records", null=True
        ),
        _bytes("raw", "the value's bytes"),
        _str("error", "why the value cannot be decoded", null=True),
    ),
)

RLMM_SNAPSHOT = RowType(
    "rlmm_snapshot",
    (
        _str("dir", "directory of the file, as reached from the argument"),
        _str("file", "file name"),
        _int("version", "of the file"),
        _int("metadata_partition", "partition of __remote_log_metadata"),
        _int("metadata_partition_offset", "offset up to which the content is covered"),
        _int("entries", "count in the header"),
    ),
)

RLMM_COMMITTED = RowType(
    "rlmm_committed_offset",
    (
        _str("dir", "directory of the file, as reached from the argument"),
        _str("file", "file name"),
        _int("metadata_partition", "partition of __remote_log_metadata"),
        _int("committed_offset", "last offset consumed"),
    ),
)

RLMM_PARTITION = RowType(
    "rlmm_partition",
    (
        _str("topic_id", "of the user topic"),
        _int("partition", "of the user topic"),
        _int("metadata_partition", "partition of __remote_log_metadata that holds its events"),
    ),
)

LOOKUP_OFFSET = RowType(
    "lookup_offset",
    (
        *WHERE,
        _int("offset", "the offset asked for"),
        _bool("found", "whether a batch holds it or follows it"),
        _int("segment_base_offset", "of the segment that answers", null=True),
        _str("file", "the .log file that answers", null=True),
        _int("position", "byte position of the batch", null=True),
        _int("batch_base_offset", "first offset of the batch", null=True),
        _int("batch_last_offset", "last offset of the batch, inclusive", null=True),
        _int("leader_epoch", "of the batch", null=True),
        _int("index_entry_offset", "of the index entry that the search started from", null=True),
        _int("index_entry_position", "of that entry", null=True),
        _str("reason", "why this is the answer"),
    ),
)

LOOKUP_TIMESTAMP = RowType(
    "lookup_timestamp",
    (
        *WHERE,
        _time("timestamp", "the timestamp asked for; null for max", null=True),
        _bool("found", "whether there is an answer"),
        _int("offset", "of the first record at or after the timestamp", null=True),
        _time("record_timestamp", "of that record", null=True),
        _int("leader_epoch", "of its batch", null=True),
        _int("segment_base_offset", "of the segment that answers", null=True),
        _int("position", "byte position of the batch", null=True),
        _str("reason", "why this is the answer"),
    ),
)

PARTITION = RowType(
    "partition",
    (
        *WHERE,
        _int("segments", "segments on disk"),
        _int("size_bytes", "bytes of all files in the directory"),
        _int("log_start_offset", "as a starting broker would take it", null=True),
        _int("log_end_offset", "null when it cannot be read", null=True),
        _str("log_end_offset_source", "index or scan", null=True),
        _int("latest_epoch", "newest leader epoch; null when none", null=True),
        _int("high_watermark", "of replication-offset-checkpoint", null=True),
        _int("recovery_point", "of recovery-point-offset-checkpoint", null=True),
        _str("topic_id", "of partition.metadata", null=True),
        _int("leftovers", "files that an interrupted deletion, cleaning or swap left"),
        _str("state", "normal, delete, stray or future"),
    ),
)

FROM_FILE = (*WHERE, _str("file", "file name, with what was added to it (.deleted, .cleaned, .swap)"))
HEADER = _object({"key": {"type": "string"}, "value": {"type": ["string", "null"], "contentEncoding": "base64"}})

DUMP_BATCH = RowType(
    "dump_batch",
    (
        *FROM_FILE,
        _int("position", "byte where the batch begins"),
        _int("size", "bytes of the whole batch, its header included"),
        _int("magic", "version of the message format"),
        _int("base_offset", "as stored; of a wrapper of magic 0 or 1 the offset of its last message"),
        _int("last_offset", "inclusive"),
        _int("count", "records; null for a wrapper of magic 0 or 1, which does not say", null=True),
        _int("partition_leader_epoch", "-1 none"),
        _int("producer_id", "-1 none"),
        _int("producer_epoch", "-1 none"),
        _int("base_sequence", "-1 none"),
        _int("last_sequence", "-1 none"),
        _bool("is_transactional", "whether it is part of a transaction"),
        _bool("is_control", "whether it holds control records"),
        _time("delete_horizon_ms", "null without one", null=True),
        _str("timestamp_type", "CreateTime, LogAppendTime or NoTimestampType"),
        _time("max_timestamp", "of its records; -1 none"),
        _str("compression", "none, gzip, snappy, lz4, zstd, or the number of an unknown codec"),
        _int("crc", "as stored"),
        _bool("is_valid", "whether the checksum matches"),
    ),
)

DUMP_RECORD = RowType(
    "dump_record",
    (
        *FROM_FILE,
        _int("position", "byte where its batch begins"),
        _int("offset", "of the record"),
        _time("timestamp", "-1 none"),
        _bytes("key", "null apart from empty"),
        _bytes("value", "null apart from empty"),
        _array("headers", "in their order; bytes of a key that are not UTF-8 stand as \\xNN", HEADER),
        _int("sequence", "-1 none"),
        _str("control_type", "Kafka's name of a control record's type, or its number if unknown; null for data", null=True),
    ),
)

DUMP_INDEX = RowType("dump_index", (*FROM_FILE, _int("offset", "last offset of an append"), _int("position", "byte where it begins")))

DUMP_TIME_INDEX = RowType(
    "dump_timeindex", (*FROM_FILE, _time("timestamp", "largest so far"), _int("offset", "last offset of the batch that has it"))
)

DUMP_TXN_INDEX = RowType(
    "dump_txnindex",
    (
        *FROM_FILE,
        _int("producer_id", "whose transaction was aborted"),
        _int("first_offset", "of the transaction"),
        _int("last_offset", "of its abort marker"),
        _int("last_stable_offset", "once it was aborted"),
    ),
)

DUMP_PRODUCER = RowType(
    "dump_producer",
    (
        *FROM_FILE,
        _int("producer_id", "of the producer"),
        _int("producer_epoch", "of the producer"),
        _int("coordinator_epoch", "of its last end marker; -1 none"),
        _int("current_txn_first_offset", "of its open transaction; null without one", null=True),
        _time("last_timestamp", "of its last batch or end marker"),
        _int("first_sequence", "of its last batch; null without one", null=True),
        _int("last_sequence", "of its last batch; null without one", null=True),
        _int("last_offset", "of its last batch; null without one", null=True),
        _int("offset_delta", "last minus first offset of its last batch; null without one", null=True),
        _time("timestamp", "of its last batch; null without one", null=True),
    ),
)

DUMP_EPOCH = RowType("dump_leader_epoch", (*FROM_FILE, _int("epoch", "leader epoch"), _int("start_offset", "first offset written in it")))

DUMP_OFFSET = RowType("dump_offset", (*FROM_FILE, _int("offset", "of the partition that the row names")))

DUMP_META_PROPERTIES = RowType(
    "dump_meta_properties",
    (
        *FROM_FILE,
        _int("version", "of the file"),
        _int("node_id", "node.id, or broker.id in version 0", null=True),
        _str("directory_id", "of the log dir", null=True),
    ),
)

DUMP_PARTITION_METADATA = RowType("dump_partition_metadata", (*FROM_FILE, _int("version", "of the file"), _str("topic_id", "of the topic")))

DUMP_QUORUM_STATE = RowType(
    "dump_quorum_state",
    (
        *FROM_FILE,
        _int("data_version", "of the file"),
        _int("leader_id", "-1 none"),
        _int("leader_epoch", "of the quorum"),
        _int("voted_id", "-1 none"),
        _str("voted_directory_id", "version 1", null=True),
        _str("state_cluster_id", "clusterId of version 0", null=True),
        _int("applied_offset", "version 0", null=True),
        _array("current_voters", "version 0", INTEGER, null=True),
    ),
)

DUMP_CLEAN_SHUTDOWN = RowType("dump_clean_shutdown", (*FROM_FILE, _int("broker_epoch", "null where unknown", null=True)))

DUMP_FILE = RowType(
    "dump_file",
    (
        *FROM_FILE,
        _str("kind", "unknown: no name that Kafka gives; else a file without contents to show"),
        _int("size_bytes", "null for what is no file", null=True),
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
        DUMP_FILE,
    ),
}
"""The row types that each command can print, first the usual one."""

ROW_TYPES: dict[str, RowType] = {row_type.name: row_type for types in COMMANDS.values() for row_type in types}

_KINDS: dict[str, str] = {"int": "integer", "str": "string", "bool": "boolean", "bytes": "string", "timestamp": "integer"}


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
