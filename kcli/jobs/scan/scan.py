"""`scan`: what segments and partitions hold, by headers and checksums alone; a big segment in pieces.

`split_segments` cuts large segments where the offset index leads to a batch, `ScanLog` maps each range,
`ScanReducer` joins ranges to segments and segments to partitions, and reads a segment again as a whole if its
ranges do not join.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeAlias

from formats.bounds import LARGEST_BATCH
from kcli.engine.contract import Outcome, Unit
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
from kcli.kafka.integrity.log_part import Piece, ReadOptions, join, read_piece
from kcli.kafka.kraft.start import inspect
from kcli.logdir.buffers import FileError, Reading
from kcli.logdir.bulk import Window, hints_of
from kcli.logdir.files import is_swap, segment_base, sibling
from kcli.logdir.listing import listed_log
from kcli.logdir.moving import REMOVED
from kcli.logdir.partition import Partition
from kcli.logdir.remote_objects import open_log
from kcli.logdir.segment import DamagedRange, Stop
from kcli.logdir.tree import PARTITION, Target
from kcli.rows import Failure, Item
from kcli.rows.places import FromFile, Where
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
        "LOG-024",
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


Observe: TypeAlias = Callable[[Window], None]
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


class ScannedRange(NamedTuple):
    """What a map found in a range of a log, or in a partition directory without one, which has no piece.

    `piece` is None, too, where there was an error, or where the file is gone, as `findings` say.
    `must_reread`: its pieces do not join. `is_lost`: its worker died, so it is not read again.
    """

    unit: Unit
    source: FromFile | None = None
    piece: Piece | None = None
    findings: tuple[Finding, ...] = ()
    error: Failure | None = None
    must_reread: bool = False
    is_lost: bool = False


class Scanned(NamedTuple):
    """What is known of consecutive ranges of one directory: those whose log may go on are still `ranges`.

    `total` and `end`, the last offset, are of the segments that have rows. `is_first`: nothing of the
    directory lies before; `is_last`: nothing after.
    """

    ranges: tuple[ScannedRange, ...]
    total: Total = Total()
    end: int | None = None
    where: Where | None = None
    is_first: bool = False
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class ScanLog:
    """The map with its options, picklable. A unit is a log from byte `start` to `end`, 0 for its own."""

    options: ScanOptions

    def __call__(self, unit: Unit) -> Outcome:
        """Return the piece of a unit, as the partial of a ScanReducer."""
        found = until_whole(unit, lambda: self.read(unit), lambda one: one.error)
        return Outcome(number=unit.number, partial=Scanned((found,)))

    def read(self, unit: Unit, observe: Observe | None = None) -> ScannedRange:
        """Return what is in the range of a unit; `observe` as of `read_piece`."""
        options = self.options
        try:
            if unit.target.kind == PARTITION:
                return inspected(unit, inspect)
            base = segment_base(unit.target)
            read_options = ReadOptions(options.verify, options.ratio, options.max_batch_bytes, base)
            with open_log(unit.target.path, Reading(options.rate, options.cold)) as file:
                hints = hints_of(file, sibling(unit.target, "index"))
                piece = read_piece(
                    file, unit.start, unit.end or None, read_options, hints=hints, observe=observe
                )
            facts = facts_around(unit.target)
            findings = log_dir_findings(unit.target, facts)
            return ScannedRange(unit, source_of(unit.target, facts), piece, tuple(findings))
        except FileError as error:
            outcome = failed(unit, error)
            return ScannedRange(unit, findings=tuple(outcome.findings), error=outcome.error)
        except Exception as error:  # noqa: BLE001 - the boundary: a bug on one input stops no other
            return ScannedRange(unit, error=internal_failure(unit.target.shown, error))


@dataclass(frozen=True, slots=True)
class ScanReducer:
    """Joins the ranges of logs, and gives rows of segments and, at the end of a directory, of the partition.

    Ranges that do not join are read again as a whole log. `unread`: as of that function.
    """

    read_whole: ScanLog
    unread: frozenset[str] = frozenset()

    def __call__(self, left: Outcome | None, right: Outcome | None) -> Outcome:
        """Return two neighbours as one; rows and findings are those of the logs that are complete.

        Of several errors at once the last counts: from left to right there is one at most.
        """
        number = max(each.number for each in (left, right) if each is not None)
        a = None if left is None else scanned(left.partial, left.error)
        b = None if right is None else scanned(right.partial, right.error)
        joined = self.joined(a, b, number)
        if left is not None:
            joined.rows[:0], joined.findings[:0] = left.rows, left.findings
        return joined

    def joined(self, left: Scanned | None, right: Scanned | None, number: int) -> Outcome:
        """Return what is known of two neighbours; rows and findings are of the logs that they complete.

        `number` is of the last unit of both.
        """
        known = _joined(left or Scanned(()), right or Scanned(()))
        if left is None and known.ranges:
            total = Total(complete=not self._lacks_a_log(known.ranges[0].unit.target))
            known = known._replace(is_first=True, total=total)
        known = known._replace(is_last=known.is_last or right is None)
        count = len(known.ranges) - (not known.is_last) if known.is_first else 0
        rows: list[Item] = []
        findings: list[Finding] = []
        error: Failure | None = None
        for found in known.ranges[:count]:
            whole = self.read_whole.read(replace(found.unit, start=0, end=0)) if found.must_reread else found
            known = self.report(whole, known, rows, findings)
            number, error = whole.unit.number, whole.error or error
        if known.is_first and known.is_last and known.where is not None:
            has_partitions = SCAN_PARTITION.name in self.read_whole.options.rows
            rows.extend([partition_row(known.where, known.total)] if has_partitions else [])
        rest = known._replace(ranges=known.ranges[count:])
        return Outcome(number=number, rows=rows, findings=findings, error=error, partial=rest)

    def _lacks_a_log(self, target: Target) -> bool:
        """Whether a log of the target's directory is not read."""
        return bool(self.unread) and identity(directory_of(target).shown, os.path.realpath) in self.unread

    def report(
        self, found: ScannedRange, known: Scanned, rows: list[Item], findings: list[Finding]
    ) -> Scanned:
        """Add the row and the findings of a whole log; return what is known then."""
        target, piece, source = found.unit.target, found.piece, found.source
        findings.extend(found.findings)
        total, end = known.total, known.end
        if source is not None and piece is not None:
            total = with_segment(total, piece)
            is_one = is_segment(target) and not is_swap(target)  # what it replaces may be named, too
            if SCAN_SEGMENT.name in self.read_whole.options.rows:
                rows.append(segment_row(source, piece))
            findings.extend(_findings(target, piece, end if is_one else None))
            if is_one and piece.summary.last_offset is not None:
                end = piece.summary.last_offset
        total = total._replace(complete=total.complete and source is not None)
        return known._replace(total=total, end=end, where=known.where if source is None else source.where)


