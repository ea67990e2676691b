"""Each replica of a partition as a leader: what the others would truncate, and what would be lost.

The logs are those that brokers hold after a start. A candidate leads in a new epoch, which begins at its log
end; each other replica meets it as a follower does, and its log is truncated as a broker would.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from formats.batch import MAX_INT
from kcli.kafka.replication.follower import (
    FetchRounds,
    LoadedReplica,
    as_leader,
    below_start,
    follow_leader,
    replica_epochs,
)
from kcli.kafka.replication.truncation import Removed, truncate
from kcli.kafka.storage.loaded_log import LoadedLog


class Loss(NamedTuple):
    """What a follower of a candidate loses; numbers are indexes of the replicas.

    `fetch_rounds` and `removed` are None where the follower truncates to its unknown high watermark.
    `committed`: those that are known to be committed; None where no high watermark says, or records cannot be
    counted. `below_start`: offsets below the candidate's log start, which the follower deletes as it fetches.
    """

    candidate: int
    follower: int
    fetch_rounds: FetchRounds | None
    removed: Removed | None
    committed: int | None
    below_start: int


def losses(replicas: Sequence[LoadedReplica]) -> Iterator[Loss]:
    """Yield for each replica as the leader what each other one loses, in their order."""
    sides = list(map(replica_epochs, replicas))
    epoch = min(max(side.last_epoch for side in sides) + 1, MAX_INT)
    pairs = [(one, other) for one in range(len(sides)) for other in range(len(sides)) if one != other]
    fetches = {
        (one, other): follow_leader(as_leader(sides[one], epoch), sides[other]) for one, other in pairs
    }
    for (candidate, follower), fetch_rounds in fetches.items():
        log, watermark = replicas[follower]
        below = below_start(sides[candidate], sides[follower], fetch_rounds)
        if (
            fetch_rounds.needs_high_watermark
            and watermark is None
            and log.log_end_offset > log.log_start_offset
        ):
            yield Loss(candidate, follower, None, None, None, below)
            continue
        removed = _removed(log, fetch_rounds)
        if log.is_tiered and fetch_rounds.truncate_to < log.local_log_start_offset:
            removed = replace(removed, lost=None)  # what is in remote storage goes, too
        committed = _committed(follower, replicas, fetches)
        lost = removed.lost
        if lost and committed is None:
            lost = None
        elif lost and committed is not None and committed < log.log_end_offset:
            kept = committed if fetch_rounds.starts_over else max(committed, fetch_rounds.truncate_to)
            above = _cut(log, kept).lost
            lost = None if above is None else lost - above
        yield Loss(candidate, follower, fetch_rounds, removed, lost, below)


def _committed(
    replica: int, replicas: Sequence[LoadedReplica], fetches: Mapping[tuple[int, int], FetchRounds]
) -> int | None:
    """Return the offset below which the records of a replica are known to be committed; None for unknown.

    By its own high watermark, or by that of another one as far as their logs agree.
    """
    watermarks = [None if known is None else log.bounded(known) for log, known in replicas]
    found = [] if watermarks[replica] is None else [watermarks[replica] or 0]
    for (leader, follower), fetch_rounds in fetches.items():
        known = watermarks[leader]
        if follower == replica and known is not None and not fetch_rounds.starts_over:
            found.append(min(known, fetch_rounds.truncate_to))
    return max(found, default=None)


def _removed(log: LoadedLog, fetch_rounds: FetchRounds) -> Removed:
    return _cut(log, -1 if fetch_rounds.starts_over else fetch_rounds.truncate_to)


def _cut(log: LoadedLog, offset: int) -> Removed:
    """Return what a truncation removes; of the whole log for an offset below it."""
    if offset < 0:
        offset = max(log.segments[0].base_offset - 1, 0)
    return truncate(log, offset, None).removed
