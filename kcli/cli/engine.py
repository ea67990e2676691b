"""The engine that the options ask for: this process, --jobs N processes, or Spark."""

import os
import stat
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from kcli.cli.options import EngineOptions
from kcli.cli.status import UsageError
from kcli.engine.contract import Engine, Sink

MakeEngine: TypeAlias = Callable[[Sink | None], Engine]
"""Makes an engine, given where its workers write; None: rows come back to this process."""


ENGINES = {
    "inline": "kcli.engine.inline.inline",
    "pool": "kcli.engine.pool.pool",
    "spark": "kcli.engine.spark.spark",
}
"""Where an engine is, or what makes one: a run loads its own alone."""


def engine_of(options: EngineOptions) -> MakeEngine:
    """Return the maker of the engine that the options ask for; the engine starts when it has work."""
    if options.uses_spark and options.jobs > 1:
        raise UsageError("--jobs and --spark both spread the work: use only one of them")
    if options.spark_master and options.spark_remote:
        raise UsageError("--spark-master and --spark-remote both say where Spark runs: use only one of them")
    name = "spark" if options.uses_spark else "inline" if options.jobs == 1 else "pool"
    module, _, function = ENGINES[name].rpartition(".")
    engine: Any = getattr(import_module(module), function)
    if name == "spark":
        conf = dict(_setting(word) for word in options.spark_conf or ())
        return lambda sink: engine(options.spark_master, options.spark_remote, conf, sink=sink)
    return lambda _: engine if name == "inline" else engine(options.jobs)


def _setting(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not (key and equals):
        raise UsageError(f"--spark-conf {word}: expected KEY=VALUE")
    return key, value


def is_file_of_its_own() -> bool:
    """Whether stdout is a regular file that stderr does not write to.

    Else messages would come out of order.
    """
    try:
        out, messages = os.fstat(1), os.fstat(sys.stderr.fileno())
    except OSError:
        return False
    return stat.S_ISREG(out.st_mode) and (out.st_dev, out.st_ino) != (messages.st_dev, messages.st_ino)
