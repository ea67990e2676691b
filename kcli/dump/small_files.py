"""`dump` of files that are read whole: producer snapshots, checkpoints, properties, quorum state, markers."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from formats import names
from formats.batch import MAX_INT
from formats.checkpoint import OffsetEntry, read_leader_epoch_checkpoint, read_offset_entries
from formats.errors import FormatError
from formats.producer_snapshot import ProducerEntry, read_snapshot
from formats.properties import read_clean_shutdown, read_meta_properties, read_partition_metadata
from formats.quorum import read_quorum_state
from formats.segment_manifest import INDEX_PARTS, MANIFEST_VERSION, read_segment_manifest
from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause, Scanned
from kcli.engine.contract import ResumePoint, Unit
from kcli.jobs.common import source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.storage.log_segment import size_of
from kcli.logdir.buffers import file_error, irregular
from kcli.logdir.log_dirs import missing_ids
from kcli.logdir.remote_objects import read_target
from kcli.rows import dump


def read_file(unit: Unit, _: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the rows of a small file."""
    start, data = read_target(unit.target)
    try:
        row, parse = SMALL_FILES[unit.target.kind]
        for number, values in enumerate(parse(data)):
            if number >= unit.position:
                source = source_of(unit.target)
                if isinstance(values, OffsetEntry):  # it names its own partition
                    where = source.where._replace(topic=values.topic, partition=values.partition)
                    yield dump.DumpOffsetRow(source._replace(where=where), values.offset)
                else:
                    yield row(source, *values)
                yield Pause(ResumePoint(number + 1))
    except FormatError as error:
        raise file_error(unit.target.path, error.moved(start)) from error
    if unit.target.kind == names.META_PROPERTIES and (missing := missing_ids(read_meta_properties(data))):
        findings.add("DIR-008", None, missing)


def name_file(unit: Unit, *_: object) -> Scanned:
    """Yield the one row of a file whose contents have nothing to show, or mean nothing to Kafka."""
    target = unit.target
    size = size_of(target.path) if irregular(target.path) is None else None
    yield dump.DumpFileRow(source_of(target), target.kind, size)


def producer_values(entry: ProducerEntry) -> tuple[Any, ...]:
    """Return what DumpLogSegments prints of a producer, in its order; None for what it has not."""
    transaction = entry.current_txn_first_offset if entry.has_open_transaction else None
    values = (entry.producer_id, entry.producer_epoch, entry.coordinator_epoch, transaction, entry.timestamp)
    if not entry.has_batch:
        return (*values, None, None, None, None, None)
    first, delta = entry.last_sequence - entry.offset_delta, entry.offset_delta
    first += MAX_INT + 1 if first < 0 else 0  # as DefaultRecordBatch.decrementSequence
    return (*values, first, entry.last_sequence, entry.last_offset, delta, entry.timestamp)


def _manifest_values(data: bytes) -> tuple[Any, ...]:
    manifest = read_segment_manifest(data)
    chunks, indexes = manifest.chunk_index, manifest.indexes
    return (
        MANIFEST_VERSION,
        chunks.type,
        chunks.original_chunk_size,
        chunks.original_file_size,
        chunks.stored_size,
        chunks.chunk_count,
        manifest.compression,
        None if manifest.encryption is None else manifest.encryption.key_id,
        tuple(
            dump.StoredIndex(name, *indexes[kind]) for name, kind in INDEX_PARTS.items() if kind in indexes
        ),
        manifest.segment,
    )


SMALL_FILES: dict[str, tuple[type[Any], Callable[[bytes], Iterable[tuple[Any, ...]]]]] = {
    names.PRODUCER_SNAPSHOT: (
        dump.DumpProducerRow,
        lambda data: map(producer_values, read_snapshot(data).entries),
    ),
    names.LEADER_EPOCH_CHECKPOINT: (dump.DumpLeaderEpochRow, read_leader_epoch_checkpoint),
    names.OFFSET_CHECKPOINT: (dump.DumpOffsetRow, read_offset_entries),
    names.META_PROPERTIES: (
        dump.DumpMetaPropertiesRow,
        lambda data: [attrgetter("version", "node_id", "directory_id")(read_meta_properties(data))],
    ),
    names.PARTITION_METADATA: (dump.DumpPartitionMetadataRow, lambda data: [read_partition_metadata(data)]),
    names.QUORUM_STATE: (dump.DumpQuorumStateRow, lambda data: [read_quorum_state(data)]),
    names.SEGMENT_MANIFEST: (dump.DumpRsmManifestRow, lambda data: [_manifest_values(data)]),
    names.CLEAN_SHUTDOWN: (dump.DumpCleanShutdownRow, lambda data: [(read_clean_shutdown(data),)]),
}
"""The class of the rows of a small file, and what reads their values from its bytes."""
