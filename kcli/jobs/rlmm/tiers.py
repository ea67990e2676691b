"""`rlmm offsets`, `lookup`, `coverage`, `retention`: what a tiered partition's leader answers and keeps.

The truth is, for ListOffsets, `UnifiedLog.fetchOffsetByTimestamp` (KIP-405, KIP-1005, KIP-1023), and, for
what a consumer that reads uncommitted records gets of it, `Partition.fetchOffsetForTimestamp`; for a fetch
`UnifiedLog.read` and `RemoteLogManager.read`; for timestamps `RemoteLogManager.findOffsetByTimestamp` and
`lookupTimestamp`. Batches of remote segments are read from directories of remote storage where these are
given; without them the log dir's index cache says where a read begins.
"""

import os
from collections.abc import Iterator
from itertools import count, groupby
from operator import attrgetter
from typing import NamedTuple

from formats.bounds import LARGEST_BATCH
from formats.index import OFFSET_INDEX_ENTRY
from formats.names import REMOTE_LOG_INDEX_CACHE
from formats.remote_metadata import SEGMENT_STATES
from kcli.jobs.common import Yield, where
from kcli.jobs.held_log import RetentionQuery, configured, held_log
from kcli.jobs.log_lookup import (
    FOUND,
    IN_REMOTE_STORAGE,
    NO_BATCH,
    at_or_after,
    first_batch,
    largest,
    outside,
    search,
)
from kcli.jobs.log_lookup import batch_of as batch_in
from kcli.jobs.log_times import ends_of
from kcli.jobs.rlmm.storage import segment_at, stored_segment
from kcli.jobs.tiered_leader import leader_job
from kcli.kafka.findings.collector import collect_findings
from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.cache import COPY_SEGMENT_FINISHED, CachedSegment
from kcli.kafka.remote.lineage import (
    BOTH_TIERS,
    LOCAL_TIER,
    REMOTE_TIER,
    Leader,
    outside_lineage,
    serving,
    with_records,
)
from kcli.kafka.remote.retention import DELETE, expire_remote, left_alone, tier_verdicts
from kcli.kafka.storage.batch_records import failing_lookup
from kcli.kafka.storage.leader_epochs import epoch_for_offset
from kcli.kafka.storage.log_segment import LoadedSegment, size_of
from kcli.logdir.partition import shown_path
from kcli.rows import remote_tiers
from kcli.rows.lookups import FoundBatch, FoundRecord
from kcli.words import resolve_offset

NO_LIMITS = (-1, -1)

# rlmm offsets


class OffsetAndEpoch(NamedTuple):
    """An offset and its leader epoch; -1 and None where there is none."""

    offset: int = -1
    epoch: int | None = None


@leader_job
def offsets(leader: Leader) -> Yield:
    """Yield the row of a partition."""
    log, begins, tiered = leader.log, leader.log_start_offset, leader.highest
    fetchable = log.log_end_offset if leader.high_watermark is None else leader.high_watermark
    latest = OffsetAndEpoch(fetchable, leader.epochs[-1].epoch if leader.epochs else None)
    with failing_lookup():
        newest = largest(log, LARGEST_BATCH)
    record = newest if isinstance(newest, FoundRecord) and (newest.offset or 0) < fetchable else FoundRecord()
    first = leader.epochs[0] if leader.epochs else None
    earliest = OffsetAndEpoch(begins, first.epoch if first and first.start_offset <= begins else None)
    local = _answer(leader, leader.local_start) if leader.is_tiered else earliest
    latest_tiered = pending = OffsetAndEpoch()
    if leader.is_tiered and tiered >= 0:
        latest_tiered = _answer(leader, tiered) if tiered < fetchable else latest_tiered
        pending = _answer(leader, max(tiered + 1, begins))
    elif leader.is_tiered and leader.local_start == begins:
        pending = earliest
    yield remote_tiers.RlmmOffsetsRow(
        where(leader.partition),
        leader.topic_id,
        leader.is_tiered,
        *earliest,
        *latest,
        -1 if record.offset is None else record.offset,
        -1 if record.record_timestamp is None else record.record_timestamp,
        record.leader_epoch,
        *local,
        *latest_tiered,
        *(pending if pending.offset < fetchable else OffsetAndEpoch()),
        leader.high_watermark,
        log.log_end_offset,
    )


