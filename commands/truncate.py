"""`kcli truncate --dry-run`: what truncating a replica would delete, cut and lose."""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.boundary import say
from kcli.cli.command import (
    BROKER,
    BROKER_STATE,
    RUNNING,
    Command,
    Inputs,
    Options,
    Output,
    Split,
    StartOptions,
    number,
    offset_number,
    option,
)
from kcli.cli.status import RefusedError, UsageError, writing
from kcli.cli.targets import refuse_log_dirs
from kcli.words import clock_ms

if TYPE_CHECKING:
    from kcli.cli.command import OnOutcomes
    from kcli.engine.contract import Outcome, Unit
    from kcli.kafka.replication.follower import ReplicaEpochs

TARGET, LEADER = "Target", "Leader"
PROTOCOL_WORDS = ("fetch", "epoch", "high-watermark")


def truncate(
    *,
    dry_run: bool = option("--dry-run", "May be left out: kcli predicts, and never changes anything."),
    to_offset: int | None = offset_number("--to-offset N", "Truncate to this offset.", TARGET),
    to_epoch: int | None = number(
        "--to-epoch N", "Truncate to this replica's own end offset of leader epoch N.", TARGET, min=0
    ),
    to_high_watermark: bool = option("--to-high-watermark", "Truncate to the high watermark.", TARGET),
    leader: str | None = option(
        "--leader PATH",
        "Truncate as a follower of the replica in this log dir or partition directory.",
        LEADER,
    ),
    leader_epochs: str | None = option(
        "--leader-epochs E:S[,E:S...]@LEO",
        "Of a leader elsewhere: its leader epochs with their start offsets, and its log end offset.",
        LEADER,
    ),
    leader_log_start: int | None = offset_number(
        "--leader-log-start N", "Its log start offset, for --leader-epochs; 0 without.", LEADER
    ),
    leader_epoch: int | None = number(
        "--leader-epoch N",
        "The epoch that it leads in; without: a new one for --leader, none more for --leader-epochs.",
        LEADER,
        min=0,
    ),
    remote_metadata: list[str] | None = option(
        "--remote-metadata PATH",
        "Of a tiered log: __remote_log_metadata here, too, not just in the leader's log dir.",
        LEADER,
    ),
    protocol: str = option(
        "--protocol",
        "How followers truncate: fetch from 2.7 on, epoch from 2.0, high-watermark before 0.11.",
        LEADER,
        default=PROTOCOL_WORDS[0],
        choices=PROTOCOL_WORDS,
    ),
    rescue: str | None = option(
        "--rescue FILE", "Write the records that would be lost to a new file, .ndjson or .parquet.", TARGET
    ),
    high_watermark: int | None = offset_number(
        "--high-watermark N", "Instead of what replication-offset-checkpoint says.", BROKER
    ),
    log_start_offset: int | None = offset_number(
        "--log-start-offset N", "Instead of what log-start-offset-checkpoint says.", BROKER
    ),
    recovery_point: int | None = offset_number(
        "--recovery-point N", "Instead of what recovery-point-offset-checkpoint says.", BROKER
    ),
    broker: str = BROKER_STATE,
    start: StartOptions,
    options: Options,
) -> Command:
    """Show what truncating each partition would delete, cut and lose.

    With a leader: the rounds in which it and the replica find where their logs part, and the cut.

    Example: kcli truncate --dry-run --to-offset 90 /var/lib/kafka/data/orders-0
    """
    del dry_run  # runbooks say it, and without it nothing else happens
    targets = [value is not None for value in (to_offset, to_epoch, leader, leader_epochs)]
    if sum([*targets, to_high_watermark]) != 1:
        raise UsageError(
            "use exactly one of --to-offset, --to-epoch, --to-high-watermark, --leader, --leader-epochs"
        )
    follows = leader is not None or leader_epochs is not None
    if leader_log_start is not None and leader_epochs is None:
        raise UsageError("--leader-log-start: of the replica that --leader-epochs describes; use it there")
    if leader_epoch is not None and not follows:
        raise UsageError("--leader-epoch: there is no leader; use --leader or --leader-epochs")
    if remote_metadata and leader is None:
        raise UsageError("--remote-metadata: about the replica of --leader; use it there")
    is_running = broker == RUNNING
    if is_running and start.shutdown is not None:
        raise UsageError("--shutdown: how a broker stopped; with --broker running it did not")
    from kcli.jobs import truncate as jobs
    from kcli.jobs.cluster_metadata import known_settings, metadata_of

    following = None
    if follows:
        following = jobs.Following(
            protocol=protocol,
            path=leader or "",
            leader=None if leader_epochs is None else _parse_leader(leader_epochs, leader_log_start or 0),
            epoch=leader_epoch,
        )

    request = jobs.Request(
        now_ms=clock_ms(),
        to_offset=to_offset,
        to_epoch=to_epoch,
        to_high_watermark=to_high_watermark,
        following=following,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        running=is_running,
        is_saved=rescue is not None,
        **start._asdict(),
    )
    return Command(
        "truncate",
        options,
        split=None if leader is None else _with_leaders(leader, remote_metadata or [], options.inputs),
        on_outcomes=None if rescue is None else _rescue_to(rescue, options.output),
        job_of=lambda file_set: partial(
            jobs.dry_run, request=replace(request, known=known_settings(metadata_of(file_set)))
        ),
    )


