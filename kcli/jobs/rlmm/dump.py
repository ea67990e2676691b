"""`rlmm dump`: the events of __remote_log_metadata and old files as rows, and as Kafka's lines."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

from formats.checkpoint import EpochEntry, read_committed_offsets
from formats.names import COMMITTED_OFFSETS, LOG, REMOTE_LOG_SNAPSHOT, PartitionDir
from formats.remote_metadata import (
    PARTITION_DELETE_STATES,
    SEGMENT_STATES,
    RemoteLogMetadata,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
    RemotePartitionDeleteMetadata,
    SegmentLeaderEpoch,
    state_name,
)
from formats.remote_snapshot import SNAPSHOT_HEADER, read_entries, read_header
from kcli.engine.contract import Job, Outcome, ResumePoint, Unit
from kcli.engine.inline import inline
from kcli.jobs.common import failed, log_dir_findings
from kcli.jobs.metadata_partitions import file_place, metadata_partition
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.coverage import EventCoverage
from kcli.kafka.remote.events import EventReader, log_end, records_of, report_end
from kcli.kafka.remote.partitioning import partition_of_events
from kcli.kafka.remote.serde import has_whole_header, java_text, kafka_text, read_entry, unreadable
from kcli.logdir.buffers import DataFile, FileError, read_whole, reading
from kcli.logdir.segment import Walk
from kcli.logdir.targets import Selection, Target
from kcli.rows import Item
from kcli.rows.remote_metadata import (
    ROW_TYPES_OF_KIND,
    RlmmCommittedOffsetRow,
    RlmmEventRow,
    RlmmPartitionRow,
    RlmmSnapshotRow,
)

EVENT_FILE_KINDS = frozenset({LOG, REMOTE_LOG_SNAPSHOT, COMMITTED_OFFSETS})
EVENT_ROWS = 2000
EVENT_BYTES = 4 * 1024 * 1024
MOST_ROWS = 100_000  # rows that are read for a suggestion
RENAMED_COLUMNS = {"version": "record_version", "segment_size_in_bytes": "segment_size_bytes"}
"""Columns whose name differs from the record's field."""

RECORD_TYPES: dict[str, type[Any]] = {
    record.__name__: record
    for record in (
        RemoteLogSegmentMetadata,
        RemoteLogSegmentMetadataUpdate,
        RemotePartitionDeleteMetadata,
        RemoteLogSegmentMetadataSnapshot,
    )
}
STATE_NUMBERS = {
    name: number for names in (SEGMENT_STATES, PARTITION_DELETE_STATES) for number, name in names.items()
}


def row_types(targets: Iterable[Target]) -> frozenset[str]:
    """Return the names of the row types that these targets can give."""
    return frozenset(name for target in targets for name in ROW_TYPES_OF_KIND[target.kind])


def dump(unit: Unit) -> Outcome:
    """Return the rows of one file, or of its next part: what comes before damage is always shown."""
    rows, collector = list[Item](), FindingCollector(unit.target)
    findings = log_dir_findings(unit.target) if unit.begins else ()
    try:
        with DataFile(unit.target.path) as file, reading(file.path):
            continuation = _DUMPS[unit.target.kind](file, unit, rows, collector)
        outcome = Outcome(number=unit.number, continuation=continuation)
    except FileError as error:
        outcome = failed(unit, error)
    return replace(outcome, rows=rows, findings=[*findings, *collector.take(), *outcome.findings])


def dump_selected(unit: Unit, selection: Selection) -> Outcome:
    """Return what `dump` does, its rows only as far as they are about a selected partition of the user's."""
    outcome = dump(unit)
    if not selection.names:
        return outcome
    return replace(outcome, rows=[row for row in outcome.rows if is_selected(row, unit.target, selection)])


def dump_events(unit: Unit, selection: Selection) -> Outcome:
    """Return what `dump_selected` does; nothing of a log of an unknown topic without an event to decode."""
    if unit.target.kind == LOG and unit.target.name is None:
        outcome = dump(unit)
        if not any(isinstance(row, RlmmEventRow) and row.error is None for row in outcome.rows):
            findings = [finding for finding in outcome.findings if not finding.code.startswith("RLMM-")]
            return replace(outcome, rows=[], findings=findings)
    return dump_selected(unit, selection)


def is_selected(row: Item, target: Target, selection: Selection) -> bool:
    """Whether a row is about a selected partition; an event that cannot be read is about none."""
    if isinstance(row, RlmmEventRow):
        is_known = row.topic is not None and row.partition is not None
        return is_known and selection.wants(PartitionDir(row.topic or "", row.partition or 0))
    return isinstance(row, RlmmSnapshotRow) and target.name is not None and selection.wants(target.name)


def topics(units: list[Unit]) -> Iterator[str]:
    """Yield the user topics that the first events are about."""
    rows = 0
    for outcome in inline(Job(dump), units):
        for row in outcome.rows:
            if isinstance(row, RlmmEventRow) and row.topic is not None:
                yield row.topic
        rows += len(outcome.rows)
        if rows >= MOST_ROWS:
            return


