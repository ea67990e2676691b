"""Which batches of damaged logs a clean copy can hold: whole, of right checksum, and with rising offsets."""

import os
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, suppress
from heapq import merge
from itertools import chain
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import LOG_OVERHEAD
from formats.magic import is_above_latest
from kcli.jobs.salvage.lost_records import LostRecords
from kcli.jobs.salvage.partition_copy import KeptRange, LeftOut, Reason
from kcli.kafka.findings.log_findings import contradicts_itself, has_unknown_codec, is_out_of_reach
from kcli.kafka.integrity.damaged import verified_windows
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.bulk import Window
from kcli.logdir.segment import TORN, ZEROS, DamagedRange

DISK_REFUSES = frozenset({"no-permission", "read-failed"})
"""Codes of a FileError for bytes that are there and that the disk does not give."""

Ints: TypeAlias = NDArray[np.int64]


class SelectedLog(NamedTuple):
    """A log and its ranges in order; `file` is open until the next log is asked for, None if it cannot be.

    It is the file that was checked: retention or cleaning may have given its name to another one.
    """

    base: int
    file: DataFile | None
    ranges: Iterator[KeptRange | LeftOut]


class _Batches(NamedTuple):
    """Columns of batches; `reasons` has a Reason, 0 for a good batch."""

    positions: Ints
    ends: Ints
    first: Ints
    last: Ints
    reasons: NDArray[np.int8]

    def only(self, selected: NDArray[np.bool_]) -> "_Batches":
        """Return the batches that are selected."""
        positions, ends, first, last, reasons = self
        return _Batches(
            positions[selected], ends[selected], first[selected], last[selected], reasons[selected]
        )


class _ReadLog(NamedTuple):
    """A log after it was read: its batches, and the ranges without any."""

    base: int
    file: DataFile | None
    batches: _Batches
    left_out: list[LeftOut]


NO_INTS: Ints = np.empty(0, np.int64)
NO_BATCHES = _Batches(NO_INTS, NO_INTS, NO_INTS, NO_INTS, np.empty(0, np.int8))


def select_batches(paths: Mapping[int, str], records: LostRecords) -> Generator[SelectedLog]:
    """Yield what of each log goes into a copy and what does not; `paths` by base offset, rising.

    The headers of two logs are in memory: the next one shows whether the last offsets of a log are too
    large. A torn tail is left out, and zeros at the end of a segment that is not the last. FileError.
    """
    after, log = -1, None
    with ExitStack() as files:
        for following in chain((_read_log(base, paths, records, files) for base in paths), [None]):
            if log is not None:
                after = _reject_out_of_order(log, following, after)
                yield SelectedLog(
                    log.base, log.file, merge(_ranges(log.batches), log.left_out, key=attrgetter("start"))
                )
                if log.file is not None:
                    log.file.close()
            log = following


def _read_log(base: int, paths: Mapping[int, str], records: LostRecords, files: ExitStack) -> _ReadLog:
    """Return the batches of a log and its damaged ranges; what the disk does not give is left out."""
    records.on_log(base)
    windows: list[_Batches] = []
    left_out: list[LeftOut] = []
    file, end = None, 0
    try:
        file = files.enter_context(DataFile(paths[base]))
        for item in verified_windows(file, 0):
            if isinstance(item, Window):
                records.on_batches(item)
                windows.append(_batches_of(item, base))
                end = int(windows[-1].ends[-1])
            elif isinstance(item, DamagedRange):
                left_out += _without_batches(item, windows)
                end = item.end
            else:
                records.on_end(item, file.size)
                is_preallocated = item.reason == ZEROS and base == max(paths)
                if item.reason in TORN or (item.reason == ZEROS and not is_preallocated):
                    left_out.append(LeftOut(item.position, file.size, None, Reason.DAMAGED))
    except FileError as error:
        if error.code not in DISK_REFUSES:
            raise
        records.on_end(None, 0)
        left_out.append(LeftOut(end, max(end, _size(paths[base])), None, Reason.UNREADABLE))
    columns = [np.concatenate(each) for each in zip(*windows, strict=True)]
    return _ReadLog(base, file, _Batches(*columns) if columns else NO_BATCHES, left_out)


def _size(path: str) -> int:
    """Return how many bytes a file has; 0 where it is gone by now."""
    with suppress(OSError):
        return os.stat(path).st_size
    return 0


