"""What a query of a view reads: the job of its command, the units that `jobs.plan` makes, rows as Arrow.

A unit that cannot be read gives the rows before the damage and no more; what is wrong with it is in the view
`findings`, whose rows are the findings and errors of `kcli check`.
"""

import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from formats.names import LOG, UNKNOWN, parse_file, parse_partition_dir
from kcli.dump.job import Dump
from kcli.dump.options import DumpOptions
from kcli.engine.contract import Engine, Job, Map, Outcome, Reduce, Unit
from kcli.jobs import epoch as epoch_jobs
from kcli.jobs import group as groups
from kcli.jobs.broker_starts import expand as broker_expand
from kcli.jobs.broker_starts import with_plans
from kcli.jobs.check import check
from kcli.jobs.check.log_dirs import BrokerLogDirs
from kcli.jobs.cluster_metadata import known_settings, metadata_of, only_metadata_logs, with_undecodable
from kcli.jobs.common import NO_EVENTS, PARTITIONS_ONLY, notes_as_findings, plan
from kcli.jobs.compact import compact
from kcli.jobs.contradictions import with_contradictions
from kcli.jobs.held_log import RetentionQuery
from kcli.jobs.log_pass import log_targets
from kcli.jobs.log_pass.scan import DirectoryScan, ScanLog, ScanOptions, fold_directories, group_directories
from kcli.jobs.log_starts import StartRequest
from kcli.jobs.ls import ls
from kcli.jobs.metadata import metadata as metadata_jobs
from kcli.jobs.metadata_partitions import expand as expand_events
from kcli.jobs.producers import producers
from kcli.jobs.retention import retention
from kcli.jobs.rlmm import dump as rlmm
from kcli.jobs.tiered_leader import with_events
from kcli.jobs.transactions import coordinator_copies, listed
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.meta_properties import NEWEST
from kcli.kafka.kraft.start_plan import StartPlan, plans_at_rest
from kcli.kafka.storage.surviving_files import opened_files
from kcli.logdir.buffers import FileError, shown
from kcli.logdir.find import FileSet, with_unformatted
from kcli.logdir.log_dirs import NO_DIRECTORY, directory_facts
from kcli.logdir.partition import Partition
from kcli.logdir.targets import PARTITION, Target, partition_of
from kcli.output.arrow import batch
from kcli.output.arrow import schema as arrow_schema
from kcli.output.text import distinct
from kcli.rows import ArrowBlock, Failure, Item, type_name
from kcli.rows.declare import RowType, names_of, values_of
from kcli.rows.scan import ScanSegmentRow
from kcli.views import definitions
from kcli.views.options import ViewQuery
from kcli.words import clock_ms

ArrowSchema: TypeAlias = Any

DECODED = frozenset({"record_type", "record_version", "decoded_key", "decoded_value", "error"})
"""Columns that decode records of internal topics, which are then read one by one."""
OF_ARGUMENTS = frozenset({"wrong-kind", "nothing-to-read"})
"""Errors of arguments that are of no use to a view: one that another view reads is no error of a query."""
SCAN = ScanLog(ScanOptions(rows=names_of(ScanSegmentRow)))


class ViewCommand(NamedTuple):
    """What `kcli.cli.run` knows of the command that a view is: its job, what that reads, and how it is cut.

    `reduce` returns the step that combines outcomes, given what was found; picklable.
    """

    job: Map
    accepts: frozenset[str] = PARTITIONS_ONLY
    expand: Callable[[FileSet], FileSet] = lambda file_set: file_set
    split: Callable[[list[Unit]], list[Unit]] = lambda units: units
    reduce: Callable[[FileSet], Reduce] | None = None


class Plan(NamedTuple):
    """What a query reads, and knows without; `refused`: errors of inputs that other views may read."""

    job: Map
    units: list[Unit]
    file_set: FileSet
    reduce: Callable[[FileSet], Reduce] | None
    findings: list[Finding]
    failures: list[Failure]
    refused: list[Failure]


