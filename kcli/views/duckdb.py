"""The views as tables of DuckDB, an SQL engine inside this process.

`FROM batches` is a table: a pyarrow Dataset of a class of our own, so that DuckDB says which columns it needs
and which filters rows must pass. Arrow drops the directories that no row can come from, by topic, partition,
broker and cluster; other filters are applied to the rows that are read.

`FROM batches(topic := 'x', offsets := '5..9')` is a table macro. DuckDB has no table functions in Python, but
a macro may read `query_table(name)`, and a scalar function, which can be Python, may give the name. Ours has
a name for each set of options. There is no table of that name yet, so DuckDB refuses the query while it binds
it; the table is made, and the query is bound again. So options are checked before anything is read, are
written where SQL has them, and differ between the tables of one query. Filters alone could not do it: offsets
and times find their place by names and indexes of files, which changes the answer where a log is damaged.

A query reads nothing but the views, and writes nothing: access to files and network is off, and the settings
are locked.
"""

import os
import queue
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.abc import MetaPathFinder
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
from duckdb import func, sqltypes
from pyarrow import fs

from kcli.engine.contract import Engine, Outcome
from kcli.kafka.findings.findings import Finding
from kcli.logdir.buffers import shown
from kcli.logdir.find import FileSet
from kcli.logdir.log_dirs import NO_DIRECTORY, directory_facts
from kcli.logdir.targets import ALL_PARTITIONS, Selection, Target
from kcli.rows import ArrowBlock, Failure
from kcli.views.definitions import FINDINGS, OF_USERS, RLMM, VIEWS
from kcli.views.options import ViewQuery, macro_options, query
from kcli.views.plan import ArrowRows, plan_view, refused_by_all, view_schema
from kcli.words import WordError


class _NoPandas(MetaPathFinder):
    """Hides pandas, which pyarrow would import with its first scalar: a third of a start."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise for pandas; all else is for the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


_finder = _NoPandas()
sys.meta_path.insert(0, _finder)
try:
    from pyarrow import dataset
finally:
    sys.meta_path.remove(_finder)

Note: TypeAlias = Callable[[Outcome], None]
Report: TypeAlias = Callable[[Iterable[Finding]], None]

MEMORY = "25%"
"""Of the machine's: a broker may run beside. Beyond it DuckDB writes temporary files."""
WAITING_BATCHES = 4
"""Batches of an answer that wait for their reader."""
ROWS_A_BATCH_OF_DUCKDB = 10_000


WITHOUT_ARROW = re.compile(r"\b(UHUGEINT|BIGNUM|BIT|TIME WITH TIME ZONE|UNION|VARIANT)\b")
"""Types, also inside others, whose values Arrow cannot hold, or only in a form of DuckDB's own."""


class SqlError(Exception):
    """DuckDB refuses a query; the message is one line."""


@dataclass(eq=False)
class Source:
    """What the tables of a session read, without its connection: DuckDB keeps them, and this, alive.

    `users`: the partitions that were selected; `file_set` has those of topics about topics, too.
    `note` gets each outcome of a scan, and `report` the findings about names of what is read, unless the view
    has them as rows; both from other threads. `stopped`: no more rows are needed. `failed` is what a scan or
    an option raised, of which DuckDB only passes on the text. `refused`: of each scan, `Plan.refused`.
    """

    file_set: FileSet
    engine: Engine
    note: Note
    report: Report
    jobs: int
    leftovers: bool
    users: Selection = ALL_PARTITIONS
    scan_time: datetime = field(default_factory=lambda: datetime.now(UTC))
    stopped: threading.Event = field(default_factory=threading.Event)
    failed: BaseException | None = None
    refused: list[list[Failure]] = field(default_factory=list)
    missing: "list[tuple[str, ViewTable]]" = field(default_factory=list)
    _named: dict[tuple[str, tuple[str | None, ...]], str] = field(default_factory=dict)

    def name(self, view: str, values: Sequence[str | None]) -> str:
        """Return the name of the table of a view with some options: DuckDB calls it to bind a macro."""
        key = view, tuple(values)
        if key not in self._named:
            options = {
                name: value
                for name, value in zip(macro_options(view), values, strict=True)
                if value is not None
            }
            try:
                table = ViewTable(self, view, options)
            except WordError as error:
                self.failed = error
                raise
            self._named[key] = f"kcli_{view}_{len(self._named)}"
            self.missing.append((self._named[key], table))
        return self._named[key]


