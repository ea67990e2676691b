"""Where a broker finds an offset or a timestamp in a loaded log: the batch, the record, and why.

The truth is `UnifiedLog.read` (below it `LocalLog`, `LogSegment`) for offsets and
`UnifiedLog.fetchOffsetByTimestamp` for timestamps. What a client may see beyond that (high watermark, last
stable offset) is not applied. Only headers are read, through the indexes; a batch is unpacked when the answer
may lie inside it.
"""

import os
from typing import TypeAlias

from formats.batch import NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP
from formats.magic import is_legacy
from formats.message_set import LegacyMessage
from formats.record import Record
from kcli.kafka.findings.findings import Finding, Reporting
from kcli.kafka.storage.batch_records import failing_lookup, read_records
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.kafka.storage.log_segment import (
    LoadedSegment,
    file_batches,
    has_zero_tail,
    header,
    is_wrapper,
    last_offset,
    segments_from,
    start_of_search,
    translate_offset,
)
from kcli.logdir.partition import Partition, shown_path
from kcli.logdir.segment import Batch
from kcli.rows.lookups import FoundBatch, FoundRecord

IN_REMOTE_STORAGE = "remote"
NO_BATCH = "no batch"
FOUND = "found"
NO_TIMESTAMPS = "no timestamps"
Answer: TypeAlias = FoundRecord | str  # what was found, or why nothing was


def outside(
    offset: int, log_start_offset: int, local_log_start_offset: int, log_end_offset: int
) -> str | None:
    """Return why a fetch at `offset` finds nothing before any segment is looked at; None if it is inside."""
    if offset < log_start_offset:
        return f"below log start: the log starts at {log_start_offset}; a fetch gets OFFSET_OUT_OF_RANGE"
    if offset < min(local_log_start_offset, log_end_offset):
        return (
            f"{IN_REMOTE_STORAGE}: the local log starts at {local_log_start_offset}; "
            "the broker reads this offset from remote storage"
        )
    if offset == log_end_offset:
        return "log end: the next record gets this offset; a fetch waits for it"
    if offset > log_end_offset:
        return f"above log end: the log ends at {log_end_offset}; a fetch gets OFFSET_OUT_OF_RANGE"
    return None


def reason_of(base_offset: int, offset: int, *, is_wrapper: bool = False) -> str:
    """Return why a batch is the answer; the header of a wrapper has its last offset as the base offset."""
    if is_wrapper:
        return "in batch: a compressed message of magic 0 or 1, whose first offset is inside it"
    if base_offset > offset:
        return (
            f"gap: offsets {offset} to {base_offset - 1} are not found; a fetch returns the batch after them"
        )
    return "in batch"


def first_batch(partition: Partition, loaded: LoadedLog, number: int) -> tuple[FoundBatch, str] | None:
    """Return what `LocalLog.read` returns first, and why it is the answer; None for nothing."""
    for segment in segments_from(loaded.segments, number):
        answer = batch_of(segment, number)
        if answer is not None:
            batch, reason = answer
            return batch._replace(path=shown_path(partition, segment.log_path or "")), reason
    return None


def batch_of(segment: LoadedSegment, number: int) -> tuple[FoundBatch, str] | None:
    """Return the first batch of a segment at or above an offset, and why; None past its end. FileError."""
    with failing_lookup():
        position = translate_offset(segment, number)
        if position is None:
            return None
        entry = segment.index_entry(number)
        with segment.log() as log:
            batch = next(file_batches(log, position, segment.log_size))
            last = last_offset(log, batch)
            is_message = is_legacy(batch.magic)
            epoch = NO_PARTITION_LEADER_EPOCH if is_message else header(log, batch).partition_leader_epoch
    row = FoundBatch(
        segment_base_offset=segment.base_offset,
        file=os.path.basename(segment.log_path or ""),
        path=segment.log_path,
        position=position,
        batch_base_offset=batch.base_offset,
        batch_last_offset=last,
        leader_epoch=epoch,
        index_entry_offset=entry[0],
        index_entry_position=entry[1],
    )
    return row, reason_of(batch.base_offset, number, is_wrapper=is_wrapper(batch))