def plan_view(query: ViewQuery, file_set: FileSet, columns: Collection[str]) -> Plan:
    """Return what a query must read, of what its paths lead to, for some columns."""
    is_of_findings = query.view == definitions.FINDINGS
    if query.view not in definitions.OF_USERS:
        targets = [target for target in file_set.targets if query.selection.wants(target.name)]
        file_set = replace(file_set, targets=targets)
    if is_of_findings:  # as for kcli check
        file_set = with_unformatted(file_set)
    command = VIEW_COMMANDS[query.view](query, file_set, columns)
    expanded = command.expand(file_set)
    units, failures = plan(expanded, command.accepts)
    of_view = failures if is_of_findings else failures[len(file_set.failures) :]
    refused = [failure for failure in of_view if failure.error in OF_ARGUMENTS and not is_of_findings]
    if query.view == definitions.RLMM and file_set.targets and not (units or failures):
        refused.append(Failure("", "nothing-matched", None, None, NO_EVENTS))
    return Plan(
        command.job,
        command.split(units),
        expanded,
        command.reduce,
        list(notes_as_findings(dict.fromkeys([*file_set.notes, *expanded.notes]))),
        [failure for failure in of_view if failure not in refused],
        refused,
    )


def readable(file_set: FileSet) -> FileSet:
    """Return the same without the files that no view reads; each is an error, as of `scan`."""
    unknown = [target for target in file_set.targets if target.kind == UNKNOWN]
    _, failures = plan(FileSet(targets=unknown), log_targets.LOG_ACCEPTS)
    errors = [FileError(failure.path, failure.error, failure.message) for failure in failures]
    return replace(
        file_set,
        targets=[target for target in file_set.targets if target.kind != UNKNOWN],
        failures=[*file_set.failures, *errors],
    )


def refused_by_all(scans: Sequence[Sequence[Failure]]) -> list[Failure]:
    """Return the errors of inputs that no scan of a query reads; each scan has those that it does not."""
    paths = [{failure.path for failure in refused} for refused in scans]
    return [error for error in dict.fromkeys(chain(*scans[:1])) if all(error.path in some for some in paths)]


# The commands of the views


def _dump(query: ViewQuery, file_set: FileSet, columns: Collection[str]) -> ViewCommand:
    """Return `dump` of logs: those that a start opens, those that are named, and leftovers if selected."""
    records = query.view == definitions.RECORDS
    options = DumpOptions(
        records=records,
        blocks=True,
        decode_by_name=records and not DECODED.isdisjoint(columns),
        filter=query.filter,
        max_batch_bytes=query.max_batch_bytes,
    )
    job = Dump(options, only_partitions=True)
    named_paths = {target.path for target in file_set.targets if target.kind != PARTITION}

    def expand(file_set: FileSet) -> FileSet:
        expanded = job.expand(file_set)
        leftovers = query.selection.include_leftovers
        return replace(expanded, targets=list(_logs(expanded.targets, named_paths, leftovers=leftovers)))

    return ViewCommand(job, log_targets.LOG_ACCEPTS, expand)


def _logs(targets: Iterable[Target], named_paths: Collection[str], *, leftovers: bool) -> Iterator[Target]:
    for _, group in groupby(targets, key=lambda target: os.path.dirname(target.path)):
        files = [(os.path.basename(target.path), target) for target in group]
        names = opened_files(Partition(partition_of(files[0][1])), [name for name, _ in files])
        for name, target in files:
            is_log = target.kind == LOG and name in names and not parse_file(names[name]).is_inactive
            if is_log or target.path in named_paths or (leftovers and target.kind == LOG):
                yield target


def _scan_reduce(_file_set: FileSet) -> Reduce:
    return fold_directories(lambda: DirectoryScan(SCAN.options.rows))


def _check(_query: ViewQuery, file_set: FileSet, _columns: Collection[str]) -> ViewCommand:
    settings = known_settings(metadata_of(file_set))
    query = RetentionQuery(clock_ms())
    plans = plans_at_rest(file_set.given_log_dirs, are_named=True) if file_set.named_log_dirs else []
    request = with_plans(StartRequest(known=settings, selection=file_set.selection), plans)
    return ViewCommand(
        check.CheckLog(CHECKED, request=request, query=query),
        check.CHECK_ACCEPTS,
        lambda inputs: check.expand(broker_expand(inputs, plans, inputs.selection) if plans else inputs),
        group_directories,
        partial(_check_reduce, plans=plans, query=query),
    )


def _check_reduce(file_set: FileSet, plans: Sequence[StartPlan], query: RetentionQuery) -> Reduce:
    metadata = metadata_of(file_set)
    return check.reducer(
        file_set, BrokerLogDirs(file_set, plans, metadata), None, known_settings(metadata), query
    )


