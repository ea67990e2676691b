"""`dump` of logs and KRaft snapshots: a row per batch or record, past damage, from the place that the index gives."""

from collections import deque
from collections.abc import Iterable
from typing import TypeAlias

from formats.batch import COMPRESSION_NAMES, NO_SEQUENCE
from formats.control import control_type
from formats.record import BYTES_A_HEADER, Record
from formats.record_columns import RecordColumns
from kcli.analysis.collector import FindingCollector
from kcli.analysis.log_findings import report_damage, report_growth
from kcli.analysis.salvage import Checked
from kcli.analysis.selection import AnyRecord, holds, is_wanted
from kcli.dump.batches import check_control, records
from kcli.dump.bulk import (
    Log,
    batch_block,
    checked,
    checker,
    is_as_stored,
    is_bulk,
    last_position,
    parts,
    record_block,
    walked,
)
from kcli.dump.decoders import decoded, decoder_for
from kcli.dump.filter import chosen, good_and_bad, is_told_by_columns, narrowed
from kcli.dump.options import Here, Options, Scanned, inside
from kcli.dump.seek import part
from kcli.dump.shown_bytes import redacted
from kcli.engine.contract import Unit
from kcli.logdir.buffers import DataFile
from kcli.logdir.bulk import Window
from kcli.logdir.files import from_file
from kcli.logdir.segment import Batch
from kcli.rows import Row, Value
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD

RECORDS_BETWEEN_STOPS = 256
BYTES_BETWEEN_STOPS = 1 << 18
NOTHING_DECODED = (None,) * 5

Where: TypeAlias = tuple[Value, ...]


def log(unit: Unit, options: Options, told: FindingCollector) -> Scanned:
    """Yield the rows of a log's batches or records that are wanted, and findings about what is damaged."""
    items = _log(unit, options, told)
    return items if options.tail is None else _last(items, options.tail)


def _last(items: Scanned, count: int) -> Scanned:
    """Yield the last rows, and every finding: a tail is short, so it is delivered in one piece."""
    rows: deque[Row] = deque(maxlen=count)
    for item in items:
        if isinstance(item, Row):
            rows.append(item)
        elif not isinstance(item, Here):
            yield item
    yield from rows


def _log(unit: Unit, options: Options, told: FindingCollector) -> Scanned:
    target, shown = unit.target, unit.mark
    with DataFile(target.path) as file:
        of = Log(file, target, options, told, from_file(target), options.selects)
        start, end = part(file, target, options, told)
        start = unit.start or start
        decoder = decoder_for(target, options)
        bulk = (
            (options.blocks or options.form is not None)
            and decoder is None
            and is_as_stored(options)
            and not shown
        )
        bulk = bulk and (
            not options.selects or (options.tail is None and is_told_by_columns(options, start, end))
        )
        walk = (
            walked(file, start, end, told, unit.end)
            if bulk
            else good_and_bad(file, start, end, told, options, cut=unit.end, again=shown > 0)
        )
        for item in walk:
            if isinstance(item, Window):
                yield from _window(item, of)
            elif isinstance(item, Checked):
                yield from _batch(item, shown, decoder, of)
                shown = 0
            else:
                yield from report_damage(item, told)
        if not unit.end:
            report_growth(file, told)


def _window(window: Window, of: Log) -> Scanned:
    """Yield the rows of a window's batches, many at once where they are of magic 2 and can be read in bulk."""
    wanted, check_to = of.options.wanted, checker(window, of)
    if of.selects:
        window = narrowed(window, wanted)
    numbers: Iterable[RecordColumns | int] = range(len(window.positions))
    if not len(window.positions):
        check_to()
        return
    if is_bulk(window, of.options) and (of.options.records or wanted.times is None):
        if not of.options.records:
            check_to()
            yield from batch_block(window, of)
            return
        numbers = parts(window, of.file, of.options.max_batch_bytes)
    for number in numbers:
        if isinstance(number, int):
            check_to(int(window.positions[number]))
            yield from _batch(checked(of.file, window, number, of.options.max_batch_bytes), 0, None, of)
        else:
            check_to(last_position(number, window))
            yield from record_block(number, chosen(number, wanted) if of.selects else number, window, of)
    check_to()


def _batch(item: Checked, shown: int, decoder: str | None, of: Log) -> Scanned:
    """Yield the rows of a batch, or of its records behind the first `shown`."""
    batch, wanted, options, where = item.batch, of.options.wanted, of.options, of.where
    some = of.selects
    if not options.records:
        if not some or holds(wanted, batch.header, records(item, of.told, options)):
            yield batch_row(where, batch, valid=item.valid)
        yield Here(batch.position + batch.header.size, 0)
        return
    number, held = 0, 0
    for number, record in enumerate(records(item, of.told, options, told_before=shown > 0)):
        if number < shown or (some and not is_wanted(wanted, record)):
            continue
        if number and (number % RECORDS_BETWEEN_STOPS == 0 or held > BYTES_BETWEEN_STOPS):
            yield Here(batch.position, number, held)
            held = 0
        held += len(record.key or b"") + len(record.value or b"") + _headers_held(record)
        if batch.header.is_control:
            check_control(batch.position, record, of.told, options)
        yield record_row(
            where, batch, redacted(record, options), _told(decoder, batch, record, of.told, options)
        )
    yield Here(batch.position + batch.header.size, 0, held)


def _headers_held(record: AnyRecord) -> int:
    if not isinstance(record, Record):
        return 0
    return sum(BYTES_A_HEADER + len(key) + len(value or b"") for key, value in record.headers)


def batch_row(where: Where, batch: Batch, *, valid: bool) -> Row:
    """Return the row of a batch."""
    position, header = batch
    values = (
        position,
        header.size,
        header.magic,
        header.base_offset,
        header.last_offset,
        header.records_count,
        header.partition_leader_epoch,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.last_sequence,
        header.is_transactional,
        header.is_control,
        header.delete_horizon_ms,
        header.timestamp_type,
        header.max_timestamp,
        COMPRESSION_NAMES.get(header.codec, str(header.codec)),
        header.crc,
        valid,
    )
    return Row(DUMP_BATCH.name, (*where, *values))


def _told(
    decoder: str | None, batch: Batch, record: AnyRecord, told: FindingCollector, options: Options
) -> Where:
    """Return the values of the columns that tell what a record of an internal topic says."""
    if decoder is None or batch.header.is_control:
        return NOTHING_DECODED
    *values, damaged = decoded(decoder, record, options.max_batch_bytes)
    if damaged:
        told.add("DUMP-002", batch.position, inside(record.offset, str(values[-1])))
    return tuple(values)


def record_row(where: Where, batch: Batch, record: AnyRecord, decoded_values: Where) -> Row:
    """Return the row of a record; the last values are those of `kcli.analysis.contents.FindingCollector`."""
    headers: list[Value] = []
    sequence, control = NO_SEQUENCE, None
    if isinstance(record, Record):
        headers = [
            {"key": key.decode(errors="backslashreplace"), "value": value} for key, value in record.headers
        ]
        sequence, control = record.sequence, control_type(record.key) if batch.header.is_control else None
    values = (
        batch.position,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        headers,
        sequence,
        control,
    )
    return Row(DUMP_RECORD.name, (*where, *values, *decoded_values))
