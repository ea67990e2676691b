"""Entries of indexes as rows, and with producer snapshots as the lines of DumpLogSegments."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from formats.names import OFFSET_INDEX, TIME_INDEX, TXN_INDEX
from kcli.dump.indexes import (
    ENTRIES_PER_BLOCK,
    IndexBlock,
    Indexed,
    LogOfIndex,
    is_zero,
    open_index,
    read_index,
    report_sanity_error,
)
from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause, Scanned
from kcli.dump.render.lines import (
    MISMATCH,
    OFFSET_NOT_FOUND,
    OUT_OF_ORDER,
    TIME_MISMATCH,
    IndexProblem,
    aborted_line,
    line,
    producer_line,
)
from kcli.dump.small_files import read_file
from kcli.engine.contract import ResumePoint, Unit
from kcli.jobs.common import source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import report_moving_index
from kcli.logdir.indexes import AnyIndexFile, IndexFile, OffsetIndexFile, TimeIndexFile, TxnIndexFile
from kcli.logdir.segment import only_zeros
from kcli.rows import TextBlock
from kcli.rows.declare import AnyRow
from kcli.rows.dump import DumpIndexRow, DumpProducerRow, DumpTimeindexRow, DumpTxnindexRow

INDEX_ROWS: dict[str, Callable[..., AnyRow]] = {
    OFFSET_INDEX: DumpIndexRow,
    TIME_INDEX: DumpTimeindexRow,
    TXN_INDEX: lambda source, _version, *values: DumpTxnindexRow(source, *values),
}


def index_rows(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the row of every entry but zeros; report what does not fit the log."""
    source, row = source_of(unit.target), INDEX_ROWS[unit.target.kind]
    with ExitStack() as stack:
        index = open_index(stack, unit.target)
        log = LogOfIndex(stack, unit.target, index, options, findings)
        is_txn = isinstance(index, TxnIndexFile)
        if options.index_sanity_check and not is_txn:
            report_sanity_error(index, findings)
            return
        shows = is_txn or not options.verify_index_only
        for block in read_index(index, unit.position, findings):
            if block.slot > unit.position:
                yield Pause(ResumePoint(block.slot))
            entries = [
                (slot, entry)
                for slot, entry in enumerate(block.entries, block.slot)
                if not is_zero(index, slot, entry)
            ]
            if shows:
                yield from (row(source, *entry) for _, entry in entries)
            log.compare(entries)
        report_moving_index(index, log.log, findings)


_LINES: dict[type[IndexFile], Callable[[Any], str]] = {
    OffsetIndexFile: "offset: %d position: %d".__mod__,
    TimeIndexFile: "timestamp: %d offset: %d".__mod__,
    TxnIndexFile: aborted_line,
}
LINE_BYTES = 40
"""Of a line of an index, about."""


def index_text(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the line of every entry that the tool reads, and what does not fit the log beside an index.

    Findings about order and tail are about all entries, as those of rows.
    """
    target = unit.target
    with ExitStack() as stack:
        index = open_index(stack, target)
        log = LogOfIndex(stack, target, index, options, findings)
        if options.index_sanity_check and _has_sanity_check(index):
            code = report_sanity_error(index, findings)
            if code is None:
                yield line(f"{target.shown} passed sanity check.")
            elif code == "IDX-003":
                yield line(f"{target.shown} has its preallocated tail.")
            return
        is_read = not (isinstance(index, OffsetIndexFile) and _is_empty(index))
        if not is_read:
            yield line(f"{target.shown} is empty.")
        for block in read_index(index, unit.position, findings):
            if not is_read:
                continue
            if block.slot > unit.position:
                yield Pause(ResumePoint(block.slot), ENTRIES_PER_BLOCK * LINE_BYTES)
            entries = block.entries[: _end_for_the_tool(index, block)]
            yield from _lines(log, block._replace(entries=entries), options)
            is_read = len(entries) == len(block.entries)
        report_moving_index(index, log.log, findings)


def _has_sanity_check(index: AnyIndexFile) -> bool:
    return isinstance(index, TimeIndexFile) or (isinstance(index, OffsetIndexFile) and index.entries > 0)


def _is_empty(index: AnyIndexFile) -> bool:
    return only_zeros(index.file, 0, index.entries * index.entry_size)


def _end_for_the_tool(index: AnyIndexFile, block: IndexBlock) -> int:
    """Return how many entries of a block the tool reads: it stops at the base offset, which is that of zeros.

    Zeros in the first slot it takes for an entry of an offset index.
    """
    if isinstance(index, TxnIndexFile):
        return len(block.entries)
    offset = 0 if isinstance(index, OffsetIndexFile) else 1
    base, first = index.base_offset, block.entries[0]
    if block.slot == 0 and offset == 1 and is_zero(index, 0, first):
        return 0
    return next(
        (
            number
            for number, entry in enumerate(block.entries)
            if entry[offset] == base and block.slot + number
        ),
        len(block.entries),
    )


def _lines(log: LogOfIndex, block: IndexBlock, options: DumpOptions) -> Scanned:
    """Yield the lines of a block's entries, and its problems: with a limit each before its own line."""
    index, words = log.index, _LINES[type(log.index)]
    shows = isinstance(index, TxnIndexFile) or not options.verify_index_only
    problems = _problems(log, block)
    if options.limit is None:
        yield from (problem for _, problem in problems)
        if shows and block.entries:
            yield TextBlock(("\n".join([*map(words, block.entries), ""]).encode(),))
        return
    of_slots: dict[int, list[IndexProblem]] = {}
    for slot, problem in problems:
        of_slots.setdefault(slot, []).append(problem)
    for slot, entry in enumerate(block.entries, block.slot):
        yield from of_slots.get(slot, ())
        if shows:
            yield line(words(entry))


def _problems(log: LogOfIndex, block: IndexBlock) -> Iterator[tuple[int, IndexProblem]]:
    """Yield what the tool sums up about the entries of a block, each with its slot."""
    path, index = os.path.join(os.getcwd(), log.findings.target.shown), log.index
    for slot, found in log.compare(enumerate(block.entries, block.slot)).items():
        entry = block.entries[slot - block.slot]
        if isinstance(index, TimeIndexFile):
            before = index.entry(slot - 1)[0]
            yield from ((slot, problem) for problem in _of_time(path, entry, before, found))
        elif found.taken not in {None, entry[0]}:
            yield slot, IndexProblem(MISMATCH, path, entry[0], found.taken)


def _of_time(path: str, entry: tuple[int, int], before: int, found: Indexed) -> Iterator[IndexProblem]:
    """Yield the problems of an entry of a time index after one of timestamp `before`."""
    timestamp, offset = entry
    if found.taken != offset:
        yield IndexProblem(OFFSET_NOT_FOUND, path, offset, -1 if found.taken is None else found.taken)
        return
    if found.timestamp is not None and found.timestamp != timestamp:
        yield IndexProblem(TIME_MISMATCH, path, timestamp, found.timestamp)
    if before >= timestamp:
        yield IndexProblem(OUT_OF_ORDER, path, timestamp, before)


def producers_text(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the line of every producer of a snapshot."""
    for item in read_file(unit, options, findings):
        yield line(producer_line(item[1:])) if isinstance(item, DumpProducerRow) else item