def one_by_one(units: Iterable[tuple[Unit, ScanLog]]) -> Iterator[Outcome]:
    """Yield an outcome for each whole log of a directory, in order: its row, and what is wrong with it.

    A log may reach back into the one before.
    """
    known = Scanned(())
    for unit, read in units:
        found = read.read(unit)
        outcome = Outcome(number=unit.number)
        known = ScanReducer(read).report(found, known, outcome.rows, outcome.findings)
        yield outcome if found.error is None else replace(outcome, error=found.error)


def inspected(unit: Unit, inspection: Inspection) -> ScannedRange:
    """Return what a start finds in a partition directory and the bytes of its logs do not show."""
    target = unit.target
    listed_log(target.path)  # FileError where it has been removed since
    found = answer(unit, inspection)
    source = source_of(replace(target, shown=os.path.join(target.shown, "-")))
    findings = tuple(each for each in found.findings if each.code in OF_A_START or each.code[:4] == "DIR-")
    is_unforeseen = found.error is not None and found.error.error == UNFORESEEN
    return ScannedRange(unit, source, findings=findings, error=None if is_unforeseen else found.error)


def scanned(partial: object, error: Failure | None) -> Scanned:
    """Return what the partial of an outcome knows; the engine gives the unit that ended a worker."""
    if isinstance(partial, Unit):
        return Scanned((ScannedRange(partial, error=error, is_lost=True),))
    assert isinstance(partial, Scanned)
    return partial


def _joined(left: Scanned, right: Scanned) -> Scanned:
    """Return what is known of neighbours; where a log goes on from one to the other, its ranges are one."""
    if not (left.ranges and right.ranges):
        return right if right.ranges else left
    a, b = left.ranges[-1], right.ranges[0]
    if not b.unit.start or a.unit.target != b.unit.target:
        return left._replace(ranges=left.ranges + right.ranges, is_last=right.is_last)
    piece = None if a.piece is None or b.piece is None else join(a.piece, b.piece)
    one = a._replace(unit=replace(a.unit, end=b.unit.end), piece=piece, must_reread=piece is None)
    if a.is_lost or b.is_lost:
        one = (a if a.is_lost else b)._replace(unit=one.unit)
    return left._replace(ranges=(*left.ranges[:-1], one, *right.ranges[1:]), is_last=right.is_last)


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


def _findings(target: Target, piece: Piece, before: int | None) -> Iterator[Finding]:
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
        ("DUMP-001", (piece.gap_count - len(piece.gaps), None, "further damaged ranges")),
        ("LOG-003", piece.invalid),
        ("LOG-015", piece.above_v2),
        ("LOG-018", piece.out_of_reach),
        ("DUMP-002", piece.unreadable),
        ("LOG-011", (overlaps.times + reaches_back, None, overlap)),
        ("LOG-005", (int(piece.grown > 0), None, growth_message(piece.grown))),
    ):
        if times:
            yield collector.finding(code, position, words)._replace(more=times - 1)
    yield from collector.take()


def _is_clean(piece: Piece) -> bool:
    troubles = (
        piece.gap_count,
        piece.invalid.batches,
        piece.above_v2.batches,
        piece.out_of_reach.batches,
        piece.unreadable.batches,
        piece.summary.backwards.times,
    )
    return piece.stop.reason == "end" and piece.grown <= 0 and not any(troubles)


__all__ = ["ScanLog", "ScanOptions", "ScanReducer", "inspected", "split_segments"]