class Session:
    """One connection with the views of some inputs."""

    def __init__(self, source: Source, spill: str) -> None:
        self.source = source
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "enable_external_access": "false",
                "autoload_known_extensions": "false",
                "autoinstall_known_extensions": "false",
                "python_enable_replacements": "false",
                "memory_limit": MEMORY,
                "temp_directory": spill,
                "threads": str(max(1, min(source.jobs, os.cpu_count() or 1))),
            },
        )
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.create_function(
            "kcli_view", source.name, ["VARCHAR", "VARCHAR[]"], "VARCHAR", null_handling=func.SPECIAL
        )
        for view in VIEWS:
            self._connection.register(view, ViewTable(source, view, {}))
            self._connection.execute(_macro(view, macro_options(view)))
        self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _bound(self, text: str) -> Any:
        """Return the relation of a statement; the tables that its macros name are made on the way."""
        while True:
            try:
                return self._connection.sql(text)
            except duckdb.CatalogException:
                if not self.source.missing:
                    raise
                for name, table in self.source.missing:
                    self._connection.register(name, table)
                self.source.missing.clear()

    def statements(self, text: str) -> list[str]:
        """Return the statements of a text; SqlError where it is not SQL."""
        try:
            return [statement.query for statement in self._connection.extract_statements(text)]
        except duckdb.Error as error:
            raise SqlError(one_line(str(error))) from error

    @contextmanager
    def answer(self, text: str) -> Iterator[tuple[Any, Iterator[Any]] | None]:
        """Give the Arrow schema and the batches of what the one query in a text answers, None for nothing.

        DuckDB works in a thread of its own, so that a signal reaches this one; it is stopped when the block
        ends. SqlError and WordError come when the block begins, or from the batches.
        """
        source = self.source
        source.stopped.clear()
        source.failed = None
        source.refused = []
        source.scan_time = datetime.now(UTC)
        results: queue.Queue[Any] = queue.Queue(WAITING_BATCHES)
        thread = threading.Thread(target=self._run, args=(text, results))
        thread.start()
        try:
            schema = self._next(results)
            yield None if schema is None else (schema, iter(lambda: self._next(results), None))
        finally:
            source.stopped.set()
            while thread.is_alive():
                with suppress(duckdb.Error):
                    self._connection.interrupt()
                with suppress(queue.Empty):
                    results.get(timeout=0.02)
            thread.join()

    def _next(self, results: "queue.Queue[Any]") -> Any:
        """Return what the thread gives next; an error is raised here."""
        item = results.get()
        if not isinstance(item, BaseException):
            return item
        results.put(item)
        if self.source.failed is not None:
            raise self.source.failed
        if isinstance(item, (duckdb.Error, OSError)):
            raise SqlError(one_line(str(item))) from item
        raise item

    def _run(self, text: str, results: "queue.Queue[Any]") -> None:
        """Run statements and put schema, batches and None, or an error, into the queue."""
        try:
            relation = None
            for statement in self._connection.extract_statements(text):
                if relation is not None:
                    results.put(SqlError("several statements give rows; one answer at a time"))
                    return
                relation = self._bound(statement.query)
                if statement.expected_result_type[0] != duckdb.ExpectedResultType.QUERY_RESULT:
                    relation = None
            if relation is None:
                results.put(None)
                return
            reader = with_text(relation).to_arrow_reader(ROWS_A_BATCH_OF_DUCKDB)
            results.put(reader.schema)
            for batch in reader:
                if self.source.stopped.is_set():
                    break
                results.put(batch)
            for failure in refused_by_all(self.source.refused):
                self.source.note(Outcome(number=0, error=failure))
            results.put(None)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that asked
            results.put(error)


@contextmanager
def opened(source: Source, directory: str) -> Iterator[Session]:
    """Give a session whose temporary files, if it needs any, are in a directory of its own in `directory`."""
    with (
        TemporaryDirectory(prefix="kcli-sql-", dir=directory) as spill,
        closing(Session(source, spill)) as session,
    ):
        yield session


def _macro(view: str, options: Sequence[str]) -> str:
    """Return the statement that makes the macro of a view."""
    if not options:
        return f"CREATE MACRO {view}() AS TABLE FROM {view}"
    parameters = ", ".join(f"{option} := NULL" for option in options)
    values = ", ".join(f"CAST({option} AS VARCHAR)" for option in options)
    return f"CREATE MACRO {view}({parameters}) AS TABLE FROM query_table(kcli_view('{view}', [{values}]))"


def one_line(message: str) -> str:
    """Return a message of DuckDB in one line, without its drawing of the place in the query."""
    text = message.partition("\n\nLINE ")[0]
    return re.sub(r"\s*\n\s*", "; ", text.strip()).replace("!;", "!")


# Tables


