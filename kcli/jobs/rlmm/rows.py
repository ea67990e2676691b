"""Remote log metadata as rows of `kcli.rows`, and rows as the lines that Kafka's formatter prints."""

from collections.abc import Iterable, Iterator
from typing import Any

from formats import kip405
from formats.checkpoint import EpochEntry
from formats.kip405 import EVERY_PART, LineParts
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
from kcli.kafka.remote.serde import java_text, kafka_text, unreadable
from kcli.rows import Item
from kcli.rows.remote_metadata import RlmmCommittedOffsetRow, RlmmEventRow, RlmmSnapshotRow

COLUMN_OF_FIELD = {"version": "record_version", "segment_size_in_bytes": "segment_size_bytes"}
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


def with_record(row: RlmmEventRow, record: RemoteLogMetadata) -> RlmmEventRow:
    """Return an event with the columns that its record fills.

    All of it but unknown tags, which only `raw` shows.
    """
    columns = {COLUMN_OF_FIELD.get(name, name): value for name, value in record._asdict().items()}
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
    values = {name: columns.get(COLUMN_OF_FIELD.get(name, name)) for name in record_type._fields}
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
            yield ", ".join(f"{name}: {value}" for name, value in _file_values(row))
        elif (record := valid_record(row)) is None:
            continue
        elif row.metadata_offset is None:
            yield f"value: {java_text(record)}"
        else:
            yield kafka_text(row.metadata_partition, row.metadata_offset, record)


def kip405_lines(rows: Iterable[Item], shown: LineParts = EVERY_PART) -> Iterator[str]:
    """Yield the lines that KIP-405 specifies, with these parts; no release prints them."""
    for row in rows:
        if not isinstance(row, RlmmEventRow):
            yield shown.sep.join(f"{name.replace('_', '-')}:{value}" for name, value in _file_values(row))
        elif (record := valid_record(row)) is not None:
            yield kip405.line(row.metadata_partition, row.metadata_offset, record, shown)


def valid_record(row: RlmmEventRow) -> RemoteLogMetadata | None:
    """Return the record of an event; None where Kafka makes no object of its value."""
    record = record_of(row)
    return None if record is None or unreadable(record) is not None else record


def _file_values(row: Item) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a row about a file, but where the file is."""
    assert isinstance(row, RlmmSnapshotRow | RlmmCommittedOffsetRow)
    yield from ((name, value) for name, value in row._asdict().items() if name not in {"dir", "file"})
