"""Index files in one walk: entries as rows or lines, and findings about order, versions, tail and log.

The batches of the log to which entries lead are found as kafka-dump-log finds them.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from formats.batch import LOG_OVERHEAD, MAX_INT, NO_TIMESTAMP
from formats.errors import FormatError
from formats.index import TXN_VERSION, ZERO_ENTRY
from formats.legacy import MESSAGE_V1
from formats.magic import BATCH_FORMATS, LARGEST_HEADER, holds_header, is_legacy, magic_of, read_header
from formats.message_set import message_set, messages
from formats.names import IN_PARTITION, OFFSET_INDEX, TIME_INDEX, TXN_INDEX
from formats.record import batch_records
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
from kcli.kafka.storage.log_segment import is_wrapper
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.concurrent_changes import comes_true
from kcli.logdir.indexes import AnyIndexFile, IndexFile, OffsetIndexFile, TimeIndexFile, TxnIndexFile
from kcli.logdir.partition_names import file_name, sibling
from kcli.logdir.remote_objects import index_beside, open_file, open_log
from kcli.logdir.segment import Batch, Walk, next_batch, only_zeros
from kcli.logdir.targets import Target
from kcli.rows import TextBlock
from kcli.rows.declare import AnyRow
from kcli.rows.dump import DumpIndexRow, DumpProducerRow, DumpTimeindexRow, DumpTxnindexRow

_LAST_OFFSET = {
    magic: (form.layout.only("base_offset", "batch_length", "last_offset_delta"), form.smallest_length)
    for magic, form in BATCH_FORMATS.items()
    if not is_legacy(magic)
}
INTERVAL = 8 << 10
"""Bytes of a log in which the batch that an index leads to lies, nearly always."""


class Indexed(NamedTuple):
    """What an entry of an index leads to.

    `last_offset` is that of what a broker's reader takes for a batch there, be it none; None for
    nothing. `timestamp` is the largest of the batch's records where it ends with the entry's offset; None
    where it is unknown. `misfit` says in words that the entry does not fit the log.
    """

    last_offset: int | None
    timestamp: int | None = None
    misfit: str | None = None


def by_position(log: DataFile, entry: tuple[int, int], options: DumpOptions) -> Indexed:
    """Return what an entry of an offset index leads to; a batch above the tool's bound is no misfit."""
    offset, position = entry
    most = options.max_message_size
    if last_offset_at(log, position, most) == offset:
        return Indexed(offset)
    batch = apparent_batch_at(log, position, min(log.size, position + most))
    last_offset, misfit = last_offset_at(log, position, MAX_INT), None
    if last_offset != offset:
        end = "no batch" if last_offset is None else f"{last_offset} is the last offset of the batch"
        misfit = f"offset {offset}: {end} at byte {position}"
    return Indexed(None if batch is None else batch.last_offset, misfit=misfit)


def last_offset_at(log: DataFile, position: int, most: int) -> int | None:
    """Return the last offset of the batch at a position, of at most so many bytes; None for no batch."""
    walk = Walk(log, position, position + most, ahead=LARGEST_HEADER) if 0 <= position < log.size else ()
    return next((batch.header.last_offset for batch in walk), None)


def by_offset(
    finder: "Finder", entry: tuple[int, int], options: DumpOptions, findings: FindingCollector
) -> Indexed:
    """Return what an entry of a time index leads to."""
    timestamp, offset = entry
    batch, apparent = finder.batch(offset), finder.apparent_batch
    last = None if batch is None else batch.header.last_offset
    if batch is None or last != offset:
        result = Indexed(last) if apparent is None else Indexed(apparent.last_offset, apparent.timestamp)
        return result._replace(misfit=f"offset {offset}: no batch ends with it")
    latest, misfit = largest_timestamp(finder.log, batch, options, findings), None
    if latest not in {None, timestamp}:
        misfit = f"timestamp {timestamp}: the batch that ends with {offset} has {latest}"
    return Indexed(last, latest, misfit)


class ApparentBatch(NamedTuple):
    """What a broker's reader takes for a batch: `timestamp` as of `largest_timestamp`, `end` after it."""

    last_offset: int
    timestamp: int | None
    end: int


