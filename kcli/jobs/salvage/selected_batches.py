"""Which batches of damaged logs a clean copy can hold: whole, of right checksum, and with rising offsets."""

import os
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from formats.batch import COMPRESSION_CODEC_MASK, LOG_OVERHEAD
from formats.errors import FormatError, LimitError
from formats.magic import is_above_latest, is_legacy
from formats.message_set import base_offset
from kcli.jobs.salvage.partition_copy import Reason, SavedRange
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import contradicts_itself, has_unknown_codec, is_out_of_reach
from kcli.kafka.integrity.checks.indexes import OffsetIndexJudge, TimeIndexJudge
from kcli.kafka.integrity.damaged import verified_windows
from kcli.kafka.integrity.log_scan import batch_bytes, end_marker_types
from kcli.kafka.storage.log_segment import LARGEST_WRAPPER
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.bulk import Window
from kcli.logdir.partition_names import index_file
from kcli.logdir.segment import TORN, ZEROS, DamagedRange
from kcli.logdir.targets import Target

DISK_REFUSES = frozenset({"no-permission", "read-failed"})
"""Codes of a FileError for bytes that are there and that the disk does not give."""

Ints: TypeAlias = NDArray[np.int64]
Batches: TypeAlias = NDArray[np.void]
BATCH_FACTS = np.dtype(
    [(name, np.int64) for name in ("position", "end", "first", "last", "timestamp")]
    + [("is_legacy", np.bool_), ("is_sparse", np.bool_), ("reason", np.int8)]
)
"""A batch: its bytes, its offsets, whether records are missing in it, and a Reason, 0 for a good one."""


@dataclass(slots=True, kw_only=True)
class SelectedLog:
    """A log after it was read: its batches, the ranges without any, its indexes, and where the walk ended.

    `file` is open until the next log is asked for, None if it cannot be. It is the file that was checked:
    retention or cleaning may have given its name to another one.
    """

    target: Target
    base: int
    batches: Batches = field(default_factory=lambda: np.empty(0, BATCH_FACTS))
    left_out: list[SavedRange] = field(default_factory=list)
    indexes: list[OffsetIndexJudge | TimeIndexJudge] = field(default_factory=list)
    file: DataFile | None = None
    end: int = 0

    @property
    def good_batches(self) -> Batches:
        """The batches that go into the copy."""
        batches: Batches = self.batches[self.batches["reason"] == 0]
        return batches

    @property
    def is_damaged(self) -> bool:
        """Whether anything is left out."""
        return bool(self.left_out) or bool(self.batches["reason"].any())

    def ranges(self) -> Iterator[SavedRange]:
        """Yield good batches in a row together, others one by one, and what is no batch, in order."""
        return merge(_ranges(self.batches), self.left_out, key=attrgetter("start"))


def select_batches(targets: Mapping[int, Target]) -> Generator[SelectedLog]:
    """Yield what of each log goes into a copy and what does not; `targets` by base offset, rising.

    The headers of a few logs are in memory: the next one shows whether the last offsets of a log are too
    large. A torn tail is left out, and zeros at the end of a segment that is not the last. FileError.
    """
    after, log = -1, None
    with ExitStack() as files:
        for following in chain((_read_log(base, targets, files) for base in targets), [None]):
            if log is not None:
                after = _reject_out_of_order(log, following, after)
                yield log
                if log.file is not None:
                    log.file.close()
            log = following


def _read_log(base: int, targets: Mapping[int, Target], files: ExitStack) -> SelectedLog:
    """Return the batches of a log and its damaged ranges; what the disk does not give is left out."""
    log = SelectedLog(target=targets[base], base=base)
    windows: list[Batches] = []
    for extension, judge in (("index", OffsetIndexJudge), ("timeindex", TimeIndexJudge)):
        with suppress(FileError):  # they are read before the log, which may grow
            index = index_file(log.target, extension)
            log.indexes.append(judge(index.path, base, FindingCollector(index)))
    try:
        log.file = files.enter_context(DataFile(log.target.path))
        for item in verified_windows(log.file, 0):
            if isinstance(item, Window):
                windows.append(_batches_of(log.file, item, base))
                log.end = int(windows[-1]["end"][-1])
            elif isinstance(item, DamagedRange):
                log.left_out += _without_batches(item, windows)
                log.end = item.end
            else:
                log.end = item.position
                is_preallocated = item.reason == ZEROS and base == max(targets)
                if item.reason in TORN or (item.reason == ZEROS and not is_preallocated):
                    log.left_out.append(SavedRange(log.end, log.file.size, None, Reason.DAMAGED))
    except FileError as error:
        if error.code not in DISK_REFUSES:
            raise
        log.indexes.clear()
        log.left_out.append(
            SavedRange(log.end, max(log.end, _size(log.target.path)), None, Reason.UNREADABLE)
        )
    log.batches = np.concatenate([log.batches, *windows])
    return log


