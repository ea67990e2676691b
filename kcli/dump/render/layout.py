"""`dump --layout`: every structure of a file field by field, with the bytes of each and what they say.

As text a line has 16 bytes, with their field and what they say:

    batch header
    00000061  8  base_offset  00 00 00 00 00 00 00 2a  42  offset of the first record as written

Positions are in decimal, as everywhere in kcli; `+` before one says that it counts in the decompressed
records. Lines that repeat the bytes of the line before are one `*`.

The fields of a structure follow each other without gaps; what cannot be read is a field of its own,
`unreadable`, up to the end of what holds it.
"""

import json
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple, TypeAlias

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    COMPRESSION_NAMES,
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    MAGIC_POSITION,
    TIMESTAMP_TYPE_MASK,
    TIMESTAMP_TYPES,
    TRANSACTIONAL_MASK,
)
from formats.bounds import CONTROL_SHARE, RAISES_THE_BOUND, describe
from formats.control import control_record
from formats.errors import FormatError
from formats.layout import FieldSpan, Layout
from formats.legacy import is_valid
from formats.magic import LARGEST_HEADER, format_of, holds_header, is_legacy, magic_of
from formats.message_set import message_parts, message_set, messages
from formats.names import COMMITTED_OFFSETS, PRODUCER_SNAPSHOT, REMOTE_LOG_METADATA, REMOTE_LOG_SNAPSHOT
from formats.producer_snapshot import PRODUCER_ENTRY, PRODUCER_SNAPSHOT_HEADER, read_snapshot
from formats.record import batch_records, record_parts, unpacked
from formats.remote_snapshot import LENGTH_SIZE, read_entries
from formats.remote_snapshot import SNAPSHOT_HEADER as REMOTE_HEADER
from formats.remote_snapshot import read_header as read_remote_header
from formats.types import Buffer
from kcli.dump.blocks import Block, Problem
from kcli.dump.decoded_records import Contents, longest_for
from kcli.dump.options import DumpOptions
from kcli.dump.pauses import Pause, Reader, Scanned
from kcli.dump.read_blocks import Log, verified_batch
from kcli.dump.render.decoders import decoder_for
from kcli.dump.render.indexes import INDEX_FILES, open_index, read_index
from kcli.dump.small_files import SMALL_FILES
from kcli.engine.contract import ResumePoint, Unit
from kcli.jobs.common import source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import report_damage
from kcli.kafka.integrity.damaged import VerifiedBatch
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
BYTES_A_ROW = 4096
"""Of a range without a structure."""
SHOWN_OF_A_RANGE = 64 << 10
"""Bytes of a range without structure that are shown; of a larger one the rest is counted."""
LONGEST_TEXT = 1 << 20
"""Bytes of a field that are reported as text or hex besides the bytes. Of a longer one their number."""
BATCH_HEADER = "batch header"
RECORD = "record "
FLAGS = {TRANSACTIONAL_MASK: "transactional", CONTROL_MASK: "control", DELETE_HORIZON_MASK: "delete horizon"}

Fields: TypeAlias = Iterator[DumpLayoutRow | Problem]
"""The fields of a batch, and what is wrong with it."""


class ByteRange(NamedTuple):
    """Bytes that fields lie in: `base` is where they begin in the file, or in the decompressed records."""

    source: FromFile
    data: Buffer
    base: int = 0
    in_stream: bool = False

    def row(self, span: FieldSpan, **changed: Any) -> DumpLayoutRow:
        """Return the row of a field of these bytes."""
        raw = bytes(self.data[span.start : span.end])
        if isinstance(span.value, bytes) and span.value == raw:
            raw = span.value  # one copy of a long one is enough
        position = self.base + span.start
        return DumpLayoutRow(
            self.source,
            span.structure,
            span.field,
            None if self.in_stream else position,
            position if self.in_stream else None,
            len(raw),
            raw,
            **{"value": value_text(span.value), "meaning": span.doc or None} | changed,
        )

    def rows(self, layout: Layout[Any], position: int = 0, structure: str = "") -> Iterator[DumpLayoutRow]:
        """Yield the fields of a structure."""
        return map(self.row, layout.parts(self.data, position, structure))

    def unreadable(self, structure: str, start: int, error: FormatError) -> DumpLayoutRow:
        """Return the bytes from a place on, which could not be read, and why."""
        reason = str(type(error)(self.base + error.position, error.field, error.expected, error.found))
        span = FieldSpan(structure, "unreadable", start, len(self.data), None)
        return self.row(span, value=reason, meaning=f"{error.code}: {error.field}")

    def inside(self, start: int, end: int) -> "ByteRange":
        """Return some of these bytes as a place of their own."""
        return self._replace(data=self.data[start:end], base=self.base + start)

    def without_structure(self, structure: str, field: str, size: int) -> Iterator[DumpLayoutRow]:
        """Yield bytes that have no structure, in rows of 4 KiB, and how many of `size` are not at hand."""
        for start in range(0, len(self.data), BYTES_A_ROW):
            chunk = bytes(self.data[start : start + BYTES_A_ROW])
            span = FieldSpan(structure, field, start, start + BYTES_A_ROW, None)
            yield self.row(span, value=f"0x{chunk.hex()}")
        remaining = size - len(self.data)
        if remaining > 0:
            yield self.not_shown(structure, field, len(self.data), remaining, f"{remaining} bytes more")

    def not_shown(self, structure: str, field: str, start: int, size: int, meaning: str) -> DumpLayoutRow:
        """Return bytes that words alone tell of."""
        position = self.base + start
        return DumpLayoutRow(self.source, structure, field, position, None, size, None, meaning, None)


