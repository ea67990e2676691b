"""Blocks of a log as kafka-dump-log prints them: many lines at once, made by Arrow's kernels.

While lines are made, bytes take the place of text; what is not ASCII becomes Java's text once, at the end:
every key and value lies between ASCII characters, so that none can spoil its neighbour.
"""

import os
from collections.abc import Iterable, Iterator
from string import Formatter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from formats.batch import MAX_INT
from formats.bounds import CONTROL_SHARE
from formats.control import ABORT, COMMIT, control_record
from formats.errors import FormatError
from formats.names import LOG
from formats.record_columns import RecordColumns
from formats.types import Buffer
from kcli.dump.blocks import Block, Ints, contents_at, records_at
from kcli.dump.bytes_as import describe_contents, salted, shown_text
from kcli.dump.options import STRING_DECODER, DumpOptions
from kcli.dump.pauses import Scanned
from kcli.dump.read_blocks import Log, finished
from kcli.dump.render.decoders import shown_contents
from kcli.dump.render.lines import (
    RECORD_INDENT,
    FirstOffset,
    LastOffset,
    OffsetJumps,
    control_text,
    is_next,
    java_strings,
    line,
    packed,
)
from kcli.dump.render.rows import ALL_TIMESTAMP_TYPES, batch_columns, is_control, timestamp_types
from kcli.kafka.findings.log_findings import inside, report_damage
from kcli.logdir.log_dirs import BOOTSTRAP
from kcli.logdir.partition_names import file_name
from kcli.logdir.segment import TORN, DamagedRange, Stop
from kcli.logdir.targets import Target
from kcli.output.text_columns import (
    Array,
    TextColumn,
    chosen,
    decimal,
    either,
    integer_texts,
    joined,
    lengths_of,
    parts,
    same_text,
    spans,
    strings,
    texts,
    true_or_false,
)
from kcli.rows import TextBlock

BATCH_LINE_END = (
    " position: {position} {timestamp_type}: {max_timestamp} size: {size} magic: {magic}"
    " compresscodec: {compression} crc: {crc} isvalid: {is_valid}\n"
)
BATCH_LINE = (
    "baseOffset: {base_offset} lastOffset: {last_offset} count: {count} baseSequence: {base_sequence}"
    " lastSequence: {last_sequence} producerId: {producer_id} producerEpoch: {producer_epoch}"
    " partitionLeaderEpoch: {partition_leader_epoch} isTransactional: {is_transactional}"
    f" isControl: {{is_control}} deleteHorizonMs: {{delete_horizon_ms}}{BATCH_LINE_END}"
)
LEGACY_LINE = "offset: {last_offset}" + BATCH_LINE_END
"""Lines of batches; the names are columns of DumpBatchRow."""


NO_RECORD_OFFSETS: Ints = np.empty(0, np.int64)


def render_text(log: Log, items: Iterable[Block | DamagedRange | Stop], end: int, *, begins: bool) -> Scanned:
    """Yield the lines of a log up to byte `end`, what the tool sums up, and places to pause.

    `begins`: the first block is the file's first; before it the tool takes -1 for the last offset. Its walk
    ends quietly at a batch that is cut; at an impossible length it dies, and kcli goes on, as it does to what
    a filter asks for.
    """
    options, path = log.options, os.path.join(os.getcwd(), log.target.shown)
    last = -1 if begins else None
    if begins:
        yield line(_title(log.target))
    for item in items:
        if not isinstance(item, Block):
            yield from report_damage(item, log.findings)
            if isinstance(item, Stop) or (item.reason in TORN and not options.selects):
                log.findings.ran_past_end = True
                yield from _trailing(item, end, log)
                break
            continue
        records = item.records
        batch_texts = batch_lines(item)[0 if item.begins else 1 :]
        columns = [] if records is None else _record_columns(log, item, records)
        offsets = records.offset if records is not None and not options.selects else NO_RECORD_OFFSETS
        if options.limit is None:
            line_arrays = [batch_texts] if records is None else _interleaved(batch_texts, columns, records)
            yield from _follows(path, offsets, last)
            yield TextBlock(tuple(buffer for lines in line_arrays for buffer in _buffers(lines)))
        else:
            # what follows a limit is not looked at
            line_arrays = [batch_texts, joined(columns, 0 if records is None else len(records.offset))]
            yield from _one_by_one(batch_texts)
            for number, text_block in enumerate(_one_by_one(line_arrays[1])):
                before = last if number == 0 or not len(offsets) else int(offsets[number - 1])
                yield from _follows(path, offsets[number : number + 1], before)
                yield text_block
        if records is not None:
            last = _last_offset(item, records, last)
            if last is not None:
                yield LastOffset(path, last)
        yield finished(log, item, sum(lines.nbytes for lines in line_arrays))
    if last is not None and options.records:
        yield LastOffset(path, last)