def _with_leaders(leader: str, remote_metadata: list[str], inputs: Inputs) -> Split:
    """Return what gives each unit the leader's replica of its partition, and remote metadata."""
    from kcli.jobs.replica_pairs import with_leaders
    from kcli.jobs.tiered_leader import metadata_targets
    from kcli.logdir.find import find

    def split(units: "list[Unit]") -> "list[Unit]":
        file_set = find([leader], inputs.selection())
        metadata = metadata_targets([leader, *remote_metadata])
        for name, failures in (("--leader", file_set.failures), ("--remote-metadata", metadata.failures)):
            if failures:
                raise UsageError(f"{name} {failures[0]}")
        return with_leaders(units, file_set.targets, metadata.targets)

    return split


def _parse_leader(text: str, log_start_offset: int) -> "ReplicaEpochs":
    from kcli.kafka.replication.follower import parse_replica_epochs

    try:
        leader = parse_replica_epochs(text, log_start_offset)
    except ValueError as error:
        raise UsageError(f"--leader-epochs {text}: {error}") from error
    if log_start_offset > leader.log_end_offset:
        raise UsageError(
            f"--leader-log-start {log_start_offset}: past the leader's log end {leader.log_end_offset}"
        )
    return leader


def _rescue_to(path: str, output: Output) -> "OnOutcomes":
    """Return what writes lost records to a new file; UsageError and RefusedError for one that cannot be."""
    from kcli.dump.rescue import RESCUE_FORMATS, Rescue

    if os.path.splitext(path)[1] not in RESCUE_FORMATS:
        raise UsageError(f"--rescue {path}: expected a file that ends in {' or '.join(RESCUE_FORMATS)}")
    refuse_log_dirs(f"--rescue {path}", path)
    if os.path.lexists(path):
        raise RefusedError(
            f"--rescue {path}: this exists, and may have what an earlier run saved; choose another name"
        )
    for name, destination in (("--out", output.out), ("--findings", output.findings)):
        if destination is not None and os.path.abspath(destination) == os.path.abspath(path):
            raise UsageError(f"--rescue {path}: {name} names the same file")

    def along(outcomes: "Iterator[Outcome]", units: "list[Unit]") -> "Iterator[Outcome]":
        rescue = Rescue(path)
        with writing(f"--rescue {path}"):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            yield from rescue.along(outcomes, units)
        if rescue.is_there and not output.quiet:
            records = f"{rescue.saved} record{'s' * (rescue.saved != 1)}"
            partitions = f"{rescue.partitions} partition{'s' * (rescue.partitions != 1)}"
            say(f"{records} of {partitions} saved in {path}")

    return along
