"""`rlmm coverage`: which offsets of a partition are on local disk, in remote storage, in both or nowhere."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import where
from kcli.jobs.rlmm.leader import Leader, led
from kcli.kafka.remote.lineage import serving
from kcli.rows.remote_tier import RlmmCoverageRow

TIERS = {(True, True): "both", (True, False): "local", (False, True): "remote", (False, False): "none"}


class _Piece(NamedTuple):
    """Offsets from `first` to `end` (exclusive) that one remote segment serves, or none."""

    first: int
    end: int
    tiers: str
    segment_id: str | None


def coverage(unit: Unit) -> Outcome:
    """Return a row for each range of offsets of the unit's partition, from log start to log end."""
    return led(unit, ranges)


def ranges(leader: Leader) -> Iterator[RlmmCoverageRow]:
    """Yield the ranges of offsets of a partition, from log start to log end, with their tiers."""
    pieces = list(_pieces(leader))
    sizes = {key: each.metadata.segment_size_in_bytes for key, each in leader.remote.segments.items()}
    begun: set[str] = set()
    while pieces:
        same = next((n for n, each in enumerate(pieces) if each.tiers != pieces[0].tiers), len(pieces))
        merged, rest = pieces[:same], pieces[same:]
        ids = {each.segment_id for each in merged if each.segment_id is not None}
        first, end = merged[0].first, merged[-1].end
        local = [each for each in leader.log.segments if first <= each.base_offset < end]
        yield RlmmCoverageRow(
            where(leader.partition),
            leader.topic_id,
            first,
            end - 1,
            merged[0].tiers,
            len(ids),
            local_bytes=sum(each.log_size for each in local),
            remote_bytes=sum(sizes[key] for key in ids - begun),
            safe_to_lose_bytes=sum(
                each.log_size for each in local if merged[0].tiers == "both" and _end(leader, each) <= end
            ),
        )
        begun |= ids
        pieces = rest


def _end(leader: Leader, segment: object) -> int:
    """Return the offset after the last of a local segment."""
    segments = leader.log.segments
    place = next(number for number, each in enumerate(segments) if each is segment)
    return segments[place + 1].base_offset if place + 1 < len(segments) else leader.log.log_end_offset


def _pieces(leader: Leader) -> Iterator[_Piece]:
    begin, end = leader.log_start_offset, leader.log.log_end_offset
    places = {begin, end, leader.local_start, *(entry.start_offset for entry in leader.epochs)}
    for segment in leader.remote.segments.values():
        for epoch, start in segment.epochs.items():
            places |= {start, segment.end_of_epoch(epoch) + 1}
    for first, after in pairwise(sorted(place for place in places if begin <= place <= end)):
        remote = serving(leader.remote, leader.epochs, first).segment
        segment_id = None if remote is None else remote.metadata.segment_id
        yield _Piece(first, after, TIERS[first >= leader.local_start, remote is not None], segment_id)
