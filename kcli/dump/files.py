"""`dump` of the files that are read whole: snapshots of producers, checkpoints, properties, quorum state, markers."""

import os
import stat
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from formats.batch import MAX_INT
from formats.checkpoint import read_leader_epoch_checkpoint, read_offset_entries
from formats.names import (
    CLEAN_SHUTDOWN,
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    OFFSET_CHECKPOINT,
    PARTITION_METADATA,
    PRODUCER_SNAPSHOT,
    QUORUM_STATE,
)
from formats.producer_snapshot import ProducerEntry, read_snapshot
from formats.properties import read_clean_shutdown, read_meta_properties, read_partition_metadata
from formats.quorum import read_quorum_state
from kcli.analysis.collector import FindingCollector
from kcli.dump.options import Here, Options, Scanned
from kcli.engine.contract import Unit
from kcli.logdir.buffers import file_error, read_whole, reading
from kcli.logdir.files import from_file
from kcli.rows import Row, RowType, Value
from kcli.rows.dump import (
    DUMP_CLEAN_SHUTDOWN,
    DUMP_EPOCH,
    DUMP_FILE,
    DUMP_META_PROPERTIES,
    DUMP_OFFSET,
    DUMP_PARTITION_METADATA,
    DUMP_PRODUCER,
    DUMP_QUORUM_STATE,
)

Where: TypeAlias = tuple[Value, ...]
Rows: TypeAlias = Iterable[tuple[Value, ...]]

TOPIC_COLUMN = 3
"""Place of `topic` in the columns that say where a row is from; `partition` and `file` follow."""


def whole(unit: Unit, options: Options, told: FindingCollector) -> Scanned:  # noqa: ARG001 - the shape of every reader
    """Yield the rows of a small file."""
    row_type, decode = READERS[unit.target.kind]
    data = read_whole(unit.target.path)
    with reading(unit.target.path):
        rows = decode(from_file(unit.target), data)
        for number, values in enumerate(rows):
            if number < unit.start:
                continue
            yield Row(row_type.name, values)
            yield Here(number + 1, 0)


def named(unit: Unit, options: Options, told: FindingCollector) -> Scanned:  # noqa: ARG001 - the shape of every reader
    """Yield the one row of a file whose contents have nothing to show, or mean nothing to Kafka."""
    target = unit.target
    try:
        status = os.stat(target.path)
    except OSError as error:
        raise file_error(target.path, error) from error
    size = status.st_size if stat.S_ISREG(status.st_mode) else None
    yield Row(DUMP_FILE.name, (*from_file(target), target.kind, size))


def _epochs(where: Where, data: bytes) -> Rows:
    return ((*where, *entry) for entry in read_leader_epoch_checkpoint(data))


def _offsets(where: Where, data: bytes) -> Rows:
    before, file = where[:TOPIC_COLUMN], where[-1]
    return (
        (*before, entry.topic, entry.partition, file, entry.offset) for entry in read_offset_entries(data)
    )


def _producers(where: Where, data: bytes) -> Rows:
    return ((*where, *producer_values(entry)) for entry in read_snapshot(data).entries)


def producer_values(entry: ProducerEntry) -> tuple[int | None, ...]:
    """Return what DumpLogSegments prints of a producer, in its order; None for what it has not."""
    transaction = entry.current_txn_first_offset if entry.has_open_transaction else None
    values = (entry.producer_id, entry.producer_epoch, entry.coordinator_epoch, transaction, entry.timestamp)
    if not entry.has_batch:
        return (*values, None, None, None, None, None)
    first = decrement_sequence(entry.last_sequence, entry.offset_delta)
    return (*values, first, entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)


def decrement_sequence(sequence: int, by: int) -> int:
    """Return a producer's sequence moved back, wrapping below 0 as DefaultRecordBatch.decrementSequence does."""
    return MAX_INT - (by - sequence) + 1 if sequence < by else sequence - by


def _one(read: Callable[[bytes], Any]) -> Callable[[Where, bytes], Rows]:
    def rows(where: Where, data: bytes) -> Rows:
        found = read(data)
        return [(*where, *found)] if isinstance(found, tuple) else [(*where, found)]

    return rows


def _meta(data: bytes) -> tuple[Value, ...]:
    found = read_meta_properties(data)
    return (found.version, found.node_id, found.directory_id)


def _quorum(data: bytes) -> tuple[Value, ...]:
    found = read_quorum_state(data)
    voters: list[Value] | None = list(found.current_voters) if found.current_voters is not None else None
    return (*found[:-1], voters)


READERS: dict[str, tuple[RowType, Callable[[Where, bytes], Rows]]] = {
    PRODUCER_SNAPSHOT: (DUMP_PRODUCER, _producers),
    LEADER_EPOCH_CHECKPOINT: (DUMP_EPOCH, _epochs),
    OFFSET_CHECKPOINT: (DUMP_OFFSET, _offsets),
    META_PROPERTIES: (DUMP_META_PROPERTIES, _one(_meta)),
    PARTITION_METADATA: (DUMP_PARTITION_METADATA, _one(read_partition_metadata)),
    QUORUM_STATE: (DUMP_QUORUM_STATE, _one(_quorum)),
    CLEAN_SHUTDOWN: (DUMP_CLEAN_SHUTDOWN, _one(read_clean_shutdown)),
}
