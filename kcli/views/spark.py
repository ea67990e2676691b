"""The Spark format `kcli`: its schema, its tasks, and the classes that Spark sees.

Those are made inside a function, so that Spark's workers get them by value. A worker then needs no kcli to
unpickle them; they put kcli on its import path before they import any of it. They hold plain values: options,
texts, numbers, bytes.
"""

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, nullcontext
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kcli.engine.contract import Unit
from kcli.engine.inline import inline
from kcli.engine.spark_bins import consecutive_bins
from kcli.logdir.archives import archive_of
from kcli.logdir.find import FileSet, find
from kcli.logdir.log_dirs import NO_DIRECTORY, directory_facts
from kcli.logdir.targets import Target
from kcli.rows import ArrowBlock
from kcli.views.definitions import FINDINGS, view_columns
from kcli.views.options import query
from kcli.views.plan import ArrowRows, plan_view, readable
from kcli.views.plan import view_schema as arrow_schema
from kcli.words import WordError

StructType: TypeAlias = Any
BYTES_A_TASK = 64 << 20
ROWS_A_SPARK_BATCH = 5_000


# Schemas


def view_schema(view: str) -> StructType:
    """Return the StructType of a view, with comments: epoch milliseconds are bigint, bytes binary."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = zip(arrow_schema(view), view_columns(view), strict=True)
    return StructType(
        [
            StructField(field.name, from_arrow_type(field.type), column.nullable, {"comment": column.doc})
            for field, (column, _) in fields
        ]
    )


def refuse_others(view: str, schema: StructType) -> None:
    """Raise WordError unless a schema has columns of a view, with their types; it may allow nulls."""
    fields = {field.name.lower(): field for field in view_schema(view)}
    names: set[str] = set()
    for field in schema:
        name = field.name.lower()
        if name not in fields:
            raise WordError(
                f"schema: {field.name} is no column of the view {view}; its columns are {', '.join(fields)}"
            )
        if name in names:
            raise WordError(f"schema: column {field.name} appears twice")
        names.add(name)
        expected, kind = fields[name].dataType.simpleString(), field.dataType.simpleString()
        if expected != kind:
            way = f"timestamp_millis({name})" if (expected, kind) == ("bigint", "timestamp") else "a cast"
            raise WordError(f"schema: column {field.name} is {expected}, not {kind}; use {way} in the query")
        if fields[name].nullable and not field.nullable:
            raise WordError(f"schema: column {field.name} can be null: leave out NOT NULL")


# Tasks


def plan_tasks(
    options: Mapping[str, str], cores: int | None, directory: str | None, columns: Iterable[str]
) -> list[bytes]:
    """Return the tasks of a query from `directory`, in the order of rows; WordError if paths lead nowhere."""
    directory, view_query = directory or os.getcwd(), query(options)
    cores = cores or os.cpu_count() or 1
    with chdir(directory):
        for path in view_query.paths:
            if archive_of(path) is not None:
                raise WordError(f"{path}: unpack the archive where every worker sees it, or use kcli sql")
        file_set = readable(find(view_query.paths, view_query.selection))
        if not file_set.targets and file_set.failures and view_query.view != FINDINGS:
            raise WordError(str(file_set.failures[0]))
        names = {name.lower() for name in columns}
        plan = plan_view(view_query, file_set, names)
        if not plan.units and plan.refused and plan.refused[0].path:
            raise WordError(f"{plan.refused[0].path}: {plan.refused[0].message}")
        groups: dict[object, list[Unit]] = {}
        for unit in plan.units:
            group = _broker(unit.target) if view_query.view == FINDINGS else unit.number
            groups.setdefault(group, []).append(unit)
        bins = list(consecutive_bins(list(groups.values()), cores, BYTES_A_TASK, view_query.partitions))
    parts = [] if view_query.view != FINDINGS else [plan._replace(units=[])]
    for units in bins:
        of_bin = FileSet(targets=[unit.target for unit in units], notes=plan.file_set.notes)
        parts.append(plan._replace(units=units, file_set=of_bin, findings=[], failures=[], refused=[]))
    start, now = None if all(map(os.path.isabs, view_query.paths)) else directory, datetime.now(UTC)
    return [pickle.dumps((start, view_query.view, now, task), pickle.HIGHEST_PROTOCOL) for task in parts]


def _broker(target: Target) -> object:
    facts = NO_DIRECTORY if target.log_dir is None else directory_facts(target.log_dir)
    return target.log_dir if facts.broker_id is None else (facts.cluster_id, facts.broker_id)


def read_task(data: bytes, schema: StructType) -> Iterator[Any]:
    """Yield the Arrow batches of a task with the columns of a Spark schema; the directory stays."""
    from pyspark.sql.pandas.types import to_arrow_schema

    start, view, scan_time, plan = pickle.loads(data)  # noqa: S301 - the driver wrote it
    rows = ArrowRows(view, scan_time, to_arrow_schema(schema, timezone="UTC"))
    with nullcontext() if start is None else chdir(start):
        batches: list[Any] = []
        for outcome in rows.outcomes(plan, inline):
            batches += (row.batch for row in outcome.rows if isinstance(row, ArrowBlock))
            if sum(batch.num_rows for batch in batches) >= ROWS_A_SPARK_BATCH:
                yield from pa.Table.from_batches(batches).combine_chunks().to_batches()
                batches = []
        if batches:
            yield from pa.Table.from_batches(batches).combine_chunks().to_batches()


# What Spark sees


def data_source(cores: int | None = None, directory: str | None = None) -> type[DataSource]:
    """Return the class of the format; `cores` and `directory` are those of the session, if known."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    def import_kcli_from_root() -> None:
        import sys

        if os.path.isdir(os.path.join(root, "kcli")) and root not in sys.path[:1]:
            sys.path.insert(0, root)  # before the working directory, which may have a `formats` of its own

    class Reader(DataSourceReader):
        """Plans and reads one query."""

        def __init__(self, options: dict[str, str], schema: Any) -> None:
            self.options = options
            self.schema = schema

        def partitions(self) -> list[InputPartition]:
            import_kcli_from_root()
            from kcli.views.spark import plan_tasks

            return list(map(InputPartition, plan_tasks(self.options, cores, directory, self.schema.names)))

        def read(self, partition: InputPartition) -> Iterator[Any]:
            import_kcli_from_root()
            from kcli.views.spark import read_task

            # Spark's own has no value, for a plan without partitions
            return iter(()) if partition.value is None else read_task(partition.value, self.schema)

    class Kcli(DataSource):
        """The format `kcli`; wrong options are refused when it is loaded."""

        def __init__(self, options: dict[str, str]) -> None:
            super().__init__(options)
            import_kcli_from_root()
            from kcli.views.options import query

            query(options)

        @classmethod
        def name(cls) -> str:
            return "kcli"

        def schema(self) -> Any:
            import_kcli_from_root()
            from kcli.views.options import view_of
            from kcli.views.spark import view_schema

            return view_schema(view_of(self.options))

        def reader(self, schema: Any) -> DataSourceReader:
            import_kcli_from_root()
            from kcli.views.options import view_of
            from kcli.views.spark import refuse_others

            refuse_others(view_of(self.options), schema)
            return Reader(dict(self.options), schema)

    return Kcli
