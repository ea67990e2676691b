"""A follower meets a leader: what it asks, what the leader answers, where it truncates to.

Values in, values out. The truth is `LeaderEpochFileCache.endOffsetFor` for the answer,
`AbstractFetcherThread.getOffsetTruncationState` for what is made of it, `Partition.readRecords` for the
answer to a fetch and `fetchOffsetAndTruncate` for an offset out of range.
"""

from typing import NamedTuple

from formats.checkpoint import EpochEntry
from kcli.analysis.epochs import (
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EpochCache,
    end_offset_for,
    truncate_from_end,
)

CONVERGED, STUCK = "converged", "stuck"


class Side(NamedTuple):
    """What counts of a replica's log; `high_watermark` is 0 where it is not known."""

    epochs: EpochCache
    log_end_offset: int
    log_start_offset: int = 0
    high_watermark: int = 0

    @property
    def last_epoch(self) -> int:
        """The newest leader epoch; -1 without one."""
        return self.epochs[-1].epoch if self.epochs else UNDEFINED_EPOCH

    def cut(self, offset: int) -> "Side":
        """Return the same after a truncation."""
        return self._replace(
            epochs=truncate_from_end(self.epochs, offset),
            log_end_offset=min(self.log_end_offset, offset),
            log_start_offset=min(self.log_start_offset, offset),
            high_watermark=min(self.high_watermark, offset),
        )


class Round(NamedTuple):
    """One exchange: the epoch that the follower names, epoch and end of the answer, where it truncates to."""

    asked: int
    answer: EpochEntry
    truncate_to: int


class Meeting(NamedTuple):
    """What becomes of a follower; `truncate_to` is its log end before where nothing is cut.

    `starts_anew`: its whole log goes, and it begins at the leader's log start.
    """

    truncate_to: int
    starts_anew: bool
    outcome: str
    rounds: tuple[Round, ...]


def answer(leader: Side, asked: int, *, names_epoch: bool = True) -> EpochEntry:
    """Return epoch and end offset, as OffsetForLeaderEpoch answers; its version 0 names no epoch."""
    found = end_offset_for(leader.epochs, asked, leader.log_end_offset)
    return EpochEntry(found.epoch if names_epoch else UNDEFINED_EPOCH, found.end_offset)


def truncation_offset(answered: EpochEntry, follower: Side, initial: int) -> tuple[int, bool]:
    """Return where a follower truncates to after an answer, and whether it need not ask again.

    `initial` is where it stands if the leader knows no end.
    """
    end = follower.log_end_offset
    if answered.start_offset == UNDEFINED_EPOCH_OFFSET:
        return min(initial, end), True
    if answered.epoch == UNDEFINED_EPOCH:
        return min(answered.start_offset, end), True
    own = end_offset_for(follower.epochs, answered.epoch, end)
    if own.end_offset == UNDEFINED_EPOCH_OFFSET:
        return min(answered.start_offset, end), True
    if own.epoch != answered.epoch:
        return min(own.end_offset, end), False
    return min(own.end_offset, answered.start_offset, end), True


def diverging(leader: Side, follower: Side) -> EpochEntry | None:
    """Return the diverging epoch that the answer to a fetch from the follower's log end names.

    None where the logs agree so far, and where the follower knows no epoch.
    """
    if not follower.epochs:
        return None
    found = answer(leader, follower.last_epoch)
    agrees = found.epoch >= follower.last_epoch and found.start_offset >= follower.log_end_offset
    return None if agrees else found


def meet(leader: Side, follower: Side) -> Meeting:
    """Return what becomes of a follower that begins to fetch from a leader, as brokers from 2.7 on do it."""
    rounds: list[Round] = []
    if not follower.epochs:
        follower = follower.cut(min(follower.high_watermark, follower.log_end_offset))
    while True:
        at = follower.log_end_offset
        found = diverging(leader, follower)
        is_undefined = found is not None and found.start_offset == UNDEFINED_EPOCH_OFFSET
        if is_undefined or at < leader.log_start_offset or (found is None and at > leader.log_end_offset):
            if leader.log_end_offset < at:
                follower = follower.cut(leader.log_end_offset)
                continue
            start = max(leader.log_start_offset, at)
            outcome = CONVERGED if start > at else STUCK
            return Meeting(start, starts_anew=start > at, outcome=outcome, rounds=tuple(rounds))
        if found is None:
            return Meeting(at, starts_anew=False, outcome=CONVERGED, rounds=tuple(rounds))
        offset, _ = truncation_offset(found, follower, at)
        rounds.append(Round(follower.last_epoch, found, offset))
        follower = follower.cut(offset)