def value_text(value: Any) -> str:
    """Return a value as text: numbers in decimal, bytes as text if they are printable UTF-8, else in hex."""
    if isinstance(value, bytes):
        return _bytes_text(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_bytes_text)


def _bytes_text(data: bytes) -> str:
    if len(data) > LONGEST_TEXT:
        return f"{len(data)} bytes"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    return text if text.isprintable() else f"0x{data.hex()}"


def attributes_text(attributes: int, magic: int) -> str:
    """Return the attributes of a batch, or of a message of magic 0 or 1: the number and its bits in words."""
    codec = attributes & COMPRESSION_CODEC_MASK
    parts = [COMPRESSION_NAMES.get(codec, f"codec {codec}")]
    declared = COMPRESSION_CODEC_MASK
    if magic:
        parts.append(TIMESTAMP_TYPES[bool(attributes & TIMESTAMP_TYPE_MASK)])
        declared |= TIMESTAMP_TYPE_MASK
    for mask, flag in FLAGS.items() if magic > 1 else ():
        declared |= mask
        parts += [flag] if attributes & mask else []
    unknown = attributes & (0xFFFF if magic > 1 else 0xFF) & ~declared
    parts += [f"unknown bits 0x{unknown:x}"] if unknown else []
    return f"{attributes} ({', '.join(parts)})"


# Logs and KRaft snapshots


def render_layout(
    log: Log, items: Iterable[Block | DamagedRange | Stop], end: int, *, cursor: int
) -> Scanned:
    """Yield the fields of batches up to byte `end`, after the first `cursor`, and of what is damaged."""
    source, decoder, shown_to = source_of(log.target), decoder_for(log.target, log.options), 0
    for item in items:
        if isinstance(item, Block):
            batch = verified_batch(log, item)
            yield from _paused(batch, _batch(log, source, batch, decoder), log.findings, cursor)
            cursor = 0
            continue
        yield from report_damage(item, log.findings)
        yield from _damage(log.file, source, item, shown_to, end)
        shown_to = end if isinstance(item, DamagedRange) and item.next_offset is None else 0


def _paused(item: VerifiedBatch, fields: Fields, findings: FindingCollector, skip: int) -> Scanned:
    """Yield the rows of a batch after the first `skip`, and places to stop at."""
    position, size, number = item.batch.position, 0, 0
    for field in fields:
        if isinstance(field, Problem):
            if number >= skip:
                findings.add(*field)
            continue
        if number >= skip:
            if number and (number % ROWS_BETWEEN_STOPS == 0 or size > BYTES_BETWEEN_STOPS):
                yield Pause(ResumePoint(position, number), size)
                size = 0
            size += len(field.bytes or b"") + len(field.value or "")
            yield field
        number += 1
    yield Pause(ResumePoint(position + item.batch.header.size), size)


def _batch(log: Log, source: FromFile, item: VerifiedBatch, topic: str | None) -> Fields:
    (position, header), raw, _ = item
    largest, records = log.options.max_batch_bytes, log.options.records
    if raw is None:
        region = ByteRange(source, b"", position)
        structure = "message"
        if not is_legacy(header.magic):
            size, structure = format_of(header.magic).layout.size, "records"
            yield from _header(region._replace(data=log.file.read(position, size)))
            region = region._replace(base=position + size)
        yield from region.without_structure(structure, "not read", position + header.size - region.base)
        message = f"offset {header.base_offset}: a batch of {header.size} bytes{RAISES_THE_BOUND}"
        yield Problem("DUMP-002", position, message)
    elif not is_legacy(header.magic):
        yield from _records_batch(ByteRange(source, raw, position), largest, topic, records=records)
    else:
        region = ByteRange(source, raw, position)
        packed = bool(header.codec)
        error = yield from _message(region, "message", packed=packed)
        if error is not None and not packed:
            yield _unreadable(position, header.base_offset, error)
        elif packed and records:
            yield from _wrapped(region, header.base_offset, largest)


