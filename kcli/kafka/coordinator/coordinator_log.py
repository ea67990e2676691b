"""The records of a coordinator's partition in order, as columns, and the markers that end transactions.

As `CoordinatorLoaderImpl` reads the log that a start has loaded, whose checksums no coordinator verifies, but
past damage: what cannot be read is a finding, and `CoordinatorLog.is_incomplete` says so.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import CONTROL_MASK, NO_PRODUCER_ID
from formats.bounds import LARGEST_BATCH, describe
from formats.control import ABORT, COMMIT, control_key
from formats.errors import FormatError
from formats.magic import LARGEST_HEADER, LATEST, is_above_latest, is_legacy, read_header
from formats.message_set import LegacyRecord, message_set, set_records
from formats.names import LOG
from formats.record import Record, batch_records
from formats.record_columns import FallbackBatch, RecordColumns, record_columns
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding, checksum_message
from kcli.kafka.findings.log_findings import magic_message, report_damage
from kcli.kafka.integrity.damaged import verified_windows
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.segment import DamagedRange
from kcli.logdir.targets import entry_of

Ints: TypeAlias = NDArray[np.int64]

UNREAD, CUT = "COORD-001", "START-001"
BREAKS_OFF = frozenset({"LOG-002", "LOG-017", "DUMP-002"})
"""Findings about bytes that are no batches, or are of a newer format, and about records that are none."""
READ = "{}: a coordinator verifies no checksum, and reads the batch as it is"
GONE = "the log ends at offset {}, and a checkpoint says that it reached {}: the records between are gone"
CUT_BY_START = "a start cuts the log at offset {}, and the coordinator knows nothing behind it; kcli reads it"


class CoordinatorRecords(NamedTuple):
    """Consecutive records, an element of each array a record.

    Of keys and values there are places in `data`, and lengths, -1 for null. `producer_id`: of those that a
    transaction wrote, else -1. `position`: byte of the batch in the file `path`, as shown.
    """

    data: bytes
    path: str
    producer_id: int
    offset: Ints
    timestamp: Ints
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints
    position: Ints

    def key(self, number: int) -> bytes | None:
        """Return the key of a record."""
        return self._bytes(self.key_start[number], self.key_length[number])

    def value(self, number: int) -> bytes | None:
        """Return the value of a record."""
        return self._bytes(self.value_start[number], self.value_length[number])

    def _bytes(self, start: int, length: int) -> bytes | None:
        return None if length < 0 else self.data[start : start + length]

    def subset(self, chosen: "Ints | NDArray[np.bool_] | slice") -> "CoordinatorRecords":
        """Return some of the records."""
        columns = (column[chosen] for column in self[3:])
        return CoordinatorRecords(self.data, self.path, self.producer_id, *columns)


class Marker(NamedTuple):
    """The end of a transaction of a producer."""

    offset: int
    timestamp: int
    producer_id: int
    producer_epoch: int
    is_commit: bool


class CoordinatorLog:
    """Iterates over the records and markers of a partition, up to an offset or a time (ms), inclusive.

    What a recovery cuts is read, too; `cut_from`: from where on a starting coordinator knows nothing.
    """

    def __init__(
        self,
        partition: Partition,
        loaded: LoadedLog,
        last_offset: int | None = None,
        last_time_ms: int | None = None,
    ) -> None:
        self._partition = partition
        self._last_offset, self._last_time_ms = last_offset, last_time_ms
        self.findings: list[Finding] = []
        self.lost = 0
        """Batches and ranges of bytes that cannot be read."""
        self._segments = {segment.base_offset: segment for segment in loaded.segments}
        self.cut_from: int | None = None
        if any(finding.code == CUT for finding in loaded.findings):
            self.cut_from = loaded.log_end_offset
            self._segments.update((lost.segment.base_offset, lost.segment) for lost in loaded.lost)
        checkpoints, self._end = loaded.checkpoints, loaded.log_end_offset
        is_written = is_running(partition.target)  # then its checkpoints are newer than what was read
        self._reached = 0 if is_written else max(checkpoints.high_watermark or 0, checkpoints.recovery_point)

    @property
    def is_incomplete(self) -> bool:
        """Whether something cannot be read, is gone, or a start cuts it."""
        return self.lost > 0 or self.cut_from is not None or self._reached > self._end

    def is_cut(self, offset: int) -> bool:
        """Whether a start cuts the log at or before an offset."""
        return self.cut_from is not None and offset >= self.cut_from

    @property
    def broken(self) -> Finding | None:
        """What ends the load of a coordinator: it reads past no damage. None where a start cuts that."""
        if self.cut_from is not None:
            return None
        return next((finding for finding in self.findings if finding.code in BREAKS_OFF), None)

    def __iter__(self) -> Iterator[CoordinatorRecords | Marker]:
        bounded = self._last_offset is not None or self._last_time_ms is not None
        for _, segment in sorted(self._segments.items()):
            if segment.log_path is None or not segment.log_size:
                continue
            if self._last_offset is not None and segment.base_offset > self._last_offset:
                break
            target = entry_of(self._partition.target, os.path.basename(segment.log_path), LOG)
            collector = FindingCollector(target)
            with segment.log() as file:
                for item in verified_windows(file, 0, segment.log_size):
                    if isinstance(item, Window):
                        runs = self._runs_of(file, target.shown, item, collector)
                        yield from self._bounded(runs) if bounded else runs
                    else:
                        self.lost += isinstance(item, DamagedRange)
                        self.findings += report_damage(item, collector)
            self.findings += collector.take()
        if self.cut_from is not None:
            message = CUT_BY_START.format(self.cut_from)
            self.findings.append(Finding(UNREAD, message, dir=self._partition.shown))
        elif self._reached > self._end:
            message = GONE.format(self._end, self._reached)
            self.findings.append(Finding(UNREAD, message, dir=self._partition.shown))
        if self.lost:
            message = f"{self.lost} batches or ranges of bytes cannot be read; what lies behind them is read"
            self.findings.append(Finding(UNREAD, message, dir=self._partition.shown))

    def _bounded(self, runs: Iterable[CoordinatorRecords | Marker]) -> Iterator[CoordinatorRecords | Marker]:
        offset = np.iinfo(np.int64).max if self._last_offset is None else self._last_offset
        time = np.iinfo(np.int64).max if self._last_time_ms is None else self._last_time_ms
        for run in runs:
            if isinstance(run, Marker):
                if run.offset <= offset and run.timestamp <= time:
                    yield run
            else:
                yield run.subset((run.offset <= offset) & (run.timestamp <= time))

    def _runs_of(
        self, file: DataFile, path: str, window: Window, collector: FindingCollector
    ) -> Iterator[CoordinatorRecords | Marker]:
        """Yield what a window holds; that of one of today's format comes many records at once."""
        fields, places = window.fields, window.positions
        blocks: Iterable[RecordColumns | FallbackBatch] = map(FallbackBatch, range(len(places)))
        if len(window.data) and (fields["magic"] == LATEST).all():
            blocks = record_columns(window.data, places - window.base, LARGEST_BATCH, fields)
        if window.valid is not None:
            for number in (~window.valid).nonzero()[0].tolist():
                offset = int(fields["base_offset"][number])
                message = checksum_message(offset)
                message = message if self.is_cut(offset) else READ.format(message)
                collector.add("LOG-003", int(places[number]), message)
        for block in blocks:
            if isinstance(block, RecordColumns):
                yield from _runs(block, path, places)
                continue
            position = int(places[block.number])
            try:
                yield from self._plain(file, path, position, collector)
            except FormatError as error:
                self.lost += 1
                offset = int(fields["base_offset"][block.number])
                collector.add("DUMP-002", position, f"offset {offset}: {describe(error.moved(position))}")

    def _plain(
        self, file: DataFile, path: str, position: int, collector: FindingCollector
    ) -> Iterator[CoordinatorRecords | Marker]:
        """Yield what one batch holds, record by record."""
        header = read_header(file.read(position, LARGEST_HEADER))
        if is_above_latest(header.magic):
            self.lost += 1
            collector.add("LOG-017", position, magic_message(header.base_offset, header.magic))
            return
        raw = file.read(position, header.size)
        if header.is_control:
            producer = header.producer_id, header.producer_epoch
            yield from (
                Marker(record.offset, record.timestamp, *producer, kind == COMMIT)
                for record in batch_records(raw, LARGEST_BATCH)
                if (kind := control_key(record.key).type) in {COMMIT, ABORT}
            )
            return
        records: list[Record | LegacyRecord] = []
        if is_legacy(header.magic):
            messages = set_records(message_set(raw, LARGEST_BATCH))
            records += (message for message in messages if message.error is None)
        else:
            records += batch_records(raw, LARGEST_BATCH)
        data = b"".join(content or b"" for record in records for content in (record.key, record.value))
        rows, key_start = [], 0
        for record in records:
            key, value = (-1 if content is None else len(content) for content in (record.key, record.value))
            value_start = key_start + max(key, 0)
            rows.append((record.offset, record.timestamp or -1, key_start, key, value_start, value, position))
            key_start = value_start + max(value, 0)
        columns = np.array(rows, np.int64).reshape(-1, 7).T
        yield CoordinatorRecords(data, path, header.producer_id, *columns)