def apparent_batch_at(log: DataFile, position: int, end: int) -> ApparentBatch | None:
    """Return what a broker's reader takes for a batch at a position and before `end`; None for nothing.

    It asks for a length that fits, and for nothing else (`FileLogInputStream.nextBatch`). A negative magic
    reads as a message of magic 1.
    """
    batch = next_batch(log, position, end) if position >= 0 else None
    if batch is None:
        return None
    head, after = batch.window, position + batch.size
    if is_legacy(batch.magic):
        has_time = batch.magic < 0 and len(head) >= MESSAGE_V1.size and not is_wrapper(batch)
        timestamp = max(MESSAGE_V1.read(head).timestamp, NO_TIMESTAMP) if has_time else None
        return ApparentBatch(batch.base_offset, timestamp, after)
    return ApparentBatch(read_header(head).last_offset, None, after) if holds_header(head) else None


def leads_to_its_batch(log: DataFile, entry: tuple[int, int], options: DumpOptions) -> bool:
    """Whether an entry of an offset index leads to a whole batch of magic 2 that ends with its offset."""
    offset, position = entry
    try:
        head = log.read(position, LARGEST_HEADER)
    except FileError:
        return False
    form = _LAST_OFFSET.get(magic_of(head)) if holds_header(head) else None
    if form is None:
        return False
    fields, smallest_length = form
    first, length, delta = fields.unpack_from(head)
    in_reach: int = min(log.size - position, options.max_message_size) - LOG_OVERHEAD
    return bool(first + delta == offset and smallest_length <= length <= in_reach)


class Finder:
    """Finds the first batch that ends with an offset or after it, from where the offset index leads.

    Where the index leads to the same place for one offset after another, as an empty one does, it goes on
    where it was.
    """

    def __init__(self, log: DataFile, offsets: OffsetIndexFile | None) -> None:
        self.log = log
        self._offsets = offsets
        self._led_to, self._offset = -1, 0
        self._batch: Batch | None = None
        self.apparent_batch: ApparentBatch | None = None
        """What is no batch, but is taken for the one that was asked for."""

    def batch(self, offset: int) -> Batch | None:
        """Return the batch; None past the end of the log, and for what is only taken for one."""
        self.apparent_batch = None
        position = self._offsets.lookup(offset)[1] if self._offsets is not None else 0
        if position < 0:
            return None
        start = position
        if position == self._led_to and offset >= self._offset:
            if self._batch is None:
                return None
            start = self._batch.position
        self._led_to, self._offset = position, offset
        self._batch, self.apparent_batch = self._first(start, offset)
        if self.apparent_batch is not None:
            self._led_to = -1  # there may be batches after it
        return self._batch

    def _first(self, position: int, offset: int) -> tuple[Batch | None, ApparentBatch | None]:
        """Return the first batch that ends with an offset or after it, or what is taken for one before."""
        while True:
            walk = Walk(self.log, position, ahead=INTERVAL)
            first = next((batch for batch in walk if batch.header.last_offset >= offset), None)
            apparent_batch = (
                apparent_batch_at(self.log, walk.stop.position, self.log.size)
                if walk.stop is not None
                else None
            )
            if apparent_batch is None:
                return first, None
            if apparent_batch.last_offset >= offset:
                return None, apparent_batch
            position = apparent_batch.end


def largest_timestamp(
    log: DataFile, batch: Batch, options: DumpOptions, findings: FindingCollector
) -> int | None:
    """Return the largest timestamp of a batch's records, at least -1; None if they cannot be read."""
    position, header = batch
    if header.size > options.max_batch_bytes:
        return header.max_timestamp
    raw, limit = log.read(position, header.size), options.max_batch_bytes
    try:
        if is_legacy(header.magic):
            times = [message.timestamp for message in messages(message_set(raw, limit))]
        else:
            times = [record.timestamp for record in batch_records(raw, limit)]
    except FormatError as error:
        message = f"the batch at byte {position} of the log: {error.moved(position)}"
        findings.add("DUMP-002", position, message)
        return None
    return max([NO_TIMESTAMP, *times])


ENTRIES_PER_BLOCK = 512
INDEX_FILES: dict[str, type[AnyIndexFile]] = {
    OFFSET_INDEX: OffsetIndexFile,
    TIME_INDEX: TimeIndexFile,
    TXN_INDEX: TxnIndexFile,
}


class IndexBlock(NamedTuple):
    """Entries of an index from a slot on: (offset, position), (timestamp, offset) or AbortedTxn."""

    slot: int
    raw: bytes
    entries: list[Any]


def open_index(stack: ExitStack, target: Target) -> AnyIndexFile:
    """Open an index of a target's kind."""
    index = INDEX_FILES[target.kind](open_file(target), file_name(target).base_offset or 0)
    stack.enter_context(index)
    return index


