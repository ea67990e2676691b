"""The one reader of the events of __remote_log_metadata: those that a broker can use, the others as findings.

An EventLog reads a metadata partition from one or several copies, as segments of a log dir each. Each offset
counts once, and only if it rises; `EventLog.coverage` says what is missing. EventReader decodes single
values, of a file or of a live topic. The truth is `ConsumerTask`.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formats.batch import CONTROL_MASK
from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError
from formats.magic import LARGEST_HEADER, LATEST, is_above_latest, is_legacy, is_valid, read_header
from formats.messages.remote import LAYOUT_3_0
from formats.names import REMOTE_LOG_METADATA, PartitionDir
from formats.record import Record, batch_records
from formats.remote_metadata import (
    RemoteLogMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemotePartitionDeleteMetadata,
    decode,
)
from kcli.kafka.findings.collector import FindingCollector, collect_findings
from kcli.kafka.findings.findings import Finding, checksum_message
from kcli.kafka.findings.log_findings import growth_message, magic_message
from kcli.kafka.kraft.partition_start import start
from kcli.kafka.remote.coverage import (
    CUT_BY_AT,
    UNREADABLE_COPY,
    EventCoverage,
    OffsetRange,
    coverage_of,
    merge_coverages,
    missing_events,
)
from kcli.kafka.remote.serde import refusal
from kcli.logdir.buffers import DataFile, FileError, reading
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import segment_base
from kcli.logdir.segment import TORN, Batch, Stop, describe_torn
from kcli.logdir.targets import Selection, Target, partition_of

if TYPE_CHECKING:
    from kcli.logdir.bulk import Window

Event: TypeAlias = tuple[int, RemoteLogMetadata]
"""Offset in the metadata partition, and what it says."""

CONSUMERS_STOP = "brokers stop at this offset, and do not hold what follows of any metadata partition"
"""ConsumerTask, which reads every metadata partition, ends at an exception that is not retriable."""
NOT_NAMED = "not in the segments that were named"


class EventQuery(NamedTuple):
    """The events that count: about these user partitions, up to an offset or a time (ms), inclusive."""

    selection: Selection = Selection()
    last_offset: int | None = None
    last_time_ms: int | None = None

    def select(self, events: Iterator[Event], coverage: EventCoverage) -> Iterator[Event]:
        """Yield the events that count; `coverage` is then without those after them."""
        if self == EVERY_EVENT:
            yield from events
            return
        wants = lru_cache(lambda topic, partition: self.selection.wants(PartitionDir(topic, partition)))
        for offset, record in events:
            if self.selection.names and not wants(*user_partition(record)):
                continue
            is_after = self.last_offset is not None and offset > self.last_offset
            if is_after or (self.last_time_ms is not None and record.event_timestamp_ms > self.last_time_ms):
                coverage.trouble = coverage.trouble or CUT_BY_AT
            else:
                yield offset, record


EVERY_EVENT = EventQuery()


def user_partition(record: RemoteLogMetadata) -> tuple[str, int]:
    """Return the user topic and partition of an event that a broker can use."""
    assert not isinstance(record, RemoteLogSegmentMetadataSnapshot), "the topic has none that can be used"
    return record.topic, record.partition


class _Copy:
    """The events of one directory's segments, in order; then its findings, its errors and its coverage."""

    def __init__(self, files: Sequence[Target], query: EventQuery) -> None:
        self.files, self._query = files, query
        self.coverage = coverage_of(files[0], cache(partial(log_end, files[0]))) if files else EventCoverage()
        self._consumed = OffsetRange()
        self.findings: list[Finding] = []
        self.errors: list[tuple[Target, FileError]] = []

    def fail(self, target: Target, error: FileError) -> None:
        """Take that a file, or the directory, cannot be read."""
        self.errors.append((target, error))
        self.coverage.trouble = UNREADABLE_COPY

    def __iter__(self) -> Iterator[Event]:
        for target in self.files:
            collector = FindingCollector(target)
            try:
                with DataFile(target.path) as file, reading(target.path):
                    events = file_events(file, collector, self.coverage, self._consumed)
                    yield from self._query.select(events, self.coverage)
            except FileError as error:
                self.fail(target, error)
            findings = collector.take()
            self.coverage.add_findings(findings)
            self.findings += findings


