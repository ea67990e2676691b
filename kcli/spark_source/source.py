"""The classes that Spark sees. They are made inside a function, so that Spark's workers get them by value.

A worker then needs no kcli to unpickle them, and they tell it where kcli is before they need any of it. What they hold
is plain: options, texts, numbers, bytes.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

PUSHING_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"
"""The process in which Spark plans where filters are pushed down; it refuses readers that take filters in any other."""

KEEPS_SCANS_APART = hasattr(DataSourceReader, "pushLimit")
"""Spark 4.1 to 4.3 keep one plan for all scans of a loaded DataFrame: what is pushed for one query is missing in the next.

The Spark that pushes limits keeps a plan for each scan.
"""


def data_source(cores: int | None = None, directory: str | None = None) -> type[DataSource]:
    """Return the class of the format: `cores` of the session, and the directory that relative paths start from, if known."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    planner, apart = PUSHING_PLANNER, KEEPS_SCANS_APART

    def at_home() -> None:
        import sys  # noqa: PLC0415 - all of this runs in workers

        if os.path.isdir(os.path.join(root, "kcli")) and root not in sys.path[:1]:
            sys.path.insert(0, root)  # before the working directory, which may have a `formats` of its own

    class Reader(DataSourceReader):
        """Plans and reads one query."""

        def __init__(self, options: dict[str, str], schema: Any) -> None:
            self.options = options
            self.schema = schema
            self.filters: list[tuple[str, str, Any]] = []

        def partitions(self) -> list[InputPartition]:
            at_home()
            from kcli.spark_source.tasks import tasks  # noqa: PLC0415

            return [InputPartition(task) for task in tasks(self.options, self.filters, cores, directory)]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            at_home()
            from kcli.spark_source.tasks import read  # noqa: PLC0415

            return iter(()) if partition.value is None else read(partition.value, self.schema)  # Spark's own stands for none

    class PushingReader(Reader):
        """The same where Spark offers filters: all of them are given back, for they only say what need not be read."""

        def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
            self.filters = [
                (type(one).__name__, one.attribute[0].lower(), getattr(one, "value", None))
                for one in filters
                if len(getattr(one, "attribute", ())) == 1
            ]
            return filters

    class Kcli(DataSource):
        """The format `kcli`."""

        @classmethod
        def name(cls) -> str:
            return "kcli"

        def schema(self) -> Any:
            at_home()
            from kcli.spark_source.options import view_of  # noqa: PLC0415
            from kcli.spark_source.schema import view_schema  # noqa: PLC0415

            return view_schema(view_of(self.options))

        def reader(self, schema: Any) -> DataSourceReader:
            import sys  # noqa: PLC0415

            at_home()
            main = getattr(sys.modules["__main__"], "__spec__", None)
            offered = planner in sys.modules or (main is not None and main.name == planner)
            pushes = offered and (apart or self.options.get("pushdown") == "once")
            return (PushingReader if pushes else Reader)(dict(self.options), schema)

    return Kcli
