"""`--layout kip`, `--format kip405`: files, partitions and lines as KIP-405 has them."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from formats.checkpoint import EpochEntry
from formats.errors import FormatError
from formats.kip405 import FLAT_MAGIC, FLAT_VERSION, flat_entries, line, read_flat_file, read_offsets
from formats.names import COMMITTED_OFFSETS, REMOTE_LOG_SNAPSHOT, UNKNOWN
from formats.remote_metadata import PARTITION_DELETE_STATES, SEGMENT_STATES
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failed
from kcli.jobs.metadata_partitions import file_place
from kcli.jobs.rlmm.dump import file_values, valid_record
from kcli.kafka.remote.partitioning import partition_of_key
from kcli.logdir.buffers import FileError, file_error, read_whole, reading
from kcli.logdir.targets import Target
from kcli.rows import Item
from kcli.rows import remote_metadata as rlmm
from kcli.rows.declare import names_of

KIP_FILE_KINDS = frozenset({REMOTE_LOG_SNAPSHOT, COMMITTED_OFFSETS, UNKNOWN})
KIP_COLUMNS = {
    "epoch": "leader_epoch",
    "max_timestamp": "max_timestamp_ms",
    "event_timestamp": "event_timestamp_ms",
    "segment_size_in_bytes": "segment_size_bytes",
}
KIP_STATES = {"remoteLogSegmentState": SEGMENT_STATES, "remotePartitionDeleteState": PARTITION_DELETE_STATES}


def row_types(targets: Iterable[Target]) -> frozenset[str]:
    """Return the names of the row types that these targets can give."""
    offsets, flat = names_of(rlmm.RlmmCommittedOffsetRow), names_of(rlmm.RlmmKipEventRow, rlmm.RlmmKipFileRow)
    return frozenset().union(*(offsets if target.kind == COMMITTED_OFFSETS else flat for target in targets))


def dump(unit: Unit) -> Outcome:
    """Return the rows of a flat file, or of committed offsets; what comes before damage is always shown."""
    target, error = unit.target, None
    place, rows = file_place(target), list[Item]()
    try:
        with reading(target.path):
            data = read_whole(target.path)
            if target.kind == COMMITTED_OFFSETS:
                rows += [rlmm.RlmmCommittedOffsetRow(*place, *entry) for entry in read_offsets(data).items()]
                return Outcome(number=unit.number, rows=rows)
            head, position = read_flat_file(data)
    except FileError as raised:
        return failed(unit, raised)
    number = target.name.partition if target.name else None
    event = rlmm.RlmmKipEventRow(*place, topic=head.topic, topic_id=head.topic_id, partition=number)
    try:
        for entry in flat_entries(data, position):
            rows.append(_event_row(event, *entry))
    except FormatError as raised:
        error = failed(unit, file_error(target.path, raised)).error
    first = rlmm.RlmmKipFileRow(
        *place, FLAT_MAGIC, head.topic, head.topic_id, head.metadata_offset, len(rows)
    )
    return Outcome(number=unit.number, rows=[first, *rows], error=error)


def _event_row(event: rlmm.RlmmKipEventRow, position: int, name: str, fields: dict[str, Any]) -> Item:
    columns: dict[str, Any] = {"position": position, "record_type": name, "record_version": FLAT_VERSION}
    for field, value in fields.items():
        column = re.sub("([A-Z])", r"_\1", field).lower()
        if field in KIP_STATES:
            columns["state"] = KIP_STATES[field].get(value, str(value))
        elif field == "segmentLeaderEpochs":
            columns[column] = tuple(EpochEntry(entry["leaderEpoch"], entry["offset"]) for entry in value)
        else:
            columns[KIP_COLUMNS.get(column, column)] = value
    return event._replace(**columns)


def partition_rows(users: Iterable[tuple[str, int]], partitions: int) -> Iterator[rlmm.RlmmKipPartitionRow]:
    """Yield where KIP-405 puts the events of user partitions: by murmur2 of the text `orders-0`."""
    for topic, partition in users:
        placed = partition_of_key(f"{topic}-{partition}".encode(), partitions)
        yield rlmm.RlmmKipPartitionRow(topic, partition, placed.partition)


def lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines that KIP-405 specifies for rows of `rlmm dump`; no release prints them."""
    for row in rows:
        if not isinstance(row, rlmm.RlmmEventRow):
            yield ",".join(f"{name.replace('_', '-')}:{value}" for name, value in file_values(row))
        elif (record := valid_record(row)) is not None:
            yield line(row.metadata_partition, row.metadata_offset, record)
