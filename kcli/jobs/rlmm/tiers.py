"""`rlmm lookup`: which tier and segment serve an offset or a timestamp, in the order in which a leader tries.

The truth is, for offsets, `UnifiedLog.read` and `RemoteLogManager.read`; for timestamps
`RemoteLogManager.findOffsetByTimestamp` and `lookupTimestamp`. Batches of remote segments are read from
directories of remote storage where these are given; without them the log dir's index cache says where a read
begins.
"""

from collections.abc import Generator, Iterator
from functools import partial
from typing import TypeAlias

from formats.bounds import LARGEST_BATCH
from formats.index import OFFSET_INDEX_ENTRY
from formats.remote_metadata import SEGMENT_STATES
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import Yield, where
from kcli.jobs.epoch.epoch import resolve
from kcli.jobs.rlmm.leader import Leader, cached_indexes, led
from kcli.jobs.rlmm.stored import stored_segment
from kcli.jobs.searches import at_or_after, failing_lookup, first_batch, search
from kcli.jobs.searches import batch_of as batch_in
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, CachedSegment
from kcli.kafka.remote.lineage import outside_lineage, serving, with_records
from kcli.kafka.storage import lookup
from kcli.kafka.storage.log_segment import LoadedSegment, size_of
from kcli.rows.lookups import FoundBatch, FoundRecord
from kcli.rows.remote_tier import RemotePlace, RlmmLookupOffsetRow, RlmmLookupTimestampRow

LOCAL, REMOTE = "local", "remote"
Tries: TypeAlias = list[str]


def offset(unit: Unit, *, offset: int | str, storage: tuple[str, ...] = ()) -> Outcome:
    """Return one row: which tier a fetch at this offset (or `earliest`, `latest`) reads, and where."""
    return led(unit, partial(_offset, offset, storage))


def timestamp(unit: Unit, *, timestamp: int, storage: tuple[str, ...] = ()) -> Outcome:
    """Return one row: which tier answers ListOffsets for a timestamp in ms, and with which record."""
    return led(unit, partial(_timestamp, timestamp, storage))


def place_of(segment: CachedSegment | None) -> RemotePlace:
    """Return a remote segment by its metadata; nulls for None."""
    if segment is None:
        return RemotePlace()
    metadata = segment.metadata
    return RemotePlace(metadata.segment_id, metadata.start_offset, metadata.end_offset)


def _offset(asked: int | str, storage: tuple[str, ...], leader: Leader) -> Yield:
    log = leader.log
    number = resolve(asked, leader.log_start_offset, log.log_end_offset)
    served = serving(leader.remote, leader.epochs, number)
    reason = lookup.outside(number, leader.log_start_offset, leader.local_start, log.log_end_offset)
    row = RlmmLookupOffsetRow(
        where(leader.partition),
        leader.topic_id,
        number,
        found=False,
        tier=None,
        epoch=served.epoch,
        remote=RemotePlace(),
        batch=FoundBatch(),
        tries=(),
        reason=reason or "",
    )
    disk = (
        f"the local log holds offsets {leader.local_start} to {log.log_end_offset - 1}"
        if leader.local_start < log.log_end_offset
        else f"the local log is empty and ends at {log.log_end_offset}"
    )
    if reason is None:
        found = first_batch(leader.partition, log, number)
        batch, why = found or (FoundBatch(), f"{lookup.NO_BATCH}: a fetch returns no records")
        yield row._replace(
            found=found is not None, tier=LOCAL, batch=batch, tries=(f"{disk}: read there",), reason=why
        )
    elif not reason.startswith(lookup.REMOTE):
        yield row._replace(tries=(disk,))
    else:
        yield _remote_offset(row, leader, storage, [f"{disk}: not this one"])


def _remote_offset(
    row: RlmmLookupOffsetRow, leader: Leader, storage: tuple[str, ...], tries: Tries
) -> RlmmLookupOffsetRow:
    """Return the row of an offset that is not on local disk: RemoteLogManager.read."""
    number, served = row.offset, serving(leader.remote, leader.epochs, row.offset)
    if served.epoch is None:
        tries.append(f"the leader epoch cache has no epoch for {number}")
    while served.epoch is not None:
        segment = served.segment
        what = f"leader epoch {served.epoch}, offset {number}"
        if segment is None:
            tries.append(f"remote metadata has no copied segment for {what}")
            tries += _others(leader, number)
            break
        tries.append(f"remote metadata has segment {segment.metadata.segment_id} for {what}")
        stored = stored_segment(segment, storage)
        if stored is None:
            return _found_without_log(row, leader, segment, storage, tries)
        found = batch_in(stored, row.offset)
        if found is not None:
            return row._replace(
                found=True,
                tier=REMOTE,
                remote=place_of(segment),
                batch=found[0],
                tries=tuple(tries),
                reason=found[1],
            )
        number = segment.metadata.end_offset + 1
        tries.append(f"its log has no batch from {row.offset} on: the segment of {number} is next")
        served = serving(leader.remote, leader.epochs, number)
    reason = (
        f"{lookup.NO_BATCH}: a fetch returns no records"
        if number != row.offset
        else "not in remote storage: a fetch gets OFFSET_OUT_OF_RANGE"
    )
    return row._replace(tries=tuple(tries), reason=reason)


