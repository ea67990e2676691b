"""The remote segments of partitions as a broker's cache holds them, folded from their events.

The truth is RemoteLogMetadataCache, RemoteLogLeaderEpochState and RemotePartitionMetadataStore of 4.3.1
(KIP-405, KIP-1058).
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from formats import remote_metadata
from formats.remote_metadata import RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate

COPY_SEGMENT_STARTED, COPY_SEGMENT_FINISHED, DELETE_SEGMENT_STARTED = 0, 1, 2
DELETE_PARTITION_FINISHED = 2
TRANSITIONS = {
    None: {COPY_SEGMENT_STARTED},
    COPY_SEGMENT_STARTED: {COPY_SEGMENT_STARTED, COPY_SEGMENT_FINISHED, DELETE_SEGMENT_STARTED},
    COPY_SEGMENT_FINISHED: {COPY_SEGMENT_FINISHED, DELETE_SEGMENT_STARTED},
    DELETE_SEGMENT_STARTED: {DELETE_SEGMENT_STARTED, remote_metadata.DELETE_SEGMENT_FINISHED},
}
"""A segment's state (None: it has none yet), and those that may follow (`isValidTransition`)."""

UNKNOWN_SEGMENT = "unknown-segment"
INVALID_TRANSITION = "invalid-transition"
NOT_STARTED = "not-started"
UPDATE_TO_STARTED = "update-to-started"
"""Why an event changes nothing: the cache throws, but drops an invalid transition with a log line."""

UserPartition: TypeAlias = tuple[str, str, int]
"""Topic id, topic, partition: TopicIdPartition."""


@dataclass(slots=True, eq=False)
class CachedSegment:
    """A remote segment: what its first event says, with state, broker and custom metadata of the last.

    `times`: of the first event of each state in ms, if any. `metadata_offset`: of the last event, None in a
    snapshot. `entries`: (leader epoch, first offset), rising.
    """

    begun: RemoteLogSegmentMetadata
    entries: tuple[tuple[int, int], ...]
    metadata_offset: int | None
    times: list[int | None]
    last: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.begun

    @property
    def epochs(self) -> dict[int, int]:
        """The leader epochs, as the TreeMap of Kafka's object."""
        return dict(self.entries)

    @property
    def state(self) -> int:
        """The state that the last event gave it."""
        return self.last.state

    @property
    def metadata(self) -> RemoteLogSegmentMetadata:
        """What a broker's cache holds: `createWithUpdates` with the last event."""
        last = self.last
        return self.begun._replace(
            state=last.state,
            broker_id=last.broker_id,
            event_timestamp_ms=last.event_timestamp_ms,
            custom_metadata=last.custom_metadata,
        )

    def end_of_epoch(self, epoch: int) -> int:
        """Return the last offset (inclusive) that the segment holds of one of its epochs."""
        if len(self.entries) > 1:
            following = [start for entry_epoch, start in self.entries if entry_epoch > epoch]
            if following:
                return following[0] - 1
        return self.begun.end_offset


class _EpochState:
    """RemoteLogLeaderEpochState: which segment serves which offsets of one leader epoch."""

    __slots__ = ("highest", "ids", "starts", "unreferenced")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ids: dict[int, str] = {}
        self.unreferenced: dict[str, None] = {}
        self.highest: int | None = None

    def copied(self, start: int, segment_id: str, end: int) -> None:
        while self.starts and self.starts[-1] >= start and self.highest is not None and self.highest <= end:
            self.unreferenced[self.ids.pop(self.starts.pop())] = None
        if start not in self.ids:
            insort(self.starts, start)
        self.ids[start] = segment_id
        self.unreferenced.pop(segment_id, None)
        if self.highest is None or end > self.highest:
            self.highest = end

    def deleting(self, start: int, segment_id: str) -> None:
        if self.ids.get(start) == segment_id:
            del self.ids[start]
            del self.starts[bisect_left(self.starts, start)]
        self.unreferenced[segment_id] = None

    def floor(self, offset: int) -> str | None:
        slot = bisect_right(self.starts, offset)
        return self.ids[self.starts[slot - 1]] if slot else None


