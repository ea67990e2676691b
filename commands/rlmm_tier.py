"""`kcli rlmm`: what a tiered partition's leader answers, keeps and deletes, by its log and remote events."""

from functools import partial
from typing import TYPE_CHECKING

from commands.retention import REMOTE_METADATA, settings_of_server
from commands.startup import METADATA_PATH
from kcli.cli.command import REQUIRED, Command, Given, RowTopics, argument, option
from kcli.cli.parsers import log_dir_of_metadata, parse_offset, parse_time, remote_metadata_of
from kcli.cli.status import UsageError
from kcli.cli.typer_command import Group
from kcli.words import INT64

if TYPE_CHECKING:
    from kcli.engine.contract import Map

STORAGE = option(
    "--storage DIR",
    "Find remote segments in this directory of LocalTieredStorage or Aiven's plugin; repeatable.",
)


def _directories(storage: list[str] | None) -> tuple[str, ...]:
    """Return the directories that --storage names."""
    from kcli.jobs.rlmm.storage import storage_directories
    from kcli.logdir.buffers import FileError

    try:
        return storage_directories(storage or ())
    except FileError as error:
        raise UsageError(f"--storage {error}") from error


def _command(name: str, given: Given, job: "Map", metadata: list[str] | None) -> Command:
    """Return the command of a job over user partitions, each with the directories of the metadata topic."""
    from kcli.jobs.tiered_leader import topics, with_metadata

    elsewhere = remote_metadata_of(metadata)
    if metadata and not elsewhere:
        raise UsageError(f"--remote-metadata {metadata[0]}: no partition of __remote_log_metadata is there")
    selection = given.inputs.selection()
    return Command(
        name,
        given,
        job,
        split=lambda units: with_metadata(units, elsewhere, selection),
        topics=RowTopics(topics),
    )


def offsets(*, remote_metadata: list[str] | None = REMOTE_METADATA, given: Given) -> Command:
    """Print what ListOffsets answers for every special timestamp, -1 to -6.

    Log dirs with __remote_log_metadata in one of them, or named by --remote-metadata.

    Example: kcli rlmm offsets /var/lib/kafka/data
    """
    from kcli.jobs.rlmm import tiers

    return _command("rlmm offsets", given, tiers.offsets, remote_metadata)


lookup = Group("Find the tier and the segment of an offset or a time.")


@lookup.command("offset")
def lookup_offset(
    offset: str = argument("OFFSET", "A number, earliest or latest.", default=REQUIRED),
    *,
    remote_metadata: list[str] | None = REMOTE_METADATA,
    storage: list[str] | None = STORAGE,
    given: Given,
) -> Command:
    """Print which tier and segment serve a fetch at this offset, and what the broker tries before.

    Example: kcli rlmm lookup offset 1200 /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import tiers

    job = partial(tiers.lookup_offset, offset=parse_offset(offset), storage=_directories(storage))
    return _command("rlmm lookup offset", given, job, remote_metadata)


@lookup.command("timestamp")
def lookup_timestamp(
    timestamp: str = argument("TIME", "Epoch ms, ISO-8601, @-1h.", default=REQUIRED),
    *,
    remote_metadata: list[str] | None = REMOTE_METADATA,
    storage: list[str] | None = STORAGE,
    given: Given,
) -> Command:
    """Print which tier and segment answer ListOffsets for a time, and what the broker tries before.

    Example: kcli rlmm lookup timestamp 1h /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import tiers

    job = partial(tiers.lookup_timestamp, timestamp=parse_time(timestamp), storage=_directories(storage))
    return _command("rlmm lookup timestamp", given, job, remote_metadata)


def coverage(*, remote_metadata: list[str] | None = REMOTE_METADATA, given: Given) -> Command:
    """Print which offsets are on local disk, in remote storage, in both or nowhere.

    And how many local bytes could be lost without losing records.

    Example: kcli rlmm coverage /var/lib/kafka/data
    """
    from kcli.jobs.rlmm import tiers

    return _command("rlmm coverage", given, tiers.coverage, remote_metadata)


