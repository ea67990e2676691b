"""A follower's fetches from a leader: what it asks, what the leader answers, where it truncates to.

Values in, values out. The truth is `AbstractFetcherThread` (`getOffsetTruncationState`,
`fetchOffsetAndTruncate`, `handleOffsetsMovedToTieredStorage`, the states Truncating and Fetching) and
`TierStateMachine` for the follower; `LeaderEpochFileCache.endOffsetFor`, `Partition.readRecords` and
`ReplicaManager.handleOffsetOutOfRangeError` for the leader (KIP-101, KIP-279, KIP-405, KIP-595).
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from formats.batch import MAX_INT, MAX_LONG
from formats.checkpoint import EpochEntry
from kcli.kafka.storage.leader_epochs import (
    BELOW_ALL,
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EpochCache,
    assign,
    end_offset_for,
    epoch_for_offset,
    replay,
    truncate_from_end,
)
from kcli.kafka.storage.loaded_log import LoadedLog

if TYPE_CHECKING:
    from kcli.kafka.remote.cache import CachedSegment, RemoteCache
    from kcli.kafka.remote.lineage import Leader

HIGH_WATERMARK_PROTOCOL: Final = "high-watermark"
EPOCH_V0: Final = "epoch-v0"
EPOCH_PROTOCOL: Final = "epoch"
FETCH: Final = "fetch"
PROTOCOLS = (HIGH_WATERMARK_PROTOCOL, EPOCH_V0, EPOCH_PROTOCOL, FETCH)
"""How followers truncate: before 0.11; by KIP-101; by KIP-279, from 2.0; while they fetch, from 2.7."""

CONVERGED, OUT_OF_RANGE, STUCK, TIERED = "converged", "out-of-range", "stuck", "tiered"
LOCAL, FAILED = "local", "failed"
"""It fetches from the leader's local log; its lookup in remote storage fails."""

UNDEFINED_END = "undefined-end"
UNNAMED_EPOCH = "unnamed-epoch"
UNKNOWN_EPOCH = "unknown-epoch"
COMMON_EPOCH = "common-epoch"
UNTRACKED_EPOCH = "untracked-epoch"
TO_HIGH_WATERMARK = "high-watermark"
LEADER_END = "leader-end"
LEADER_START = "leader-start"
SAME_FETCH = "same-fetch"
REMOTE_OFFSET = "remote-offset"


class ReplicaEpochs(NamedTuple):
    """What counts of a replica's log, 0 for unknown; `first_local_offset`: above the log start if tiered."""

    epochs: EpochCache
    log_end_offset: int
    log_start_offset: int = 0
    high_watermark: int = 0
    first_local_offset: int = 0

    @property
    def local_start(self) -> int:
        """The first offset on local disk."""
        return max(self.log_start_offset, self.first_local_offset)

    @property
    def last_epoch(self) -> int:
        """The newest leader epoch; -1 without one."""
        return self.epochs[-1].epoch if self.epochs else UNDEFINED_EPOCH

    def cut(self, offset: int) -> "ReplicaEpochs":
        """Return the same after a truncation."""
        end = min(self.log_end_offset, offset)
        return ReplicaEpochs(
            epochs=truncate_from_end(self.epochs, end),
            log_end_offset=end,
            log_start_offset=min(self.log_start_offset, end),
            high_watermark=min(self.high_watermark, end),
        )


def parse_replica_epochs(text: str, log_start_offset: int = 0) -> ReplicaEpochs:
    """Return the replica that is written as EPOCH:START,...@LOG-END; ValueError for one that cannot be."""
    parts = re.fullmatch(r"((?:\d+:\d+,)*\d+:\d+)?@(\d+)", text, re.ASCII)
    if parts is None:
        raise ValueError("expected EPOCH:START[,EPOCH:START...]@LOG-END, as 0:0,2:30@70")
    lines = [EpochEntry(*map(int, pair.split(":"))) for pair in (parts[1] or "").split(",") if pair]
    end = int(parts[2])
    if tuple(lines) != replay(lines):
        raise ValueError("expected epochs and start offsets that rise")
    if any(epoch > MAX_INT or start > end for epoch, start in lines) or end > MAX_LONG:
        raise ValueError("an epoch starts past the log end, or a number is too large")
    return ReplicaEpochs(tuple(lines), end, log_start_offset)


class LoadedReplica(NamedTuple):
    """The log of a replica after a start, and its checkpointed high watermark; None where it is unknown."""

    log: LoadedLog
    high_watermark: int | None


