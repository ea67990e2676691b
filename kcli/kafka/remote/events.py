"""The events in a segment of __remote_log_metadata: those that a broker can use, the others as findings."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import CONTROL_MASK, LOG_OVERHEAD
from formats.bounds import LARGEST_BATCH
from formats.errors import FormatError
from formats.legacy import LegacyHeader
from formats.magic import LARGEST_HEADER, is_above_latest, is_legacy, is_valid, read_header
from formats.message_set import LegacyRecord, message_set, set_records
from formats.messages.remote import LAYOUT_3_0
from formats.record import Record, batch_records
from formats.record_columns import RecordColumns, record_columns
from formats.remote_events import event_decoder
from formats.remote_metadata import (
    RemoteLogMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemotePartitionDeleteMetadata,
)
from formats.remote_snapshot import SnapshotEntry, decode_entry
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.findings.log_findings import checksum_message, growth_message, magic_message
from kcli.kafka.kraft.start import start
from kcli.kafka.remote.coverage import EventsHere
from kcli.kafka.remote.serde import refusal
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.bulk import BulkWalk, Window
from kcli.logdir.files import segment_base
from kcli.logdir.partition import Partition
from kcli.logdir.segment import TORN, Batch, Stop, describe_torn
from kcli.logdir.tree import Target, partition_of

Event: TypeAlias = tuple[int, RemoteLogMetadata]
"""Offset in the metadata partition, and what it says."""


STOPS = "brokers stop at this offset, and do not hold what follows of any metadata partition"
"""ConsumerTask, which reads every metadata partition, ends at an exception that is not retriable."""


class _Values(NamedTuple):
    """Some records: their offsets, their values, the positions of their batches."""

    offsets: list[int]
    values: list[bytes | None]
    positions: list[int]


def events(file: DataFile, findings: FindingCollector, here: EventsHere) -> Iterator[Event]:
    """Yield the events of a segment that a broker can use, in order; what else there is are findings.

    `here` takes the offsets of all that is read. Nothing follows where a start cuts the log.
    """
    read, is_old_reported = event_decoder(), False
    walk = BulkWalk(file)
    for window in walk:
        if here.cut is not None:
            return
        here.add_batches(window.fields)
        for part in values_of(file, window, findings, here):
            for offset, value, position in zip(*part, strict=True):
                if not here.reads(offset):
                    findings.add(
                        "RLMM-036", position, f"offset {offset}: brokers have read up to {here.last}"
                    )
                    continue
                metadata, refused = read_event(read, offset, value, position, findings)
                if metadata is None:
                    continue
                if metadata.layout == LAYOUT_3_0 and not is_old_reported:
                    is_old_reported = report_old_layout(metadata, offset, position, findings)
                if refused is None:
                    yield offset, metadata
    if here.cut is None:
        report_end(file, walk.stop, findings, here)


def read_event(
    read: Callable[[bytes], RemoteLogMetadata],
    offset: int,
    value: bytes | None,
    position: int | None,
    findings: FindingCollector,
) -> tuple[RemoteLogMetadata | None, str | None]:
    """Return what `read` makes of a value, and why a broker cannot use it; report what is wrong.

    The value is of the record at `offset`, in a batch at `position`, if it is of a file. None for one that
    cannot be decoded.
    """
    if value is None:
        findings.add("RLMM-002", position, f"offset {offset}: null value; {STOPS}")
        return None, "null value"
    try:
        metadata = read(value)
    except FormatError as error:
        findings.add("RLMM-001", position, f"offset {offset}: {error}; {STOPS}")
        return None, str(error)
    refused = refusal(metadata, in_topic=True)
    if refused is not None:
        findings.add("RLMM-003", position, f"offset {offset}: {refused}; {STOPS}")
    return metadata, refused


def read_entry(
    entry: SnapshotEntry, findings: FindingCollector
) -> tuple[RemoteLogSegmentMetadataSnapshot | None, str | None]:
    """Return what an entry of a remote_log_snapshot says, and why a broker cannot use it.

    What is wrong is reported. None for one that cannot be decoded.
    """
    try:
        metadata = decode_entry(entry)
    except FormatError as error:
        findings.add("RLMM-001", entry.position, f"entry {entry.number}: {error}")
        return None, str(error)
    refused = refusal(metadata, in_topic=False)
    if refused is not None:
        findings.add("RLMM-003", entry.position, f"entry {entry.number}: {refused}")
    return metadata, refused


def report_old_layout(
    metadata: RemoteLogMetadata, offset: int, position: int | None, findings: FindingCollector
) -> bool:
    """Report an event in the layout that only releases before 3.6 read; return whether it is one."""
    is_old = metadata.layout == LAYOUT_3_0 and not isinstance(metadata, RemotePartitionDeleteMetadata)
    if is_old:
        findings.add("RLMM-004", position, f"offset {offset}: layout {LAYOUT_3_0}")
    return is_old


def values_of(
    file: DataFile, window: Window, findings: FindingCollector, here: EventsHere
) -> Iterator[_Values]:
    """Yield the records of a window that a broker reads, in order, those of ordinary batches many at once."""
    ordinary = _are_ordinary(window)
    bounds = [0, *((ordinary[1:] != ordinary[:-1]).nonzero()[0] + 1).tolist(), len(ordinary)]
    for begin, end in pairwise(bounds):
        positions = window.positions[begin:end]
        if not ordinary[begin]:
            for position in positions.tolist():
                yield _plainly(file, position, findings, here)
                if here.cut is not None:
                    return
            continue
        fields = window.fields[begin:end]
        for part in record_columns(window.data, positions - window.base, LARGEST_BATCH, fields):
            if isinstance(part, RecordColumns):
                yield _of_columns(part, positions[part.first :])
            else:
                yield _plainly(file, int(positions[part.number]), findings, here)
                if here.cut is not None:
                    return


def _are_ordinary(window: Window) -> NDArray[np.bool_]:
    """Return which batches are whole record batches, without markers and within the bound."""
    fields = window.fields
    sizes = fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    is_control = fields["attributes"] & CONTROL_MASK != 0
    known = ~is_legacy(fields["magic"]) & ~is_above_latest(fields["magic"])
    ordinary: NDArray[np.bool_] = known & ~is_control & (sizes <= LARGEST_BATCH)
    if window.valid is None:
        raise AssertionError("a verified window knows its checksums")
    return ordinary & window.valid if window.data else np.zeros_like(ordinary)


def _of_columns(columns: RecordColumns, positions: NDArray[np.int64]) -> _Values:
    data = columns.data
    starts, lengths = columns.value_start.tolist(), columns.value_length.tolist()
    values = [
        data[start : start + length] if length >= 0 else None
        for start, length in zip(starts, lengths, strict=True)
    ]
    return _Values(columns.offset.tolist(), values, positions[columns.batch].tolist())


def _plainly(file: DataFile, position: int, findings: FindingCollector, here: EventsHere) -> _Values:
    batch = Batch(position, read_header(file.read(position, LARGEST_HEADER)))
    records = list(records_of(file, batch, findings, here, damaged=False))
    return _Values(
        [record.offset for record in records],
        [None if record.value is None else bytes(record.value) for record in records],
        [position] * len(records),
    )


def records_of(
    file: DataFile,
    batch: Batch,
    findings: FindingCollector,
    here: EventsHere,
    *,
    damaged: bool = True,
    again: bool = False,
) -> Iterator[Record | LegacyRecord]:
    """Yield the records of a batch, those of a wrong checksum if `damaged`.

    One that is not read, or not to its end, leaves a finding; a wrong CRC does, unless it is read `again`.
    """
    position, header = batch
    at = f"offset {header.base_offset}"
    legacy = isinstance(header, LegacyHeader)
    if header.size > LARGEST_BATCH:
        findings.add("LOG-003", position, f"{at}: a batch of {header.size} bytes is beyond the bound")
        return
    raw = file.read(position, header.size)
    is_whole = is_valid(raw) and not is_above_latest(header.magic)
    if not is_valid(raw) and not again:
        findings.add("LOG-003", position, checksum_message(header.base_offset))
    elif is_above_latest(header.magic) and not again:
        findings.add("LOG-015", position, magic_message(header.base_offset, header.magic))
    if not is_whole and not again:
        report_stop(header.base_offset, position, findings, here)
    if is_whole and header.is_control:
        findings.add("RLMM-008", position, f"{at}: a control batch")
    if header.is_control or not (is_whole or damaged):
        return
    try:
        if legacy:
            yield from _messages(raw, batch, findings, here, damaged=damaged)
        else:
            yield from batch_records(raw, LARGEST_BATCH)
    except FormatError as error:
        findings.add("LOG-003", position, f"{at}: {error.moved(position)}")
        if is_whole:
            report_stop(header.base_offset, position, findings, here)


def _messages(
    raw: bytes, batch: Batch, findings: FindingCollector, here: EventsHere, *, damaged: bool
) -> Iterator[LegacyRecord]:
    """Yield the records of a message of magic 0 or 1.

    Those in a wrapper have checksums of their own, and can be cut.
    """
    position, header = batch
    opened = message_set(raw, LARGEST_BATCH)
    for record in set_records(opened):
        is_whole = not header.codec or record.is_valid
        if not is_whole:
            findings.add(
                "LOG-003", position, f"offset {record.offset}: the checksum of this message does not match"
            )
            report_stop(record.offset, position, findings, here)
        if record.error is not None:
            findings.add("LOG-003", position, f"offset {record.offset}: {record.error.moved(position)}")
            report_stop(record.offset, position, findings, here)
        elif is_whole or damaged:
            yield record
    if opened.cut:
        findings.add(
            "LOG-003",
            position,
            f"offset {header.base_offset}: {opened.cut} bytes of a last message that is cut",
        )


def log_end(target: Target) -> int | None:
    """Return where a start lets the log of a segment end; None where it does not load.

    A file that is no segment of its directory is in a log without an end.
    """
    partition = Partition(partition_of(target))
    if all(f"{segment.stem}.log" != os.path.basename(target.path) for segment in partition.segments):
        return sys.maxsize
    ends: list[int] = []

    def started() -> Iterator[Finding]:
        ends.append((yield from start(partition)).log_end_offset)

    with suppress(FileError):
        for _ in started():
            pass  # what a start finds is said by other commands
    return ends[0] if ends else None


def report_stop(offset: int, position: int, findings: FindingCollector, here: EventsHere) -> None:
    """Report that brokers cannot read a batch, unless a start cuts the log before it.

    Their consumer checks what it fetches (`CompletedFetch`); the broker does not before it answers.
    """
    if here.stops(offset, position):
        findings.add("RLMM-035", position, f"offset {offset}: {STOPS}")


def report_end(file: DataFile, stop: Stop | None, findings: FindingCollector, here: EventsHere) -> None:
    """Report how the walk over a file's batches ended, unless it is at the end of the file.

    `here` has what was read before. A fetch goes on in the next segment after a batch that is not whole.
    """
    if stop is None:
        raise AssertionError("a walk that has ended says where")
    grown = file.grown(is_torn=stop.reason in TORN)
    if grown > 0:
        findings.add("LOG-005", stop.position, growth_message(grown))
        return
    if stop.reason == "end":
        return
    offset = here.ranges[-1][1] + 1 if here.ranges else segment_base(findings.target) or 0
    if stop.reason in TORN:
        findings.add("LOG-001", stop.position, describe_torn(stop))
        here.stops(offset, stop.position)
        return
    if stop.reason == "zeros":
        findings.add("LOG-004", stop.position, "only zeros follow")
    else:
        findings.add("LOG-002", stop.position, f"{stop.reason.replace('-', ' ')} {stop.found}")
    report_stop(offset, stop.position, findings, here)
