"""Batches in a row as columns: what every judge of `check` looks at. Then their leader epochs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formats.batch import CONTROL_MASK, LOG_OVERHEAD, NO_PARTITION_LEADER_EPOCH, TRANSACTIONAL_MASK
from formats.bulk import Fields
from formats.magic import is_legacy
from kcli.kafka.integrity.log_scan import NO_MARKER
from kcli.kafka.storage.leader_epochs import EpochCache, epoch_for_offset
from kcli.logdir.bulk import Window

PLAIN, TRANSACTIONAL, ABORT, COMMIT, CONTROL = range(5)
"""Kinds of batches. CONTROL: of another type than an end marker, or emptied by cleaning."""

Ints = NDArray[np.int64]


class Batches(NamedTuple):
    """Good batches of a log, one after the other: all of these have the right checksum.

    `base`, `last`: inclusive; `timestamp`: the largest, in ms. `bad`: where those of a wrong checksum begin.
    """

    positions: Ints
    sizes: Ints
    fields: Fields
    base: Ints
    last: Ints
    timestamp: Ints
    kinds: NDArray[np.int8]
    bad: Ints


def good_batches(window: Window, marker_types: NDArray[np.int8] | None) -> Batches:
    """Return the good batches of a window, whose bytes are not needed; None: no markers were looked for."""
    fields, positions, kinds = window.fields, window.positions, _kinds(window.fields, marker_types)
    bad = positions[:0]
    if window.valid is not None and not window.valid.all():
        good = window.valid
        bad = positions[~good]
        fields, positions, kinds = fields[good], positions[good], kinds[good]
    base = fields["base_offset"].astype(np.int64)
    return Batches(
        positions,
        fields["batch_length"].astype(np.int64) + LOG_OVERHEAD,
        fields,
        base,
        base + fields["last_offset_delta"],
        fields["max_timestamp"].astype(np.int64),
        kinds,
        bad,
    )


def _kinds(fields: Fields, ends: NDArray[np.int8] | None) -> NDArray[np.int8]:
    attributes = fields["attributes"]
    kinds = np.full(len(attributes), PLAIN, np.int8)
    if (attributes & (TRANSACTIONAL_MASK | CONTROL_MASK)).any():
        is_new = ~is_legacy(fields["magic"])
        kinds[is_new & (attributes & TRANSACTIONAL_MASK != 0)] = TRANSACTIONAL
        kinds[is_new & (attributes & CONTROL_MASK != 0)] = CONTROL
        if ends is not None:
            kinds[ends != NO_MARKER] = np.where(ends[ends != NO_MARKER] == 0, ABORT, COMMIT)
    return kinds


# Offsets that no batch has


class Hole(NamedTuple):
    """Offsets, `end` exclusive, that no batch has; the batch after them is at a byte of the segment."""

    first: int
    end: int
    position: int

    def describe(self, what: str | None = None) -> str:
        """Return where the offsets are missing, and how many or `what` they are."""
        where = f"the batch before ends with offset {self.first - 1}"
        if not self.position:
            where = f"the segment of offset {self.first} begins with {self.end}"
        return f"{where}: {what or f'{self.end - self.first} offsets are missing'}"


def find_holes(before: int, base: Ints, last: Ints, positions: Ints, is_old: NDArray[np.bool_]) -> list[Hole]:
    """Return the holes before batches of a segment, the first of which should begin at or below `before`."""
    if not len(base) or not (base[0] > before or (base[1:] > last[:-1] + 1).any()):
        return []
    follows = np.append(before, last[:-1] + 1)
    numbers = np.flatnonzero(~is_old & (base > follows))
    return list(map(Hole, follows[numbers].tolist(), base[numbers].tolist(), positions[numbers].tolist()))


# Leader epochs of batches, held against each other and against the leader-epoch-checkpoint

MOST_RUNS = 10_000
"""Of a segment; the rest is not looked at."""


class EpochRun(NamedTuple):
    """Batches in a row of one leader epoch: base offsets of the first and the last, position of the first."""

    epoch: int
    first: int
    last: int
    position: int


class EpochJudge:
    """Finds the runs of leader epochs in a segment."""

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []

    def add_batches(self, batches: Batches) -> None:
        """Take in some batches."""
        epochs = batches.fields["partition_leader_epoch"]
        if len(self.runs) > MOST_RUNS or int(epochs[0]) == NO_PARTITION_LEADER_EPOCH == int(epochs.max()):
            return
        changes = np.flatnonzero(epochs[1:] != epochs[:-1]).tolist()
        ends = [*changes, len(epochs) - 1]
        for start, end in zip([0, *(change + 1 for change in changes)], ends, strict=True):
            epoch, last = int(epochs[start]), int(batches.base[end])
            if epoch == NO_PARTITION_LEADER_EPOCH:
                continue
            if self.runs and self.runs[-1].epoch == epoch:
                self.runs[-1] = self.runs[-1]._replace(last=last)
            else:
                run = EpochRun(epoch, int(batches.base[start]), last, int(batches.positions[start]))
                self.runs.append(run)


def misfits(
    runs: Sequence[EpochRun], before: int, cache: EpochCache, *, is_clean: bool, log_start: int
) -> Iterator[tuple[str, EpochRun, str]]:
    """Yield runs whose epoch is below the one before, or is not that of the checkpoint: code, run and words.

    `before`: the epoch of the batch before. Not said where recovery adds the newest epochs, below the log
    start, nor where the checkpoint's first epoch begins later than its batches.
    """
    newest = cache[-1].epoch if cache else NO_PARTITION_LEADER_EPOCH
    for run in runs:
        if run.epoch < before:
            yield "EPOCH-008", run, f"offset {run.first}: leader epoch {run.epoch} after {before}"
        before = run.epoch
        if run.epoch > newest and not is_clean:
            continue
        for offset in (max(run.first, log_start), run.last):
            if offset < log_start or offset > run.last:
                continue
            entry = epoch_for_offset(cache, offset)
            if entry is None:
                if not cache or run.epoch < cache[0].epoch:
                    yield "EPOCH-009", run, f"offset {offset}: epoch {run.epoch} is not in the checkpoint"
                    break
                if run.epoch == cache[0].epoch:  # it begins later there, which changes no end of an epoch
                    continue
                entry = cache[0]
            if entry.epoch != run.epoch:
                message = f"offset {offset}: the batch has epoch {run.epoch}, the checkpoint {entry.epoch}"
                yield "EPOCH-007", run, message
                break
