"""`kcli ls`: one row per partition directory."""

from dataclasses import replace

from commands._options import Common, Paths, common_options


@common_options
def ls(paths: Paths = None, *, common: Common) -> None:
    """List partitions: segments, bytes, log start and end, epoch, high watermark, recovery point, topic id, leftovers.

    Directories that end in -delete, -stray and -future are listed too.

    Example: kcli ls /var/lib/kafka/data
    """
    from commands._run import Command, run  # noqa: PLC0415 - kept out of --help
    from kcli.jobs import ls as jobs  # noqa: PLC0415 - kept out of --help

    run(Command(name="ls", job=jobs.ls), paths, replace(common, include_leftovers=True))