class ViewTable(dataset.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A view with its options: what DuckDB takes for a Dataset, each scan a run of the engine."""

    def __init__(self, source: Source, view: str, options: Mapping[str, str]) -> None:
        self._source = source
        # what the paths lead to is known: the path is only for the form
        values = {"view": view, "path": os.sep, "leftovers": str(source.leftovers).lower(), **options}
        self._query = query(values)
        if view in OF_USERS:
            self._query = replace(self._query, selection=source.users)
        self._schema = view_schema(view)

    @property
    def schema(self) -> Any:
        """The Arrow schema of all columns."""
        return self._schema

    def scanner(self, columns: list[str] | None = None, filter: Any = None, **_: Any) -> "Scan":  # noqa: A002
        """Return the scan of some columns, of rows that pass a filter."""
        return Scan(self._source, self._query, self._schema, columns, filter)


class Scan:
    """A scan that has not begun."""

    def __init__(
        self, source: Source, query: ViewQuery, schema: Any, columns: list[str] | None, condition: Any
    ) -> None:
        self._source = source
        self._query = query
        self._names = schema.names if columns is None else columns
        self._condition = condition
        names = set(re.findall(r"\w+", str(condition)))  # a word too many costs a column, and no row
        self._chooses = not names.isdisjoint(DIRECTORY_COLUMNS.names)
        self._read_schema = pa.schema(
            [field for field in schema if field.name in self._names or field.name in names]
        )
        self.projected_schema = pa.schema([schema.field(name) for name in self._names])

    def to_reader(self) -> Any:
        """Return a reader of the rows; it reads as it is read."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._batches())

    def _batches(self) -> Iterator[Any]:
        try:
            for batch in self._rows():
                if self._condition is None:
                    yield batch.select(self._names)
                else:
                    table = pa.Table.from_batches([batch]).filter(self._condition)
                    yield from table.select(self._names).to_batches()
        except Exception as error:
            self._source.failed = error
            raise

    def _rows(self) -> Iterator[Any]:
        source, query = self._source, self._query
        targets = source.file_set.targets
        if query.view not in OF_USERS and source.users.names:
            targets = [target for target in targets if source.users.wants(target.name)]
        if self._chooses:
            targets = _possible_targets(query.view, targets, self._condition)
        file_set = replace(source.file_set, targets=targets)
        plan = plan_view(query, file_set, self._read_schema.names)
        # a condition may leave out the directory of the one file
        source.refused.append([failure for failure in plan.refused if failure.path or not self._chooses])
        if query.view != FINDINGS:
            source.report(plan.findings)
            for failure in plan.failures:
                source.note(Outcome(number=0, error=failure))
        rows = ArrowRows(query.view, source.scan_time, self._read_schema)
        for outcome in rows.outcomes(plan, source.engine):
            source.note(outcome)
            yield from (row.batch for row in outcome.rows if isinstance(row, ArrowBlock))
            if source.stopped.is_set():
                return


DIRECTORY_COLUMNS = pa.schema(
    {"topic": pa.string(), "partition": pa.int64(), "broker_id": pa.int64(), "cluster_id": pa.string()}
)
"""Columns whose values are known before a directory is read; in rlmm topic and partition are of events."""


def _possible_targets(view: str, targets: list[Target], condition: Any) -> list[Target]:
    """Return the targets that rows which pass a filter can come from.

    Arrow decides it: to Arrow they are files of a partitioned data set, of which none is opened. A row about
    a group is made of several directories.
    """
    if view in OF_USERS - {RLMM}:
        return targets
    kind, filesystem = dataset.IpcFileFormat(), fs.LocalFileSystem()
    fragments = [
        kind.make_fragment(str(number), filesystem, partition_expression=_facts_of_rows(view, target))
        for number, target in enumerate(targets)
    ]
    files = dataset.FileSystemDataset(fragments, view_schema(view), kind, filesystem)
    return [targets[int(fragment.path)] for fragment in files.get_fragments(condition)]


def _facts_of_rows(view: str, target: Target) -> Any:
    """Return what is known of all rows of a target, as an expression."""
    facts = NO_DIRECTORY if target.log_dir is None else directory_facts(target.log_dir)
    values: dict[str, Any] = {"broker_id": facts.broker_id, "cluster_id": facts.cluster_id}
    if view != RLMM:
        topic, partition = (shown(target.name.topic), target.name.partition) if target.name else (None, None)
        values |= {"topic": topic, "partition": partition}
    condition = dataset.scalar(True)
    for name, value in values.items():
        column = dataset.field(name)
        condition &= (
            column.is_null()
            if value is None
            else column == pa.scalar(value, DIRECTORY_COLUMNS.field(name).type)
        )
    return condition


# Types that Arrow does not have


def with_text(relation: Any) -> Any:
    """Return the same rows, with DuckDB's text of the columns whose types Arrow does not have."""
    kinds = [sqltypes.VARCHAR if WITHOUT_ARROW.search(str(kind)) else kind for kind in relation.types]
    if kinds == relation.types:
        return relation
    columns = enumerate(zip(kinds, relation.columns, strict=True), 1)
    quoted = ((number, kind, name.replace('"', '""')) for number, (kind, name) in columns)
    return relation.project(
        ", ".join(f'CAST(#{number} AS {kind}) AS "{name}"' for number, kind, name in quoted)
    )
