"""Blocks of a log as rows: many at once as Arrow, or one by one.

Arrow blocks are equal to what `kcli.output.arrow` makes of the rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from formats.batch import (
    COMPRESSION_CODEC_MASK,
    COMPRESSION_NAMES,
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    LOG_OVERHEAD,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_MASK,
    TIMESTAMP_TYPES,
    TRANSACTIONAL_MASK,
    UNKNOWN_COUNT,
)
from formats.bounds import CONTROL_SHARE
from formats.control import LEADER_CHANGE, ControlRecord, control_record, control_type
from formats.errors import FormatError
from formats.record import Record
from formats.record_columns import RecordColumns, add_sequences
from kcli.dump.blocks import Block, Ints, headers_of, last_offsets, records_at, size_of_records
from kcli.dump.bytes_as import describe_contents, salted
from kcli.dump.pauses import Scanned
from kcli.dump.read_blocks import Log, finished
from kcli.dump.render.decoders import decoded_control, decoder_for
from kcli.jobs.common import source_of
from kcli.kafka.findings.log_findings import inside, report_damage
from kcli.logdir.segment import DamagedRange, Stop
from kcli.output.arrow import ArrowSchema
from kcli.output.arrow import schema as arrow_schema
from kcli.rows import ArrowBlock
from kcli.rows.arrow_arrays import binary_parts, booleans, column, integers, repeated, texts_at
from kcli.rows.declare import AnyRow, declared_type, values_of
from kcli.rows.dump import DumpBatchRow, DumpRecordRow, RecordHeader
from kcli.rows.partitions import FROM_FILE, FromFile

Array: TypeAlias = Any

COLUMNS_OF_BATCHES = DumpBatchRow._fields[1:]


def render_rows(log: Log, items: Iterable[Block | DamagedRange | Stop]) -> Scanned:
    """Yield the rows of a log's blocks, places to stop at, and findings about what is damaged."""
    options = log.options
    source, decoder = source_of(log.target), decoder_for(log.target, options)
    in_blocks = options.blocks and decoder is None and options.is_as_stored
    for item in items:
        if not isinstance(item, Block):
            yield from report_damage(item, log.findings)
            continue
        records, size = item.records, 0
        if in_blocks and not item.is_long:
            _check_controls(log, item)
            if item.rows:
                block = arrow_block(item, source)
                yield block
                size = block.batch.nbytes
        elif records is None:
            arrays = batch_columns(item, COLUMNS_OF_BATCHES).values()
            for values in zip(*(array.to_pylist() for array in arrays), strict=True):
                yield DumpBatchRow(source, *values)
        else:
            yield from _record_rows(log, item, records, source, decoder)
            size = size_of_records(records)
        yield finished(log, item, size)


def _check_controls(log: Log, block: Block) -> None:
    """Report the control records of a block that cannot be read."""
    records = block.records
    if records is None:
        return
    numbers = is_control(block)[records.batch].nonzero()[0]
    for number, record in zip(numbers.tolist(), records_at(records, numbers), strict=True):
        _check_control(log, int(block.positions[records.batch[number]]), record)


