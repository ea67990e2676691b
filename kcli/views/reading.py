"""What a task does: its units one after the other, and their rows as Arrow batches with the columns that Spark wants.

A unit that cannot be read gives the rows before the damage and no more; what is wrong with it is in the view `findings`.
"""

import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from kcli.analysis.findings import Finding
from kcli.analysis.merging import merged
from kcli.dump.job import Dump
from kcli.engine.contract import Outcome
from kcli.engine.worker import scanned_to_end
from kcli.logdir.buffers import shown
from kcli.logdir.directory import NO_DIRECTORY, directory_facts
from kcli.logdir.tree import PARTITION, Target
from kcli.output.arrow import batch
from kcli.rows import ROW_TYPES, Block, Failure, Row, RowType
from kcli.views.planning import SEGMENT, Work, directory_of, is_told_by_planning, of_directory
from kcli.views.views import FINDING, FINDINGS, HEAD, VIEWS, view_columns

RecordBatch: TypeAlias = Any

ROWS_A_BATCH = 5_000
BYTES_A_BATCH = 8 << 20
"""Of keys, values and other bytes, when it is time for another batch."""

Head: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one task reads: a bin of works, or findings that are known without reading."""

    view: str
    scan_time: datetime
    works: Sequence[Work] = ()
    failures: Sequence[Failure] = ()
    findings: Sequence[tuple[Target | None, Finding]] = ()


def record_batches(task: Task, schema: Any) -> Iterator[RecordBatch]:
    """Yield the rows of a task as batches of exactly the columns and types of a Spark schema."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    make = _maker(task, to_arrow_schema(schema, timezone="UTC"))
    held: list[RecordBatch] = []
    count = weight = 0
    for head, rows in _runs(task):
        found = make(head, rows)
        held.append(found)
        count += found.num_rows
        weight += found.nbytes
        if count >= ROWS_A_BATCH or weight >= BYTES_A_BATCH:
            yield _joined(held)
            held, count, weight = [], 0, 0
    if held:
        yield _joined(held)


def _joined(batches: list[RecordBatch]) -> RecordBatch:
    import pyarrow as pa  # noqa: PLC0415

    return (
        batches[0] if len(batches) == 1 else pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    )


def _runs(task: Task) -> Iterator[tuple[Head, list[Row]]]:
    """Yield rows of the view with what stands in front of them: some plain ones, or one block."""
    heavy = [place for place, column in enumerate(VIEWS[task.view].columns) if column.kind == "bytes"]
    held: list[Row] = []
    weight, of = 0, _head(task, None)
    for target, rows in _rows(task):
        head = _head(task, target)
        for is_block, several in groupby(rows, key=lambda row: isinstance(row, Block)):
            if held and (is_block or head != of or len(held) >= ROWS_A_BATCH or weight >= BYTES_A_BATCH):
                yield of, held
                held, weight = [], 0
            of = head
            if is_block:
                yield from ((head, [block]) for block in several)
                continue
            plain = list(several)
            held += plain
            weight += sum(
                len(value)
                for row in plain
                for place in heavy
                if isinstance(value := row.values[place], bytes)
            )
    if held:
        yield of, held


def _rows(task: Task) -> Iterator[tuple[Target | None, list[Row]]]:
    """Yield rows of the view, and which target they are from."""
    if task.view == FINDINGS:
        yield from _findings(task)
        return
    kind = VIEWS[task.view].name
    for work in task.works:
        for outcome in scanned_to_end(work.scan, work.unit):
            rows = [row for row in outcome.rows if row.type == kind]
            yield work.unit.target, rows if work.unit.end == 0 else list(rows_before(work.unit.end, rows))


