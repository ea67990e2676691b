"""`kcli epoch`: leader epochs of partitions, and the answers to OffsetForLeaderEpoch."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from kcli.cli.metadata import metadata_path
from kcli.cli.options import (
    INT32,
    INT64,
    Common,
    Paths,
    UsageError,
    common_options,
    integer,
    parse_epochs,
    parse_offset,
    split_list,
)
from kcli.cli.typer_command import Group

if TYPE_CHECKING:
    from kcli.jobs.epoch.fencing import Fence
    from kcli.kafka.replication.positions import Position

app = Group(
    no_args_is_help=True,
    help="Leader epochs of replicas, and where each of them ends (KIP-101, KIP-279).",
)

SOURCES = ("checkpoint", "batches")

From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="checkpoint|batches",
        show_default=False,
        help="Take the epochs from leader-epoch-checkpoint (the default), or from the batches themselves.",
    ),
]

TEXT = "text"
BROKERS = ("starting", "running")

Broker = Annotated[
    str,
    typer.Option(
        "--broker",
        metavar="starting|running",
        show_default=False,
        help="starting (the default): the epochs that a broker holds after its start. "
        "running: also keeps an epoch that has no records yet.",
    ),
]

RESETS = ("earliest", "latest", "none")

CurrentLeaderEpoch = Annotated[
    int | None,
    typer.Option(
        "--current-leader-epoch",
        metavar="N",
        min=0,
        max=INT32,
        show_default=False,
        help="The leader epoch that the request names; a broker that knows another answers with an error.",
    ),
]

Metadata = Annotated[
    str | None,
    typer.Option(
        "--metadata",
        metavar="PATH",
        show_default=False,
        help="Take the partition's leader and its epoch from this KRaft metadata log or .checkpoint; without "
        "it the newest epoch of the cache counts.",
    ),
]


@app.command("show")
@common_options
def show(
    paths: Paths = None, *, source: From = "checkpoint", broker: Broker = "starting", common: Common
) -> None:
    """Print the leader epochs of each partition with their start and end offsets.

    --from batches -o text prints the leader-epoch-checkpoint that the batches of one partition give.

    Example: kcli epoch show /var/lib/kafka/data/orders-0
    """
    if common.output == TEXT:
        if source != "batches":
            raise UsageError("-o text prints the file that the batches give; use --from batches")
        if common.only or common.columns or common.sort or common.where or common.limit:
            raise UsageError(
                "-o text prints the whole file: leave out --only, --columns, --sort, --where, --limit"
            )
    from kcli.cli.run import Command, run
    from kcli.engine.contract import Unit
    from kcli.jobs.epoch import epoch as jobs

    def of_one_partition(units: list[Unit], _: bool) -> list[Unit]:  # noqa: FBT001 - Command.split
        if common.output == TEXT and len(units) > 1:
            raise UsageError(f"-o text prints the file of one partition; {len(units)} are here")
        return units

    job = partial(jobs.show, **_cache(source, broker))
    command = Command(
        name="epoch show",
        job=job,
        accepts=jobs.ACCEPTS,
        split=of_one_partition,
        text=jobs.checkpoint_lines,
    )
    run(command, paths, common)


@app.command("end-offset")
@common_options
def end_offset(
    paths: Paths = None,
    *,
    epoch: Annotated[
        list[str],
        typer.Option(
            "--epoch",
            metavar="0..3,7|all",
            help="The epochs to ask for; all: every epoch in the cache and its neighbours.",
        ),
    ],
    log_end_offset: Annotated[
        int | None,
        typer.Option(
            "--log-end-offset",
            metavar="N",
            min=0,
            max=INT64,
            help="The log end offset, instead of the one that the files give.",
            show_default=False,
        ),
    ] = None,
    current_leader_epoch: CurrentLeaderEpoch = None,
    metadata: Metadata = None,
    source: From = "checkpoint",
    broker: Broker = "starting",
    common: Common,
) -> None:
    """Print where leader epochs end: what a broker answers to OffsetForLeaderEpoch, and by which rule.

    Example: kcli epoch end-offset --epoch all /var/lib/kafka/data/orders-0
    """
    from kcli.cli.run import Command, run
    from kcli.jobs.epoch import epoch as jobs

    job = partial(
        jobs.end_offset,
        asked=parse_epochs(",".join(epoch)),
        log_end_offset=log_end_offset,
        fence=_fence(current_leader_epoch, metadata),
        **_cache(source, broker),
    )
    run(Command(name="epoch end-offset", job=job, accepts=jobs.ACCEPTS), paths, common)


@app.command("at")
@common_options
def at(
    offset: Annotated[
        str, typer.Argument(metavar="OFFSET", help="A number, earliest or latest.", show_default=False)
    ],
    paths: Paths = None,
    *,
    source: From = "checkpoint",
    broker: Broker = "starting",
    common: Common,
) -> None:
    """Print the leader epoch that an offset was written in.

    Example: kcli epoch at 1200 /var/lib/kafka/data/orders-0
    """
    from kcli.cli.run import Command, run
    from kcli.jobs.epoch import epoch as jobs

    job = partial(jobs.at, offset=parse_offset(offset), **_cache(source, broker))
    run(Command(name="epoch at", job=job, accepts=jobs.ACCEPTS), paths, common)


@app.command("validate")
@common_options
def validate(
    paths: Paths = None,
    *,
    position: Annotated[
        list[str],
        typer.Option(
            "--position",
            metavar="OFFSET:EPOCH,...",
            help="The offset that a consumer reads next, and the leader epoch that it knows of it.",
        ),
    ],
    reset: Annotated[
        str,
        typer.Option("--reset", metavar="earliest|latest|none", help="The consumer's auto.offset.reset."),
    ] = "latest",
    current_leader_epoch: CurrentLeaderEpoch = None,
    metadata: Metadata = None,
    source: From = "checkpoint",
    broker: Broker = "starting",
    common: Common,
) -> None:
    """Say whether a consumer keeps its position when this replica leads, or where it goes back to.

    Example: kcli epoch validate --position 1200:4 /var/lib/kafka/data/orders-0
    """
    if reset not in RESETS:
        raise UsageError(f"--reset {reset}: expected one of {', '.join(RESETS)}")
    from kcli.cli.run import Command, run
    from kcli.jobs.epoch import epoch as epochs
    from kcli.jobs.epoch import positions as jobs

    job = partial(
        jobs.check,
        consumer=jobs.Consumer(tuple(map(_position, split_list(position))), reset),
        fence=_fence(current_leader_epoch, metadata),
        **_cache(source, broker),
    )
    run(
        Command(name="epoch validate", job=job, accepts=epochs.ACCEPTS, differs=jobs.has_truncated),
        paths,
        common,
    )


@app.command("diff")
@common_options
def diff(paths: Paths = None, *, common: Common) -> None:
    """Show where the leader epochs of replicas part: the first log dir or partition with each other one.

    Example: kcli epoch diff broker1/data broker2/data broker3/data
    """
    from kcli.cli.inputs import comparing
    from kcli.cli.run import Command, run
    from kcli.jobs.epoch import epoch_diff as jobs
    from kcli.jobs.pairs import pairs

    expand, split = comparing(pairs)
    command = Command(
        name="epoch diff", job=jobs.diff, expand=expand, split=split, differs=jobs.has_parted, compares=True
    )
    run(command, paths, common)


@app.command("check")
@common_options
def check(paths: Paths = None, *, common: Common) -> None:
    """Hold each leader-epoch-checkpoint against the batches: epochs missing, extra, shifted, past the end.

    Example: kcli epoch check /var/lib/kafka/data
    """
    from kcli.cli.run import Command, run
    from kcli.jobs.epoch import epoch_lines as jobs

    run(Command(name="epoch check", job=jobs.check, differs=jobs.is_wrong), paths, common)


class _Cache(TypedDict):
    source: str
    running: bool


def _cache(source: str, broker: str) -> _Cache:
    for option, word, words in (("--from", source, SOURCES), ("--broker", broker, BROKERS)):
        if word not in words:
            raise UsageError(f"{option} {word}: expected one of {', '.join(words)}")
    return {"source": source, "running": broker == "running"}


def _fence(current: int | None, metadata: str | None) -> "Fence":
    from kcli.jobs.epoch.fencing import Fence

    return Fence(current=-1 if current is None else current, metadata=metadata_path(metadata))


def _position(word: str) -> "Position":
    from kcli.kafka.replication.positions import Position

    offset, _, epoch = word.partition(":")
    if not epoch:
        raise UsageError(f"--position {word!r}: expected OFFSET:EPOCH, as 1200:4")
    return Position(integer(offset, "offset", 0, INT64), integer(epoch, "leader epoch", -1, INT32))