def _check_control(log: Log, position: int, record: Record) -> ControlRecord | None:
    """Return a control record; report one that cannot be read."""
    try:
        return control_record(record.key, record.value, log.options.max_batch_bytes // CONTROL_SHARE)
    except FormatError as error:
        log.findings.add("DUMP-002", position, inside(record.offset, describe_contents(error, log.options)))
        return None


# One by one


def _record_rows(
    log: Log, block: Block, records: RecordColumns, source: FromFile, decoder: str | None
) -> Iterator[DumpRecordRow]:
    """Yield a row for each record of a block; report what its decoder cannot read."""
    if decoder is not None:  # it is slow to import
        from kcli.dump.decoded_records import decode_record
    control = is_control(block)[records.batch].tolist()
    columns = zip(
        block.positions[records.batch].tolist(),
        records.timestamp.tolist(),
        records_at(records, np.arange(len(control))),
        headers_of(records),
        records.sequence.tolist(),
        control,
        strict=True,
    )
    salt = log.options.salt
    for position, timestamp, record, pairs, sequence, is_marker in columns:
        decoded_values: Sequence[Any] = (None,) * 5
        if decoder is not None and not is_marker:
            *decoded_values, damaged = decode_record(decoder, record, log.options.max_batch_bytes)
            if damaged:
                log.findings.add("DUMP-002", position, inside(record.offset, str(decoded_values[-1])))
        marker = _check_control(log, position, record) if is_marker else None
        if decoder is not None and marker is not None and marker.value and marker.type >= LEADER_CHANGE:
            decoded_values = decoded_control(marker.value)
        type_name = control_type(record.key) if is_marker else None
        headers = tuple(
            RecordHeader(key.decode(errors="backslashreplace") if salt is None else salted(key, salt), value)
            for key, value in pairs
        )
        contents = (record.key, record.value, headers, sequence, type_name)
        yield DumpRecordRow(source, position, record.offset, timestamp, *contents, *decoded_values)


# As Arrow


def arrow_block(block: Block, source: FromFile) -> ArrowBlock:
    """Return a block as Arrow: its records with the decoded columns null, or its batches."""
    row = DumpBatchRow if block.records is None else DumpRecordRow
    schema = _schema(row)
    columns = (
        batch_columns(block, COLUMNS_OF_BATCHES)
        if block.records is None
        else _record_arrays(block, block.records, schema)
    )
    constant = dict(zip((column.name for column in FROM_FILE), values_of(source), strict=True))
    arrays = [
        columns[name] if name in columns else repeated(constant.get(name), kind, block.rows)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return ArrowBlock(declared_type(row).name, pa.RecordBatch.from_arrays(arrays, schema=schema))


@cache
def _schema(row: type[AnyRow]) -> ArrowSchema:
    return arrow_schema(declared_type(row))


def _record_arrays(block: Block, records: RecordColumns, schema: ArrowSchema) -> dict[str, Array]:
    return {
        "position": integers(block.positions[records.batch]),
        "offset": integers(records.offset),
        "timestamp": integers(records.timestamp),
        "key": binary_parts(records.data, records.key_start, records.key_length),
        "value": binary_parts(records.data, records.value_start, records.value_length),
        "headers": _header_arrays(records, schema.field("headers").type),
        "sequence": integers(records.sequence),
        "control_type": _control_types(block, records),
    }


def _header_arrays(records: RecordColumns, kind: Any) -> Array:
    bounds = np.concatenate(([0], np.cumsum(records.headers_count))).astype(np.int32)
    begin = int(records.headers_first[0]) if len(records.headers_first) else 0
    span = slice(begin, begin + int(bounds[-1]))
    keys = binary_parts(records.data, records.header_key_start[span], records.header_key_length[span])
    values = binary_parts(records.data, records.header_value_start[span], records.header_value_length[span])
    try:
        texts = keys.cast(pa.string())
    except pa.ArrowInvalid:  # bytes that are not UTF-8
        texts = column([key.decode(errors="backslashreplace") for key in keys.to_pylist()], pa.string())
    pairs = pa.StructArray.from_arrays([texts, values], fields=list(kind.value_type))
    return pa.Array.from_buffers(kind, len(bounds) - 1, [None, pa.py_buffer(bounds)], children=[pairs])


def _control_types(block: Block, records: RecordColumns) -> Array:
    """Return the types of control records; null for data."""
    numbers = is_control(block)[records.batch].nonzero()[0]
    types: list[str | None] = [None] * len(records.batch)
    for number, record in zip(numbers.tolist(), records_at(records, numbers), strict=True):
        types[number] = control_type(record.key)
    return column(types, pa.string())


# The columns of DumpBatchRow

CODEC_NAMES = [COMPRESSION_NAMES.get(codec, str(codec)) for codec in range(COMPRESSION_CODEC_MASK + 1)]
ALL_TIMESTAMP_TYPES = (*TIMESTAMP_TYPES, "NoTimestampType")


def batch_columns(block: Block, names: Iterable[str]) -> dict[str, Array]:
    """Return columns of DumpBatchRow by name, in the order of the names; those of its source apart."""
    return {name: _MAKERS[name](block) if name in _MAKERS else integers(block.fields[name]) for name in names}


def timestamp_types(block: Block) -> Ints:
    """Return which of ALL_TIMESTAMP_TYPES each batch has; magic 0 has none."""
    which: Ints = (block.fields["attributes"] & TIMESTAMP_TYPE_MASK != 0).astype(np.int64)
    return which if block.is_v2 else np.where(block.fields["magic"] == 0, len(TIMESTAMP_TYPES), which)


def is_control(block: Block) -> NDArray[np.bool_]:
    """Return which batches hold control records."""
    return _flag(block, CONTROL_MASK)


def _flag(block: Block, mask: int) -> NDArray[np.bool_]:
    """Return of which batches an attribute is set; of a message of magic 0 or 1 these bits mean nothing."""
    flags: NDArray[np.bool_] = (block.fields["attributes"] & mask != 0) & block.is_v2
    return flags


def _counts(block: Block) -> Array:
    counts = block.fields["records_count"]
    return integers(counts, None if block.is_v2 else counts == UNKNOWN_COUNT)


def _last_sequences(block: Block) -> Array:
    first = block.fields["base_sequence"].astype(np.int64)
    delta = block.fields["last_offset_delta"].astype(np.int64)
    return integers(np.where(first == NO_SEQUENCE, NO_SEQUENCE, add_sequences(first, delta)))


_MAKERS: dict[str, Callable[[Block], Array]] = {
    "position": lambda block: integers(block.positions),
    "size": lambda block: integers(block.fields["batch_length"].astype(np.int64) + LOG_OVERHEAD),
    "last_offset": lambda block: integers(last_offsets(block.fields)),
    "count": _counts,
    "last_sequence": _last_sequences,
    "is_transactional": lambda block: booleans(_flag(block, TRANSACTIONAL_MASK)),
    "is_control": lambda block: booleans(is_control(block)),
    "delete_horizon_ms": lambda block: integers(
        block.fields["base_timestamp"], ~_flag(block, DELETE_HORIZON_MASK)
    ),
    "timestamp_type": lambda block: texts_at(ALL_TIMESTAMP_TYPES, timestamp_types(block)),
    "compression": lambda block: texts_at(CODEC_NAMES, block.fields["attributes"] & COMPRESSION_CODEC_MASK),
    "is_valid": lambda block: booleans(block.valid),
}
"""Columns that are not stored as they are shown."""
