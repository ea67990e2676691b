"""The classes that Spark sees. They are made inside a function, so that Spark's workers get them by value.

A worker then needs no kcli to unpickle them; they put kcli on its import path before they import any of it.
They hold plain values: options, texts, numbers, bytes.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

Made: TypeAlias = Callable[[dict[str, str], Any], DataSourceReader]

KEEPS_SCANS_APART = hasattr(DataSourceReader, "pushLimit")
"""Spark 4.1 to 4.3 keep one plan for all scans of a loaded DataFrame.

What is pushed for one query is missing in the next. For a scan without filters Spark then calls no reader, so
none can notice. A Spark that pushes limits keeps a plan for each scan.
"""


def data_source(cores: int | None = None, directory: str | None = None) -> type[DataSource]:
    """Return the class of the format.

    `cores` of the session, and the directory that relative paths start from, if known.
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    apart = KEEPS_SCANS_APART

    def import_kcli_from_root() -> None:
        import sys

        if os.path.isdir(os.path.join(root, "kcli")) and root not in sys.path[:1]:
            sys.path.insert(0, root)  # before the working directory, which may have a `formats` of its own

    plain_reader, pushing_reader = _readers(import_kcli_from_root, cores, directory)

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
            from kcli.views.schema import view_schema

            return view_schema(view_of(self.options))

        def reader(self, schema: Any) -> DataSourceReader:
            import_kcli_from_root()
            from kcli.views.filters import are_offered
            from kcli.views.options import view_of
            from kcli.views.schema import refuse_others

            refuse_others(view_of(self.options), schema)
            made = pushing_reader if apart and are_offered() else plain_reader
            return made(dict(self.options), schema)

    return Kcli


def _readers(
    import_kcli_from_root: Callable[[], None], cores: int | None, directory: str | None
) -> tuple[Made, Made]:
    """Return the class of a reader of some options and a schema, and that of one that takes filters."""

    class Reader(DataSourceReader):
        """Plans and reads one query."""

        def __init__(self, options: dict[str, str], schema: Any) -> None:
            self.options = options
            self.schema = schema
            self.filters: list[tuple[str, str, Any]] = []

        def partitions(self) -> list[InputPartition]:
            import_kcli_from_root()
            from kcli.views.tasks import tasks

            return list(
                map(InputPartition, tasks(self.options, self.filters, cores, directory, self.schema.names))
            )

        def read(self, partition: InputPartition) -> Iterator[Any]:
            import_kcli_from_root()
            from kcli.views.tasks import read

            return (
                iter(()) if partition.value is None else read(partition.value, self.schema)
            )  # Spark's own, for a plan without partitions

    class PushingReader(Reader):
        """The same where Spark offers filters.

        All of them are given back, for they only say what need not be read.
        """

        def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
            import_kcli_from_root()
            from kcli.views.filters import plain

            self.filters = list(plain(filters))
            return filters

    return Reader, PushingReader
