"""`rlmm dump --layout kip`: remote log metadata as KIP-405 lays it out, which no release writes.

Segments of __remote_log_metadata, flat files (any file that is neither), and _rlmm_committed_offsets.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from formats.checkpoint import EpochEntry
from formats.errors import FormatError, LimitError
from formats.kip405 import (
    LARGEST_FILE,
    FlatFile,
    KipMessage,
    flat_entries,
    read_flat_file,
    read_offsets,
    read_record,
)
from formats.message_set import LegacyRecord
from formats.names import COMMITTED_OFFSETS, LOG, REMOTE_LOG_SNAPSHOT, UNKNOWN, PartitionDir
from formats.record import Record
from formats.remote_metadata import PARTITION_DELETE_STATES, SEGMENT_STATES, RemoteLogMetadata
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failed
from kcli.jobs.rlmm.dump import file_place, metadata_partition, paged, records_as_rows
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.remote.events_here import EventsHere
from kcli.logdir.buffers import DataFile, FileError, file_error, read_whole, reading
from kcli.logdir.tree import Selection, Target
from kcli.rows import Item
from kcli.rows.remote_metadata import (
    RLMM_COMMITTED,
    RLMM_KIP_EVENT,
    RLMM_KIP_FILE,
    RlmmCommittedOffsetRow,
    RlmmKipEventRow,
    RlmmKipFileRow,
)

ACCEPTS = frozenset({LOG, REMOTE_LOG_SNAPSHOT, COMMITTED_OFFSETS, UNKNOWN})
COLUMN_OF_FIELD = {
    "startOffset": "start_offset",
    "endOffset": "end_offset",
    "leaderEpoch": "leader_epoch",
    "epoch": "leader_epoch",
    "maxTimestamp": "max_timestamp_ms",
    "eventTimestamp": "event_timestamp_ms",
    "segmentSizeInBytes": "segment_size_bytes",
    "segmentId": "segment_id",
}
STATES = {"remoteLogSegmentState": SEGMENT_STATES, "remotePartitionDeleteState": PARTITION_DELETE_STATES}


def row_types(targets: Iterable[Target]) -> frozenset[str]:
    """Return the names of the row types that these targets can give."""
    kinds = {target.kind for target in targets}
    names = {RLMM_COMMITTED.name} if COMMITTED_OFFSETS in kinds else set()
    names |= {RLMM_KIP_FILE.name} if kinds & {UNKNOWN, REMOTE_LOG_SNAPSHOT} else set()
    return frozenset(names | ({RLMM_KIP_EVENT.name} if kinds - {COMMITTED_OFFSETS} else set()))


def dump(unit: Unit, *, selection: Selection) -> Outcome:
    """Return the rows of one file, or of its next part, as far as they are about a selected partition."""
    try:
        outcome = _dump(unit)
    except FileError as error:
        return failed(unit, error)
    if not selection.names:
        return outcome
    return replace(outcome, rows=[row for row in outcome.rows if _is_selected(row, selection)])


def topics(units: list[Unit]) -> Iterator[str]:
    """Yield the user topics that the first rows of each file are about."""
    for unit in units:
        for row in dump(unit, selection=Selection()).rows:
            if isinstance(row, RlmmKipEventRow) and row.topic is not None:
                yield row.topic


def _dump(unit: Unit) -> Outcome:
    if unit.target.kind == LOG:
        return paged(unit, _records)
    data = _whole(unit.target)
    if unit.target.kind != COMMITTED_OFFSETS:
        return _flat_file(unit, data)
    with reading(unit.target.path):
        offsets = read_offsets(data)
    place = file_place(unit.target)
    rows: list[Item] = [RlmmCommittedOffsetRow(*place, *entry) for entry in offsets.items()]
    return Outcome(number=unit.number, rows=rows)


def _whole(target: Target) -> bytes:
    with DataFile(target.path) as file:
        if file.size > LARGEST_FILE:
            raise file_error(file.path, LimitError(0, "file", f"at most {LARGEST_FILE} bytes", file.size))
    return read_whole(target.path)


def _records(file: DataFile, unit: Unit, rows: list[Item], findings: FindingCollector) -> Unit | None:
    event = RlmmKipEventRow(*file_place(unit.target), metadata_partition=metadata_partition(unit.target))

    def row_of(
        record: Record | LegacyRecord, position: int, findings: FindingCollector
    ) -> tuple[Item, RemoteLogMetadata | None]:
        row = event._replace(metadata_offset=record.offset)
        if record.value is None:
            findings.add("RLMM-002", position, f"offset {record.offset}: null value")
            return row._replace(error="null value"), None
        try:
            return _with_message(row, read_record(record.value)), None
        except FormatError as error:
            findings.add("RLMM-001", position, f"offset {record.offset}: {error}")
            return row._replace(raw=bytes(record.value), error=str(error)), None

    return records_as_rows(file, unit, rows, findings, row_of, here=EventsHere())


def _flat_file(unit: Unit, data: bytes) -> Outcome:
    """Return the rows of a flat file; those before damage, too."""
    place = file_place(unit.target)
    with reading(unit.target.path):
        head, position = read_flat_file(data)
    rows: list[Item] = []
    error = None
    try:
        for at, message in flat_entries(data, position):
            rows.append(_with_message(_of_file(place, head, at, unit.target), message))
    except FormatError as raised:
        error = failed(unit, file_error(unit.target.path, raised)).error
    first = RlmmKipFileRow(*place, head.magic, head.topic, head.topic_id, head.metadata_offset, len(rows))
    return Outcome(number=unit.number, rows=[first, *rows], error=error)


def _of_file(place: tuple[str, str], head: FlatFile, at: int, target: Target) -> RlmmKipEventRow:
    partition = target.name.partition if target.name is not None else None
    return RlmmKipEventRow(*place, position=at, topic=head.topic, topic_id=head.topic_id, partition=partition)


def _with_message(row: RlmmKipEventRow, message: KipMessage) -> RlmmKipEventRow:
    """Return an event with the columns that its message fills."""
    columns: dict[str, Any] = {"record_type": message.name, "record_version": message.version}
    fields = dict(message.fields)
    segment = fields.pop("remoteLogSegmentId", None)
    about = fields.pop("topicIdPartition", None) if segment is None else segment["topicIdPartition"]
    if segment is not None:
        columns["segment_id"] = segment["id"]
    if about is not None:
        columns |= {"topic": about["name"], "topic_id": about["id"], "partition": about["partition"]}
    for name, value in fields.items():
        if name in STATES:
            columns["state"] = STATES[name].get(value, str(value))
        elif name == "segmentLeaderEpochs":
            entries = tuple(EpochEntry(one["leaderEpoch"], one["offset"]) for one in value)
            columns["segment_leader_epochs"] = entries
        else:
            columns[COLUMN_OF_FIELD[name]] = value
    return row._replace(**columns)


def _is_selected(row: Item, selection: Selection) -> bool:
    if isinstance(row, RlmmKipFileRow):
        return True
    if not isinstance(row, RlmmKipEventRow) or row.topic is None:
        return False
    return selection.wants(PartitionDir(row.topic, row.partition or 0))
