"""Which records a salvaged copy lacks because no log has them: files of the partition show that they existed.

The rules are those of `check`: indexes without a log, offsets missing between segments or batches, entries of
an index that lead past the end of its log, a high watermark, recovery point or producer snapshot above the
log end.
"""

import os
from collections.abc import Iterator
from itertools import islice

import numpy as np

from formats.batch import NO_TIMESTAMP
from formats.names import LOG, NORMAL, parse_file
from kcli.jobs.checkpoint import beginning_findings, contradictions
from kcli.jobs.salvage.partition_copy import PartitionCopy
from kcli.jobs.salvage.selected_batches import SelectedLog
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checks.indexes import OffsetIndexJudge
from kcli.kafka.integrity.checks.producer_files import producer_snapshots
from kcli.kafka.integrity.offset_invariants import START_ABOVE_END, Offsets
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.storage.loaded_log import LoadedLog, checkpoints
from kcli.kafka.storage.log_segment import BrokerError
from kcli.kafka.storage.surviving_files import INDEX_KINDS, surviving_files, without_log
from kcli.logdir.buffers import FileError
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import SWAP

RECORDS_LOST, MAY_BE_LOST = "SALV-010", "SALV-011"
SAME_FINDINGS = {
    "LOG-022": MAY_BE_LOST,
    "LOG-025": RECORDS_LOST,
    "CKPT-001": MAY_BE_LOST,
}
"""What `check` finds, and what that means for a copy."""


def logs_and_orphans(partition: Partition) -> tuple[dict[int, str], list[Finding]]:
    """Return the path of each segment's log, and the indexes that have none.

    Swaps are finished, other files in the way are passed over.
    """
    try:
        files = surviving_files(partition, [])
        logs, indexes = {base: path for base, (path, _) in sorted(files.logs.items())}, files.indexes
    except (BrokerError, FileError):
        logs = {
            one.base_offset: os.path.join(partition.path, f"{one.stem}.log") for one in partition.segments
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
    return int(log.kept["last"].max(initial=log.base - 1)) + 1


def holes_of(log: SelectedLog) -> list[tuple[int, str]]:
    """Return where offsets are missing between the batches of a log: byte and words."""
    kept, holes = log.kept, []
    follows = np.append(log.base, kept["last"] + 1)[:-1]
    for at in np.flatnonzero((kept["first"] > follows) & ~kept["is_legacy"]).tolist():
        first, after = int(follows[at]), int(kept["first"][at])
        where = f"the batch before ends with offset {first - 1}"
        if not at:
            where = f"the segment of offset {first} begins with {after}"
        holes.append((int(kept["position"][at]), f"{where}: {after - first} offsets are missing"))
    return holes


def losses_of_log(
    before: SelectedLog | None, log: SelectedLog, following: int | None, *, is_compacted: bool | None
) -> Iterator[Finding]:
    """Yield what a log lacks, given the log before and the base offset of the one after.

    Several holes are cleaning where no policy is known. Of damaged logs nothing is said: the damage may have
    held the offsets.
    """
    collector = FindingCollector(log.target)
    code, holes = MAY_BE_LOST if is_compacted is None else RECORDS_LOST, holes_of(log)
    is_damaged = log.is_damaged or (before is not None and before.is_damaged)
    is_cleaned = (
        is_compacted or bool(log.kept["is_sparse"].any()) or (is_compacted is None and len(holes) > 1)
    )
    if not (is_damaged or is_cleaned):
        end = log.base if before is None else _end_of(before)
        begin = int(log.kept["first"].min(initial=log.base))
        if begin > end:
            words = f"the segment before ends at offset {end}: {begin - end} offsets are missing"
            yield collector.finding(code, None, words)
        for position, words in holes:
            collector.add(code, position, words)
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
    largest = log.kept["timestamp"].max(initial=NO_TIMESTAMP)
    for index in sorted(log.indexes, key=lambda one: not one.is_whole):
        is_past = index.offsets >= _end_of(log)
        if isinstance(index, OffsetIndexJudge):
            is_past &= index.others >= size
            words, values = "entry {}: the log ends before byte {}", index.others
        else:
            is_past &= (index.others > largest) & (not log.is_damaged and log.end == size)
            words, values = "entry {}: offset {} is past the segment", index.offsets
        at = np.flatnonzero(is_past)
        if len(at):
            slot, code = int(index.slots[at[0]]), RECORDS_LOST if index.is_whole else MAY_BE_LOST
            finding = index.findings.finding(code, slot * index.size, words.format(slot, values[at[0]]))
            yield finding._replace(more=len(at) - 1)


def _as_losses(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the findings of `check` that mean that a copy lacks records."""
    return (one._replace(code=SAME_FINDINGS[one.code]) for one in findings if one.code in SAME_FINDINGS)


def losses_of_loaded(copy: PartitionCopy, loaded: LoadedLog, *, is_tiered: bool | None) -> Iterator[Finding]:
    """Yield that more was flushed or committed than a copy has, or that it lacks the beginning of the log.

    And that producer snapshots lie above its end, or that its newest metadata snapshot is not whole.
    """
    partition, log_end, given = copy.partition, loaded.log_end_offset, checkpoints(copy.partition)
    has_lost = copy.lost or {one.code for one in copy.findings} & {RECORDS_LOST, MAY_BE_LOST}
    if given.log_start_offset > log_end and not is_running(partition.target):
        words = f"{START_ABOVE_END}: {given.log_start_offset}, {log_end} at most"
        yield Finding(MAY_BE_LOST, words, dir=partition.shown, expected=log_end, found=given.log_start_offset)
    offsets = Offsets(None, given.recovery_point, given.high_watermark, None, None, log_end, given.clean)
    yield from _as_losses(contradictions(partition.target, offsets))
    yield from _as_losses(beginning_findings(partition, loaded.epoch_lines or (), is_tiered=is_tiered))
    above = [one for one in producer_snapshots(partition.names) if one > max(log_end, given.log_start_offset)]
    if above and not has_lost and partition.target.name is not None and partition.target.name.kind == NORMAL:
        words = f"{above[-1]}.snapshot: the log ends at offset {log_end}"
        yield Finding(MAY_BE_LOST, words, dir=partition.shown, more=len(above) - 1)
    yield from damaged_snapshot(partition, loaded.path)