def _found_without_log(
    row: RlmmLookupOffsetRow,
    leader: Leader,
    segment: CachedSegment,
    storage: tuple[str, ...],
    tries: Tries,
) -> RlmmLookupOffsetRow:
    indexes = cached_indexes(leader, segment)
    batch = FoundBatch(segment_base_offset=segment.metadata.start_offset)
    if indexes is not None and _is_damaged(indexes):
        tries.append("its cached offset index is damaged: the broker fetches it again")
    elif indexes is not None:
        entry = indexes.index_entry(row.offset)
        batch = batch._replace(index_entry_offset=entry[0], index_entry_position=entry[1])
        tries.append(f"its cached offset index leads to byte {entry[1]}")
    return row._replace(
        found=True,
        tier=REMOTE,
        remote=place_of(segment),
        batch=batch,
        tries=tuple(tries),
        reason=_by_metadata(storage, "the batch"),
    )


def _is_damaged(segment: LoadedSegment) -> bool:
    """Whether a broker does not take an offset index of its cache (`OffsetIndex.sanityCheck`)."""
    index = segment.offset_index
    size = 0 if index.path is None else size_of(index.path)
    return size % OFFSET_INDEX_ENTRY.size != 0 or segment.last_indexed_offset() < segment.base_offset


def _by_metadata(storage: tuple[str, ...], what: str) -> str:
    """Return why nothing of a segment's log is in the answer."""
    if not storage:
        return f"by its metadata: --storage DIR shows {what}"
    return f"by its metadata; its log is not in {', '.join(storage)}: where it is lost, the fetch fails"


def _others(leader: Leader, number: int) -> Iterator[str]:
    """Yield why the segments that span an offset do not serve it."""
    for segment in leader.remote.segments.values():
        metadata = segment.metadata
        if metadata.start_offset <= number <= metadata.end_offset:
            why = (
                f"is {SEGMENT_STATES[metadata.state]}"
                if metadata.state != COPY_SEGMENT_FINISHED
                else outside_lineage(segment, leader.log.log_end_offset, with_records(leader.epochs))
                or "was superseded by another one"
            )
            offsets = f"offsets {metadata.start_offset} to {metadata.end_offset}"
            yield f"segment {metadata.segment_id}, {offsets}: {why}"


def _timestamp(asked: int, storage: tuple[str, ...], leader: Leader) -> Yield:
    tries: Tries = []
    row = RlmmLookupTimestampRow(
        where(leader.partition),
        leader.topic_id,
        asked,
        found=False,
        tier=None,
        remote=RemotePlace(),
        record=FoundRecord(),
        tries=(),
        reason="",
    )
    candidate = _candidate(asked, leader, tries) if leader.is_tiered else None
    if candidate is not None:
        stored = stored_segment(candidate, storage)
        row = row._replace(tier=REMOTE, remote=place_of(candidate))
        if stored is None:
            reason = f"the record is in this segment, if anywhere, {_by_metadata(storage, 'it')}"
            yield row._replace(found=True, tries=tuple(tries), reason=reason)
            return
        with failing_lookup():
            record = search(stored, asked, leader.log_start_offset, LARGEST_BATCH)
        if isinstance(record, FoundRecord):
            yield row._replace(found=True, record=record, tries=tuple(tries), reason=lookup.FOUND)
            return
        tries.append("it has no such record")
        row = row._replace(tier=None, remote=RemotePlace())
    local = yield from _local(asked, leader)
    tries.append("the local log is searched")
    if isinstance(local, FoundRecord):
        row = row._replace(found=True, tier=LOCAL, record=local)
    yield row._replace(tries=tuple(tries), reason=lookup.FOUND if isinstance(local, FoundRecord) else local)


def _local(asked: int, leader: Leader) -> Generator[Finding, None, FoundRecord | str]:
    """Yield the findings of a search in the local log; return its answer.

    That it begins in remote storage is no finding here: that was searched before.
    """
    log = leader.log._replace(log_start_offset=leader.local_start)
    answering = at_or_after(leader.partition, log, asked, LARGEST_BATCH)
    while True:
        try:
            finding = next(answering)
        except StopIteration as done:
            answer: FoundRecord | str = done.value
            return answer
        if finding.code != "LOOKUP-004":
            yield finding


def _candidate(asked: int, leader: Leader, tries: Tries) -> CachedSegment | None:
    """Return the remote segment that is searched first, if one is before the local log."""
    epochs = with_records(leader.epochs)
    begin = serving(leader.remote, leader.epochs, leader.log_start_offset).epoch
    seen: set[str] = set()
    for entry in leader.epochs if begin is not None else ():
        if entry.epoch < (begin or 0):
            continue
        for segment in leader.remote.listed(entry.epoch):
            metadata = segment.metadata
            if metadata.max_timestamp_ms < asked or metadata.end_offset < leader.log_start_offset:
                continue
            name = f"segment {metadata.segment_id} of leader epoch {entry.epoch}"
            outside = outside_lineage(segment, leader.log.log_end_offset, epochs)
            state = SEGMENT_STATES[metadata.state] if metadata.state != COPY_SEGMENT_FINISHED else None
            if outside is not None or state is not None:
                if metadata.segment_id not in seen:
                    tries.append(f"{name}: {outside or state}")
                seen.add(metadata.segment_id)
                continue
            if metadata.start_offset < leader.log.segments[0].base_offset:
                tries.append(f"{name}: searched, its newest record is of {metadata.max_timestamp_ms}")
                return segment
            tries.append(f"{name}: it is on local disk")
            return None
    if not tries:
        tries.append("no remote segment is that new")
    return None
