"""The rows of `dump`: one type for each structure that a file of a log dir is made of."""

from typing import Annotated, Any, NamedTuple

from kcli.rows.declare import Timestamp
from kcli.rows.partitions import FromFile


class RecordHeader(NamedTuple):
    """A header of a record."""

    key: str
    value: bytes | None


class DumpBatchRow(NamedTuple):
    """The header of one batch."""

    source: FromFile
    position: Annotated[int, "byte where the batch begins"]
    size: Annotated[int, "bytes of the whole batch, its header included"]
    magic: Annotated[int, "version of the message format"]
    base_offset: Annotated[int, "as stored; of a wrapper of magic 0 or 1 the offset of its last message"]
    last_offset: Annotated[int, "inclusive"]
    count: Annotated[  # type: ignore[assignment]  # of a tuple it is a method, which no row needs
        int | None, "records; null for a wrapper of magic 0 or 1, which does not say"
    ]
    partition_leader_epoch: Annotated[int, "-1 none"]
    producer_id: Annotated[int, "-1 none"]
    producer_epoch: Annotated[int, "-1 none"]
    base_sequence: Annotated[int, "-1 none"]
    last_sequence: Annotated[int, "-1 none"]
    is_transactional: Annotated[bool, "whether it is part of a transaction"]
    is_control: Annotated[bool, "whether it holds control records"]
    delete_horizon_ms: Annotated[Timestamp | None, "null without one"]
    timestamp_type: Annotated[str, "CreateTime, LogAppendTime or NoTimestampType"]
    max_timestamp: Annotated[Timestamp, "of its records; -1 none"]
    compression: Annotated[str, "none, gzip, snappy, lz4, zstd, or the number of an unknown codec"]
    crc: Annotated[int, "as stored"]
    is_valid: Annotated[bool, "whether the checksum matches"]


class DumpRecordRow(NamedTuple):
    """One record."""

    source: FromFile
    position: Annotated[int, "byte where its batch begins"]
    offset: Annotated[int, "of the record"]
    timestamp: Annotated[Timestamp, "-1 none"]
    key: Annotated[bytes | None, "null apart from empty"]
    value: Annotated[bytes | None, "null apart from empty"]
    headers: Annotated[
        tuple[RecordHeader, ...], "in their order; bytes of a key that are not UTF-8 are written as \\xNN"
    ]
    sequence: Annotated[int, "-1 none"]
    control_type: Annotated[
        str | None, "Kafka's name of a control record's type, or its number if unknown; null for data"
    ]
    record_type: Annotated[
        str | None, "of an internal topic: Kafka's name of what it says, or the number of an unknown type"
    ]
    record_version: Annotated[int | None, "of the decoded value"]
    decoded_key: Annotated[
        dict[str, Any] | None, "of an internal topic: the key as Kafka's JSON converters write it"
    ]
    decoded_value: Annotated[
        dict[str, Any] | None,
        "of an internal topic, and of the quorum's control records: the value as Kafka's JSON converters "
        "write it; null for a tombstone",
    ]
    error: Annotated[
        str | None,
        "what of an internal topic's record cannot be decoded, or is not shown by the columns before",
    ]


class DumpIndexRow(NamedTuple):
    """One entry of an offset index."""

    source: FromFile
    offset: Annotated[int, "last offset of an append"]
    position: Annotated[int, "byte where it begins"]


class DumpTimeindexRow(NamedTuple):
    """One entry of a time index."""

    source: FromFile
    timestamp: Annotated[Timestamp, "largest so far"]
    offset: Annotated[int, "last offset of the batch that has it"]


class DumpTxnindexRow(NamedTuple):
    """One entry of a transaction index."""

    source: FromFile
    producer_id: Annotated[int, "whose transaction was aborted"]
    first_offset: Annotated[int, "of the transaction"]
    last_offset: Annotated[int, "of its abort marker"]
    last_stable_offset: Annotated[int, "once it was aborted"]


class DumpProducerRow(NamedTuple):
    """One producer of a producer snapshot."""

    source: FromFile
    producer_id: Annotated[int, "of the producer"]
    producer_epoch: Annotated[int, "of the producer"]
    coordinator_epoch: Annotated[int, "of its last end marker; -1 none"]
    current_txn_first_offset: Annotated[int | None, "of its open transaction; null without one"]
    last_timestamp: Annotated[Timestamp, "of its last batch or end marker"]
    first_sequence: Annotated[int | None, "of its last batch; null without one"]
    last_sequence: Annotated[int | None, "of its last batch; null without one"]
    last_offset: Annotated[int | None, "of its last batch; null without one"]
    offset_delta: Annotated[int | None, "last minus first offset of its last batch; null without one"]
    timestamp: Annotated[Timestamp | None, "of its last batch; null without one"]


