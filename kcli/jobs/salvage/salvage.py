"""`salvage`: a clean copy of a partition elsewhere, its indexes and producers as recovery would write them.

The batches that can be read are copied first; then the copy is started as after an unclean stop, and what
that start would write is written. So the rules of recovery are those of `kcli.kafka.storage.log_loader`.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from formats.batch import NO_TIMESTAMP
from formats.index import TXN_INDEX_ENTRY
from formats.names import CLUSTER_METADATA, LOG, NORMAL, file_prefix, parse_file
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import failure_of, log_dir_findings, until_whole, where
from kcli.jobs.salvage.partition_copy import PartitionCopy, Reason, SavedRange, copy_bytes
from kcli.jobs.salvage.selected_batches import SelectedLog, select_batches
from kcli.jobs.salvage.small_files import copy_small_files, copy_snapshots, write_epochs
from kcli.kafka.findings.collector import FindingCollector, collect_findings
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checkpoints import START_ABOVE_END, Offsets, beginning_findings, contradictions
from kcli.kafka.integrity.checks.batches import Hole, find_holes
from kcli.kafka.integrity.checks.indexes import OffsetIndexJudge
from kcli.kafka.integrity.checks.producers import producer_snapshots
from kcli.kafka.integrity.compacted import is_compacted
from kcli.kafka.kraft.log_settings import NO_KNOWN_SETTINGS, KnownSettings
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.kraft.partition_start import load
from kcli.kafka.storage.file_actions import ENTRY_SIZES, INDEX, TIME_INDEX, snapshot_bytes
from kcli.kafka.storage.loaded_log import LoadedLog, Settings, checkpoints
from kcli.kafka.storage.log_segment import BrokerError
from kcli.kafka.storage.metadata_log import lacks_snapshot, snapshots
from kcli.kafka.storage.surviving_files import INDEX_KINDS, surviving_files, without_log
from kcli.logdir.buffers import DataFile, FileError, shown
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import SWAP
from kcli.logdir.targets import entry_of
from kcli.output.parts import new_directory
from kcli.rows import Failure
from kcli.rows.checks import SalvageRow, SavedFile

RECORDS_LOST, MAY_BE_LOST = "SALV-010", "SALV-011"
SAME_FINDINGS = {
    "LOG-022": MAY_BE_LOST,
    "LOG-025": RECORDS_LOST,
    "CKPT-001": MAY_BE_LOST,
}
"""What `check` finds, and what that means for a copy."""
ALL, INDEXES = "all", "indexes"
BEHIND = "START-007"  # the start of a metadata log deletes its segments: its newest snapshot is ahead of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """The job: `out` is the directory to write, `what` ALL or INDEXES, `now_ms` the broker's clock."""

    out: str
    now_ms: int
    what: str = ALL
    index_interval_bytes: int | None = None
    known: KnownSettings = NO_KNOWN_SETTINGS

    def __call__(self, unit: Unit) -> Outcome:
        """Write the copy of a partition; return its row and what was lost. Anew where a broker cuts files."""
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
            row = self._row(copy, loaded)
            os.rename(copy.path, self.out)
            return row

    def _write_all(
        self, copy: PartitionCopy, settings: Settings, *, remote_storage: bool | None
    ) -> LoadedLog:
        """Write the whole copy; return it as recovery leaves it."""
        _copy_logs(copy, self.known)
        trouble_of_epochs = copy_small_files(copy)
        copy_snapshots(copy)
        partition = copy.partition
        target = replace(partition.target, path=copy.path, shown=partition.shown, log_dir=None)
        if partition.topic == CLUSTER_METADATA and (lack := _lacks_snapshot(copy)) is not None:
            copy.findings.append(lack)
            target = replace(target, name=None)  # as a log that needs no snapshot
        of_copy = Partition(target)
        loaded = _recover(copy, of_copy, settings)
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
            batches=copy.batches if self.what == ALL else None,
            bytes=sum(segment.log_size for segment in loaded.segments),
            log_start_offset=loaded.log_start_offset,
            log_end_offset=loaded.log_end_offset,
            batches_lost=copy.batches_lost,
            bytes_lost=copy.bytes_lost,
            lost=tuple(sorted(copy.lost, key=lambda loss: (loss.file, loss.start))),
            files=tuple(
                SavedFile(name, os.stat(os.path.join(copy.path, name)).st_size)
                for name in sorted(os.listdir(copy.path))
            ),
        )


