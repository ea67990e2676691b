"""`dump` of logs and KRaft snapshots: a row per batch or record, past damage, from the place that the index gives."""

import os
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from formats.batch import COMPRESSION_NAMES, NO_SEQUENCE, BatchHeader
from formats.control import CONTROL_NAMES, control_key
from formats.errors import FormatError, LimitError
from formats.message_set import LegacyRecord, message_set, set_records
from formats.record import MAGIC, Record, batch_records
from kcli.analysis.salvage import Checked, Gap, checked_batches
from kcli.dump_rows import DUMP_BATCH, DUMP_RECORD
from kcli.engine.contract import Unit
from kcli.jobs.dump_common import MAX_INT, MOST_GAPS, Here, Options, Scanned, Told, file_name, from_file, sibling
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.indexes import OffsetIndexFile
from kcli.logdir.segment import Batch, Stop, Walk
from kcli.logdir.tree import Target
from kcli.rows import Row, Value

RECORDS_BETWEEN_STOPS = 256

Where: TypeAlias = tuple[Value, ...]
AnyRecord: TypeAlias = Record | LegacyRecord


class Selected(NamedTuple):
    """Where a dump of a log begins and ends (bytes), the offsets that are wanted, and whether the end was cut by choice."""

    start: int
    end: int
    first: int
    last: int


def log(unit: Unit, options: Options) -> Scanned:
    """Yield the rows of a log's batches or records that are wanted, and findings about what is damaged."""
    items = _log(unit, options)
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


def _log(unit: Unit, options: Options) -> Scanned:
    target, told = unit.target, Told(unit.target)
    with DataFile(target.path) as file:
        wanted = selected(file, target, options, told)
        where = from_file(target)
        shown = unit.mark
        for item in good_and_bad(file, unit.start or wanted.start, wanted, told, options):
            if not isinstance(item, Checked):
                yield from tell(item, told)
                continue
            batch = item.batch
            if not options.records:
                yield Here(batch.position, 0)
                yield batch_row(where, batch, valid=item.valid)
                continue
            number, held = 0, 0
            for number, record in enumerate(records(item, told, options, told_before=shown > 0)):
                if number < shown or not wanted.first <= record.offset <= wanted.last:
                    continue
                if number % RECORDS_BETWEEN_STOPS == 0 or held > RECORDS_BETWEEN_STOPS:
                    yield Here(batch.position, number, held)
                    held = 0
                held += len(record.key or b"") + len(record.value or b"")
                yield record_row(where, batch, record)
            shown = 0
            yield Here(batch.position + batch.header.size, 0, held)
        if file.grown() > 0:
            told.add("LOG-005", None, f"it grew by {file.grown()} bytes while it was read")
    yield from told


def good_and_bad(file: DataFile, start: int, wanted: Selected, told: Told, options: Options) -> Iterator[Checked | Gap | Stop]:
    """Yield the wanted batches, every damaged range and where it all stops; keep findings about wrong checksums."""
    gaps = 0
    for item in checked_batches(file, start, wanted.end, options.max_batch_bytes):
        if isinstance(item, Checked):
            header = item.batch.header
            if header.magic >= MAGIC and header.base_offset > wanted.last:
                return
            if header.last_offset >= wanted.first:
                if not item.valid:
                    told.add("LOG-003", item.batch.position, f"offset {header.base_offset}: the checksum does not match")
                elif header.magic > MAGIC:
                    told.add("LOG-003", item.batch.position, f"offset {header.base_offset}: magic {header.magic} is not known")
                yield item
            if header.last_offset >= wanted.last and item.valid:
                return
        elif isinstance(item, Gap):
            gaps += 1
            if gaps <= MOST_GAPS or item.next_offset is None:
                yield item
            else:
                told.add("DUMP-001", item.start, f"more than {MOST_GAPS} damaged ranges: this one up to byte {item.end}")
        else:
            yield item


def tell(item: Gap | Stop, told: Told) -> Scanned:
    """Yield the finding about a damaged range, keep the one about the end of a log."""
    if isinstance(item, Gap):
        yield told.finding("DUMP-001", item.start, gap_text(item))._replace(expected=item.next_offset, found=item.found)
    elif item.reason in {"short", "incomplete"}:
        told.add("LOG-001", item.position, f"the last batch is incomplete ({item.reason}, {item.found} bytes)")
    elif item.reason == "zeros":
        told.add("LOG-004", item.position, f"only zeros follow from byte {item.position} on")


def gap_text(gap: Gap) -> str:
    """Return a damaged range in words: from where to where, why, and what comes next."""
    why = f"{gap.reason.replace('-', ' ')} {gap.found}"
    after = f"next good offset {gap.next_offset}" if gap.next_offset is not None else "no good batch follows"
    bound = " (the search met its bound)" if gap.gave_up else ""
    return f"bytes {gap.start} to {gap.end} are no batches ({why}); {after}{bound}"


