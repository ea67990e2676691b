"""The leader epochs of two replicas held against each other."""

from collections.abc import Sequence
from typing import NamedTuple

from formats.magic import record_count
from kcli.kafka.storage.leader_epochs import EpochCache, epoch_for_offset
from kcli.kafka.storage.log_segment import BrokerError, LoadedSegment, file_batches, header


class EpochDivergence(NamedTuple):
    """How one epoch history relates to another.

    `offset` is the first that both have in different epochs; None where one is the beginning of the other.
    `last_common_epoch` is that of the last offset before it that both have; None where they share none.
    """

    offset: int | None
    last_common_epoch: int | None
    first: int
    end: int


def find_divergence(one: EpochCache, one_end: int, other: EpochCache, other_end: int) -> EpochDivergence:
    """Return where two histories part; offsets below the first epoch of either are not compared.

    `first` and `end` (exclusive) bound what both have; of two without a common offset `end` is `first`. A
    history without epochs does not part from any.
    """
    if not one or not other:
        return EpochDivergence(None, None, 0, min(one_end, other_end))
    first = max(one[0].start_offset, other[0].start_offset)
    end = max(min(one_end, other_end), first)
    bounds = sorted({first, *(entry.start_offset for entry in (*one, *other))})
    for offset in bounds:
        if first <= offset < end and _epoch(one, offset) != _epoch(other, offset):
            common = _epoch(one, offset - 1) if offset > first else None
            return EpochDivergence(offset, common, first, end)
    return EpochDivergence(None, _epoch(one, end - 1) if end > first else None, first, end)


def _epoch(entries: EpochCache, offset: int) -> int | None:
    entry = epoch_for_offset(entries, offset)
    return None if entry is None else entry.epoch


def records_from(segments: Sequence[LoadedSegment], offset: int) -> int | None:
    """Return how many records lie at or past an offset, by the headers of batches; None where they hide it.

    Of a batch around the offset as many count as there are offsets from there on, at most all.
    """
    count = 0
    bases = [segment.base_offset for segment in segments[1:]]
    for segment, end in zip(segments, [*bases, None], strict=True):
        if segment.log_path is None or (end is not None and end <= offset):
            continue
        try:
            with segment.log() as log:
                for place in file_batches(log, 0, segment.log_size):
                    batch = header(log, place)
                    if batch.last_offset < offset:
                        continue
                    records = record_count(batch)
                    if records is None:
                        return None
                    count += min(records, batch.last_offset - offset + 1)
        except BrokerError:
            return None
    return count
