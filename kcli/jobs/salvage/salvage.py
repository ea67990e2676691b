"""`salvage`: a clean copy of a partition elsewhere, its indexes and producers as recovery would write them.

The batches that can be read are copied first; then the copy is started as after an unclean stop, and what
that start would write is written. So the rules of recovery are those of `kcli.kafka.storage.log_loader`.
"""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from formats.checkpoint import EpochEntry, check_epoch_entries, read_leader_epoch_checkpoint
from formats.index import TXN_INDEX_ENTRY
from formats.names import CLUSTER_METADATA, file_prefix, parse_file
from formats.properties import read_partition_metadata
from formats.quorum import read_quorum_state
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failure_of, log_dir_findings, until_whole, where
from kcli.jobs.salvage.copied_epochs import EMPTY, MISSING, write_epochs
from kcli.jobs.salvage.lost_records import RECORDS_LOST, LostRecords, losses_of_loaded
from kcli.jobs.salvage.metadata_snapshots import copy_snapshots
from kcli.jobs.salvage.partition_copy import (
    FILE_NOT_SAVED,
    LeftOut,
    PartitionCopy,
    Reason,
    SavedLog,
    copy_bytes,
    cut_out,
    new_directory,
)
from kcli.jobs.salvage.selected_batches import select_batches
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage.file_actions import ENTRY_SIZES, INDEX, TIME_INDEX, snapshot_bytes
from kcli.kafka.storage.loaded_log import LoadedLog, Settings
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import CANNOT_READ, DataFile, FileError, read_optional, reading, shown
from kcli.logdir.log_dirs import QUORUM_STATE, lacks_quorum_state
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, Partition
from kcli.logdir.segment import next_batch
from kcli.rows import Failure
from kcli.rows.checks import SalvageRow, SavedFile

ALL, INDEXES = "all", "indexes"
BEHIND = "START-007"
"""The start of a metadata log deletes its segments: its newest snapshot is ahead of them."""
MOST_REFUSED = 1000
"""Batches that recovery refuses, for other reasons than their bytes, and that are left out one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """The job: `out` is the directory to write, `what` ALL or INDEXES, `now_ms` the broker's clock."""

    out: str
    now_ms: int
    what: str = ALL
    index_interval_bytes: int | None = None
    known: KnownSettings = NO_KNOWN_SETTINGS

    def __call__(self, unit: Unit) -> Outcome:
        """Write the copy of a partition; return its row and what could not be saved.

        Written anew where a broker removes files that were listed, or cuts one.
        """
        return until_whole(unit, lambda: self._attempt(unit), lambda outcome: outcome.error)

    def _attempt(self, unit: Unit) -> Outcome:
        copy = PartitionCopy(Partition(unit.target), "")
        try:
            row = self._write(copy)
        except BrokerError as error:
            refused = FileError(error.path, "load-failed", str(error), error.position)
            failure = failure_of(copy.error_of_partition(refused))
        except FileError as error:
            failure = failure_of(copy.error_of_partition(error))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            failure = Failure(self.out, "not-written", None, None, f"cannot write: {reason}")
        else:
            return Outcome(number=unit.number, rows=[row], findings=copy.findings)
        return Outcome(number=unit.number, findings=copy.findings, error=failure)

    def _write(self, copy: PartitionCopy) -> SalvageRow:
        partition = copy.partition
        known = self.known.of(partition, now_ms=self.now_ms, index_interval_bytes=self.index_interval_bytes)
        settings = known._replace(remote_storage=None)  # the copy lies in no log dir
        copy.findings.extend(log_dir_findings(partition.target, partition.directory))
        with new_directory(self.out) as copy.path:
            if self.what == INDEXES:
                loaded = _load(partition, settings)
                copy.findings.extend(loaded.findings)
                _write_indexes(copy, loaded)
            else:
                loaded = self._write_all(copy, settings, remote_storage=known.remote_storage)
            return self._row(copy, loaded)

    def _write_all(
        self, copy: PartitionCopy, settings: Settings, *, remote_storage: bool | None
    ) -> LoadedLog:
        """Write the whole copy; return it as recovery leaves it."""
        _copy_logs(copy, self.known)
        trouble_of_epochs = _copy_small_files(copy)
        copy_snapshots(copy)
        partition = copy.partition
        of_copy = Partition(replace(partition.target, path=copy.path, shown=partition.shown, log_dir=None))
        loaded = _recover_copy(copy, of_copy, settings)
        is_tiered = self.known.is_tiered(partition)
        copy.findings.extend(losses_of_loaded(copy, loaded, is_tiered=is_tiered))
        _cut_logs(copy, loaded)
        _write_snapshots(copy, loaded)
        write_epochs(copy, loaded, trouble_of_epochs, remote_storage=remote_storage)
        _write_indexes(copy, loaded)
        started = _load(of_copy, settings, loaded.log_end_offset)
        if started.log_end_offset != loaded.log_end_offset:
            ends = f"{started.log_end_offset} instead of {loaded.log_end_offset}"
            raise FileError(partition.path, "load-failed", f"the copy would end at offset {ends}")
        _write_snapshots(copy, started)
        return loaded

    def _row(self, copy: PartitionCopy, loaded: LoadedLog) -> SalvageRow:
        return SalvageRow(
            where(copy.partition),
            out_dir=shown(self.out),
            what=self.what,
            segments=len(loaded.segments),
            batches=copy.batches.total() if self.what == ALL else None,
            bytes=sum(one.log_size for one in loaded.segments),
            log_start_offset=loaded.log_start_offset,
            log_end_offset=loaded.log_end_offset,
            batches_lost=copy.batches_lost,
            bytes_lost=copy.bytes_lost,
            lost=tuple(sorted(copy.lost, key=lambda one: (one.file, one.start))),
            files=tuple(SavedFile(name, _size(copy, name)) for name in sorted(os.listdir(copy.path))),
        )