def _answer(leader: Leader, offset: int) -> OffsetAndEpoch:
    entry = epoch_for_offset(leader.epochs, offset)
    return OffsetAndEpoch(offset, None if entry is None else entry.epoch)


# rlmm lookup


def place_of(segment: CachedSegment | None) -> remote_tiers.RemotePlace:
    """Return a remote segment by its metadata; nulls for None."""
    if segment is None:
        return remote_tiers.RemotePlace()
    metadata = segment.metadata
    return remote_tiers.RemotePlace(metadata.segment_id, metadata.start_offset, metadata.end_offset)


@leader_job
def lookup_offset(leader: Leader, *, offset: int | str, storage: tuple[str, ...] = ()) -> Yield:
    """Yield one row: which tier a fetch at this offset (or `earliest`, `latest`) reads, and where."""
    log = leader.log
    number = resolve_offset(offset, leader.log_start_offset, log.log_end_offset)
    served = serving(leader.remote, leader.epochs, number)
    reason = outside(number, leader.log_start_offset, leader.local_start, log.log_end_offset)
    origin = where(leader.partition), leader.topic_id
    row = remote_tiers.RlmmLookupOffsetRow(*origin, number, epoch=served.epoch, reason=reason or "")
    disk = f"the local log is empty and ends at {log.log_end_offset}"
    if leader.local_start < log.log_end_offset:
        disk = f"the local log holds offsets {leader.local_start} to {log.log_end_offset - 1}"
    if reason is None:
        answer = first_batch(leader.partition, log, number)
        batch, why = answer or (FoundBatch(), f"{NO_BATCH}: a fetch returns no records")
        yield row._replace(
            found=answer is not None, tier=LOCAL_TIER, batch=batch, tries=(f"{disk}: read there",), reason=why
        )
    elif not reason.startswith(IN_REMOTE_STORAGE):
        yield row._replace(tries=(disk,))
    else:
        yield _remote_offset(row, leader, storage, [f"{disk}: not this one"])


def _remote_offset(
    row: remote_tiers.RlmmLookupOffsetRow, leader: Leader, storage: tuple[str, ...], tries: list[str]
) -> remote_tiers.RlmmLookupOffsetRow:
    """Return the row of an offset that is not on local disk: RemoteLogManager.read."""
    number, served = row.offset, serving(leader.remote, leader.epochs, row.offset)
    if served.epoch is None:
        tries.append(f"the leader epoch cache has no epoch for {number}")
    while served.epoch is not None:
        segment = served.segment
        position = f"leader epoch {served.epoch}, offset {number}"
        if segment is None:
            tries.append(f"remote metadata has no copied segment for {position}")
            tries += _refusals(leader, number)
            break
        tries.append(f"remote metadata has segment {segment.metadata.segment_id} for {position}")
        stored = stored_segment(segment, storage)
        if stored is None:
            batch = _indexed_batch(row.offset, leader, segment, tries)
            answer: tuple[FoundBatch, str] | None = batch, _by_metadata(storage, "the batch")
        else:
            answer = batch_in(stored, row.offset)
        if answer is not None:
            row = row._replace(found=True, tier=REMOTE_TIER, remote=place_of(segment), batch=answer[0])
            return row._replace(tries=tuple(tries), reason=answer[1])
        number = segment.metadata.end_offset + 1
        tries.append(f"its log has no batch from {row.offset} on: the segment of {number} is next")
        served = serving(leader.remote, leader.epochs, number)
    reason = f"{NO_BATCH}: a fetch returns no records"
    if number == row.offset:
        reason = "not in remote storage: a fetch gets OFFSET_OUT_OF_RANGE"
    return row._replace(tries=tuple(tries), reason=reason)


