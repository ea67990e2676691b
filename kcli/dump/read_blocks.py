"""A log as blocks of columns: which bytes of it are read, and what the filter leaves of them.

Columns are the only shape. What `formats.record_columns` leaves to the plain reader (magic 0 and 1, damaged,
very large) becomes blocks of one batch, made of its records one by one. A batch above the bound becomes a
block without records. Reading begins where the indexes lead; if they are wrong (a finding) at byte 0.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from formats.batch import LOG_OVERHEAD, MAX_INT
from formats.bounds import RAISES_THE_BOUND
from formats.magic import LARGEST_HEADER, is_above_latest, is_legacy, read_header
from formats.names import OFFSET_INDEX, TIME_INDEX
from formats.record_columns import FallbackBatch, record_columns, subset
from kcli.dump import blocks
from kcli.dump.blocks import Block, Problem, block_of, part_of, valid_of
from kcli.dump.options import DumpOptions, in_range
from kcli.dump.pauses import Pause
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import (
    MOST_DAMAGED_RANGES,
    has_unknown_codec,
    invalid_batch,
    is_out_of_reach,
    unknown_codec_text,
)
from kcli.kafka.integrity.damaged import VerifiedBatch, verified_batches, verified_windows
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.bulk import Window
from kcli.logdir.indexes import OffsetIndexFile, TimeIndexFile
from kcli.logdir.partition_names import file_name, segment_base
from kcli.logdir.remote_objects import index_beside
from kcli.logdir.segment import Batch, DamagedRange, Stop, Walk
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


def read_blocks(
    log: Log, start: int, end: int, *, cut: int = 0, cursor: int = 0
) -> Iterator[Block | DamagedRange | Stop]:
    """Yield what the filter leaves of the batches between two bytes, every damaged range, and the log's end.

    With a `cut`, where a batch begins, it stops there. The first `cursor` records of the first batch are left
    out. Findings about checksums are reported, also of batches that the filter rules out: the damage may do
    so. After two batches that rise beyond the last offset of the filter nothing more is read: one alone
    proves nothing, because no checksum covers the base offset.
    """
    walk = limited(verified_windows(log.file, start, end, cut), log.findings, cut)
    state: tuple[bool, int] = False, 0
    options = log.options
    only_headers = not (options.records or options.layout or options.filter or options.limit)
    for item in blocks.gathered_headers(walk) if only_headers else walk:
        if not isinstance(item, Window):
            yield item
            continue
        window, is_last = item, False
        if log.options.filter.offsets is not None:
            count, state = _up_to(window, log.options.filter.offsets[1], state)
            is_last = count <= len(window.positions)
            window = part_of(window, slice(count))
        yield from _of_window(log, window, cursor)
        cursor = 0
        if is_last:
            return


def limited(
    items: Iterable[Window | DamagedRange | Stop], findings: FindingCollector, cut: int
) -> Iterator[Window | DamagedRange | Stop]:
    """Yield what a walk finds, the first of many damaged ranges alone; note what ran past its `cut`."""
    for item in items:
        if isinstance(item, Stop) and cut:
            if item.reason == "cut":
                return
            findings.ran_past_end = True
        if isinstance(item, DamagedRange):
            findings.gaps += 1
            if findings.gaps > MOST_DAMAGED_RANGES and item.next_offset is not None:
                findings.add(
                    "LOG-002",
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
    last_blocks: deque[tuple[Block, tuple[Problem, ...]]] = deque()
    row_count = 0
    stop: Stop | None = None
    for item in items:
        if isinstance(item, DamagedRange):
            yield item
        elif isinstance(item, Stop):
            stop = item
        else:
            last_blocks.append((item.last_rows(count) if item.rows else item, item.problems))
            row_count += last_blocks[-1][0].rows
            while last_blocks and (row_count - last_blocks[0][0].rows >= count or not last_blocks[0][0].rows):
                block, problems = last_blocks.popleft()
                row_count -= block.rows
                log.report(problems)
    for number, (block, problems) in enumerate(last_blocks):
        if number == 0:
            yield block.last_rows(min(block.rows, block.rows - row_count + count))._replace(begins=True)
        elif block.rows:
            yield block
        else:
            log.report(problems)
    if stop is not None:
        yield stop


def verified_batch(log: Log, block: Block) -> VerifiedBatch:
    """Return the batch of a block of one with all of its bytes; without them if it is above the bound."""
    position = int(block.positions[0])
    size = LOG_OVERHEAD + int(block.fields["batch_length"][0])
    is_small = size <= log.options.max_batch_bytes
    raw = log.file.read(position, size if is_small else min(size, LARGEST_HEADER))
    return VerifiedBatch(Batch(position, read_header(raw)), raw if is_small else None, bool(block.valid[0]))


def _up_to(window: Window, last: int, state: tuple[bool, int]) -> tuple[int, tuple[bool, int]]:
    """Return how many batches come up to the second of two that rise beyond an offset, and the last state."""
    first, end = window.fields["base_offset"].astype(np.int64), blocks.last_offsets(window.fields)
    beyond = valid_of(window) & ~is_legacy(window.fields["magic"]) & (first > last) & (first <= end)
    follows = (
        beyond & np.concatenate(([state[0]], beyond[:-1])) & (first > np.concatenate(([state[1]], end[:-1])))
    )
    numbers = follows.nonzero()[0]
    return int(numbers[0]) + 1 if len(numbers) else len(first) + 1, (bool(beyond[-1]), int(end[-1]))


def _of_window(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield the blocks of a window's batches; report those whose checksum does not match."""
    options, filters = log.options, log.options.filter
    # findings that wait, so that all are reported in byte order
    problems = deque(_invalid_batches(log, window))
    if cursor:
        problems = deque(problem for problem in problems if problem.position > window.positions[0])
    last_position = int(window.positions[0]) if cursor else None
    if filters:
        window = part_of(window, blocks.may_match(filters, window.fields))
    if not options.records or options.layout:
        window, unreadable = _with_matches(log, window)
        problems = deque(sorted([*problems, *unreadable], key=lambda problem: problem.position))
        for run in blocks.runs(window, alone=options.layout or options.limit is not None):
            log.report(_up_to_position(problems, int(run.positions[-1])))
            yield block_of(run)
        log.report(problems)
        return
    for block in _record_blocks(log, window, cursor):
        selected = _filtered(log, block) if filters else block
        if selected is None:
            log.report(_up_to_position(problems, int(block.positions[-1])))
            log.report(block.problems)
            continue
        for piece in [selected] if options.limit is None else blocks.by_batch(selected):
            log.report(_up_to_position(problems, int(piece.positions[-1])))
            yield piece._replace(begins=int(piece.positions[0]) != last_position)
            last_position = int(piece.positions[-1])
    log.report(problems)