def replica_epochs(replica: LoadedReplica) -> ReplicaEpochs:
    """Return what counts of a log where it meets another."""
    log, checkpoint = replica
    watermark = 0 if checkpoint is None else log.bounded(checkpoint)
    local_start = log.local_log_start_offset
    return ReplicaEpochs(log.epochs, log.log_end_offset, log.log_start_offset, watermark, local_start)


def leader_epochs(leader: "Leader") -> ReplicaEpochs:
    """Return what counts of a tiered leader where a follower meets it."""
    log_end, watermark = leader.log.log_end_offset, leader.high_watermark or 0
    return ReplicaEpochs(leader.epochs, log_end, leader.log_start_offset, watermark, leader.local_start)


class TruncationState(NamedTuple):
    """Where a follower truncates to, whether it need not ask again, and the rule that says so."""

    offset: int
    completed: bool
    rule: str


class FetchAnswer(NamedTuple):
    """What a leader answers to a fetch: out of range, moved to tiered storage, a diverging epoch, records."""

    is_out_of_range: bool = False
    is_moved_to_tiered: bool = False
    diverging: EpochEntry | None = None


class Round(NamedTuple):
    """One exchange that ends in a truncation, or that would repeat for ever.

    A fetch carries `fetch_offset` and, from 2.7 on, `last_fetched_epoch`; OffsetForLeaderEpoch carries
    `requested_epoch`. `leader_epoch` and `end_offset` are the answer; None where an error is, or none was
    asked for. `truncate_to` is None where nothing is truncated.
    """

    fetch_offset: int | None
    last_fetched_epoch: int | None
    requested_epoch: int | None
    leader_epoch: int | None
    end_offset: int | None
    truncate_to: int | None
    completed: bool
    rule: str


class FetchRounds(NamedTuple):
    """What becomes of a follower; `truncate_to` is its log end before where nothing is cut.

    `starts_over`: its whole log goes, it begins at the leader's log start. `outcome`: `converged`;
    `out-of-range`: reset to an end of the leader's log; `stuck`: the same fetch for ever; `tiered`: the fetch
    at `truncate_to` is of remote storage. `differs_from`: the first offset kept that the leader has in
    another epoch; no fetch finds it.
    """

    truncate_to: int
    starts_over: bool
    outcome: str
    rounds: tuple[Round, ...]
    differs_from: int | None = None

    @property
    def needs_high_watermark(self) -> bool:
        """Whether the follower's high watermark decided: it is where Truncating begins."""
        return bool(self.rounds) and self.rounds[0].rule in {TO_HIGH_WATERMARK, UNDEFINED_END}


def below_start(
    leader: ReplicaEpochs, follower: ReplicaEpochs, fetch_rounds: FetchRounds | None = None
) -> int:
    """Return how many offsets of what a follower keeps lie below its leader's log start.

    Its fetches take that over and delete segments below it (`maybeIncrementLogStartOffset`). 0 where the
    whole log goes anyway; without rounds it keeps its log.
    """
    if fetch_rounds is not None and fetch_rounds.starts_over:
        return 0
    end = follower.log_end_offset
    new_end = end if fetch_rounds is None else min(fetch_rounds.truncate_to, end)
    return max(min(leader.log_start_offset, new_end) - follower.log_start_offset, 0)


def as_leader(side: ReplicaEpochs, epoch: int) -> ReplicaEpochs:
    """Return a replica as the leader of an epoch that it has written nothing in."""
    return side._replace(epochs=assign(side.epochs, epoch, side.log_end_offset))


def answer(leader: ReplicaEpochs, epoch: int, *, names_epoch: bool = True) -> EpochEntry:
    """Return epoch and end offset, as OffsetForLeaderEpoch answers.

    Version 0, alone in 0.11 to 1.1, names no epoch, and knows no end of one older than all of the leader's.
    """
    epoch_end = end_offset_for(leader.epochs, epoch, leader.log_end_offset)
    if names_epoch:
        return EpochEntry(epoch_end.epoch, epoch_end.end_offset)
    end_offset = UNDEFINED_EPOCH_OFFSET if epoch_end.rule == BELOW_ALL else epoch_end.end_offset
    return EpochEntry(UNDEFINED_EPOCH, end_offset)


