"""Whether the remote segments of a partition are of one history, by their leader epochs alone.

With the leader's own epochs `kcli.analysis.remote_lineage` answers as a broker does.
"""

from collections.abc import Iterator

from kcli.analysis.remote_cache import CachedSegment, RemoteCache


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