def _header(region: ByteRange, structure: str = BATCH_HEADER) -> Iterator[DumpLayoutRow]:
    """Yield the fields of a header of magic 2."""
    magic = magic_of(region.data)
    for span in format_of(magic).layout.parts(region.data, 0, structure):
        value = attributes_text(span.value, magic) if span.field == "attributes" else span.value
        yield region.row(span._replace(value=value))


def _records_batch(region: ByteRange, limit: int, topic: str | None, *, records: bool) -> Fields:
    """Yield the fields of a batch of magic 2, and of its records, decoded as those of a `topic`."""
    raw, position = bytes(region.data), region.base
    yield from _header(region)
    layout = format_of(magic_of(raw)).layout
    header, begin = layout.read(raw), layout.size
    field = "compressed records" if header.codec else "records"
    payload = region.row(FieldSpan("records", field, begin, len(raw), None), value=None)
    if not records:
        yield payload
        return
    try:
        header, body = unpacked(raw, limit)
    except FormatError as error:
        yield region.unreadable("records", begin, error)
        yield _unreadable(position, header.base_offset, error)
        return
    if not header.records_count:
        if payload.size:
            yield payload._replace(meaning="not looked at: there are no records")
        return
    inside = region.inside(begin, len(raw))
    if header.codec:
        yield payload._replace(value=f"{len(body)} bytes decompressed")
        inside = ByteRange(region.source, body, in_stream=True)
    longest = limit // CONTROL_SHARE if header.is_control else longest_for(limit)
    end, contents = 0, Contents(topic, control=header.is_control, longest=longest)
    try:
        for span in record_parts(header, body):
            yield from _record_field(span, inside, contents, position)
            end = span.end
        if header.is_control:
            yield from _without_contents(raw, limit, position)
    except FormatError as error:
        yield inside.unreadable("records", end, error)
        located = error.in_stream(begin) if header.codec else error.moved(begin)
        yield _unreadable(position, header.base_offset, located)


def _record_field(span: FieldSpan, region: ByteRange, contents: Contents, position: int) -> Fields:
    """Yield one field of a record, or the fields of its key or value."""
    if span.field == "length":
        contents.type = None
    is_content = span.field in {"key", "value"} and span.structure.startswith(RECORD)
    split = contents.split(span.field, bytes(span.value)) if is_content else None
    if split is None:
        yield region.row(span)
        return
    (spans, error), name = split, f"{span.field} of {span.structure}"
    inside, end = region.inside(span.start, span.end), spans[-1].end if spans else 0
    yield from map(inside.row, spans)
    if error is not None:
        yield inside.unreadable(name, end, error)
        yield Problem("DUMP-002", position, f"batch at byte {position}: {name}: {describe(error)}")
    elif end < len(inside.data):
        tail = bytes(inside.data[end:])
        yield inside.row(FieldSpan(name, "trailing", end, len(inside.data), tail, "after the message"))


def _without_contents(raw: bytes, limit: int, position: int) -> Iterator[Problem]:
    """Yield what is wrong with control records that have no key or no value: no row shows it."""
    for number, record in enumerate(batch_records(raw, limit)):
        try:
            if record.key is None or record.value is None:
                control_record(record.key, record.value)
        except FormatError as error:
            message = f"batch at byte {position}: record {number}: {describe(error)}"
            yield Problem("DUMP-002", position, message)


def _message(
    region: ByteRange, structure: str, *, packed: bool
) -> Generator[DumpLayoutRow, None, FormatError | None]:
    """Yield the fields of a message of magic 0 or 1; return why its key or value cannot be read."""
    end = 0
    try:
        for span in message_parts(region.data, structure):
            end = span.end
            if packed and span.field == "value":
                yield region.row(span._replace(field="compressed messages"), value=None)
            elif span.field == "attributes":
                magic = 1 if region.data[MAGIC_POSITION] else 0
                yield region.row(span, value=attributes_text(span.value, magic))
            else:
                yield region.row(span)
    except FormatError as error:
        yield region.unreadable(structure, end, error)
        return error
    return None


