"""Which remote segments belong to a leader's history, and whether the segments are of one history at all.

The truth is `RemoteLogManager`: `buildFilteredLeaderEpochMap`, `isCachedSegmentWithinLeaderEpochs`,
`findHighestRemoteOffset`, `read`. All offsets of segments are inclusive.
"""

from collections.abc import Iterable, Iterator
from itertools import dropwhile, groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from kcli.kafka.remote.cache import DELETE_SEGMENT_STARTED, CachedSegment, RemoteCache
from kcli.kafka.storage.leader_epochs import EpochCache, end_offset_for, epoch_for_offset
from kcli.kafka.storage.loaded_log import LoadedLog
from kcli.logdir.partition import Partition

NOTHING_REMOTE = -1
"""The highest offset in remote storage where there is none."""


def with_records(epochs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return epochs with their first offsets, ascending, but those that begin where the next one does."""
    ascending = sorted(dict(epochs).items())
    empty = {epoch for (epoch, offset), (_, next_offset) in pairwise(ascending) if offset == next_offset}
    return {epoch: offset for epoch, offset in ascending if epoch not in empty}


def outside_lineage(segment: CachedSegment, log_end_offset: int, leader: dict[int, int]) -> str | None:
    """Return why a segment is not within a leader's epochs (as of `with_records`), None if it is.

    Epochs of the segment below the leader's first one do not count: the leader's log starts later.
    """
    own, end_offset = with_records(segment.epochs.items()), segment.metadata.end_offset
    if not leader or not own:
        return "there are no leader epochs to compare"
    leader_epochs, last = sorted(leader), max(own)
    first = next((epoch for epoch in sorted(own) if epoch >= leader_epochs[0]), None)
    if first is None or last > leader_epochs[-1]:
        side = "below the leader's first" if first is None else "above the leader's newest"
        return f"its last epoch {last} is {side}, {leader_epochs[0] if first is None else leader_epochs[-1]}"
    for epoch in sorted(epoch for epoch in own if epoch >= first):
        reason = _epoch_outside(epoch, own, leader, is_first=epoch == first, end_offset=end_offset)
        if reason is not None:
            return reason
    if end_offset >= log_end_offset:
        return f"it ends at {end_offset}, and the leader's log before {log_end_offset}"
    return None


def _epoch_outside(
    epoch: int, own: dict[int, int], leader: dict[int, int], *, is_first: bool, end_offset: int
) -> str | None:
    if epoch not in leader:
        return f"the leader has no epoch {epoch}"
    if is_first and min(leader) < epoch and own[epoch] < leader[epoch]:
        return f"epoch {epoch} begins at {own[epoch]}, in the leader at {leader[epoch]}"
    after, own_after = _next(leader, epoch), _next(own, epoch)
    if own_after is None:
        if after is not None and end_offset >= after[1]:
            return f"it ends at {end_offset}, and epoch {epoch} of the leader before {after[1]}"
    elif after != own_after:
        leaders = "none" if after is None else f"{after[0]} from {after[1]} on"
        return f"epoch {own_after[0]} follows from {own_after[1]} on, in the leader {leaders}"
    return None


def _next(epochs: dict[int, int], epoch: int) -> tuple[int, int] | None:
    above = [each for each in epochs if each > epoch]
    return (min(above), epochs[min(above)]) if above else None


def highest_remote(cache: RemoteCache, epochs: EpochCache, log_end_offset: int) -> int:
    """Return the last offset that is copied of a leader's log, as `findHighestRemoteOffset`."""
    for entry in reversed(epochs):
        highest = cache.highest_offset(entry.epoch)
        if highest is not None:
            return min(highest, end_offset_for(epochs, entry.epoch, log_end_offset).end_offset - 1)
    return NOTHING_REMOTE


class Served(NamedTuple):
    """Which remote segment a leader reads for an offset, by which of its epochs; None where there is none."""

    epoch: int | None
    segment: CachedSegment | None


def serving(cache: RemoteCache, epochs: EpochCache, offset: int) -> Served:
    """Return the remote segment of an offset: by the epoch that the leader's cache has for it."""
    entry = epoch_for_offset(epochs, offset)
    return Served(None, None) if entry is None else Served(entry.epoch, cache.find(entry.epoch, offset))


def first_remote_offset(cache: RemoteCache, epochs: EpochCache) -> int | None:
    """Return where a leader's log begins in remote storage, of any state, as `findLogStartOffset`."""
    for entry in epochs:
        listed = cache.listed(entry.epoch)
        if listed:
            return listed[0].metadata.start_offset
    return None


# Without a leader, by the epochs of the segments alone


def contradicting_starts(cache: RemoteCache) -> Iterator[str]:
    """Yield epochs that begin in one segment elsewhere than in another; for certain where inside of it."""
    for epoch in cache.epochs:
        begins: tuple[int, CachedSegment] | None = None
        for start, _, segment in cache.serving(epoch):
            if start > segment.metadata.start_offset:
                begins = begins or (start, segment)
        for start, _, segment in cache.serving(epoch):
            is_inside = start > segment.metadata.start_offset
            if begins is not None and (start < begins[0] or (is_inside and start != begins[0])):
                ids = f"segment {begins[1].metadata.segment_id}, in {segment.metadata.segment_id} at {start}"
                yield f"leader epoch {epoch} begins at {begins[0]} in {ids}"


def written_again(cache: RemoteCache) -> Iterator[tuple[CachedSegment, str]]:
    """Yield segments with offsets that a later epoch, begun at or below them, has: an election cut them."""
    later: tuple[int, int] | None = None
    for epoch in reversed(cache.epochs):
        own = list(cache.serving(epoch))
        for _, last, segment in own:
            if later is not None and last >= later[1]:
                yield segment, f"it goes to {last} in leader epoch {epoch}; epoch {later[0]} has {later[1]}"
        if own and (later is None or own[0][0] < later[1]):
            later = epoch, own[0][0]


def gaps(cache: RemoteCache) -> Iterator[tuple[int, int, CachedSegment, CachedSegment]]:
    """Yield offsets (first and last, inclusive) that no segment serves, and the segments on both sides."""
    serving = [cache.segments[each] for each in cache.referenced() if each in cache.segments]
    before: CachedSegment | None = None
    for segment in sorted(serving, key=lambda each: (each.begun.start_offset, each.begun.end_offset)):
        if before is not None and segment.begun.start_offset > before.begun.end_offset + 1:
            yield before.begun.end_offset + 1, segment.begun.start_offset - 1, before, segment
        if before is None or segment.begun.end_offset > before.begun.end_offset:
            before = segment


def overlaps(cache: RemoteCache) -> Iterator[tuple[CachedSegment, str]]:
    """Yield segments with offsets of a leader epoch that another one serves, which begins later."""
    for epoch in cache.epochs:
        before: tuple[int, CachedSegment] | None = None
        for start, last, segment in cache.serving(epoch):
            if before is not None and before[0] >= start:
                overlap = f"{start}..{min(before[0], last)}"
                name = segment.begun.segment_id
                yield before[1], f"offsets {overlap} of leader epoch {epoch} are in segment {name} too"
            if before is None or last > before[0]:
                before = last, segment


# The leader, and the tiers of each offset

LOCAL_TIER, REMOTE_TIER = "local", "remote"
BOTH_TIERS, NO_TIER = "both", "none"


class TieredRange(NamedTuple):
    """Offsets from `first` to `end` (exclusive) that one remote segment serves, or none."""

    first: int
    end: int
    tiers: str
    segment_id: str | None


class Leader(NamedTuple):
    """A partition as its leader holds it; `remote` is empty where no event is about it.

    `log_start_offset`: not below the first remote segment. `epochs`: as of a broker that runs, also one that
    begins at the log end. `is_tiered`: there are remote segments, or the log begins below the disk.
    """

    partition: Partition
    topic_id: str | None
    log: LoadedLog
    epochs: EpochCache
    remote: RemoteCache
    log_start_offset: int
    highest: int
    is_tiered: bool

    @property
    def local_start(self) -> int:
        """The first offset on local disk."""
        return max(self.log_start_offset, self.log.segments[0].base_offset)

    @property
    def high_watermark(self) -> int | None:
        """The checkpointed one as the broker takes it; None where it is unknown."""
        watermark = self.log.checkpoints.high_watermark
        return None if watermark is None else self.log.bounded(watermark)

    def tiered_ranges(self) -> Iterator[TieredRange]:
        """Yield the ranges of offsets from log start to log end, with their tiers."""
        log_start, log_end = self.log_start_offset, self.log.log_end_offset
        bounds = {log_start, log_end, self.local_start, *(entry.start_offset for entry in self.epochs)}
        for segment in self.remote.segments.values():
            for epoch, start in segment.epochs.items():
                bounds |= {start, segment.end_of_epoch(epoch) + 1}
        for first, end in pairwise(sorted(offset for offset in bounds if log_start <= offset <= log_end)):
            remote = serving(self.remote, self.epochs, first).segment
            segment_id = None if remote is None else remote.metadata.segment_id
            if first >= self.local_start:
                tiers = LOCAL_TIER if remote is None else BOTH_TIERS
            else:
                tiers = NO_TIER if remote is None else REMOTE_TIER
            yield TieredRange(first, end, tiers, segment_id)

    def lacking(self) -> Iterator[tuple[int, int]]:
        """Yield offsets (first, end exclusive) that no tier has, and that retention did not remove.

        What is being deleted at the beginning is below the log start, checkpointed up to a minute later.
        """
        ranges = dropwhile(self._is_being_deleted, self.tiered_ranges())
        for tiers, group in groupby(ranges, key=attrgetter("tiers")):
            if tiers == NO_TIER:
                of_none = list(group)
                yield of_none[0].first, of_none[-1].end

    def _is_being_deleted(self, offsets: TieredRange) -> bool:
        segments = self.remote.segments.values()
        deleting = (segment.begun for segment in segments if segment.state == DELETE_SEGMENT_STARTED)
        is_deleted = any(event.start_offset <= offsets.first <= event.end_offset for event in deleting)
        return offsets.tiers == NO_TIER and is_deleted
