"""What `check --since` passes over: what was read before, found whole, and has not changed since.

A segment is the same while its log and the indexes beside it have the same sizes, modification times and
inodes. One that only grew is read from where it was found whole up to
(`kcli.kafka.integrity.checks.seams`). One with a finding above info is never remembered,
so that it is read and reported again.

Producers go on from segment to segment. Those of the log up to the end of a segment are kept of the last two
segments, and before one that is not remembered: what is read again is held against them. Where that does not
suffice, as after a truncation of more than a segment or where one is gone from the middle, all of the
directory is read.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import groupby, pairwise

from formats.names import parse_file
from kcli.engine.contract import Unit
from kcli.jobs.check.check_memory import Files, Owed, Remembered, dumps, remembered
from kcli.jobs.scan.log_targets import directory_of
from kcli.jobs.scan.scan import is_segment
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.kafka.integrity.checks.partitions import PartitionJudge
from kcli.kafka.integrity.checks.producers import ProducerFacts
from kcli.kafka.integrity.checks.seams import is_as_before
from kcli.kafka.integrity.checks.segments import GoodEnd, SegmentFacts
from kcli.logdir.buffers import FileError
from kcli.logdir.leftovers import SWAP
from kcli.logdir.listing import listed
from kcli.logdir.tree import PARTITION, Target

EXTENSIONS = ("log", "index", "timeindex", "txnindex", "snapshot")
UNKNOWN = ProducerFacts(None)
MAY_BE_STALE = "IDX-010"


class State:
    """The segments that were found whole, by directory and base offset; changed in place.

    `records`: whether this run reads records, too.
    """

    def __init__(self, partitions: dict[str, dict[int, Remembered]], *, records: bool) -> None:
        self.partitions = partitions
        self.records = records
        self._bases: dict[str, list[int]] = {}
        """All segments of the directories of this run."""
        self._files: dict[str, dict[int, Files]] = {}
        """Of the segments that are read, before they are."""
        self._passed_over: dict[str, list[SegmentFacts]] = {}
        self._held: dict[str, tuple[SegmentFacts, ProducerFacts | None]] = {}
        """The last segment of each directory so far: the next one says whether it is whole."""

    def unread(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units without what did not change since it was found whole."""
        self._forget_removed()
        kept: list[Unit] = []
        for _, group in groupby(units, key=lambda unit: directory_of(unit.target)):
            some = list(group)
            is_partition = some[0].target.kind == PARTITION  # a log that is named alone is read
            kept += self._unread(some) if is_partition else some
        return kept

    def _forget_removed(self) -> None:
        """Forget the directories that are gone from a log dir which is there."""
        for directory in list(self.partitions):
            if not os.path.isdir(directory) and os.path.isdir(os.path.dirname(directory)):
                del self.partitions[directory]

    def _unread(self, units: Sequence[Unit]) -> list[Unit]:
        """Return what is to be read of a partition directory; everything where that is in doubt."""
        place = _place(units[0].target)
        known = self.partitions.setdefault(place, {})
        if _has_swaps(units[0].target):
            known.clear()
            return list(units)
        segments = {_base(unit.target): unit for unit in units if is_segment(unit.target)}
        files = {base: _signature(unit.target.path) for base, unit in segments.items()}
        self._bases[place], self._files[place] = list(segments), files
        starts = {
            base: self._start(unit.target, known.get(base), files[base]) for base, unit in segments.items()
        }
        gone = known.keys() - starts.keys()
        is_torn = any(min(starts) < base < max(starts) for base in gone if starts)
        # the producers that are left may be few enough to follow
        is_torn = is_torn or bool(gone and any(_has_too_many(one) for one in known.values()))
        for base in known.keys() - {base for base, start in starts.items() if start != 0}:
            del known[base]
        if is_torn or self._is_in_doubt(known, starts, files):
            known.clear()
            return list(units)
        kept: list[Unit] = []
        for unit in units:
            start = starts.get(_base(unit.target), 0) if is_segment(unit.target) else 0
            if start == 0:
                kept.append(unit)
                continue
            facts = _facts(unit.target, known[_base(unit.target)])
            if start is None:
                self._passed_over.setdefault(units[0].target.shown, []).append(facts)
                del files[facts.base]
            else:
                kept.append(replace(unit, start=start, known=facts))
        return kept

    def _start(self, target: Target, known: Remembered | None, files: Files) -> int | None:
        """Return the byte from which on a segment is read; None: not at all."""
        if known is None or (self.records and not known.records):
            return 0
        log, before = files[0], known.files[0]
        if known.files[:-1] == files[:-1]:
            return None
        if known.seam is None or known.producers is None or log is None or before is None or known.of_indexes:
            return 0
        only_grew = log == before or (log[2] == before[2] and log[0] > before[0])
        is_same = only_grew and is_as_before(target.path, known.seam)
        return (
            known.seam.position if is_same and not _was_truncated(target, known.seam.offset, before[1]) else 0
        )

    @staticmethod
    def _is_in_doubt(
        known: dict[int, Remembered], starts: dict[int, int | None], files: dict[int, Files]
    ) -> bool:
        """Whether the producers are not known before what is read, or at the end of the log.

        A producer snapshot that is another one is held against them, too; old ones are removed.
        """
        for before, base in pairwise([None, *starts]):
            assert base is not None
            one, now = known.get(base), files[base][-1]
            is_new_snapshot = one is not None and now is not None and now != one.files[-1]
            if before in known and known[before].producers is None and (one is None or is_new_snapshot):
                return True
            if before is None and is_new_snapshot:
                return True
        last = next(reversed(starts), None)
        return last in known and known[last].producers is None

    def known(self, facts: SegmentFacts) -> SegmentFacts:
        """Return a segment whose beginning is not read with the producers before what is."""
        if not facts.is_remembered:
            return facts
        one = self.partitions[_place(directory_of(facts.target))].get(facts.base)
        producers = UNKNOWN if one is None or one.producers is None else one.producers
        return facts._replace(producers_before=producers)

    def passed_over(self, directory: str, below: int | None = None) -> list[SegmentFacts]:
        """Return, once, the segments of a directory that are not read, below an offset or all."""
        held = self._passed_over.get(directory, [])
        self._passed_over[directory] = [one for one in held if below is not None and one.base >= below]
        return [self.known(one) for one in held if below is None or one.base < below]

    def follow(
        self, directory: Target, facts: SegmentFacts, judge: PartitionJudge | None, found: Iterable[Finding]
    ) -> None:
        """Take in the next segment of a directory; `found` shows whether the one before is whole."""
        self.end(directory, found)
        place = _place(directory)
        if facts.base in self._files.get(place, {}):
            self._held[place] = facts, None if judge is None else judge.producers

    def end(self, directory: Target, found: Iterable[Finding]) -> None:
        """Remember the last segment so far, unless it may be cut or a finding is about its files."""
        place = _place(directory)
        held = self._held.pop(place, None)
        if held is None:
            return
        facts, producers = held
        known, files = self.partitions[place], self._files[place][facts.base]
        before = known.pop(facts.base, None)
        stem = facts.target.shown.removesuffix("log")
        if not facts.is_cut and not any(_is_against(one, stem) for one in found):
            records = self.records and (not facts.is_remembered or bool(before and before.records))
            known[facts.base] = remembered(facts, files, producers, records=records)
            self._thin(place, bisect_left(self._bases[place], facts.base) - 1)

    def _thin(self, place: str, number: int) -> None:
        """Drop what is not needed of a segment before one that is remembered; of the last two little is."""
        bases, known = self._bases[place], self.partitions[place]
        following = bases[number + 1 : number + 3]
        if number < 0 or bases[number] not in known or not following or following[0] not in known:
            return
        known[bases[number]] = known[bases[number]]._replace(seam=None)
        if len(following) > 1:
            known[bases[number]] = known[bases[number]]._replace(producers=None)

    def dumps(self) -> str:
        """Return the state as JSON."""
        for place, bases in self._bases.items():
            for number in range(len(bases)):
                self._thin(place, number)
        return dumps(self.partitions)