def read_index(
    index: AnyIndexFile, slot: int, findings: FindingCollector, *, check_order: bool = True
) -> Iterator[IndexBlock]:
    """Yield the entries from a slot on, up to zeros at the end; report order, versions, zeros and rest."""
    end = index.first_trailing_zero
    findings.origin = index.file.start
    before, zeros = None if isinstance(index, TxnIndexFile) or not slot else index.entry(slot - 1), 0
    while slot < end:
        raw = index.block(slot, min(ENTRIES_PER_BLOCK, end - slot))
        block = IndexBlock(slot, raw, [*index.entries_of(raw)])
        if not block.entries:
            break
        if isinstance(index, TxnIndexFile):
            for number, entry in enumerate(block.entries, block.slot):
                if entry.version != TXN_VERSION:
                    message = f"entry {number} has version {entry.version}"
                    findings.add("DUMP-006", number * index.entry_size, message)
        elif check_order:
            before, zeros = _check_order(index, block, before, zeros, findings)
        yield block
        slot += len(block.entries)
    zeros += index.entries - end
    if zeros:
        findings.add("IDX-003", None, f"{zeros} of {index.entries} entries are zeros")
    if index.partial_bytes:
        findings.add(
            "DUMP-006",
            index.entries * index.entry_size,
            f"{index.partial_bytes} bytes are left, an entry has {index.entry_size}",
        )


def _check_order(
    index: AnyIndexFile, block: IndexBlock, before: Any, zeros: int, findings: FindingCollector
) -> tuple[Any, int]:
    """Report entries that do not rise; return the last one, and how many zeros there were so far."""
    zero = index.entries_of(bytes(index.entry_size))[0]
    for slot, entry in enumerate(block.entries, block.slot):
        if entry == zero and is_zero(index, slot, entry):
            zeros += 1
            continue
        if zeros or (before is not None and (entry[0] <= before[0] or entry[1] < before[1])):
            message = f"entry {slot} ({entry[0]}, {entry[1]}) follows {'zeros' if zeros else before}"
            findings.add("DUMP-003", slot * index.entry_size, message)
        before = entry
    return before, zeros


def is_zero(index: AnyIndexFile, slot: int, entry: tuple[int, int]) -> bool:
    """Whether a slot is preallocated: zeros. A lone first entry of zeros may be meant in a time index."""
    if isinstance(index, OffsetIndexFile):
        return entry == (index.base_offset, 0)
    if isinstance(index, TxnIndexFile) or entry != (0, index.base_offset):
        return False
    return slot > 0 or (index.entries > 1 and tuple(index.get(1)) == ZERO_ENTRY)


class LogOfIndex:
    """The log beside an index, if it can be opened: what the entries lead to."""

    def __init__(
        self,
        stack: ExitStack,
        target: Target,
        index: AnyIndexFile,
        options: DumpOptions,
        findings: FindingCollector,
    ) -> None:
        self.index, self.options, self.findings = index, options, findings
        self.log = None if isinstance(index, TxnIndexFile) else _open_log(stack, target, options, findings)
        self._finder = None
        if self.log is not None and isinstance(index, TimeIndexFile):
            beside = index_beside(target, OFFSET_INDEX)
            offsets = OffsetIndexFile(beside, index.base_offset) if beside is not None else None
            self._finder = Finder(self.log, offsets and stack.enter_context(offsets))

    def compare(self, entries: Iterable[tuple[int, Any]]) -> dict[int, Indexed]:
        """Return what entries lead to, of an offset index those that misfit alone; report what misfits."""
        by_slot: dict[int, Indexed] = {}
        if self.log is None:
            return by_slot
        for slot, entry in entries:
            if self._finder is not None:
                indexed = by_offset(self._finder, entry, self.options, self.findings)
            elif leads_to_its_batch(self.log, entry, self.options):
                continue
            else:
                indexed = by_position(self.log, entry, self.options)
            if indexed.misfit is not None:
                self.findings.add("DUMP-004", slot * self.index.entry_size, indexed.misfit)
            by_slot[slot] = indexed
        return by_slot


def _open_log(
    stack: ExitStack, target: Target, options: DumpOptions, findings: FindingCollector
) -> DataFile | None:
    """Open the log beside an index; a finding if there is none where there should be, for text always."""
    path = sibling(target, "log")
    if path is None:
        name = file_name(target)
        if options.text or (name.scheme == IN_PARTITION and not (name.suffix or name.inserted)):
            _report_no_log(target, findings, "there is no log beside it")
        return None
    try:
        return stack.enter_context(open_log(path))
    except FileError as error:
        _report_no_log(target, findings, f"the log beside it cannot be read: {error.message}")
        return None


