"""What `kcli lookup` runs: where an offset or a timestamp lies, as a starting broker would find it.

Only headers are read, through the indexes; a batch is unpacked when the answer
may lie inside it.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import TypeAlias

from formats.bounds import LARGEST_BATCH, describe
from formats.errors import FormatError, LimitError
from formats.legacy import LegacyHeader
from formats.message_set import message_set, messages
from formats.record import batch_records
from kcli.analysis import lookup
from kcli.analysis.ends import Ends, Recovery, ends, is_tiered, loaded_segments, local_log_start
from kcli.analysis.findings import Finding
from kcli.analysis.lookup import LargestTimestamp, Timed
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, answer, where
from kcli.jobs.epoch import resolve
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.segment import Batch, Segment, Walk
from kcli.rows.lookups import FoundBatch, FoundRecord, LookupOffsetRow, LookupTimestampRow
from kcli.rows.places import Where

Answer: TypeAlias = FoundRecord | str
"""What was found, or why nothing was."""


def offset(unit: Unit, *, offset: int | str) -> Outcome:
    """Return one row: the batch that a fetch at this offset (or `earliest`, `latest`) returns first."""
    return answer(unit, partial(_offset, offset))


def timestamp(unit: Unit, *, timestamp: int | None, max_batch_bytes: int = LARGEST_BATCH) -> Outcome:
    """Return one row: the first record at or after a timestamp in ms as ListOffsets finds it; None asks for the largest.

    A batch of more than `max_batch_bytes`, packed or unpacked, in which the answer may lie is an error.
    """
    return answer(unit, partial(_timestamp, timestamp, max_batch_bytes))


def _offset(asked: int | str, partition: Partition) -> Yield:
    found = ends(partition)
    yield from found.findings
    number = resolve(asked, found)
    place = where(partition)
    reason = lookup.outside(
        number, found.log_start_offset, local_log_start(partition, found), found.log_end_offset
    )
    if reason is None:
        log = Recovery(partition)
        bases = [segment.base_offset for segment in loaded_segments(partition)]
        for segment in loaded_segments(partition)[lookup.floor_segment(bases, number) :]:
            entry, batch = yield from _translate(log, segment, number)
            if batch is not None:
                header = batch.header
                found_batch = FoundBatch(
                    segment_base_offset=segment.base_offset,
                    file=shown_path(partition, segment.path("log")),
                    position=batch.position,
                    batch_base_offset=None if lookup.hides_first_offset(header) else header.base_offset,
                    batch_last_offset=header.last_offset,
                    leader_epoch=header.partition_leader_epoch,
                    index_entry_offset=entry[0],
                    index_entry_position=entry[1],
                )
                why = lookup.reason_of(header, number)
                yield LookupOffsetRow(place, number, found=True, batch=found_batch, reason=why)
                return
        reason = f"{lookup.NO_BATCH}: nothing from here to the log end {found.log_end_offset}; a fetch returns no records"
    yield LookupOffsetRow(place, number, found=False, batch=FoundBatch(), reason=reason)


def _translate(
    log: Recovery, segment: Segment, target: int
) -> Generator[Finding, None, tuple[tuple[int | None, int | None], Batch | None]]:
    """Return the index entry that the search starts from, and the first batch that reaches the target.

    As LogSegment.translateOffset; but an entry that leads to no batch is told, and the log scanned instead.
    """
    with segment.open_log() as file:
        index = segment.offset_index()
        if index is None:
            return (None, None), _reaching(Walk(file), target)
        with index:
            counted = index.valid_entries(file.size) if log.is_recovered(segment, index) else index.entries
            entry = index.lookup(target, counted)
        first = next(iter(Walk(file, entry[1])), None) if entry[1] >= 0 else None
        if entry[1] and (first is None or first.header.base_offset > entry[0]):
            yield Finding(
                "IDX-002",
                f"its entry for offset {entry[0]} leads to no batch; the log was scanned",
                dir=log.partition.shown,
                file=segment.file("index"),
                found=entry[1],
            )
            return entry, _reaching(Walk(file), target)
        return entry, _reaching(Walk(file, entry[1]), target)


def _reaching(batches: Iterable[Batch], target: int) -> Batch | None:
    return next((batch for batch in batches if batch.header.last_offset >= target), None)


def _timestamp(asked: int | None, limit: int, partition: Partition) -> Yield:
    found = ends(partition)
    yield from found.findings
    answered = yield from (
        _largest(partition, found, limit) if asked is None else _at_or_after(partition, found, asked, limit)
    )
    yield _row(where(partition), asked, answered)


def _row(place: Where, asked: int | None, answer: Answer) -> LookupTimestampRow:
    if isinstance(answer, str):
        return LookupTimestampRow(place, asked, found=False, record=FoundRecord(), reason=answer)
    return LookupTimestampRow(place, asked, found=True, record=answer, reason=lookup.FOUND)


def _at_or_after(
    partition: Partition, found: Ends, asked: int, limit: int
) -> Generator[Finding, None, Answer]:
    """Return the answer of UnifiedLog.searchOffsetInLocalLog."""
    if is_tiered(partition):
        message = f"records below {local_log_start(partition, found)} are in remote storage, where the broker would look first"
        yield Finding("LOOKUP-004", message, dir=partition.shown)
    log, seen = Recovery(partition), lookup.NO_TIMESTAMP
    segments = () if found.emptied else loaded_segments(partition)
    for segment in segments:
        largest = yield from _largest_timestamp(log, segment)
        seen = max(seen, largest.timestamp)
        reaches = largest.timestamp
        if reaches < 0:
            reaches, size = _modified(segment)
            if size:
                message = (
                    f"no timestamp is known; the file's modification time, {reaches}, counts as the largest"
                )
                yield Finding(
                    "LOOKUP-001", message, dir=partition.shown, file=segment.file("log"), found=reaches
                )
        if reaches < asked:
            continue
        answer = _search(log, segment, asked, found.log_start_offset, limit)
        if answer is None and segment is not segments[-1]:
            yield Finding(
                "LOOKUP-002",
                "no such record in it; later segments are not searched",
                dir=partition.shown,
                file=segment.file("log"),
            )
        if answer is None and seen >= asked:
            return f"{lookup.NOT_IN_SEGMENT}: segment {segment.base_offset} alone is searched, and has no such record"
        if answer is not None:
            return answer
        break
    return f"{lookup.AFTER_ALL}: the largest timestamp is {seen}" if seen >= 0 else lookup.NO_TIMESTAMPS


def _modified(segment: Segment) -> tuple[int, int]:
    with segment.open_log() as file:
        return file.mtime_ms, file.size


def _largest_timestamp(log: Recovery, segment: Segment) -> Generator[Finding, None, LargestTimestamp]:
    """Return LogSegment.readMaxTimestampAndOffsetSoFar: the time index's last entry; of batches, if the broker recovers."""
    index = segment.offset_index()
    if index is not None:
        with index:
            recovered = log.is_recovered(segment, index)
    if index is None or recovered:
        with segment.open_log() as file:
            return lookup.largest_of_batches((batch.header for batch in Walk(file)), segment.base_offset)
    times = segment.time_index()
    if times is None:
        return LargestTimestamp(lookup.NO_TIMESTAMP, segment.base_offset)
    with times:
        if times.has_empty_tail:
            yield Finding(
                "LOOKUP-003", "its last slot is zero", dir=log.partition.shown, file=segment.file("timeindex")
            )
        return LargestTimestamp(*times.entry(times.entries - 1))


