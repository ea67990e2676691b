"""`scan`: what segments and partitions hold, by headers and checksums alone; a big segment in pieces.

`split_segments` cuts large segments where the offset index leads to a batch, `ScanLog` maps each range,
`DirectoryScan` joins ranges to segments and segments to partitions, and reads a segment again as a whole if
its ranges do not join. `check` is the same pass with more in each of the two.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeAlias

from formats.bounds import LARGEST_BATCH
from kcli.engine.contract import Outcome, Reduce, Unit
from kcli.jobs.common import (
    answer,
    facts_around,
    failed,
    internal_failure,
    log_dir_findings,
    moved,
    source_of,
    until_whole,
)
from kcli.jobs.scan.log_ranges import cut
from kcli.jobs.scan.log_targets import directory_of, identity
from kcli.jobs.scan.scan_rows import Total, partition_row, segment_row, with_segment
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import Finding
from kcli.kafka.integrity.log_part import LogPart, Observe, ReadOptions, join, read_part
from kcli.kafka.kraft.partition_start import inspect
from kcli.logdir.buffers import FileError, Reading
from kcli.logdir.concurrent_changes import REMOVED
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import is_swap, listed_log, segment_base
from kcli.logdir.remote_objects import open_log
from kcli.logdir.segment import DamagedRange, Stop
from kcli.logdir.targets import PARTITION, Target
from kcli.rows import Failure, Item
from kcli.rows.partitions import FromFile, Where
from kcli.rows.scan import SCAN_PARTITION, SCAN_SEGMENT

PIECE_BYTES = 64 << 20
"""Of a piece of a big segment, at least."""
OF_A_START = frozenset(
    {
        "EPOCH-002",
        "IDX-002",
        "IDX-011",
        "LOG-006",
        "LOG-007",
        "LOG-009",
        "LOG-014",
        "LOG-022",
        "META-008",
        "START-003",
        "START-004",
        "START-008",
    }
)
"""Findings about the files of a directory that a walk over the bytes of the logs does not make itself."""
UNFORESEEN = "unsupported"
"""The error of a start that goes on in a way that is not computed here: its logs are read all the same."""
MANY_WORKERS = 8
"""So many share a segment of a gibibyte in the smallest pieces, two each; fewer do with larger ones."""


Inspection: TypeAlias = Callable[[Partition], Iterable[Item | Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """What is read, how fast (bytes a second, 0: without a limit), and which rows are given.

    `cold` gives pages back to the system; `ratio` decompresses batches up to `max_batch_bytes`.
    """

    verify: bool = True
    ratio: bool = False
    max_batch_bytes: int = LARGEST_BATCH
    rate: int = 0
    cold: bool = False
    rows: frozenset[str] = frozenset({SCAN_SEGMENT.name, SCAN_PARTITION.name})


class LogRange(NamedTuple):
    """What a map found in a range of a log, or in a partition directory without one, which has no piece.

    `piece` is None, too, where there was an error, or where the file is gone, as `findings` say.
    `must_reread`: its pieces do not join. `is_lost`: its worker died, so it is not read again.
    """

    unit: Unit
    source: FromFile | None = None
    piece: LogPart | None = None
    findings: tuple[Finding, ...] = ()
    error: Failure | None = None
    must_reread: bool = False
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class ScanLog:
    """The map with its options, picklable. A unit is a log from byte `start` to `end`, 0 for its own."""

    options: ScanOptions

    def __call__(self, unit: Unit) -> Outcome:
        """Return the piece of a unit, as the partial of a ScanReducer."""
        found = until_whole(unit, lambda: self.read(unit), lambda one: one.error)
        return Outcome(number=unit.number, partial=found)

    def read(self, unit: Unit, observe: Observe | None = None) -> LogRange:
        """Return what is in the range of a unit; `observe` as of `read_part`."""
        options = self.options
        try:
            if unit.target.kind == PARTITION:
                return inspected(unit, inspect)
            base = segment_base(unit.target)
            read_options = ReadOptions(options.verify, options.ratio, options.max_batch_bytes, base)
            with open_log(unit.target.path, Reading(options.rate, options.cold)) as file:
                piece = read_part(file, unit.start, unit.end or None, read_options, observe=observe)
            facts = facts_around(unit.target)
            findings = log_dir_findings(unit.target, facts)
            return LogRange(unit, source_of(unit.target, facts), piece, tuple(findings))
        except FileError as error:
            outcome = failed(unit, error)
            return LogRange(unit, findings=tuple(outcome.findings), error=outcome.error)
        except Exception as error:  # noqa: BLE001 - the boundary: a bug on one input stops no other
            return LogRange(unit, error=internal_failure(unit.target.shown, error))


class DirectoryScan:
    """Joins the ranges of a directory's logs, in order, and gives its rows; changed in place.

    Ranges that do not join are read again as a whole log. `unread`: as that function returns it.
    """

    def __init__(self, read_whole: ScanLog, unread: frozenset[str] = frozenset()) -> None:
        self._read_whole = read_whole
        self._unread = unread
        self._range: LogRange | None = None
        """The first ranges of a log whose last one has not come yet, joined."""
        self._last_offset: int | None = None
        self.total: Total | None = None
        self.where: Where | None = None

    def add(self, outcome: Outcome) -> Outcome:
        """Take in the next outcome of the map; return the row and the findings of a log that it completes."""
        part = outcome.partial
        assert isinstance(part, LogRange | Unit)
        return self.add_range(outcome.number, lost(part, outcome.error) if isinstance(part, Unit) else part)

    def add_range(self, number: int, part: LogRange) -> Outcome:
        """Take in the next range of a log; return the row and the findings of a log that it completes."""
        if self.total is None:
            directory = identity(directory_of(part.unit.target).shown, os.path.realpath)
            self.total = Total(complete=directory not in self._unread)
        if self._range is not None:
            part = _joined(self._range, part)
        self._range = part if part.unit.end else None
        if self._range is not None:
            return Outcome(number=number)
        whole = self._read_whole.read(replace(part.unit, start=0)) if part.must_reread else part
        return self._report(number, whole, self.total)

    def finish(self, number: int) -> Outcome:
        """Return the row of the partition."""
        has_row = SCAN_PARTITION.name in self._read_whole.options.rows and self.where is not None
        assert self.total is not None
        rows: list[Item] = [partition_row(self.where, self.total)] if has_row and self.where else []
        return Outcome(number=number, rows=rows)

    def _report(self, number: int, log: LogRange, total: Total) -> Outcome:
        """Return the row and the findings of a whole log, and count what is in it."""
        target, piece, source = log.unit.target, log.piece, log.source
        outcome = Outcome(number=number, findings=[*log.findings], error=log.error)
        if source is None:
            total = total._replace(complete=False)
        else:
            self.where = source.where
        if source is not None and piece is not None:
            total = with_segment(total, piece)
            is_one = is_segment(target) and not is_swap(target)  # what it replaces may be named, too
            if SCAN_SEGMENT.name in self._read_whole.options.rows:
                outcome.rows.append(segment_row(source, piece))
            outcome.findings.extend(_findings(target, piece, self._last_offset if is_one else None))
            if is_one and piece.summary.last_offset is not None:
                self._last_offset = piece.summary.last_offset
        self.total = total
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


def inspected(unit: Unit, inspection: Inspection) -> LogRange:
    """Return what a start finds in a partition directory and the bytes of its logs do not show."""
    target = unit.target
    listed_log(target.path)  # FileError where it has been removed since
    found = answer(unit, inspection)
    source = source_of(replace(target, shown=os.path.join(target.shown, "-")))
    findings = tuple(each for each in found.findings if each.code in OF_A_START or each.code[:4] == "DIR-")
    is_unforeseen = found.error is not None and found.error.error == UNFORESEEN
    return LogRange(unit, source, findings=findings, error=None if is_unforeseen else found.error)


def lost(unit: Unit, error: Failure | None) -> LogRange:
    """Return the range of a unit whose worker died: the engine gives the unit as its partial."""
    return LogRange(unit, error=error, is_lost=True)


def _joined(a: LogRange, b: LogRange) -> LogRange:
    """Return what is known of a log from the beginning of one range to the end of the next."""
    unit = replace(a.unit, end=b.unit.end)
    if a.is_lost or b.is_lost:
        return (a if a.is_lost else b)._replace(unit=unit)
    piece = None if a.piece is None or b.piece is None else join(a.piece, b.piece)
    return a._replace(unit=unit, piece=piece, must_reread=piece is None)


def split_segments(units: Sequence[Unit], size: int) -> list[Unit]:
    """Return units with each directory as a group, large segments in ranges of about `size` bytes, if any."""
    groups = enumerate(groupby(units, key=lambda unit: directory_of(unit.target)))
    ranges = (
        (group, each)
        for group, (_, some) in groups
        for unit in some
        for each in (cut(unit, size) if size else [unit])
    )
    return [replace(each, number=number, group=group) for number, (group, each) in enumerate(ranges)]


def piece_bytes(workers: int) -> int:
    """Return how large pieces are worth their cost, a millisecond each, to so many workers."""
    return max(PIECE_BYTES, PIECE_BYTES * MANY_WORKERS // workers)


def is_segment(target: Target) -> bool:
    """Whether a file is a segment of a log, or becomes one."""
    return segment_base(target) is not None


def _findings(target: Target, piece: LogPart, before: int | None) -> Iterator[Finding]:
    """Yield findings about a segment after one whose last offset is `before`, in the words of `dump`."""
    base = piece.summary.base_offset
    reaches_back = before is not None and base is not None and base <= before
    if reaches_back and not os.path.lexists(target.path):
        merged = moved(target, FileError(target.path, REMOVED, "removed"))
        if merged is not None:  # by compaction, into the segment before, which was read after that
            reaches_back = False
            yield merged
    if _is_clean(piece) and not reaches_back:
        return

    from kcli.kafka.findings.log_findings import growth_message, report_damage

    collector = FindingCollector(target)
    damage: list[DamagedRange | Stop] = [*piece.gaps, piece.stop]
    for item in damage:
        yield from (found for found in report_damage(item, collector) if isinstance(found, Finding))
    overlaps = piece.summary.backwards
    overlap = f"offset {base}: not above {before}, the last of the segment before"
    if not reaches_back:
        overlap = f"offset {overlaps.first}: not above the batch before it"
    for code, (times, position, words) in (
        ("LOG-002", (piece.gap_count - len(piece.gaps), None, "further damaged ranges")),
        ("LOG-003", piece.invalid),
        ("LOG-017", piece.above_v2),
        ("LOG-018", piece.out_of_reach),
        ("DUMP-002", piece.unreadable),
        ("LOG-017", (overlaps.times + reaches_back, None, overlap)),
        ("LOG-005", (int(piece.grown > 0), None, growth_message(piece.grown))),
    ):
        if times:
            yield collector.finding(code, position, words)._replace(more=times - 1)
    yield from collector.take()


def _is_clean(piece: LogPart) -> bool:
    troubles = (
        piece.gap_count,
        piece.invalid.batches,
        piece.above_v2.batches,
        piece.out_of_reach.batches,
        piece.unreadable.batches,
        piece.summary.backwards.times,
    )
    return piece.stop.reason == "end" and piece.grown <= 0 and not any(troubles)
