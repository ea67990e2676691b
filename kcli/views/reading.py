"""What a task does: it runs its units and returns their rows as Arrow batches of the schema that is needed.

A unit that cannot be read gives the rows before the damage and no more; what is wrong with it is in the view
`findings`.
"""

import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from kcli.dump.job import Dump
from kcli.engine.contract import Outcome
from kcli.engine.inline import mapped
from kcli.kafka.findings.findings import Finding
from kcli.kafka.findings.merging import merged
from kcli.logdir.buffers import shown
from kcli.logdir.directory import NO_DIRECTORY, directory_facts
from kcli.logdir.targets import PARTITION, Target
from kcli.output.arrow import batch
from kcli.rows import ArrowBlock, Failure, Item, RowType, type_name, values_of
from kcli.views.definitions import BATCHES, FINDINGS, HEAD, RECORDS, VIEWS, FindingRow, view_columns
from kcli.views.planning import SEGMENT, Work, directory_of, is_reported_by_planning, of_directory

RecordBatch: TypeAlias = Any
ArrowSchema: TypeAlias = Any
Rows: TypeAlias = tuple[Target | None, list[Item]]
"""Rows of a view, and which target they are from."""

ROWS_A_BATCH = 5_000
BYTES_A_BATCH = 8 << 20
"""Of keys, values and other bytes in a batch, about."""