class RemoteCache:
    """RemoteLogMetadataCache of one user partition; `deleted`: segments that a broker forgets, if kept."""

    def __init__(self, *, keeps_deleted: bool = False) -> None:
        self.segments: dict[str, CachedSegment] = {}
        self.deleted: list[CachedSegment] = []
        self._keeps_deleted = keeps_deleted
        self._epochs: defaultdict[int, _EpochState] = defaultdict(_EpochState)

    @property
    def epochs(self) -> list[int]:
        """The leader epochs that any segment was of, rising."""
        return sorted(self._epochs)

    def apply(
        self, event: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate, metadata_offset: int
    ) -> str | None:
        """Take an event; return why it changes nothing, as UNKNOWN_SEGMENT."""
        if isinstance(event, RemoteLogSegmentMetadataUpdate):
            return self.update(event, metadata_offset)
        return self.add(event, metadata_offset)

    def load(self, entry: remote_metadata.RemoteLogSegmentMetadataSnapshot, of: UserPartition) -> None:
        """Take an entry of a remote_log_snapshot, once per leader epoch (`loadRemoteLogSegmentMetadata`)."""
        topic_id, topic, partition = of
        values = entry._asdict() | {"topic": topic, "topic_id": topic_id, "partition": partition}
        begun = RemoteLogSegmentMetadata(**values)
        if entry.segment_id not in self.segments:
            self.add(begun._replace(state=COPY_SEGMENT_STARTED), None)
        segment = self.segments[entry.segment_id]
        if entry.state != COPY_SEGMENT_STARTED:
            segment.times[COPY_SEGMENT_STARTED] = None
            names = RemoteLogSegmentMetadataUpdate._fields
            self.update(RemoteLogSegmentMetadataUpdate(**{name: values[name] for name in names}), None)

    def add(self, event: RemoteLogSegmentMetadata, metadata_offset: int | None) -> str | None:
        """Take the first event of a segment, as `addCopyInProgressSegment`; the answer is that of `apply`."""
        if event.state != COPY_SEGMENT_STARTED:
            return NOT_STARTED
        segment_id = event.segment_id
        old = self.segments.get(segment_id)
        if event.state not in TRANSITIONS[old.state if old else None]:
            return INVALID_TRANSITION
        times = old.times if old else [event.event_timestamp_ms, None, None, None]
        entries = _entries_of(event)
        for epoch, _ in entries:
            self._epochs[epoch].unreferenced[segment_id] = None
        self.segments[segment_id] = CachedSegment(event, entries, metadata_offset, times)
        return None

    def update(self, event: RemoteLogSegmentMetadataUpdate, metadata_offset: int | None) -> str | None:
        """Take a later event, as `updateRemoteLogSegmentMetadata`."""
        segment_id, state = event.segment_id, event.state
        segment = self.segments.get(segment_id)
        if segment is None:
            return UNKNOWN_SEGMENT
        if state not in TRANSITIONS[segment.last.state]:
            return INVALID_TRANSITION
        if state == COPY_SEGMENT_STARTED:
            return UPDATE_TO_STARTED
        segment.last, segment.metadata_offset = event, metadata_offset
        times = segment.times
        if times[state] is None:
            times[state] = event.event_timestamp_ms
        for epoch, start in segment.entries:
            if state == COPY_SEGMENT_FINISHED:
                self._epochs[epoch].copied(start, segment_id, segment.end_of_epoch(epoch))
            elif state == DELETE_SEGMENT_STARTED:
                self._epochs[epoch].deleting(start, segment_id)
            else:
                self._epochs[epoch].unreferenced.pop(segment_id, None)
        if state == remote_metadata.DELETE_SEGMENT_FINISHED:
            del self.segments[segment_id]
            if self._keeps_deleted:
                self.deleted.append(segment)
        return None

    def find(self, epoch: int, offset: int) -> CachedSegment | None:
        """Return the segment that serves an offset of a leader epoch (`remoteLogSegmentMetadata`)."""
        state = self._epochs.get(epoch)
        segment_id = state.floor(offset) if state else None
        segment = self.segments.get(segment_id) if segment_id is not None else None
        return segment if segment is not None and offset <= segment.end_of_epoch(epoch) else None

    def next_with_txn_index(self, epoch: int, offset: int) -> CachedSegment | None:
        """Return an epoch's first segment with a transaction index (`nextSegmentWithTxnIndex`, KIP-1058)."""
        segment, before = self.find(epoch, offset), None
        while segment is not None and segment is not before and segment.begun.txn_index_empty:
            before, segment = segment, self.find(epoch, segment.begun.end_offset + 1)
        return None if segment is before else segment

    def listed(self, epoch: int) -> list[CachedSegment]:
        """Return an epoch's segments in the cache's order (`listRemoteLogSegments`), superseded ones too."""
        state = self._epochs.get(epoch)
        if state is None:
            return []
        ids = [*(state.ids[start] for start in state.starts), *state.unreferenced]
        segments = [self.segments[segment_id] for segment_id in ids if segment_id in self.segments]
        if state.unreferenced:
            segments.sort(key=lambda segment: segment.begun.start_offset)
        return segments

    def serving(self, epoch: int) -> Iterator[tuple[int, int, CachedSegment]]:
        """Yield first and last offset (inclusive) that a leader epoch leads to, with the segment, rising."""
        state = self._epochs.get(epoch)
        if state is not None:
            for start in state.starts:
                segment = self.segments.get(state.ids[start])
                if segment is not None:
                    yield start, segment.end_of_epoch(epoch), segment

    def highest_offset(self, epoch: int) -> int | None:
        """Return the highest offset that was ever copied of a leader epoch (`highestOffsetForEpoch`)."""
        state = self._epochs.get(epoch)
        return state.highest if state else None

    def referenced(self) -> set[str]:
        """Return the ids of the segments that an offset of some leader epoch leads to."""
        return {segment_id for state in self._epochs.values() for segment_id in state.ids.values()}