def _search(log: Recovery, segment: Segment, asked: int, start_offset: int, limit: int) -> Answer | None:
    """Return LogSegment.findOffsetByTimestamp: from where both indexes lead, the first record that fits."""
    start = 0
    index, times = segment.offset_index(), segment.time_index()
    with segment.open_log() as file, index or nullcontext(), times or nullcontext():
        if index is not None and not log.is_recovered(segment, index):
            earlier = times.lookup(asked)[1] if times is not None else segment.base_offset
            start = max(index.lookup(max(earlier, start_offset))[1], 0)
        for batch in Walk(file, start):
            if batch.header.max_timestamp >= asked and batch.header.last_offset >= start_offset:
                record = lookup.first_record(_records(file, batch, limit), asked, start_offset)
                if record is not None:
                    return _found(segment, batch, record)
    return None


def _largest(partition: Partition, found: Ends, limit: int) -> Generator[Finding, None, Answer]:
    """Return the answer to MAX_TIMESTAMP: the first record that has the largest timestamp of all segments."""
    log = Recovery(partition)
    segments = () if found.emptied else loaded_segments(partition)
    largest: list[LargestTimestamp] = []
    for segment in segments:
        largest += [(yield from _largest_timestamp(log, segment))]
    if not largest:
        return lookup.NO_TIMESTAMPS
    place = lookup.largest_place(largest)
    segment, (timestamp, offset) = segments[place], largest[place]
    index = segment.offset_index()
    with segment.open_log() as file, index or nullcontext():
        start = (
            max(index.lookup(offset)[1], 0)
            if index is not None and not log.is_recovered(segment, index)
            else 0
        )
        batch = next((batch for batch in Walk(file, start) if batch.header.max_timestamp == timestamp), None)
        record = (
            lookup.record_of_max(_records(file, batch, limit), timestamp)
            if batch is not None and batch.header.magic
            else None
        )
    return (
        _found(segment, batch, record) if batch is not None and record is not None else lookup.NO_TIMESTAMPS
    )


def _records(file: DataFile, batch: Batch, limit: int) -> Iterator[Timed]:
    """Yield a batch's records, unpacked; a message of magic 0 or 1 without a codec is its own only record."""
    header = batch.header
    if isinstance(header, LegacyHeader) and not header.codec:
        yield header
        return
    if header.size > limit:
        raise _unread(file, LimitError(batch.position, "batch size", f"at most {limit} bytes", header.size))
    raw = file.read(batch.position, header.size)
    try:
        if isinstance(header, LegacyHeader):
            yield from messages(message_set(raw, limit))
        else:
            yield from batch_records(raw, limit)
    except FormatError as error:
        raise _unread(file, error.moved(batch.position)) from error


def _unread(file: DataFile, error: FormatError) -> FileError:
    return FileError(file.path, error.code, describe(error), error.position, error.field)


def _found(segment: Segment, batch: Batch, record: Timed) -> FoundRecord:
    return FoundRecord(
        offset=record.offset,
        record_timestamp=record.timestamp,
        leader_epoch=batch.header.partition_leader_epoch,
        segment_base_offset=segment.base_offset,
        position=batch.position,
    )