Head: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one task reads: a bin of works, or findings that are known without reading."""

    view: str
    scan_time: datetime
    works: Sequence[Work] = ()
    failures: Sequence[Failure] = ()
    findings: Sequence[tuple[Target | None, Finding]] = ()


def record_batches(task: Task, schema: ArrowSchema) -> Iterator[RecordBatch]:
    """Yield the rows of a task as batches of exactly the columns and types of an Arrow schema."""
    yield from as_batches(task.view, task.scan_time, _rows(task), schema)


def as_batches(
    view: str, scan_time: datetime, rows: Iterable[Rows], schema: ArrowSchema
) -> Iterator[RecordBatch]:
    """Yield rows of a view as batches of exactly the columns and types of an Arrow schema."""
    make = _maker(view, schema)
    held: list[RecordBatch] = []
    count = weight = 0
    for head, some in _runs(view, scan_time, rows):
        found = make(head, some)
        held.append(found)
        count += found.num_rows
        weight += found.nbytes
        if count >= ROWS_A_BATCH or weight >= BYTES_A_BATCH:
            yield _joined(held)
            held, count, weight = [], 0, 0
    if held:
        yield _joined(held)


def _joined(batches: list[RecordBatch]) -> RecordBatch:
    return (
        batches[0] if len(batches) == 1 else pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    )


def _runs(view: str, scan_time: datetime, all_rows: Iterable[Rows]) -> Iterator[tuple[Head, list[Item]]]:
    """Yield rows of the view with the values of HEAD: several rows, or one block."""
    heavy = [place for place, column in enumerate(VIEWS[view].columns) if column.kind == "bytes"]
    held: list[Item] = []
    weight, of = 0, _head(scan_time, None)
    heads: dict[str | None, Head] = {}
    for target, rows in all_rows:
        if not rows:
            continue
        log_dir = None if target is None else target.log_dir
        head = heads.get(log_dir) or heads.setdefault(log_dir, _head(scan_time, log_dir))
        for is_block, several in groupby(rows, key=lambda row: isinstance(row, ArrowBlock)):
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
                if isinstance(row, tuple)
                for place in heavy
                if isinstance(value := values_of(row)[place], bytes)
            )
    if held:
        yield of, held


def _rows(task: Task) -> Iterator[Rows]:
    """Yield rows of the view, and which target they are from."""
    if task.view == FINDINGS:
        yield from _findings(task)
        return
    for work in task.works:
        for outcome in mapped(work.scan, [work.unit]):
            yield rows_of(task.view, work, outcome)


def rows_of(view: str, work: Work, outcome: Outcome) -> Rows:
    """Return the rows of the view that an outcome of a work has."""
    rows = [row for row in outcome.rows if type_name(row) == VIEWS[view].name]
    return work.unit.target, rows if work.unit.end == 0 else list(rows_before(work.unit.end, rows))


_POSITIONS = {view.name: view.names.index("position") for view in (VIEWS[BATCHES], VIEWS[RECORDS])}


def rows_before(end: int, rows: Sequence[Item]) -> Iterator[Item]:
    """Yield the rows of batches that begin before a byte of their log.

    A range of a log ends at its cut: planning saw a batch begin there. If the file has changed since, the
    rows after the cut are still given once, by the range that begins there.
    """
    for row in rows:
        if isinstance(row, ArrowBlock):
            positions = row.batch.column("position").to_numpy()
            count = int(positions.searchsorted(end))
            if count:
                yield row if count == len(positions) else ArrowBlock(row.type_name, row.batch.slice(0, count))
        elif isinstance(row, tuple):
            position = values_of(row)[_POSITIONS[type_name(row)]]
            if isinstance(position, int) and position < end:
                yield row


def _head(scan_time: datetime, log_dir: str | None) -> Head:
    facts = NO_DIRECTORY if log_dir is None else directory_facts(log_dir)
    return socket.gethostname(), facts.broker_id, facts.cluster_id, scan_time


def _maker(view: str, arrow_schema: ArrowSchema) -> Callable[[Head, list[Item]], RecordBatch]:
    """Return the function that makes batches of an Arrow schema from the values of HEAD and rows."""
    columns = {one.column.name.lower(): one for one in view_columns(view)}
    chosen = [columns[name.lower()] for name in arrow_schema.names]
    own = [(one.column, one.place) for one in chosen if one.place is not None]
    narrow = RowType(view, tuple(column for column, _ in own))
    places = [place for _, place in own]
    names = [column.name for column in HEAD]

    def make(head: Head, rows: list[Item]) -> RecordBatch:
        if isinstance(rows[0], ArrowBlock):
            whole = rows[0].batch
            count, body = whole.num_rows, iter([whole.column(place) for place in places])
        else:
            values = [values_of(row) for row in rows if isinstance(row, tuple)]
            short = batch(narrow, [tuple(some[place] for place in places) for some in values])
            count, body = len(rows), iter(short.columns)
        made = [
            pa.repeat(pa.scalar(head[names.index(one.column.name)], kind), count)
            if one.place is None
            else _as(next(body), kind)
            for one, kind in zip(chosen, arrow_schema.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(made, schema=arrow_schema)

    return make


def _as(column: Any, kind: Any) -> Any:
    return column if column.type.equals(kind) else column.cast(kind)


# Findings


def _findings(task: Task) -> Iterator[Rows]:
    """Yield findings and errors as rows, those of one directory without repetitions."""
    yield None, list(dict.fromkeys(_of_failure(failure, None) for failure in task.failures))
    for target, some in groupby(task.findings, key=itemgetter(0)):
        yield target, list(dict.fromkeys(_of_finding(finding, target) for _, finding in some))
    for _, group in groupby(task.works, key=lambda work: directory_of(work.unit.target)):
        seen: set[FindingRow] = set()
        sound: set[str] = set()
        for work, findings, errors in _found(group, sound):
            if isinstance(work.scan, Dump) and not findings and not errors:
                sound.add(work.unit.target.path)
            reported = [
                _of_finding(finding, work.unit.target)
                for finding in findings
                if not is_reported_by_planning(finding)
            ]
            reported += [_of_failure(error, work.unit.target) for error in errors]
            fresh = dict.fromkeys(row for row in reported if row not in seen)
            seen.update(fresh)
            yield work.unit.target, list(fresh)


def _found(
    works: Iterable[Work], sound: Collection[str]
) -> Iterator[tuple[Work, list[Finding], list[Failure]]]:
    """Yield what the works of a directory find; `sound` are logs whose checksums are known to match."""
    for are_segments, some in groupby(works, key=lambda work: work.scan == SEGMENT):
        several = list(some)
        if are_segments:
            outcomes = of_directory([work.unit for work in several], sound)
            yield from (
                (work, *_messages([outcome])) for work, outcome in zip(several, outcomes, strict=True)
            )
        else:
            yield from ((work, *_messages(mapped(work.scan, [work.unit]))) for work in several)


def _messages(outcomes: Iterable[Outcome]) -> tuple[list[Finding], list[Failure]]:
    """Return the findings of outcomes, merged as commands do it, and the errors that ended them."""
    findings: list[Finding] = []
    errors: list[Failure] = []
    for outcome in outcomes:
        findings += outcome.findings
        errors += [outcome.error] if outcome.error is not None else []
    return merged(findings), errors


def _of_finding(finding: Finding, target: Target | None) -> FindingRow:
    directory = finding.dir
    if target is not None and target.log_dir is not None and directory == shown(target.log_dir):
        directory = (
            target.shown if target.kind == PARTITION else os.path.dirname(target.shown)
        )  # reported for each of its partitions
    topic, partition = _name(target)
    return FindingRow(
        code=finding.code,
        severity=finding.severity,
        message=finding.message,
        dir=directory,
        topic=topic,
        partition=partition,
        file=finding.file,
        path=finding.path or directory,
        position=finding.position,
        expected=None if finding.expected is None else str(finding.expected),
        found=None if finding.found is None else str(finding.found),
    )


def _of_failure(failure: Failure, target: Target | None) -> FindingRow:
    is_directory = target is not None and target.kind == PARTITION and failure.path == target.shown
    topic, partition = _name(target)
    return FindingRow(
        code=failure.error,
        severity="error",
        message=failure.message,
        dir=failure.path if is_directory else os.path.dirname(failure.path) or ".",
        topic=topic,
        partition=partition,
        file=None if is_directory else os.path.basename(failure.path),
        path=failure.path,
        position=failure.position,
        expected=None,
        found=None,
    )


def _name(target: Target | None) -> tuple[str | None, int | None]:
    name = target.name if target is not None else None
    return (None, None) if name is None else (shown(name.topic), name.partition)
