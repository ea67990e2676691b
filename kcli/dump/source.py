"""A log as blocks of columns: consecutive batches, and where asked for the columns of their records.

Columns are the only shape. What `formats.record_columns` leaves to the plain reader (magic 0 and 1, damaged,
very large) becomes blocks of one batch, made of its records one by one. A batch above the bound becomes a
block without records.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from formats.batch import LOG_OVERHEAD
from formats.bounds import RAISES_THE_BOUND
from formats.magic import LARGEST_HEADER, is_above_latest, is_legacy, read_header
from formats.record_columns import FallbackBatch, record_columns, taken
from kcli.dump.block import Block, Problem, by_batch, columns_of, select_rows
from kcli.dump.filter import last_offsets
from kcli.dump.one_by_one import blocks_one_by_one
from kcli.dump.options import DumpOptions
from kcli.dump.resume import Pause
from kcli.dump.windows import after, block_of, each, gathered_headers, runs, some_of, valid_of, window_slice
from kcli.engine.contract import ResumePoint
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import (
    MOST_DAMAGED_RANGES,
    has_unknown_codec,
    is_out_of_reach,
    report_invalid,
    unknown_codec_text,
)
from kcli.kafka.integrity.damaged import verified_windows
from kcli.kafka.integrity.verified_batch import VerifiedBatch
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window, hints_of
from kcli.logdir.files import segment_base, sibling
from kcli.logdir.segment import Batch, DamagedRange, Stop
from kcli.logdir.targets import Target


class Log(NamedTuple):
    """A log that is read: the open file, what of it is shown and how, and where findings about it go."""

    file: DataFile
    target: Target
    options: DumpOptions
    findings: FindingCollector

    def report(self, problems: Iterable[Problem]) -> None:
        """Keep findings about what of batches cannot be read."""
        for problem in problems:
            self.findings.add(*problem)


def read_log(
    log: Log, start: int, end: int, *, cut: int = 0, cursor: int = 0
) -> Iterator[Block | DamagedRange | Stop]:
    """Yield what the filter leaves of the batches between two bytes, every damaged range, and the log's end.

    With a `cut`, where a batch begins, it stops there. The first `cursor` records of the first batch are left
    out. Findings about checksums are reported, also of batches that the filter rules out: the damage may do
    so. After two batches that rise beyond the last offset of the filter nothing more is read: one alone
    proves nothing, because no checksum covers the base offset.
    """
    hints = hints_of(log.file, sibling(log.target, "index"))
    walk = limited(verified_windows(log.file, start, end, cut, hints), log.findings, cut)
    passed: tuple[bool, int] = False, 0
    options = log.options
    only_headers = not (options.records or options.layout or options.filter or options.limit)
    for item in gathered_headers(walk) if only_headers else walk:
        if not isinstance(item, Window):
            yield item
            continue
        window, is_last = item, False
        if log.options.filter.offsets is not None:
            count, passed = _up_to(window, log.options.filter.offsets[1], passed)
            is_last = count <= len(window.positions)
            window = some_of(window, np.arange(len(window.positions)) < count)
        yield from _of_window(log, window, cursor)
        cursor = 0
        if is_last:
            return


def limited(
    items: Iterable[Window | DamagedRange | Stop], findings: FindingCollector, cut: int
) -> Iterator[Window | DamagedRange | Stop]:
    """Yield what a walk finds; of many damaged ranges only the first ones, the others are counted.

    It is noted where a part of a log did not end at its cut.
    """
    for item in items:
        if isinstance(item, Stop) and cut:
            if item.reason == "cut":
                return
            findings.ran_past_end = True
        if isinstance(item, DamagedRange):
            findings.gaps += 1
            if findings.gaps > MOST_DAMAGED_RANGES and item.next_offset is not None:
                findings.add(
                    "DUMP-001",
                    item.start,
                    f"more than {MOST_DAMAGED_RANGES} damaged ranges: this one up to byte {item.end}",
                )
                continue
        yield item


def finished(log: Log, block: Block, size: int) -> Pause:
    """Report what of a block's batches cannot be read; return the place after it and its output's `size`."""
    log.report(block.problems)
    return Pause(block.resume, size)


def last_rows(
    log: Log, items: Iterable[Block | DamagedRange | Stop], count: int
) -> Iterator[Block | DamagedRange | Stop]:
    """Yield the blocks of the last rows and all else, the place where the log ends last."""
    kept: deque[tuple[Block, tuple[Problem, ...]]] = deque()
    held = 0
    stop: Stop | None = None
    for item in items:
        if isinstance(item, DamagedRange):
            yield item
        elif isinstance(item, Stop):
            stop = item
        else:
            kept.append((item.last_rows(count) if item.rows else item, item.problems))
            held += kept[-1][0].rows
            while kept and (held - kept[0][0].rows >= count or not kept[0][0].rows):
                block, problems = kept.popleft()
                held -= block.rows
                log.report(problems)
    for number, (block, problems) in enumerate(kept):
        if number == 0:
            yield block.last_rows(min(block.rows, block.rows - held + count))._replace(begins=True)
        elif block.rows:
            yield block
        else:
            log.report(problems)
    if stop is not None:
        yield stop


def verified_batch(log: Log, block: Block, number: int) -> VerifiedBatch:
    """Return one batch of a block with all of its bytes; without them if it is above the bound."""
    position = int(block.positions[number])
    size = LOG_OVERHEAD + int(block.fields["batch_length"][number])
    is_small = size <= log.options.max_batch_bytes
    raw = log.file.read(position, size if is_small else min(size, LARGEST_HEADER))
    return VerifiedBatch(
        Batch(position, read_header(raw)), raw if is_small else None, bool(block.valid[number])
    )


def _up_to(window: Window, last: int, passed: tuple[bool, int]) -> tuple[int, tuple[bool, int]]:
    """Return how many batches come up to the second of two that rise beyond an offset, and the last state."""
    first, end = window.fields["base_offset"].astype(np.int64), last_offsets(window.fields)
    beyond = valid_of(window) & ~is_legacy(window.fields["magic"]) & (first > last) & (first <= end)
    follows = (
        beyond
        & np.concatenate(([passed[0]], beyond[:-1]))
        & (first > np.concatenate(([passed[1]], end[:-1])))
    )
    at = follows.nonzero()[0]
    return int(at[0]) + 1 if len(at) else len(first) + 1, (bool(beyond[-1]), int(end[-1]))


def _of_window(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield the blocks of a window's batches; report those whose checksum does not match."""
    options, asked = log.options, log.options.filter
    reports = _Reports(log, window, after=cursor > 0)
    shown = int(window.positions[0]) if cursor else None
    if asked:
        window = some_of(window, asked.may_match(window.fields) & ~asked.rules_out(window.fields))
    if not options.records or options.layout:
        window = _with_matches(log, window, reports)
        for run in each(window) if options.layout or options.limit is not None else runs(window):
            reports.up_to(int(run.positions[-1]))
            yield block_of(run)
        reports.up_to(None)
        return
    for block in _record_blocks(log, window, cursor):
        found = _filtered(log, block) if asked else block
        if found is None:
            reports.up_to(int(block.positions[-1]))
            log.report(block.problems)
            continue
        for one in [found] if options.limit is None else by_batch(found):
            reports.up_to(int(one.positions[-1]))
            yield one._replace(begins=int(one.positions[0]) != shown)
            shown = int(one.positions[-1])
    reports.up_to(None)


