"""A follower's way into a tiered log: from its fetch to the offset from which it goes on.

The truth is `AbstractFetcherThread.handleOffsetsMovedToTieredStorage` and `TierStateMachine` for the
follower, `ReplicaManager.handleOffsetOutOfRangeError` for the leader (KIP-405).
"""

from typing import NamedTuple

from formats.checkpoint import EpochEntry
from kcli.kafka.remote.cache import CachedSegment, RemoteCache
from kcli.kafka.replication.follower import CONVERGED, OUT_OF_RANGE, TIERED, Meeting, Side, answer
from kcli.kafka.storage.epochs import UNDEFINED_EPOCH, epoch_for_offset

LOCAL, FAILED = "local", "failed"
"""It fetches from the leader's local log; its lookup in remote storage fails."""


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


def follow(leader: Side, remote: RemoteCache, meeting: Meeting, follower: Side) -> Follow:
    """Return how a follower goes on from the fetch with which a meeting ends."""
    at = meeting.truncate_to
    own = Side((), at, at) if meeting.starts_anew else follower.cut(at)
    epoch = own.last_epoch if own.epochs else None
    if meeting.outcome != TIERED:
        outcome = LOCAL if meeting.outcome == CONVERGED else OUT_OF_RANGE
        return Follow(outcome, meeting, at, epoch, next_offset=at)
    local_start = leader.local_start
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