def _lacks_snapshot(copy: PartitionCopy) -> Finding | None:
    """Return that no node starts with the copy of a metadata log: no snapshot reaches its start."""
    start = copy.log_start_offset
    if not lacks_snapshot(start, snapshots(os.listdir(copy.path), start)):
        return None
    message = f"the log begins at offset {start}, and no snapshot reaches it: no node starts with the copy"
    return Finding(RECORDS_LOST, message, dir=copy.partition.shown)


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
    partition = copy.partition
    paths, orphans = logs_and_orphans(partition)
    targets = {base: entry_of(partition.target, os.path.basename(path), LOG) for base, path in paths.items()}
    losses = [loss._replace(code=RECORDS_LOST) for loss in orphans]
    if not (paths or orphans):
        message = "there is no file of any segment: the copy is an empty log"
        losses.append(Finding(MAY_BE_LOST, message, dir=partition.shown))
    policy = collect_findings(is_compacted(partition, settings=known), losses)
    if partition.target.log_dir is None:
        policy = True  # it may be: nothing is said of missing offsets
    before, misplaced = None, set()
    with closing(select_batches(targets)) as selected:
        for log, following in zip(selected, [*targets, None][1:], strict=False):
            copy.names[log.base], saved_ranges = os.path.basename(log.target.path), list[SavedRange]()
            with open(_log_path(copy, log.base), "wb") as into:
                for batch_range in log.ranges():
                    if batch_range.reason is not None:
                        copy.record_loss(log.base, batch_range, batch_range.reason)
                        misplaced |= {log.base} if batch_range.reason == Reason.OFFSETS else set()
                    elif log.file is not None:
                        saved_ranges.append(batch_range)
                        copy_bytes(log.file, batch_range.start, batch_range.end, into.write)
            copy.saved_ranges |= {log.base: saved_ranges} if saved_ranges else {}
            losses += losses_of_log(before, log, following, is_compacted=policy)
            policy = True if policy is None and holes_of(log) else policy
            before = log
    if not copy.saved_ranges:
        for path in paths.values():  # FileError of one that cannot be read: it is no empty log
            DataFile(path).close()
    first, last = min(paths, default=0), max(paths, default=0)
    for base in paths.keys() - copy.saved_ranges.keys() - {first, *({last} - misplaced)}:
        os.unlink(_log_path(copy, base))
    copy.findings += losses
    copy.lacks_records = any(loss.code == RECORDS_LOST for loss in losses)


def _log_path(copy: PartitionCopy, base: int) -> str:
    return os.path.join(copy.path, f"{file_prefix(base)}.log")


def _recover(copy: PartitionCopy, of_copy: Partition, settings: Settings) -> LoadedLog:
    """Return the copy as recovery leaves it; a metadata log may go for its newer snapshot."""
    loaded = _load(of_copy, settings)
    if loaded.lost:
        segment, position = loaded.lost[0]
        raise FileError(segment.log_path or "", "load-failed", "recovery would cut the copy here", position)
    is_behind = [finding for finding in loaded.findings if finding.code == BEHIND]
    copy.findings.extend(is_behind)
    for base in loaded.deleted if is_behind else ():
        for batch_range in copy.saved_ranges.pop(base, []):
            copy.record_loss(base, batch_range, Reason.SNAPSHOT)
    return loaded


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


# Which records are in no log: files of the partition show that they existed. The rules are those of `check`:
# indexes without a log, offsets missing between segments or batches, entries of an index that lead past the
# end of its log, a high watermark, recovery point or producer snapshot above the log end.


def logs_and_orphans(partition: Partition) -> tuple[dict[int, str], list[Finding]]:
    """Return the path of each segment's log with swaps finished, and the indexes that have none."""
    try:
        files = surviving_files(partition, [])
        logs, indexes = {base: path for base, (path, _) in sorted(files.logs.items())}, files.indexes
    except (BrokerError, FileError):
        logs = {
            segment.base_offset: os.path.join(partition.path, f"{segment.stem}.log")
            for segment in partition.segments
        }
        indexes = {}
        for name in partition.names:
            file, path = parse_file(name), os.path.join(partition.path, name)
            if file.kind == LOG and file.suffix == SWAP and file.base_offset is not None:
                logs[file.base_offset] = path
            elif file.kind in INDEX_KINDS and not file.suffix and file.base_offset is not None:
                indexes[file.base_offset, file.kind] = path
        logs = dict(sorted(logs.items()))
    return logs, list(without_log(partition, logs, indexes))