def fetch(leader: ReplicaEpochs, offset: int, last_fetched_epoch: int | None) -> FetchAnswer:
    """Return what a leader answers to a fetch from an offset, as `Partition.readRecords`.

    An unknown `last_fetched_epoch`, or an offset below the log start, is out of range before divergence is
    tested; moved where remote storage has the offset (`ReplicaManager.handleOffsetOutOfRangeError`).
    """
    is_in_range = leader.local_start <= offset <= leader.log_end_offset
    if last_fetched_epoch is not None:
        epoch_answer = answer(leader, last_fetched_epoch)
        if epoch_answer.start_offset == UNDEFINED_EPOCH_OFFSET or offset < leader.log_start_offset:
            is_in_range = False
        elif epoch_answer.epoch < last_fetched_epoch or epoch_answer.start_offset < offset:
            return FetchAnswer(diverging=epoch_answer)
    is_moved = leader.log_start_offset <= offset < leader.local_start
    return FetchAnswer(is_out_of_range=not is_in_range and not is_moved, is_moved_to_tiered=is_moved)


def truncation_state(answered: EpochEntry, follower: ReplicaEpochs, initial: int) -> TruncationState:
    """Return where a follower truncates to after an answer, as `getOffsetTruncationState`.

    `initial`: its fetch offset, if the leader knows no end. An unknown epoch cuts to the end of an older one.
    """
    end = follower.log_end_offset
    if answered.start_offset == UNDEFINED_EPOCH_OFFSET:
        return TruncationState(initial, completed=True, rule=UNDEFINED_END)
    if answered.epoch == UNDEFINED_EPOCH:
        return TruncationState(min(answered.start_offset, end), completed=True, rule=UNNAMED_EPOCH)
    own = end_offset_for(follower.epochs, answered.epoch, end)
    if own.end_offset == UNDEFINED_EPOCH_OFFSET:
        return TruncationState(min(answered.start_offset, end), completed=True, rule=UNTRACKED_EPOCH)
    if own.epoch != answered.epoch:
        return TruncationState(min(own.end_offset, end), completed=False, rule=UNKNOWN_EPOCH)
    offset = min(own.end_offset, answered.start_offset, end)
    return TruncationState(offset, completed=True, rule=COMMON_EPOCH)


def follow_leader(leader: ReplicaEpochs, follower: ReplicaEpochs, protocol: str = FETCH) -> FetchRounds:
    """Return what becomes of a follower that begins to fetch: rounds end, as each removes an epoch or log."""
    rounds: list[Round] = []
    if protocol != FETCH or not follower.epochs:
        for fetch_round in truncating(leader, follower, protocol):
            rounds.append(fetch_round)
            assert fetch_round.truncate_to is not None
            follower = follower.cut(fetch_round.truncate_to)
    outcome, starts_over = CONVERGED, False
    while True:
        offset = follower.log_end_offset
        epoch = follower.last_epoch if protocol == FETCH and follower.epochs else None
        answered = fetch(leader, offset, epoch)
        if answered.diverging is not None:
            state = truncation_state(answered.diverging, follower, offset)
            rounds.append(_round((offset, epoch, None), answered.diverging, state))
        elif not answered.is_out_of_range:
            if answered.is_moved_to_tiered:
                outcome = TIERED
                moved = Round(offset, epoch, None, None, None, None, completed=False, rule=REMOTE_OFFSET)
                rounds.append(moved)
            return FetchRounds(offset, starts_over=starts_over, outcome=outcome, rounds=tuple(rounds))
        else:
            reset = out_of_range_state(leader, offset)
            if reset is None:
                stuck = Round(offset, epoch, None, None, None, None, completed=False, rule=SAME_FETCH)
                return FetchRounds(offset, starts_over=False, outcome=STUCK, rounds=(*rounds, stuck))
            state, outcome = reset, OUT_OF_RANGE
            rounds.append(_round((offset, epoch, None), None, state))
            if state.rule == LEADER_START:
                starts_over, follower = True, ReplicaEpochs((), state.offset, state.offset, state.offset)
        follower = follower.cut(state.offset)


def out_of_range_state(leader: ReplicaEpochs, offset: int) -> TruncationState | None:
    """Return what a follower whose log ends at `offset` makes of OFFSET_OUT_OF_RANGE.

    `fetchOffsetAndTruncate`: to a shorter leader's end, or anew at its later start; None: the same fetch.
    """
    if leader.log_end_offset < offset:
        return TruncationState(leader.log_end_offset, completed=True, rule=LEADER_END)
    if leader.log_start_offset > offset:
        return TruncationState(leader.log_start_offset, completed=True, rule=LEADER_START)
    return None


