"""`kcli check`: whether log dirs and partitions are whole, and whether a broker would load them."""

from typing import TYPE_CHECKING

from kcli.cli.command import Command, Options, ReadingOptions, option, release
from kcli.cli.parsers import parse_release
from kcli.cli.status import UsageError
from kcli.cli.targets import read_text, refuse_log_dirs, replace_file
from kcli.words import clock_ms

if TYPE_CHECKING:
    from kcli.engine.contract import Reduce
    from kcli.jobs.check.incremental import IncrementalState
    from kcli.jobs.log_pass.scan import ScanOptions
    from kcli.kafka.kraft.meta_properties import Version
    from kcli.logdir.find import FileSet

MOST_STATE = 256 << 20
"""Bytes of a state."""


def check(
    *,
    records: bool = option("--records", "Read the records of every batch, too: decompress and decode."),
    quick: bool = option("--quick", "Of all segments but the last of each partition read headers alone."),
    since: str | None = option(
        "--since STATE", "Read only what is new since this file was written; keep it up to date."
    ),
    kafka_version: str | None = release("that would start and load"),
    reading: ReadingOptions,
    options: Options,
) -> None:
    """Read everything that a broker relies on, and say for each partition whether it is whole.

    The result is clean, warning, damaged or will-not-load; the findings say what is wrong and where.

    Example: kcli check --jobs 4 /var/lib/kafka/data
    """
    from kcli.cli.run import run
    from kcli.jobs.log_pass.scan import ScanOptions

    if since is not None and quick:
        raise UsageError("--since and --quick contradict each other: headers alone prove nothing for later")
    version = None if kafka_version is None else parse_release(kafka_version)
    state = None
    if since is not None:
        from kcli.jobs.check.incremental import IncrementalState, StateError

        refuse_log_dirs(f"--since {since}", since)
        text = read_text("--since", since, MOST_STATE)
        try:
            state = IncrementalState(text, records=records)
        except StateError as error:
            raise UsageError(f"--since {since}: {error}") from error
    scan = ScanOptions(
        max_batch_bytes=reading.max_batch_bytes,
        rate=reading.bytes_per_second,
        cold=reading.is_cold,
        rows=frozenset(),
    )
    try:
        run(check_command("check", options, scan, records=records, quick=quick, state=state, version=version))
    finally:
        if state and since:
            replace_file("--since", since, state.dumps())


def check_command(
    name: str,
    options: Options,
    scan_options: "ScanOptions",
    *,
    records: bool = False,
    quick: bool = False,
    state: "IncrementalState | None" = None,
    codes: tuple[str, ...] = (),
    version: "Version | None" = None,
) -> Command:
    """Return a command that checks partitions and log dirs, as of a `version`; `codes`: for these alone."""
    from kcli.cli.inputs import broker_of, server_properties
    from kcli.jobs import broker_starts
    from kcli.jobs.check.check import CHECK_ACCEPTS, CheckLog, expand, reducer
    from kcli.jobs.check.log_dirs import BrokerLogDirs
    from kcli.jobs.cluster_metadata import KnownMetadata, known_settings, metadata_of
    from kcli.jobs.held_log import RetentionQuery
    from kcli.jobs.log_pass.scan import ScanLog, group_directories
    from kcli.jobs.log_starts import StartRequest
    from kcli.kafka.kraft.meta_properties import NEWEST
    from kcli.kafka.kraft.start_plan import StartPlan, plans_at_rest
    from kcli.logdir.find import each_once

    scan, inputs = ScanLog(scan_options), options.inputs
    config, own = broker_of(inputs)
    selection = inputs.selection()
    metadata: list[KnownMetadata] = []
    plans: list[StartPlan] = []
    now_ms = clock_ms()
    query = None if codes else RetentionQuery(now_ms, server_properties(inputs) or {})

    def expanded(file_set: "FileSet") -> "FileSet":
        if file_set.named_log_dirs and not codes:
            plans[:] = plans_at_rest(file_set.given_log_dirs, config, version=version, are_named=True)
            file_set = broker_starts.expand(each_once(file_set), plans, selection)
        return expand(file_set)

    def job_of(file_set: "FileSet") -> CheckLog:
        metadata.extend(metadata_of(file_set))
        request = StartRequest(version=version or NEWEST, known=known_settings(metadata), selection=selection)
        return CheckLog(scan, records, quick, broker_starts.with_plans(request, plans), query)

    def reduce_of(file_set: "FileSet") -> "Reduce":
        log_dirs = BrokerLogDirs(file_set, plans, metadata)
        return reducer(file_set, log_dirs, state, known_settings(metadata), query, codes=codes)

    return Command(
        name,
        options._replace(inputs=inputs.with_paths(own)),
        job_of=job_of,
        accepts=CHECK_ACCEPTS,
        expand=expanded,
        split=lambda units: group_directories(units if state is None else state.mark_unchanged(units)),
        reduce=reduce_of,
        rows_from_reduce=True,
    )
