"""`kcli startup`: what a starting broker would do to its log dirs."""

import re
from dataclasses import replace
from functools import partial

from kcli.cli.option import option
from kcli.cli.options import BROKER, CLEAN, EngineOptions, Inputs, Output, StartOptions
from kcli.cli.parsers import parse_time
from kcli.cli.status import UsageError
from kcli.words import parse_rate

USUAL_READ_RATE = "100M"


def startup(
    *,
    remote_storage: bool | None = option(
        "--remote-storage/--no-remote-storage",
        "Whether the topics are tiered; by default as the metadata or the log dir says.",
        BROKER,
    ),
    kafka_version: str | None = option(
        "--kafka-version X.Y",
        "The release that starts, from 3.0 on; without it 4.3, of log dirs of ZooKeeper 3.9.",
        BROKER,
    ),
    read_rate: str = option(
        "--read-rate BYTES",
        "Bytes a second that a log dir gives, for the estimate of the time.",
        BROKER,
        default=USUAL_READ_RATE,
    ),
    at: str | None = option(
        "--at TIME", "The time of the start, from which producers are forgotten; without: now.", BROKER
    ),
    start: StartOptions,
    inputs: Inputs,
    output: Output,
    engine: EngineOptions,
) -> None:
    """Show whether a broker would start with these log dirs, and what it would do to each partition.

    Example: kcli startup /var/lib/kafka/data
    """
    version = None if kafka_version is None else _version(kafka_version)
    rate = parse_rate(read_rate, "--read-rate")
    import time

    from kcli.cli.inputs import node_of
    from kcli.cli.run import Answer, Command, run
    from kcli.jobs import startup as broker
    from kcli.jobs import startup as jobs
    from kcli.jobs.check.contradictions import with_quorum_states
    from kcli.jobs.cluster_metadata import known_settings, metadata_of
    from kcli.kafka.kraft.meta_properties import NEWEST, BrokerConfig

    request = jobs.StartRequest(
        now_ms=time.time_ns() // 1_000_000 if at is None else parse_time(at),
        shutdown=start.shutdown,
        index_interval_bytes=start.index_interval_bytes,
        segment_index_bytes=start.segment_index_bytes,
        remote_storage=remote_storage,
        version=version or NEWEST,
    )
    node_id, metadata_log_dir, apart = node_of(inputs)
    config = BrokerConfig(version or NEWEST, node_id, metadata_log_dir)
    clean = None if start.shutdown is None else start.shutdown == CLEAN
    command = Command(
        name="startup",
        job=partial(jobs.read, request=request),
        job_of=lambda found: partial(
            jobs.read, request=replace(request, known=known_settings(metadata_of(found)))
        ),
        accepts=broker.STARTUP_KINDS,
        expand=lambda found: broker.expand(with_quorum_states(found)),
        reduce=lambda _: broker.StartReducer(config, rate, clean, version is not None),
        rows_from_reduce=True,
        answer=Answer(default_type="startup", single_view=True),
    )
    run(command, inputs.with_paths(apart)._replace(include_leftovers=True), output, engine)


def _version(text: str) -> tuple[int, ...]:
    """Return a release like 3.9 or 4.3.1 as numbers."""
    found = re.fullmatch(r"([3-9])\.([0-9]{1,2})(?:\.([0-9]{1,2}))?", text)
    if found is None:
        raise UsageError(f"--kafka-version {text}: expected a release such as 3.9 or 4.3.1, from 3.0 on")
    version = tuple(int(number) for number in found.groups() if number is not None)
    from kcli.kafka.kraft.meta_properties import NEWEST

    if version[:2] > NEWEST:
        newest = ".".join(map(str, NEWEST))
        raise UsageError(f"--kafka-version {text}: {newest} is the newest release whose start kcli knows")
    return version