def _filtered(log: Log, block: Block) -> Block | None:
    """Return the matching records of a block, and the batches that are shown for them; None for nothing."""
    filters, records = log.options.filter, block.records
    if records is None:
        return block
    numbers = blocks.matching(filters, records)
    keep = ~blocks.is_open(filters, block.fields)
    keep[records.batch[numbers]] = True
    return blocks.select_rows(block, numbers, keep) if keep.any() else None


def _with_matches(log: Log, window: Window) -> tuple[Window, list[Problem]]:
    """Return a window without batches that lack the record they are shown for, and what cannot be read."""
    filters, options = log.options.filter, log.options
    open_batches = blocks.is_open(filters, window.fields)
    if not open_batches.any():
        return window, _unknown_codecs(log, window)
    keep, problems = ~open_batches, list[Problem]()
    for block in _record_blocks(log, part_of(window, open_batches), 0):
        if block.records is not None:
            numbers = np.unique(block.records.batch[blocks.matching(filters, block.records)])
            keep[window.positions.searchsorted(block.positions[numbers])] = True
        # of a batch that is shown field by field its rows say it
        is_shown = (
            options.layout and options.records and keep[window.positions.searchsorted(block.positions[0])]
        )
        problems.extend(() if is_shown else block.problems)
    return part_of(window, keep), problems + _unknown_codecs(log, part_of(window, ~open_batches))