def _groups(query: ViewQuery, *_: object) -> ViewCommand:
    group_query = groups.GroupQuery(now_ms=clock_ms(), selection=query.selection)
    is_list = query.view == definitions.GROUP_LIST
    topics = groups.OFFSET_TOPICS[: 1 if is_list else None]
    return ViewCommand(
        partial(groups.list_groups if is_list else groups.offsets, query=group_query),
        expand=partial(groups.expand, topics=topics),
        split=partial(groups.split, topics=topics),
    )


def _metadata(query: ViewQuery, *_: object) -> ViewCommand:
    kinds = (query.view.removeprefix("metadata_"),)
    metadata_query = metadata_jobs.MetadataQuery(kinds=kinds, selection=query.selection)
    job = partial(metadata_jobs.show, query=metadata_query)
    return ViewCommand(job, metadata_jobs.METADATA_FILES, only_metadata_logs)


def _producers(_query: ViewQuery, file_set: FileSet, _columns: Collection[str]) -> ViewCommand:
    job = partial(producers, now_ms=clock_ms(), known=known_settings(metadata_of(file_set)))
    return ViewCommand(job, expand=with_undecodable)


def _retention(*_: object) -> ViewCommand:
    job = partial(retention, query=RetentionQuery(clock_ms()))
    return ViewCommand(job, split=partial(with_events, elsewhere=()))


CHECKED = ScanLog(ScanOptions(rows=frozenset()))


VIEW_COMMANDS: dict[str, Callable[[ViewQuery, FileSet, Collection[str]], ViewCommand]] = {
    definitions.BATCHES: _dump,
    definitions.RECORDS: _dump,
    "segments": lambda *_: ViewCommand(
        SCAN,
        log_targets.LOG_ACCEPTS,
        lambda file_set: log_targets.expand(with_contradictions(file_set), starts=True),
        group_directories,
        _scan_reduce,
    ),
    "epochs": lambda *_: ViewCommand(epoch_jobs.show, epoch_jobs.EPOCH_CACHE_KINDS),
    definitions.RLMM: lambda query, *_: ViewCommand(
        partial(rlmm.dump_events, selection=query.selection), rlmm.EVENT_FILE_KINDS, expand_events
    ),
    "offsets": lambda *_: ViewCommand(ls, expand=with_contradictions),
    "producers": _producers,
    definitions.GROUP_LIST: _groups,
    definitions.GROUP_OFFSETS: _groups,
    **dict.fromkeys(definitions.METADATA_VIEWS, _metadata),
    "transactions": lambda *_: ViewCommand(listed, expand=coordinator_copies),
    "retention": _retention,
    "retention_partitions": _retention,
    "compact": lambda *_: ViewCommand(partial(compact, query=RetentionQuery(clock_ms()), release=NEWEST)),
    definitions.FINDINGS: _check,
}


# Rows as Arrow