def rows_before(end: int, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows of batches that begin before a byte of their log.

    A piece of a log ends at its cut: that was certain when the query was planned. If the file is another one by now, what lies
    behind the cut is still told once, by the piece that begins there.
    """
    for row in rows:
        place = ROW_TYPES[row.type].names.index("position")
        if not isinstance(row, Block):
            position = row.values[place]
            if isinstance(position, int) and position < end:
                yield row
            continue
        positions = row.batch.column(place).to_numpy()
        count = int(positions.searchsorted(end))
        if count:
            yield row if count == len(positions) else Block(row.type, (row.batch.slice(0, count),))


def _head(task: Task, target: Target | None) -> Head:
    facts = (
        directory_facts(target.log_dir) if target is not None and target.log_dir is not None else NO_DIRECTORY
    )
    return socket.gethostname(), facts.broker_id, facts.cluster_id, task.scan_time


def _maker(task: Task, wanted: Any) -> Callable[[Head, list[Row]], RecordBatch]:
    """Return what makes a batch of rows, with what stands in front of them: the columns and types of an Arrow schema."""
    import pyarrow as pa  # noqa: PLC0415

    columns = {one.column.name.lower(): one for one in view_columns(task.view)}
    chosen = [columns[name.lower()] for name in wanted.names]
    own = [(one.column, one.place) for one in chosen if one.place is not None]
    narrow = RowType(task.view, tuple(column for column, _ in own))
    places = [place for _, place in own]
    names = [column.name for column in HEAD]

    def make(head: Head, rows: list[Row]) -> RecordBatch:
        if isinstance(rows[0], Block):
            whole = rows[0].batch
            count, body = whole.num_rows, iter([whole.column(place) for place in places])
        else:
            short = batch(
                narrow, [Row(task.view, tuple(row.values[place] for place in places)) for row in rows]
            )
            count, body = len(rows), iter(short.columns)
        made = [
            pa.repeat(pa.scalar(head[names.index(one.column.name)], kind), count)
            if one.place is None
            else _as(next(body), kind)
            for one, kind in zip(chosen, wanted.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(made, schema=wanted)

    return make


def _as(column: Any, kind: Any) -> Any:
    return column if column.type.equals(kind) else column.cast(kind)


# Findings


def _findings(task: Task) -> Iterator[tuple[Target | None, list[Row]]]:
    """Yield findings and errors as rows, those of one directory without repetitions."""
    yield None, list(dict.fromkeys(_of_failure(failure, None) for failure in task.failures))
    for target, some in groupby(task.findings, key=itemgetter(0)):
        yield target, list(dict.fromkeys(_of_finding(finding, target) for _, finding in some))
    for _, group in groupby(task.works, key=lambda work: directory_of(work.unit.target)):
        seen: set[Row] = set()
        sound: set[str] = set()
        for work, findings, errors in _found(group, sound):
            if isinstance(work.scan, Dump) and not findings and not errors:
                sound.add(work.unit.target.path)
            told = [
                _of_finding(finding, work.unit.target)
                for finding in findings
                if not is_told_by_planning(finding)
            ]
            told += [_of_failure(error, work.unit.target) for error in errors]
            fresh = dict.fromkeys(row for row in told if row not in seen)
            seen.update(fresh)
            yield work.unit.target, list(fresh)


def _found(
    works: Iterable[Work], sound: Collection[str]
) -> Iterator[tuple[Work, list[Finding], list[Failure]]]:
    """Yield what the works of a directory find; `sound` are logs of which all is known to match by then."""
    for are_segments, some in groupby(works, key=lambda work: work.scan == SEGMENT):
        several = list(some)
        if are_segments:
            outcomes = of_directory([work.unit for work in several], sound)
            yield from ((work, *_told([outcome])) for work, outcome in zip(several, outcomes, strict=True))
        else:
            yield from ((work, *_told(scanned_to_end(work.scan, work.unit))) for work in several)


def _told(outcomes: Iterable[Outcome]) -> tuple[list[Finding], list[Failure]]:
    """Return what outcomes find, those of one kind together as commands tell them, and why they ended if they could not go on."""
    findings: list[Finding] = []
    errors: list[Failure] = []
    for outcome in outcomes:
        findings += outcome.findings
        errors += [outcome.error] if outcome.error is not None else []
    return merged(findings), errors


def _of_finding(finding: Finding, target: Target | None) -> Row:
    expected, found = (None if value is None else str(value) for value in (finding.expected, finding.found))
    rest = (finding.file, finding.position, expected, found)
    directory = finding.dir
    if target is not None and target.log_dir is not None and directory == shown(target.log_dir):
        directory = (
            target.shown if target.kind == PARTITION else os.path.dirname(target.shown)
        )  # said of each of its partitions
    return Row(
        FINDING.name, (finding.code, finding.severity, finding.message, directory, *_name(target), *rest)
    )


def _of_failure(failure: Failure, target: Target | None) -> Row:
    is_directory = target is not None and target.kind == PARTITION and failure.path == target.shown
    directory, file = (
        (failure.path, None) if is_directory else (os.path.dirname(failure.path) or ".", failure.path)
    )
    return Row(
        FINDING.name,
        (
            failure.error,
            "error",
            failure.message,
            directory,
            *_name(target),
            file,
            failure.position,
            None,
            None,
        ),
    )


def _name(target: Target | None) -> tuple[str | None, int | None]:
    name = target.name if target is not None else None
    return (None, None) if name is None else (shown(name.topic), name.partition)