def _wrapped(wrapper: ByteRange, offset: int, limit: int) -> Fields:
    """Yield the fields of the messages in a wrapper, up to the first that cannot be read."""
    position, end = wrapper.base, 0
    try:
        opened = message_set(bytes(wrapper.data), limit)
    except FormatError as error:
        yield wrapper.unreadable("compressed messages", len(wrapper.data), error)
        yield _unreadable(position, offset, error)
        return
    region = ByteRange(wrapper.source, opened.body, in_stream=True)
    try:
        for number, message in enumerate(messages(opened)):
            end = message.position + len(message.data)
            inside = region.inside(message.position, end)
            trouble = yield from _message(inside, f"message {number}", packed=False)
            if trouble is not None:
                located = trouble.moved(message.position).in_stream(opened.stream or 0)
                yield _unreadable(position, message.offset, located)
            if not is_valid(message.data):
                reason = "the checksum of a message inside a wrapper does not match"
                yield Problem("LOG-003", position, f"offset {message.offset}: {reason}")
    except FormatError as error:
        if end < len(opened.body):
            yield region.unreadable("messages", end, error)
        yield _unreadable(position, offset, error)
        return
    if opened.cut:
        tail = bytes(opened.body[end:])
        yield region.row(FieldSpan("messages", "cut message", end, len(opened.body), tail))
        yield Problem("DUMP-009", position, f"offset {offset}: {opened.cut} bytes of a message that is cut")


def _unreadable(position: int, offset: int, error: FormatError) -> Problem:
    return Problem("DUMP-002", position, f"offset {offset}: {describe(error.moved(position))}")


def _damage(
    file: DataFile, source: FromFile, item: DamagedRange | Stop, shown_to: int, end: int
) -> Iterator[DumpLayoutRow]:
    """Yield the bytes of a damaged range, or of what follows the last batch, that no row has shown."""
    if isinstance(item, DamagedRange):
        region = _range(file, source, item.broke_at, item.end)
        yield from region.without_structure("damaged bytes", item.reason, item.end - item.broke_at)
    elif item.reason == "zeros":
        yield _zeros(ByteRange(source, b"", item.position), end - item.position)
    elif item.position >= shown_to:
        position = item.position
        if item.reason == "incomplete":
            raw = file.read(position, min(LARGEST_HEADER, end - position))
            if holds_header(raw) and not is_legacy(magic_of(raw)):
                header = raw[: format_of(magic_of(raw)).layout.size]
                yield from _header(ByteRange(source, header, position), f"{BATCH_HEADER}, incomplete")
                position += len(header)
        region = _range(file, source, position, end)
        yield from region.without_structure("incomplete batch", item.reason, end - position)


def _range(file: DataFile, source: FromFile, start: int, end: int) -> ByteRange:
    return ByteRange(source, file.read(start, min(max(end - start, 0), SHOWN_OF_A_RANGE)), start)


def _zeros(region: ByteRange, size: int) -> DumpLayoutRow:
    return region.not_shown("preallocated", "zeros", 0, size, f"{size} bytes of zeros")


# Other files


def _index(unit: Unit, _options: DumpOptions, findings: FindingCollector) -> Scanned:
    with ExitStack() as stack:
        index, source = open_index(stack, unit.target), source_of(unit.target)
        start, size = index.file.start, index.entry_size
        for block in read_index(index, unit.position, findings, check_order=False):
            if block.slot > unit.position:
                yield Pause(ResumePoint(block.slot))
            region = ByteRange(source, block.raw, start + block.slot * size)
            for number in range(len(block.entries)):
                yield from region.rows(index.layout, number * size, f"entry {block.slot + number}")
        zeros, end = index.first_trailing_zero * size, index.entries * size
        if zeros < end:
            yield _zeros(ByteRange(source, b"", start + zeros), end - zeros)
        tail = index.file.read(end, index.partial_bytes)
        region = ByteRange(source, tail, start + end)
        yield from region.without_structure("partial entry", index.layout.name, len(tail))


