"""`dump -o text`: what DumpLogSegments prints for a file, as rows of `kcli.output.dump_log`; it goes on where the tool dies."""

import os
from collections.abc import Generator, Iterable
from contextlib import ExitStack

from formats.control import control_record
from formats.errors import FormatError
from formats.index import TXN_INDEX_ENTRY
from formats.names import KRAFT_SNAPSHOT, LOG, OFFSET_INDEX, PRODUCER_SNAPSHOT, TIME_INDEX, TXN_INDEX
from formats.producer_snapshot import read_snapshot
from formats.record_columns import RecordColumns
from kcli.analysis.salvage import Checked, Gap
from kcli.analysis.selection import AnyRecord, holds, is_wanted
from kcli.engine.contract import Unit
from kcli.jobs.dump_batches import good_and_bad, records, tell
from kcli.jobs.dump_bulk import Log, batch_lines, checked, is_bulk, is_plain, parts, record_lines, windows
from kcli.jobs.dump_bytes import redacted, text_of
from kcli.jobs.dump_common import MAX_INT, Here, Item, Options, Reader, Scanned, Told, file_name, sibling
from kcli.jobs.dump_decoders import DECODER_CLASSES, shown_by, shown_with
from kcli.jobs.dump_files import producer_values
from kcli.jobs.dump_index import (
    ENTRIES_BETWEEN_STOPS,
    batch_of,
    first_last_offset,
    is_zero,
    largest_timestamp,
    opened_offset_index,
    sanity_of_offset_index,
    sanity_of_time_index,
)
from kcli.jobs.dump_log import RECORDS_BETWEEN_STOPS
from kcli.jobs.dump_seek import part
from kcli.logdir.buffers import DataFile, FileError, read_whole, reading
from kcli.logdir.bulk import Window
from kcli.logdir.indexes import IndexFile, OffsetIndexFile, TimeIndexFile
from kcli.logdir.segment import Stop
from kcli.logdir.tree import Target
from kcli.output.dump_log import (
    BEGINS,
    ENDS,
    INDENT,
    LINE,
    MISMATCH,
    NON_CONSECUTIVE,
    NOT_FOUND,
    OUT_OF_ORDER,
    SAID,
    TIME_MISMATCH,
    Shown,
    aborted_line,
    batch_line,
    contents,
    control_text,
    producer_line,
    record_line,
)
from kcli.output.pairs import packed
from kcli.rows import Row

BOOTSTRAP = "bootstrap.checkpoint"
BEFORE_FIRST = -1


def text(unit: Unit, options: Options, told: Told) -> Scanned:
    """Yield the lines of a file, and findings; files that the tool does not know are named as it names them."""
    target = unit.target
    if not (unit.start or unit.mark):
        yield line(f"Dumping {target.shown}")
    reader = _READERS.get(target.kind)
    if reader is None or file_name(target).suffix:
        yield Row(SAID, (f"Ignoring unknown file {target.shown}",))
        return
    yield from reader(unit, options, told)


def line(words: str) -> Row:
    """Return the row of one line for stdout."""
    return Row(LINE, (words,))


def _absolute(target: Target) -> str:
    return os.path.join(os.getcwd(), target.shown)


# Logs and KRaft snapshots


def _log(unit: Unit, options: Options, told: Told) -> Scanned:
    target, shown = unit.target, unit.mark
    last = None if unit.start or unit.mark else BEFORE_FIRST
    with DataFile(target.path) as file:
        of = Log(file, target, options, told, (), options.selects)
        if not (unit.start or unit.mark):
            yield line(_title(target))
        start, end = part(file, target, options, told)
        start = unit.start or start
        bulk = is_plain(options)
        if bulk and shown:
            # a batch in which the last piece ended
            begun = next(good_and_bad(file, start, end, told, options, again=True))
            if isinstance(begun, Checked):
                last = yield from _batch(begun, shown, last, of)
                start += begun.batch.header.size
                shown = 0
        walk = (
            windows(file, start, end, told, unit.end)
            if bulk
            else good_and_bad(file, start, end, told, options, cut=unit.end, again=shown > 0)
        )
        for item in walk:
            if isinstance(item, Window):
                last = yield from _window(item, last, of)
            elif isinstance(item, Checked):
                last = yield from _batch(item, shown, last, of)
                shown = 0
            else:
                yield from tell(item, told)
                if _ends(item):
                    told.beyond = True
                    yield from _trailing(item, end, target, options)
                    break
        if last is not None and options.records:
            yield Row(ENDS, (of.path, last))
        if file.grown() > 0 and not unit.end:
            told.add("LOG-005", None, f"it grew by {file.grown()} bytes while it was read")


