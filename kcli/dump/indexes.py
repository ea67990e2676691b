"""`dump` of index files: a row per entry, preallocated tails told apart, entries compared with the log they lead into."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeAlias

from formats.batch import BATCH, LOG_OVERHEAD
from formats.errors import FormatError
from formats.index import OFFSET_INDEX_ENTRY, TXN_INDEX_ENTRY, TXN_REFUSED_VERSION, ZERO_ENTRY, AbortedTxn
from formats.legacy import MESSAGE_V1
from formats.magic import FORMATS, LARGEST_HEADER, LATEST, is_legacy
from formats.message_set import message_set, messages
from formats.names import IN_PARTITION
from formats.record import batch_records
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import report_moving_index
from kcli.analysis.log_segment import is_wrapper
from kcli.dump.options import DumpOptions
from kcli.dump.resume import Pause, Scanned
from kcli.engine.contract import ResumePoint, Unit
from kcli.jobs.common import source_of
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.files import file_name, sibling
from kcli.logdir.indexes import IndexFile, OffsetIndexFile, TimeIndexFile
from kcli.logdir.moving import comes_true
from kcli.logdir.segment import Batch, Walk, next_batch, only_zeros
from kcli.logdir.tree import Target
from kcli.rows.dump import DumpIndexRow, DumpTimeindexRow, DumpTxnindexRow

_ENTRY = OFFSET_INDEX_ENTRY.only("relative_offset", "position")
_LAST_OFFSET = BATCH.only("base_offset", "batch_length", "magic", "last_offset_delta")

ENTRIES_BETWEEN_STOPS = 512
INTERVAL = 8 << 10
"""Bytes of a log in which the batch that an index leads to lies, nearly always."""
NO_TIMESTAMP = -1

Compare: TypeAlias = Callable[[tuple[int, int]], str | None]


def offset_index(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield (offset, position) of every entry but zeros, and findings about order, tail and batches that do not fit."""
    target = unit.target
    base = file_name(target).base_offset or 0
    with ExitStack() as stack:
        index = stack.enter_context(OffsetIndexFile(target.path, base))
        log = _opened(stack, target, findings)

        def compare(entry: tuple[int, int]) -> str | None:
            if log is None or _ends_with(entry[0], log, entry[1], options):
                return None
            found = first_last_offset(log, entry[1], options)
            return None if found == entry[0] else differs(entry, found)

        if options.index_sanity_check:
            _sanity(sanity_of_offset_index(index), findings)
        else:
            yield from _entries(unit, index, options, findings, compare)
        report_moving_index(index, log, findings)