def _filtered(log: Log, block: Block) -> Block | None:
    """Return the matching records of a block, and the batches that are shown for them; None for nothing."""
    asked, records = log.options.filter, block.records
    if records is None:
        return block
    numbers = asked.matches(records)
    keep = ~asked.is_open(block.fields)
    keep[records.batch[numbers]] = True
    return select_rows(block, numbers, keep) if keep.any() else None


def _with_matches(log: Log, window: Window, reports: "_Reports") -> Window:
    """Return a window without the batches that are shown only for a matching record and have none."""
    asked, options = log.options.filter, log.options
    is_open = asked.is_open(window.fields)
    if not is_open.any():
        _report_codecs(log, window, reports)
        return window
    keep = ~is_open
    for block in _record_blocks(log, some_of(window, is_open), 0):
        if block.records is not None:
            matching = np.unique(block.records.batch[asked.matches(block.records)])
            keep[window.positions.searchsorted(block.positions[matching])] = True
        # of a batch that is shown field by field its rows say it
        is_said = (
            options.layout and options.records and keep[window.positions.searchsorted(block.positions[0])]
        )
        reports.problems.extend(() if is_said else block.problems)
    _report_codecs(log, some_of(window, ~is_open), reports)
    return some_of(window, keep)


def _report_codecs(log: Log, window: Window, reports: "_Reports") -> None:
    """Add a problem for each batch with an unknown codec, among batches whose records nothing else reads."""
    if log.options.layout and log.options.records:
        return
    for number in (has_unknown_codec(window.fields) & valid_of(window)).nonzero()[0].tolist():
        position = int(window.positions[number])
        words = unknown_codec_text(position, window.fields[number])
        reports.problems.append(Problem("DUMP-002", position, words))
    reports.problems = deque(sorted(reports.problems, key=lambda problem: problem.position))


