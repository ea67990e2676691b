"""Which batches of a damaged log a clean copy can hold: whole, of right checksum, and with rising offsets.

What is left out is said, range by range.
"""

import os
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import LOG_OVERHEAD
from formats.magic import is_above_latest
from kcli.kafka.findings.log_findings import contradicts_itself, has_unknown_codec, is_out_of_reach
from kcli.kafka.integrity.damaged import verified_windows
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.bulk import Window
from kcli.logdir.segment import TORN, ZEROS, DamagedRange, Stop

DAMAGED, CHECKSUM, MAGIC, HEADER, OFFSETS, CODEC, TRANSACTION, UNREADABLE, SNAPSHOT = (
    "damaged",
    "checksum",
    "magic",
    "header",
    "offsets",
    "codec",
    "transaction",
    "unreadable",
    "snapshot",
)
"""Why bytes are left out."""
DISK_REFUSES = frozenset({"no-permission", "read-failed"})
"""Codes of a FileError for bytes that are there and are not to be had."""
MOST_HELD = 64
"""Windows and damaged ranges that wait for good batches after them."""


Ints: TypeAlias = NDArray[np.int64]
Reasons: TypeAlias = NDArray[np.int8]
"""For each batch 0, or the number of the reason why it is left out."""


class Kept(NamedTuple):
    """Bytes of a log that go into the copy: batches in a row, `last` is the offset of the last."""

    start: int
    end: int
    batches: int
    last: int


class LeftOut(NamedTuple):
    """Bytes that do not, and why; `first_offset` of the batch there, None where there is none."""

    start: int
    end: int
    first_offset: int | None
    reason: str
    batches: int = 0


class _Batches(NamedTuple):
    """The batches of a window: their bytes and offsets, and why one is left out, 0 for a good one."""

    positions: Ints
    ends: Ints
    first: Ints
    last: Ints
    reasons: Reasons


class Onlooker(Protocol):
    """Who looks at the logs while they are read, one after the other."""

    def begin(self, base: int) -> None:
        """A log is opened next."""

    def look(self, window: Window) -> None:
        """Batches of it, while their bytes are there."""

    def end(self, stop: Stop, size: int) -> None:
        """All of it was read."""

    def fail(self) -> None:
        """The rest of it cannot be read."""


class OpenLogs:
    """The logs of a partition, each opened once: what is copied is of the file that was checked.

    Retention or cleaning may give its name to another one by then. `paths`: by base offset, rising.
    """

    def __init__(self, paths: Mapping[int, str]) -> None:
        self.paths = paths
        self._files: dict[int, DataFile] = {}

    def open(self, base: int) -> DataFile:
        """Return the log of a segment; FileError where it cannot be opened."""
        if base not in self._files:
            self._files[base] = DataFile(self.paths[base])
        return self._files[base]

    def close_before(self, base: int) -> None:
        """Close the logs of the segments before one."""
        for done in [one for one in self._files if one < base]:
            self._files.pop(done).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()


def sorted_out(logs: OpenLogs, onlooker: Onlooker) -> Generator[tuple[int, Kept | LeftOut]]:
    """Yield what goes into a copy and what does not, each with the base offset of its segment, in order.

    The logs stay open. A tail that is not complete is left out as well, and zeros at the end of a segment
    that is not the last: no broker would keep them. So is what the disk does not give. FileError.
    """
    for base, items in groupby(_decided(logs, onlooker), key=itemgetter(0)):
        for one in _left_out_once(item for _, item in items):
            yield base, one


def _left_out_once(items: Iterable[Kept | LeftOut | DamagedRange]) -> Iterator[Kept | LeftOut]:
    """Yield the items of a log, damaged ranges without the batches that were met before in them."""
    suspects: list[LeftOut] = []  # batches of wrong checksum, at which a damaged range may begin
    for item in items:
        if isinstance(item, LeftOut) and item.reason == CHECKSUM:
            suspects.append(item)
            continue
        yield from _of_range(item, suspects) if isinstance(item, DamagedRange) else suspects
        suspects.clear()
        if not isinstance(item, DamagedRange):
            yield item
    yield from suspects


