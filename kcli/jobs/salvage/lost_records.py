"""Which records a salvaged copy lacks because no log has them: files of the partition show that they existed.

The rules are those of `check`: indexes without a log, offsets missing between segments or batches, entries of
an index that lead past the end of its log, a high watermark, recovery point or producer snapshot above the
log end.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import zip_longest

from formats.names import LOG, NORMAL, file_prefix, parse_file
from kcli.jobs.checkpoint import beginning_findings, contradictions, is_compacted
from kcli.jobs.salvage.partition_copy import MADE_ANEW, PartitionCopy
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checks.partitions import PartitionJudge
from kcli.kafka.integrity.checks.producer_files import producer_snapshots, snapshot_gaps
from kcli.kafka.integrity.checks.segments import SegmentFacts, SegmentJudge
from kcli.kafka.integrity.log_part import LogPart
from kcli.kafka.integrity.offset_invariants import START_ABOVE_END, Offsets
from kcli.kafka.kraft.log_settings import KnownSettings
from kcli.kafka.kraft.metadata_snapshot import damaged_snapshot
from kcli.kafka.storage.loaded_log import LoadedLog, checkpoints
from kcli.kafka.storage.log_segment import BrokerError
from kcli.kafka.storage.producer_state import read_snapshot
from kcli.kafka.storage.surviving_files import INDEX_KINDS, surviving_files, without_log
from kcli.logdir.buffers import FileError
from kcli.logdir.bulk import Window
from kcli.logdir.log_dirs import is_running
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import SWAP
from kcli.logdir.segment import END, Stop
from kcli.logdir.targets import entry_of

RECORDS_LOST, MAY_BE_LOST = "SALV-010", "SALV-011"
SAME_FINDINGS = {
    "LOG-023": RECORDS_LOST,
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


class LostRecords:
    """Observes the logs of a partition while they are read; then says which records are in none of them."""

    def __init__(self, partition: Partition) -> None:
        self.logs, self._orphans = logs_and_orphans(partition)
        self._partition = partition
        self._judge: SegmentJudge | None = None
        self._segments: list[tuple[SegmentFacts, tuple[Finding, bool] | None]] = []
        """With each what `SegmentJudge.past_end` says of its indexes."""

    def on_log(self, base: int) -> None:
        """Read the indexes of a segment: its log, which may grow, is opened after them."""
        target = entry_of(self._partition.target, os.path.basename(self.logs[base]), LOG)
        self._judge = SegmentJudge(target, headers_alone=True)

    def on_batches(self, window: Window) -> None:
        """Look at batches of the segment."""
        if self._judge is not None:
            self._judge.observe(window)

    def on_end(self, stop: Stop | None, size: int) -> None:
        """Keep what is known of the segment."""
        if self._judge is not None:
            facts = self._judge.end(LogPart(0, stop or Stop(END, 0), size=size))
            past_end = None if stop is None else self._judge.past_end(facts)
            self._segments.append((facts._replace(aborted=(), of_indexes=(), if_closed=()), past_end))
            self._judge = None

    def findings(self, known: KnownSettings, damaged: Collection[int]) -> Iterator[Finding]:
        """Yield what is lost, or may be; of the segments `damaged` batches are left out, which is said."""
        yield from (one._replace(code=RECORDS_LOST) for one in self._orphans)
        if not (self.logs or self._orphans):
            words = "there is no file of any segment: the copy is an empty log"
            yield Finding(MAY_BE_LOST, words, dir=self._partition.shown)
        target = self._partition.target
        judge = PartitionJudge(
            target,
            checkpoints(self._partition),
            None,
            (),
            is_compacted=(yield from is_compacted(self._partition, known=known)),
            has_log_dir=target.log_dir is not None,
            has_epoch_lines=False,
        )
        before = None
        following = [facts.base for facts, _ in self._segments[1:]]
        for (facts, past_end), base_after in zip_longest(self._segments, following):
            found = list(judge.add(facts))
            if not {before, facts.base} & {*damaged}:
                yield from _as_losses(found)
            if past_end is not None and (base_after is None or facts.end != base_after):
                finding, is_sure = past_end
                yield finding._replace(code=RECORDS_LOST if is_sure else MAY_BE_LOST)
            before = facts.base


def _as_losses(findings: Iterator[Finding] | Collection[Finding]) -> Iterator[Finding]:
    """Yield the findings of `check` that mean that a copy lacks records."""
    return (one._replace(code=SAME_FINDINGS[one.code]) for one in findings if one.code in SAME_FINDINGS)


def losses_of_loaded(copy: PartitionCopy, loaded: LoadedLog, *, is_tiered: bool | None) -> Iterator[Finding]:
    """Yield that more was flushed or committed than a copy has, or that it lacks the beginning of the log.

    And that it lacks producers, or that its newest snapshot of a metadata log is not whole.
    """
    partition, log_end, given = copy.partition, loaded.log_end_offset, checkpoints(copy.partition)
    has_lost = copy.lost or {one.code for one in copy.findings} & {RECORDS_LOST, MAY_BE_LOST}
    if given.log_start_offset > log_end and not is_running(partition.target):
        words = f"{START_ABOVE_END}: {given.log_start_offset}, {log_end} at most"
        yield Finding(MAY_BE_LOST, words, dir=partition.shown, expected=log_end, found=given.log_start_offset)
    offsets = Offsets(None, given.recovery_point, given.high_watermark, None, None, log_end, given.clean)
    yield from _as_losses(contradictions(partition.target, offsets))
    yield from _as_losses(beginning_findings(partition, loaded.epoch_lines or (), is_tiered=is_tiered))
    if not has_lost:
        yield from _snapshots_above(partition, max(log_end, given.log_start_offset), is_clean=given.clean)
    yield from _lost_producers(partition, loaded)
    yield from damaged_snapshot(partition, loaded.path)


def _snapshots_above(partition: Partition, log_end: int, *, is_clean: bool) -> Iterator[Finding]:
    """Yield that producer snapshots lie above the log end, as a log leaves them that was longer once."""
    if partition.target.name is None or partition.target.name.kind != NORMAL:
        return
    offsets = producer_snapshots(partition.names)
    above = [*snapshot_gaps(offsets, (), log_end, is_clean=is_clean, has_producers=False)]
    if above:
        yield Finding(MAY_BE_LOST, above[-1][1], dir=partition.shown, more=len(above) - 1)


def _lost_producers(partition: Partition, loaded: LoadedLog) -> Iterator[Finding]:
    """Yield that the newest whole producer snapshot has producers that wrote before a copy begins alone.

    It is the newest up to the end of the copy. Their batches were deleted by retention, or lie in remote
    storage: recovery of the copy does not see them.
    """
    first, state = loaded.segments[0].base_offset, loaded.producers
    for offset in reversed(producer_snapshots(partition.names)):
        if offset > loaded.log_end_offset:
            continue
        path = os.path.join(partition.path, f"{file_prefix(offset)}.snapshot")
        with suppress(FileError):  # one that cannot be read is as good as a damaged one
            producers = read_snapshot(path)
            if producers is None:
                continue
            before = {
                number for number, one in producers.items() if one.last_offset < first and state.keeps(one)
            }
            lost = sorted(before - state.producers.keys())
            if lost:
                more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
                words = f"producer {lost[0]}{more}: no batch of it is in the copy, whose snapshots lack it"
                shown = os.path.join(partition.shown, os.path.basename(path))
                yield Finding(MADE_ANEW, words, dir=partition.shown, path=shown, found=len(lost))
            return