def _batches_of(window: Window, base: int) -> _Batches:
    """Return the batches of a window in a segment of a base offset, with what each itself shows."""
    fields, positions = window.fields, window.positions
    first = fields["base_offset"].astype(np.int64)
    reasons = np.zeros(len(positions), np.int8)
    for reason, is_wrong in (
        (Reason.OFFSETS, is_out_of_reach(fields, base)),
        (Reason.CODEC, has_unknown_codec(fields)),
        (Reason.HEADER, contradicts_itself(fields)),
        (Reason.MAGIC, is_above_latest(fields["magic"])),
    ):
        reasons[is_wrong] = reason
    if window.valid is not None:
        reasons[~window.valid] = Reason.CHECKSUM
    ends = positions + fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    return _Batches(positions, ends, first, first + fields["last_offset_delta"], reasons)


def _without_batches(damaged: DamagedRange, windows: list[_Batches]) -> Iterator[LeftOut]:
    """Yield the bytes of a damaged range that are in no batch of wrong checksum before its break.

    One that runs past the end of the range, where a good batch begins, is no batch: it is removed.
    """
    start, tail = damaged.start, []
    while windows and windows[-1].positions[-1] >= damaged.start:
        window = windows.pop()
        tail.append(window.only((window.positions < damaged.start) | (window.ends <= damaged.end)))
    for window in reversed(tail):
        if len(window.positions):
            windows.append(window)
            start = max(start, int(window.ends[-1]))
    if start < damaged.end:
        yield LeftOut(start, damaged.end, None, Reason.DAMAGED)


def _reject_out_of_order(log: _ReadLog, following: _ReadLog | None, after: int) -> int:
    """Mark the batches of a log whose offsets do not rise; return the last offset that is kept.

    The base offset of the next log counts as one batch without records would, since a name may be wrong,
    too: it outweighs one batch that reaches beyond it, and not two.
    """
    good = np.flatnonzero(log.batches.reasons == 0)
    first, last = log.batches.first[good], log.batches.last[good]
    if following is not None:
        batches = following.batches.only(following.batches.reasons == 0)
        first = np.concatenate((first, [following.base], batches.first))
        last = np.concatenate((last, [following.base - 1], batches.last))
    kept = longest_rising(first, last, after)[: len(good)]
    log.batches.reasons[good[~kept]] = Reason.OFFSETS
    return int(log.batches.last[good[kept][-1]]) if kept.any() else after


def longest_rising(first: Ints, last: Ints, after: int) -> NDArray[np.bool_]:
    """Return which batches are in the longest series of which each begins above the one before.

    All begin above `after`. No checksum covers a base offset: one that is changed to a large one must not
    cost all batches after it.
    """
    highest = np.maximum.accumulate(np.append(after, last))[:-1]
    if (first > highest).all():
        return np.ones(len(first), np.bool_)
    lowest: list[int] = []  # the last offset of a series of 1, 2, ... batches, as low as it can be
    ends: list[int] = []  # the batch that such a series ends with
    before = np.full(len(first), -1)  # the batch before each one in its series
    for number, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        if begin <= after:
            continue
        length = bisect_left(lowest, begin)
        before[number] = ends[length - 1] if length else -1
        if length == len(lowest):
            lowest.append(end)
            ends.append(number)
        elif end < lowest[length]:
            lowest[length], ends[length] = end, number
    kept = np.zeros(len(first), np.bool_)
    number = ends[-1] if ends else -1
    while number >= 0:
        kept[number] = True
        number = int(before[number])
    return kept


def _ranges(batches: _Batches) -> Iterator[KeptRange | LeftOut]:
    """Yield good batches in a row together, the others one by one."""
    positions, ends, first, _, reasons = batches
    is_break = (reasons[1:] != 0) | (reasons[:-1] != 0) | (positions[1:] != ends[:-1])
    begins = np.flatnonzero(np.append(len(positions) > 0, is_break)).tolist()
    for begin, stop in zip(begins, [*begins[1:], len(positions)][: len(begins)], strict=True):
        start, end = int(positions[begin]), int(ends[stop - 1])
        if reasons[begin]:
            yield LeftOut(start, end, int(first[begin]), Reason(int(reasons[begin])), 1)
        else:
            yield KeptRange(start, end, stop - begin)
