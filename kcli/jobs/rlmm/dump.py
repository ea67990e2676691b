"""`rlmm dump`: the events of __remote_log_metadata, and the files that releases 3.1 to 3.7 kept."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple, TypeAlias

from formats.checkpoint import read_committed_offsets
from formats.message_set import LegacyRecord
from formats.names import COMMITTED_OFFSETS, LOG, REMOTE_LOG_METADATA, REMOTE_LOG_SNAPSHOT
from formats.record import Record
from formats.remote_events import event_decoder
from formats.remote_metadata import RemoteLogMetadata
from formats.remote_snapshot import (
    LENGTH_SIZE,
    SNAPSHOT_HEADER,
    SnapshotEntry,
    read_entries,
    read_header,
)
from formats.types import Buffer
from kcli.engine.contract import Map, Outcome, ResumePoint, Unit
from kcli.jobs.common import failed, internal_failure, log_dir_findings
from kcli.jobs.rlmm.rows import with_record
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.coverage import EventsHere
from kcli.kafka.remote.events import (
    log_end,
    read_entry,
    read_event,
    records_of,
    report_end,
    report_old_layout,
)
from kcli.kafka.remote.partitioning import partition_of_events
from kcli.kafka.remote.serde import has_whole_header
from kcli.logdir.buffers import DataFile, FileError, read_whole, reading, shown
from kcli.logdir.partition import Partition
from kcli.logdir.segment import Walk
from kcli.logdir.tree import PARTITION, Found, Target, entry_of
from kcli.rows import Item
from kcli.rows.remote_metadata import (
    ROW_TYPES_OF_KIND,
    RlmmCommittedOffsetRow,
    RlmmEventRow,
    RlmmPartitionRow,
    RlmmSnapshotRow,
)

ACCEPTS = frozenset({LOG, REMOTE_LOG_SNAPSHOT, COMMITTED_OFFSETS})

SNAPSHOT_NAME = "remote_log_snapshot"
COMMITTED_OFFSETS_NAME = "_rlmm_committed_offsets"

ROWS_PER_CALL = 2000
BYTES_PER_CALL = 4 * 1024 * 1024

_Read: TypeAlias = Callable[[DataFile, Unit, list[Item], FindingCollector], Unit | None]
"""Appends the rows of a file that one call may hold, and returns the unit for the others."""

RowOf: TypeAlias = Callable[
    [Record | LegacyRecord, int, FindingCollector], tuple[Item, RemoteLogMetadata | None]
]
"""Makes the row of a record in the batch at a position; reports what is wrong. Then what a broker reads."""


def row_types(
    targets: Iterable[Target], types_of_kind: Mapping[str, set[str]] = ROW_TYPES_OF_KIND
) -> frozenset[str]:
    """Return the names of the row types that these targets can give."""
    return frozenset(name for target in targets for name in types_of_kind.get(target.kind, ()))


def expand(found: Found) -> Found:
    """Return the same with one target per file that holds remote log metadata, in the order found.

    Of a log dir: the segments of every partition of __remote_log_metadata, the remote_log_snapshot of every
    partition, then _rlmm_committed_offsets. A partition directory that was named itself must hold something
    of it.
    """
    result = replace(found, targets=[], failures=list(found.failures), notes=list(found.notes))
    for target in found.targets:
        if target.kind != PARTITION:
            result.targets.append(target)
            continue
        partition = Partition(target)
        try:
            files = list(_files(partition))
            if _may_hold_events(partition):
                result.notes.extend(partition.unexpected_names)
        except FileError as error:
            result.miss(target, error)
            continue
        if not files and (
            partition.topic == REMOTE_LOG_METADATA or target.log_dir not in found.named_log_dirs
        ):
            message = (
                f"neither segments of {REMOTE_LOG_METADATA} nor a {SNAPSHOT_NAME} in this partition directory"
            )
            result.failures.append(FileError(target.shown, "nothing-to-read", message))
        result.targets.extend(files)
    result.targets.extend(_committed_offsets_of(found.named_log_dirs))
    return result


def _files(partition: Partition) -> Iterator[Target]:
    target = partition.target
    if _may_hold_events(partition):
        for segment in partition.segments:
            yield entry_of(target, f"{segment.stem}.log", LOG)
    if SNAPSHOT_NAME in partition.names:
        yield entry_of(target, SNAPSHOT_NAME, REMOTE_LOG_SNAPSHOT)


def _may_hold_events(partition: Partition) -> bool:
    return partition.topic in {REMOTE_LOG_METADATA, None}


def _committed_offsets_of(log_dirs: Iterable[str]) -> Iterator[Target]:
    for log_dir in log_dirs:
        path = os.path.join(log_dir, COMMITTED_OFFSETS_NAME)
        if os.path.lexists(path):
            yield Target(kind=COMMITTED_OFFSETS, path=path, shown=shown(path), name=None, log_dir=log_dir)


def dump(unit: Unit) -> Outcome:
    """Return the rows of one file, or of its next part: what comes before damage is always shown."""
    try:
        outcome = _DUMPS[unit.target.kind](unit)
        of_log_dir = log_dir_findings(unit.target) if unit.begins else []
        return replace(outcome, findings=[*of_log_dir, *outcome.findings])
    except FileError as error:
        return failed(unit, error)
    except Exception as error:  # noqa: BLE001 - the one boundary: a bug on one input must not stop the others
        return Outcome(number=unit.number, error=internal_failure(unit.target.shown, error))


# Events of a segment


class _Cursor(NamedTuple):
    """What the next call must know.

    Records of the first batch already shown, and whether the old layout was reported.
    """

    shown: int = 0
    old_layout_reported: bool = False

    def pack(self) -> int:
        return self.shown << 1 | self.old_layout_reported

    @staticmethod
    def unpack(cursor: int) -> "_Cursor":
        return _Cursor(cursor >> 1, bool(cursor & 1))


def file_place(target: Target) -> tuple[str, str]:
    """Return the directory and the name of a file."""
    directory, name = os.path.split(target.shown)
    return directory or ".", name


def metadata_partition(target: Target) -> int | None:
    """Return the partition of __remote_log_metadata that a file is of; None for another directory."""
    return (
        target.name.partition
        if target.name is not None and target.name.topic == REMOTE_LOG_METADATA
        else None
    )


def paged(unit: Unit, read: _Read) -> Outcome:
    """Return the rows of a file that one call gives, those before damage too, and the unit for the others."""
    rows: list[Item] = []
    findings = FindingCollector(unit.target)
    try:
        with DataFile(unit.target.path) as file, reading(file.path):
            rest = read(file, unit, rows, findings)
    except FileError as error:
        outcome = failed(unit, error)
        return replace(outcome, rows=rows, findings=[*findings.take(), *outcome.findings])
    return Outcome(number=unit.number, rows=rows, findings=findings.take(), continuation=rest)


def records_as_rows(
    file: DataFile,
    unit: Unit,
    rows: list[Item],
    findings: FindingCollector,
    row_of: RowOf,
    *,
    here: EventsHere,
) -> Unit | None:
    """Append the rows of as many batches as one call may hold; return the unit for those that are left.

    `here` takes the offsets of what is read.
    """
    cursor = _Cursor.unpack(unit.cursor)
    held = 0
    walk = Walk(file, unit.position)
    for batch in walk:
        if len(rows) >= ROWS_PER_CALL or max(held, batch.position - unit.position) >= BYTES_PER_CALL:
            return replace(unit, resume=ResumePoint(batch.position, cursor._replace(shown=0).pack()))
        shown = cursor.shown if batch.position == unit.position else 0
        here.add(batch.header.base_offset, batch.header.last_offset)
        for index, record in enumerate(records_of(file, batch, findings, here, again=shown > 0)):
            if index < shown:
                continue
            if len(rows) >= ROWS_PER_CALL or held >= BYTES_PER_CALL:
                return replace(unit, resume=ResumePoint(batch.position, cursor._replace(shown=index).pack()))
            row, metadata = row_of(record, batch.position, findings)
            rows.append(row)
            held += len(record.value or b"")
            if metadata is not None and not cursor.old_layout_reported:
                is_old = report_old_layout(metadata, record.offset, batch.position, findings)
                cursor = cursor._replace(old_layout_reported=is_old)
    report_end(file, walk.stop, findings, here)
    return None


def _events(file: DataFile, unit: Unit, rows: list[Item], findings: FindingCollector) -> Unit | None:
    event = RlmmEventRow(*file_place(unit.target), metadata_partition=metadata_partition(unit.target))
    decode = event_decoder()

    def row_of(
        record: Record | LegacyRecord, position: int, findings: FindingCollector
    ) -> tuple[Item, RemoteLogMetadata | None]:
        value = None if record.value is None else bytes(record.value)
        metadata, refused = read_event(decode, record.offset, value, position, findings)
        return _event_row(event, record, metadata, refused), metadata

    here = EventsHere(log_end=cache(partial(log_end, unit.target)))
    return records_as_rows(file, unit, rows, findings, row_of, here=here)


def _event_row(
    event: RlmmEventRow,
    record: Record | LegacyRecord,
    metadata: RemoteLogMetadata | None,
    refused: str | None,
) -> RlmmEventRow:
    """Return the row of a record; without its metadata, what it lacks is why it cannot be decoded."""
    event = event._replace(metadata_offset=record.offset, timestamp=record.timestamp)
    if metadata is None:
        return event._replace(raw=None if record.value is None else bytes(record.value), error=refused)
    return with_record(event, metadata)._replace(raw=_raw(metadata, record.value or b""))


def _raw(metadata: RemoteLogMetadata, value: Buffer) -> bytes | None:
    # unknown tags have no column: `raw` shows them
    return bytes(value) if metadata.unknown_tags else None


# The files next to the logs


def _entries(file: DataFile, unit: Unit, rows: list[Item], findings: FindingCollector) -> Unit | None:
    """Append the header's row and those of as many entries as one call may hold.

    Return the unit for the others.
    """
    place, name = file_place(unit.target), unit.target.name
    raw = file.read(0, SNAPSHOT_HEADER.size)
    header = read_header(raw) if has_whole_header(raw, findings) else None
    if header is None:
        return None
    if unit.begins:
        rows.append(RlmmSnapshotRow(*place, *header))
    event = RlmmEventRow(*place, metadata_partition=header.metadata_partition)
    if name is not None:
        event = event._replace(topic=name.topic, partition=name.partition)
    position, held = unit.position or SNAPSHOT_HEADER.size, 0
    for entry in read_entries(file.read, file.size, header, position=position, number=unit.cursor):
        if len(rows) >= ROWS_PER_CALL or held >= BYTES_PER_CALL:
            return replace(unit, resume=ResumePoint(entry.position - LENGTH_SIZE, entry.number))
        rows.append(_entry_row(event, entry, findings))
        held += len(entry.value)
    return None


def _entry_row(event: RlmmEventRow, entry: SnapshotEntry, findings: FindingCollector) -> RlmmEventRow:
    metadata, refused = read_entry(entry, findings)
    if metadata is None:
        return event._replace(raw=entry.value, error=refused)
    return with_record(event, metadata)._replace(raw=_raw(metadata, entry.value))


def _committed_offsets(unit: Unit) -> Outcome:
    target = unit.target
    data = read_whole(target.path)
    with reading(target.path):
        offsets = read_committed_offsets(data)
    place = file_place(target)
    rows: list[Item] = [RlmmCommittedOffsetRow(*place, *entry) for entry in offsets.items()]
    return Outcome(number=unit.number, rows=rows)


_DUMPS: dict[str, Map] = {
    LOG: lambda unit: paged(unit, _events),
    REMOTE_LOG_SNAPSHOT: lambda unit: paged(unit, _entries),
    COMMITTED_OFFSETS: _committed_offsets,
}


def partition_rows(users: Iterable[tuple[str, int]], partitions: int) -> Iterator[RlmmPartitionRow]:
    """Yield where the events of each user partition (topic id, number) are, in the order given.

    ValueError for a bad id.
    """
    for topic_id, partition in users:
        yield RlmmPartitionRow(
            topic_id, partition, partition_of_events(topic_id, partition, partitions).partition
        )
