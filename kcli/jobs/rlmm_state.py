"""`rlmm state`: the events of remote log metadata, folded as a broker's cache folds them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from formats.checkpoint import EpochEntry
from formats.names import LOG
from formats.remote_metadata import (
    SEGMENT_STATES,
    RemoteLogMetadata,
    RemoteLogSegmentMetadata,
    RemoteLogSegmentMetadataSnapshot,
    RemoteLogSegmentMetadataUpdate,
)
from kcli.analysis.remote_cache import CachedSegment, RemoteCache, RemoteStore, UserPartition
from kcli.engine.contract import Outcome, Unit
from kcli.jobs import rlmm
from kcli.jobs.rlmm_rows import valid_record
from kcli.jobs.rlmm_selection import dump_selected
from kcli.logdir.tree import Found, Selection
from kcli.rows import Item
from kcli.rows.remote_metadata import RlmmEventRow
from kcli.rows.remote_state import RemoteHighestRow, RemoteHistoryRow, RemotePartition, RemoteSegmentRow

ACCEPTS = frozenset({LOG})


class Until(NamedTuple):
    """The last events that count, inclusive: by their offset in the metadata partition or their time (ms)."""

    metadata_offset: int | None = None
    event_timestamp_ms: int | None = None

    def takes(self, event: "Event") -> bool:
        """Whether an event is not after it."""
        offset, record = event
        if self.metadata_offset is not None and offset > self.metadata_offset:
            return False
        return self.event_timestamp_ms is None or record.event_timestamp_ms <= self.event_timestamp_ms


Event: TypeAlias = tuple[int, RemoteLogMetadata]
"""Offset in the metadata partition, and what it says."""


class Events(NamedTuple):
    """Events of one file that a broker can use, in order."""

    dir: str
    metadata_partition: int | None
    events: list[Event]


def expand(found: Found) -> Found:
    """Return the same with one target per segment of __remote_log_metadata."""
    expanded = rlmm.expand(found)
    return replace(expanded, targets=[target for target in expanded.targets if target.kind in ACCEPTS])


def read_events(unit: Unit, selection: Selection, until: Until) -> Outcome:
    """Return the events of a file, or of its next part, about selected user partitions, as the partial."""
    outcome = dump_selected(unit, selection)
    rows = [row for row in outcome.rows if isinstance(row, RlmmEventRow)]
    events = [
        (row.metadata_offset, record)
        for row in rows
        if row.metadata_offset is not None and (record := valid_record(row)) is not None
    ]
    directory = rows[0].dir if rows else ""
    metadata_partition = rows[0].metadata_partition if rows else None
    return replace(
        outcome, rows=[], partial=Events(directory, metadata_partition, list(filter(until.takes, events)))
    )


@dataclass(slots=True)
class FoldedEvents:
    """What the events of one directory come to."""

    metadata_partition: int | None
    store: RemoteStore


Answer: TypeAlias = Callable[[RemotePartition, RemoteCache], Iterable[Item]]
"""Returns the rows of one user partition."""
Watch: TypeAlias = Callable[[RemotePartition, Event, str | None], Item | None]
"""Sees every event with why the cache does not take it; may return a row."""


@dataclass(slots=True)
class StateReducer:
    """Folds events in the order in which they are read; gives the rows of every user partition at the end."""

    answer: Answer
    watch: Watch | None = None
    keeps_deleted: bool = False
    folded: dict[str, FoldedEvents] = field(default_factory=dict)

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one; the folded events stay here."""
        findings = [] if left is None else left.findings
        if right is None:
            assert left is not None
            return replace(left, rows=[*left.rows, *self._rows()], partial=None)
        rows = list(self._take(right.partial)) if isinstance(right.partial, Events) else []
        before = [] if left is None else left.rows
        return replace(right, rows=[*before, *rows], findings=[*findings, *right.findings], partial=None)

    def _take(self, events: Events) -> Iterator[Item]:
        folded = self.folded.setdefault(
            events.dir,
            FoldedEvents(events.metadata_partition, RemoteStore(keeps_deleted=self.keeps_deleted)),
        )
        for offset, record in events.events:
            if isinstance(record, RemoteLogSegmentMetadataSnapshot):  # such a value stops a broker: RLMM-003
                continue
            refused = folded.store.apply(record, offset)
            if self.watch is not None:
                key = (record.topic_id, record.topic, record.partition)
                row = self.watch(_place(events.dir, folded, key), (offset, record), refused)
                if row is not None:
                    yield row

    def _rows(self) -> Iterator[Item]:
        for directory, folded in self.folded.items():
            for key, cache in folded.store:
                yield from self.answer(_place(directory, folded, key), cache)


def _place(directory: str, folded: FoldedEvents, key: UserPartition) -> RemotePartition:
    topic_id, topic, partition = key
    return RemotePartition(directory, folded.metadata_partition, topic_id, topic, partition)


def segment_rows(
    place: RemotePartition, cache: RemoteCache, found: Iterable[CachedSegment]
) -> Iterator[Item]:
    """Yield the rows of segments of a cache."""
    referenced = cache.referenced()
    for segment in found:
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
    found = [*cache.segments.values(), *cache.deleted]
    found.sort(key=lambda segment: (segment.metadata.start_offset, segment.times[0] or 0))
    return segment_rows(place, cache, found)


def listed(place: RemotePartition, cache: RemoteCache, *, epoch: int) -> Iterator[Item]:
    """Yield what `listRemoteLogSegments` gives for a leader epoch."""
    return segment_rows(place, cache, cache.listed(epoch))


def looked_up(place: RemotePartition, cache: RemoteCache, *, at: tuple[int, int]) -> Iterator[Item]:
    """Yield what `remoteLogSegmentMetadata` gives for an offset of a leader epoch."""
    found = cache.find(*at)
    return segment_rows(place, cache, [] if found is None else [found])


def next_with_txn_index(place: RemotePartition, cache: RemoteCache, *, at: tuple[int, int]) -> Iterator[Item]:
    """Yield what `nextSegmentWithTxnIndex` gives for an offset of a leader epoch."""
    found = cache.next_with_txn_index(*at)
    return segment_rows(place, cache, [] if found is None else [found])


def highest(place: RemotePartition, cache: RemoteCache, *, epoch: int) -> Iterator[Item]:
    """Yield what `highestOffsetForEpoch` gives."""
    yield RemoteHighestRow(place, epoch, cache.highest_offset(epoch))


@dataclass(slots=True)
class History:
    """Gives a row for every event of one segment, as it comes."""

    segment_id: str
    previous: int | None = None

    def __call__(self, place: RemotePartition, event: Event, refused: str | None) -> Item | None:
        """Return the row of an event of the segment; None for others."""
        offset, record = event
        if not isinstance(record, RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate):
            return None
        if record.segment_id != self.segment_id:
            return None
        time, before = record.event_timestamp_ms, self.previous
        self.previous = time
        return RemoteHistoryRow(
            place,
            segment_id=record.segment_id,
            metadata_offset=offset,
            event_timestamp_ms=time,
            since_previous_ms=None if before is None else time - before,
            broker_id=record.broker_id,
            state=SEGMENT_STATES[record.state],
            refused=refused,
        )


def nothing(_: RemotePartition, __: RemoteCache) -> Iterator[Item]:
    """Yield no row: the history of a segment is complete when its events are read."""
    return iter(())