def view_schema(view: str) -> ArrowSchema:
    """Return the Arrow schema of a view; every column may be null."""
    fields = []
    for column, _ in definitions.view_columns(view):
        is_moment = column.kind == definitions.MOMENT
        kind = pa.timestamp("us", "UTC") if is_moment else arrow_schema(RowType("", (column,))).types[0]
        fields.append(pa.field(column.name, kind, metadata={"description": column.doc}))
    return pa.schema(fields)


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Makes Arrow batches of the rows of a view: of exactly the columns and types of a schema."""

    view: str
    scan_time: datetime
    schema: ArrowSchema

    def outcomes(self, plan: Plan, engine: Engine) -> Iterator[Outcome]:
        """Yield the outcomes of a plan, their rows as ArrowBlocks; of findings the findings and errors."""
        if self.view == definitions.FINDINGS:
            yield from self._findings(plan, engine)
        elif plan.reduce is None:
            yield from engine(Job(partial(self._map, plan.job)), plan.units) if plan.units else ()
        else:
            units = {unit.number: unit for unit in plan.units}
            for outcome in engine(Job(plan.job, plan.reduce(plan.file_set)), plan.units) if units else ():
                yield self.in_arrow(outcome, units[outcome.number])

    def _map(self, job: Map, unit: Unit) -> Outcome:
        """Return what a job answers as Arrow, made where the rows are."""
        return self.in_arrow(job(unit), unit)

    def in_arrow(self, outcome: Outcome, unit: Unit) -> Outcome:
        """Return the outcome of a unit with the rows of the view alone, as ArrowBlocks."""
        rows = [row for row in outcome.rows if type_name(row) == definitions.VIEWS[self.view].name]
        return replace(outcome, rows=self.blocks(rows, unit.target.log_dir))

    def blocks(self, rows: Iterable[Item], log_dir: str | None) -> list[Item]:
        """Return rows about a log dir as ArrowBlocks."""
        columns = {column.column.name.lower(): column for column in definitions.view_columns(self.view)}
        chosen = [columns[name.lower()] for name in self.schema.names]
        own = [(column, number) for column, number in chosen if number is not None]
        row_type = RowType(self.view, tuple(column for column, _ in own))
        numbers = [number for _, number in own]
        blocks: list[Item] = []
        for is_block, group in groupby(rows, key=lambda row: isinstance(row, ArrowBlock)):
            if is_block:
                batches = (row.batch for row in group if isinstance(row, ArrowBlock))
                blocks += (
                    self._block(log_dir, arrow_batch.num_rows, chosen, map(arrow_batch.column, numbers))
                    for arrow_batch in batches
                )
            else:
                values = [values_of(row) for row in group if isinstance(row, tuple)]
                arrow_batch = batch(row_type, [tuple(row[number] for number in numbers) for row in values])
                blocks.append(self._block(log_dir, len(values), chosen, iter(arrow_batch.columns)))
        return blocks

    def _block(
        self, log_dir: str | None, count: int, chosen: list[definitions.ViewColumn], columns: Iterator[Any]
    ) -> ArrowBlock:
        facts = NO_DIRECTORY if log_dir is None else directory_facts(log_dir)
        values = (socket.gethostname(), facts.broker_id, facts.cluster_id, self.scan_time)
        head = dict(zip((column.name for column in definitions.HEAD), values, strict=True))
        arrays = [
            pa.repeat(pa.scalar(head[column.name], kind), count)
            if number is None
            else next(columns).cast(kind)
            for (column, number), kind in zip(chosen, self.schema.types, strict=True)
        ]
        return ArrowBlock(self.view, pa.RecordBatch.from_arrays(arrays, schema=self.schema))

    def _findings(self, plan: Plan, engine: Engine) -> Iterator[Outcome]:
        findings, failures = list(plan.findings), list(plan.failures)
        reduce = None if plan.reduce is None else plan.reduce(plan.file_set)
        for outcome in engine(Job(plan.job, reduce), plan.units) if plan.units else ():
            findings += outcome.findings
            failures += [] if outcome.error is None else [outcome.error]
            yield Outcome(number=outcome.number, continuation=outcome.continuation)
        log_dirs = {shown(path): path for path in plan.file_set.log_dirs}
        rows = [*map(_finding_row, distinct(findings)), *map(_failure_row, dict.fromkeys(failures))]
        for log_dir, group in groupby(rows, key=lambda row: _log_dir(row, log_dirs)):
            yield Outcome(number=0, rows=self.blocks(group, log_dir))


def _finding_row(finding: Finding) -> definitions.FindingRow:
    facts = (None if fact is None else str(fact) for fact in (finding.expected, finding.found))
    head = (finding.code, finding.severity, finding.message, finding.dir, *_topic_partition(finding.dir))
    return definitions.FindingRow(*head, finding.file, finding.place, finding.position, *facts)


def _failure_row(failure: Failure) -> definitions.FindingRow:
    directory, name = os.path.split(failure.path)
    if parse_partition_dir(name) is not None:
        directory, name = failure.path, ""
    facts = (directory or ".", *_topic_partition(directory), name or None, failure.path)
    return definitions.FindingRow(
        failure.error, "error", failure.message, *facts, failure.position, None, None
    )


def _topic_partition(directory: str | None) -> tuple[str | None, int | None]:
    name = None if directory is None else parse_partition_dir(os.path.basename(directory))
    return (None, None) if name is None else (shown(name.topic), name.partition)


def _log_dir(row: definitions.FindingRow, log_dirs: Mapping[str, str]) -> str | None:
    """Return the log dir that a finding is about, or that its directory lies in; None for another place."""
    path = row.dir or row.path or ""
    return log_dirs.get(path) or log_dirs.get(os.path.dirname(path))
