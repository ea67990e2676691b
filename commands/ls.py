"""`kcli ls`: one row per partition directory."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.option import option
from kcli.cli.options import EngineOptions, Inputs, Output

if TYPE_CHECKING:
    from kcli.engine.contract import Map
    from kcli.logdir.find import Found


DISK_SUM_GROUPS = ("topic", "log-dir", "state")


def ls(
    *,
    recover: bool = option("--recover", "After an unclean stop, recover logs of any size as a broker does."),
    by: str | None = option(
        "--by",
        "One line each: what they take on disk, and what of it goes by itself.",
        choices=DISK_SUM_GROUPS,
    ),
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
    from kcli.cli.inputs import broker_of
    from kcli.cli.run import Answer, Command, run
    from kcli.jobs import ls as jobs
    from kcli.jobs.check.contradictions import NOT_TOGETHER, TWICE, with_contradictions
    from kcli.jobs.cluster_metadata import with_undecodable
    from kcli.jobs.common import OF_LOG_DIRS
    from kcli.kafka.kraft.start_findings import empty_findings, replica_fates, stop_findings
    from kcli.kafka.kraft.start_plan import StartPlan, plans_at_rest
    from kcli.logdir.find import Note
    from kcli.rows.partitions import DISK_SUM, LISTED_PARTITION

    inputs = inputs._replace(include_leftovers=True)
    if by is not None:
        from kcli.jobs.disk_sums import DiskSums, disk_sums

        run(
            Command(
                name="ls",
                job=partial(disk_sums, by=by),
                answer=Answer((DISK_SUM,)),
                reduce=lambda _: DiskSums(),
                rows_from_reduce=True,
            ),
            inputs,
            output,
            engine,
        )
    config, apart = broker_of(inputs)
    plans: list[StartPlan] = []

    def expand(found: "Found") -> "Found":
        found = with_contradictions(found if found.named_log_dirs else with_undecodable(found))
        plans.extend(plans_at_rest(found.given_log_dirs, config))
        said = {note.path for note in found.notes if note.kind in {TWICE, NOT_TOGETHER}}
        notes = [
            Note(f"{one.code} of a file" if one.path else one.code, one.place or "", one.message)
            for plan in (plans if found.named_log_dirs else ())
            for one in (*stop_findings(plan), *empty_findings(plan))
            if one.code in OF_LOG_DIRS and one.place not in said
        ]
        return replace(found, notes=[*found.notes, *notes])

    def job_of(_: "Found") -> "Map":
        return partial(jobs.ls, recover=recover, fates=replica_fates(plans))

    command = Command(
        name="ls", job=jobs.ls, answer=Answer((LISTED_PARTITION,)), job_of=job_of, expand=expand
    )
    run(command, inputs.with_paths(apart), output, engine)
