"""`truncate --rescue`: the records that truncations lose, read from the logs and written to one file.

The range of a partition is that of its row, `lost_offsets`. The logs are read as `dump` reads them: batches
past damage are found, and findings say what cannot be read.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np

from formats.control import control_type
from formats.names import LOG, parse_file
from formats.record_columns import RecordColumns
from kcli.dump.blocks import Block, headers_of, records_at, size_of_records
from kcli.dump.options import DumpOptions, RecordFilter, in_range
from kcli.dump.pauses import Scanned, read_until_pause
from kcli.dump.read_blocks import Log, byte_range, finished, read_blocks
from kcli.dump.render.rows import batch_columns, is_control
from kcli.engine.contract import Outcome, Unit
from kcli.engine.inline import mapped
from kcli.jobs.common import failed, source_of
from kcli.kafka.findings.collector import FindingCollector
from kcli.kafka.findings.log_findings import report_damage
from kcli.kafka.storage.surviving_files import opened_files
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.partition import Partition
from kcli.logdir.partition_names import listed as entries
from kcli.logdir.targets import Target, entry_of
from kcli.output.files import new_file, writer
from kcli.output.formats import NDJSON, PARQUET, OutputFormat
from kcli.output.view import View
from kcli.rows.arrow_arrays import integers
from kcli.rows.declare import declared_type
from kcli.rows.partitions import FromFile
from kcli.rows.truncation import RescuedHeader, RescuedRecordRow, TruncationRow
from kcli.words import INT64

RESCUE_FORMATS = {f".{form.extension}": form for form in (NDJSON, PARQUET)}
"""Of the files that records are written to, by the end of their names."""
BATCH_COLUMNS = (
    "timestamp_type",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "is_transactional",
)
TWENTY_DIGITS = len(f"{0:020}")


class Rescue:
    """Writes what truncations lose to a new file: `saved` records of `partitions`, if it `is_there`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.saved = self.partitions = 0
        self.is_there = False

    def along(self, outcomes: Iterator[Outcome], units: list[Unit]) -> Iterator[Outcome]:
        """Yield the outcomes, each once its lost records are written, with findings about these; OSError."""
        form: OutputFormat = RESCUE_FORMATS[os.path.splitext(self.path)[1]]
        view = View("truncate --rescue", form, (declared_type(RescuedRecordRow),), tagged=True)
        answered = 0
        with ExitStack() as stack:
            file = out = None
            for outcome in outcomes:
                rows = [row for row in outcome.rows if isinstance(row, TruncationRow)]
                answered += len(rows)
                if rows and (file is None or out is None):
                    file = stack.enter_context(new_file(self.path))
                    out = stack.enter_context(writer(file, view))
                report = Outcome(number=outcome.number)
                for lost in filter(None, (row.lost_offsets for row in rows)):
                    self.partitions += 1
                    for rescue in lost_records(units[outcome.number].target, lost):
                        assert out is not None
                        out.write(rescue.rows)
                        report = _with_findings(report, rescue)
                yield _with_findings(outcome, report)
            if file is not None and out is not None:
                out.finish(lambda: ([], []))
                self.saved = out.rows
                file.flush()
                os.fsync(file.fileno())
        self.is_there = answered > 0


def lost_records(target: Target, lost: str) -> Iterator[Outcome]:
    """Yield outcomes with the rows of a partition's records in `A..B`, inclusive, or `A..`."""
    first, _, last = lost.partition("..")
    options = DumpOptions(
        records=True, filter=RecordFilter(offsets=(int(first), int(last) if last else INT64))
    )
    try:
        files, _ = entries(target.path)
        opened_names = opened_files(Partition(target), files)
    except FileError as error:
        yield failed(Unit(number=0, targets=(target,)), error)
        return
    logs = [entry_of(target, name, LOG) for name, new in opened_names.items() if _is_log(new)]
    units = [Unit(number=number, targets=(log,)) for number, log in enumerate(in_range(logs, options.filter))]
    yield from mapped(partial(read_until_pause, options=options, reader=_rescued_rows), units)


def _is_log(name: str) -> bool:
    """Whether a broker opens a file as the log of a segment; not a copy that somebody made."""
    stem, extension = os.path.splitext(name)
    return extension == ".log" and len(stem) == TWENTY_DIGITS and parse_file(name).kind == LOG


def _with_findings(outcome: Outcome, addition: Outcome) -> Outcome:
    """Return an outcome with the findings of another, and its error where it has none."""
    if not addition.findings and addition.error is None:
        return outcome
    error = outcome.error if outcome.error is not None else addition.error
    return replace(outcome, findings=[*outcome.findings, *addition.findings], error=error)


def _rescued_rows(unit: Unit, options: DumpOptions, findings: FindingCollector) -> Scanned:
    with DataFile(unit.target.path) as file:
        log, source = Log(file, unit.target, options, findings), source_of(unit.target)
        start, end = byte_range(log)
        for item in read_blocks(log, unit.position or start, end, cursor=unit.cursor):
            if not isinstance(item, Block):
                yield from report_damage(item, findings)
            elif item.records is not None:
                yield from _rows(item, item.records, source)
                yield finished(log, item, size_of_records(item.records))


def _rows(block: Block, records: RecordColumns, source: FromFile) -> Iterator[RescuedRecordRow]:
    """Yield the records of a block."""
    batch = integers(records.batch)
    of_batch = {
        name: column.take(batch).to_pylist() for name, column in batch_columns(block, BATCH_COLUMNS).items()
    }
    control = is_control(block)[records.batch].tolist()
    columns = zip(
        records_at(records, np.arange(len(control))),
        records.timestamp.tolist(),
        of_batch.pop("timestamp_type"),
        headers_of(records),
        records.sequence.tolist(),
        control,
        zip(*of_batch.values(), strict=True),
        strict=True,
    )
    for record, timestamp, kind, pairs, sequence, is_marker, (epoch, *producer, is_transactional) in columns:
        name = control_type(record.key) if is_marker else None
        headers = tuple(_header(*pair) for pair in pairs)
        contents = (record.offset, timestamp, kind, record.key, record.value, headers)
        yield RescuedRecordRow._make((source, *contents, epoch, *producer, sequence, is_transactional, name))


def _header(key: bytes, value: bytes | None) -> RescuedHeader:
    try:
        return RescuedHeader(key.decode(), None, value)
    except UnicodeDecodeError:
        return RescuedHeader(key.decode(errors="backslashreplace"), key, value)