def _size(copy: PartitionCopy, name: str) -> int:
    return os.stat(os.path.join(copy.path, name)).st_size


def _load(partition: Partition, settings: Settings, clean_end: int | None = None) -> LoadedLog:
    """Return the log as recovery of all of it leaves it, or a clean start of one that ends at `clean_end`."""
    return load(
        Partition(partition.target),
        clean=clean_end is not None,
        recovery_point=clean_end or 0,
        log_start_offset=0,
        settings=settings,
    )


def _copy_logs(copy: PartitionCopy, known: KnownSettings) -> None:
    """Write the batches of each log that can be read, and say which records are in none.

    A segment without any is left out. Not the last one, nor the first: the log begins at its base offset, and
    cleaning leaves it empty. The last one, too, where its batches contradict its name.
    """
    records = LostRecords(copy.partition)
    logs = records.logs
    damaged, misplaced = set(), set()
    with closing(select_batches(logs, records)) as selected:
        for base, file, ranges in selected:
            copy.logs[base] = SavedLog(os.path.basename(logs[base]))
            with open(_log_path(copy, base), "wb") as into:
                for one in ranges:
                    if isinstance(one, LeftOut):
                        copy.record_loss(base, one)
                        damaged.add(base)
                        if one.reason == Reason.OFFSETS:
                            misplaced.add(base)
                    elif file is not None:
                        copy.add_range(base, one)
                        copy_bytes(file, one.start, one.end, into.write)
    if not copy.batches:
        for path in logs.values():  # FileError of one that cannot be read: it is no empty log
            DataFile(path).close()
    first, last = min(logs, default=0), max(logs, default=0)
    for base in logs.keys() - copy.batches.keys() - {first, *({last} - misplaced)}:
        os.unlink(_log_path(copy, base))
    copy.findings.extend(records.findings(known, damaged))
    copy.lacks_records = any(one.code == RECORDS_LOST for one in copy.findings)


def _log_path(copy: PartitionCopy, base: int) -> str:
    return os.path.join(copy.path, f"{file_prefix(base)}.log")


def _copy_small_files(copy: PartitionCopy) -> str | None:
    """Copy the small files that cannot be made from the batches, if they are whole.

    Return what is wrong with the leader-epoch-checkpoint, whose epochs go back beyond the batches. The topic
    id of a metadata log is always the same, and KRaft writes the file where there is none.
    """
    partition, is_metadata = copy.partition, copy.partition.topic == CLUSTER_METADATA
    trouble = _copy_file(copy, PARTITION_METADATA, read_partition_metadata)
    if trouble is not None and not is_metadata and (trouble != MISSING or _has_topic_ids(partition)):
        message = f"{trouble}: the copy has none, and a KRaft broker renames such a directory to -stray"
        copy.report(FILE_NOT_SAVED, PARTITION_METADATA, message)
    trouble = _copy_file(copy, QUORUM_STATE, read_quorum_state)
    if trouble is not None and (trouble != MISSING or (is_metadata and lacks_quorum_state(partition.path))):
        copy.report(FILE_NOT_SAVED, QUORUM_STATE, f"{trouble}: the copy has no vote")
    lines: list[EpochEntry] = []

    def read_epochs(data: bytes) -> None:
        lines.extend(read_leader_epoch_checkpoint(data))
        check_epoch_entries(lines, data)

    trouble = _copy_file(copy, LEADER_EPOCH_CHECKPOINT, read_epochs)
    return EMPTY if trouble is None and not lines else trouble


