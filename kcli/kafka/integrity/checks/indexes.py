"""The entries of a segment's offset index and time index, held against the batches that they lead to.

An entry may name any offset of an append of several batches, of releases up to 2.2 its first one, and
cleaning leaves entries inside of batches. What counts is what a lookup needs: an offset entry leads to a
batch at or before its offset, and nothing before a time entry is later than it.
"""

from typing import Any

import numpy as np

from formats.batch import NO_TIMESTAMP
from formats.index import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from formats.layout import Layout
from formats.magic import is_legacy
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.findings import nul_index
from kcli.kafka.integrity.checks.batches import Batches, Ints
from kcli.logdir.buffers import DataFile, FileError

LARGEST_INDEX = 64 << 20
"""Bytes of an index that are looked at; segment.index.bytes is 10 MiB unless it is changed."""
MOST_LOOSE = 10_000
"""Offset entries that name no last offset of a batch, and are held against later batches."""
ENOUGH_ZEROS = 2
"""So many of the zero entries at the end of a preallocated index are looked at: the others are counted."""
NO_ENTRIES: Ints = np.empty(0, np.int64)


class _Entries:
    """The entries of an index that rise, two columns; the rest is preallocated, stale or damaged."""

    def __init__(self, path: str, base: int, findings: FindingCollector, *, is_time: bool) -> None:
        self.findings = findings
        layout = TIME_INDEX_ENTRY if is_time else OFFSET_INDEX_ENTRY
        self.size = layout.size
        self.is_missing = False
        data, size = b"", 0
        try:
            with DataFile(path) as file:
                data, size = file.read(0, min(file.size, LARGEST_INDEX)), file.size
        except FileError as error:
            if error.code != "not-found":
                raise
            self.is_missing = True
        self.partial = size % layout.size
        self.entries = size // layout.size
        self.slots = self.offsets = self.values = self.falling = NO_ENTRIES
        self.zeros = self.next = 0
        self.last_time = NO_TIMESTAMP
        """The timestamp in the last slot of a time index, where a broker takes that of the segment from."""
        self.nul_file: str | None = None
        """In words that all bytes are zeros, and what to do, where the segment is closed."""
        self.has_stale = False
        """Whether entries follow zeros: those of before a truncation, in a preallocated index."""
        if self.entries:
            self._sort_out(data, layout, base, is_time=is_time)

    def _sort_out(self, data: bytes, layout: Layout[Any], base: int, *, is_time: bool) -> None:
        """Tell the entries that count from zeros, stale ones and those that do not rise."""
        entries, written = len(data) // layout.size, _written(data)
        self.nul_file = None if written else nul_index(len(data))
        count = min(entries, written // layout.size + 1 + ENOUGH_ZEROS)
        raw = np.frombuffer(data, layout.dtype, count)
        first, second = (raw[name].astype(np.int64) for name in raw.dtype.names or ())
        self.offsets, self.values = (second + base, first) if is_time else (first + base, second)
        self.slots = np.arange(len(raw), dtype=np.int64)
        self.last_time = int(first[-1]) if is_time else NO_TIMESTAMP
        least = 0 if is_time else 1
        rises = count == 1 or ((first[1:] > first[:-1]).all() and (second[1:] >= second[:-1] + least).all())
        if rises and (first[0] or second[0]):
            return  # as a closed segment has it
        zero = (first == 0) & (second == 0)
        self.zeros = int(np.count_nonzero(zero)) if len(raw) > 1 or not is_time else 0
        rising = ~zero if self.zeros else np.ones(len(raw), np.bool_)
        if is_time and len(raw) and zero[0] and (len(raw) == 1 or not zero[1]):
            rising[0], self.zeros = True, self.zeros - (len(raw) > 1)
        self.zeros += entries - count
        # a time index rises in its times and may repeat an offset, an offset index rises in both
        rising[1:] &= first[1:] > np.maximum.accumulate(first)[:-1]
        rising[1:] &= second[1:] >= np.maximum.accumulate(second)[:-1] + least
        self.falling = np.flatnonzero(~rising & ~zero)
        after_zeros = np.flatnonzero(zero[:-1] & ~zero[1:]) + 1 if self.zeros else self.falling[:0]
        self.has_stale = bool(len(after_zeros))
        good = rising
        if self.has_stale:
            good = rising & (self.slots < np.flatnonzero(zero)[0])
            self.falling = self.falling[self.falling < len(np.flatnonzero(good))]
        self.offsets, self.values, self.slots = self.offsets[good], self.values[good], self.slots[good]

    @property
    def is_whole(self) -> bool:
        """Whether it is as a broker leaves an index that it closes: all entries rise, and fill the file."""
        return not (self.zeros or self.partial or len(self.falling))

    def add(self, code: str, slot: int, message: str) -> None:
        """Keep a finding about an entry."""
        self.findings.add(code, slot * self.size, message)

    def report_shape(self) -> None:
        """Keep findings about a partial entry and about entries that do not rise."""
        if self.partial:
            message = f"{self.partial} bytes are left, an entry has {self.size}"
            self.findings.add("DUMP-006", self.entries * self.size, message)
        for slot in self.falling[:MOST_LOOSE].tolist():
            self.add("DUMP-003", slot, f"entry {slot} does not rise above the entries before it")
        if self.zeros:
            self.findings.add("IDX-003", None, f"{self.zeros} of {self.entries} entries are zeros")


class OffsetIndexJudge(_Entries):
    """The entries of an offset index, each held against the batch at its position."""

    def __init__(self, path: str, base: int, findings: FindingCollector) -> None:
        super().__init__(path, base, findings, is_time=False)
        self._loose: list[tuple[int, int]] = []
        self._end = base

    def add_batches(self, batches: Batches) -> None:
        """Hold the entries that lead into some batches against these."""
        end = int(batches.positions[-1] + batches.sizes[-1])
        stop = int(np.searchsorted(self.values, end))
        before, self._end = self._end, int(batches.last[-1]) + 1
        if stop == self.next and not self._loose:
            return
        self._resolve(batches)
        if stop == self.next:
            return
        some = slice(self.next, stop)
        self.next = stop
        places, offsets, slots = self.values[some], self.offsets[some], self.slots[some]
        batch = np.searchsorted(batches.positions, places).clip(max=len(batches.positions) - 1)
        leads = batches.positions[batch] == places
        of_bad = np.isin(places, batches.bad)
        columns = batch, places, offsets, slots, leads
        batch, places, offsets, slots, leads = (column[~of_bad] for column in columns)
        for slot, position in zip(slots[~leads].tolist(), places[~leads].tolist(), strict=True):
            self.add("IDX-004", slot, f"entry {slot}: no good batch begins at byte {position}")
        # a wrapper of magic 0 or 1 does not say where it begins: after the batch before
        wrapped = np.append(before, batches.last[:-1] + 1)
        lowest = np.where(is_legacy(batches.fields["magic"]), wrapped, batches.base)
        late = leads & (offsets < lowest[batch])
        for number in np.flatnonzero(late).tolist():
            text = f"offset {offsets[number]}, the batch at byte {places[number]} begins with"
            self.add("IDX-004", int(slots[number]), f"{text} {batches.base[batch[number]]}")
        loose = leads & ~late & (offsets != batches.last[batch]) & (offsets != lowest[batch])
        if loose.any():
            is_offset = np.isin(offsets[loose], batches.last) | np.isin(offsets[loose], batches.base)
            pairs = zip(slots[loose][~is_offset].tolist(), offsets[loose][~is_offset].tolist(), strict=True)
            self._loose += list(pairs)[: MOST_LOOSE - len(self._loose)]

    def _resolve(self, batches: Batches) -> None:
        """Forget the entries that name the first or the last offset of one of these batches."""
        if self._loose and self._loose[0][1] < self._end:
            offsets = [offset for _, offset in self._loose]
            matches = np.isin(offsets, batches.last) | np.isin(offsets, batches.base)
            self._loose = [pair for pair, is_known in zip(self._loose, matches, strict=True) if not is_known]

    def end(self, *, is_compacted: bool) -> None:
        """Keep findings about entries that lead past the log, and about offsets that end no batch."""
        self.report_shape()
        past = zip(self.slots[self.next :].tolist(), self.values[self.next :].tolist(), strict=True)
        for slot, position in past:
            self.add("IDX-004", slot, f"entry {slot}: the log ends before byte {position}")
        if not is_compacted:
            for slot, offset in self._loose:
                self.add("DUMP-004", slot, f"offset {offset}: no batch ends with it")


class TimeIndexJudge(_Entries):
    """The entries of a time index, each held against the largest timestamp up to its offset."""

    def __init__(self, path: str, base: int, findings: FindingCollector) -> None:
        super().__init__(path, base, findings, is_time=True)
        self.largest = NO_TIMESTAMP
        """The largest timestamp so far, in ms."""
        self._loose: list[tuple[int, str]] = []

    def add_batches(self, batches: Batches) -> None:
        """Hold the entries whose offsets lie up to the last of some batches against these."""
        last = batches.last
        before = self.largest
        top = np.maximum.accumulate(np.maximum(batches.timestamp, before))
        self.largest = int(top[-1])
        stop = int(np.searchsorted(self.offsets, int(last[-1]), "right"))
        if stop <= self.next or not (last[1:] > last[:-1]).all():
            self.next = max(stop, self.next)
            return
        some = slice(self.next, stop)
        self.next = stop
        times, offsets, slots = self.values[some], self.offsets[some], self.slots[some]
        batch = np.searchsorted(last, offsets)
        if (times == top[batch]).all():
            return  # as a broker writes them
        earlier = np.where(batch > 0, top[batch - 1], before)
        missed, unknown = earlier > times, times > top[batch]
        for number in np.flatnonzero(missed).tolist():
            text = f"timestamp {times[number]} at offset {offsets[number]}: before it there is"
            self.add("IDX-004", int(slots[number]), f"{text} {earlier[number]}")
        for number in np.flatnonzero(unknown).tolist():
            text = f"timestamp {times[number]} at offset {offsets[number]}: up to there the largest is"
            self.add("IDX-004", int(slots[number]), f"{text} {top[batch[number]]}")
        loose = ~missed & ~unknown & (times != batches.timestamp[batch]) & (times != earlier)
        for number in np.flatnonzero(loose)[:MOST_LOOSE].tolist():
            text = f"timestamp {times[number]}: the batch of offset {offsets[number]} has"
            self._loose.append((int(slots[number]), f"{text} {batches.timestamp[batch[number]]}"))

    def end(self, *, is_compacted: bool) -> None:
        """Keep findings about entries past the log, and about times that no batch has."""
        self.report_shape()
        past = zip(self.slots[self.next :].tolist(), self.offsets[self.next :].tolist(), strict=True)
        for slot, offset in past:
            self.add("IDX-004", slot, f"entry {slot}: offset {offset} is past the segment")
        if not is_compacted:
            for slot, message in self._loose:
                self.add("DUMP-004", slot, message)


def _written(data: bytes) -> int:
    """Return how many bytes there are up to the last one that is not zero, or up to 7 more."""
    if any(data[-8:]):
        return len(data)
    longs = np.frombuffer(data, np.int64, len(data) // 8)
    used = np.flatnonzero(longs)
    return 8 * (int(used[-1]) + 1) if len(used) else 0
