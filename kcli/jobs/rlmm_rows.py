"""Remote log metadata as rows of `kcli.rows`, and rows as the lines that Kafka's formatter prints."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from formats.remote_metadata import (
    PARTITION_DELETE_STATES,
    SEGMENT_STATES,
    RemoteLogMetadata,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
    RemotePartitionDeleteMetadata,
    SegmentLeaderEpoch,
)
from kcli.analysis.remote import java_text, kafka_text, kip405_text, state_name, unreadable
from kcli.rows import Item, Row, Value, row_types, type_name, values_of
from kcli.rows.remote_metadata import RLMM_EVENT

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
NAMES = {row_type.name: row_type.names for row_type in row_types("rlmm dump")}
STATE_NUMBERS = {
    name: number for names in (SEGMENT_STATES, PARTITION_DELETE_STATES) for number, name in names.items()
}


def event_row(columns: dict[str, Value]) -> Row:
    """Return a row of RLMM_EVENT; columns that are not given are null."""
    return Row(RLMM_EVENT.name, tuple(map(columns.get, NAMES[RLMM_EVENT.name])))


def record_columns(record: RemoteLogMetadata) -> dict[str, Value]:
    """Return the columns that a record fills: all of it but unknown tags, which only the raw value shows."""
    columns: dict[str, Value] = {
        COLUMN_OF_FIELD.get(name, name): value for name, value in record._asdict().items()
    }
    del columns["unknown_tags"]
    columns["record_type"] = type(record).__name__
    columns["state"] = state_name(record)
    if not isinstance(record, RemoteLogSegmentMetadataUpdate | RemotePartitionDeleteMetadata):
        columns["segment_leader_epochs"] = [
            {"epoch": entry.leader_epoch, "start_offset": entry.offset}
            for entry in record.segment_leader_epochs
        ]
    return columns


def record_of(columns: dict[str, Any]) -> RemoteLogMetadata | None:
    """Return the record that a row was made of, without unknown tags; None if its value could not be decoded."""
    record_type = RECORD_TYPES.get(columns["record_type"])
    if record_type is None:
        return None
    values = {name: columns.get(COLUMN_OF_FIELD.get(name, name)) for name in record_type._fields}
    state = columns["state"]
    values["state"] = STATE_NUMBERS[state] if state in STATE_NUMBERS else int(state)
    values["unknown_tags"] = ()
    if "segment_leader_epochs" in values:
        values["segment_leader_epochs"] = tuple(
            SegmentLeaderEpoch(entry["epoch"], entry["start_offset"])
            for entry in columns["segment_leader_epochs"]
        )
    record: RemoteLogMetadata = record_type(**values)
    return record


def kafka_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield what RemoteLogMetadataFormatter of 4.3.1 prints for each row.

    Nothing for values of which Kafka makes no object: there the formatter dies. The old layout is printed like the
    new one; rows of files, which the formatter never sees, as the values that Kafka makes of them.
    """
    for columns, record in _events(rows):
        if record is None:
            yield ", ".join(f"{name}: {value}" for name, value in columns.items())
        elif columns["metadata_offset"] is None:
            yield f"value: {java_text(record)}"
        else:
            yield kafka_text(columns["metadata_partition"], columns["metadata_offset"], record)


def kip405_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines that KIP-405 specified and no release prints, with partition and offset as its options show them.

    The events have the broker's id where the KIP has a leader epoch: it is printed under its own name.
    """
    for columns, record in _events(rows):
        if record is None:
            yield ",".join(f"{name.replace('_', '-')}:{value}" for name, value in columns.items())
        else:
            yield kip405_text(columns["metadata_partition"], columns["metadata_offset"], record)


TEXTS: dict[str, Callable[[Iterable[Item]], Iterator[str]]] = {"kafka": kafka_lines, "kip405": kip405_lines}


def _events(rows: Iterable[Item]) -> Iterator[tuple[dict[str, Any], RemoteLogMetadata | None]]:
    """Yield (columns, record) of events of which Kafka makes objects; of other rows (what they say of their file, None)."""
    for row in rows:
        assert isinstance(row, tuple)
        kind = type_name(row)
        columns: dict[str, Any] = dict(zip(NAMES[kind], values_of(row), strict=True))
        if kind != RLMM_EVENT.name:
            yield {name: value for name, value in columns.items() if name not in {"dir", "file"}}, None
            continue
        record = record_of(columns)
        if record is not None and unreadable(record) is None:
            yield columns, record