def _decided(logs: OpenLogs, onlooker: Onlooker) -> Iterator[tuple[int, Kept | LeftOut | DamagedRange]]:
    """Yield batches that are kept or left out, and damaged ranges.

    A window is decided when the next one with good batches is known, be it of the next segment: the first
    ones of that, and the segment's name, say whether the last ones of this have an offset that is too large.
    """
    after, follows = -1, dict(pairwise(logs.paths))
    held: list[tuple[int, _Batches | LeftOut | DamagedRange]] = []
    for base, item in chain(_judged(logs, onlooker), [(-1, None)]):
        ahead = item if isinstance(item, _Batches) and (item.reasons == 0).any() else None
        if item is None or ahead is not None or len(held) == MOST_HELD:
            for at, one in held:
                if not isinstance(one, _Batches):
                    yield at, one
                    continue
                bound = None if ahead is not None and base == at else follows.get(at)
                for run in _runs(one, _out_of_order(one, bound, ahead, after)):
                    after = run.last if isinstance(run, Kept) else after
                    yield at, run
            held.clear()
        if item is not None:
            held.append((base, item))


def _judged(logs: OpenLogs, onlooker: Onlooker) -> Iterator[tuple[int, _Batches | LeftOut | DamagedRange]]:
    """Yield the windows of each log, damaged ranges, and what else is left out: tails, unreadable bytes."""
    last = max(logs.paths, default=None)  # log.preallocate fills it with zeros: they are no records
    for base, path in logs.paths.items():
        onlooker.begin(base)
        read = 0
        try:
            file = logs.open(base)
            for item in verified_windows(file, 0):
                if isinstance(item, Window):
                    onlooker.look(item)
                    batches = _of_window(item, base)
                    read = int(batches.ends[-1])
                    yield base, batches
                elif isinstance(item, DamagedRange):
                    read = item.end
                    yield base, item
                else:
                    onlooker.end(item, file.size)
                    if item.reason in TORN or (item.reason == ZEROS and base != last):
                        yield base, LeftOut(item.position, file.size, None, DAMAGED)
        except FileError as error:
            if error.code not in DISK_REFUSES:
                raise
            onlooker.fail()
            yield base, LeftOut(read, max(read, _size(path)), None, UNREADABLE)


def _size(path: str) -> int:
    """Return how many bytes a file has; 0 where it is gone by now."""
    with suppress(OSError):
        return os.stat(path).st_size
    return 0


def _of_range(damaged: DamagedRange, suspects: list[LeftOut]) -> Iterator[LeftOut]:
    """Yield the suspects, then the bytes of a damaged range that are not theirs.

    A suspect that runs past the range's end, where a good batch begins, is no batch.
    """
    start = damaged.start
    for one in suspects:
        if one.end <= damaged.end:
            yield one
            start = max(start, one.end)
    if start < damaged.end:
        yield LeftOut(start, damaged.end, None, DAMAGED)


def _of_window(window: Window, base: int) -> _Batches:
    """Return the batches of a window, those left out that are bad by themselves."""
    fields, positions = window.fields, window.positions
    first = fields["base_offset"].astype(np.int64)
    reasons = np.zeros(len(positions), np.int8)
    reasons[has_unknown_codec(fields)] = 5
    reasons[contradicts_itself(fields)] = 3
    reasons[is_above_latest(fields["magic"])] = 2
    if window.valid is not None:
        reasons[~window.valid] = 1
    reasons[(reasons == 0) & is_out_of_reach(fields, base)] = 4
    ends = positions + fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    return _Batches(positions, ends, first, first + fields["last_offset_delta"], reasons)