def time_index(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield (timestamp, offset) of every entry but zeros, and findings as for an offset index."""
    target = unit.target
    base = file_name(target).base_offset or 0
    with ExitStack() as stack:
        index = stack.enter_context(TimeIndexFile(target.path, base))
        log = _opened(stack, target, findings)
        finder = Finder(log, opened_offset_index(stack, target, base)) if log is not None else None

        def compare(entry: tuple[int, int]) -> str | None:
            if finder is None:
                return None
            batch = finder.batch(entry[1])
            if batch is None or batch.header.last_offset != entry[1]:
                return f"offset {entry[1]}: no batch ends with it"
            latest = largest_timestamp(finder.log, batch, options, findings)
            return (
                None
                if latest in {None, entry[0]}
                else f"timestamp {entry[0]}: the batch that ends with {entry[1]} has {latest}"
            )

        if options.index_sanity_check:
            _sanity(sanity_of_time_index(index), findings)
        else:
            yield from _entries(unit, index, options, findings, compare)
        report_moving_index(index, log, findings)


def tell_rest(
    unit: Unit,
    slot: int,
    index: OffsetIndexFile | TimeIndexFile,
    options: DumpOptions,
    findings: FindingCollector,
) -> None:
    """Keep the findings about order and tail of the entries from a slot on, without a look into the log."""
    for _ in _entries(
        replace(unit, resume=ResumePoint(slot)),
        index,
        replace(options, verify_index_only=True),
        findings,
        lambda _: None,
    ):
        pass


def tell_partial(index: IndexFile, findings: FindingCollector) -> None:
    """Keep a finding about bytes behind the last entry."""
    if index.partial_bytes:
        findings.add(
            "DUMP-006",
            index.entries * index.entry_size,
            f"{index.partial_bytes} bytes are left, an entry has {index.entry_size}",
        )


def tell_order(
    slot: int,
    entry: tuple[int, int],
    before: tuple[int, int] | None,
    index: IndexFile,
    findings: FindingCollector,
) -> None:
    """Keep a finding about an entry that does not rise above the one before it."""
    if before is not None and (entry[0] <= before[0] or entry[1] < before[1]):
        findings.add(
            "DUMP-003", slot * index.entry_size, f"entry {slot} ({entry[0]}, {entry[1]}) follows {before}"
        )


def tell_version(slot: int, entry: AbortedTxn, findings: FindingCollector) -> None:
    """Keep a finding about an aborted transaction that the broker refuses."""
    if entry.version >= TXN_REFUSED_VERSION:
        findings.add("DUMP-008", slot * TXN_INDEX_ENTRY.size, f"entry {slot} has version {entry.version}")


def _entries(
    unit: Unit,
    index: OffsetIndexFile | TimeIndexFile,
    options: DumpOptions,
    findings: FindingCollector,
    compare: Compare,
) -> Scanned:
    source = source_of(unit.target)
    row = DumpIndexRow if isinstance(index, OffsetIndexFile) else DumpTimeindexRow
    zeros, before = 0, index.entry(unit.position - 1) if unit.position else None
    for slot in range(unit.position, index.entries):
        if slot % ENTRIES_BETWEEN_STOPS == 0 and slot > unit.position:
            yield Pause(ResumePoint(slot))
        entry = index.entry(slot)
        if is_zero(index, slot):
            if not zeros and only_zeros(
                index.file, slot * index.entry_size, index.entries * index.entry_size
            ):
                zeros = index.entries - slot
                break
            zeros += 1
            continue
        if zeros:
            findings.add(
                "DUMP-003", slot * index.entry_size, f"entry {slot} ({entry[0]}, {entry[1]}) follows zeros"
            )
        else:
            tell_order(slot, entry, before, index, findings)
        before = entry
        if not options.verify_index_only:
            yield row(source, *entry)
        trouble = compare(entry)
        if trouble is not None:
            findings.add("DUMP-004", slot * index.entry_size, trouble)
    if zeros:
        findings.add("IDX-003", None, f"{zeros} of {index.entries} entries are zeros")
    tell_partial(index, findings)


def is_zero(index: OffsetIndexFile | TimeIndexFile, slot: int) -> bool:
    """Whether a slot is preallocated: zeros, but for a lone first entry of a time index, which may be meant."""
    if tuple(index.get(slot)) != ZERO_ENTRY:
        return False
    return (
        slot > 0
        or isinstance(index, OffsetIndexFile)
        or (index.entries > 1 and tuple(index.get(1)) == ZERO_ENTRY)
    )


def txn_index(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:  # noqa: ARG001 - the shape of every reader
    """Yield every aborted transaction; versions that the broker refuses leave a finding each."""
    source = source_of(unit.target)
    with IndexFile(unit.target.path, TXN_INDEX_ENTRY.size) as index:
        for slot in range(unit.position, index.entries):
            entry = TXN_INDEX_ENTRY.read(*index.raw(slot))
            tell_version(slot, entry, findings)
            yield DumpTxnindexRow(source, *entry[1:])
            yield Pause(ResumePoint(slot + 1))
        tell_partial(index, findings)


def _opened(stack: ExitStack, target: Target, findings: FindingCollector) -> DataFile | None:
    """Open the log beside an index; a finding if there is none where there should be."""
    path = sibling(target, "log")
    if path is None:
        name = file_name(target)
        if name.scheme == IN_PARTITION and not (name.suffix or name.inserted):
            report_no_log(target, findings, "there is no log beside it")
        return None
    try:
        return stack.enter_context(DataFile(path))
    except FileError as error:
        report_no_log(target, findings, f"the log beside it cannot be read: {error.message}")
        return None


def report_no_log(target: Target, findings: FindingCollector, message: str) -> None:
    """Keep a finding about an index whose log cannot be read: DUMP-007, or LOG-014 where a broker removes both."""
    if comes_true(os.path.dirname(target.path) or ".", lambda: not os.path.lexists(target.path)):
        findings.add("LOG-014", None, "removed while it was read, as its log was")
    else:
        findings.add("DUMP-007", None, message)


def opened_offset_index(stack: ExitStack, target: Target, base: int) -> OffsetIndexFile | None:
    """Open the offset index beside a time index; None if there is none."""
    path = sibling(target, "index")
    return stack.enter_context(OffsetIndexFile(path, base)) if path is not None else None


def first_last_offset(log: DataFile, position: int, options: DumpOptions) -> int | None:
    """Return the last offset of the batch at a position of the log; None where none can be read."""
    if not 0 <= position < log.size:
        return None
    batch = next(iter(Walk(log, position, position + options.max_message_size, ahead=LARGEST_HEADER)), None)
    return batch.header.last_offset if batch is not None else None


class Taken(NamedTuple):
    """What a broker's reader takes for a batch; `timestamp` as of `largest_timestamp`, `end` is the position behind it."""

    last_offset: int
    timestamp: int | None
    end: int


def taken_for_batch(log: DataFile, position: int, end: int) -> Taken | None:
    """Return what a broker's reader takes for a batch at a position and before `end`; None for nothing.

    It asks for a length that fits, and for nothing else (`FileLogInputStream.nextBatch`). A negative magic reads as a
    message of magic 1.
    """
    found = next_batch(log, position, end) if position >= 0 else None
    if found is None:
        return None
    head, after = found.window, position + found.size
    if is_legacy(found.magic):
        has_time = found.magic < 0 and len(head) >= MESSAGE_V1.size and not is_wrapper(found)
        timestamp = max(MESSAGE_V1.read(head).timestamp, NO_TIMESTAMP) if has_time else None
        return Taken(found.base_offset, timestamp, after)
    return Taken(BATCH.read(head).last_offset, None, after) if len(head) == LARGEST_HEADER else None


def agreeing(
    index: OffsetIndexFile, log: DataFile | None, slot: int, options: DumpOptions
) -> list[tuple[int, int]]:
    """Return some of the entries from a slot on, each (offset, position): those of which there is nothing to tell, up to one that needs a look.

    They rise, and the batch of magic 2 to which each leads ends with its offset. Where that cannot be read, the list ends.
    """
    offset, position = index.entry(slot - 1)
    found: list[tuple[int, int]] = []
    for relative, start in _ENTRY.iter_unpack(index.following(slot)):
        if index.base_offset + relative <= offset or start < position:
            break
        offset, position = index.base_offset + relative, start
        if log is not None and not _ends_with(offset, log, start, options):
            break
        found.append((offset, start))
    return found


def _ends_with(offset: int, log: DataFile, position: int, options: DumpOptions) -> bool:
    """Whether a batch of magic 2 begins at a position of the log, all of it in reach, and ends with an offset."""
    try:
        head = log.read(position, _LAST_OFFSET.size)
    except FileError:
        return False
    if len(head) < _LAST_OFFSET.size:
        return False
    first, length, magic, delta = _LAST_OFFSET.unpack(head)
    in_reach: int = min(log.size - position, options.max_message_size) - LOG_OVERHEAD
    return bool(
        first + delta == offset and magic == LATEST and FORMATS[LATEST].smallest_length <= length <= in_reach
    )


def differs(entry: tuple[int, int], found: int | None) -> str:
    """Return in words that an entry of an offset index leads to a batch that ends elsewhere, or to none."""
    what = "no batch at" if found is None else f"{found} is the last offset of the batch at"
    return f"offset {entry[0]}: {what} byte {entry[1]}"


class Finder:
    """Finds the first batch that ends with an offset or behind it, from where the offset index leads.

    Where the index leads to the same place for one offset after another, as an empty one does, it goes on where it was.
    """

    def __init__(self, log: DataFile, offsets: OffsetIndexFile | None) -> None:
        self.log = log
        self._offsets = offsets
        self._led_to, self._offset = -1, 0
        self._found: Batch | None = None
        self.taken: Taken | None = None
        """What is no batch, but is taken for the one that was asked for."""

    def batch(self, offset: int) -> Batch | None:
        """Return the batch; None past the end of the log, and for what is only taken for one."""
        self.taken = None
        position = self._offsets.lookup(offset)[1] if self._offsets is not None else 0
        if position < 0:
            return None
        start = position
        if position == self._led_to and offset >= self._offset:
            if self._found is None:
                return None
            start = self._found.position
        self._led_to, self._offset = position, offset
        self._found, self.taken = self._first(start, offset)
        if self.taken is not None:
            self._led_to = -1  # there may be batches behind it
        return self._found

    def _first(self, position: int, offset: int) -> tuple[Batch | None, Taken | None]:
        """Return the first batch that ends with an offset or behind it; or what is taken for such a batch before."""
        while True:
            walk = Walk(self.log, position, ahead=INTERVAL)
            found = next((batch for batch in walk if batch.header.last_offset >= offset), None)
            passed = (
                taken_for_batch(self.log, walk.stop.position, self.log.size)
                if walk.stop is not None
                else None
            )
            if passed is None:
                return found, None
            if passed.last_offset >= offset:
                return None, passed
            position = passed.end


def largest_timestamp(
    log: DataFile, batch: Batch, options: DumpOptions, findings: FindingCollector
) -> int | None:
    """Return the largest timestamp of a batch's records, -1 without any or for less; None if they cannot be read."""
    position, header = batch
    if header.size > options.max_batch_bytes:
        return header.max_timestamp
    raw = log.read(position, header.size)
    try:
        if not is_legacy(header.magic):
            return max(
                chain(
                    (NO_TIMESTAMP,),
                    (record.timestamp for record in batch_records(raw, options.max_batch_bytes)),
                )
            )
        return max(
            chain(
                (NO_TIMESTAMP,),
                (message.timestamp for message in messages(message_set(raw, options.max_batch_bytes))),
            )
        )
    except FormatError as error:
        findings.add(
            "DUMP-002", position, f"the batch at byte {position} of the log: {error.moved(position)}"
        )
        return None


def sanity_of_offset_index(index: OffsetIndexFile) -> str | None:
    """Return why OffsetIndex.sanityCheck refuses an index; None if it passes."""
    if index.entries and index.entry(index.entries - 1)[0] < index.base_offset:
        return f"the last offset {index.entry(index.entries - 1)[0]} is below the base offset {index.base_offset}"
    return _whole(index)


def sanity_of_time_index(index: TimeIndexFile) -> str | None:
    """Return why TimeIndex.sanityCheck refuses an index; None if it passes."""
    if index.entries:
        first, (timestamp, offset) = index.entry(0)[0], index.entry(index.entries - 1)
        if timestamp < first:
            return f"the last timestamp {timestamp} is below the first, {first}"
        if offset < index.base_offset:
            return f"the last offset {offset} is below the base offset {index.base_offset}"
    return _whole(index)


def _whole(index: IndexFile) -> str | None:
    return f"{index.file.size} bytes are no multiple of {index.entry_size}" if index.partial_bytes else None


def _sanity(trouble: str | None, findings: FindingCollector) -> None:
    if trouble is not None:
        findings.add("DUMP-008", None, trouble)
