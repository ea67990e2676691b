"""`rlmm state`: the events of remote log metadata, folded as a broker's cache folds them."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from formats.checkpoint import EpochEntry
from formats.names import REMOTE_LOG_SNAPSHOT
from formats.remote_metadata import (
    SEGMENT_STATES,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataUpdate,
)
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.metadata_partitions import MetadataPartition, fold_unit
from kcli.jobs.rlmm.snapshots import SnapshotVisitor, replay, replay_row
from kcli.kafka.remote.cache import CachedSegment, RemoteCache
from kcli.kafka.remote.events import Event, EventQuery
from kcli.rows import Item
from kcli.rows.remote_segments import RemoteHighestRow, RemoteHistoryRow, RemotePartition, RemoteSegmentRow

Answer: TypeAlias = Callable[[RemotePartition, RemoteCache], Iterable[Item]]
"""Returns the rows of one user partition."""


def state(unit: Unit, *, query: EventQuery, answer: Answer, keeps_deleted: bool = False) -> Outcome:
    """Return what `answer` gives for each user partition of a metadata partition, or of snapshot files."""

    def rows(partition: MetadataPartition) -> Iterator[Item]:
        for key, cache in partition.store:
            yield from answer(partition.place(key), cache)

    if unit.target.kind == REMOTE_LOG_SNAPSHOT:
        return replay(unit, query, lambda: SnapshotVisitor(lambda file: rows(file.partition)))
    return fold_unit(unit, query, rows, keeps_deleted=keeps_deleted)


def replays(unit: Unit, *, query: EventQuery) -> Outcome:
    """Return a row for each remote_log_snapshot of the unit."""
    return replay(unit, query, lambda: SnapshotVisitor(replay_row))


def history(unit: Unit, *, query: EventQuery, segment_id: str) -> Outcome:
    """Return a row for every event of one segment."""
    rows: list[RemoteHistoryRow] = []

    def watch(partition: MetadataPartition, event: Event, refused: str | None) -> None:
        offset, record = event
        if not isinstance(record, (RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate)):
            return
        if record.segment_id != segment_id:
            return
        time = record.event_timestamp_ms
        previous = rows[-1].event_timestamp_ms if rows else None
        rows.append(
            RemoteHistoryRow(
                partition.place((record.topic_id, record.topic, record.partition)),
                segment_id=record.segment_id,
                metadata_offset=offset,
                event_timestamp_ms=time,
                since_previous_ms=None if previous is None else time - previous,
                broker_id=record.broker_id,
                state=SEGMENT_STATES[record.state],
                refused=refused,
            )
        )

    return fold_unit(unit, query, lambda _: rows, watch)


def segment_rows(
    place: RemotePartition, cache: RemoteCache, segments: Iterable[CachedSegment]
) -> Iterator[Item]:
    """Yield the rows of segments of a cache."""
    referenced = cache.referenced()
    for segment in segments:
        metadata = segment.metadata
        yield RemoteSegmentRow(
            place,
            segment_id=metadata.segment_id,
            start_offset=metadata.start_offset,
            end_offset=metadata.end_offset,
            state=SEGMENT_STATES[metadata.state],
            referenced=metadata.segment_id in referenced,
            segment_leader_epochs=tuple(EpochEntry(*entry) for entry in segment.epochs.items()),
            max_timestamp_ms=metadata.max_timestamp_ms,
            segment_size_bytes=metadata.segment_size_in_bytes,
            custom_metadata=metadata.custom_metadata,
            event_timestamp_ms=metadata.event_timestamp_ms,
            copy_started_ms=segment.times[0],
            copy_finished_ms=segment.times[1],
            delete_started_ms=segment.times[2],
            delete_finished_ms=segment.times[3],
            metadata_offset=segment.metadata_offset,
            broker_id=metadata.broker_id,
            txn_index_empty=metadata.txn_index_empty,
        )


def every_segment(place: RemotePartition, cache: RemoteCache) -> Iterator[Item]:
    """Yield a row for each segment by start offset, deleted ones too where the cache keeps them."""
    segments = [*cache.segments.values(), *cache.deleted]
    segments.sort(key=lambda segment: (segment.metadata.start_offset, segment.times[0] or 0))
    return segment_rows(place, cache, segments)


def listed(place: RemotePartition, cache: RemoteCache, *, epoch: int) -> Iterator[Item]:
    """Yield what `listRemoteLogSegments` gives for a leader epoch."""
    return segment_rows(place, cache, cache.listed(epoch))


def looked_up(place: RemotePartition, cache: RemoteCache, *, at: tuple[int, int]) -> Iterator[Item]:
    """Yield what `remoteLogSegmentMetadata` gives for an offset of a leader epoch."""
    segment = cache.find(*at)
    return segment_rows(place, cache, [] if segment is None else [segment])


def next_with_txn_index(place: RemotePartition, cache: RemoteCache, *, at: tuple[int, int]) -> Iterator[Item]:
    """Yield what `nextSegmentWithTxnIndex` gives for an offset of a leader epoch."""
    segment = cache.next_with_txn_index(*at)
    return segment_rows(place, cache, [] if segment is None else [segment])


def highest(place: RemotePartition, cache: RemoteCache, *, epoch: int) -> Iterator[Item]:
    """Yield what `highestOffsetForEpoch` gives."""
    yield RemoteHighestRow(place, epoch, cache.highest_offset(epoch))
