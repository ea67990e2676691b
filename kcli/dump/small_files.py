"""`dump` of files that are read whole: producer snapshots, checkpoints, properties, quorum state, markers."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from formats.batch import MAX_INT
from formats.checkpoint import read_leader_epoch_checkpoint, read_offset_entries
from formats.errors import FormatError
from formats.names import (
    CLEAN_SHUTDOWN,
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    OFFSET_CHECKPOINT,
    PARTITION_METADATA,
    PRODUCER_SNAPSHOT,
    QUORUM_STATE,
    SEGMENT_MANIFEST,
)
from formats.producer_snapshot import ProducerEntry, read_snapshot
from formats.properties import read_clean_shutdown, read_meta_properties, read_partition_metadata
from formats.quorum import read_quorum_state
from formats.segment_manifest import PARTS, VERSION, read_segment_manifest
from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause, Scanned
from kcli.engine.contract import ResumePoint, Unit
from kcli.jobs.common import source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.storage.log_segment import size_of
from kcli.logdir.buffers import file_error, irregular
from kcli.logdir.log_dirs import missing_ids
from kcli.logdir.remote_objects import read_target
from kcli.rows.declare import AnyRow, RowType
from kcli.rows.dump import (
    DUMP_CLEAN_SHUTDOWN,
    DUMP_EPOCH,
    DUMP_META_PROPERTIES,
    DUMP_OFFSET,
    DUMP_PARTITION_METADATA,
    DUMP_PRODUCER,
    DUMP_QUORUM_STATE,
    DUMP_SEGMENT_MANIFEST,
    DumpCleanShutdownRow,
    DumpFileRow,
    DumpLeaderEpochRow,
    DumpMetaPropertiesRow,
    DumpOffsetRow,
    DumpPartitionMetadataRow,
    DumpProducerRow,
    DumpQuorumStateRow,
    DumpSegmentManifestRow,
    StoredIndex,
)
from kcli.rows.partitions import FromFile

Decode: TypeAlias = Callable[[FromFile, bytes], Iterable[AnyRow]]


class FileReader(NamedTuple):
    """The type of the rows of a small file, and what makes them of its bytes."""

    row_type: RowType
    decode: Decode


def read_file(unit: Unit, _: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the rows of a small file."""
    start, data = read_target(unit.target)
    try:
        rows = READERS[unit.target.kind].decode(source_of(unit.target), data)
        for number, row in enumerate(rows):
            if number >= unit.position:
                yield row
                yield Pause(ResumePoint(number + 1))
    except FormatError as error:
        raise file_error(unit.target.path, error.moved(start)) from error
    if unit.target.kind == META_PROPERTIES and (missing := missing_ids(read_meta_properties(data))):
        findings.add("DIR-008", None, missing)


def name_file(unit: Unit, *_: object) -> Scanned:
    """Yield the one row of a file whose contents have nothing to show, or mean nothing to Kafka."""
    target = unit.target
    size = size_of(target.path) if irregular(target.path) is None else None
    yield DumpFileRow(source_of(target), target.kind, size)


def _offsets(source: FromFile, data: bytes) -> Iterable[DumpOffsetRow]:
    """Yield the entries of an offset checkpoint: each names its own partition."""
    for entry in read_offset_entries(data):
        where = source.where._replace(topic=entry.topic, partition=entry.partition)
        yield DumpOffsetRow(source._replace(where=where), entry.offset)


def producer_values(entry: ProducerEntry) -> tuple[Any, ...]:
    """Return what DumpLogSegments prints of a producer, in its order; None for what it has not."""
    transaction = entry.current_txn_first_offset if entry.has_open_transaction else None
    values = (entry.producer_id, entry.producer_epoch, entry.coordinator_epoch, transaction, entry.timestamp)
    if not entry.has_batch:
        return (*values, None, None, None, None, None)
    first = decrement_sequence(entry.last_sequence, entry.offset_delta)
    return (*values, first, entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)


def decrement_sequence(sequence: int, by: int) -> int:
    """Return a sequence moved back, wrapped below 0 as DefaultRecordBatch.decrementSequence does."""
    return MAX_INT - (by - sequence) + 1 if sequence < by else sequence - by


def _meta_properties(source: FromFile, data: bytes) -> Iterable[DumpMetaPropertiesRow]:
    found = read_meta_properties(data)
    return [DumpMetaPropertiesRow(source, found.version, found.node_id, found.directory_id)]


def _segment_manifest(source: FromFile, data: bytes) -> Iterable[DumpSegmentManifestRow]:
    found = read_segment_manifest(data)
    chunks = found.chunk_index
    return [
        DumpSegmentManifestRow(
            source,
            VERSION,
            chunks.type,
            chunks.original_chunk_size,
            chunks.original_file_size,
            chunks.stored_size,
            chunks.chunk_count,
            found.compression,
            None if found.encryption is None else found.encryption.key_id,
            tuple(
                StoredIndex(name, *found.indexes[kind])
                for name, kind in PARTS.items()
                if kind in found.indexes
            ),
            found.segment,
        )
    ]


READERS: dict[str, FileReader] = {
    PRODUCER_SNAPSHOT: FileReader(
        DUMP_PRODUCER,
        lambda source, data: (
            DumpProducerRow(source, *producer_values(entry)) for entry in read_snapshot(data).entries
        ),
    ),
    LEADER_EPOCH_CHECKPOINT: FileReader(
        DUMP_EPOCH,
        lambda source, data: (
            DumpLeaderEpochRow(source, *entry) for entry in read_leader_epoch_checkpoint(data)
        ),
    ),
    OFFSET_CHECKPOINT: FileReader(DUMP_OFFSET, _offsets),
    META_PROPERTIES: FileReader(DUMP_META_PROPERTIES, _meta_properties),
    PARTITION_METADATA: FileReader(
        DUMP_PARTITION_METADATA,
        lambda source, data: [DumpPartitionMetadataRow(source, *read_partition_metadata(data))],
    ),
    QUORUM_STATE: FileReader(
        DUMP_QUORUM_STATE, lambda source, data: [DumpQuorumStateRow(source, *read_quorum_state(data))]
    ),
    SEGMENT_MANIFEST: FileReader(DUMP_SEGMENT_MANIFEST, _segment_manifest),
    CLEAN_SHUTDOWN: FileReader(
        DUMP_CLEAN_SHUTDOWN, lambda source, data: [DumpCleanShutdownRow(source, read_clean_shutdown(data))]
    ),
}
