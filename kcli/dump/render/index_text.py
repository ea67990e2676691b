"""`dump -o text` of indexes: the lines of DumpLogSegments; findings about order and tail are those of `kcli.dump.indexes`."""

import os
from collections.abc import Sequence
from contextlib import ExitStack

from formats.index import OFFSET_INDEX_ENTRY, TXN_INDEX_ENTRY
from formats.producer_snapshot import read_snapshot
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import report_moving_index
from kcli.dump.files import producer_values
from kcli.dump.indexes import (
    ENTRIES_BETWEEN_STOPS,
    Finder,
    agreeing,
    differs,
    first_last_offset,
    is_zero,
    largest_timestamp,
    opened_offset_index,
    report_no_log,
    sanity_of_offset_index,
    sanity_of_time_index,
    taken_for_batch,
    tell_order,
    tell_partial,
    tell_rest,
    tell_version,
)
from kcli.dump.options import DumpOptions
from kcli.dump.render.lines import (
    MISMATCH,
    NOT_FOUND,
    OUT_OF_ORDER,
    TIME_MISMATCH,
    IndexProblem,
    aborted_line,
    line,
    producer_line,
)
from kcli.dump.resume import Pause, Scanned
from kcli.engine.contract import ResumePoint, Unit
from kcli.logdir.buffers import DataFile, FileError, read_whole, reading
from kcli.logdir.files import file_name, sibling
from kcli.logdir.indexes import IndexFile, OffsetIndexFile, TimeIndexFile
from kcli.logdir.segment import only_zeros
from kcli.logdir.tree import Target
from kcli.rows import TextBlock


def _absolute(target: Target) -> str:
    return os.path.join(os.getcwd(), target.shown)