def _indexed_batch(offset: int, leader: Leader, segment: CachedSegment, tries: list[str]) -> FoundBatch:
    """Return what the cached offset index of a remote segment says of the batch, without its log."""
    indexes = _cached_indexes(leader, segment)
    batch = FoundBatch(segment_base_offset=segment.metadata.start_offset)
    if indexes is not None and _is_damaged(indexes):
        tries.append("its cached offset index is damaged: the broker fetches it again")
    elif indexes is not None:
        entry = indexes.index_entry(offset)
        batch = batch._replace(index_entry_offset=entry[0], index_entry_position=entry[1])
        tries.append(f"its cached offset index leads to byte {entry[1]}")
    return batch


def _cached_indexes(leader: Leader, segment: CachedSegment) -> LoadedSegment | None:
    """Return the indexes of a remote segment in the log dir's index cache, without its log; None for none."""
    log_dir = leader.partition.target.log_dir
    if log_dir is None:
        return None
    name = f"{segment.metadata.start_offset}_{segment.metadata.segment_id}"
    path = os.path.join(log_dir, REMOTE_LOG_INDEX_CACHE, name)
    if not os.path.lexists(f"{path}.index"):
        return None
    return segment_at(segment.metadata.start_offset, path, with_log=False)


def _is_damaged(segment: LoadedSegment) -> bool:
    """Whether a broker does not take an offset index of its cache (`OffsetIndex.sanityCheck`)."""
    index = segment.offset_index
    size = 0 if index.path is None else size_of(index.path)
    return size % OFFSET_INDEX_ENTRY.size != 0 or segment.last_indexed()[0] < segment.base_offset


def _by_metadata(storage: tuple[str, ...], subject: str) -> str:
    """Return why nothing of a segment's log is in the answer."""
    if not storage:
        return f"by its metadata: --storage DIR shows {subject}"
    return f"by its metadata; its log is not in {', '.join(storage)}: where it is lost, the fetch fails"


def _refusals(leader: Leader, number: int) -> Iterator[str]:
    """Yield why the segments that span an offset do not serve it."""
    for segment in leader.remote.segments.values():
        metadata = segment.metadata
        if metadata.start_offset <= number <= metadata.end_offset:
            reason = (
                f"is {SEGMENT_STATES[metadata.state]}"
                if metadata.state != COPY_SEGMENT_FINISHED
                else outside_lineage(segment, leader.log.log_end_offset, with_records(leader.epochs))
                or "was superseded by another one"
            )
            offsets = f"offsets {metadata.start_offset} to {metadata.end_offset}"
            yield f"segment {metadata.segment_id}, {offsets}: {reason}"


@leader_job
def lookup_timestamp(leader: Leader, *, timestamp: int, storage: tuple[str, ...] = ()) -> Yield:
    """Yield one row: which tier answers ListOffsets for a timestamp in ms, and with which record."""
    tries: list[str] = []
    row = remote_tiers.RlmmLookupTimestampRow(where(leader.partition), leader.topic_id, timestamp)
    candidate = _candidate(timestamp, leader, tries) if leader.is_tiered else None
    if candidate is not None:
        stored = stored_segment(candidate, storage)
        row = row._replace(tier=REMOTE_TIER, remote=place_of(candidate))
        if stored is None:
            reason = f"the record is in this segment, if anywhere, {_by_metadata(storage, 'it')}"
            yield row._replace(found=True, tries=tuple(tries), reason=reason)
            return
        with failing_lookup():
            record = search(stored, timestamp, leader.log_start_offset, LARGEST_BATCH)
        if isinstance(record, FoundRecord):
            yield row._replace(found=True, record=record, tries=tuple(tries), reason=FOUND)
            return
        tries.append("it has no such record")
        row = row._replace(tier=None, remote=remote_tiers.RemotePlace())
    log = leader.log._replace(log_start_offset=leader.local_start)
    findings: list[Finding] = []
    local = collect_findings(at_or_after(leader.partition, log, timestamp, LARGEST_BATCH), findings)
    # that the log begins in remote storage is no finding here: that was searched before
    yield from (finding for finding in findings if finding.code != "LOOKUP-004")
    tries.append("the local log is searched")
    if isinstance(local, FoundRecord):
        local = local._replace(path=shown_path(leader.partition, local.path or ""))
        row = row._replace(found=True, tier=LOCAL_TIER, record=local)
    yield row._replace(tries=tuple(tries), reason=FOUND if isinstance(local, FoundRecord) else local)


