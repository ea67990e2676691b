"""The leader epochs of a salvaged copy: those that fit its batches, which the partition's file may not do."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from formats.batch import NO_PARTITION_LEADER_EPOCH
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checks.batches import classify, joined
from kcli.kafka.integrity.checks.epochs import EpochJudge, EpochRun, misfits
from kcli.kafka.kraft.log_settings import NEVER_TIERED
from kcli.kafka.kraft.metadata_loader import configuration_of
from kcli.kafka.storage import leader_epochs
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.kafka.storage.loaded_log import LoadedLog, checkpoints
from kcli.kafka.storage.log_loader import is_tiered
from kcli.logdir.bulk import BulkWalk
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition

MISSING, EMPTY = "missing", "without entries"
"""What a file can be besides damaged and not readable."""


class Lacks(NamedTuple):
    """What a copy lacks: why the leader-epoch-checkpoint says nothing, and whether batches are lost.

    `batches` are those that it has.
    """

    trouble: str
    batches: int
    is_damaged: bool


def fitting_epochs(partition: Partition, loaded: LoadedLog) -> tuple[EpochCache, list[Finding]]:
    """Return the leader epochs of a copy, and findings where they are not those that recovery leaves.

    `loaded` is the copy after recovery, which keeps what the file has. Where that does not fit the batches
    but their own epochs do, these count. Epochs that fall fit nothing: then as few batches as can be are
    contradicted. A copy has no log start, so that it has the epochs of batches below it, too.
    """
    start, end = loaded.log_start_offset, loaded.log_end_offset
    runs = list(_runs(loaded))

    def contradictions(cache: EpochCache, log_start: int) -> list[str]:
        before = NO_PARTITION_LEADER_EPOCH
        return [words for _, _, words in misfits(runs, before, cache, is_clean=True, log_start=log_start)]

    of_file, of_batches = (
        leader_epochs.load(cache, end, start).entries
        for cache in (
            leader_epochs.replay(loaded.epoch_lines or ()),
            leader_epochs.epochs_of_batches((run.epoch, run.first) for run in runs),
        )
    )
    wrong = contradictions(loaded.epochs, max(start, checkpoints(partition).log_start_offset))
    first = loaded.epochs[0].start_offset if loaded.epochs else end
    completed = leader_epochs.replay(
        (*(entry for entry in of_batches if entry.start_offset < first), *loaded.epochs)
    )
    candidates = (of_file, loaded.epochs, completed, of_batches) if wrong else (completed,)
    kept = min(candidates, key=lambda cache: len(contradictions(cache, start)))
    path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
    left = contradictions(kept, start)
    if left:
        return kept, [Finding("SALV-003", left[0], partition.shown, path, more=len(left) - 1)]
    if not wrong:
        return kept, []
    words = f"{wrong[0]}; the copy has the epochs of its batches"
    return kept, [Finding("SALV-002", words, partition.shown, path)]


def unsaved_epochs(
    partition: Partition, loaded: LoadedLog, cache: EpochCache, lacks: Lacks, *, remote_storage: bool | None
) -> Iterator[Finding]:
    """Yield what it means for a copy with these epochs that the partition's own file says nothing."""
    is_new = not loaded.log_end_offset and not lacks.is_damaged
    is_of_old_batches = lacks.batches and not cache
    if lacks.trouble in {MISSING, EMPTY} and (is_new or is_of_old_batches):
        return
    path = os.path.join(partition.shown, LEADER_EPOCH_CHECKPOINT)
    first = loaded.segments[0].base_offset
    is_complete = not lacks.is_damaged and (is_new or lacks.batches > 0)
    if not (is_complete and _begins_here(partition, first, remote_storage=remote_storage)):
        held = "the epochs of its batches alone" if cache else "no epochs"
        words = f"{lacks.trouble}: the copy, which begins at offset {first}, has {held}"
        yield Finding("SALV-004", words, partition.shown, path)
    elif lacks.trouble != EMPTY:  # there recovery adds those of the batches
        words = f"{lacks.trouble}: the copy has the epochs of its batches"
        yield Finding("SALV-005", words, partition.shown, path)


def _begins_here(partition: Partition, first: int, *, remote_storage: bool | None) -> bool:
    """Whether a log begins with its first segment, at `first`; False where it is not known."""
    if not first or partition.topic in NEVER_TIERED:
        return True
    if partition.target.log_dir is None and remote_storage is None:
        return False
    return is_tiered(partition, first, configuration_of, given=remote_storage) is False


def _runs(loaded: LoadedLog) -> Iterator[EpochRun]:
    """Yield the batches of each segment that follow one another in one leader epoch."""
    for segment in loaded.segments:
        if segment.log_path is None:
            continue
        judge = EpochJudge()
        with segment.log() as log:
            for window in BulkWalk(log, 0, segment.log_size, verify=False):
                judge.look(joined([classify(window, None)]))
        yield from judge.runs
