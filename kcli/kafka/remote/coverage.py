"""Which events of a partition of __remote_log_metadata are here.

A broker reads the partition from its first offset to its end, and no release compacts it: where an offset is
missing, an event is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from formats.magic import is_legacy
from kcli.kafka.findings.findings import Finding

UNREADABLE = "unreadable"
DAMAGED = "damaged"
ENDS_IN_PART = "a batch is there in part"
CUT_AT_START = "a start cuts the log"
CUT = "cut by --at"
TORN_TAIL = "LOG-001"
NOT_TAKEN = frozenset({"RLMM-001", "RLMM-003", "RLMM-036"})
"""Findings about events that may name a segment, and are not taken: unreadable, refused or skipped."""


@dataclass(slots=True)
class EventsHere:
    """The offsets that are here, as ranges (first, last) by rising offset.

    `start`: where the log begins by its first file, or by its log start. `end`: it was as long as that at
    least, by its checkpoints. `trouble`: why more may be missing than `ranges` shows, None for no reason.
    `log_end`: returns where a start lets the log end, None where no broker reads it. `cut`: the offset from
    which a start cuts the log, and its byte in the file that is read; None where it does not. `last`: the
    offset that a consumer has read to, inclusive.
    """

    start: int = 0
    end: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)
    trouble: str | None = None
    log_end: Callable[[], int | None] = lambda: None
    cut: tuple[int, int] | None = None
    last: int = -1

    def add_batches(self, fields: NDArray[np.void]) -> None:
        """Take the headers of some batches, in the order of the log."""
        if not len(fields):
            return
        firsts = fields["base_offset"].astype(np.int64)
        deltas = np.where(is_legacy(fields["magic"]), 0, fields["last_offset_delta"])
        lasts = firsts + deltas.astype(np.int64)
        breaks = (firsts[1:] != lasts[:-1] + 1).nonzero()[0]
        begins, ends = [0, *(breaks + 1).tolist()], [*breaks.tolist(), len(firsts) - 1]
        for begin, end in zip(begins, ends, strict=True):
            self.add(int(firsts[begin]), int(lasts[end]))

    def add(self, first: int, last: int) -> None:
        """Take a range that does not begin before the last one."""
        if self.ranges and first <= self.ranges[-1][1] + 1:
            self.ranges[-1] = (self.ranges[-1][0], max(last, self.ranges[-1][1]))
        else:
            self.ranges.append((first, last))

    def take(self, findings: Iterable[Finding]) -> None:
        """Take what was found of a file: after damage, and in it, events are missing.

        Past a batch that the file has in part there is no event in it.
        """
        for finding in findings:
            is_damage = finding.code.startswith("LOG-") and finding.severity != "info"
            if finding.code == TORN_TAIL:
                self.trouble = self.trouble or ENDS_IN_PART
            elif self.cut is not None and (finding.position or 0) >= self.cut[1]:
                self.trouble = self.trouble or CUT_AT_START
            elif is_damage or finding.code in NOT_TAKEN:
                is_less = self.trouble in {None, ENDS_IN_PART, CUT_AT_START}
                self.trouble = DAMAGED if is_less else self.trouble

    def reads(self, offset: int) -> bool:
        """Take that a consumer comes to the record at an offset; return whether it reads the record.

        It skips those that are not above the one before: `CompletedFetch` goes on from the next offset.
        """
        is_read = offset > self.last
        self.last = max(self.last, offset)
        return is_read

    def stops(self, offset: int, position: int) -> bool:
        """Take that nothing can be read at an offset, a byte of its file; return whether brokers stop there.

        They do not where recovery cuts the log.
        """
        end = self.log_end()
        if end is None:
            return False
        if end <= offset and self.cut is None:
            self.cut = end, position
        return offset < end

    @property
    def kept(self) -> list[tuple[int, int]]:
        """The ranges, up to where a start cuts the log."""
        if self.cut is None:
            return self.ranges
        return [(first, min(last, self.cut[0] - 1)) for first, last in self.ranges if first < self.cut[0]]

    def gone(self) -> list[tuple[int, int]]:
        """Return the ranges of offsets that are not here: before the first event, between two, at the end.

        What damage or an unreadable file may hold is not gone.
        """
        ranges = self.kept
        if self.trouble == UNREADABLE or (self.trouble == DAMAGED and not ranges):
            return []
        begins = max(self.start, ranges[0][0]) if ranges else self.start
        before = [(0, begins - 1)] if begins > 0 else []
        if self.trouble == DAMAGED:
            return before
        between = [
            (max(one[1] + 1, begins), other[0] - 1) for one, other in pairwise(ranges) if other[0] > begins
        ]
        after = ranges[-1][1] + 1 if ranges else begins
        return before + between + ([(after, self.end - 1)] if after < self.end else [])

    @property
    def lacks(self) -> str | None:
        """Why not all events are here; None where they are."""
        gone = self.gone()
        return gone_words(gone[0]) if gone else self.trouble


def gone_words(offsets: tuple[int, int], of: str = "", where: str = "gone") -> str:
    """Return in words which offsets `of` a partition are gone."""
    first, last = offsets
    if not first:
        return f"the events before offset {last + 1}{of} are {where}"
    which = f"offset {first}" if first == last else f"offsets {first}..{last}"
    return f"the events of {which}{of} are {where}"


def together(copies: Iterable[EventsHere]) -> EventsHere:
    """Return what several copies of one partition hold together."""
    parts = list(copies)
    result = EventsHere(min(each.start for each in parts), max(each.end for each in parts))
    for first, last in sorted(part for each in parts for part in each.kept):
        result.add(first, last)
    troubles = [each.trouble for each in parts]
    result.trouble = None if None in troubles else min(one for one in troubles if one is not None)
    return result