def _size(path: str) -> int:
    """Return how many bytes a file has; 0 where it is gone by now."""
    with suppress(OSError):
        return os.stat(path).st_size
    return 0


def _batches_of(file: DataFile, window: Window, base: int) -> Batches:
    """Return the batches of a window in a segment of a base offset, with what each itself shows."""
    fields, batches = window.fields, np.zeros(len(window.positions), BATCH_FACTS)
    batches["position"] = window.positions
    batches["end"] = window.positions + fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    batches["first"] = fields["base_offset"]
    batches["last"] = batches["first"] + fields["last_offset_delta"]
    batches["timestamp"] = fields["max_timestamp"]
    batches["is_legacy"] = is_legacy(fields["magic"])
    batches["is_sparse"] = ~batches["is_legacy"] & (
        fields["records_count"] != fields["last_offset_delta"] + 1
    )
    for reason, is_wrong in (
        (Reason.TRANSACTION, _refused_by_recovery(file, window)),
        (Reason.OFFSETS, is_out_of_reach(fields, base)),
        (Reason.CODEC, has_unknown_codec(fields)),
        (Reason.HEADER, contradicts_itself(fields)),
        (Reason.MAGIC, is_above_latest(fields["magic"])),
        (Reason.CHECKSUM, [] if window.valid is None else ~window.valid),
    ):
        batches["reason"][is_wrong] = reason
    return batches


def _refused_by_recovery(file: DataFile, window: Window) -> list[int]:
    """Return the numbers of the batches that recovery opens and cannot: end markers, and wrappers."""
    fields = window.fields
    numbers = [number for number, _ in end_marker_types(file, window)[1]]
    is_wrapper = is_legacy(fields["magic"]) & (fields["attributes"] & COMPRESSION_CODEC_MASK != 0)
    for number in np.flatnonzero(is_wrapper).tolist():
        try:
            base_offset(batch_bytes(file, window, number, LARGEST_WRAPPER), LARGEST_WRAPPER)
        except FormatError as error:
            if not isinstance(error, LimitError):
                numbers.append(number)
    return numbers


def _without_batches(damaged: DamagedRange, windows: list[Batches]) -> Iterator[SavedRange]:
    """Yield the bytes of a damaged range in no batch; one that runs into a good batch is removed."""
    start, tail = damaged.start, []
    while windows and windows[-1]["position"][-1] >= damaged.start:
        window = windows.pop()
        tail.append(window[(window["position"] < damaged.start) | (window["end"] <= damaged.end)])
    for window in reversed(tail):
        if len(window):
            windows.append(window)
            start = max(start, int(window["end"][-1]))
    if start < damaged.end:
        yield SavedRange(start, damaged.end, None, Reason.DAMAGED)


def _reject_out_of_order(log: SelectedLog, following: SelectedLog | None, after: int) -> int:
    """Mark the batches of a log whose offsets do not rise; return the last offset that is kept.

    The base offset of the next log counts as one batch without records would, since a name may be wrong,
    too: it outweighs one batch that reaches beyond it, and not two.
    """
    good = log.good_batches
    first, last = good["first"], good["last"]
    if following is not None:
        first = np.concatenate((first, [following.base], following.good_batches["first"]))
        last = np.concatenate((last, [following.base - 1], following.good_batches["last"]))
    is_rising = longest_rising(first, last, after)[: len(good)]
    log.batches["reason"][np.flatnonzero(log.batches["reason"] == 0)[~is_rising]] = Reason.OFFSETS
    return int(good["last"][is_rising][-1]) if is_rising.any() else after


def longest_rising(first: Ints, last: Ints, after: int) -> NDArray[np.bool_]:
    """Return which batches are in the longest series that rises above `after`: no checksum covers offsets."""
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
    is_rising = np.zeros(len(first), np.bool_)
    number = ends[-1] if ends else -1
    while number >= 0:
        is_rising[number] = True
        number = int(before[number])
    return is_rising


def _ranges(batches: Batches) -> Iterator[SavedRange]:
    positions, ends, reasons = batches["position"], batches["end"], batches["reason"]
    is_break = (reasons[1:] != 0) | (reasons[:-1] != 0) | (positions[1:] != ends[:-1])
    begins = np.flatnonzero(np.append(len(positions) > 0, is_break)).tolist()
    for begin, stop in zip(begins, [*begins[1:], len(positions)][: len(begins)], strict=True):
        reason = Reason(int(reasons[begin])) if reasons[begin] else None
        first = int(batches["first"][begin])
        yield SavedRange(int(positions[begin]), int(ends[stop - 1]), first, reason, stop - begin)