def _runs(block: RecordColumns, path: str, places: Ints) -> Iterator[CoordinatorRecords | Marker]:
    """Yield the records of some batches, those of one producer together, and markers in their place."""
    batches = places[block.first : block.first + len(block.headers)]
    records = CoordinatorRecords(
        block.data,
        path,
        NO_PRODUCER_ID,
        *(block.offset, block.timestamp),
        *(block.key_start, block.key_length, block.value_start, block.value_length),
        batches[block.batch],
    )
    ids, is_control = block.headers["producer_id"], block.headers["attributes"] & CONTROL_MASK != 0
    if not is_control.any() and (ids == NO_PRODUCER_ID).all():
        yield records
        return
    parted = (ids[1:] != ids[:-1]) | is_control[1:] | is_control[:-1]
    for begin, end in pairwise([0, *(parted.nonzero()[0] + 1).tolist(), len(ids)]):
        run = records.subset(slice(int(block.bounds[begin]), int(block.bounds[end])))
        producer_id = int(ids[begin])
        if not is_control[begin]:
            yield run._replace(producer_id=producer_id)
            continue
        epoch = int(block.headers["producer_epoch"][begin])
        for number in range(len(run.offset)):
            kind = control_key(run.key(number)).type
            if kind in {COMMIT, ABORT}:
                offset, timestamp = int(run.offset[number]), int(run.timestamp[number])
                yield Marker(offset, timestamp, producer_id, epoch, kind == COMMIT)