def _window(window: Window, last: int | None, of: Log) -> Generator[Item, None, int | None]:
    """Yield the lines of a window's batches; return the offset of the last record."""
    options = of.options
    numbers: Iterable[RecordColumns | int] = range(len(window.positions))
    if is_bulk(window, options):
        if not options.records:
            yield from batch_lines(window)
            return last
        numbers = parts(window, options)
    for number in numbers:
        if isinstance(number, int):
            last = yield from _batch(checked(of.file, window, number, options.max_batch_bytes), 0, last, of)
        else:
            last = yield from record_lines(number, window, last, of)
    return last


def _batch(item: Checked, shown: int, last: int | None, of: Log) -> Generator[Item, None, int | None]:
    """Yield the lines of a batch and its records behind the first `shown`; return the offset of the last record."""
    if of.selects and not _is_shown(item, of.told, of.options):
        return last
    if not shown:
        yield line(batch_line(item.batch, valid=item.valid))
    if of.options.records:
        last = yield from _records(item, shown, last, of)
    yield from _here(item.batch.position + item.batch.header.size, 0, last, of)
    return last


def _is_shown(item: Checked, told: Told, options: Options) -> bool:
    """Whether a batch that may hold what is wanted holds it."""
    if options.wanted.contents:
        return any(is_wanted(options.wanted, record) for record in records(item, told, options))
    return holds(options.wanted, item.batch.header, records(item, told, options))


def _records(item: Checked, shown: int, last: int | None, of: Log) -> Generator[Item, None, int | None]:
    """Yield the lines of a batch's records behind the first `shown`; return the offset of its last."""
    options = of.options
    for number, record in enumerate(records(item, of.told, options, told_before=shown > 0)):
        if number >= shown:
            if number % RECORDS_BETWEEN_STOPS == 0 and number:
                yield from _here(item.batch.position, number, last, of)
            if of.selects and not is_wanted(options.wanted, record):
                continue
            if not of.selects:
                if last is None:
                    yield Row(BEGINS, (of.path, record.offset))
                elif record.offset != last + 1:
                    yield Row(NON_CONSECUTIVE, (of.path, packed(last, record.offset)))
            yield line(_record(item, record, of.told, options))
        last = record.offset
    return last


def _here(position: int, shown: int, last: int | None, of: Log) -> Scanned:
    """Yield a place to stop at, and what whoever goes on there does not know."""
    if last is not None and of.options.records:
        yield Row(ENDS, (of.path, last))
    yield Here(position, shown)


def _title(target: Target) -> str:
    name = file_name(target)
    if target.kind == LOG:
        return f"Log starting offset: {name.base_offset}"
    if name.name == BOOTSTRAP:
        return "KRaft bootstrap snapshot"
    return f"Snapshot end offset: {name.base_offset}, epoch: {name.epoch}"


def _ends(item: Gap | Stop) -> bool:
    """Whether the tool's walk ends here quietly; at an impossible length it dies, and kcli goes on."""
    return isinstance(item, Stop) or item.reason in {"incomplete", "short"}


def _trailing(item: Gap | Stop, end: int, target: Target, options: Options) -> Scanned:
    left = end - (item.position if isinstance(item, Stop) else item.broke_at)
    if left > 0 and item.reason in {"incomplete", "short"} and options.max_bytes == MAX_INT:
        yield line(f"Found {left} invalid bytes at the end of {os.path.basename(target.shown)}")


def _record(item: Checked, record: AnyRecord, told: Told, options: Options) -> str:
    position, header = item.batch
    words = ""
    if not options.skip_record_metadata:
        words = record_line(redacted(record, options), header.timestamp_type)
        if header.is_control:
            try:
                words += control_text(control_record(record.key, record.value))
            except FormatError as error:
                told.add("DUMP-002", position, f"offset {record.offset}: {error}")
    if options.print_data_log and not header.is_control:
        shown, trouble = _shown(record, options)
        if trouble is not None:
            told.add("DUMP-002", position, f"offset {record.offset}: {trouble}")
        return contents(shown, f"{INDENT} " if options.skip_record_metadata else " ", words)
    return words


def _shown(record: AnyRecord, options: Options) -> tuple[Shown, str | None]:
    """Return how key and payload are printed, and what is wrong with them."""
    if options.decoder is not None:
        return shown_by(options.decoder, record, options.max_batch_bytes)
    if options.salt is None and options.bytes_as in {None, "text"}:
        return shown_with(DECODER_CLASSES[options.key_decoder], DECODER_CLASSES[options.value_decoder], record)
    key, value = (None if data is None else text_of(data, options) for data in (record.key, record.value))
    return Shown(key, value), None


