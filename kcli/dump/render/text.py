"""`dump -o text`: what DumpLogSegments prints for a file, as rows of `kcli.dump.render.lines`; it goes on where the tool dies."""

import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from sys import getsizeof
from typing import Any

from formats.control import ABORT, COMMIT
from formats.errors import FormatError
from formats.names import KRAFT_SNAPSHOT, LOG, OFFSET_INDEX, PRODUCER_SNAPSHOT, TIME_INDEX, TXN_INDEX
from formats.producer_snapshot import read_snapshot
from formats.record_columns import RecordColumns
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import report_damage, report_growth
from kcli.analysis.salvage import Checked, Gap
from kcli.analysis.selection import AnyRecord, holds, is_wanted
from kcli.dump.batches import control_of, records, words_about
from kcli.dump.bulk import (
    Log,
    batch_lines,
    checked,
    checker,
    is_bulk,
    is_plain,
    last_position,
    parts,
    record_lines,
    walked,
)
from kcli.dump.decoders import DECODER_CLASSES, shown_by, shown_with
from kcli.dump.files import producer_values
from kcli.dump.filter import good_and_bad
from kcli.dump.options import MAX_INT, Here, Item, Options, Reader, Scanned, inside
from kcli.dump.render.index_text import offset_index_text, time_index_text, txn_index_text
from kcli.dump.render.lines import (
    BATCH_LINE,
    BEGINS,
    ENDS,
    INDENT,
    LONG_TEXT,
    NON_CONSECUTIVE,
    RECORD_LINE,
    SAID,
    Shown,
    batch_line,
    contents,
    control_text,
    line,
    producer_line,
    record_line,
)
from kcli.dump.render.pairs import packed
from kcli.dump.render.rows import BYTES_BETWEEN_STOPS, RECORDS_BETWEEN_STOPS
from kcli.dump.seek import part
from kcli.dump.shown_bytes import redacted, words_of
from kcli.engine.contract import Unit
from kcli.logdir.buffers import DataFile, read_whole, reading
from kcli.logdir.bulk import Window
from kcli.logdir.files import file_name
from kcli.logdir.segment import Stop
from kcli.logdir.tree import Target
from kcli.rows import Row, TextBlock, type_name
from kcli.rows.columns import TITLE

BOOTSTRAP = "bootstrap.checkpoint"
BEFORE_FIRST = -1


def text(unit: Unit, options: Options, told: FindingCollector) -> Scanned:
    """Yield the lines of a file, and findings; files that the tool does not know are named as it names them."""
    items = _text(unit, options, told)
    return items if options.tail is None else _last(items, options.tail, records=options.records)


def _last(items: Scanned, count: int, *, records: bool) -> Scanned:
    """Yield the last lines of batches, or of records, each batch's line before its first; and everything else.

    A tail comes in one piece.
    """
    batch: Row | None = None
    kept: deque[tuple[Row | None, Row | TextBlock]] = deque(maxlen=count)
    behind: list[Item] = []
    for item in items:
        if isinstance(item, Row) and item.type == BATCH_LINE and records:
            batch = item
        elif isinstance(item, (Row, TextBlock)) and type_name(item) in {BATCH_LINE, RECORD_LINE}:
            kept.append((batch, item))
        elif kept or batch:
            behind.append(item)
        elif not isinstance(item, Here):
            yield item
    shown: Row | None = None
    for batch, record in kept:
        if batch is not None and batch is not shown:
            yield batch
        shown = batch
        yield record
    yield from (item for item in behind if not isinstance(item, Here))


def _text(unit: Unit, options: Options, told: FindingCollector) -> Scanned:
    target = unit.target
    if not (unit.start or unit.mark):
        yield line(f"Dumping {target.shown}", TITLE)
    reader = _READERS.get(target.kind)
    if reader is None or file_name(target).suffix:
        yield Row(SAID, (f"Ignoring unknown file {target.shown}",))
        return
    yield from reader(unit, options, told)


# Logs and KRaft snapshots


