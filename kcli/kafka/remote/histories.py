"""Whether the remote segments of a partition are of one history, by their leader epochs alone.

With the leader's own epochs `kcli.kafka.remote.lineage` answers as a broker does.
"""

from collections.abc import Iterator

from kcli.kafka.remote.cache import CachedSegment, RemoteCache


def contradicting_starts(cache: RemoteCache) -> Iterator[str]:
    """Yield leader epochs that begin at one offset in a segment and elsewhere in another.

    An epoch that begins inside a segment, after its first offset, begins there for certain.
    """
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
    """Yield segments with offsets that a later leader epoch has too: an unclean election cut them.

    Where a later epoch began at an offset, no record of an earlier one is at or past it.
    """
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
    serving = [cache.segments[one] for one in cache.referenced() if one in cache.segments]
    before: CachedSegment | None = None
    for segment in sorted(serving, key=lambda one: (one.begun.start_offset, one.begun.end_offset)):
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
                both = f"{start}..{min(before[0], last)}"
                name = segment.begun.segment_id
                yield before[1], f"offsets {both} of leader epoch {epoch} are in segment {name} too"
            if before is None or last > before[0]:
                before = last, segment
