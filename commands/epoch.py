"""`kcli epoch`: leader epochs of partitions, and the answers to OffsetForLeaderEpoch."""

from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.command import (
    BROKER_STATE,
    REQUIRED,
    RUNNING,
    Command,
    Options,
    argument,
    number,
    offset_number,
    option,
)
from kcli.cli.parsers import metadata_path, parse_epochs, parse_offset, split_list
from kcli.cli.status import UsageError
from kcli.cli.typer_command import Group
from kcli.output.answer import Answer
from kcli.words import INT32, INT64, integer

if TYPE_CHECKING:
    from kcli.jobs.epoch import Fence
    from kcli.kafka.replication.consumer_positions import Position

app = Group("Leader epochs of replicas, and where each of them ends (KIP-101, KIP-279).")

SOURCES = ("checkpoint", "batches")
EPOCH_CODES = ("EPOCH-", "START-008")
"""What the findings of `epoch check` begin with: a log that is not loaded has no epochs."""

FROM = option(
    "--from",
    "Take the epochs from leader-epoch-checkpoint (the default), or from the batches themselves.",
    usual="checkpoint",
    choices=SOURCES,
)

TEXT_WORD = "text"
RESET_WORDS = ("earliest", "latest", "none")

CURRENT_LEADER_EPOCH = number(
    "--current-leader-epoch N",
    "The leader epoch that the request names; a broker that knows another answers with an error.",
    min=0,
)

METADATA_OPTION = option(
    "--metadata PATH",
    "Take the partition's leader and its epoch from this KRaft metadata log or .checkpoint; without "
    "it the newest epoch of the cache counts.",
)


@app.command("show")
def show(*, source: str = FROM, broker: str = BROKER_STATE, options: Options) -> Command:
    """Print the leader epochs of each partition with their start and end offsets.

    --from batches -o text prints the leader-epoch-checkpoint that the batches of one partition give.

    Example: kcli epoch show /var/lib/kafka/data/orders-0
    """
    output = options.output
    if output.format == TEXT_WORD:
        if source != "batches":
            raise UsageError("-o text prints the file that the batches give; use --from batches")
        if output.only or output.columns or output.sort or output.where or output.limit:
            raise UsageError(
                "-o text prints the whole file: leave out --only, --columns, --sort, --where, --limit"
            )
    from kcli.engine.contract import Unit
    from kcli.jobs import epoch as jobs

    def of_one_partition(units: list[Unit]) -> list[Unit]:
        if output.format == TEXT_WORD and len(units) > 1:
            raise UsageError(f"-o text prints the file of one partition; {len(units)} are here")
        return units

    job = partial(jobs.show, **_cache(source, broker))
    return Command(
        "epoch show",
        options,
        job,
        accepts=jobs.EPOCH_CACHE_KINDS,
        split=of_one_partition,
        answer=Answer(text=jobs.checkpoint_lines),
    )


@app.command("end-offset")
def end_offset(
    *,
    epoch: list[str] = option(
        "--epoch 0..3,7|all",
        "The epochs to ask for; all: every epoch in the cache and its neighbours.",
        default=REQUIRED,
    ),
    log_end_offset: int | None = offset_number(
        "--log-end-offset N", "The log end offset, instead of the one that the files give."
    ),
    current_leader_epoch: int | None = CURRENT_LEADER_EPOCH,
    metadata: str | None = METADATA_OPTION,
    source: str = FROM,
    broker: str = BROKER_STATE,
    options: Options,
) -> Command:
    """Print where leader epochs end: what a broker answers to OffsetForLeaderEpoch, and by which rule.

    Example: kcli epoch end-offset --epoch all /var/lib/kafka/data/orders-0
    """
    from kcli.jobs import epoch as jobs

    job = partial(
        jobs.end_offset,
        epochs=parse_epochs(epoch),
        log_end_offset=log_end_offset,
        fence=_fence(current_leader_epoch, metadata),
        **_cache(source, broker),
    )
    return Command("epoch end-offset", options, job, accepts=jobs.EPOCH_CACHE_KINDS)


@app.command("at")
def at(
    offset: str = argument("OFFSET", "A number, earliest or latest.", default=REQUIRED),
    *,
    source: str = FROM,
    broker: str = BROKER_STATE,
    options: Options,
) -> Command:
    """Print the leader epoch that an offset was written in.

    Example: kcli epoch at 1200 /var/lib/kafka/data/orders-0
    """
    from kcli.jobs import epoch as jobs

    job = partial(jobs.at, offset=parse_offset(offset), **_cache(source, broker))
    return Command("epoch at", options, job, accepts=jobs.EPOCH_CACHE_KINDS)


@app.command("validate")
def validate(
    *,
    position: list[str] = option(
        "--position OFFSET:EPOCH,...",
        "The offset that a consumer reads next, and the leader epoch that it knows of it.",
        default=REQUIRED,
    ),
    reset: str = option(
        "--reset", "The consumer's auto.offset.reset.", default="latest", choices=RESET_WORDS
    ),
    current_leader_epoch: int | None = CURRENT_LEADER_EPOCH,
    metadata: str | None = METADATA_OPTION,
    source: str = FROM,
    broker: str = BROKER_STATE,
    options: Options,
) -> Command:
    """Say whether a consumer keeps its position when this replica leads, or where it goes back to.

    Example: kcli epoch validate --position 1200:4 /var/lib/kafka/data/orders-0
    """
    from kcli.jobs import epoch as jobs

    job = partial(
        jobs.validate_positions,
        positions=tuple(map(_position, split_list(position))),
        reset=reset,
        fence=_fence(current_leader_epoch, metadata),
        **_cache(source, broker),
    )
    return Command("epoch validate", options, job, accepts=jobs.EPOCH_CACHE_KINDS)


@app.command("diff")
def diff(*, broker: str = BROKER_STATE, options: Options) -> Command:
    """Show where the leader epochs of replicas part: the first log dir or partition with each other one.

    Example: kcli epoch diff broker1/data broker2/data broker3/data
    """
    from kcli.cli.inputs import comparing
    from kcli.jobs import epoch as jobs
    from kcli.jobs.replica_pairs import pairs

    expand, split = comparing(pairs)
    job = partial(jobs.diff, running=broker == RUNNING)
    return Command("epoch diff", options, job, expand=expand, split=split, compares=True)


@app.command("check")
def check(*, options: Options) -> Command:
    """Hold each leader-epoch-checkpoint against the batches: what `kcli check` finds about leader epochs.

    A log that a start does not load is a finding as well.

    Example: kcli epoch check /var/lib/kafka/data
    """
    from commands.check import check_command
    from kcli.jobs.log_pass.scan import ScanOptions

    return check_command("epoch check", options, ScanOptions(rows=frozenset()), codes=EPOCH_CODES)


def _cache(source: str, broker: str) -> dict[str, str | bool]:
    return {"source": source, "running": broker == RUNNING}


def _fence(current: int | None, metadata: str | None) -> "Fence":
    from kcli.jobs.epoch import Fence

    return Fence(current=-1 if current is None else current, metadata=metadata_path(metadata))


def _position(text: str) -> "Position":
    from kcli.kafka.replication.consumer_positions import Position

    offset, _, epoch = text.partition(":")
    if not epoch:
        raise UsageError(f"--position {text!r}: expected OFFSET:EPOCH, as 1200:4")
    return Position(integer(offset, "offset", 0, INT64), integer(epoch, "leader epoch", -1, INT32))