def _report_no_log(target: Target, findings: FindingCollector, message: str) -> None:
    """Report an index whose log cannot be read: DUMP-007, or LOG-014 where a broker removes both."""
    if comes_true(os.path.dirname(target.path) or ".", lambda: not os.path.lexists(target.path)):
        findings.add("LOG-014", None, "removed while it was read, as its log was")
    else:
        findings.add("DUMP-007", None, message)


def report_sanity_error(index: OffsetIndexFile | TimeIndexFile, findings: FindingCollector) -> str | None:
    """Report why `sanityCheck` of OffsetIndex or TimeIndex refuses an index; return the finding's code."""
    error = f"{index.file.size} bytes are no multiple of {index.entry_size}" if index.partial_bytes else None
    if index.entries:
        is_time = isinstance(index, TimeIndexFile)
        first, last = index.entry(0), index.entry(index.entries - 1)
        if is_time and last[0] < first[0]:
            error = f"the last timestamp {last[0]} is below the first, {first[0]}"
        elif last[is_time] < index.base_offset:
            error = f"the last offset {last[is_time]} is below the base offset {index.base_offset}"
    if error is None:
        return None
    has_zeros = index.has_empty_tail and not index.partial_bytes
    code = "IDX-003" if has_zeros else "DUMP-006"
    findings.add(code, None, f"{error}: it ends in zeros" if has_zeros else error)
    return code


# As rows, and with producer snapshots as the lines of DumpLogSegments

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
        if options.index_sanity_check and not isinstance(index, TxnIndexFile):
            report_sanity_error(index, findings)
            return
        shows = isinstance(index, TxnIndexFile) or not options.verify_index_only
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
    """Yield the line of each entry that the tool reads, and misfits; findings are about all entries."""
    target = unit.target
    with ExitStack() as stack:
        index = open_index(stack, target)
        log = LogOfIndex(stack, target, index, options, findings)
        is_offsets = isinstance(index, OffsetIndexFile)
        is_checked = options.index_sanity_check and (index.entries > 0 or not is_offsets)
        if is_checked and not isinstance(index, TxnIndexFile):
            code = report_sanity_error(index, findings)
            if code is None:
                yield line(f"{target.shown} passed sanity check.")
            elif code == "IDX-003":
                yield line(f"{target.shown} has its preallocated tail.")
            return
        is_read = not (is_offsets and only_zeros(index.file, 0, index.entries * index.entry_size))
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


def _end_for_the_tool(index: AnyIndexFile, block: IndexBlock) -> int:
    """Return how many entries the tool reads: up to zeros, but for the first slot of an offset index."""
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
    index, text_of = log.index, _LINES[type(log.index)]
    shows = isinstance(index, TxnIndexFile) or not options.verify_index_only
    problems = _problems(log, block)
    if options.limit is None:
        yield from (problem for _, problem in problems)
        if shows and block.entries:
            yield TextBlock(("\n".join([*map(text_of, block.entries), ""]).encode(),))
        return
    of_slots: dict[int, list[IndexProblem]] = {}
    for slot, problem in problems:
        of_slots.setdefault(slot, []).append(problem)
    for slot, entry in enumerate(block.entries, block.slot):
        yield from of_slots.get(slot, ())
        if shows:
            yield line(text_of(entry))


def _problems(log: LogOfIndex, block: IndexBlock) -> Iterator[tuple[int, IndexProblem]]:
    """Yield what the tool sums up about the entries of a block, each with its slot."""
    path, index = os.path.join(os.getcwd(), log.findings.target.shown), log.index
    for slot, (last, latest, _) in log.compare(enumerate(block.entries, block.slot)).items():
        number, offset = block.entries[slot - block.slot]
        if not isinstance(index, TimeIndexFile):
            if last not in {None, number}:
                yield slot, IndexProblem(MISMATCH, path, number, last)
        elif last != offset:
            yield slot, IndexProblem(OFFSET_NOT_FOUND, path, offset, -1 if last is None else last)
        else:
            if latest not in {None, number}:
                yield slot, IndexProblem(TIME_MISMATCH, path, number, latest)
            before = index.entry(slot - 1)[0]
            if before >= number:
                yield slot, IndexProblem(OUT_OF_ORDER, path, number, before)


def producers_text(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the line of every producer of a snapshot."""
    for item in read_file(unit, options, findings):
        yield line(producer_line(item[1:])) if isinstance(item, DumpProducerRow) else item