class EventLog:
    """The events of one metadata partition by its copies, rising, each once; `consumed`: first and last."""

    def __init__(self, files: Iterable[Target], query: EventQuery = EVERY_EVENT) -> None:
        directories: dict[str, list[Target]] = {}
        for file in files:
            directories.setdefault(os.path.dirname(file.path), []).append(file)
        self._copies = [_Copy(each, query) for each in directories.values()]
        self.consumed = OffsetRange()

    def __iter__(self) -> Iterator[Event]:
        for event in merge(*self._copies, key=itemgetter(0)):
            if self.consumed.accept(event[0]):
                yield event

    def add_unlisted(self, target: Target, error: FileError) -> None:
        """Take that a directory, one copy more, cannot be listed."""
        self._copies.append(_Copy((), EVERY_EVENT))
        self._copies[-1].fail(target, error)

    @property
    def coverage(self) -> EventCoverage:
        """Which events the copies hold together."""
        return merge_coverages([copy.coverage for copy in self._copies])

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with the files."""
        return [finding for copy in self._copies for finding in copy.findings]

    @property
    def first_files(self) -> list[Target]:
        """The first segment of each copy."""
        return [copy.files[0] for copy in self._copies if copy.files]

    @property
    def errors(self) -> list[tuple[Target, FileError]]:
        """The files and directories that cannot be read, each with its error."""
        return [error for copy in self._copies for error in copy.errors]

    @property
    def has_all_segments(self) -> bool:
        """Whether the files are all segments in their directories: not if single ones were named."""
        files = [file for copy in self._copies for file in copy.files]
        named = {os.path.realpath(file.path) for file in files}
        directories = {partition_of(file).path: partition_of(file) for file in files}
        return all(
            os.path.realpath(os.path.join(path, f"{segment.stem}.log")) in named
            for path, directory in directories.items()
            for segment in Partition(directory).segments
        )

    def missing(self, number: int | None, directory: str) -> Iterator[Finding]:
        """Yield which events of the metadata partition of a number are gone, or are not in what was named."""
        of = "" if number is None else f" of {REMOTE_LOG_METADATA}-{number}"
        state = "gone" if self.has_all_segments else NOT_NAMED
        for offsets in self.coverage.missing():
            yield Finding("RLMM-032", missing_events(offsets, of, state), dir=directory)


class EventReader:
    """Decodes values of the topic, in order, and reports what a broker cannot use."""

    def __init__(self, findings: FindingCollector, *, is_old_reported: bool = False) -> None:
        self._findings = findings
        self.is_old_reported = is_old_reported
        """Whether an event in the layout that only releases before 3.6 read was reported."""

    def read(
        self, offset: int, value: bytes | None, position: int | None = None
    ) -> tuple[RemoteLogMetadata | None, str | None]:
        """Return what a record's value says, None if it cannot be decoded, and why a broker cannot use it."""
        if value is None:
            self._findings.add("RLMM-002", position, f"offset {offset}: null value; {CONSUMERS_STOP}")
            return None, "null value"
        try:
            metadata = decode(value)
        except FormatError as error:
            self._findings.add("RLMM-001", position, f"offset {offset}: {error}; {CONSUMERS_STOP}")
            return None, str(error)
        refused = refusal(metadata, in_topic=True)
        if refused is not None:
            self._findings.add("RLMM-001", position, f"offset {offset}: {refused}; {CONSUMERS_STOP}")
        if metadata.layout == LAYOUT_3_0 and not self.is_old_reported:
            self.is_old_reported = not isinstance(metadata, RemotePartitionDeleteMetadata)
            if self.is_old_reported:
                self._findings.add("RLMM-004", position, f"offset {offset}: layout {LAYOUT_3_0}")
        return metadata, refused


def file_events(
    file: DataFile, findings: FindingCollector, coverage: EventCoverage, consumed: OffsetRange | None = None
) -> Iterator[Event]:
    """Yield the events of a segment that a broker can use, in order; what else there is are findings.

    `coverage` takes all offsets, `consumed` those that count. Nothing follows where a start cuts the log.
    """
    from kcli.logdir.bulk import BulkWalk

    consumed, reader = consumed or OffsetRange(), EventReader(findings)
    walk = BulkWalk(file)
    for window in walk:
        for offset, value, position in _values(file, window, findings, coverage):
            if not consumed.accept(offset):
                message = f"offset {offset}: brokers have read up to {consumed.next - 1}"
                findings.add("RLMM-036", position, message)
                continue
            metadata, refused = reader.read(offset, value, position)
            if metadata is not None and refused is None:
                yield offset, metadata
        if coverage.cut is not None:
            return
    if coverage.cut is None:
        report_end(file, walk.stop, findings, coverage)


