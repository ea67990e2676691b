"""The engine that the options ask for: this process, --jobs N processes, or Spark."""

import os
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from kcli.cli.options import EngineOptions
from kcli.cli.status import UsageError
from kcli.engine.contract import Engine

if TYPE_CHECKING:
    from kcli.engine.spark_worker import Sink

MakeEngine: TypeAlias = "Callable[[Sink | None], Engine]"
"""Makes an engine, given where its workers write; None: rows come back to this process."""


def engine_of(options: EngineOptions) -> MakeEngine:
    """Return the maker of the engine that the options ask for; the engine starts when it has work."""
    if options.uses_spark:
        from kcli.engine.spark import spark

        if options.jobs > 1:
            raise UsageError("--jobs and --spark both spread the work: use only one of them")
        if options.spark_master and options.spark_remote:
            raise UsageError(
                "--spark-master and --spark-remote both say where Spark runs: use only one of them"
            )
        conf = dict(_setting(word) for word in options.spark_conf or ())
        return lambda sink: spark(options.spark_master, options.spark_remote, conf, sink=sink)
    if options.jobs == 1:
        from kcli.engine.inline import inline

        return lambda _: inline
    from kcli.engine.pool import pool

    return lambda _: pool(options.jobs)


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