def at_or_after(partition: Partition, loaded: LoadedLog, timestamp: int, limit: int) -> Reporting[Answer]:
    """Return the answer of UnifiedLog.searchOffsetInLocalLog."""
    if loaded.is_tiered:
        message = (
            f"records below {loaded.local_log_start_offset} are in remote storage, where the broker would "
            "look first"
        )
        yield Finding("LOOKUP-004", message, dir=partition.shown)
    latest = NO_TIMESTAMP
    segments = [segment for segment in loaded.segments if segment.log_path is not None]
    for segment in segments:
        reaches = segment.last_time_entry()[0]
        latest = max(latest, reaches)
        path = shown_path(partition, segment.log_path or "")
        if has_zero_tail(segment.time_index):
            index = shown_path(partition, segment.time_index.path or "")
            yield Finding("IDX-007", "its last slot is zero", dir=partition.shown, path=index)
        if reaches < 0:
            with segment.log() as log:
                reaches = log.mtime_ms
            if segment.log_size:
                message = (
                    f"no timestamp is known; the file's modification time, {reaches}, counts as the largest"
                )
                yield Finding("LOOKUP-001", message, dir=partition.shown, path=path, found=reaches)
        if reaches < timestamp:
            continue
        with failing_lookup():
            answer = search(segment, timestamp, loaded.log_start_offset, limit)
        if answer is None and segment is not segments[-1]:
            message = "no such record in it; later segments are not searched"
            yield Finding("LOOKUP-002", message, dir=partition.shown, path=path)
        if answer is None and latest >= timestamp:
            return f"not in segment: segment {segment.base_offset} alone is searched, and has no such record"
        if answer is not None:
            return answer
        break
    return f"after all records: the largest timestamp is {latest}" if latest >= 0 else NO_TIMESTAMPS


def search(segment: LoadedSegment, timestamp: int, start_offset: int, limit: int) -> Answer | None:
    """Return LogSegment.findOffsetByTimestamp: from where both indexes lead, the first record that fits.

    FileRecords.searchForTimestamp reads the records of batches below the start, too: damage there fails the
    lookup. It reads a compressed message of magic 0 or 1 to its end before it looks at a record in it, and
    up to 4.3 a compressed batch, too.
    """
    earlier = segment.time_entry(timestamp)[1]
    position = start_of_search(segment, max(earlier, start_offset))
    with segment.log() as log:
        for in_file in file_batches(log, position, segment.log_size):
            batch = Batch(in_file.position, header(log, in_file))
            if batch.header.max_timestamp >= timestamp:
                records = read_records(log, batch, limit)
                if is_legacy(batch.header.magic):
                    records = iter([*records])
                for record in records:
                    if record.timestamp >= timestamp and record.offset >= start_offset:
                        return _found_record(segment, batch, record)
    return None


def largest(loaded: LoadedLog, limit: int) -> Answer:
    """Return the answer to MAX_TIMESTAMP: the first record that has the largest timestamp of all segments."""
    entries = [
        (segment.last_time_entry(), segment) for segment in loaded.segments if segment.log_path is not None
    ]
    if not entries:
        return NO_TIMESTAMPS
    (timestamp, offset), segment = max(entries, key=lambda entry: entry[0][0])
    with segment.log() as log:
        for in_file in file_batches(log, start_of_search(segment, offset), segment.log_size):
            batch = Batch(in_file.position, header(log, in_file))
            if batch.header.max_timestamp == timestamp:
                if not batch.header.magic:
                    break
                for record in read_records(log, batch, limit):
                    if record.timestamp == timestamp:
                        return _found_record(segment, batch, record)
                break
    return NO_TIMESTAMPS


def _found_record(segment: LoadedSegment, batch: Batch, record: Record | LegacyMessage) -> FoundRecord:
    return FoundRecord(
        offset=record.offset,
        record_timestamp=record.timestamp,
        leader_epoch=batch.header.partition_leader_epoch,
        segment_base_offset=segment.base_offset,
        file=os.path.basename(segment.log_path or ""),
        path=segment.log_path,
        position=batch.position,
    )
