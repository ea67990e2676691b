"""The engine that the options ask for: this process, --jobs N processes, or Spark."""

import os
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from kcli.cli.options import Common
from kcli.cli.status import UsageError
from kcli.engine.contract import Engine

if TYPE_CHECKING:
    from kcli.engine.spark_worker import Sink

MakeEngine: TypeAlias = "Callable[[Sink | None], Engine]"
"""Makes an engine, given where its workers write; None: rows come back to this process."""


def uses_spark(common: Common) -> bool:
    """Whether one of the --spark options is given."""
    return bool(common.spark or common.spark_master or common.spark_remote or common.spark_conf)


def engine_of(common: Common) -> MakeEngine:
    """Return the maker of the engine that the options ask for; the engine starts when it has work."""
    if uses_spark(common):
        from kcli.engine.spark import spark

        if common.jobs > 1:
            raise UsageError("--jobs and --spark both spread the work: use only one of them")
        if common.spark_master and common.spark_remote:
            raise UsageError(
                "--spark-master and --spark-remote both say where Spark runs: use only one of them"
            )
        conf = dict(_setting(word) for word in common.spark_conf or ())
        return lambda sink: spark(common.spark_master, common.spark_remote, conf, sink=sink)
    if common.jobs == 1:
        from kcli.engine.inline import inline

        return lambda _: inline
    from kcli.engine.pool import pool

    return lambda _: pool(common.jobs)


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