def records(item: Checked, told: Told, options: Options, *, told_before: bool = False) -> Iterator[AnyRecord]:
    """Yield the records of a batch, as many as can be read; what cannot leaves a finding."""
    (position, header), raw, _ = item
    at = f"offset {header.base_offset}"
    if raw is None:
        told.add("DUMP-002", position, f"{at}: a batch of {header.size} bytes; --max-batch-bytes raises the bound")
        return
    try:
        if isinstance(header, BatchHeader):
            yield from batch_records(raw, options.max_batch_bytes)
        else:
            yield from _messages(item, raw, told, options, told_before=told_before)
    except FormatError as error:
        if not told_before:
            more = "; --max-batch-bytes raises the bound" if isinstance(error, LimitError) else ""
            told.add("DUMP-002", position, f"{at}: {error.moved(position)}{more}")


def _messages(item: Checked, raw: bytes, told: Told, options: Options, *, told_before: bool) -> Iterator[LegacyRecord]:
    """Yield the records of a message of magic 0 or 1; what Kafka passes over in a wrapper leaves a finding."""
    position = item.batch.position
    opened = message_set(raw, options.max_batch_bytes)
    if opened.cut and not told_before:
        told.add("DUMP-009", position, f"offset {item.batch.header.base_offset}: {opened.cut} bytes of a message that is cut")
    for record in set_records(opened):
        if not record.is_valid and opened.stream is not None and not told_before:
            told.add("LOG-003", position, f"offset {record.offset}: the checksum of a message inside a wrapper does not match")
        yield record


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


def record_row(where: Where, batch: Batch, record: AnyRecord) -> Row:
    """Return the row of a record."""
    headers: list[Value] = []
    sequence, control = NO_SEQUENCE, None
    if isinstance(record, Record):
        headers = [{"key": key.decode(errors="backslashreplace"), "value": value} for key, value in record.headers]
        sequence, control = record.sequence, control_type(record) if batch.header.is_control else None
    values = (batch.position, record.offset, record.timestamp, record.key, record.value, headers, sequence, control)
    return Row(DUMP_RECORD.name, (*where, *values))


def control_type(record: Record) -> str:
    """Return Kafka's name of a control record's type; its number, or `invalid`, for what has none."""
    try:
        number = control_key(record.key).type
    except FormatError:
        return "invalid"
    return CONTROL_NAMES.get(number, str(number))


# Which part of a log is read


def selected(file: DataFile, target: Target, options: Options, told: Told) -> Selected:
    """Return where to read: by the offset index beside the log where it can be trusted, else (a finding) from the beginning."""
    end = file.size if options.max_bytes == MAX_INT else min(options.max_bytes, file.size)
    first, last = options.offsets or (-(2**63), 2**63 - 1)
    if not options.selects:
        return Selected(0, end, first, last)
    entries = _index_positions(file, target, first if options.offsets else None)
    for position in entries:
        if options.tail is None:
            if _leads_to(file, position, first):
                return Selected(position, end, first, last)
        elif position and _enough(file, position, options):
            return Selected(position, end, first, last)
    told.add("DUMP-005", None, "scanned from the beginning: no index entry leads there")
    return Selected(0, end, first, last)


def _index_positions(file: DataFile, target: Target, offset: int | None) -> Iterator[int]:
    """Yield places in the log that the index gives: that of an offset, or ever further ones from the end on."""
    path, base = sibling(target, "index"), file_name(target).base_offset
    if path is None or base is None:
        return
    try:
        with OffsetIndexFile(path, base) as index:
            count = index.valid_entries(file.size)
            if offset is not None:
                yield index.lookup(offset, count)[1]
                return
            back = 1
            while back <= count:
                yield index.position(count - back)
                back *= 4
    except FileError:
        return


def _leads_to(file: DataFile, position: int, offset: int) -> bool:
    """Whether a batch at or below the offset, of right checksum, lies where the index says."""
    found = next(checked_batches(file, position), None)
    return isinstance(found, Checked) and found.valid and (position == 0 or found.batch.header.base_offset <= offset)


def _enough(file: DataFile, position: int, options: Options) -> bool:
    """Whether the log from a position on holds as many batches or records as wanted, in an unbroken chain."""
    walk = Walk(file, position)
    count = sum((batch.header.records_count or 0 if options.records else 1) for batch in walk)
    return count >= (options.tail or 0) and walk.stop is not None and walk.stop.reason in {"end", "zeros", "short", "incomplete"}


def in_range(names: list[str], options: Options) -> list[str]:
    """Return the logs of a partition directory, given in order, that can hold what is wanted, by their base offsets."""
    if options.offsets is None:
        return names
    bases = [int(os.path.basename(name).partition(".")[0]) for name in names]
    ends = [*bases[1:], 2**63]
    first, last = options.offsets
    return [name for name, base, end in zip(names, bases, ends, strict=True) if base <= last and end > first]