def _unknown_codecs(log: Log, window: Window) -> list[Problem]:
    """Return a problem for each batch with an unknown codec, of batches whose records nothing else reads."""
    if log.options.layout and log.options.records:
        return []
    numbers = (has_unknown_codec(window.fields) & valid_of(window)).nonzero()[0].tolist()
    places = [(int(window.positions[number]), window.fields[number]) for number in numbers]
    return [
        Problem("DUMP-002", position, unknown_codec_text(position, fields)) for position, fields in places
    ]


def _invalid_batches(log: Log, window: Window) -> Iterator[Problem]:
    """Yield what is wrong with batches of a window: checksums, magics above 2, offsets out of reach."""
    base, beyond = segment_base(log.target), np.zeros(len(window.positions), np.bool_)
    if base is not None:
        beyond = is_out_of_reach(window.fields, base)
    valid = valid_of(window)
    for number in (~valid | is_above_latest(window.fields["magic"]) | beyond).nonzero()[0].tolist():
        position, fields = int(window.positions[number]), window.fields[number]
        far = base if beyond[number] else None
        for problem in invalid_batch(position, fields, valid=bool(valid[number]), out_of_reach=far):
            yield Problem(*problem)


def _up_to_position(problems: deque[Problem], position: int) -> Iterator[Problem]:
    """Yield problems up to a position, which are then done."""
    while problems and problems[0].position <= position:
        yield problems.popleft()