class _Reports:
    """Findings about the batches of a window that wait, so that all are reported in byte order.

    They are about wrong checksums, magics above 2 and offsets out of reach of their segment, and `problems`.
    `after`: the first batch is done.
    """

    def __init__(self, log: Log, window: Window, *, after: bool) -> None:
        self.log = log
        self.window = window
        self.problems: deque[Problem] = deque()
        invalid = ~valid_of(window) | is_above_latest(window.fields["magic"])
        self.base, self.beyond = segment_base(log.target), frozenset[int]()
        if self.base is not None:
            beyond = is_out_of_reach(window.fields, self.base)
            self.beyond = frozenset(beyond.nonzero()[0].tolist())
            invalid |= beyond
        if after:
            invalid[:1] = False
        self.invalid = deque(invalid.nonzero()[0].tolist())

    def up_to(self, position: int | None) -> None:
        """Report what is about batches up to a position, or all."""
        window = self.window
        while self.invalid and (position is None or window.positions[self.invalid[0]] <= position):
            number = self.invalid.popleft()
            report_invalid(
                int(window.positions[number]),
                window.fields[number],
                self.log.findings,
                valid=bool(valid_of(window)[number]),
                out_of_reach=self.base if number in self.beyond else None,
            )
        while self.problems and (position is None or self.problems[0].position <= position):
            self.log.report([self.problems.popleft()])


def _record_blocks(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield the batches of a window with all of their records, but for the first `cursor`."""
    sizes = window.fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    large = (sizes > log.options.max_batch_bytes).nonzero()[0].tolist()
    begin = 0
    for number in (*large, len(sizes)):
        if begin < number:
            yield from _read(log, window_slice(window, begin, number), cursor if begin == 0 else 0)
        if number < len(sizes):
            yield _too_large(window_slice(window, number, number + 1), int(sizes[number]))
        begin = number + 1


def _too_large(window: Window, size: int) -> Block:
    words = f"offset {window.fields['base_offset'][0]}: a batch of {size} bytes{RAISES_THE_BOUND}"
    problem = Problem("DUMP-002", int(window.positions[0]), words)
    return block_of(window)._replace(records=columns_of([], window.fields, 0, ends=True), problems=(problem,))


def _read(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield batches with their records; none is above the bound."""
    limit, base, data = log.options.max_batch_bytes, window.base, window.data
    if not data:
        # one batch, larger than a window
        base = int(window.positions[0])
        data = memoryview(log.file.read(base, LOG_OVERHEAD + int(window.fields["batch_length"][0])))
    for part in record_columns(data, window.positions - base, limit, window.fields):
        if isinstance(part, FallbackBatch):
            one = window_slice(window, part.number, part.number + 1)
            at = int(one.positions[0]) - base
            raw = bytes(data[at : at + LOG_OVERHEAD + int(one.fields["batch_length"][0])])
            yield from blocks_one_by_one(one, raw, log.options, cursor if part.number == 0 else 0)
            continue
        some = window_slice(window, part.first, part.first + len(part.headers))
        skip = cursor - part.before if part.first == 0 else 0
        if skip >= len(part.offset) and skip > 0:
            continue
        records = part if skip <= 0 else taken(part, np.arange(skip, len(part.offset)))
        resume = (
            after(some) if part.ends else ResumePoint(int(some.positions[0]), part.before + len(part.offset))
        )
        yield block_of(some)._replace(records=records, resume=resume)
