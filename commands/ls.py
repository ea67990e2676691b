"""`kcli ls`: one row per partition directory."""

from functools import partial

from kcli.cli.option import option
from kcli.cli.options import EngineOptions, Inputs, Output


def ls(
    *,
    recover: bool = option("--recover", "After an unclean stop, recover logs of any size as a broker does."),
    inputs: Inputs,
    output: Output,
    engine: EngineOptions,
) -> None:
    """List partitions with their sizes, offsets, newest epoch, topic id and leftovers.

    The log end is the broker's. After an unclean stop logs are recovered as a broker does, those with more
    than 64 MiB to recover only with --recover.
    Directories that end in -delete, -stray and -future are listed too.

    Example: kcli ls /var/lib/kafka/data
    """
    from kcli.cli.run import Command, run
    from kcli.jobs import ls as jobs
    from kcli.jobs.check.contradictions import with_contradictions

    command = Command(name="ls", job=partial(jobs.ls, recover=recover), expand=with_contradictions)
    run(command, inputs._replace(include_leftovers=True), output, engine)
