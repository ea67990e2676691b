"""`dump --layout`: every structure of a file field by field, with the bytes of each and what they say.

As text a line has 16 bytes, with their field and what they say:

    batch header
    00000061  8  base_offset  00 00 00 00 00 00 00 2a  42  offset of the first record as written

Positions are in decimal, as everywhere in kcli; `+` before one says that it counts in the decompressed
records. Lines that repeat the bytes of the line before are one `*`.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

from formats.batch import BatchHeader
from formats.bounds import RAISES_THE_BOUND
from formats.errors import FormatError
from formats.layout import FieldSpan
from formats.magic import LARGEST_HEADER, format_of, holds_header, is_legacy, magic_of
from formats.names import (
    CLEAN_SHUTDOWN,
    COMMITTED_OFFSETS,
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    OFFSET_CHECKPOINT,
    PARTITION_METADATA,
    PRODUCER_SNAPSHOT,
    QUORUM_STATE,
    REMOTE_LOG_METADATA,
    REMOTE_LOG_SNAPSHOT,
    SEGMENT_MANIFEST,
)
from formats.producer_snapshot import PRODUCER_ENTRY, SNAPSHOT_HEADER, read_snapshot
from formats.remote_snapshot import LENGTH_SIZE, SnapshotEntry, read_entries, read_header
from formats.remote_snapshot import SNAPSHOT_HEADER as REMOTE_HEADER
from kcli.dump.batch_fields import (
    BATCH_HEADER,
    SHOWN_OF_A_RANGE,
    Annotated,
    Annotation,
    ByteRange,
    Contents,
    Defect,
    batch,
    batch_header,
    bytes_range,
    message,
)
from kcli.dump.blocks import Block
from kcli.dump.indexes import INDEX_FILES, open_index, read_index
from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause, Reader, Scanned
from kcli.dump.read_blocks import Log, verified_batch
from kcli.dump.render.decoders import decoder_for
from kcli.engine.contract import ResumePoint, Unit
from kcli.jobs.common import source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import report_damage
from kcli.kafka.integrity.verified_batch import VerifiedBatch
from kcli.kafka.remote.serde import has_whole_header
from kcli.logdir.buffers import DataFile, file_error, reading
from kcli.logdir.remote_objects import read_target
from kcli.logdir.segment import DamagedRange, Stop
from kcli.output.values import one_line
from kcli.rows import Item
from kcli.rows.dump import DumpFileRow, DumpLayoutRow
from kcli.rows.partitions import FromFile

ROWS_BETWEEN_STOPS = 256
BYTES_BETWEEN_STOPS = 1 << 20
ZEROS = "zeros"


# Logs and KRaft snapshots


def render_layout(
    log: Log, items: Iterable[Block | DamagedRange | Stop], end: int, *, cursor: int
) -> Scanned:
    """Yield the fields of a log's batches up to byte `end`, all of each, and of what is damaged.

    Of the first batch `cursor` fields are delivered.
    """
    source, decoder, shown_to = source_of(log.target), decoder_for(log.target, log.options), 0
    for item in items:
        if isinstance(item, Block):
            for number in range(len(item.positions)):
                batch = verified_batch(log, item, number)
                yield from _batch(source, batch, _batch_fields(log, batch, decoder), log.findings, cursor)
                cursor = 0
            continue
        yield from report_damage(item, log.findings)
        yield from (DumpLayoutRow(source, *field) for field in _damage(log.file, item, shown_to, end))
        shown_to = end if isinstance(item, DamagedRange) and item.next_offset is None else 0


def _batch(
    source: FromFile,
    item: VerifiedBatch,
    annotations: Iterator[Annotation],
    findings: FindingCollector,
    skip: int,
) -> Scanned:
    """Yield the rows of a batch after the first `skip`."""
    position, held, number = item.batch.position, 0, 0
    for annotation in annotations:
        if isinstance(annotation, Defect):
            if number >= skip:
                findings.add(annotation.code, position, annotation.message)
            continue
        if number >= skip:
            if number and (number % ROWS_BETWEEN_STOPS == 0 or held > BYTES_BETWEEN_STOPS):
                yield Pause(ResumePoint(position, number), held)
                held = 0
            held += len(annotation.data or b"") + len(annotation.value or "")
            yield DumpLayoutRow(source, *annotation)
        number += 1
    yield Pause(ResumePoint(position + item.batch.header.size), held)


def _batch_fields(log: Log, item: VerifiedBatch, topic: str | None) -> Iterator[Annotation]:
    (position, header), raw, _ = item
    largest, records = log.options.max_batch_bytes, log.options.records
    if raw is None:
        yield from _too_large(log.file, item)
    elif isinstance(header, BatchHeader):
        yield from batch(raw, position, largest, topic, records=records)
    else:
        yield from message(raw, position, largest, records=records)


def _too_large(file: DataFile, item: VerifiedBatch) -> Iterator[Annotation]:
    """Yield the header of a batch that is not read, and how much follows."""
    (position, header), _, _ = item
    read = 0
    if isinstance(header, BatchHeader):
        read = format_of(header.magic).layout.size
        yield from batch_header(file.read(position, read), position)
    left = header.size - read
    yield from bytes_range(b"", position + read, left, "records" if read else "message", "not read")
    yield Defect("DUMP-002", f"offset {header.base_offset}: a batch of {header.size} bytes{RAISES_THE_BOUND}")


def _damage(file: DataFile, item: DamagedRange | Stop, shown_to: int, end: int) -> Iterator[Annotated]:
    """Yield the bytes of a damaged range, or of what follows the last batch, that no row has shown."""
    if isinstance(item, DamagedRange):
        yield from _range(file, item.broke_at, item.end, "damaged bytes", item.reason)
    elif item.reason == ZEROS:
        yield _zeros(item.position, end - item.position)
    elif item.position >= shown_to:
        position = item.position
        if item.reason == "incomplete":
            raw = file.read(position, min(LARGEST_HEADER, end - position))
            if holds_header(raw) and not is_legacy(magic_of(raw)):
                header = raw[: format_of(magic_of(raw)).layout.size]
                yield from batch_header(header, position, f"{BATCH_HEADER}, incomplete")
                position += len(header)
        yield from _range(file, position, end, "incomplete batch", item.reason)


def _range(file: DataFile, start: int, end: int, structure: str, field: str) -> Iterator[Annotated]:
    size = max(end - start, 0)
    return bytes_range(file.read(start, min(size, SHOWN_OF_A_RANGE)), start, size, structure, field)


def _zeros(position: int, size: int) -> Annotated:
    return Annotated("preallocated", ZEROS, position, None, size, None, f"{size} bytes of zeros", None)


# Other files

_Shown: TypeAlias = Iterator[Annotated | Pause]


def _index(unit: Unit, findings: FindingCollector) -> _Shown:
    with ExitStack() as stack:
        index = open_index(stack, unit.target)
        start, size = index.file.start, index.entry_size
        for block in read_index(index, unit.position, findings, check_order=False):
            if block.slot > unit.position:
                yield Pause(ResumePoint(block.slot))
            place = ByteRange(block.raw, start + block.slot * size)
            for number in range(len(block.entries)):
                parts = index.layout.parts(block.raw, number * size, f"entry {block.slot + number}")
                yield from map(place.annotated, parts)
        zeros, whole = index.first_trailing_zero * size, index.entries * size
        if zeros < whole:
            yield _zeros(start + zeros, whole - zeros)
        if index.partial_bytes:
            rest = index.file.read(whole, index.partial_bytes)
            yield from bytes_range(rest, start + whole, len(rest), "partial entry", index.layout.name)


def _producers(unit: Unit, findings: FindingCollector) -> _Shown:  # noqa: ARG001 - the shape of every reader
    start, data = read_target(unit.target)
    place, end, count = ByteRange(data, start), 0, 0
    if len(data) >= SNAPSHOT_HEADER.size:
        end, count = SNAPSHOT_HEADER.size, SNAPSHOT_HEADER.read(data).entries_count
        if unit.begins:
            yield from map(place.annotated, SNAPSHOT_HEADER.parts(data))
    whole = min(max(count, 0), (len(data) - end) // PRODUCER_ENTRY.size)
    for number in range(unit.position, whole):
        yield Pause(ResumePoint(number))
        parts = PRODUCER_ENTRY.parts(data, end + number * PRODUCER_ENTRY.size, f"entry {number}")
        yield from map(place.annotated, parts)
    end += whole * PRODUCER_ENTRY.size
    rest = data[end:]
    yield from bytes_range(rest[:SHOWN_OF_A_RANGE], start + end, len(rest), "trailing bytes", "bytes")
    try:
        read_snapshot(data)
    except FormatError as error:
        raise file_error(unit.target.path, error.moved(start)) from error


def _remote_snapshot(unit: Unit, findings: FindingCollector) -> _Shown:
    with DataFile(unit.target.path) as file, reading(unit.target.path):
        raw = file.read(0, REMOTE_HEADER.size)
        if not has_whole_header(raw, findings):
            yield from bytes_range(raw, 0, len(raw), REMOTE_HEADER.name, "bytes")
            return
        if unit.begins:
            yield from map(ByteRange(raw).annotated, REMOTE_HEADER.parts(raw))
        end = unit.position or REMOTE_HEADER.size
        try:
            header = read_header(raw)
            assert header is not None  # the bytes are a whole header
            for entry in read_entries(file.read, file.size, header, position=end, number=unit.cursor):
                yield Pause(ResumePoint(end, entry.number), 3 * len(entry.value))
                place = ByteRange(file.read(end, entry.next_position - end), end)
                yield from _remote_entry(entry, place, findings)
                end = entry.next_position
        except FormatError:
            yield from _range(file, end, file.size, "unreadable", "bytes")
            raise


def _remote_entry(entry: SnapshotEntry, place: ByteRange, findings: FindingCollector) -> Iterator[Annotated]:
    name, size = f"entry {entry.number}", len(entry.value)
    yield place.annotated(FieldSpan(name, "length", 0, LENGTH_SIZE, size, "bytes of the entry that follow"))
    split = Contents(REMOTE_LOG_METADATA).split("value", entry.value)
    assert split is not None  # a value of this topic is split, or an error says why not
    inside, end = place.inside(LENGTH_SIZE, LENGTH_SIZE + size), 0
    for inner in split.parts:
        yield inside.annotated(inner)
        end = inner.end
    if split.error is not None:
        yield inside.unreadable(name, end, split.error)
        findings.add("RLMM-001", entry.position, f"{name}: {split.error}")


def _lines(unit: Unit, findings: FindingCollector) -> _Shown:  # noqa: ARG001 - the shape of every reader
    (start, data), end = read_target(unit.target), 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        span = FieldSpan(f"line {number}", "text", end, end + len(line), line.rstrip(b"\r\n"))
        yield ByteRange(data, start).annotated(span)
        end += len(line)


def _reader(read: Callable[[Unit, FindingCollector], _Shown]) -> Reader:
    """Return a reader whose fields are rows."""

    def rows(
        unit: Unit,
        options: DumpOptions,  # noqa: ARG001 - as every reader
        findings: FindingCollector,
    ) -> Scanned:
        source = source_of(unit.target)
        for item in read(unit, findings):
            yield item if isinstance(item, Pause) else DumpLayoutRow(source, *item)

    return rows


LAYOUT_READERS: dict[str, Reader] = {
    **dict.fromkeys(INDEX_FILES, _reader(_index)),
    PRODUCER_SNAPSHOT: _reader(_producers),
    REMOTE_LOG_SNAPSHOT: _reader(_remote_snapshot),
    **dict.fromkeys(
        (
            LEADER_EPOCH_CHECKPOINT,
            OFFSET_CHECKPOINT,
            META_PROPERTIES,
            PARTITION_METADATA,
            QUORUM_STATE,
            CLEAN_SHUTDOWN,
            COMMITTED_OFFSETS,
            SEGMENT_MANIFEST,
        ),
        _reader(_lines),
    ),
}
"""Of the kinds of files that have a layout to show, logs apart."""


BYTES_PER_LINE = 16
POSITION = 8
SIZE = 6
FIELD = 24
HEX = 3 * BYTES_PER_LINE - 1
NOT_SHOWN = ".."
REPEATED = "*"
CHUNK = 1 << 16


def layout_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of rows of `dump --layout`: files and structures where they change, and fields.

    Of a file without a layout its name, what it is and its size.
    """
    source = structure = None
    for row in rows:
        assert isinstance(row, (DumpLayoutRow, DumpFileRow))
        if row.source != source:
            if source is not None:
                yield ""
            source, structure = row.source, None
            yield one_line(os.path.join(source.where.dir, source.file))
        if isinstance(row, DumpFileRow):
            yield one_line(row.kind if row.size_bytes is None else f"{row.kind}  {row.size_bytes}")
            continue
        if row.structure != structure:
            structure = row.structure
            yield one_line(structure)
        yield from _field(row)


