"""`kcli truncate --dry-run`: what truncating a replica would delete, cut and lose."""

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kcli.cli.options import INT32, INT64, Common, Paths, RefusedError, UsageError, common_options
from kcli.cli.start_options import BROKER, StartOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcli.cli.run import Along
    from kcli.engine.contract import Unit
    from kcli.kafka.replication.replication import Side

TARGET, LEADER = "Target", "Leader"
PROTOCOLS = ("fetch", "epoch", "high-watermark")
DESCRIBED = re.compile(r"((?:\d+:\d+,)*\d+:\d+)?@(\d+)", re.ASCII)


def _offset(name: str, panel: str, text: str, largest: int = INT64) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name, metavar="N", min=0, max=largest, help=text, rich_help_panel=panel, show_default=False
    )
    return option


@common_options
def truncate(
    paths: Paths = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Required: kcli predicts and changes nothing.")
    ] = False,
    to_offset: Annotated[int | None, _offset("--to-offset", TARGET, "Truncate to this offset.")] = None,
    to_epoch: Annotated[
        int | None,
        _offset("--to-epoch", TARGET, "Truncate to this replica's own end offset of leader epoch N.", INT32),
    ] = None,
    to_high_watermark: Annotated[
        bool,
        typer.Option("--to-high-watermark", help="Truncate to the high watermark.", rich_help_panel=TARGET),
    ] = False,
    leader: Annotated[
        str | None,
        typer.Option(
            "--leader",
            metavar="PATH",
            help="Truncate as a follower of the replica in this log dir or partition directory.",
            rich_help_panel=LEADER,
            show_default=False,
        ),
    ] = None,
    leader_epochs: Annotated[
        str | None,
        typer.Option(
            "--leader-epochs",
            metavar="E:S[,E:S...]@LEO",
            help="Of a leader elsewhere: its leader epochs with their start offsets, and its log end offset.",
            rich_help_panel=LEADER,
            show_default=False,
        ),
    ] = None,
    leader_log_start: Annotated[
        int | None,
        _offset("--leader-log-start", LEADER, "Its log start offset, for --leader-epochs; 0 without."),
    ] = None,
    leader_epoch: Annotated[
        int | None,
        _offset(
            "--leader-epoch",
            LEADER,
            "The epoch that it leads in; without: a new one for --leader, none more for --leader-epochs.",
            INT32,
        ),
    ] = None,
    remote_metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--remote-metadata",
            metavar="PATH",
            help="Of a tiered log: __remote_log_metadata here, too, not just in the leader's log dir.",
            rich_help_panel=LEADER,
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            metavar="fetch|epoch|high-watermark",
            help="How followers truncate: fetch from 2.7 on, epoch from 2.0, high-watermark before 0.11.",
            rich_help_panel=LEADER,
        ),
    ] = PROTOCOLS[0],
    rescue: Annotated[
        str | None,
        typer.Option(
            "--rescue",
            metavar="FILE",
            help="Write the records that would be lost to a new file, .ndjson or .parquet.",
            rich_help_panel=TARGET,
            show_default=False,
        ),
    ] = None,
    high_watermark: Annotated[
        int | None, _offset("--high-watermark", BROKER, "Instead of what replication-offset-checkpoint says.")
    ] = None,
    log_start_offset: Annotated[
        int | None, _offset("--log-start-offset", BROKER, "Instead of what log-start-offset-checkpoint says.")
    ] = None,
    recovery_point: Annotated[
        int | None,
        _offset("--recovery-point", BROKER, "Instead of what recovery-point-offset-checkpoint says."),
    ] = None,
    start: StartOptions,
    common: Common,
) -> None:
    """Show what truncating each partition would delete, cut and lose.

    With a leader: the rounds in which it and the replica find where their logs part, and the cut.

    Example: kcli truncate --dry-run --to-offset 90 /var/lib/kafka/data/orders-0
    """
    if not dry_run:
        raise RefusedError("kcli changes nothing: add --dry-run to see what the broker would do")
    targets = [value is not None for value in (to_offset, to_epoch, leader, leader_epochs)]
    if sum([*targets, to_high_watermark]) != 1:
        raise UsageError(
            "use exactly one of --to-offset, --to-epoch, --to-high-watermark, --leader, --leader-epochs"
        )
    if protocol not in PROTOCOLS:
        raise UsageError(f"--protocol {protocol}: expected one of {', '.join(PROTOCOLS)}")
    follows = leader is not None or leader_epochs is not None
    if leader_log_start is not None and leader_epochs is None:
        raise UsageError("--leader-log-start: of the replica that --leader-epochs describes; use it there")
    if leader_epoch is not None and not follows:
        raise UsageError("--leader-epoch: there is no leader; use --leader or --leader-epochs")
    if remote_metadata and leader is None:
        raise UsageError("--remote-metadata: about the replica of --leader; use it there")
    import time

    from kcli.cli.inputs import server_properties
    from kcli.cli.run import Command, run
    from kcli.jobs.replica import following as leaders
    from kcli.jobs.startup.known_settings import known_settings, metadata_of
    from kcli.jobs.truncate import truncate as jobs

    following = None
    if follows:
        following = leaders.Following(
            protocol=protocol,
            path=leader or "",
            leader=None if leader_epochs is None else _described(leader_epochs, leader_log_start or 0),
            epoch=leader_epoch,
        )

    request = jobs.Request(
        now_ms=time.time_ns() // 1_000_000,
        to_offset=to_offset,
        to_epoch=to_epoch,
        to_high_watermark=to_high_watermark,
        following=following,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        shutdown=start.how_stopped(),
        index_interval_bytes=start.index_interval_bytes,
        segment_index_bytes=start.segment_index_bytes,
        is_saved=rescue is not None,
    )
    job = partial(jobs.dry_run, request=request)
    split = None if leader is None else _with_leaders(leader, remote_metadata or [], common)
    along = None if rescue is None else _saving(rescue, common)
    command = Command(
        name="truncate",
        job=job,
        split=split,
        along=along,
        job_of=lambda found: partial(
            jobs.dry_run,
            request=replace(request, known=known_settings(metadata_of(found), server_properties(common))),
        ),
    )
    run(command, paths, common)