def _log(unit: Unit, options: Options, told: FindingCollector) -> Scanned:
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
            walked(file, start, end, told, unit.end)
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
                yield from report_damage(item, told)
                if _ends(item, options):
                    told.ran_past_end = True
                    yield from _trailing(item, end, target, options)
                    break
        if last is not None and options.records:
            yield Row(ENDS, (of.path, last))
        if not unit.end:
            report_growth(file, told)


def _window(window: Window, last: int | None, of: Log) -> Generator[Item, None, int | None]:
    """Yield the lines of a window's batches; return the offset of the last record."""
    options, check_to = of.options, checker(window, of)
    numbers: Iterable[RecordColumns | int] = range(len(window.positions))
    if is_bulk(window, options):
        if not options.records:
            check_to()
            yield from batch_lines(window)
            return last
        numbers = parts(window, of.file, options.max_batch_bytes)
    for number in numbers:
        if isinstance(number, int):
            check_to(int(window.positions[number]))
            last = yield from _batch(checked(of.file, window, number, options.max_batch_bytes), 0, last, of)
        else:
            check_to(last_position(number, window))
            last = yield from record_lines(number, window, last, of)
    return last


def _batch(item: Checked, shown: int, last: int | None, of: Log) -> Generator[Item, None, int | None]:
    """Yield the lines of a batch and its records behind the first `shown`; return the offset of the last record."""
    if of.selects and not _is_shown(item, of.told, of.options):
        return last
    if not shown:
        yield line(batch_line(item.batch, valid=item.valid), BATCH_LINE)
    held = 0
    if of.options.records:
        last, held = yield from _records(item, shown, last, of)
    yield from _here(item.batch.position + item.batch.header.size, 0, last, of, held)
    return last


def _is_shown(item: Checked, told: FindingCollector, options: Options) -> bool:
    """Whether a batch that may hold what is wanted holds it."""
    if options.wanted.contents:
        return any(is_wanted(options.wanted, record) for record in records(item, told, options))
    return holds(options.wanted, item.batch.header, records(item, told, options))


def _records(
    item: Checked, shown: int, last: int | None, of: Log
) -> Generator[Item, None, tuple[int | None, int]]:
    """Yield the lines of a batch's records behind the first `shown`; return the offset of its last, and how many bytes came since the last place to stop at."""
    options, held, read = of.options, 0, 0
    for number, record in enumerate(records(item, of.told, options, told_before=shown > 0)):
        if number >= shown:
            if number and (number % RECORDS_BETWEEN_STOPS == 0 or held >= BYTES_BETWEEN_STOPS):
                yield from _here(item.batch.position, number, last, of, held)
                held = 0
            if of.selects and not is_wanted(options.wanted, record):
                continue
            if not of.selects:
                if last is None:
                    yield Row(BEGINS, (of.path, record.offset))
                elif record.offset != last + 1:
                    yield Row(NON_CONSECUTIVE, (of.path, packed(last, record.offset)))
            row, size = _row(_record(item, record, of.told, options))
            held += size
            yield row
            del row
        last, read = record.offset, number + 1
    header = item.batch.header
    if item.valid and read < (1 if header.records_count is None else header.records_count):
        last = header.last_offset  # what could not be read is no gap in the log
    return last, held


def _here(position: int, shown: int, last: int | None, of: Log, held: int = 0) -> Scanned:
    """Yield a place to stop at, and what whoever goes on there does not know."""
    if last is not None and of.options.records:
        yield Row(ENDS, (of.path, last))
    yield Here(position, shown, held)


def _title(target: Target) -> str:
    name = file_name(target)
    if target.kind == LOG:
        return f"Log starting offset: {name.base_offset}"
    if name.name == BOOTSTRAP:
        return "KRaft bootstrap snapshot"
    return f"Snapshot end offset: {name.base_offset}, epoch: {name.epoch}"