def truncating(leader: ReplicaEpochs, follower: ReplicaEpochs, protocol: str) -> Iterator[Round]:
    """Yield the rounds in the state Truncating, from the high watermark on, each with its `truncate_to`."""
    initial = min(follower.high_watermark, follower.log_end_offset)
    while follower.epochs and protocol in {EPOCH_PROTOCOL, EPOCH_V0}:
        epoch = follower.last_epoch
        answered = answer(leader, epoch, names_epoch=protocol == EPOCH_PROTOCOL)
        state = truncation_state(answered, follower, initial)
        yield _round((None, None, epoch), answered, state)
        if state.completed:
            return
        initial = state.offset
        follower = follower.cut(initial)
    last = TruncationState(initial, completed=True, rule=TO_HIGH_WATERMARK)
    yield _round((initial, None, None), None, last)


def _round(
    request: tuple[int | None, int | None, int | None], answered: EpochEntry | None, state: TruncationState
) -> Round:
    epoch, end = answered or (None, None)
    return Round(*request, epoch, end, state.offset, state.completed, state.rule)


class TieredFetch(NamedTuple):
    """What a follower does; None where it does not come to that.

    `fetch_rounds`: those before the fetch at `fetch_offset`. `earliest_local`: the leader's epoch (-1: none)
    and offset; `asked_epoch`, `answered`: of OffsetForLeaderEpoch; `target_epoch`: in which the offset before
    is looked up. `next_offset`: where it fetches next.
    """

    outcome: str
    fetch_rounds: FetchRounds
    fetch_offset: int
    last_fetched_epoch: int | None
    earliest_local: EpochEntry | None = None
    asked_epoch: int | None = None
    answered: EpochEntry | None = None
    target_epoch: int | None = None
    segment: "CachedSegment | None" = None
    next_offset: int | None = None


def fetch_from_remote(
    leader: ReplicaEpochs, remote: "RemoteCache", fetch_rounds: FetchRounds, follower: ReplicaEpochs
) -> TieredFetch:
    """Return how a follower goes on from the fetch with which the rounds end."""
    end = fetch_rounds.truncate_to
    own = ReplicaEpochs((), end, end) if fetch_rounds.starts_over else follower.cut(end)
    epoch = own.last_epoch if own.epochs else None
    if fetch_rounds.outcome != TIERED:
        outcome = LOCAL if fetch_rounds.outcome == CONVERGED else OUT_OF_RANGE
        return TieredFetch(outcome, fetch_rounds, end, epoch, next_offset=end)
    local_start = leader.local_start
    before = epoch_for_offset(leader.epochs, local_start)
    earliest = EpochEntry(UNDEFINED_EPOCH if before is None else before.epoch, local_start)
    prior, answered, target = None, None, earliest.epoch
    if earliest.epoch != 0:
        prior = earliest.epoch - 1
        answered = answer(leader, prior)
        if answered.start_offset > local_start - 1:
            target = answered.epoch
    segment = remote.find(target, local_start - 1)
    after = None if segment is None else segment.metadata.end_offset + 1
    outcome = FAILED if segment is None else TIERED
    return TieredFetch(outcome, fetch_rounds, end, epoch, earliest, prior, answered, target, segment, after)


# The epochs of two replicas


class EpochDivergence(NamedTuple):
    """How one epoch history relates to another.

    `offset`: the first of both in different epochs, `last_common_epoch`: of the one before; None for none.
    """

    offset: int | None
    last_common_epoch: int | None
    first: int
    end: int


def find_divergence(
    epochs: EpochCache, log_end: int, other_epochs: EpochCache, other_end: int
) -> EpochDivergence:
    """Return where two histories part; offsets below the first epoch of either are not compared.

    `first` and `end` (exclusive) bound what both have, if anything. One without epochs parts from none.
    """
    if not epochs or not other_epochs:
        return EpochDivergence(None, None, 0, min(log_end, other_end))
    first = max(epochs[0].start_offset, other_epochs[0].start_offset)
    end = max(min(log_end, other_end), first)
    bounds = sorted({first, *(entry.start_offset for entry in (*epochs, *other_epochs))})
    for offset in bounds:
        if first <= offset < end and _epoch(epochs, offset) != _epoch(other_epochs, offset):
            common = _epoch(epochs, offset - 1) if offset > first else None
            return EpochDivergence(offset, common, first, end)
    return EpochDivergence(None, _epoch(epochs, end - 1) if end > first else None, first, end)


def _epoch(entries: EpochCache, offset: int) -> int | None:
    entry = epoch_for_offset(entries, offset)
    return None if entry is None else entry.epoch
