"""`kcli startup`: what a starting broker would do to its log dirs."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.command import BROKER, CLEAN, Command, Options, StartOptions, option, release
from kcli.cli.parsers import log_dir_of_metadata, parse_release, parse_time
from kcli.output.answer import Answer
from kcli.words import parse_rate

if TYPE_CHECKING:
    from kcli.engine.contract import Map
    from kcli.logdir.find import FileSet

USUAL_READ_RATE = "100M"
METADATA_PATH = option(
    "--metadata PATH",
    "The log dir, or the __cluster_metadata-0, whose metadata decides; by default the broker's own.",
    BROKER,
)


def startup(
    *,
    remote_storage: bool | None = option(
        "--remote-storage/--no-remote-storage",
        "Whether the topics are tiered; by default as the metadata or the log dir says.",
        BROKER,
    ),
    kafka_version: str | None = release("that starts", "4.4, of log dirs of ZooKeeper 3.9"),
    read_rate: str = option(
        "--read-rate BYTES",
        "Bytes a second that a log dir gives, for the estimate of the time.",
        BROKER,
        default=USUAL_READ_RATE,
    ),
    metadata: str | None = METADATA_PATH,
    releases: bool = option(
        "--releases", "Ask every release from 3.3 to 4.4: one row each, starts or the exception.", BROKER
    ),
    at: str | None = option(
        "--at TIME", "The time of the start, from which producers are forgotten; without: now.", BROKER
    ),
    start: StartOptions,
    options: Options,
) -> Command:
    """Show whether a broker would start with these log dirs, and what it would do to each partition.

    Example: kcli startup /var/lib/kafka/data
    """
    version = None if kafka_version is None else parse_release(kafka_version)
    rate = parse_rate(read_rate, "--read-rate")
    from kcli.cli.inputs import (
        broker_of,
        find_listed,
        named_paths,
        nothing_matched,
        other_topics,
        topics_not_found,
        with_members,
    )
    from kcli.cli.run import run_rows
    from kcli.engine.contract import at_end
    from kcli.jobs import broker_starts
    from kcli.jobs.cluster_metadata import known_settings, metadata_of, with_undecodable
    from kcli.jobs.common import failure_of
    from kcli.jobs.contradictions import with_quorum_states
    from kcli.jobs.log_starts import StartRequest, log_starts
    from kcli.jobs.startup import broker_rows, replica_start
    from kcli.kafka.kraft.meta_properties import NEWEST
    from kcli.kafka.kraft.start_plan import StartPlan, start_plans
    from kcli.logdir.buffers import FileError
    from kcli.logdir.find import each_once, with_unformatted
    from kcli.logdir.targets import Selection
    from kcli.rows import Failure
    from kcli.rows.startup import StartupReleaseRow

    request = StartRequest(
        now_ms=parse_time(at), remote_storage=remote_storage, version=version or NEWEST, **start._asdict()
    )
    inputs = options.inputs
    config, own = broker_of(inputs)
    config = config._replace(version=version or NEWEST)
    where = log_dir_of_metadata(metadata)
    if releases:
        paths = with_members(named_paths(inputs.with_paths(own)))
        file_set = with_unformatted(find_listed(paths, Selection(include_leftovers=True), inputs))

        logs = log_starts(file_set, replace(request, known=known_settings(metadata_of(file_set))))
        unread = broker_starts.unread_files(start_plans(paths, config, where))
        rows = broker_rows.release_rows(
            lambda version: start_plans(paths, config._replace(version=version), where), logs
        )
        failures = map(failure_of, unread)
        run_rows("startup", rows, options.output, row=StartupReleaseRow, failures=failures)
    selection, plans = inputs.selection(), list[StartPlan]()

    def expand(file_set: "FileSet") -> "FileSet":
        readable = file_set if file_set.named_log_dirs else with_undecodable(file_set)
        file_set = each_once(with_quorum_states(readable))
        plans[:] = start_plans(file_set.given_log_dirs, config, where, is_release_known=version is not None)
        expanded = broker_starts.expand(file_set, plans, selection)
        if expanded.targets or expanded.failures:
            missing = [*topics_not_found(expanded, inputs)] if expanded.targets else []
        else:
            message = nothing_matched(file_set) + other_topics(inputs)
            missing = [Failure("", "nothing-matched", None, None, message)]
        failures = [FileError(failure.path, failure.error, failure.message) for failure in missing]
        return replace(expanded, failures=[*expanded.failures, *failures])

    def job_of(file_set: "FileSet") -> "Map":
        of_known = replace(request, known=known_settings(metadata_of(file_set)), selection=selection)
        return partial(replica_start.read, request=broker_starts.with_plans(of_known, plans))

    clean = None if start.shutdown is None else start.shutdown == CLEAN
    # the log of any topic may end the start
    every_log = options.without_selection().inputs.with_paths(own)._replace(include_leftovers=True)
    return Command(
        "startup",
        options._replace(inputs=every_log),
        job_of=job_of,
        accepts=replica_start.STARTUP_KINDS,
        expand=expand,
        reduce=lambda file_set: at_end(
            broker_rows.BrokerRows(plans if file_set.named_log_dirs else (), rate, clean, selection)
        ),
        rows_from_reduce=True,
        answer=Answer(default_type="startup", single_view=True),
    )