LIMIT = partial(option, min=-1, max=INT64)
LOCAL_LIMIT = partial(option, min=-2, max=INT64)


def retention(
    *,
    retention_ms: int | None = LIMIT(
        "--retention-ms N", "retention.ms; -1: none. Without: as the cluster metadata here says."
    ),
    retention_bytes: int | None = LIMIT("--retention-bytes N", "retention.bytes; -1: none."),
    local_retention_ms: int | None = LOCAL_LIMIT(
        "--local-retention-ms N", "local.retention.ms; -2: that of the whole log."
    ),
    local_retention_bytes: int | None = LOCAL_LIMIT(
        "--local-retention-bytes N", "local.retention.bytes; -2: that of the whole log."
    ),
    at: str | None = option("--at TIME", "The time of the clean-up; without: now."),
    metadata: str | None = METADATA_PATH,
    remote_metadata: list[str] | None = REMOTE_METADATA,
    given: Given,
) -> Command:
    """Print what the leader's next clean-up deletes of each tier, in order, and why the rest is kept.

    Limits are as kcli retention takes them; options win.

    Example: kcli rlmm retention /var/lib/kafka/data
    """
    from kcli.jobs.cluster_metadata import with_topic_settings
    from kcli.jobs.held_log import RetentionQuery
    from kcli.jobs.rlmm import tiers

    now_ms = parse_time(at)
    for whole, local, name in (
        (retention_ms, local_retention_ms, "ms"),
        (retention_bytes, local_retention_bytes, "bytes"),
    ):
        if whole is not None and local is not None and whole >= 0 and (local == -1 or local > whole):
            raise UsageError(
                f"--local-retention-{name} {local}: a broker refuses more than --retention-{name} {whole}"
            )
    limits = {
        "retention.ms": retention_ms,
        "retention.bytes": retention_bytes,
        "local.retention.ms": local_retention_ms,
        "local.retention.bytes": local_retention_bytes,
    }
    settings = {name: str(value) for name, value in limits.items() if value is not None}
    query = RetentionQuery(now_ms, settings_of_server(given.inputs), settings)
    job, log_dir = partial(tiers.retention, query=query), log_dir_of_metadata(metadata)
    expand = partial(with_topic_settings, log_dir=log_dir, are_given=bool(settings))
    return _command("rlmm retention", given, job, remote_metadata)._replace(expand=expand)


def follow(
    *,
    leader: str = option("--leader PATH", "The leader's log dir or partition.", default=REQUIRED),
    remote_metadata: list[str] | None = REMOTE_METADATA,
    storage: list[str] | None = STORAGE,
    given: Given,
) -> Command:
    """Print how a follower gets into a tiered log: requests, answers, the segment whose state it takes.

    __remote_log_metadata is read from the leader's log dir, and from --remote-metadata.

    Example: kcli rlmm follow --leader broker1/data broker2/data/orders-0
    """
    from formats.names import REMOTE_LOG_METADATA
    from kcli.jobs.rlmm import follow as jobs
    from kcli.jobs.tiered_leader import topics
    from kcli.kafka.kraft.log_settings import NEVER_TIERED
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    file_set = find([leader, *(remote_metadata or [])], Selection())
    if file_set.failures:
        raise UsageError(f"{file_set.failures[0].path}: {file_set.failures[0].message}")
    named = [target for target in file_set.targets if target.name is not None]
    metadata = [each for each in named if each.name and each.name.topic == REMOTE_LOG_METADATA]
    leaders = [each for each in named if each.name and each.name.topic not in NEVER_TIERED]
    selection = given.inputs.selection()
    return Command(
        "rlmm follow",
        given,
        partial(jobs.predict_follower, leader_path=leader, storage=_directories(storage)),
        split=lambda units: jobs.with_leader_and_metadata(units, leaders, metadata, selection),
        topics=RowTopics(topics),
    )
