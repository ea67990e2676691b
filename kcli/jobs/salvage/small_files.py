"""The small files of a salvaged copy: as they are if they are whole; leader epochs fit its batches."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from formats.batch import NO_PARTITION_LEADER_EPOCH
from formats.checkpoint import EpochEntry, check_epoch_entries, read_leader_epoch_checkpoint
from formats.names import CLUSTER_METADATA, KRAFT_SNAPSHOT, parse_file
from formats.properties import read_partition_metadata
from formats.quorum import read_quorum_state
from kcli.jobs.salvage.partition_copy import FILE_NOT_SAVED, MADE_ANEW, PartitionCopy, copy_bytes
from kcli.kafka.integrity.checks.batches import EpochJudge, EpochRun, good_batches, misfits
from kcli.kafka.kraft.log_settings import NEVER_TIERED
from kcli.kafka.kraft.metadata_loader import configuration_of
from kcli.kafka.kraft.metadata_snapshot import snapshot_trouble
from kcli.kafka.storage import leader_epochs
from kcli.kafka.storage.file_actions import epoch_bytes
from kcli.kafka.storage.leader_epochs import EpochCache
from kcli.kafka.storage.loaded_log import LoadedLog, checkpoints
from kcli.kafka.storage.log_loader import is_tiered
from kcli.kafka.storage.metadata_log import name_error, snapshots
from kcli.logdir.buffers import CANNOT_READ, DataFile, FileError, irregular, read_optional, reading, shown
from kcli.logdir.bulk import BulkWalk
from kcli.logdir.log_dirs import PARTITION_METADATA_FILE, QUORUM_STATE, lacks_quorum_state
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, Partition

MISSING, EMPTY = "missing", "without entries"  # what a file can be besides damaged and not readable


def copy_small_files(copy: PartitionCopy) -> str | None:
    """Copy the small files that cannot be made from the batches, if they are whole.

    Return what is wrong with the leader-epoch-checkpoint, whose epochs go back beyond the batches. The topic
    id of a metadata log is always the same, and KRaft writes the file where there is none.
    """
    partition, is_metadata = copy.partition, copy.partition.topic == CLUSTER_METADATA
    trouble = _copy_file(copy, PARTITION_METADATA_FILE, read_partition_metadata)
    if trouble is not None and not is_metadata and (trouble != MISSING or _has_topic_ids(partition)):
        message = f"{trouble}: the copy has none, and a KRaft broker renames such a directory to -stray"
        copy.report(FILE_NOT_SAVED, PARTITION_METADATA_FILE, message)
    trouble = _copy_file(copy, QUORUM_STATE, read_quorum_state)
    if trouble is not None and (trouble != MISSING or (is_metadata and lacks_quorum_state(partition.path))):
        copy.report(FILE_NOT_SAVED, QUORUM_STATE, f"{trouble}: the copy has no vote")
    lines: list[EpochEntry] = []

    def read_epochs(data: bytes) -> None:
        lines.extend(read_leader_epoch_checkpoint(data))
        check_epoch_entries(lines, data)

    trouble = _copy_file(copy, LEADER_EPOCH_CHECKPOINT, read_epochs)
    return EMPTY if trouble is None and not lines else trouble


def _copy_file(copy: PartitionCopy, name: str, parse: Callable[[bytes], object]) -> str | None:
    """Copy a small file if it is whole; return what is wrong with it in words, None for nothing."""
    path = os.path.join(copy.partition.path, name)
    try:
        data = read_optional(path)
        if data is None:
            return MISSING
        with reading(path):
            parse(data)
    except FileError as error:
        return f"{'cannot be read' if error.code in CANNOT_READ else 'damaged'} ({error.message})"
    copy.write(name, data)
    return None


def _has_topic_ids(partition: Partition) -> bool:
    """Whether the broker knew topic ids: one of KRaft does, and one that wrote such a file here."""
    log_dir = partition.target.log_dir
    return partition.directory.is_kraft or (
        log_dir is not None and any(Path(log_dir).glob(f"*/{PARTITION_METADATA_FILE}"))
    )


def copy_snapshots(copy: PartitionCopy) -> None:
    """Copy the snapshots of a metadata log with which a node starts; report the others, and why."""
    partition, copied = copy.partition, []
    for name in partition.entries:
        file, path, new = parse_file(name), os.path.join(partition.path, name), os.path.join(copy.path, name)
        trouble = name_error(name) if partition.topic == CLUSTER_METADATA else None
        if trouble is not None:
            _report(copy, name, f"a node does not start with this name ({trouble})")
        elif file.kind == KRAFT_SNAPSHOT and file.epoch is not None and not file.suffix:
            try:
                with DataFile(path) as snapshot, open(new, "wb") as into:
                    copy_bytes(snapshot, 0, snapshot.size, into.write)
            except FileError as error:
                with suppress(FileNotFoundError):
                    os.unlink(new)
                if os.path.lexists(path):  # else a broker that runs has removed it
                    _report(copy, name, f"cannot be read ({irregular(path) or error.message})")
            else:
                copied.append(name)
    if partition.topic == CLUSTER_METADATA:
        _remove_damaged(copy, copied)


def _remove_damaged(copy: PartitionCopy, names: Collection[str]) -> None:
    """Remove damaged snapshots; not the newest if it alone has what was before the log."""
    troubles = {name: snapshot_trouble(os.path.join(copy.path, name)) for name in names}
    intact = [name for name, trouble in troubles.items() if trouble is None]
    reached = snapshots(intact, copy.log_start_offset).values()
    damaged = {name: trouble for name, trouble in troubles.items() if trouble is not None}
    if damaged and 0 not in copy.saved_ranges and not {*intact} & {*reached}:
        files = {name: parse_file(name) for name in damaged}  # the newest: by epoch, then end offset
        del damaged[max(files, key=lambda name: (files[name].epoch or 0, files[name].base_offset or 0))]
    for name, trouble in damaged.items():
        os.unlink(os.path.join(copy.path, name))
        _report(copy, name, f"damaged ({trouble.message})", trouble.position)


def _report(copy: PartitionCopy, name: str, reason: str, position: int | None = None) -> None:
    copy.report(FILE_NOT_SAVED, shown(name), f"{reason}: it is not in the copy", position)


def write_epochs(
    copy: PartitionCopy, loaded: LoadedLog, trouble: str | None, *, remote_storage: bool | None
) -> None:
    """Write a leader-epoch-checkpoint that fits the batches; `trouble`: what was wrong with the old one."""
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
        return [message for _, _, message in misfits(runs, before, cache, is_clean=True, log_start=log_start)]

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
    cache = min(candidates, key=lambda cache: len(contradictions(cache)))
    reasons = contradictions(cache)
    if reasons:
        copy.report(FILE_NOT_SAVED, LEADER_EPOCH_CHECKPOINT, reasons[0], more=len(reasons) - 1)
    elif wrong:
        message = f"{wrong[0]}; the copy has the epochs of its batches"
        copy.report(MADE_ANEW, LEADER_EPOCH_CHECKPOINT, message)
    return cache


def _report_lost_epochs(
    copy: PartitionCopy, loaded: LoadedLog, cache: EpochCache, trouble: str, *, remote_storage: bool | None
) -> None:
    """Report what it means for a copy with these epochs that the partition's own file says nothing."""
    is_damaged, batches = bool(copy.lost) or copy.lacks_records, copy.batches
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
    return is_tiered(partition, first, configuration_of, setting=remote_storage) is False


def _runs(loaded: LoadedLog) -> Iterator[EpochRun]:
    """Yield the batches of each segment that follow one another in one leader epoch."""
    for segment in loaded.segments:
        if segment.log_path is None:
            continue
        judge = EpochJudge()
        with segment.log() as log:
            for window in BulkWalk(log, 0, segment.log_size, verify=False):
                judge.add_batches(good_batches(window, None))
        yield from judge.runs
