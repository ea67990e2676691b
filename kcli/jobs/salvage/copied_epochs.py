"""The leader epochs of a salvaged copy: those that fit its batches, which the partition's file may not do."""

from collections.abc import Iterator

from formats.batch import NO_PARTITION_LEADER_EPOCH
from kcli.jobs.salvage.partition_copy import FILE_NOT_SAVED, MADE_ANEW, PartitionCopy
from kcli.kafka.integrity.checks.batches import classify, joined
from kcli.kafka.integrity.checks.epochs import EpochJudge, EpochRun, misfits
from kcli.kafka.kraft.log_settings import NEVER_TIERED
from kcli.kafka.kraft.metadata_loader import configuration_of
from kcli.kafka.storage import leader_epochs
from kcli.kafka.storage.file_actions import epoch_bytes
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.kafka.storage.loaded_log import LoadedLog, checkpoints
from kcli.kafka.storage.log_loader import is_tiered
from kcli.logdir.bulk import BulkWalk
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition

MISSING, EMPTY = "missing", "without entries"
"""What a file can be besides damaged and not readable."""


def write_epochs(
    copy: PartitionCopy, loaded: LoadedLog, trouble: str | None, *, remote_storage: bool | None
) -> None:
    """Write a leader-epoch-checkpoint that fits the batches, if the one in the copy does not.

    `loaded` is the copy after recovery; `trouble`: why the file of the partition says nothing, None where it
    does.
    """
    cache = _fitting_epochs(copy, loaded)
    if loaded.epochs_written or cache != loaded.epochs:
        copy.write(LEADER_EPOCH_CHECKPOINT, epoch_bytes(cache))
    elif loaded.epoch_lines is None:
        copy.write(LEADER_EPOCH_CHECKPOINT, b"")
    if trouble is not None:
        _report_lost_epochs(copy, loaded, cache, trouble, remote_storage=remote_storage)


def _fitting_epochs(copy: PartitionCopy, loaded: LoadedLog) -> EpochCache:
    """Return the leader epochs of a copy; report where they are not those that recovery leaves.

    Recovery keeps what the file has. Where that does not fit the batches but their own epochs do, these
    count. Epochs that fall fit nothing: then as few batches as can be are contradicted. A copy has no log
    start, so that it has the epochs of batches below it, too.
    """
    start, end = loaded.log_start_offset, loaded.log_end_offset
    runs = list(_runs(loaded))

    def contradictions(cache: EpochCache, log_start: int = start) -> list[str]:
        before = NO_PARTITION_LEADER_EPOCH
        return [words for _, _, words in misfits(runs, before, cache, is_clean=True, log_start=log_start)]

    of_batches = leader_epochs.load(
        leader_epochs.epochs_of_batches((run.epoch, run.first) for run in runs), end, start
    )
    first = loaded.epochs[0].start_offset if loaded.epochs else end
    below = (entry for entry in of_batches.entries if entry.start_offset < first)
    completed = leader_epochs.replay((*below, *loaded.epochs))
    wrong = contradictions(loaded.epochs, max(start, checkpoints(copy.partition).log_start_offset))
    if not wrong:
        candidates: tuple[EpochCache, ...] = (completed,)
    else:
        of_file = leader_epochs.load(leader_epochs.replay(loaded.epoch_lines or ()), end, start)
        candidates = (of_file.entries, loaded.epochs, completed, of_batches.entries)
    kept = min(candidates, key=lambda cache: len(contradictions(cache)))
    left = contradictions(kept)
    if left:
        copy.report(FILE_NOT_SAVED, LEADER_EPOCH_CHECKPOINT, left[0], more=len(left) - 1)
    elif wrong:
        message = f"{wrong[0]}; the copy has the epochs of its batches"
        copy.report(MADE_ANEW, LEADER_EPOCH_CHECKPOINT, message)
    return kept


def _report_lost_epochs(
    copy: PartitionCopy, loaded: LoadedLog, cache: EpochCache, trouble: str, *, remote_storage: bool | None
) -> None:
    """Report what it means for a copy with these epochs that the partition's own file says nothing."""
    is_damaged, batches = bool(copy.lost) or copy.lacks_records, copy.batches.total()
    is_new = not loaded.log_end_offset and not is_damaged
    if trouble in {MISSING, EMPTY} and (is_new or (batches and not cache)):
        return
    first = loaded.segments[0].base_offset
    is_complete = not is_damaged and (is_new or batches > 0)
    if not (is_complete and _begins_here(copy.partition, first, remote_storage=remote_storage)):
        epochs_of_copy = "the epochs of its batches alone" if cache else "no epochs"
        message = f"{trouble}: the copy, which begins at offset {first}, has {epochs_of_copy}"
        copy.report(FILE_NOT_SAVED, LEADER_EPOCH_CHECKPOINT, message)
    elif trouble != EMPTY:  # there recovery adds those of the batches
        message = f"{trouble}: the copy has the epochs of its batches"
        copy.report(MADE_ANEW, LEADER_EPOCH_CHECKPOINT, message)


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
                judge.add_batches(joined([classify(window, None)]))
        yield from judge.runs
