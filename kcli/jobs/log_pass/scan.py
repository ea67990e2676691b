"""`scan`: what segments and partitions hold, by headers and checksums alone.

`ScanLog` maps each segment, `DirectoryScan` joins segments to partitions. `check` is the same pass with more
in each of the two.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeAlias

from formats.batch import COMPRESSION_NAMES
from formats.bounds import LARGEST_BATCH
from kcli.engine.contract import Outcome, Reduce, Unit
from kcli.jobs import common
from kcli.jobs.log_pass.log_targets import directory_of, identity
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.log_scan import Defects, LogScan, Observer, scan_log
from kcli.kafka.integrity.summary import EMPTY, Codec, Summary, merge
from kcli.kafka.kraft.partition_start import inspect
from kcli.logdir.buffers import FileError, Reading
from kcli.logdir.concurrent_changes import REMOVED
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import is_swap, listed_log, segment_base
from kcli.logdir.remote_objects import open_log
from kcli.logdir.segment import DamagedRange, Stop
from kcli.logdir.targets import PARTITION, Target
from kcli.rows import Failure, Item
from kcli.rows.declare import declared_type, names_of
from kcli.rows.partitions import FromFile, Where
from kcli.rows.scan import CodecUse, ScanPartitionRow, ScanSegmentRow, ScanSummary

OF_A_START = frozenset(
    {
        *("EPOCH-002", "IDX-002", "IDX-011", "LOG-006", "LOG-007", "LOG-009", "LOG-014", "LOG-022"),
        *("META-008", "START-003", "START-004", "START-008"),
    }
)
"""Findings about the files of a directory that a walk over the bytes of the logs does not make itself."""
UNFORESEEN = "unsupported"
"""The error of a start that goes on in a way that is not computed here: its logs are read all the same."""


Inspection: TypeAlias = Callable[[Partition], Iterable[Item | Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """What is read, how fast (bytes a second, 0: any), and which rows are given; `cold`: pages go back."""

    verify: bool = True
    ratio: bool = False
    max_batch_bytes: int = LARGEST_BATCH
    rate: int = 0
    cold: bool = False
    rows: frozenset[str] = names_of(ScanSegmentRow, ScanPartitionRow)


class ScannedUnit(NamedTuple):
    """What the map found in a log, or a directory without one; no `log` on an error or a removal."""

    unit: Unit
    source: FromFile | None = None
    log: LogScan | None = None
    findings: tuple[Finding, ...] = ()
    error: Failure | None = None


class Total(NamedTuple):
    """What the segments of a directory hold together, in bytes; not `complete` if one could not be read."""

    summary: Summary = EMPTY
    segments: int = 0
    size: int = 0
    damaged_ranges: int = 0
    damaged_bytes: int = 0
    tail: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ScanLog:
    """The map with its options, picklable. A unit is a log, or a partition directory."""

    options: ScanOptions

    def __call__(self, unit: Unit) -> Outcome:
        """Return a ScannedUnit, as the partial of a DirectoryScan."""
        scanned = common.until_whole(unit, lambda: self.read(unit), lambda scan: scan.error)
        return Outcome(number=unit.number, partial=scanned)

    def read(self, unit: Unit, observer: Observer | None = None) -> ScannedUnit:
        """Return what is in a unit; `observer` as of `scan_log`."""
        options = self.options
        try:
            if unit.target.kind == PARTITION:
                return inspected(unit, inspect)[0]
            base = segment_base(unit.target)
            largest = options.max_batch_bytes if options.ratio else None
            with open_log(unit.target.path, Reading(options.rate, options.cold)) as file:
                log = scan_log(file, base, verify=options.verify, largest=largest, observer=observer)
            facts = common.facts_around(unit.target)
            findings = common.log_dir_findings(unit.target, facts)
            return ScannedUnit(unit, common.source_of(unit.target, facts), log, tuple(findings))
        except FileError as error:
            outcome = common.failed(unit, error)
            return ScannedUnit(unit, findings=tuple(outcome.findings), error=outcome.error)


class DirectoryScan:
    """Takes in the logs of a directory, in order, and gives its rows of some `types`; changed in place."""

    def __init__(self, types: frozenset[str], unread: frozenset[str] = frozenset()) -> None:
        self._types = types
        self._unread = unread
        self._last_offset: int | None = None
        self.total: Total | None = None
        self.where: Where | None = None

    def add(self, outcome: Outcome) -> Outcome:
        """Take in the next outcome of the map; return the row and the findings of its log."""
        scanned = outcome.partial
        if isinstance(scanned, Unit):  # its worker died
            scanned = ScannedUnit(scanned, error=outcome.error)
        assert isinstance(scanned, ScannedUnit)
        return self.add_unit(outcome.number, scanned)

    def add_unit(self, number: int, scanned: ScannedUnit) -> Outcome:
        """Take in the next log; return its row and its findings."""
        target, log, source = scanned.unit.target, scanned.log, scanned.source
        if self.total is None:
            directory = identity(directory_of(target).shown, os.path.realpath)
            self.total = Total(complete=directory not in self._unread)
        outcome = Outcome(number=number, findings=[*scanned.findings], error=scanned.error)
        if source is None:
            self.total = self.total._replace(complete=False)
        else:
            self.where = source.where
        if source is not None and log is not None:
            self.total = _with_segment(self.total, log)
            is_one = is_segment(target) and not is_swap(target)  # what it replaces may be named, too
            if declared_type(ScanSegmentRow).name in self._types:
                summary = _summary(_with_segment(Total(), log))
                row = ScanSegmentRow(source.where, source.file, log.size, summary, stop=log.stop.reason)
                outcome.rows.append(row)
            outcome.findings.extend(_findings(target, log, self._last_offset if is_one else None))
            if is_one and log.summary.last_offset is not None:
                self._last_offset = log.summary.last_offset
        return outcome

    def finish(self, number: int) -> Outcome:
        """Return the row of the partition."""
        outcome, total = Outcome(number=number), self.total
        assert total is not None
        if declared_type(ScanPartitionRow).name in self._types and self.where is not None:
            numbers = total.segments, total.complete, total.size
            outcome.rows.append(ScanPartitionRow(self.where, *numbers, _summary(total)))
        return outcome


def fold_directories(new: Callable[[], DirectoryScan]) -> Reduce:
    """Return the reduce step over the logs of a directory, with what is made `new` for each."""

    def reduce(left: Outcome | None, right: Outcome | None) -> Outcome:
        directory = new() if left is None else left.partial
        assert isinstance(directory, DirectoryScan)
        if right is not None:
            return replace(directory.add(right), partial=directory)
        assert left is not None
        return replace(directory.finish(left.number), partial=directory)

    return reduce


def inspected(unit: Unit, inspection: Inspection) -> tuple[ScannedUnit, object]:
    """Return what a start finds in a directory and its logs do not show, and what the inspection returns."""
    target = unit.target
    listed_log(target.path)  # FileError where it has been removed since
    outcome = common.answer(unit, inspection)
    source = common.source_of(replace(target, shown=os.path.join(target.shown, "-")))
    findings = tuple(each for each in outcome.findings if each.code in OF_A_START or each.code[:4] == "DIR-")
    is_unforeseen = outcome.error is not None and outcome.error.error == UNFORESEEN
    error = None if is_unforeseen else outcome.error
    return ScannedUnit(unit, source, findings=findings, error=error), outcome.partial


def group_directories(units: Sequence[Unit]) -> list[Unit]:
    """Return units with each directory as a group."""
    groups = enumerate(groupby(units, key=lambda unit: directory_of(unit.target)))
    return [replace(unit, group=group) for group, (_, directory) in groups for unit in directory]


def is_segment(target: Target) -> bool:
    """Whether a file is a segment of a log, or becomes one."""
    return segment_base(target) is not None


def _findings(target: Target, log: LogScan, before: int | None) -> Iterator[Finding]:
    """Yield findings about a segment after one whose last offset is `before`, in the words of `dump`."""
    base = log.summary.base_offset
    reaches_back = before is not None and base is not None and base <= before
    if reaches_back and not os.path.lexists(target.path):
        merged = common.moved(target, FileError(target.path, REMOVED, "removed"))
        if merged is not None:  # by compaction, into the segment before, which was read after that
            reaches_back = False
            yield merged
    has_defects = bool(log.defects) or log.summary.backwards.times or reaches_back
    if log.stop.reason == "end" and log.grown <= 0 and not log.gap_count and not has_defects:
        return

    from kcli.kafka.findings.log_findings import growth_message, report_damage

    collector = FindingCollector(target)
    damage: list[DamagedRange | Stop] = [*log.gaps, log.stop]
    for item in damage:
        yield from (finding for finding in report_damage(item, collector) if isinstance(finding, Finding))
    overlaps = log.summary.backwards
    overlap = f"offset {base}: not above {before}, the last of the segment before"
    if not reaches_back:
        overlap = f"offset {overlaps.first}: not above the batch before it"
    defects = {
        code: log.defects.get(code, Defects())
        for code in ("LOG-003", "LOG-017", "LOG-018", "LOG-026", "DUMP-002")
    }
    for code, (times, position, message) in (
        ("LOG-002", (log.gap_count - len(log.gaps), None, "further damaged ranges")),
        *defects.items(),
        ("LOG-017", (overlaps.times + reaches_back, None, overlap)),
        ("LOG-005", (int(log.grown > 0), None, growth_message(log.grown))),
    ):
        if times:
            yield collector.finding(code, position, message)._replace(more=times - 1)
    yield from collector.take()


def _with_segment(total: Total, log: LogScan) -> Total:
    """Return a total with one more segment; what is neither a valid batch nor the tail is damaged."""
    is_damaged = bool(log.gaps) and log.gaps[-1].next_offset is None
    size, tail = log.size, 0 if is_damaged else log.size - log.stop.position
    return Total(
        merge(total.summary, log.summary),
        total.segments + 1,
        total.size + size,
        total.damaged_ranges + log.gap_count,
        total.damaged_bytes + size - log.summary.bytes - tail,
        total.tail + tail,
        total.complete,
    )


def _summary(total: Total) -> ScanSummary:
    """Return the columns that segments and partitions share."""
    summary = total.summary
    believed = summary.batches - summary.invalid
    counted = believed - summary.uncounted
    opened = summary.transactions.open if summary.transactions is not None else None
    return ScanSummary(
        batches=summary.batches,
        batch_bytes=summary.bytes,
        records=summary.records if counted or not summary.uncounted else None,
        uncounted_batches=summary.uncounted,
        base_offset=summary.base_offset,
        last_offset=summary.last_offset,
        min_timestamp=summary.min_timestamp,
        max_timestamp=summary.max_timestamp,
        first_epoch=summary.first_epoch,
        last_epoch=summary.last_epoch,
        epochs=None if summary.epochs is None else len(summary.epochs),
        producers=None if summary.producers is None else len(summary.producers),
        transactional_batches=summary.transactional,
        control_batches=summary.control,
        open_transactions=None if opened is None else len(opened),
        first_open_offset=min(opened.values(), default=None) if opened is not None else None,
        codecs=tuple(_codec(number, codec) for number, codec in enumerate(summary.codecs) if codec.batches),
        largest_batch_bytes=summary.largest if believed else None,
        mean_batch_bytes=round(summary.bytes / believed) if believed else None,
        records_per_batch=round(summary.records / counted, 2) if counted else None,
        valid_batches=summary.valid,
        invalid_batches=summary.invalid,
        unchecked_batches=summary.unchecked,
        offset_gaps=summary.gaps.times,
        first_gap_offset=summary.gaps.first,
        offset_overlaps=summary.backwards.times,
        first_overlap_offset=summary.backwards.first,
        damaged_ranges=total.damaged_ranges,
        damaged_bytes=total.damaged_bytes,
        tail_bytes=total.tail,
    )


def _codec(number: int, codec: Codec) -> CodecUse:
    return CodecUse(
        COMPRESSION_NAMES.get(number, str(number)),
        codec.batches,
        codec.bytes,
        decompressed_bytes=codec.unpacked if codec.opened else None,
        ratio=round(codec.unpacked / codec.packed, 2) if codec.packed else None,
    )