def _title(target: Target) -> str:
    name = file_name(target)
    if target.kind == LOG:
        return f"Log starting offset: {name.base_offset}"
    if name.name == BOOTSTRAP:
        return "KRaft bootstrap snapshot"
    return f"Snapshot end offset: {name.base_offset}, epoch: {name.epoch}"


def _trailing(item: DamagedRange | Stop, end: int, log: Log) -> Scanned:
    remaining = end - (item.position if isinstance(item, Stop) else item.broke_at)
    if remaining > 0 and item.reason in TORN and log.options.max_bytes == MAX_INT:
        yield line(f"Found {remaining} invalid bytes at the end of {os.path.basename(log.target.shown)}")


# Offsets that are not consecutive


def _follows(path: str, offsets: Ints, last: int | None) -> Iterator[FirstOffset | OffsetJumps]:
    """Yield where offsets do not follow each other, or `last`, which is None where another scan knows it."""
    if not len(offsets):
        return
    first = int(offsets[0])
    jumps = (offsets[1:] != offsets[:-1] + 1).nonzero()[0]
    pairs = np.stack((offsets[jumps], offsets[jumps + 1]), axis=1).tobytes()
    if last is None:
        yield FirstOffset(path, first)
    elif not is_next(last, first):
        pairs = packed(last, first) + pairs
    if pairs:
        yield OffsetJumps(path, pairs)


def _last_offset(block: Block, records: RecordColumns, last: int | None) -> int | None:
    """Return the offset that the next record follows: what cannot be read of a valid batch is no gap."""
    if len(records.offset):
        last = int(records.offset[-1])
    if len(block.positions) == 1 and block.valid[0] and records.ends:
        count = int(block.fields["records_count"][0]) if block.is_v2 else 1
        is_cut = not block.is_v2 and any(problem.code == "DUMP-002" for problem in block.problems)
        if is_cut or records.before + len(records.offset) < count:
            last = int(block.fields["base_offset"][0]) + int(block.fields["last_offset_delta"][0])
    return last


# Lines


def batch_lines(block: Block) -> Array:
    """Return the lines of a block's batches, each with its newline."""
    pieces = [piece[:2] for piece in Formatter().parse(BATCH_LINE if block.is_v2 else LEGACY_LINE)]
    arrays = batch_columns(block, [name for _, name in pieces if name is not None])
    columns: list[TextColumn] = []
    for label, name in pieces:
        columns.append(label)
        if name is not None:
            columns.append((_optional_longs if name == "delete_horizon_ms" else _text)(arrays[name]))
    return joined(columns, len(block.positions))


def _text(column: Array) -> TextColumn:
    if pa.types.is_boolean(column.type):
        return true_or_false(column)
    if pa.types.is_string(column.type):
        text = same_text(column)
        return column if text is None else text
    return integer_texts(column)


def _optional_longs(column: Array) -> TextColumn:
    """Return numbers as Java's OptionalLong is printed."""
    if column.null_count == len(column):
        return "OptionalLong.empty"
    texts = integer_texts(column)
    longs = joined(["OptionalLong[", texts, "]"], len(column))
    return either(lengths_of(texts) >= 0, longs, "OptionalLong.empty") if column.null_count else longs


def _record_columns(log: Log, block: Block, records: RecordColumns) -> list[TextColumn]:
    """Return the columns of the lines of records; report what cannot be shown."""
    options = log.options
    troubles: list[tuple[int, str]] = []
    control = is_control(block)[records.batch]
    columns: list[TextColumn] = []
    if not options.skip_record_metadata:
        columns += _metadata(block, records, options)
        if control.any():
            columns.append(_control_texts(records, control, options, troubles))
    if options.print_data_log:
        prefix = f"{RECORD_INDENT} " if options.skip_record_metadata else " "
        contents = (
            _as_strings(records, control)
            if _is_default(options)
            else _decoded(records, control, options, troubles)
        )
        columns += _labelled(*contents, prefix)
    for number, trouble in sorted(troubles):
        position = int(block.positions[records.batch[number]])
        log.findings.add("DUMP-002", position, inside(int(records.offset[number]), trouble))
    return [*columns, "\n"]


def _interleaved(of_batches: Array, columns: list[TextColumn], records: RecordColumns) -> list[Array]:
    """Return the lines of records, each after those of batches that begin there, then of later batches."""
    begins = records.bounds[:-1][len(records.bounds) - 1 - len(of_batches) :]
    first = begins.searchsorted(np.arange(len(records.offset) + 1))
    return [joined([spans(of_batches, first), *columns], len(records.offset)), of_batches[int(first[-1]) :]]