def _record_blocks(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield the batches of a window with all of their records, but for the first `cursor`."""
    sizes = window.fields["batch_length"].astype(np.int64) + LOG_OVERHEAD
    large = (sizes > log.options.max_batch_bytes).nonzero()[0].tolist()
    begin = 0
    for number in (*large, len(sizes)):
        if begin < number:
            yield from _read_records(log, part_of(window, slice(begin, number)), cursor if begin == 0 else 0)
        if number < len(sizes):
            yield _too_large(part_of(window, slice(number, number + 1)), int(sizes[number]))
        begin = number + 1


def _too_large(window: Window, size: int) -> Block:
    message = f"offset {window.fields['base_offset'][0]}: a batch of {size} bytes{RAISES_THE_BOUND}"
    problem = Problem("DUMP-002", int(window.positions[0]), message)
    return block_of(window)._replace(
        records=blocks.columns_of([], window.fields, 0, ends=True), problems=(problem,)
    )


def _read_records(log: Log, window: Window, cursor: int) -> Iterator[Block]:
    """Yield batches with their records; none is above the bound."""
    limit, base, data = log.options.max_batch_bytes, window.base, window.data
    if not data:
        # one batch, larger than a window
        base = int(window.positions[0])
        data = memoryview(log.file.read(base, LOG_OVERHEAD + int(window.fields["batch_length"][0])))
    for item in record_columns(data, window.positions - base, limit, window.fields):
        if isinstance(item, FallbackBatch):
            batch = part_of(window, slice(item.number, item.number + 1))
            start = int(batch.positions[0]) - base
            raw = bytes(data[start : start + LOG_OVERHEAD + int(batch.fields["batch_length"][0])])
            yield from blocks.blocks_one_by_one(batch, raw, log.options, cursor if item.number == 0 else 0)
            continue
        block = block_of(part_of(window, slice(item.first, item.first + len(item.headers))))
        skip = cursor if item.first == 0 else 0
        if not skip:
            yield block._replace(records=item)
        elif skip < len(item.offset):
            yield block._replace(records=subset(item, np.arange(skip, len(item.offset))))


UNBROKEN = frozenset({"end", "zeros", "short", "incomplete"})
"""How a walk ends whose every batch is one that a broker would find, too."""


def byte_range(log: Log) -> tuple[int, int]:
    """Return the bytes of a log, from and to (exclusive), that hold everything that is shown of it."""
    size, options = log.file.size, log.options
    end = size if options.max_bytes == MAX_INT else min(options.max_bytes, size)
    log.findings.is_cut = end < size
    if not options.selects:
        return 0, end
    start = _start(log)
    return (start if options.tail is None else tail_start(log, start)[0]), end


def _start(log: Log) -> int:
    """Return the byte before which nothing lies that the filter asks for."""
    file, target, filters, findings = log.file, log.target, log.options.filter, log.findings
    index = _offset_index(target)
    if index is None:
        if filters:
            findings.add("DUMP-005", None, "scanned from the beginning: there is no offset index to use")
        return 0
    with index:
        starts = []
        if filters.offsets is not None:
            starts.append(_at_offset(file, index, filters.offsets[0]))
        if filters.times is not None:
            starts.append(_before_time(file, index, target, filters.times[0]))
    positions = [start for start in starts if start is not None]
    if len(positions) < len(starts):
        findings.add("DUMP-005", None, "scanned from the beginning: no index entry leads there")
    elif not starts and filters:
        findings.add("DUMP-005", None, "scanned from the beginning: no index knows what is asked for")
    return max(positions, default=0)


def _offset_index(target: Target) -> OffsetIndexFile | None:
    base = file_name(target).base_offset
    try:
        index = None if base is None else index_beside(target, OFFSET_INDEX)
    except FileError:
        return None
    return None if index is None or base is None else OffsetIndexFile(index, base)


def _at_offset(file: DataFile, index: OffsetIndexFile, offset: int) -> int | None:
    """Return where the index has a batch at or below the offset; None if no batch is valid there."""
    try:
        position = index.lookup(offset, index.valid_entries(file.size))[1]
    except FileError:
        return None
    batch = next(verified_batches(file, position), None) if position >= 0 else None
    if (
        isinstance(batch, VerifiedBatch)
        and batch.valid
        and (position == 0 or batch.batch.header.base_offset <= offset)
    ):
        return position
    return None


def _before_time(file: DataFile, index: OffsetIndexFile, target: Target, timestamp: int) -> int | None:
    """Return a place before which every record is older, by the time index; None if it is wrong."""
    try:
        beside = index_beside(target, TIME_INDEX)
        if beside is None:
            return None
        with TimeIndexFile(beside, index.base_offset) as times:
            largest, offset = times.lookup(timestamp - 1, times.valid_entries())
            position = index.lookup(offset, index.valid_entries(file.size))[1]
    except FileError:
        return None
    if largest < 0:
        return 0
    batch = (
        next((batch for batch in Walk(file, position) if batch.header.last_offset >= offset), None)
        if position >= 0
        else None
    )
    is_true = (
        batch is not None and batch.header.max_timestamp == largest and batch.header.base_offset <= offset
    )
    return _at_offset(file, index, offset) if is_true else None


def tail_start(log: Log, start: int = 0) -> tuple[int, int]:
    """Return where the last rows begin, and how many are there: `options.tail`, fewer, or more records."""
    count = log.options.tail or 0
    quiet = log._replace(
        options=replace(log.options, layout=False, max_bytes=MAX_INT),
        findings=FindingCollector(log.target),
    )
    # a filter may leave nothing of the end
    starts = [] if log.options.filter else [begin for begin in _from_the_end(log) if begin > start]
    position = rows = 0
    for begin in (*starts, start):
        position, rows, is_unbroken = log.file.size, 0, True
        for item in last_rows(quiet, read_blocks(quiet, begin, log.file.size), count):
            if isinstance(item, Block):
                position = min(position, int(item.positions[0]))
                rows += item.rows
            else:
                is_unbroken = is_unbroken and isinstance(item, Stop) and item.reason in UNBROKEN
        if rows >= count and is_unbroken:
            break
    return position, rows


def _from_the_end(log: Log) -> Iterator[int]:
    """Yield places in the log that the index gives, ever further from the end."""
    index = _offset_index(log.target)
    if index is None:
        return
    with index:
        try:
            count = index.valid_entries(log.file.size)
            step = 1
            while step <= count:
                yield index.position(count - step)
                step *= 4
        except FileError:
            return


def tails(logs: list[Target], options: DumpOptions) -> list[tuple[Target, DumpOptions]]:
    """Return the logs that hold the last rows of a partition, each with its count; leftovers last."""
    remaining, parts = options.tail or 0, []
    logs = [target for target in logs if not file_name(target).is_inactive] or logs
    for target in reversed(in_range(logs, options.filter)):
        if remaining <= 0:
            break
        with DataFile(target.path) as file:
            log = Log(file, target, replace(options, tail=remaining), FindingCollector(target))
            row_count = tail_start(log)[1]
        if row_count:
            parts.append((target, replace(options, tail=min(remaining, row_count))))
            remaining -= row_count
    return parts[::-1]
