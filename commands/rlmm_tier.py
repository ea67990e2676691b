"""`kcli rlmm`: what a tiered partition's leader answers, keeps and deletes, by its log and remote events."""

import time
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kcli.cli.options import INT64, Common, Paths, UsageError, common_options, parse_offset, parse_time
from kcli.cli.typer_command import Group

if TYPE_CHECKING:
    from kcli.engine.contract import Map

RemoteMetadata: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--remote-metadata",
        metavar="PATH",
        help="Read __remote_log_metadata here, too: a log dir or a partition dir; repeatable.",
        show_default=False,
    ),
]
Storage: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--storage",
        metavar="DIR",
        help="Find remote segments in this directory of LocalTieredStorage or Aiven's plugin; repeatable.",
        show_default=False,
    ),
]


def _run(name: str, job: "Map", paths: list[str] | None, metadata: list[str] | None, common: Common) -> None:
    """Run a job over the selected user partitions, each with the directories of the metadata topic."""
    from kcli.cli.run import Command, run
    from kcli.jobs.rlmm.leader import (
        metadata_targets,
        topics,
        with_metadata,
    )

    elsewhere = metadata_targets(metadata or [])
    if elsewhere.failures:
        raise UsageError(f"--remote-metadata {elsewhere.failures[0]}")
    if metadata and not elsewhere.targets:
        raise UsageError(f"--remote-metadata {metadata[0]}: no partition of __remote_log_metadata is there")
    selection = common.selection()
    command = Command(
        name=name,
        job=job,
        split=lambda units, _: with_metadata(units, elsewhere.targets, selection),
        topics_of_rows=topics,
    )
    run(command, paths, common)


@common_options
def offsets(paths: Paths = None, *, remote_metadata: RemoteMetadata = None, common: Common) -> None:
    """Print what ListOffsets answers for every special timestamp, -1 to -6.

    Log dirs with __remote_log_metadata in one of them, or named by --remote-metadata.

    Example: kcli rlmm offsets /var/lib/kafka/data
    """
    from kcli.jobs.rlmm import tiers

    _run("rlmm offsets", tiers.offsets, paths, remote_metadata, common)


lookup = Group(no_args_is_help=True, help="Find the tier and the segment of an offset or a time.")


@lookup.command("offset")
@common_options
def lookup_offset(
    offset: Annotated[
        str, typer.Argument(metavar="OFFSET", help="A number, earliest or latest.", show_default=False)
    ],
    paths: Paths = None,
    *,
    remote_metadata: RemoteMetadata = None,
    storage: Storage = None,
    common: Common,
) -> None:
    """Print which tier and segment serve a fetch at this offset, and what the broker tries before.

    Example: kcli rlmm lookup offset 1200 /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import tiers

    job = partial(tiers.lookup_offset, offset=parse_offset(offset), storage=tuple(storage or ()))
    _run("rlmm lookup offset", job, paths, remote_metadata, common)


@lookup.command("timestamp")
@common_options
def lookup_timestamp(
    timestamp: Annotated[
        str, typer.Argument(metavar="TIME", help="Epoch ms, ISO-8601, @-1h.", show_default=False)
    ],
    paths: Paths = None,
    *,
    remote_metadata: RemoteMetadata = None,
    storage: Storage = None,
    common: Common,
) -> None:
    """Print which tier and segment answer ListOffsets for a time, and what the broker tries before.

    Example: kcli rlmm lookup timestamp 1h /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import tiers

    job = partial(tiers.lookup_timestamp, timestamp=parse_time(timestamp), storage=tuple(storage or ()))
    _run("rlmm lookup timestamp", job, paths, remote_metadata, common)


@common_options
def coverage(paths: Paths = None, *, remote_metadata: RemoteMetadata = None, common: Common) -> None:
    """Print which offsets are on local disk, in remote storage, in both or nowhere.

    And how many local bytes could be lost without losing records.

    Example: kcli rlmm coverage /var/lib/kafka/data
    """
    from kcli.jobs.rlmm import tiers

    _run("rlmm coverage", tiers.coverage, paths, remote_metadata, common)


