"""`kcli sql`: SQL over the files of brokers, on DuckDB."""

import os
from typing import TYPE_CHECKING

from formats.names import CLUSTER_METADATA, CONSUMER_OFFSETS, REMOTE_LOG_METADATA, SHARE_GROUP_STATE
from kcli.cli.command import Inputs, Options, Output, argument, option
from kcli.cli.status import UsageError

if TYPE_CHECKING:
    from kcli.cli.sql import Find
    from kcli.cli.summary import RunSummary
    from kcli.logdir.find import FileSet

TOPICS_OF_USERS = (CLUSTER_METADATA, CONSUMER_OFFSETS, REMOTE_LOG_METADATA, SHARE_GROUP_STATE)
"""Topics whose records are about topics of users."""


def sql(
    query: str | None = argument("QUERY", "In SQL; none with --shell."),
    *,
    shell: bool = option("--shell", "Prompt for queries; they end with a semicolon."),
    history: str | None = option("--history FILE", "With --shell: keep what is typed in FILE."),
    options: Options,
) -> None:
    """Query batches, records, segments, epochs, rlmm, offsets and findings in SQL, on DuckDB.

    Spark has the same views. A view takes options: FROM batches(topic := 'orders', offsets := '5..9')

    Example: kcli sql "SELECT topic, count(*) FROM batches GROUP BY topic" /data
    """
    inputs, output, engine = options
    if engine.uses_spark:
        raise UsageError("sql: DuckDB runs here; kcli help spark shows how Spark reads the same views")
    if shell:
        from kcli.cli.sql import run_shell

        paths = [*([] if query is None else [query]), *(inputs.paths or ())]
        inputs = inputs._replace(paths=paths)
        run_shell(_finder(inputs, output), inputs, output, engine, history)
    elif query is None or not query.strip() or os.path.lexists(query):
        raise UsageError("sql: expected a query and then at least one PATH, or --shell")
    elif history is not None:
        raise UsageError("--history: it is for --shell")
    else:
        from kcli.cli.run import new_summary
        from kcli.cli.signals import Interrupted
        from kcli.cli.sql import opened_session, print_answer, print_interrupted

        try:
            file_set, summary = _finder(inputs, output)()
        except Interrupted as error:
            print_interrupted(error, new_summary(output), output)
        with opened_session(file_set, summary, inputs, engine) as session:
            print_answer(session, query, summary, output)


def _finder(inputs: Inputs, output: Output) -> "Find":
    """Return the function that looks again what the paths lead to."""
    from kcli.cli.inputs import find_listed, named_paths
    from kcli.cli.run import new_summary
    from kcli.cli.signals import delivered
    from kcli.jobs.common import failure_of
    from kcli.logdir.targets import Selection
    from kcli.rows import Failure
    from kcli.views.plan import readable

    listed = list(named_paths(inputs))

    def find_now() -> "tuple[FileSet, RunSummary]":
        with delivered():
            users = inputs.selection()
            file_set, summary = readable(find_listed(listed, users, inputs)), new_summary(output)
            selected = len(file_set.targets)
            if users.names:  # what is known of these topics is in the partitions of others
                internal_targets = find_listed(listed, Selection(topics=TOPICS_OF_USERS), inputs).targets
                file_set.targets += [target for target in internal_targets if not users.wants(target.name)]
        summary.failures.extend(map(failure_of, file_set.failures))
        summary.inputs = selected + len(file_set.failures)
        if not summary.inputs:
            message = "no partition or file here matches what was asked for"
            summary.failures.append(Failure("", "nothing-matched", None, None, message))
        return file_set, summary

    return find_now