def _events(file: DataFile, unit: Unit, rows: list[Item], findings: FindingCollector) -> Unit | None:
    """Append the batches that a call may hold; return the rest, cursor 1 if the old layout was reported."""
    event = RlmmEventRow(*file_place(unit.target), metadata_partition=metadata_partition(unit.target))
    coverage = EventCoverage(log_end=cache(partial(log_end, unit.target)))
    reader = EventReader(findings, is_old_reported=bool(unit.cursor))
    walk, size = Walk(file, unit.position), 0
    for batch in walk:
        if len(rows) >= EVENT_ROWS or max(size, batch.position - unit.position) >= EVENT_BYTES:
            return replace(unit, resume=ResumePoint(batch.position, int(reader.is_old_reported)))
        coverage.add(batch.header.base_offset, batch.header.last_offset)
        for record in records_of(file, batch, findings, coverage):
            value = None if record.value is None else bytes(record.value)
            of_record = event._replace(metadata_offset=record.offset, timestamp=record.timestamp)
            metadata, refused = reader.read(record.offset, value, batch.position)
            rows.append(event_row(of_record, value, metadata, refused))
            size += len(value or b"")
    report_end(file, walk.stop, findings, coverage)
    return None


def event_row(
    event: RlmmEventRow, value: bytes | None, metadata: RemoteLogMetadata | None, refused: str | None
) -> RlmmEventRow:
    """Return the row of a value; without its metadata, what it lacks is why it cannot be decoded."""
    if metadata is None:
        return event._replace(raw=value, error=refused)
    # unknown tags have no column: `raw` shows them
    return with_record(event, metadata)._replace(raw=value if metadata.unknown_tags else None)


def _entries(file: DataFile, unit: Unit, rows: list[Item], findings: FindingCollector) -> None:
    """Append the header's row and those of the entries."""
    place, name = file_place(unit.target), unit.target.name
    raw = file.read(0, SNAPSHOT_HEADER.size)
    header = read_header(raw) if has_whole_header(raw, findings) else None
    if header is None:
        return
    rows.append(RlmmSnapshotRow(*place, *header))
    event = RlmmEventRow(*place, metadata_partition=header.metadata_partition)
    if name is not None:
        event = event._replace(topic=name.topic, partition=name.partition)
    rows += (
        event_row(event, entry.value, *read_entry(entry, findings))
        for entry in read_entries(file.read, file.size, header)
    )


def _committed_offsets(file: DataFile, unit: Unit, rows: list[Item], _: FindingCollector) -> None:
    offsets = read_committed_offsets(read_whole(file.path))
    rows += (RlmmCommittedOffsetRow(*file_place(unit.target), *entry) for entry in offsets.items())


_DUMPS: dict[str, Callable[[DataFile, Unit, list[Item], FindingCollector], Unit | None]] = {
    LOG: _events,
    REMOTE_LOG_SNAPSHOT: _entries,
    COMMITTED_OFFSETS: _committed_offsets,
}
"""Each appends the rows of a file that one call may hold, and returns the unit for the others."""


def partition_rows(users: Iterable[tuple[str, int]], partitions: int) -> Iterator[RlmmPartitionRow]:
    """Yield where the events of each user partition (topic id, number) are. ValueError for a bad id."""
    for topic_id, partition in users:
        placed = partition_of_events(topic_id, partition, partitions)
        yield RlmmPartitionRow(topic_id, partition, placed.partition)


# Records and rows


def with_record(row: RlmmEventRow, record: RemoteLogMetadata) -> RlmmEventRow:
    """Return an event with the columns that its record fills: all of it but unknown tags."""
    columns = {RENAMED_COLUMNS.get(name, name): value for name, value in record._asdict().items()}
    del columns["unknown_tags"]
    if not isinstance(record, RemoteLogSegmentMetadataUpdate | RemotePartitionDeleteMetadata):
        columns["segment_leader_epochs"] = tuple(
            EpochEntry(entry.leader_epoch, entry.offset) for entry in record.segment_leader_epochs
        )
    columns |= {"record_type": type(record).__name__, "state": state_name(record)}
    return row._replace(**columns)


def record_of(row: RlmmEventRow) -> RemoteLogMetadata | None:
    """Return the record of an event, without unknown tags; None if its value could not be decoded."""
    if row.record_type is None or row.state is None:
        return None
    record_type = RECORD_TYPES[row.record_type]
    columns = row._asdict()
    values = {name: columns.get(RENAMED_COLUMNS.get(name, name)) for name in record_type._fields}
    values["state"] = STATE_NUMBERS[row.state] if row.state in STATE_NUMBERS else int(row.state)
    values["unknown_tags"] = ()
    if "segment_leader_epochs" in values:
        values["segment_leader_epochs"] = tuple(
            SegmentLeaderEpoch(*entry) for entry in row.segment_leader_epochs or ()
        )
    record: RemoteLogMetadata = record_type(**values)
    return record


def kafka_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield what RemoteLogMetadataFormatter of 4.3.1 prints for each row.

    Nothing for values of which Kafka makes no object: there the formatter dies. The old layout is printed
    like the new one; rows of files, which the formatter never sees, as the values that Kafka makes of them.
    """
    for row in rows:
        if not isinstance(row, RlmmEventRow):
            yield ", ".join(f"{name}: {value}" for name, value in file_values(row))
        elif (record := valid_record(row)) is None:
            continue
        elif row.metadata_offset is None:
            yield f"value: {java_text(record)}"
        else:
            yield kafka_text(row.metadata_partition, row.metadata_offset, record)


def valid_record(row: RlmmEventRow) -> RemoteLogMetadata | None:
    """Return the record of an event; None where Kafka makes no object of its value."""
    record = record_of(row)
    return None if record is None or unreadable(record) is not None else record


def file_values(row: Item) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a row about a file, but where the file is."""
    assert isinstance(row, RlmmSnapshotRow | RlmmCommittedOffsetRow)
    yield from ((name, value) for name, value in row._asdict().items() if name not in {"dir", "file"})
