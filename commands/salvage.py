"""`kcli salvage`: a clean copy of a damaged partition, elsewhere."""

import os
from dataclasses import replace

from kcli.cli.command import INDEX_INTERVAL_BYTES, Command, Options, argument, option
from kcli.cli.status import RefusedError, UsageError, reason_of
from kcli.cli.targets import refuse_log_dirs
from kcli.words import clock_ms

WHAT = ("all", "indexes")


def salvage(
    paths: list[str] | None = argument("PATH", "The partition directory; - reads its path from stdin."),
    *,
    out: str | None = option("--out DIR", "The new directory for the copy."),
    what: str = option("--what", "The whole partition, or indexes alone.", default="all", choices=WHAT),
    index_interval_bytes: int | None = INDEX_INTERVAL_BYTES,
    options: Options,
) -> Command:
    """Write a clean copy of a partition to the new directory --out DIR, and say what could not be saved.

    Batches that can be read are copied, also those past damage; indexes, producer snapshots and
    leader-epoch-checkpoint are made anew as recovery makes them. The partition itself stays as it is.

    Example: kcli salvage /var/lib/kafka/data/orders-0 --out /mnt/saved/orders-0
    """
    from kcli.jobs.cluster_metadata import known_settings, metadata_of, with_undecodable
    from kcli.jobs.salvage.salvage import Salvage
    from kcli.logdir.find import FileSet

    if not out:
        raise UsageError("expected --out DIR, where the copy is written")
    if options.engine.uses_spark:
        raise UsageError("--spark: the copy is written by this process, on this host")
    _refuse(out)
    now_ms = clock_ms()
    job = Salvage(out=out, now_ms=now_ms, what=what, index_interval_bytes=index_interval_bytes)
    engine = options.engine._replace(jobs=1)

    def one_partition(file_set: FileSet) -> FileSet:
        if len(file_set.targets) > 1:
            raise UsageError(f"expected one partition directory, there are {len(file_set.targets)}")
        return with_undecodable(file_set)

    return Command(
        "salvage",
        options.with_inputs(paths=paths)._replace(engine=engine),
        expand=one_partition,
        job_of=lambda file_set: replace(job, known=known_settings(metadata_of(file_set))),
    )


def _refuse(out: str) -> None:
    """Refuse a directory in a log dir, and one that has anything in it."""
    parent = os.path.dirname(os.path.abspath(out))
    if not os.path.isdir(parent):
        raise UsageError(f"--out {out}: no directory {parent}")
    if os.path.lexists(out):
        try:
            if os.path.islink(out) or os.listdir(out):
                raise RefusedError(f"--out {out}: this is not empty; choose a new directory")
        except NotADirectoryError as error:
            raise RefusedError(f"--out {out}: this is a file; choose a new directory") from error
        except OSError as error:
            raise UsageError(f"--out {out}: {reason_of(error)}") from error
    refuse_log_dirs(f"--out {out}", out)
