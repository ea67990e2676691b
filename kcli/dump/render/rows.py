"""Blocks of a log as rows: one by one, or many at once as Arrow or encoded in an output format."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from formats.bounds import CONTROL_SHARE
from formats.control import control_record, control_type
from formats.errors import FormatError
from formats.record import Record
from formats.record_columns import RecordColumns
from kcli.dump.block import Block, record_sizes, records_at
from kcli.dump.render.batch_columns import batch_columns, is_control, listed
from kcli.dump.render.decoders import decoded, decoder_for
from kcli.dump.render.headers import record_headers
from kcli.dump.resume import Item, Scanned
from kcli.dump.shown_bytes import describe_contents
from kcli.dump.source import Log, finished
from kcli.jobs.common import source_of
from kcli.kafka.findings.log_findings import inside, report_damage
from kcli.logdir.segment import DamagedRange, Stop
from kcli.rows import ArrowBlock
from kcli.rows.dump import DUMP_BATCH, DUMP_RECORD, DumpBatchRow, DumpRecordRow
from kcli.rows.places import FromFile

NOTHING_DECODED = (None,) * 5
OF_BATCH = DumpBatchRow._fields[1:]


def render_rows(log: Log, items: Iterable[Block | DamagedRange | Stop]) -> Scanned:
    """Yield the rows of a log's blocks, places to stop at, and findings about what is damaged."""
    source, decoder = source_of(log.target, log.options.facts), decoder_for(log.target, log.options)
    for item in items:
        if not isinstance(item, Block):
            yield from report_damage(item, log.findings)
            continue
        held = 0
        for size, row in _sized(log, item, source, decoder):
            held += size
            yield row
        yield finished(log, item, held)


def _sized(log: Log, block: Block, source: FromFile, decoder: str | None) -> Iterator[tuple[int, Item]]:
    """Yield the rows of a block, each with the bytes that it takes."""
    options, records = log.options, block.records
    is_bulk = (
        decoder is None
        and options.is_as_stored
        and (options.form is not None or options.blocks)
        and not block.is_long
    )
    if is_bulk and records is not None:
        numbers = is_control(block)[records.batch].nonzero()[0]
        for number, record in zip(numbers.tolist(), records_at(records, numbers), strict=True):
            _check_control(log, int(block.positions[records.batch[number]]), record)
    if is_bulk and options.only_findings:
        return
    if is_bulk and options.form is not None:
        from kcli.dump.render.encoded import encoded_batches, encoded_records

        encode = encoded_batches if records is None else encoded_records
        for encoded in encode(block, source, options.form):
            yield len(encoded.buffer), encoded
    elif is_bulk:
        from kcli.dump.render.arrow import arrow_batches, arrow_records

        batch = (arrow_batches if records is None else arrow_records)(block, source)
        name = (DUMP_BATCH if records is None else DUMP_RECORD).name
        if batch.num_rows:
            yield batch.nbytes, ArrowBlock(name, batch)
    elif records is None:
        for row in batch_rows(block, source):
            yield 0, row
    else:
        sizes = record_sizes(records).tolist()
        yield from zip(sizes, _record_rows(log, block, records, source, decoder), strict=True)


def _check_control(log: Log, position: int, record: Record) -> None:
    """Report a control record that cannot be read."""
    try:
        control_record(record.key, record.value, log.options.max_batch_bytes // CONTROL_SHARE)
    except FormatError as error:
        log.findings.add("DUMP-002", position, inside(record.offset, describe_contents(error, log.options)))


# One by one


def batch_rows(block: Block, source: FromFile) -> Iterator[DumpBatchRow]:
    """Yield a row for each batch of a block."""
    columns = batch_columns(block, OF_BATCH)
    for values in zip(*map(listed, columns.values()), strict=True):
        yield DumpBatchRow(source, *values)


def _record_rows(
    log: Log, block: Block, records: RecordColumns, source: FromFile, decoder: str | None
) -> Iterator[DumpRecordRow]:
    """Yield a row for each record of a block; report what its decoder cannot read."""
    control = is_control(block)[records.batch].tolist()
    columns = zip(
        block.positions[records.batch].tolist(),
        records.timestamp.tolist(),
        records_at(records, np.arange(len(control))),
        record_headers(records, log.options.salt),
        records.sequence.tolist(),
        control,
        strict=True,
    )
    for position, timestamp, record, headers, sequence, is_marker in columns:
        said: Sequence[Any] = NOTHING_DECODED
        if decoder is not None and not is_marker:
            *said, damaged = decoded(decoder, record, log.options.max_batch_bytes)
            if damaged:
                log.findings.add("DUMP-002", position, inside(record.offset, str(said[-1])))
        if is_marker:
            _check_control(log, position, record)
        type_name = control_type(record.key) if is_marker else None
        contents = (record.key, record.value, headers, sequence, type_name)
        yield DumpRecordRow(source, position, record.offset, timestamp, *contents, *said)