def _producers(unit: Unit, _options: DumpOptions, _: FindingCollector) -> Scanned:
    start, data = read_target(unit.target)
    region, end, count = ByteRange(source_of(unit.target), data, start), 0, 0
    if len(data) >= PRODUCER_SNAPSHOT_HEADER.size:
        end, count = PRODUCER_SNAPSHOT_HEADER.size, PRODUCER_SNAPSHOT_HEADER.read(data).entries_count
        if unit.begins:
            yield from region.rows(PRODUCER_SNAPSHOT_HEADER)
    entries = min(max(count, 0), (len(data) - end) // PRODUCER_ENTRY.size)
    for number in range(unit.position, entries):
        yield Pause(ResumePoint(number))
        yield from region.rows(PRODUCER_ENTRY, end + number * PRODUCER_ENTRY.size, f"entry {number}")
    end += entries * PRODUCER_ENTRY.size
    tail = region.inside(end, end + SHOWN_OF_A_RANGE)
    yield from tail.without_structure("trailing bytes", "bytes", len(data) - end)
    try:
        read_snapshot(data)
    except FormatError as error:
        raise file_error(unit.target.path, error.moved(start)) from error


def _remote_snapshot(unit: Unit, _options: DumpOptions, findings: FindingCollector) -> Scanned:
    source = source_of(unit.target)
    with DataFile(unit.target.path) as file, reading(unit.target.path):
        raw = file.read(0, REMOTE_HEADER.size)
        region = ByteRange(source, raw)
        if not has_whole_header(raw, findings):
            yield from region.without_structure(REMOTE_HEADER.name, "bytes", len(raw))
            return
        if unit.begins:
            yield from region.rows(REMOTE_HEADER)
        end = unit.position or REMOTE_HEADER.size
        try:
            header = read_remote_header(raw)
            assert header is not None  # the bytes are a whole header
            for entry in read_entries(file.read, file.size, header, position=end, number=unit.cursor):
                yield Pause(ResumePoint(end, entry.number), 3 * len(entry.value))
                region = ByteRange(source, file.read(end, entry.next_position - end), end)
                name, size = f"entry {entry.number}", len(entry.value)
                yield region.row(
                    FieldSpan(name, "length", 0, LENGTH_SIZE, size, "bytes of the entry that follow")
                )
                split = Contents(REMOTE_LOG_METADATA).split("value", entry.value)
                assert split is not None  # a value of this topic is split, or an error says why not
                (spans, error), inside = split, region.inside(LENGTH_SIZE, LENGTH_SIZE + size)
                yield from map(inside.row, spans)
                if error is not None:
                    yield inside.unreadable(name, spans[-1].end if spans else 0, error)
                    findings.add("RLMM-001", entry.position, f"{name}: {error}")
                end = entry.next_position
        except FormatError:
            region = _range(file, source, end, file.size)
            yield from region.without_structure("unreadable", "bytes", file.size - end)
            raise


def _lines(unit: Unit, _options: DumpOptions, _: FindingCollector) -> Scanned:
    (start, data), end = read_target(unit.target), 0
    region = ByteRange(source_of(unit.target), data, start)
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        yield region.row(FieldSpan(f"line {number}", "text", end, end + len(line), line.rstrip(b"\r\n")))
        end += len(line)


LAYOUT_KINDS: dict[str, Reader] = {
    **dict.fromkeys((*SMALL_FILES, COMMITTED_OFFSETS), _lines),
    **dict.fromkeys(INDEX_FILES, _index),
    PRODUCER_SNAPSHOT: _producers,
    REMOTE_LOG_SNAPSHOT: _remote_snapshot,
}
"""What yields the fields of a file by its kind, of logs apart."""


# As text

BYTES_PER_LINE = 16
POSITION_WIDTH = 8


def layout_lines(rows: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of rows of `dump --layout`: files and structures where they change, and fields."""
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
        yield from _field_lines(row)


def _field_lines(row: DumpLayoutRow) -> Iterator[str]:
    """Yield the bytes of a field, 16 a line, with what is said of it beside the first."""
    start, sign = (row.stream_position or 0, "+") if row.position is None else (row.position, "")
    data = row.bytes or b""
    says_more = row.value is not None and not (row.value.startswith("0x") and row.value[2:] == data.hex())
    texts = [text for text in (row.value if says_more else None, row.meaning) if text]
    before, is_repeated = "", False
    for begin in range(0, max(len(data), 1), BYTES_PER_LINE):
        chunk = ".." if row.bytes is None else data[begin : begin + BYTES_PER_LINE].hex(" ")
        if begin and chunk == before and begin + BYTES_PER_LINE < len(data):
            if not is_repeated:
                yield "*"
            is_repeated = True
            continue
        before, is_repeated = chunk, False
        position, size, field = f"{sign}{start + begin:0{POSITION_WIDTH}d}", row.size, one_line(row.field)
        columns = f"{position:>9}  {size:>6}  {field:<24}" if not begin else f"{position:>9}{'':34}"
        yield "  ".join([f"{columns}  {chunk:<47}", *map(one_line, () if begin else texts)]).rstrip()
