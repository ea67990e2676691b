"""The leader epoch cache of a partition, and the answers that a broker gives from it.

A cache is a tuple of entries, ascending in epoch and in start offset: each says that records from its start
offset on were written in its epoch, up to the next entry. The truth is `LeaderEpochFileCache`; how a starting
broker fills it is `LogLoader.load` (KIP-101, KIP-279).
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from formats.batch import MAX_INT
from formats.checkpoint import EpochEntry
from formats.errors import CorruptError

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1

EpochCache: TypeAlias = tuple[EpochEntry, ...]

UNDEFINED_REQUEST = "undefined-request"
LATEST_EPOCH = "latest"
ABOVE_ALL = "above-all"
BELOW_ALL = "below-all"
BETWEEN_EPOCHS = "between"
NO_ANSWER = "error"


class EndOffset(NamedTuple):
    """The answer to OffsetForLeaderEpoch: an epoch, its exclusive end (-1, -1 undefined), and the rule."""

    epoch: int
    end_offset: int
    rule: str


NO_END_OFFSET = EndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, NO_ANSWER)
"""What goes with an error."""


class LoadedCache(NamedTuple):
    """The cache of a starting broker, and what loading changed.

    `past_end`: entries at or past the log end; `below_start`: dropped, or moved up to the log start.
    """

    entries: EpochCache
    past_end: EpochCache
    below_start: EpochCache


def _assign(entries: list[EpochEntry], epoch: int, start_offset: int) -> None:
    if epoch < 0 or start_offset < 0:
        raise CorruptError(
            0, "leader epoch entry", "an epoch and a start offset of 0 or more", f"{epoch} {start_offset}"
        )
    if entries and entries[-1].epoch == epoch and start_offset >= entries[-1].start_offset:
        return
    while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
        entries.pop()
    entries.append(EpochEntry(epoch, start_offset))


def assign(entries: EpochCache, epoch: int, start_offset: int) -> EpochCache:
    """Return the cache after `epoch` was assigned from `start_offset` on; CorruptError if either is negative.

    Entries of a newer or equal epoch, or start offset, are erased from the end; the newest epoch again
    changes nothing.
    """
    changed = list(entries)
    _assign(changed, epoch, start_offset)
    return tuple(changed)


def replay(lines: Iterable[EpochEntry]) -> EpochCache:
    """Return the cache that lines of a leader-epoch-checkpoint give, in order; CorruptError if negative."""
    entries: list[EpochEntry] = []
    for epoch, start_offset in lines:
        _assign(entries, epoch, start_offset)
    return tuple(entries)


def truncate_from_end(entries: EpochCache, end_offset: int) -> EpochCache:
    """Return the cache without the entries that start at or past `end_offset`, if it is not negative."""
    if end_offset < 0:
        return entries
    keep = len(entries)
    while keep and entries[keep - 1].start_offset >= end_offset:
        keep -= 1
    return entries[:keep]


def truncate_from_start(entries: EpochCache, start_offset: int) -> EpochCache:
    """Return the cache from an offset on: the newest entry at or below moves there, older ones go."""
    count = 0
    while count < len(entries) and entries[count].start_offset <= start_offset:
        count += 1
    if not count:
        return entries
    return (EpochEntry(entries[count - 1].epoch, start_offset), *entries[count:])


def load(
    replayed: EpochCache, log_end_offset: int, log_start_offset: int, *, running: bool = False
) -> LoadedCache:
    """Return the cache of a starting broker: cut at the log end, then at the checkpointed log start, or 0.

    A `running` broker still holds an epoch that starts at the log end: it leads, and has no record of it.
    """
    ended = truncate_from_end(replayed, log_end_offset + running)
    entries = truncate_from_start(ended, log_start_offset)
    below = tuple(entry for entry in ended if entry.start_offset < log_start_offset)
    return LoadedCache(entries, replayed[len(ended) :], below)


def recover(entries: EpochCache, batches: Iterable[tuple[int, int]]) -> EpochCache:
    """Return the cache after a segment's (epoch, base offset) were recovered: newer epochs are assigned."""
    recovered = list(entries)
    for epoch, base_offset in batches:
        if epoch >= 0 and (not recovered or epoch > recovered[-1].epoch):
            _assign(recovered, epoch, base_offset)
    return tuple(recovered)


def end_offset_for(entries: EpochCache, requested: int, log_end_offset: int) -> EndOffset:
    """Return where the requested epoch ends, as `LeaderEpochFileCache.endOffsetFor`, with the rule's name.

    The newest ends at the log end, not the high watermark; one between two is the older, one before all
    itself.
    """
    if requested == UNDEFINED_EPOCH:
        return EndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, UNDEFINED_REQUEST)
    if entries and requested == entries[-1].epoch:
        return EndOffset(requested, log_end_offset, LATEST_EPOCH)
    floor = UNDEFINED_EPOCH
    for entry in entries:
        if entry.epoch > requested:
            if floor == UNDEFINED_EPOCH:
                return EndOffset(requested, entry.start_offset, BELOW_ALL)
            return EndOffset(floor, entry.start_offset, BETWEEN_EPOCHS)
        floor = entry.epoch
    return EndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, ABOVE_ALL)


def epoch_for_offset(entries: EpochCache, offset: int) -> EpochEntry | None:
    """Return the entry that covers an offset, past the log end the newest; None before the first."""
    last = None
    for entry in entries:
        if entry.start_offset > offset:
            break
        last = entry
    return last


def requested_all(entries: EpochCache) -> tuple[int, ...]:
    """Return the epochs worth asking for, ascending: -1, all cached, gaps, one below and one above; ints."""
    epochs = {UNDEFINED_EPOCH, *(entry.epoch for entry in entries), *(entry.epoch + 1 for entry in entries)}
    epochs.add(entries[0].epoch - 1 if entries else 0)
    return tuple(sorted(epoch for epoch in epochs if epoch <= MAX_INT))


def epochs_of_batches(batches: Iterable[tuple[int, int]]) -> EpochCache:
    """Return the cache that batches tell: (leader epoch or -1, base offset) pairs in file order."""
    entries: list[EpochEntry] = []
    for epoch, base_offset in batches:
        if epoch >= 0:
            _assign(entries, epoch, base_offset)
    return tuple(entries)


def ends(entries: EpochCache, log_end_offset: int) -> list[int]:
    """Return the exclusive end of each entry: the next one's start, the log end offset for the last."""
    return [entry.start_offset for entry in entries[1:]] + [log_end_offset] * bool(entries)
