"""A follower's way into a tiered log: from its fetch to the offset from which it goes on.

The truth is `AbstractFetcherThread.handleOffsetsMovedToTieredStorage` and `TierStateMachine` for the
follower, `ReplicaManager.handleOffsetOutOfRangeError` for the leader (KIP-405).
"""

from typing import NamedTuple

from formats.checkpoint import EpochEntry
from kcli.analysis.epochs import UNDEFINED_EPOCH, epoch_for_offset
from kcli.analysis.remote_cache import CachedSegment, RemoteCache
from kcli.analysis.replication import CONVERGED, Meeting, Side, answer, meet

LOCAL, TIERED, FAILED, OUT_OF_RANGE = "local", "tiered", "failed", "out-of-range"
"""It fetches from the leader's local log; after state from remote storage; its lookup fails; it is reset."""


class Follow(NamedTuple):
    """What a follower does; None where it does not come to that.

    `meeting` holds the rounds before the fetch at `fetch_offset`. `earliest_local` is the leader's epoch (-1
    for none) and offset; `asked_epoch` the request of OffsetForLeaderEpoch and `answered` its answer;
    `target_epoch` the epoch in which the offset before is looked up. `next_offset` is where the follower
    fetches next.
    """

    outcome: str
    meeting: Meeting
    fetch_offset: int
    last_fetched_epoch: int | None
    earliest_local: EpochEntry | None = None
    asked_epoch: int | None = None
    answered: EpochEntry | None = None
    target_epoch: int | None = None
    segment: CachedSegment | None = None
    next_offset: int | None = None


def follow(leader: Side, local_start: int, remote: RemoteCache, follower: Side) -> Follow:
    """Return a follower's way from its first fetch; `local_start`: the leader's earliest local offset."""
    meeting = meet(leader, follower)
    tiered = [
        one.fetch_offset
        for one in meeting.rounds
        if one.end_offset is None
        and one.fetch_offset is not None
        and one.last_fetched_epoch is not None
        and leader.log_start_offset <= one.fetch_offset < local_start
    ]
    at = tiered[0] if tiered else meeting.truncate_to
    own = follower.cut(at)
    epoch = own.last_epoch if own.epochs else None
    if not leader.log_start_offset <= at < local_start:
        outcome = LOCAL if meeting.outcome == CONVERGED else OUT_OF_RANGE
        return Follow(outcome, meeting, at, epoch, next_offset=meeting.truncate_to)
    found = epoch_for_offset(leader.epochs, local_start)
    earliest = EpochEntry(UNDEFINED_EPOCH if found is None else found.epoch, local_start)
    asked, answered, target = None, None, earliest.epoch
    if earliest.epoch != 0:
        asked = earliest.epoch - 1
        answered = answer(leader, asked)
        if answered.start_offset > local_start - 1:
            target = answered.epoch
    segment = remote.find(target, local_start - 1)
    after = None if segment is None else segment.metadata.end_offset + 1
    outcome = FAILED if segment is None else TIERED
    return Follow(outcome, meeting, at, epoch, earliest, asked, answered, target, segment, after)
