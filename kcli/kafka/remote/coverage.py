"""Which events of a partition of __remote_log_metadata are here, and which a broker reads.

A broker reads the partition from its first offset to its end, and no release compacts it: where an offset is
missing, an event is.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from formats.types import TopicPartition
from kcli.kafka.findings.findings import Finding
from kcli.logdir.log_dirs import directory_facts
from kcli.logdir.targets import Target

UNREADABLE_COPY = "unreadable"
DAMAGED = "damaged"
ENDS_IN_PART = "a batch is there in part"
CUT_AT_START = "a start cuts the log"
CUT_BY_AT = "cut by --at"
TORN_TAIL = "LOG-001"
NOT_TAKEN = frozenset({"RLMM-001", "RLMM-036"})
"""Findings about events that may name a segment, and are not taken: unreadable, refused or skipped."""


@dataclass(slots=True)
class OffsetRange:
    """The offsets that a consumer has read: the first, None before it reads one, and the next it wants."""

    first: int | None = None
    next: int = 0

    def accept(self, offset: int) -> bool:
        """Take an event's offset; return whether it rises: `CompletedFetch` skips the others, so a broker."""
        if offset < self.next:
            return False
        if self.first is None:
            self.first = offset
        self.next = offset + 1
        return True

    @property
    def last(self) -> int | None:
        """The last offset; None before one is read."""
        return None if self.first is None else self.next - 1


@dataclass(slots=True)
class EventCoverage:
    """The offsets that are here, as ranges (first, last) by rising offset.

    `start`: of the log by its first file or log start; `end`: it was as long by its checkpoints. `trouble`:
    why more may be missing. `log_end`: where a start lets it end, None where no broker reads it. `cut`: the
    offset from which a start cuts it, and its byte.
    """

    start: int = 0
    end: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)
    trouble: str | None = None
    log_end: Callable[[], int | None] = lambda: None
    cut: tuple[int, int] | None = None

    def add(self, first: int, last: int) -> None:
        """Take a range that does not begin before the last one."""
        if self.ranges and first <= self.ranges[-1][1] + 1:
            self.ranges[-1] = (self.ranges[-1][0], max(last, self.ranges[-1][1]))
        else:
            self.ranges.append((first, last))

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Take a file's findings: in damage and after it events are missing, in a cut batch there is none."""
        for finding in findings:
            is_damage = finding.code.startswith("LOG-") and finding.severity != "info"
            if finding.code == TORN_TAIL:
                self.trouble = self.trouble or ENDS_IN_PART
            elif self.cut is not None and (finding.position or 0) >= self.cut[1]:
                self.trouble = self.trouble or CUT_AT_START
            elif is_damage or finding.code in NOT_TAKEN:
                is_less = self.trouble in {None, ENDS_IN_PART, CUT_AT_START}
                self.trouble = DAMAGED if is_less else self.trouble

    def stop_at(self, offset: int, position: int) -> bool:
        """Take that an offset, at a byte, cannot be read; return whether brokers stop there."""
        end = self.log_end()
        if end is None:
            return False
        if end <= offset and self.cut is None:
            self.cut = end, position
        return offset < end

    @property
    def uncut_ranges(self) -> list[tuple[int, int]]:
        """The ranges, up to where a start cuts the log."""
        if self.cut is None:
            return self.ranges
        return [(first, min(last, self.cut[0] - 1)) for first, last in self.ranges if first < self.cut[0]]

    def missing(self) -> list[tuple[int, int]]:
        """Return the ranges of offsets that are not here; what damage may hold is not missing."""
        ranges = self.uncut_ranges
        if self.trouble == UNREADABLE_COPY or (self.trouble == DAMAGED and not ranges):
            return []
        begins = max(self.start, ranges[0][0]) if ranges else self.start
        before = [(0, begins - 1)] if begins > 0 else []
        if self.trouble == DAMAGED:
            return before
        between = [
            (max(last + 1, begins), first - 1) for (_, last), (first, _) in pairwise(ranges) if first > begins
        ]
        after = ranges[-1][1] + 1 if ranges else begins
        return before + between + ([(after, self.end - 1)] if after < self.end else [])

    @property
    def lacks(self) -> str | None:
        """Why not all events are here; None where they are."""
        missing = self.missing()
        return missing_events(missing[0]) if missing else self.trouble


def missing_events(offsets: tuple[int, int], of: str = "", state: str = "gone") -> str:
    """Return in words which offsets `of` a partition are missing."""
    first, last = offsets
    if not first:
        return f"the events before offset {last + 1}{of} are {state}"
    which = f"offset {first}" if first == last else f"offsets {first}..{last}"
    return f"the events of {which}{of} are {state}"


def merge_coverages(copies: Sequence[EventCoverage]) -> EventCoverage:
    """Return what several copies of one partition hold together."""
    if len(copies) < 2:
        return copies[0] if copies else EventCoverage()
    result = EventCoverage(min(each.start for each in copies), max(each.end for each in copies))
    for first, last in sorted(span for each in copies for span in each.uncut_ranges):
        result.add(first, last)
    troubles = [each.trouble for each in copies]
    result.trouble = None if None in troubles else min(trouble for trouble in troubles if trouble is not None)
    return result


def coverage_of(first: Target, log_end: Callable[[], int | None]) -> EventCoverage:
    """Return the coverage of a copy before it is read, by its first segment and the files of its log dir."""
    start, end = 0, 0
    if first.log_dir is not None and first.name is not None:
        facts, key = directory_facts(first.log_dir), TopicPartition(first.name.topic, first.name.partition)
        start = (facts.log_start_offsets or {}).get(key, 0)
        end = max((offsets or {}).get(key, 0) for offsets in (facts.high_watermarks, facts.recovery_points))
    stem = os.path.basename(first.path).partition(".")[0]
    return EventCoverage(max(start, int(stem) if stem.isdecimal() else 0), end, log_end=log_end)
