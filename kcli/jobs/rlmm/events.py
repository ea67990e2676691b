"""The events in a segment of __remote_log_metadata: those that a broker can use, the others as findings."""

from collections.abc import Callable, Iterator
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
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import checksum_message, growth_message, magic_message
from kcli.analysis.remote.events import refusal
from kcli.analysis.remote.events_here import EventsHere
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import BulkWalk, Window
from kcli.logdir.segment import TORN, Batch, Stop, describe_torn

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

    `here` takes the offsets of all that is read.
    """
    read, is_old_reported = event_decoder(), False
    walk = BulkWalk(file)
    for window in walk:
        here.add_batches(window.fields)
        for part in values_of(file, window, findings):
            for offset, value, position in zip(*part, strict=True):
                metadata, refused = read_event(read, offset, value, position, findings)
                if metadata is None:
                    continue
                if metadata.layout == LAYOUT_3_0 and not is_old_reported:
                    is_old_reported = report_old_layout(metadata, offset, position, findings)
                if refused is None:
                    yield offset, metadata
    report_end(file, walk.stop, findings)


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


def values_of(file: DataFile, window: Window, findings: FindingCollector) -> Iterator[_Values]:
    """Yield the records of a window in order, those of ordinary batches many at once."""
    ordinary = _are_ordinary(window)
    bounds = [0, *((ordinary[1:] != ordinary[:-1]).nonzero()[0] + 1).tolist(), len(ordinary)]
    for begin, end in pairwise(bounds):
        positions = window.positions[begin:end]
        if not ordinary[begin]:
            for position in positions.tolist():
                yield _plainly(file, position, findings)
            continue
        fields = window.fields[begin:end]
        for part in record_columns(window.data, positions - window.base, LARGEST_BATCH, fields):
            if isinstance(part, RecordColumns):
                yield _of_columns(part, positions[part.first :])
            else:
                yield _plainly(file, int(positions[part.number]), findings)


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


def _plainly(file: DataFile, position: int, findings: FindingCollector) -> _Values:
    batch = Batch(position, read_header(file.read(position, LARGEST_HEADER)))
    records = list(records_of(file, batch, findings))
    return _Values(
        [record.offset for record in records],
        [None if record.value is None else bytes(record.value) for record in records],
        [position] * len(records),
    )


def records_of(
    file: DataFile, batch: Batch, findings: FindingCollector, *, again: bool = False
) -> Iterator[Record | LegacyRecord]:
    """Yield the records of a batch.

    One that is not read, or not to its end, leaves a finding; a wrong CRC does, unless it is read `again`.
    """
    position, header = batch
    at = f"offset {header.base_offset}"
    legacy = isinstance(header, LegacyHeader)
    if header.is_control:
        findings.add("RLMM-008", position, f"{at}: a control batch")
    elif header.size > LARGEST_BATCH:
        findings.add("LOG-003", position, f"{at}: a batch of {header.size} bytes is beyond the bound")
    else:
        raw = file.read(position, header.size)
        if not again and not is_valid(raw):
            findings.add("LOG-003", position, checksum_message(header.base_offset))
        elif not again and is_above_latest(header.magic):
            findings.add("LOG-015", position, magic_message(header.base_offset, header.magic))
        try:
            yield from _messages(raw, batch, findings) if legacy else batch_records(raw, LARGEST_BATCH)
        except FormatError as error:
            findings.add("LOG-003", position, f"{at}: {error.moved(position)}")


def _messages(raw: bytes, batch: Batch, findings: FindingCollector) -> Iterator[LegacyRecord]:
    """Yield the records of a message of magic 0 or 1.

    Those in a wrapper have checksums of their own, and can be cut.
    """
    position, header = batch
    opened = message_set(raw, LARGEST_BATCH)
    for record in set_records(opened):
        if header.codec and not record.is_valid:
            findings.add(
                "LOG-003", position, f"offset {record.offset}: the checksum of this message does not match"
            )
        if record.error is None:
            yield record
        else:
            findings.add("LOG-003", position, f"offset {record.offset}: {record.error.moved(position)}")
    if opened.cut:
        findings.add(
            "LOG-003",
            position,
            f"offset {header.base_offset}: {opened.cut} bytes of a last message that is cut",
        )


def report_end(file: DataFile, stop: Stop | None, findings: FindingCollector) -> None:
    """Report how the walk over a file's batches ended, unless it is at the end of the file."""
    if stop is None:
        raise AssertionError("a walk that has ended says where")
    grown = file.grown(is_torn=stop.reason in TORN)
    if grown > 0:
        findings.add("LOG-005", stop.position, growth_message(grown))
    elif stop.reason == "end":
        return
    elif stop.reason in {"short", "incomplete"}:
        findings.add("LOG-001", stop.position, describe_torn(stop))
    elif stop.reason == "zeros":
        findings.add("LOG-004", stop.position, "only zeros follow")
    else:
        findings.add("LOG-002", stop.position, f"{stop.reason.replace('-', ' ')} {stop.found}")