def offset_index_text(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the line of every entry of an offset index, what does not fit the log beside it, and findings."""
    target = unit.target
    with ExitStack() as stack:
        index = stack.enter_context(OffsetIndexFile(target.path, file_name(target).base_offset or 0))
        log = _log_beside(stack, target, findings)
        if options.index_sanity_check and index.entries:
            yield from _sanity(sanity_of_offset_index(index), target, findings)
        elif only_zeros(index.file, 0, index.entries * index.entry_size):
            yield line(f"{target.shown} is empty.")
            tell_rest(unit, 0, index, options, findings)
        else:
            # the tool takes zeros in the first slot for an entry
            begins_with_zeros = is_zero(index, 0)
            if begins_with_zeros and not unit.position:
                tell_rest(unit, 0, index, options, findings)
            slot = unit.position
            while slot < index.entries:
                if options.limit is None and (alike := agreeing(index, log, slot, options)):
                    slot += len(alike)
                    yield from _entries(alike, slot, options)
                    continue
                entry = index.entry(slot)
                if slot and entry[0] == index.base_offset:
                    break
                if slot and not begins_with_zeros:
                    tell_order(slot, entry, index.entry(slot - 1), index, findings)
                if log is not None:
                    yield from _compared(slot, entry, log, options, findings)
                yield from _entry(f"offset: {entry[0]} position: {entry[1]}", slot, options)
                slot += 1
            if not begins_with_zeros:
                tell_rest(unit, slot, index, options, findings)
        report_moving_index(index, log, findings)


def time_index_text(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    """Yield the line of every entry of a time index, what does not fit the log beside it, and findings."""
    target, path = unit.target, _absolute(unit.target)
    base = file_name(target).base_offset or 0
    with ExitStack() as stack:
        index = stack.enter_context(TimeIndexFile(target.path, base))
        log = _log_beside(stack, target, findings)
        finder = Finder(log, opened_offset_index(stack, target, base)) if log is not None else None
        if options.index_sanity_check:
            yield from _sanity(sanity_of_time_index(index), target, findings)
            return
        slot, before = unit.position, index.entry(unit.position - 1)
        for slot in range(unit.position, index.entries):
            timestamp, offset = entry = index.entry(slot)
            if is_zero(index, slot) or (slot and offset == base):
                break
            tell_order(slot, entry, before if slot else None, index, findings)
            if finder is not None:
                batch, taken = finder.batch(offset), finder.taken
                found = (
                    batch.header.last_offset
                    if batch is not None
                    else taken.last_offset
                    if taken is not None
                    else -1
                )
                if batch is None or found != offset:
                    findings.add(
                        "DUMP-004", slot * index.entry_size, f"offset {offset}: no batch ends with it"
                    )
                if found != offset:
                    yield IndexProblem(NOT_FOUND, path, offset, found)
                else:
                    latest = (
                        largest_timestamp(finder.log, batch, options, findings)
                        if batch is not None
                        else taken and taken.timestamp
                    )
                    if latest is not None and latest != timestamp:
                        findings.add(
                            "DUMP-004",
                            slot * index.entry_size,
                            f"timestamp {timestamp}: offset {offset} has {latest}",
                        )
                        yield IndexProblem(TIME_MISMATCH, path, timestamp, latest)
                    if before[0] >= timestamp:
                        yield IndexProblem(OUT_OF_ORDER, path, timestamp, before[0])
            yield from _entry(f"timestamp: {timestamp} offset: {offset}", slot, options)
            before = entry
        else:
            slot = index.entries
        tell_rest(unit, slot, index, options, findings)
        report_moving_index(index, log, findings)


def _entry(words: str, slot: int, options: DumpOptions) -> Scanned:
    if not options.verify_index_only:
        yield line(words)
    if slot % ENTRIES_BETWEEN_STOPS == 0:
        yield Pause(ResumePoint(slot + 1))


def _compared(
    slot: int, entry: tuple[int, int], log: DataFile, options: DumpOptions, findings: FindingCollector
) -> Scanned:
    offset, position = entry
    found = first_last_offset(log, position, options)
    if found != offset:
        findings.add("DUMP-004", slot * OFFSET_INDEX_ENTRY.size, differs(entry, found))
        taken = taken_for_batch(log, position, min(log.size, position + options.max_message_size))
        if taken is not None and taken.last_offset != offset:
            yield IndexProblem(MISMATCH, _absolute(findings.target), offset, taken.last_offset)


def _entries(entries: Sequence[tuple[int, int]], slot: int, options: DumpOptions) -> Scanned:
    held = 0
    if not options.verify_index_only:
        text = "".join([f"offset: {offset} position: {position}\n" for offset, position in entries]).encode()
        held = len(text)
        yield TextBlock((text,))
    yield Pause(ResumePoint(slot), held)


def _log_beside(stack: ExitStack, target: Target, findings: FindingCollector) -> DataFile | None:
    path = sibling(target, "log")
    try:
        if path is not None:
            return stack.enter_context(DataFile(path))
    except FileError as error:
        report_no_log(target, findings, f"the log beside it cannot be read: {error.message}")
        return None
    report_no_log(target, findings, "there is no log beside it")
    return None


def _sanity(trouble: str | None, target: Target, findings: FindingCollector) -> Scanned:
    if trouble is None:
        yield line(f"{target.shown} passed sanity check.")
    else:
        findings.add("DUMP-008", None, trouble)


def txn_index_text(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:  # noqa: ARG001 - the shape of every reader
    """Yield the line of every aborted transaction, and findings."""
    with IndexFile(unit.target.path, TXN_INDEX_ENTRY.size) as index:
        for slot in range(unit.position, index.entries):
            entry = TXN_INDEX_ENTRY.read(*index.raw(slot))
            tell_version(slot, entry, findings)
            yield line(aborted_line(entry))
            yield Pause(ResumePoint(slot + 1))
        tell_partial(index, findings)


def producers_text(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:  # noqa: ARG001 - the shape of every reader
    """Yield the line of every producer of a snapshot."""
    data = read_whole(unit.target.path)
    with reading(unit.target.path):
        for number, entry in enumerate(read_snapshot(data).entries):
            if number >= unit.position:
                yield line(producer_line(producer_values(entry)))
                yield Pause(ResumePoint(number + 1))
