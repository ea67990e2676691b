"""Each replica of a partition as a leader: what the others would truncate, and what would be lost.

The logs are those that brokers hold after a start. A candidate leads in a new epoch, which begins at its log
end; each other replica meets it as a follower does, and its log is truncated as a broker would.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from formats.batch import MAX_INT
from kcli.kafka.replication.follower import Meeting, Side, below_start, leading, meet
from kcli.kafka.replication.truncation import Removed, truncate
from kcli.kafka.storage.loaded_log import LoadedLog


class Loss(NamedTuple):
    """What a follower of a candidate loses; numbers are indexes of the replicas.

    `meeting` and `removed` are None where the follower truncates to its high watermark, and that is unknown.
    `committed`: those that are known to be committed; None where no high watermark says, or records cannot be
    counted. `below_start`: offsets below the candidate's log start, which the follower deletes as it fetches.
    """

    candidate: int
    follower: int
    meeting: Meeting | None
    removed: Removed | None
    committed: int | None
    below_start: int


class LoadedReplica(NamedTuple):
    """The log of a replica after a start, and its checkpointed high watermark; None where it is unknown."""

    log: LoadedLog
    high_watermark: int | None


def side_of(replica: LoadedReplica) -> Side:
    """Return what counts of a log where it meets another."""
    log, known = replica
    watermark = 0 if known is None else log.bounded(known)
    return Side(log.epochs, log.log_end_offset, log.log_start_offset, watermark, log.local_log_start_offset)


def losses(replicas: Sequence[LoadedReplica]) -> Iterator[Loss]:
    """Yield for each replica as the leader what each other one loses, in their order."""
    sides = list(map(side_of, replicas))
    epoch = min(max(side.last_epoch for side in sides) + 1, MAX_INT)
    pairs = [(one, other) for one in range(len(sides)) for other in range(len(sides)) if one != other]
    meetings = {(one, other): meet(leading(sides[one], epoch), sides[other]) for one, other in pairs}
    for (candidate, follower), meeting in meetings.items():
        log, watermark = replicas[follower]
        below = below_start(sides[candidate], sides[follower], meeting)
        if meeting.needs_high_watermark and watermark is None and log.log_end_offset > log.log_start_offset:
            yield Loss(candidate, follower, None, None, None, below)
            continue
        removed = _removed(log, meeting)
        if log.is_tiered and meeting.truncate_to < log.local_log_start_offset:
            removed = replace(removed, lost=None)  # what is in remote storage goes, too
        committed = _committed(follower, replicas, meetings)
        lost = removed.lost
        if lost and committed is None:
            lost = None
        elif lost and committed is not None and committed < log.log_end_offset:
            kept = committed if meeting.starts_anew else max(committed, meeting.truncate_to)
            above = _cut(log, kept).lost
            lost = None if above is None else lost - above
        yield Loss(candidate, follower, meeting, removed, lost, below)


def _committed(
    replica: int, replicas: Sequence[LoadedReplica], meetings: Mapping[tuple[int, int], Meeting]
) -> int | None:
    """Return the offset below which the records of a replica are known to be committed; None for unknown.

    By its own high watermark, or by that of another one as far as their logs agree.
    """
    watermarks = [None if known is None else log.bounded(known) for log, known in replicas]
    found = [] if watermarks[replica] is None else [watermarks[replica] or 0]
    for (leader, follower), meeting in meetings.items():
        known = watermarks[leader]
        if follower == replica and known is not None and not meeting.starts_anew:
            found.append(min(known, meeting.truncate_to))
    return max(found, default=None)


def _removed(log: LoadedLog, meeting: Meeting) -> Removed:
    return _cut(log, -1 if meeting.starts_anew else meeting.truncate_to)


def _cut(log: LoadedLog, offset: int) -> Removed:
    """Return what a truncation removes; of the whole log for an offset below it."""
    if offset < 0:
        offset = max(log.segments[0].base_offset - 1, 0)
    return truncate(log, offset, None).removed
