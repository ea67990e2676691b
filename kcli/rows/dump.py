"""The row types of `kcli dump`: one for each structure that a file of a log dir is made of."""

from kcli.rows.columns import (
    INTEGER,
    WHERE,
    RowType,
    anything,
    array,
    binary,
    boolean,
    integer,
    record,
    text,
    timestamp,
)

FROM_FILE = (*WHERE, text("file", "file name, with what was added to it (.deleted, .cleaned, .swap)"))
HEADER = record(
    {"key": {"type": "string"}, "value": {"type": ["string", "null"], "contentEncoding": "base64"}}
)

DUMP_BATCH = RowType(
    "dump_batch",
    (
        *FROM_FILE,
        integer("position", "byte where the batch begins"),
        integer("size", "bytes of the whole batch, its header included"),
        integer("magic", "version of the message format"),
        integer("base_offset", "as stored; of a wrapper of magic 0 or 1 the offset of its last message"),
        integer("last_offset", "inclusive"),
        integer("count", "records; null for a wrapper of magic 0 or 1, which does not say", null=True),
        integer("partition_leader_epoch", "-1 none"),
        integer("producer_id", "-1 none"),
        integer("producer_epoch", "-1 none"),
        integer("base_sequence", "-1 none"),
        integer("last_sequence", "-1 none"),
        boolean("is_transactional", "whether it is part of a transaction"),
        boolean("is_control", "whether it holds control records"),
        timestamp("delete_horizon_ms", "null without one", null=True),
        text("timestamp_type", "CreateTime, LogAppendTime or NoTimestampType"),
        timestamp("max_timestamp", "of its records; -1 none"),
        text("compression", "none, gzip, snappy, lz4, zstd, or the number of an unknown codec"),
        integer("crc", "as stored"),
        boolean("is_valid", "whether the checksum matches"),
    ),
)

DUMP_RECORD = RowType(
    "dump_record",
    (
        *FROM_FILE,
        integer("position", "byte where its batch begins"),
        integer("offset", "of the record"),
        timestamp("timestamp", "-1 none"),
        binary("key", "null apart from empty"),
        binary("value", "null apart from empty"),
        array("headers", "in their order; bytes of a key that are not UTF-8 stand as \\xNN", HEADER),
        integer("sequence", "-1 none"),
        text(
            "control_type",
            "Kafka's name of a control record's type, or its number if unknown; null for data",
            null=True,
        ),
        text(
            "record_type",
            "of an internal topic: Kafka's name of what it says, or the number of an unknown type",
            null=True,
        ),
        integer("record_version", "of the decoded value", null=True),
        anything("decoded_key", "of an internal topic: the key as Kafka's JSON converters write it"),
        anything(
            "decoded_value",
            "of an internal topic: the value as Kafka's JSON converters write it; null for a tombstone",
        ),
        text(
            "error",
            "what of an internal topic's record cannot be decoded, or is not shown by the columns before",
            null=True,
        ),
    ),
)

DUMP_INDEX = RowType(
    "dump_index",
    (*FROM_FILE, integer("offset", "last offset of an append"), integer("position", "byte where it begins")),
)

DUMP_TIME_INDEX = RowType(
    "dump_timeindex",
    (
        *FROM_FILE,
        timestamp("timestamp", "largest so far"),
        integer("offset", "last offset of the batch that has it"),
    ),
)

DUMP_TXN_INDEX = RowType(
    "dump_txnindex",
    (
        *FROM_FILE,
        integer("producer_id", "whose transaction was aborted"),
        integer("first_offset", "of the transaction"),
        integer("last_offset", "of its abort marker"),
        integer("last_stable_offset", "once it was aborted"),
    ),
)

DUMP_PRODUCER = RowType(
    "dump_producer",
    (
        *FROM_FILE,
        integer("producer_id", "of the producer"),
        integer("producer_epoch", "of the producer"),
        integer("coordinator_epoch", "of its last end marker; -1 none"),
        integer("current_txn_first_offset", "of its open transaction; null without one", null=True),
        timestamp("last_timestamp", "of its last batch or end marker"),
        integer("first_sequence", "of its last batch; null without one", null=True),
        integer("last_sequence", "of its last batch; null without one", null=True),
        integer("last_offset", "of its last batch; null without one", null=True),
        integer("offset_delta", "last minus first offset of its last batch; null without one", null=True),
        timestamp("timestamp", "of its last batch; null without one", null=True),
    ),
)

DUMP_EPOCH = RowType(
    "dump_leader_epoch",
    (*FROM_FILE, integer("epoch", "leader epoch"), integer("start_offset", "first offset written in it")),
)

DUMP_OFFSET = RowType("dump_offset", (*FROM_FILE, integer("offset", "of the partition that the row names")))

DUMP_META_PROPERTIES = RowType(
    "dump_meta_properties",
    (
        *FROM_FILE,
        integer("version", "of the file"),
        integer("node_id", "node.id, or broker.id in version 0", null=True),
        text("directory_id", "of the log dir", null=True),
    ),
)

DUMP_PARTITION_METADATA = RowType(
    "dump_partition_metadata",
    (*FROM_FILE, integer("version", "of the file"), text("topic_id", "of the topic")),
)

DUMP_QUORUM_STATE = RowType(
    "dump_quorum_state",
    (
        *FROM_FILE,
        integer("data_version", "of the file"),
        integer("leader_id", "-1 none"),
        integer("leader_epoch", "of the quorum"),
        integer("voted_id", "-1 none"),
        text("voted_directory_id", "version 1", null=True),
        text("state_cluster_id", "clusterId of version 0", null=True),
        integer("applied_offset", "version 0", null=True),
        array("current_voters", "version 0", INTEGER, null=True),
    ),
)

DUMP_CLEAN_SHUTDOWN = RowType(
    "dump_clean_shutdown", (*FROM_FILE, integer("broker_epoch", "null where unknown", null=True))
)

DUMP_FILE = RowType(
    "dump_file",
    (
        *FROM_FILE,
        text("kind", "unknown: no name that Kafka gives; else a file without contents to show"),
        integer("size_bytes", "null for what is no file", null=True),
    ),
)