def _is_against(finding: Finding, stem: str) -> bool:
    """Whether a finding is about a file of a segment, and one that must be found again.

    What is wrong with an index that recovery writes anew is remembered, but for what batches show of it.
    """
    path = finding.path or ""
    is_one = finding.severity != SEVERITIES[0] or (finding.code == MAY_BE_STALE and path.endswith("txnindex"))
    return is_one and path.startswith(stem)


def _has_swaps(directory: Target) -> bool:
    """Whether a start takes files under other names than theirs, so that nothing is remembered."""
    with suppress(FileError):
        return any(name.endswith(SWAP) for name in listed(directory.path)[0])
    return False


def _has_too_many(known: Remembered) -> bool:
    return known.producers is not None and known.producers.runs is None


def _was_truncated(log: Target, end: int, modified: int) -> bool:
    """Whether a segment was cut below an offset since it was `modified` (ns): the batches may be there again.

    A truncation writes a producer snapshot at its point; one that is older than the log is of an earlier one.
    """
    with os.scandir(os.path.dirname(log.path) or ".") as entries:
        for entry in entries:
            offset = parse_file(entry.name).base_offset if entry.name.endswith(".snapshot") else None
            if offset is not None and _base(log) <= offset < end and entry.stat().st_mtime_ns > modified:
                return True
    return False


def _base(target: Target) -> int:
    return int(os.path.basename(target.path).partition(".")[0])


def _place(directory: Target) -> str:
    return _real(directory.path)


@cache
def _real(path: str) -> str:
    return os.path.realpath(path)


def _signature(path: str) -> Files:
    stem = path.removesuffix("log")
    found: list[tuple[int, int, int] | None] = []
    for extension in EXTENSIONS:
        try:
            status = os.stat(stem + extension)
            found.append((status.st_size, status.st_mtime_ns, status.st_ino))
        except OSError:
            found.append(None)
    return tuple(found)


def _facts(target: Target, known: Remembered) -> SegmentFacts:
    """Return what is known of a segment, or of its beginning, without reading it."""
    size = 0 if known.files[0] is None else known.files[0][0]
    return SegmentFacts(
        _base(target),
        target,
        size,
        GoodEnd(size if known.seam is None else known.seam.position, known.end),
        known.first,
        known.end,
        known.is_compacted,
        known.epochs,
        of_indexes=_owed(target, known.of_indexes),
        if_closed=_owed(target, known.owed),
        is_sparse=known.is_compacted,
        has_messages=known.has_messages,
        seam=known.seam,
        is_remembered=True,
    )


def _owed(target: Target, owed: Owed) -> tuple[Finding, ...]:
    """Return what is known to be wrong with the indexes of a segment."""
    stem = target.shown.removesuffix("log")
    return tuple(
        FindingCollector(replace(target, shown=stem + extension))
        .finding(code, position, words)
        ._replace(more=more)
        for extension, code, words, position, more in owed
    )