def _one_by_one(lines: Array) -> Iterator[TextBlock]:
    """Yield each of some lines as a block."""
    return (TextBlock(tuple(_buffers(lines[number : number + 1]))) for number in range(len(lines)))


def _buffers(lines: Array) -> Iterator[Buffer]:
    """Yield some lines as Java makes text of them, as UTF-8."""
    raw = texts(lines)
    if not len(raw) or np.frombuffer(raw, np.int8).min() >= 0:
        return iter([raw] if len(raw) else ())
    return (text.encode() for text in java_strings(raw))


def _metadata(block: Block, records: RecordColumns, options: DumpOptions) -> list[TextColumn]:
    """Return what comes before the contents of records."""
    columns: list[TextColumn] = [
        f"{RECORD_INDENT} offset: ",
        decimal(records.offset),
        chosen([f" {name}: " for name in ALL_TIMESTAMP_TYPES], timestamp_types(block)[records.batch]),
        decimal(records.timestamp),
    ]
    if block.legacy is not None:
        # sizes may be wrong, and below -1: the tool prints what is stored
        columns += [" keySize: ", decimal(block.legacy.key_size)]
        columns += [" valueSize: ", decimal(block.legacy.value_size)]
        columns += [" isValid: ", either(block.legacy.is_valid, "true", "false")]
        return [*columns, " crc: ", decimal(block.legacy.crc)]
    columns += [" keySize: ", decimal(records.key_length), " valueSize: ", decimal(records.value_length)]
    columns += [" sequence: ", decimal(records.sequence)]
    return [*columns, " headerKeys: [", _header_keys(records, options.salt), "]"]


def _header_keys(records: RecordColumns, salt: bytes | None) -> TextColumn:
    if not records.headers_count.any():
        return ""
    of_headers = contents_at(records.data, records.header_key_start, records.header_key_length)
    keys = [key or b"" for key in of_headers]
    if salt is not None:
        keys = [salted(key, salt).encode() for key in keys]
    spans = zip(records.headers_first.tolist(), records.headers_count.tolist(), strict=True)
    return strings([b",".join(keys[first : first + count]) for first, count in spans])


def _labelled(keys: Array, payloads: Array, prefix: str) -> list[TextColumn]:
    """Return what is printed of keys and payloads; a null is left out."""
    key, payload = (lengths_of(array) >= 0 for array in (keys, payloads))
    after = either(payload & key, " payload: ", "")
    alone = either(payload & ~key, f"{prefix}payload: ", "")
    return [either(key, f"{prefix}key: ", ""), keys, after, alone, payloads]


def _as_strings(records: RecordColumns, control: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return keys and values as StringDecoder shows them."""
    return (
        parts(records.data, records.key_start, np.where(control, -1, records.key_length)),
        parts(records.data, records.value_start, np.where(control, -1, records.value_length)),
    )


def _is_default(options: DumpOptions) -> bool:
    """Whether contents are printed as strings."""
    return (
        options.decoder is None
        and options.salt is None
        and options.bytes_as in {None, "text"}
        and {options.key_decoder, options.value_decoder} == {STRING_DECODER}
    )


def _decoded(
    records: RecordColumns,
    control: NDArray[np.bool_],
    options: DumpOptions,
    troubles: list[tuple[int, str]],
) -> tuple[Array, Array]:
    """Return keys and values as the options' decoders print them."""
    printed: list[list[bytes | None]] = [[None] * len(control), [None] * len(control)]
    numbers = (~control).nonzero()[0]
    for number, record in zip(numbers.tolist(), records_at(records, numbers), strict=True):
        texts, trouble = shown_contents(record, options)
        for column, text in zip(printed, texts, strict=True):
            # a long text costs up to four bytes a character until it is encoded
            column[number] = None if text is None else text.encode("utf-8", "backslashreplace")
        if trouble is not None:
            troubles.append((number, trouble))
    keys, payloads = map(strings, printed)
    return keys, payloads


def _control_texts(
    records: RecordColumns, control: NDArray[np.bool_], options: DumpOptions, troubles: list[tuple[int, str]]
) -> TextColumn:
    """Return what is printed of control records; of redacted ones a transaction's outcome alone."""
    printed = [""] * len(control)
    numbers = control.nonzero()[0]
    for number, record in zip(numbers.tolist(), records_at(records, numbers), strict=True):
        try:
            marker = control_record(record.key, record.value, options.max_batch_bytes // CONTROL_SHARE)
        except FormatError as error:
            troubles.append((number, describe_contents(error, options)))
            continue
        is_shown = options.salt is None or marker.value is None or marker.type in {ABORT, COMMIT}
        printed[number] = (
            control_text(marker)
            if is_shown
            else f" controlType: {marker.name}({marker.type}) {shown_text(record.value or b'', options)}"
        )
    return strings(printed)