def _copy_file(copy: PartitionCopy, name: str, read: Callable[[bytes], object]) -> str | None:
    """Copy a small file if it is whole; return what is wrong with it in words, None for nothing."""
    path = os.path.join(copy.partition.path, name)
    try:
        data = read_optional(path)
        if data is None:
            return MISSING
        with reading(path):
            read(data)
    except FileError as error:
        return f"{'cannot be read' if error.code in CANNOT_READ else 'damaged'} ({error.message})"
    copy.write(name, data)
    return None


def _has_topic_ids(partition: Partition) -> bool:
    """Whether the broker knew topic ids: one of KRaft does, and one that wrote such a file here."""
    log_dir = partition.target.log_dir
    return partition.directory.is_kraft or (
        log_dir is not None and any(Path(log_dir).glob(f"*/{PARTITION_METADATA}"))
    )


def _recover_copy(copy: PartitionCopy, of_copy: Partition, settings: Settings) -> LoadedLog:
    """Return the copy as recovery leaves it; what it refuses or removes is left out as well."""
    for _ in range(MOST_REFUSED):
        try:
            loaded = load(
                Partition(of_copy.target),
                clean=False,
                recovery_point=0,
                log_start_offset=0,
                settings=settings,
            )
            for segment, position in loaded.lost:
                copy.remove_from_copy(segment.log_path or "", position, segment.log_size, Reason.OFFSETS)
        except BrokerError as error:
            if error.position is None or not error.path.endswith(".log"):
                raise
            _remove_batch(copy, error.path, error.position)
        else:
            is_behind = [one for one in loaded.findings if one.code == BEHIND]
            copy.findings.extend(is_behind)
            for base in loaded.deleted if is_behind else ():
                path = _log_path(copy, base)
                copy.remove_from_copy(path, 0, os.stat(path).st_size, Reason.SNAPSHOT)
            return loaded
    raise FileError(copy.partition.path, "load-failed", f"recovery refuses more than {MOST_REFUSED} batches")


def _remove_batch(copy: PartitionCopy, path: str, position: int) -> None:
    """Write a log of the copy without the batch that recovery refuses."""
    with DataFile(path) as log:
        batch = next_batch(log, position, log.size)
        end = log.size if batch is None else position + batch.size
    copy.remove_from_copy(path, position, end, Reason.TRANSACTION)
    cut_out(path, position, end)


def _cut_logs(copy: PartitionCopy, loaded: LoadedLog) -> None:
    """Delete and truncate logs as recovery does."""
    for base in loaded.deleted:
        os.unlink(_log_path(copy, base))
    for segment in loaded.segments:
        path = _log_path(copy, segment.base_offset)
        if segment.log_path is None:
            copy.write(os.path.basename(path), b"")
        elif os.stat(path).st_size > segment.log_size:
            os.truncate(path, segment.log_size)


def _write_indexes(copy: PartitionCopy, loaded: LoadedLog) -> None:
    for segment in loaded.segments:
        stem = file_prefix(segment.base_offset)
        for suffix, index in ((INDEX, segment.offset_index), (TIME_INDEX, segment.time_index)):
            copy.write(stem + suffix, index.data[: index.entries * ENTRY_SIZES[suffix]])
        if segment.aborted:
            copy.write(f"{stem}.txnindex", b"".join(map(TXN_INDEX_ENTRY.pack, segment.aborted)))


def _write_snapshots(copy: PartitionCopy, loaded: LoadedLog) -> None:
    """Write the producer snapshots of a start, and remove those that it removes."""
    for name in os.listdir(copy.path):
        if name.endswith(".snapshot") and parse_file(name).base_offset not in loaded.producers.disk:
            os.unlink(os.path.join(copy.path, name))
    for offset, snapshot in loaded.producers.disk.items():
        if not isinstance(snapshot, str):
            copy.write(f"{file_prefix(offset)}.snapshot", snapshot_bytes(snapshot))