INHERIT = -2


@common_options
def retention(
    paths: Paths = None,
    *,
    retention_ms: Annotated[
        int, typer.Option("--retention-ms", metavar="N", min=-1, max=INT64, help="retention.ms; -1: none.")
    ] = -1,
    retention_bytes: Annotated[
        int,
        typer.Option("--retention-bytes", metavar="N", min=-1, max=INT64, help="retention.bytes; -1: none."),
    ] = -1,
    local_retention_ms: Annotated[
        int,
        typer.Option(
            "--local-retention-ms",
            metavar="N",
            min=INHERIT,
            max=INT64,
            help="local.retention.ms; -2: that of the whole log.",
        ),
    ] = INHERIT,
    local_retention_bytes: Annotated[
        int,
        typer.Option(
            "--local-retention-bytes",
            metavar="N",
            min=INHERIT,
            max=INT64,
            help="local.retention.bytes; -2: that of the whole log.",
        ),
    ] = INHERIT,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="The time of the clean-up; without: now.", show_default=False
        ),
    ] = None,
    remote_metadata: RemoteMetadata = None,
    common: Common,
) -> None:
    """Print what the leader's next clean-up deletes of each tier, in order, and why the rest is kept.

    Example: kcli rlmm retention --retention-ms 604800000 /var/lib/kafka/data
    """
    from kcli.jobs.rlmm import tiers
    from kcli.kafka.remote.retention import Limits

    now_ms = int(time.time() * 1000) if at is None else parse_time(at)
    limits = Limits(retention_ms, retention_bytes, local_retention_ms, local_retention_bytes)
    for whole, local, name in (
        (retention_ms, local_retention_ms, "ms"),
        (retention_bytes, local_retention_bytes, "bytes"),
    ):
        if whole >= 0 and (local == -1 or local > whole):
            raise UsageError(
                f"--local-retention-{name} {local}: a broker refuses more than --retention-{name} {whole}"
            )
    job = partial(tiers.retention, limits=limits, now_ms=now_ms)
    _run("rlmm retention", job, paths, remote_metadata, common)


@common_options
def follow(
    paths: Paths = None,
    *,
    leader: Annotated[
        str,
        typer.Option(
            "--leader", metavar="PATH", help="The leader's log dir or partition.", show_default=False
        ),
    ],
    remote_metadata: RemoteMetadata = None,
    storage: Storage = None,
    common: Common,
) -> None:
    """Print how a follower gets into a tiered log: requests, answers, the segment whose state it takes.

    __remote_log_metadata is read from the leader's log dir, and from --remote-metadata.

    Example: kcli rlmm follow --leader broker1/data broker2/data/orders-0
    """
    from formats.names import REMOTE_LOG_METADATA
    from kcli.cli.run import Command, run
    from kcli.jobs.rlmm import follow as jobs
    from kcli.jobs.rlmm.leader import topics
    from kcli.kafka.kraft.start_settings import NEVER_TIERED
    from kcli.logdir.find import find
    from kcli.logdir.select import Selection

    found = find([leader, *(remote_metadata or [])], Selection())
    if found.failures:
        raise UsageError(f"{found.failures[0].path}: {found.failures[0].message}")
    named = [target for target in found.targets if target.name is not None]
    metadata = [each for each in named if each.name and each.name.topic == REMOTE_LOG_METADATA]
    leaders = [each for each in named if each.name and each.name.topic not in NEVER_TIERED]
    selection = common.selection()
    command = Command(
        name="rlmm follow",
        job=partial(jobs.follow_leader, leader_path=leader, storage=tuple(storage or ())),
        split=lambda units, _: jobs.with_leader_and_metadata(units, leaders, metadata, selection),
        topics_of_rows=topics,
    )
    run(command, paths, common)