def _end_of(log: SelectedLog) -> int:
    """Return the offset after the last batch of a log."""
    return int(log.good_batches["last"].max(initial=log.base - 1)) + 1


def holes_of(log: SelectedLog) -> list[Hole]:
    """Return where offsets are missing between the batches of a log."""
    batches = log.good_batches
    return find_holes(log.base, *(batches[name] for name in ("first", "last", "position", "is_legacy")))


def losses_of_log(
    before: SelectedLog | None, log: SelectedLog, following: int | None, *, is_compacted: bool | None
) -> Iterator[Finding]:
    """Yield what a log lacks between its neighbours, but for cleaning, and what damage may have held."""
    collector = FindingCollector(log.target)
    code, holes = MAY_BE_LOST if is_compacted is None else RECORDS_LOST, holes_of(log)
    is_damaged = log.is_damaged or (before is not None and before.is_damaged)
    is_cleaned = (
        is_compacted or bool(log.good_batches["is_sparse"].any()) or (is_compacted is None and len(holes) > 1)
    )
    if not (is_damaged or is_cleaned):
        end = log.base if before is None else _end_of(before)
        begin = int(log.good_batches["first"].min(initial=log.base))
        if begin > end:
            message = f"the segment before ends at offset {end}: {begin - end} offsets are missing"
            yield collector.finding(code, None, message)
        for hole in holes:
            collector.add(code, hole.position, hole.describe())
    yield from collector.take()
    if following is None or _end_of(log) != following:
        yield from islice(_past_end(log), 1)


def _past_end(log: SelectedLog) -> Iterator[Finding]:
    """Yield that an index shows records past the end of its log, once this was read.

    A wrong entry alone shows none: its offset is past the end as well as its byte, or its time is later
    than all. Where bytes follow the last good batch, time entries do not count. A truncation leaves such
    entries in an index that was never closed.
    """
    size = log.file.size if log.file is not None else 0
    largest = log.good_batches["timestamp"].max(initial=NO_TIMESTAMP)
    for index in sorted(log.indexes, key=lambda index: not index.is_whole):
        is_past = index.offsets >= _end_of(log)
        if isinstance(index, OffsetIndexJudge):
            is_past &= index.values >= size
            message, values = "entry {}: the log ends before byte {}", index.values
        else:
            is_past &= (index.values > largest) & (not log.is_damaged and log.end == size)
            message, values = "entry {}: offset {} is past the segment", index.offsets
        past = np.flatnonzero(is_past)
        if len(past):
            slot, code = int(index.slots[past[0]]), RECORDS_LOST if index.is_whole else MAY_BE_LOST
            finding = index.findings.finding(code, slot * index.size, message.format(slot, values[past[0]]))
            yield finding._replace(more=len(past) - 1)


def _as_losses(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the findings of `check` that mean that a copy lacks records."""
    for finding in findings:
        if finding.code in SAME_FINDINGS:
            yield finding._replace(code=SAME_FINDINGS[finding.code])


def losses_of_loaded(copy: PartitionCopy, loaded: LoadedLog, *, is_tiered: bool | None) -> Iterator[Finding]:
    """Yield what the files around a copy show that it lacks: flushed records, a beginning, a snapshot."""
    partition, log_end = copy.partition, loaded.log_end_offset
    clean, recovery_point, log_start, high_watermark = checkpoints(partition)
    has_lost = copy.lost or {finding.code for finding in copy.findings} & {RECORDS_LOST, MAY_BE_LOST}
    if log_start > log_end and not is_running(partition.target):
        text = f"{START_ABOVE_END}: {log_start}, {log_end} at most"
        yield Finding(MAY_BE_LOST, text, dir=partition.shown, expected=log_end, found=log_start)
    offsets = Offsets(None, recovery_point, high_watermark, None, None, log_end, clean)
    yield from _as_losses(contradictions(partition.target, offsets))
    yield from _as_losses(beginning_findings(partition, loaded.epoch_lines or (), is_tiered=is_tiered))
    end = max(log_end, log_start)
    above = [offset for offset in producer_snapshots(partition.names) if offset > end]
    if above and not has_lost and partition.target.name is not None and partition.target.name.kind == NORMAL:
        text = f"{above[-1]}.snapshot: the log ends at offset {log_end}"
        yield Finding(MAY_BE_LOST, text, dir=partition.shown, more=len(above) - 1)
    yield from damaged_snapshot(partition, loaded.path)