def _out_of_order(batches: _Batches, bound: int | None, ahead: _Batches | None, after: int) -> Reasons:
    """Return the reasons of the batches of a window, those marked too whose offsets do not rise.

    `bound`: the base offset of the segment after them. It counts as one batch without records would, since a
    name may be wrong, too: it outweighs one batch that reaches beyond it, and not two.
    """
    parts = [(batches.reasons, batches.first, batches.last)]
    if bound is not None:
        parts.append((np.zeros(1, np.int8), np.array([bound]), np.array([bound - 1])))
    if ahead is not None:
        parts.append((ahead.reasons, ahead.first, ahead.last))
    reasons, first, last = (np.concatenate(each) for each in zip(*parts, strict=True))
    _mark_out_of_order(reasons, first, last, after)
    return reasons[: len(batches.first)]


def _runs(batches: _Batches, reasons: Reasons) -> Iterator[Kept | LeftOut]:
    """Yield good batches in a row together, the others one by one."""
    begins = np.flatnonzero(np.append(True, (reasons[1:] != reasons[:-1]) | (reasons[1:] > 0))).tolist()
    for begin, end in zip(begins, [*begins[1:], len(reasons)], strict=True):
        start, stop = int(batches.positions[begin]), int(batches.ends[end - 1])
        if reasons[begin]:
            reason = (CHECKSUM, MAGIC, HEADER, OFFSETS, CODEC)[int(reasons[begin]) - 1]
            yield LeftOut(start, stop, int(batches.first[begin]), reason, end - begin)
        else:
            yield Kept(start, stop, end - begin, int(batches.last[end - 1]))


def _mark_out_of_order(reasons: Reasons, first: Ints, last: Ints, after: int) -> None:
    """Mark the fewest batches without which offsets rise, from above `after`.

    No checksum covers a base offset: one that is changed to a large one must not cost all batches after it.
    """
    good = np.flatnonzero(reasons == 0)
    highest = np.maximum.accumulate(np.append(after, last[good]))[:-1]
    if (first[good] > highest).all():
        return
    lowest: list[int] = []  # the last offset of a chain of 1, 2, ... batches, as low as it can be
    ends: list[int] = []  # the batch that such a chain ends with
    before: dict[int, int | None] = {}  # the batch before it in its chain
    reasons[good] = 4
    for number in good.tolist():
        if first[number] <= after:
            continue
        length = bisect_left(lowest, first[number])
        before[number] = ends[length - 1] if length else None
        if length == len(lowest):
            lowest.append(int(last[number]))
            ends.append(number)
        elif last[number] < lowest[length]:
            lowest[length], ends[length] = int(last[number]), number
    kept: list[int] = []
    one = ends[-1] if ends else None
    while one is not None:
        kept.append(one)
        one = before[one]
    kept.reverse()
    _keep_those_that_join(kept, np.setdiff1d(good, kept).tolist(), first, last, after)
    reasons[kept] = 0


def _keep_those_that_join(kept: list[int], others: list[int], first: Ints, last: Ints, after: int) -> None:
    """Put one of the others in the place of a batch beside it where it fits better between its neighbours.

    Batches in a row have offsets in a row, except where a log was compacted: where two overlap, the one is
    left out whose own place is the gap that it leaves.
    """
    size = last - first + 1

    def fit(number: int, missing: int, low: int, high: int | None) -> int:
        before, behind = (size[missing], 0) if missing < number else (0, size[missing])
        return int(low + before + 1 == first[number]) + int(last[number] + behind + 1 == high)

    for other in others:
        at = bisect_left(kept, other)
        for place in (at - 1, at):
            if not 0 <= place < len(kept):
                continue
            low = int(last[kept[place - 1]]) if place else after
            high = int(first[kept[place + 1]]) if place + 1 < len(kept) else None
            is_in_order = first[other] > low and (high is None or last[other] < high)
            if is_in_order and fit(other, kept[place], low, high) > fit(kept[place], other, low, high):
                kept[place] = other
                break
