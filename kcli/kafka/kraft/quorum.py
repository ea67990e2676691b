"""Which controller may lead a KRaft quorum next, by how far the metadata logs of the voters are.

As `KafkaRaftClient.handleVoteRequest`: a voter votes for a candidate whose log ends in a newer epoch than its
own, or in the same epoch at its own end or past it. A candidate needs the votes of a majority of all voters.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class LogEnd(NamedTuple):
    """Where a metadata log ends: the epoch of its last record, and the offset after it; by this order."""

    last_epoch: int
    log_end_offset: int


class Ballot(NamedTuple):
    """Votes that a candidate gets for sure, and whether they suffice; None: voters whose logs lack decide."""

    votes: int
    is_electable: bool | None


def majority(voters: Collection[int]) -> int:
    """Return how many votes it takes."""
    return len(voters) // 2 + 1


def ballot(candidate: int, ends: Mapping[int, LogEnd], voters: Collection[int], gone: int | None) -> Ballot:
    """Return what a candidate whose log is in `ends` can reckon with, the leader that is `gone` apart."""
    live = [voter for voter in voters if voter != gone]
    own = ends[candidate]
    votes = sum(voter in ends and ends[voter] <= own for voter in live)
    if candidate not in live:
        return Ballot(votes, is_electable=False)
    unknown = sum(voter not in ends for voter in live)
    needed = majority(voters)
    if votes >= needed:
        return Ballot(votes, is_electable=True)
    return Ballot(votes, is_electable=False if votes + unknown < needed else None)
