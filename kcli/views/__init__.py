"""The files of brokers as tables for SQL: on DuckDB (`kcli.views.duckdb`), and as Spark's format `kcli`.

`spark.read.format("kcli").option("view", "batches").load("/data/kafka-1,/data/kafka-2")`. An installed kcli
is found by Spark 4 itself (the package `pyspark_kcli`); `register(spark)` does the same by hand, and passes
on the session's number of cores.

Spark plans a loaded DataFrame once: files and `scan_time` are those of its first query, and a new `load` sees
new ones. It also keeps the filters of one scan for the others of the same load, so none are taken from it:
the options `topic`, `partition`, `offsets`, `times`, `epochs` and `producer_ids` limit what is read.
"""

import os
from typing import Any

from kcli.engine.contract import EngineMissingError


def register(spark: Any) -> None:
    """Make the format `kcli` known to a session, with its cores; EngineMissingError before Spark 4.0."""
    try:
        from kcli.views.spark import data_source
    except ImportError as error:
        raise EngineMissingError(
            f"the Spark format kcli needs pyspark 4.0 or newer, with pyarrow: {_version()}"
        ) from error
    connected = type(spark).__module__.startswith("pyspark.sql.connect")
    cores = None if connected else int(spark.sparkContext.defaultParallelism)
    spark.dataSource.register(data_source(cores, os.getcwd()))


def _version() -> str:
    try:
        import pyspark
    except ImportError:
        return "there is no pyspark"
    return f"this is {pyspark.__version__}"


__all__ = ["register"]