def _with_leaders(
    leader: str, remote_metadata: list[str], common: Common
) -> "Callable[[list[Unit], bool], list[Unit]]":
    """Return what gives each unit the leader's replica of its partition, and remote metadata."""
    from kcli.jobs.pairs import with_leaders
    from kcli.jobs.rlmm.leader import metadata_targets
    from kcli.logdir.find import find

    def split(units: "list[Unit]", _: bool) -> "list[Unit]":  # noqa: FBT001 - as Command.split is called
        found = find([leader], common.selection())
        metadata = metadata_targets([leader, *remote_metadata])
        for option, failures in (("--leader", found.failures), ("--remote-metadata", metadata.failures)):
            if failures:
                raise UsageError(f"{option} {failures[0]}")
        return with_leaders(units, found.targets, metadata.targets)

    return split


def _saving(path: str, common: Common) -> "Along":
    from kcli.cli.rescue import rescue_to

    return rescue_to(path, common)


def _described(text: str, log_start_offset: int) -> "Side":
    """Return what counts of a leader that is written as E:S,E:S@LEO."""
    from formats.checkpoint import EpochEntry
    from kcli.kafka.replication.replication import Side
    from kcli.kafka.storage.epochs import contradicts, replay

    found = DESCRIBED.fullmatch(text)
    if found is None:
        raise UsageError(
            f"--leader-epochs {text}: expected EPOCH:START[,EPOCH:START...]@LOG-END, as 0:0,2:30@70"
        )
    lines = [EpochEntry(*map(int, pair.split(":"))) for pair in (found[1] or "").split(",") if pair]
    end = int(found[2])
    if contradicts(lines, replay(lines)):
        raise UsageError(f"--leader-epochs {text}: expected epochs and start offsets that rise")
    if any(epoch > INT32 or start > end for epoch, start in lines) or end > INT64:
        raise UsageError(
            f"--leader-epochs {text}: an epoch starts past the log end, or a number is too large"
        )
    if log_start_offset > end:
        raise UsageError(f"--leader-log-start {log_start_offset}: past the leader's log end {end}")
    return Side(tuple(lines), end, log_start_offset)
