"""`kcli ls`: one row per partition directory."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.command import Command, Options, option
from kcli.output.answer import Answer
from kcli.rows.declare import declared_type

if TYPE_CHECKING:
    from kcli.logdir.find import FileSet

DISK_SUM_GROUPS = ("topic", "log-dir", "state")


def ls(
    *,
    recover: bool = option("--recover", "After an unclean stop, recover logs of any size as a broker does."),
    by: str | None = option(
        "--by",
        "One line each: what they take on disk, and what of it goes by itself.",
        choices=DISK_SUM_GROUPS,
    ),
    options: Options,
) -> Command:
    """List partitions with their sizes, offsets, newest epoch, topic id and leftovers.

    The log end is the broker's. After an unclean stop logs are recovered as a broker does, those with more
    than 64 MiB to recover only with --recover.
    Directories that end in -delete, -stray and -future are listed too. Findings say what a start makes of
    them, of a named log dir also of partitions that are not selected.

    Example: kcli ls /var/lib/kafka/data
    """
    from kcli.cli.inputs import broker_of
    from kcli.jobs import broker_starts
    from kcli.jobs import ls as jobs
    from kcli.jobs.cluster_metadata import with_undecodable
    from kcli.jobs.contradictions import with_contradictions, with_damaged_states
    from kcli.kafka.kraft.start_plan import StartPlan, plans_at_rest
    from kcli.rows.partitions import DiskSumRow, PartitionRow

    inputs = options.inputs._replace(include_leftovers=True)
    if by is not None:
        from kcli.jobs import disk_sums
        from kcli.logdir.buffers import shown

        is_whole = by == "log-dir" and not inputs.selection().names
        return Command(
            "ls",
            options._replace(inputs=inputs),
            partial(disk_sums.disk_sums, by=by),
            answer=Answer((declared_type(DiskSumRow),)),
            reduce=lambda file_set: disk_sums.sums(
                {shown(path): path for path in file_set.named_log_dirs} if is_whole else {}
            ),
            rows_from_reduce=True,
        )
    config, own = broker_of(inputs)
    selection, plans = inputs.selection(), list[StartPlan]()

    def expand(file_set: "FileSet") -> "FileSet":
        is_named = bool(file_set.named_log_dirs)
        plans[:] = plans_at_rest(file_set.given_log_dirs, config, are_named=is_named)
        file_set = (
            with_damaged_states(file_set) if is_named else with_contradictions(with_undecodable(file_set))
        )
        return broker_starts.expand(file_set, plans, selection)

    request = replace(jobs.AS_LISTED, is_bounded=not recover, selection=selection)
    return Command(
        "ls",
        options._replace(inputs=inputs.with_paths(own)),
        accepts=jobs.LS_KINDS,
        answer=Answer((declared_type(PartitionRow),)),
        job_of=lambda _: partial(jobs.ls, request=broker_starts.with_plans(request, plans)),
        expand=expand,
        reduce=lambda file_set: broker_starts.broker_findings(plans if file_set.named_log_dirs else ()),
    )
