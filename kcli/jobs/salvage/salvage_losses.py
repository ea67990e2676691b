"""What a salvaged copy lacks because no log has it: files of the partition show that it was there once.

The rules are those of `check`: indexes without a log, offsets missing between segments or batches, entries of
an index that lead past the end of its log, a high watermark, recovery point or producer snapshot above the
log end.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from typing import NamedTuple

from formats.names import LOG, NORMAL, file_prefix, parse_file
from kcli.jobs.checkpoint import beginning_findings, contradictions, is_compacted
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

NO_LOG, MISSING_OFFSETS, POSSIBLE, OPEN_INDEX = "SALV-009", "SALV-010", "SALV-011", "SALV-012"
HOLES = {"LOG-023": MISSING_OFFSETS, "LOG-022": POSSIBLE, "LOG-019": POSSIBLE}
"""What `check` says of offsets between two segments or batches, and what that means for a copy."""
ENDS = {"LOG-025": MISSING_OFFSETS}
"""The same of checkpoints that contradict the log, where it is more than possible."""


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


class _Read(NamedTuple):
    """A segment that was read, and what `SegmentJudge.past_end` says of its indexes.

    `end`: the offset after its last batch, which may be damaged; None where the rest cannot be read.
    """

    facts: SegmentFacts
    past_end: tuple[Finding, bool] | None
    end: int | None


class Losses:
    """Looks at the logs of a partition while they are read; then says which records are in none of them."""

    def __init__(self, partition: Partition, logs: Mapping[int, str], orphans: Collection[Finding]) -> None:
        self._partition = partition
        self._logs = logs
        self._orphans = orphans
        """Findings about indexes that have no log."""
        self._read: list[_Read] = []
        self._judge: SegmentJudge | None = None
        self._end = 0

    def begin(self, base: int) -> None:
        """Read the indexes of a segment: its log, which may grow, is opened after them."""
        target = entry_of(self._partition.target, os.path.basename(self._logs[base]), LOG)
        self._judge = SegmentJudge(target, headers_alone=True)
        self._end = base

    def look(self, window: Window) -> None:
        """Look at batches of the segment."""
        if self._judge is not None:
            self._judge.observe(window)
            last = window.fields[-1]
            self._end = int(last["base_offset"]) + int(last["last_offset_delta"]) + 1

    def end(self, stop: Stop, size: int) -> None:
        """Keep what is known of the segment."""
        if self._judge is not None:
            facts = self._judge.end(LogPart(0, stop, size=size))
            past_end = self._judge.past_end(facts)
            facts = facts._replace(aborted=(), of_indexes=(), if_closed=())
            self._read.append(_Read(facts, past_end, self._end))
            self._judge = None

    def fail(self) -> None:
        """Keep what is known of a segment of which the rest cannot be read."""
        if self._judge is not None:
            facts = self._judge.end(LogPart(0, Stop(END, 0), size=0))
            self._read.append(_Read(facts._replace(aborted=(), of_indexes=(), if_closed=()), None, None))
            self._judge = None

    def findings(self, known: KnownSettings, damaged: Collection[int]) -> Iterator[Finding]:
        """Yield what is lost, or may be; of the segments `damaged` batches are left out, which is said."""
        for one in self._orphans:
            yield one._replace(code=NO_LOG)
        if not (self._logs or self._orphans):
            words = "there is no file of any segment: the copy is an empty log"
            yield Finding(POSSIBLE, words, dir=self._partition.shown)
        given, target = checkpoints(self._partition), self._partition.target
        cleaned = yield from is_compacted(self._partition, known=known)
        judge = PartitionJudge(
            target,
            given,
            None,
            (),
            is_compacted=cleaned,
            has_log_dir=target.log_dir is not None,
            has_epoch_lines=False,
        )
        before, is_whole, log_end = None, not self._orphans, 0
        bases = [read.facts.base for read in self._read]
        for (facts, past_end, end), following in zip_longest(self._read, bases[1:]):
            found = [one for one in judge.add(facts) if one.code in HOLES]
            if not {before, facts.base} & {*damaged}:
                yield from (one._replace(code=HOLES[one.code]) for one in found)
            if past_end is not None and (following is None or facts.end != following):
                one, is_sure = past_end
                yield one._replace(code=NO_LOG if is_sure else OPEN_INDEX)
                is_whole = False
            if end is None:
                is_whole = is_whole and following is not None
            elif following is None or end <= following:
                log_end = max(log_end, end)
            before = facts.base
        if is_whole:
            log_end = max(log_end, given.log_start_offset if judge.end is None else judge.end)
            yield from self._snapshots_above(log_end, is_clean=given.clean)

    def _snapshots_above(self, log_end: int, *, is_clean: bool) -> Iterator[Finding]:
        """Yield that producer snapshots lie above the log end, as a log leaves them that was longer once."""
        target = self._partition.target
        if target.name is None or target.name.kind != NORMAL:
            return
        snapshots = producer_snapshots(self._partition.names)
        found = [*snapshot_gaps(snapshots, (), log_end, is_clean=is_clean, has_producers=False)]
        if found:
            yield Finding(POSSIBLE, found[-1][1], dir=target.shown, more=len(found) - 1)


def checkpoint_losses(
    partition: Partition, loaded: LoadedLog, *, is_tiered: bool | None
) -> Iterator[Finding]:
    """Yield that more was flushed or committed than a copy has, or that it lacks the beginning of the log.

    And that it lacks producers, or that its newest snapshot of a metadata log is not whole.
    """
    log_end = loaded.log_end_offset
    given = checkpoints(partition)
    if given.log_start_offset > log_end and not is_running(partition.target):
        words = f"{START_ABOVE_END}: {given.log_start_offset}, {log_end} at most"
        yield Finding(POSSIBLE, words, dir=partition.shown, expected=log_end, found=given.log_start_offset)
    offsets = Offsets(None, given.recovery_point, given.high_watermark, None, None, log_end, given.clean)
    for one in (
        *contradictions(partition.target, offsets),
        *beginning_findings(partition, loaded.epoch_lines or (), is_tiered=is_tiered),
    ):
        yield one._replace(code=ENDS.get(one.code, POSSIBLE))
    yield from _producer_losses(partition, loaded)
    yield from damaged_snapshot(partition, loaded.path)


def _producer_losses(partition: Partition, loaded: LoadedLog) -> Iterator[Finding]:
    """Yield that the newest whole producer snapshot has producers that wrote before a copy begins alone.

    It is the newest up to the end of the copy. Their batches were deleted by retention, or lie in remote
    storage: recovery of the copy does not see them.
    """
    first, state = loaded.segments[0].base_offset, loaded.producers
    for offset in reversed(producer_snapshots(partition.names)):
        name = f"{file_prefix(offset)}.snapshot"
        held = None
        if offset <= loaded.log_end_offset:
            with suppress(FileError):  # one that cannot be read is as good as a damaged one
                held = read_snapshot(os.path.join(partition.path, name))
        if held is None:
            continue
        before = {number for number, one in held.items() if one.last_offset < first and state.keeps(one)}
        lost = sorted(before - state.producers.keys())
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            words = f"producer {lost[0]}{more}: no batch of it is in the copy, whose snapshots lack it"
            path = os.path.join(partition.shown, name)
            yield Finding("SALV-013", words, dir=partition.shown, path=path, found=len(lost))
        return