def _ends(item: Gap | Stop, options: Options) -> bool:
    """Whether the tool's walk ends here quietly; at an impossible length it dies, and kcli goes on, as it does to what is selected."""
    return isinstance(item, Stop) or (item.reason in {"incomplete", "short"} and not options.selects)


def _trailing(item: Gap | Stop, end: int, target: Target, options: Options) -> Scanned:
    left = end - (item.position if isinstance(item, Stop) else item.broke_at)
    if left > 0 and item.reason in {"incomplete", "short"} and options.max_bytes == MAX_INT:
        yield line(f"Found {left} invalid bytes at the end of {os.path.basename(target.shown)}")


def _row(words: Iterator[str]) -> tuple[Row | TextBlock, int]:
    """Return the row of a record's line, and its size in bytes: of much text, bytes, for a character takes up to four."""
    held: list[str] = []
    length = 0
    for word in words:
        held.append(word)
        length += len(word)
        if length > LONG_TEXT:
            break
    else:
        text = "".join(held)
        return line(text, RECORD_LINE), getsizeof(text)
    pieces: Any = tuple(_encoded(chain(held, words, ("\n",))))
    return TextBlock(RECORD_LINE, pieces), sum(map(len, pieces))


def _encoded(words: Iterable[str]) -> Iterator[bytearray]:
    """Yield words as UTF-8 in pieces: one that grows is moved, and takes its place twice."""
    piece = bytearray()
    for word in words:
        for at in range(0, len(word), LONG_TEXT):
            piece += word[at : at + LONG_TEXT].encode(errors="backslashreplace")
            if len(piece) > LONG_TEXT:
                yield piece
                piece = bytearray()
    yield piece


def _record(item: Checked, record: AnyRecord, told: FindingCollector, options: Options) -> Iterator[str]:
    """Yield the words that are printed of a record."""
    position, header = item.batch
    if not options.skip_record_metadata:
        yield record_line(redacted(record, options), header.timestamp_type)
        if header.is_control:
            yield from _control(position, record, told, options)
    if options.print_data_log and not header.is_control:
        shown, trouble = _shown(record, options)
        if trouble is not None:
            told.add("DUMP-002", position, inside(record.offset, trouble))
        yield from contents(shown, f"{INDENT} " if options.skip_record_metadata else " ")


def _control(position: int, record: AnyRecord, told: FindingCollector, options: Options) -> Iterator[str]:
    """Yield what is printed of a control record; of one that is redacted, a transaction's outcome alone."""
    try:
        found = control_of(record, options)
    except FormatError as error:
        told.add("DUMP-002", position, inside(record.offset, words_about(error, options)))
        return
    if options.salt is None or found.value is None or found.type in {ABORT, COMMIT}:
        yield control_text(found)
    else:
        yield f" controlType: {found.name}({found.type}) {words_of(record.value or b'', options)}"


def _shown(record: AnyRecord, options: Options) -> tuple[Shown, str | None]:
    """Return how key and payload are printed, and what is wrong with them."""
    if options.decoder is not None:
        return shown_by(options.decoder, record, options.max_batch_bytes)
    if options.salt is None and options.bytes_as in {None, "text"}:
        return shown_with(
            DECODER_CLASSES[options.key_decoder], DECODER_CLASSES[options.value_decoder], record
        )
    key, value = (None if data is None else words_of(data, options) for data in (record.key, record.value))
    return Shown(key, value), None


# Producers


def _producers(unit: Unit, options: Options, told: FindingCollector) -> Scanned:  # noqa: ARG001 - the shape of every reader
    data = read_whole(unit.target.path)
    with reading(unit.target.path):
        for number, entry in enumerate(read_snapshot(data).entries):
            if number >= unit.start:
                yield line(producer_line(producer_values(entry)))
                yield Here(number + 1, 0)


_READERS: dict[str, Reader] = {
    LOG: _log,
    KRAFT_SNAPSHOT: _log,
    OFFSET_INDEX: offset_index_text,
    TIME_INDEX: time_index_text,
    PRODUCER_SNAPSHOT: _producers,
    TXN_INDEX: txn_index_text,
}