class DumpLeaderEpochRow(NamedTuple):
    """One line of a leader-epoch-checkpoint."""

    source: FromFile
    epoch: Annotated[int, "leader epoch"]
    start_offset: Annotated[int, "first offset written in it"]


class DumpOffsetRow(NamedTuple):
    """One line of an offset checkpoint."""

    source: FromFile
    offset: Annotated[int, "of the partition that the row names"]


class DumpMetaPropertiesRow(NamedTuple):
    """What meta.properties says."""

    source: FromFile
    version: Annotated[int, "of the file"]
    node_id: Annotated[int | None, "node.id, or broker.id in version 0"]
    directory_id: Annotated[str | None, "of the log dir"]


class DumpPartitionMetadataRow(NamedTuple):
    """What partition.metadata says."""

    source: FromFile
    version: Annotated[int, "of the file"]
    topic_id: Annotated[str, "of the topic"]


class DumpQuorumStateRow(NamedTuple):
    """What quorum-state says."""

    source: FromFile
    data_version: Annotated[int, "of the file"]
    leader_id: Annotated[int, "-1 none"]
    leader_epoch: Annotated[int, "of the quorum"]
    voted_id: Annotated[int, "-1 none"]
    voted_directory_id: Annotated[str | None, "version 1"]
    state_cluster_id: Annotated[str | None, "clusterId of version 0"]
    applied_offset: Annotated[int | None, "version 0"]
    current_voters: Annotated[tuple[int, ...] | None, "version 0"]


class DumpCleanShutdownRow(NamedTuple):
    """What .kafka_cleanshutdown says."""

    source: FromFile
    broker_epoch: Annotated[int | None, "null where unknown"]


class StoredIndex(NamedTuple):
    """Where one index lies in the `.indexes` of a segment: bytes."""

    index: str  # type: ignore[assignment]  # of a tuple it is a method, which no row needs
    position: int
    size: int


class DumpRsmManifestRow(NamedTuple):
    """What the .rsm-manifest of a remote segment says, as Aiven's plugin writes it."""

    source: FromFile
    manifest_version: Annotated[str, "of the file"]
    chunk_index: Annotated[str, "fixed or variable: whether stored chunks have one size"]
    original_chunk_size: Annotated[int, "bytes of the log in a chunk"]
    original_file_size: Annotated[int, "bytes of the log"]
    stored_size: Annotated[int, "bytes of all chunks as they are stored"]
    chunks: Annotated[int, "how many"]
    is_compressed: Annotated[bool, "whether the plugin compressed the chunks"]
    encryption_key_id: Annotated[str | None, "of the key pair; null: not encrypted"]
    stored_indexes: Annotated[tuple[StoredIndex, ...], "by the plugin's names"]
    remote_log_segment_metadata: Annotated[
        dict[str, Any] | None, "as written; the plugin does not read it, null without"
    ]


class DumpLayoutRow(NamedTuple):
    """One field of a structure, as it lies in its file: a row of `dump --layout`."""

    source: FromFile
    structure: Annotated[str, "what the field is part of, by its name and number"]
    field: Annotated[str, "name from the declaration"]
    position: Annotated[int | None, "byte of the file where it begins; null in what was decompressed"]
    stream_position: Annotated[
        int | None, "byte of the decompressed records where it begins; null outside of them"
    ]
    size: Annotated[int, "bytes"]
    bytes: Annotated[bytes | None, "as stored; null where only the size is shown"]
    value: Annotated[
        str | None,
        "number as Kafka reads it, text, or 0x and hex for other bytes, how many where they are "
        "above 1 MiB; null where the bytes are shown field by field",
    ]
    meaning: Annotated[str | None, "of the field, from the declaration; null where its name says it"]


class DumpFileRow(NamedTuple):
    """A file without contents to show."""

    source: FromFile
    kind: Annotated[str, "unknown: no name that Kafka gives; else a file without contents to show"]
    size_bytes: Annotated[int | None, "null for what is no file"]