# Indexes


def _offset_index(unit: Unit, options: Options, told: Told) -> Scanned:
    target = unit.target
    with ExitStack() as stack:
        index = stack.enter_context(OffsetIndexFile(target.path, file_name(target).base_offset or 0))
        log = _log_beside(stack, target, told)
        if options.index_sanity_check and index.entries:
            yield from _sanity(sanity_of_offset_index(index), target, told)
        elif not index.entries or is_zero(index, 0):
            yield line(f"{target.shown} is empty.")
        else:
            for slot in range(unit.start, index.entries):
                offset, position = index.entry(slot)
                if slot and offset == index.base_offset:
                    break
                found = offset if log is None else first_last_offset(log, position, options)
                if found != offset:
                    told.add("DUMP-004", slot * index.entry_size, f"offset {offset}: the batch at byte {position} ends with {found}")
                    if found is not None:
                        yield Row(MISMATCH, (_absolute(target), offset, found))
                yield from _entry(f"offset: {offset} position: {position}", slot, options)


def _time_index(unit: Unit, options: Options, told: Told) -> Scanned:
    target, path = unit.target, _absolute(unit.target)
    base = file_name(target).base_offset or 0
    with ExitStack() as stack:
        index = stack.enter_context(TimeIndexFile(target.path, base))
        log = _log_beside(stack, target, told)
        offsets = opened_offset_index(stack, target, base) if log is not None else None
        if options.index_sanity_check:
            yield from _sanity(sanity_of_time_index(index), target, told)
            return
        before = index.entry(unit.start - 1)[0]
        for slot in range(unit.start, index.entries):
            timestamp, offset = index.entry(slot)
            if is_zero(index, slot) or (slot and offset == base):
                break
            if log is not None:
                batch = batch_of(log, offsets, offset)
                found = batch.header.last_offset if batch is not None else -1
                if batch is None or found != offset:
                    told.add("DUMP-004", slot * index.entry_size, f"offset {offset}: no batch ends with it")
                    yield Row(NOT_FOUND, (path, offset, found))
                else:
                    latest = largest_timestamp(log, batch, options, told)
                    if latest is not None and latest != timestamp:
                        told.add("DUMP-004", slot * index.entry_size, f"timestamp {timestamp}: offset {offset} has {latest}")
                        yield Row(TIME_MISMATCH, (path, timestamp, latest))
                    if before >= timestamp:
                        told.add("DUMP-003", slot * index.entry_size, f"timestamp {timestamp} follows {before}")
                        yield Row(OUT_OF_ORDER, (path, timestamp, before))
            yield from _entry(f"timestamp: {timestamp} offset: {offset}", slot, options)
            before = timestamp


def _entry(words: str, slot: int, options: Options) -> Scanned:
    if not options.verify_index_only:
        yield line(words)
    if slot % ENTRIES_BETWEEN_STOPS == 0:
        yield Here(slot + 1, 0)


def _log_beside(stack: ExitStack, target: Target, told: Told) -> DataFile | None:
    path = sibling(target, "log")
    try:
        if path is not None:
            return stack.enter_context(DataFile(path))
    except FileError as error:
        told.add("DUMP-007", None, f"the log beside it cannot be read: {error.message}")
        return None
    told.add("DUMP-007", None, "there is no log beside it")
    return None


def _sanity(trouble: str | None, target: Target, told: Told) -> Scanned:
    if trouble is None:
        yield line(f"{target.shown} passed sanity check.")
    else:
        told.add("DUMP-008", None, trouble)


# Producers and transactions


def _producers(unit: Unit, options: Options, told: Told) -> Scanned:  # noqa: ARG001 - the shape of every reader
    data = read_whole(unit.target.path)
    with reading(unit.target.path):
        for number, entry in enumerate(read_snapshot(data).entries):
            if number >= unit.start:
                yield line(producer_line(producer_values(entry)))
                yield Here(number + 1, 0)


def _aborted(unit: Unit, options: Options, told: Told) -> Scanned:  # noqa: ARG001 - the shape of every reader
    with IndexFile(unit.target.path, TXN_INDEX_ENTRY.size) as index:
        for slot in range(unit.start, index.entries):
            yield line(aborted_line(TXN_INDEX_ENTRY.read(*index.raw(slot))))
            yield Here(slot + 1, 0)


_READERS: dict[str, Reader] = {
    LOG: _log,
    KRAFT_SNAPSHOT: _log,
    OFFSET_INDEX: _offset_index,
    TIME_INDEX: _time_index,
    PRODUCER_SNAPSHOT: _producers,
    TXN_INDEX: _aborted,
}
