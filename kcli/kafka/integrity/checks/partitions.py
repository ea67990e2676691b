"""What `check` concludes from the segments of a partition, one after the other."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from formats.batch import NO_PARTITION_LEADER_EPOCH
from formats.errors import FormatError
from formats.index import TXN_INDEX_ENTRY
from formats.names import NORMAL, file_prefix
from formats.producer_snapshot import read_snapshot
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.checkpoints import Offsets
from kcli.kafka.integrity.checks.batches import misfits
from kcli.kafka.integrity.checks.producers import (
    NO_PRODUCERS,
    ProducerMap,
    ProducerViolation,
    of_entry,
    snapshot_gaps,
    snapshot_misfits,
    txn_index_misfits,
)
from kcli.kafka.integrity.checks.segments import LARGEST_TXN_INDEX, SegmentFacts, txn_entries
from kcli.kafka.kraft.partition_start import Inspected
from kcli.kafka.storage.loaded_log import UNKNOWN_SETTINGS, Checkpoints, Settings
from kcli.logdir.buffers import FileError, file_error, read_optional
from kcli.logdir.concurrent_changes import comes_true
from kcli.logdir.partition import LEADER_EPOCH_CHECKPOINT
from kcli.logdir.partition_names import index_file
from kcli.logdir.targets import Target, entry_of

SNAPSHOT = ".snapshot"


class PartitionFiles(NamedTuple):
    """What the files of a partition directory say, before any segment is read.

    `snapshots` are the offsets of its producer snapshots, `metadata_snapshot` the epoch and the end of the
    newest snapshot that reaches the start of a metadata log. `topic_id` is that of partition.metadata.
    """

    inspected: Inspected
    offsets: Offsets
    snapshots: tuple[int, ...]
    topic_id: str | None
    metadata_snapshot: tuple[int, int] | None
    needs_start: bool
    """Segments lie in .swap files, or the snapshots of a metadata log may keep it from loading: only a start
    says what the log is.
    """
    is_compacted: bool | None
    is_tiered: bool | None
    settings: Settings = UNKNOWN_SETTINGS


class PartitionJudge:
    """Takes in a log's segments; `is_compacted` once one shows cleaning, `epoch` of the last batch so far."""

    def __init__(self, target: Target, files: PartitionFiles) -> None:
        inspected = files.inspected
        self.target = target
        self.checkpoints = inspected.checkpoints
        self.epochs = None if inspected.epoch_lines is None else inspected.epochs
        self.is_compacted = bool(files.is_compacted)
        self._is_never_compacted = files.is_compacted is False
        self.has_log_dir = target.log_dir is not None
        self._has_epoch_lines = bool(inspected.epoch_lines)
        self._log_start_line = None if files.is_tiered is False else files.offsets.log_start
        self.end: int | None = None
        self._offsets = files.snapshots
        self._snapshots = list(files.snapshots)
        self._bases: list[int] = []
        self._producers = ProducerMap()
        self._first_read: int | None = None
        """The offset from which on batches are read without a gap: nothing is known of producers before."""
        self.epoch = NO_PARTITION_LEADER_EPOCH
        self._has_epochs = False
        self._has_messages = False
        self._before: SegmentFacts | None = None
        self._of_transactions: tuple[Finding, ...] = ()

    @property
    def has_open_transactions(self) -> bool:
        """Whether a transaction may be open behind the segments that were added."""
        return self._producers.may_be_open

    def add(self, facts: SegmentFacts) -> Iterator[Finding]:
        """Yield what a segment and those before it show together."""
        if self._before is not None:
            yield from self._of_indexes(self._before, facts.base)
            yield from self._between(self._before, facts)
            yield from self._tail(self._before, facts.base)
        self._bases.append(facts.base)
        if self._first_read is None:
            self._first_read = facts.base if facts.first is None else facts.first
        yield from self._snapshots_up_to(facts.base)
        if self._before is not None and self._before.is_remembered and not facts.is_remembered:
            # as after segments that retention deleted
            self._producers, self._first_read = ProducerMap(), facts.base
        self._of_transactions = tuple(self._transactions(facts))
        of_log = FindingCollector(facts.target)
        self._within(facts, of_log)
        compacted = self._is_cleaned(facts)
        for violation in facts.producers.violations:
            _add(of_log, violation, is_compacted=compacted)
        for violation in self._producers.add(facts.producers):
            is_compacted = compacted or bool(self._before and self._before.is_compacted)
            _add(of_log, violation, is_compacted=is_compacted)
        for code, run, message in misfits(
            facts.epochs,
            self.epoch,
            self.epochs or (),
            is_clean=self.checkpoints.clean,
            log_start=self.checkpoints.log_start_offset,
        ):
            if code == "EPOCH-008" or self.epochs is not None:
                of_log.add(code, run.position, message)
        yield from of_log.take()
        self.epoch = facts.epochs[-1].epoch if facts.epochs else self.epoch
        self._has_epochs = self._has_epochs or bool(facts.epochs)
        self._has_messages = self._has_messages or facts.has_messages
        self.is_compacted = compacted
        self._before = facts
        self.end = facts.end if facts.end is not None else max(facts.base, self.end or 0)

    def finish(self) -> Iterator[Finding]:
        """Yield what is to be said when the last segment was taken in."""
        if self._before is not None:
            yield from self._of_indexes(self._before, None)
        if self.end is not None:
            yield from self._snapshots_up_to(self.end, last=True)
            yield from self._gaps(self.end)
        if not self._has_epoch_lines and (self._lacks_epochs() or self._begins_elsewhere()):
            what = "no" if self.epochs is None else "no entry in"
            message = f"{what} {LEADER_EPOCH_CHECKPOINT}"
            if self._begins_elsewhere():
                message += f": none leads to the offsets below {self._bases[0]}, which are not on disk"
            yield Finding("EPOCH-001", message, dir=self.target.shown)

    def _lacks_epochs(self) -> bool:
        """Whether batches have epochs that recovery does not add: a segment with batches is left as it is."""
        second = self._bases[1] if len(self._bases) > 1 else None
        return self._has_epochs and (self.epochs is None or not self.checkpoints.recovers(second))

    def _begins_elsewhere(self) -> bool:
        """Whether a log begins below its first segment, as a tiered one does; none from before 0.11."""
        is_old = self._has_messages and not self._has_epochs
        begin = None if is_old else self._log_start_line
        return bool(self._bases) and begin is not None and begin < self._bases[0]

    def _gaps(self, log_end: int) -> Iterator[Finding]:
        """Yield which producer snapshots are missing, and which lie above the log."""
        is_live = self.target.name is not None and self.target.name.kind == NORMAL
        is_empty = self.checkpoints.log_start_offset >= log_end  # then none is written when the log is closed
        if not self.has_log_dir or not is_live or is_empty:
            return
        for code, message in snapshot_gaps(
            self._offsets,
            self._bases,
            log_end,
            is_clean=self.checkpoints.clean,
            has_producers=bool(self._producers.runs),
        ):
            yield Finding(code, message, dir=self.target.shown)

    def _of_indexes(self, facts: SegmentFacts, following: int | None) -> Iterator[Finding]:
        """Yield what is wrong with a segment's indexes, given the next base; recovery writes stale ones."""
        is_left = self.target.name is not None and self.target.name.kind != NORMAL
        is_closed = following is not None or (self.checkpoints.clean and self.has_log_dir and not is_left)
        findings = [*facts.of_indexes, *self._of_transactions, *(facts.if_closed if is_closed else ())]
        if not self.checkpoints.recovers(following):
            yield from findings
            return
        paths = set()
        for finding in findings:
            if finding.severity == "info" or finding.code == "LOG-008":
                yield finding
            elif finding.path not in paths:
                paths.add(finding.path)
                yield finding._replace(code="IDX-010", message=f"{finding.code}: {finding.message}", more=0)

    def _between(self, before: SegmentFacts, facts: SegmentFacts) -> Iterator[Finding]:
        """Yield offsets missing between two segments that were not cleaned, or overlapping unless scanned."""
        end = before.base if before.end is None else before.end
        if (before.is_remembered or facts.is_remembered) and facts.first is not None and facts.first < end:
            message = f"offset {facts.first}: not above {end - 1}, the last of the segment before"
            yield FindingCollector(facts.target).finding("LOG-017", None, message)
        begin = facts.base if facts.first is None else min(facts.base, facts.first)
        is_cleaned = self._is_cleaned(before) or self._is_cleaned(facts)
        if begin > end and not is_cleaned and not before.is_cut and self.has_log_dir:
            message = f"the segment before ends at offset {end}: {begin - end} offsets are missing"
            code = "LOG-023" if self._is_never_compacted else "LOG-022"
            yield FindingCollector(facts.target).finding(code, None, message)

    def _is_cleaned(self, facts: SegmentFacts) -> bool:
        """Whether a segment may lack what the cleaner removed: holes show it where no policy is known."""
        return self.is_compacted or (facts.is_sparse if self._is_never_compacted else facts.is_compacted)

    def _within(self, facts: SegmentFacts, of_log: FindingCollector) -> None:
        """Keep that offsets are missing in a segment; several holes are cleaning where no policy is known."""
        is_cleaned = len(facts.holes) > 1 and not self._is_never_compacted
        if self.is_compacted or facts.is_sparse or is_cleaned or not self.has_log_dir:
            return
        end_before = (self._before and self._before.end) or 0
        for hole in facts.holes:
            code, what = "LOG-023" if self._is_never_compacted else "LOG-022", None
            if not hole.position and end_before >= hole.end:
                what = f"those before {hole.end} are in the segment before, where no fetch looks"
                code = "LOG-022"
            of_log.add(code, hole.position, hole.describe(what))

    def _tail(self, before: SegmentFacts, following: int) -> Iterator[Finding]:
        """Yield that bytes follow the batches of a segment that is not the last."""
        if before.tail > 0:
            message = f"{before.tail} bytes follow the last batch, and another segment follows at {following}"
            yield FindingCollector(before.target).finding("LOG-002", before.size - before.tail, message)

    def _transactions(self, facts: SegmentFacts) -> Iterator[Finding]:
        """Yield how the transaction index differs from the markers of its segment."""
        expected = self._producers.aborted(facts.producers)
        if expected is None or self._is_cleaned(facts) or facts.is_cut:
            return
        if not (expected or facts.aborted):
            return
        index = index_file(facts.target, "txnindex")
        findings = FindingCollector(index)
        entries = facts.aborted
        if not expected <= set(map(of_entry, entries)):
            # a running broker writes the entry after the marker: it may have come since
            with suppress(FileError):
                later = txn_entries(read_optional(index.path, LARGEST_TXN_INDEX) or b"")
                entries += tuple(entry for entry in later[len(entries) :] if of_entry(entry) in expected)
        for code, number, message in txn_index_misfits(
            entries,
            expected,
            self._producers.begins(facts.producers),
            self._first_read or 0,
            facts.end or facts.base,
        ):
            findings.add(code, None if number is None else number * TXN_INDEX_ENTRY.size, message)
        yield from findings.take()

    def _snapshots_up_to(self, offset: int, *, last: bool = False) -> Iterator[Finding]:
        """Yield what is wrong with snapshots up to an offset; only one of it can be held against batches."""
        while self._snapshots and (last or self._snapshots[0] <= offset):
            snapshot = self._snapshots.pop(0)
            yield from self._snapshot(snapshot, is_exact=snapshot == offset)

    def _snapshot(self, offset: int, *, is_exact: bool) -> Iterator[Finding]:
        name = f"{file_prefix(offset)}{SNAPSHOT}"
        target = entry_of(self.target, name, "snapshot")
        findings = FindingCollector(target)
        runs = self._producers.runs
        is_exact = is_exact and runs is not None
        try:
            comes_true(target.path, lambda: _is_whole(target.path))
            data = read_optional(target.path)
            for code, message in snapshot_misfits(
                () if data is None else read_snapshot(data).entries,
                runs if runs is not None and is_exact and data is not None else {},
                offset,
                (self._first_read or 0) if is_exact else offset,
                is_compacted=self.is_compacted,
            ):
                findings.add(code, None, message)
        except FormatError as error:
            findings.add("PROD-001", error.position, file_error(target.path, error).message)
        except FileError as error:
            findings.add_error(error)
        yield from findings.take()


