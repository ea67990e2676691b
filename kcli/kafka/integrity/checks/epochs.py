"""The leader epochs of batches, held against each other and against the leader-epoch-checkpoint."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from formats.batch import NO_PARTITION_LEADER_EPOCH
from kcli.kafka.integrity.checks.batches import Batches
from kcli.kafka.storage.leader_epochs import EpochCache, epoch_for_offset

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

    `before`: the epoch of the batch before the first. After an unclean stop, or beside a running broker, the
    newest epochs may not be in the checkpoint: recovery adds them. Below the log start it says nothing, nor
    where its first epoch begins later than the batches of this epoch.
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
                words = f"offset {offset}: the batch has epoch {run.epoch}, the checkpoint {entry.epoch}"
                yield "EPOCH-007", run, words
                break