class RemoteStore:
    """The caches of all user partitions of one metadata partition (RemotePartitionMetadataStore)."""

    def __init__(self, *, keeps_deleted: bool = False) -> None:
        self.caches: dict[UserPartition, RemoteCache] = {}
        self._keeps_deleted = keeps_deleted
        self.deletions: dict[UserPartition, remote_metadata.RemotePartitionDeleteMetadata] = {}
        self.remnants: dict[UserPartition, int] = {}
        """How many segments were not deleted when the deletion of their partition was finished."""

    def apply(self, event: remote_metadata.RemoteLogMetadata, metadata_offset: int) -> str | None:
        """Take an event of the topic; return why it changes nothing (as `RemoteCache.apply`)."""
        if isinstance(event, RemoteLogSegmentMetadataUpdate):
            return self._cache_of(event).update(event, metadata_offset)
        if isinstance(event, RemoteLogSegmentMetadata):
            return self._cache_of(event).add(event, metadata_offset)
        if isinstance(event, remote_metadata.RemoteLogSegmentMetadataSnapshot):
            return NOT_STARTED
        self._delete(event)
        return None

    def _cache_of(self, event: RemoteLogSegmentMetadata | RemoteLogSegmentMetadataUpdate) -> RemoteCache:
        key = (event.topic_id, event.topic, event.partition)
        cache = self.caches.get(key)
        if cache is None:
            cache = self.caches[key] = RemoteCache(keeps_deleted=self._keeps_deleted)
        return cache

    def _delete(self, event: remote_metadata.RemotePartitionDeleteMetadata) -> None:
        key = (event.topic_id, event.topic, event.partition)
        if event.state == DELETE_PARTITION_FINISHED:
            cache = self.caches.pop(key, None)
            if cache is not None and cache.segments:
                self.remnants[key] = len(cache.segments)
            self.deletions.pop(key, None)
        else:
            self.deletions[key] = event

    def __iter__(self) -> Iterator[tuple[UserPartition, RemoteCache]]:
        """Yield user partitions by topic, partition and id, with their caches."""
        return iter(sorted(self.caches.items(), key=lambda item: (item[0][1], item[0][2], item[0][0])))


def _entries_of(event: RemoteLogSegmentMetadata) -> tuple[tuple[int, int], ...]:
    """Return the leader epochs of a segment as the TreeMap holds them: of equal epochs the last wins."""
    entries = event.segment_leader_epochs
    return entries if len(entries) == 1 else tuple(sorted(dict(entries).items()))