def _is_whole(snapshot: str) -> bool:
    """Whether a producer snapshot can be read, or is gone: a broker makes the file before it writes it."""
    data = read_optional(snapshot)
    try:
        return data is None or read_snapshot(data) is not None
    except FormatError:
        return False


def _add(findings: FindingCollector, violation: ProducerViolation, *, is_compacted: bool) -> None:
    """Keep a finding about a producer; batches that cleaning removed leave gaps in its sequences."""
    if violation.code != "PROD-003" or not is_compacted:
        findings.add(violation.code, violation.position, violation.message)


def without_details(facts: SegmentFacts) -> SegmentFacts:
    """Return the facts that are needed when all segments are known, or remembered."""
    return facts._replace(holes=(), producers=NO_PRODUCERS, aborted=(), of_indexes=())


def needs_start(
    segments: Sequence[SegmentFacts], checkpoints: Checkpoints, settings: Settings, *, is_damaged: bool
) -> bool:
    """Whether only a start of a log says what becomes of it.

    One without damage changes nothing but for an unclean end. Only a start shows what recovery makes of
    messages of magic 0 and 1, and whether indexes fit that are there, or that it writes.
    """
    if is_damaged or any(settings.may_fill_index(segment.size) for segment in segments):
        return True
    if segments and _has_long_index(segments[-1].target, settings):
        return True
    if checkpoints.clean or not segments:
        return False
    log_end = log_end_of(segments, checkpoints)
    following = (*(segment.base for segment in segments[1:]), None)
    pairs = zip(segments, following, strict=True)
    is_cut = any((facts.is_cut or facts.has_messages) and checkpoints.recovers(end) for facts, end in pairs)
    return is_cut or log_end is None or log_end < checkpoints.log_start_offset


def _has_long_index(active: Target, settings: Settings) -> bool:
    """Whether a file of an index of the active segment is longer than segment.index.bytes."""
    if settings.max_index_size is None:
        return False
    for extension in ("index", "timeindex"):
        with suppress(OSError):  # a running broker may have removed it
            if os.stat(index_file(active, extension).path).st_size > settings.max_index_size:
                return True
    return False


def log_end_of(segments: Sequence[SegmentFacts], checkpoints: Checkpoints) -> int | None:
    """Return the log end offset of a log that is recovered without a cut; None without a segment."""
    if not segments:
        return checkpoints.log_start_offset
    last = segments[-1]
    return last.base if last.good_end.offset is None else last.good_end.offset