def _candidate(timestamp: int, leader: Leader, tries: list[str]) -> CachedSegment | None:
    """Return the remote segment that is searched first, if one is before the local log."""
    epochs = with_records(leader.epochs)
    begin = serving(leader.remote, leader.epochs, leader.log_start_offset).epoch
    tried_ids: set[str] = set()
    for entry in leader.epochs if begin is not None else ():
        if entry.epoch < (begin or 0):
            continue
        for segment in leader.remote.listed(entry.epoch):
            metadata = segment.metadata
            if metadata.max_timestamp_ms < timestamp or metadata.end_offset < leader.log_start_offset:
                continue
            name = f"segment {metadata.segment_id} of leader epoch {entry.epoch}"
            outside = outside_lineage(segment, leader.log.log_end_offset, epochs)
            state = SEGMENT_STATES[metadata.state] if metadata.state != COPY_SEGMENT_FINISHED else None
            if outside is not None or state is not None:
                if metadata.segment_id not in tried_ids:
                    tries.append(f"{name}: {outside or state}")
                tried_ids.add(metadata.segment_id)
                continue
            if metadata.start_offset < leader.log.segments[0].base_offset:
                tries.append(f"{name}: searched, its newest record is of {metadata.max_timestamp_ms}")
                return segment
            tries.append(f"{name}: it is on local disk")
            return None
    if not tries:
        tries.append("no remote segment is that new")
    return None


# rlmm coverage


@leader_job
def coverage(leader: Leader) -> Yield:
    """Yield a row for each range of offsets, from log start to log end."""
    segments, remote = leader.log.segments, leader.remote.segments
    ends = [*(segment.base_offset for segment in segments[1:]), leader.log.log_end_offset]
    begun: set[str] = set()
    for tiers, group in groupby(leader.tiered_ranges(), key=attrgetter("tiers")):
        ranges = list(group)
        first, end = ranges[0].first, ranges[-1].end
        ids = {each.segment_id for each in ranges if each.segment_id is not None}
        local = [
            (segment.log_size, segment_end)
            for segment, segment_end in zip(segments, ends, strict=True)
            if first <= segment.base_offset < end
        ]
        yield remote_tiers.RlmmCoverageRow(
            where(leader.partition),
            leader.topic_id,
            first,
            end - 1,
            tiers,
            len(ids),
            local_bytes=sum(size for size, _ in local),
            remote_bytes=sum(remote[key].metadata.segment_size_in_bytes for key in ids - begun),
            safe_to_lose_bytes=sum(size for size, stop in local if tiers == BOTH_TIERS and stop <= end),
        )
        begun |= ids


# rlmm retention


@leader_job
def retention(leader: Leader, *, query: RetentionQuery) -> Yield:
    """Yield a row for each segment: remote ones, then local ones."""
    config, _ = yield from configured(leader.partition, query)
    log = held_log(leader.partition, leader.log, config, query.now_ms)._replace(leader=leader)
    yield from log.assumed()
    log = log.learned(() if config.is_known else map(ends_of, leader.log.segments))
    number = log.config.number
    remote_limits, local_limits = NO_LIMITS, NO_LIMITS
    if log.deletes:
        remote_limits, local_limits = (number("retention.ms"), number("retention.bytes")), log.limits
    local = tier_verdicts(log.verdicts())
    remote, after = left_alone(leader), leader.log_start_offset
    if log.is_tiered:
        remote, log_start = expire_remote(leader, remote_limits, query.now_ms)
        after = max(log_start or 0, after)
    else:
        after = max([after, *(each.segment.end_offset + 1 for each in local if each.action == DELETE)])
    for tier, verdicts, limits in (("remote", remote, remote_limits), ("local", local, local_limits)):
        order = count(1)
        for segment, action, rule, reason in verdicts:
            turn = next(order) if action == DELETE else None
            origin = where(leader.partition)
            yield remote_tiers.RlmmRetentionRow(
                origin, leader.topic_id, turn, tier, action, rule, *segment, after, reason, *limits
            )