def _field(row: DumpLayoutRow) -> Iterator[str]:
    start, sign = (row.stream_position or 0, "+") if row.position is None else (row.position, "")
    data = row.bytes or b""
    words = "" if data and _is_hex_of(row.value, data) else row.value
    last = (len(data) - 1) // BYTES_PER_LINE
    chunks = _hex(data) if data else iter([NOT_SHOWN if row.bytes is None else ""])
    before = next(chunks)
    yield _line(f"{sign}{start:0{POSITION}d}", str(row.size), row.field, before, words, row.meaning)
    repeated = False
    for number, chunk in enumerate(chunks, 1):
        if before == chunk and number < last:
            if not repeated:
                yield REPEATED
            repeated = True
            continue
        repeated, before = False, chunk
        yield _line(f"{sign}{start + number * BYTES_PER_LINE:0{POSITION}d}", "", "", chunk, None, None)


def _hex(data: bytes) -> Iterator[str]:
    return (data[at : at + BYTES_PER_LINE].hex(" ") for at in range(0, len(data), BYTES_PER_LINE))


def _is_hex_of(value: str | None, data: bytes) -> bool:
    """Whether a value says no more than the bytes beside it do."""
    if value is None or len(value) != 2 + 2 * len(data) or not value.startswith("0x"):
        return False
    return all(value.startswith(data[at : at + CHUNK].hex(), 2 + 2 * at) for at in range(0, len(data), CHUNK))


def _line(  # noqa: PLR0917
    position: str, size: str, field: str, chunk: str, value: str | None, meaning: str | None
) -> str:
    start = f"{position:>{POSITION + 1}}  {size:>{SIZE}}  {one_line(field):<{FIELD}}  {chunk:<{HEX}}"
    return "  ".join([start, *(one_line(word) for word in (value, meaning) if word)]).rstrip()