def _values(
    file: DataFile, window: "Window", findings: FindingCollector, coverage: EventCoverage
) -> Iterator[tuple[int, bytes | None, int]]:
    """Yield offset, value and batch position of each record that a broker reads, of good windows at once."""
    from formats.record_columns import FallbackBatch, RecordColumns, record_columns

    places, fields = window.positions, window.fields
    blocks: Iterable[RecordColumns | FallbackBatch] = map(FallbackBatch, range(len(places)))
    is_whole = len(window.data) > 0 and window.valid is not None and bool(window.valid.all())
    if is_whole and ((fields["magic"] == LATEST) & (fields["attributes"] & CONTROL_MASK == 0)).all():
        blocks = record_columns(window.data, places - window.base, LARGEST_BATCH, fields)
    for block in blocks:
        if coverage.cut is not None:
            return
        if isinstance(block, RecordColumns):
            headers, data = block.headers, block.data
            for first, delta in zip(
                headers["base_offset"].tolist(), headers["last_offset_delta"].tolist(), strict=True
            ):
                coverage.add(first, first + delta)
            batches = places[block.first + block.batch]
            columns = block.offset, block.value_start, block.value_length, batches
            for offset, begin, size, position in zip(*(column.tolist() for column in columns), strict=True):
                yield offset, data[begin : begin + size] if size >= 0 else None, position
            continue
        position = int(places[block.number])
        batch = Batch(position, read_header(file.read(position, LARGEST_HEADER)))
        coverage.add(batch.header.base_offset, batch.header.last_offset)
        for record in list(records_of(file, batch, findings, coverage, damaged=False)):
            yield record.offset, None if record.value is None else bytes(record.value), position


def records_of(
    file: DataFile, batch: Batch, findings: FindingCollector, coverage: EventCoverage, *, damaged: bool = True
) -> Iterator[Record]:
    """Yield the records of a batch, those of a wrong checksum if `damaged`; what is not read is a finding.

    Messages of magic 0 and 1 are not read: no release that knows this topic writes them.
    """
    position, header = batch
    prefix, is_old = f"offset {header.base_offset}", is_legacy(header.magic)
    if header.size > LARGEST_BATCH:
        findings.add("LOG-003", position, f"{prefix}: a batch of {header.size} bytes is beyond the bound")
        return
    raw = file.read(position, header.size)
    is_whole = is_valid(raw) and not is_above_latest(header.magic)
    if not is_valid(raw):
        findings.add("LOG-003", position, checksum_message(header.base_offset))
    elif not is_whole:
        findings.add("LOG-017", position, magic_message(header.base_offset, header.magic))
    elif is_old:
        findings.add("LOG-003", position, f"{prefix}: magic {header.magic}, which no release writes here")
    if not is_whole:
        report_stop(header.base_offset, position, findings, coverage)
    if is_whole and header.is_control:
        findings.add("RLMM-008", position, f"{prefix}: a control batch")
    if is_old or header.is_control or not (is_whole or damaged):
        return
    try:
        yield from batch_records(raw, LARGEST_BATCH)
    except FormatError as error:
        findings.add("LOG-003", position, f"{prefix}: {error.moved(position)}")
        if is_whole:
            report_stop(header.base_offset, position, findings, coverage)


def log_end(target: Target) -> int | None:
    """Return where a start lets a segment's log end, nowhere if it is none; None where it does not load."""
    partition = Partition(partition_of(target))
    if all(f"{segment.stem}.log" != os.path.basename(target.path) for segment in partition.segments):
        return sys.maxsize
    with suppress(FileError):
        return collect_findings(start(partition)).log_end_offset  # other commands report what it finds
    return None


def report_stop(offset: int, position: int, findings: FindingCollector, coverage: EventCoverage) -> None:
    """Report that consumers, who check batches (`CompletedFetch`), stop, unless a start cuts before it."""
    if coverage.stop_at(offset, position):
        findings.add("RLMM-035", position, f"offset {offset}: {CONSUMERS_STOP}")


def report_end(
    file: DataFile, stop: Stop | None, findings: FindingCollector, coverage: EventCoverage
) -> None:
    """Report how the walk over a file's batches ended, but at its end; after a torn one the next is read."""
    assert stop is not None, "a walk that has ended says where"
    grown = file.grown(is_torn=stop.reason in TORN)
    if grown > 0:
        findings.add("LOG-005", stop.position, growth_message(grown))
        return
    if stop.reason == "end":
        return
    offset = coverage.ranges[-1][1] + 1 if coverage.ranges else segment_base(findings.target) or 0
    if stop.reason in TORN:
        findings.add("LOG-001", stop.position, describe_torn(stop))
        coverage.stop_at(offset, stop.position)
        return
    if stop.reason == "zeros":
        findings.add("LOG-004", stop.position, "only zeros follow")
    else:
        findings.add("LOG-002", stop.position, f"{stop.reason.replace('-', ' ')} {stop.found}")
    report_stop(offset, stop.position, findings, coverage)
