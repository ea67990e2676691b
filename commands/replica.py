"""`kcli replica`: the replicas of a partition, compared."""

from functools import partial
from typing import Annotated

import typer

from kcli.cli.brokers import broker_ids
from kcli.cli.metadata import metadata_path
from kcli.cli.options import INT32, Common, Paths, UsageError, common_options, output_options
from kcli.cli.typer_command import Group

DEFAULT_RANGE = 10_000

app = Group(no_args_is_help=True, help="Replicas of a partition: what they have in common, and what not.")


@app.command("diff")
@common_options
def diff(
    paths: Paths = None,
    *,
    ignore_compression: Annotated[
        bool,
        typer.Option(
            "--ignore-compression", help="Batches of the same records are equal, however they are compressed."
        ),
    ] = False,
    common: Common,
) -> None:
    """Compare replicas batch by batch: the first log dir or partition with each of the others.

    A replica may be given by what `replica fingerprint` wrote: -o ndjson, or --out with .ndjson.

    Example: kcli replica diff broker1/data broker2/data
    """
    from kcli.cli.inputs import comparing
    from kcli.cli.run import Command, run
    from kcli.jobs.pairs import pairs
    from kcli.jobs.replica import fingerprint
    from kcli.jobs.replica import replica as jobs

    expand, split = comparing(pairs, lambda found: fingerprint.expand(found, common.selection()))
    command = Command(
        name="replica diff",
        job=partial(jobs.diff, ignore_compression=ignore_compression),
        accepts=fingerprint.ACCEPTS,
        expand=expand,
        split=split,
        compares=True,
    )
    if any(map(fingerprint.is_manifest, paths or ())):  # its partitions are known when it is open
        unselected = common._replace(topic=None, topic_regex=None, partition=None, exclude_internal=False)
        run(command, paths, unselected)
    run(command, paths, common)


@app.command("fingerprint")
@common_options
def fingerprint(
    paths: Paths = None,
    *,
    every: Annotated[
        int,
        typer.Option("--every", metavar="N", min=1, max=INT32, help="Offsets of a range: one hash for each."),
    ] = DEFAULT_RANGE,
    common: Common,
) -> None:
    """Print a hash for each range of offsets of a replica, for `replica diff` on another host.

    Example: kcli replica fingerprint --out b1.ndjson /var/lib/kafka/data
    """
    from kcli.cli.run import Command, run
    from kcli.jobs.replica import fingerprint as jobs

    run(Command(name="replica fingerprint", job=partial(jobs.show, width=every)), paths, common)


@app.command("elect")
@common_options
def elect(
    paths: Paths = None,
    *,
    isr: Annotated[
        list[str] | None,
        typer.Option("--isr", metavar="1,2", help="The brokers that were in sync last.", show_default=False),
    ] = None,
    metadata: Annotated[
        str | None,
        typer.Option(
            "--metadata",
            metavar="PATH",
            help="Take ISR, ELR, assignment and settings from this KRaft metadata log or .checkpoint.",
            show_default=False,
        ),
    ] = None,
    unclean_leader_election: Annotated[
        bool,
        typer.Option(
            "--unclean-leader-election",
            help="Unclean election is enabled, for topics without their own setting.",
        ),
    ] = False,
    common: Common,
) -> None:
    """Show what each replica as the leader would cost: what the others truncate and lose.

    Only the replicas that are named count as live.

    Example: kcli replica elect --isr 1,2 broker1/data broker2/data broker3/data
    """
    if isr is not None and metadata is not None:
        raise UsageError("use --isr or --metadata, not both")
    from kcli.cli.inputs import comparing
    from kcli.cli.run import Command, run
    from kcli.jobs.replica import elect as jobs
    from kcli.kafka.kraft.failover import Defaults

    expand, split = comparing(jobs.groups)
    electorate = jobs.Electorate(
        isr=None if isr is None else broker_ids(isr, "--isr"),
        metadata=metadata_path(metadata),
        defaults=Defaults(may_be_unclean=unclean_leader_election),
    )
    run(
        Command(
            name="replica elect",
            job=partial(jobs.show, electorate=electorate),
            expand=expand,
            split=split,
            compares=True,
        ),
        paths,
        common,
    )


@app.command("simulate")
@output_options
def simulate(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO", help="A name that --list shows, or a .toml file.", show_default=False
        ),
    ] = None,
    *,
    list_them: Annotated[bool, typer.Option("--list", help="List the stories that come with kcli.")] = False,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="How followers truncate, instead of what the story says: high-watermark (before Kafka "
            "0.11), epoch-v0 (KIP-101), epoch (KIP-279), fetch (from 2.7).",
            show_default=False,
        ),
    ] = None,
    common: Common,
) -> None:
    """Show a story of leader changes step by step: log ends, high watermarks, epochs, truncations.

    Example: kcli replica simulate loss
    """
    if list_them == (scenario is not None):
        raise UsageError("name a SCENARIO, or use --list")
    from kcli.cli.run import new_summary, run_answer
    from kcli.jobs.replica import simulate as jobs
    from kcli.kafka.replication.replication import PROTOCOLS
    from kcli.logdir.buffers import FileError
    from kcli.rows.simulation import SCENARIO, SIMULATION

    if protocol is not None and protocol not in PROTOCOLS:
        raise UsageError(f"--protocol {protocol}: expected one of {', '.join(PROTOCOLS)}")
    summary = new_summary(common)
    summary.answered = 1
    if scenario is None:
        run_answer(
            "replica simulate", jobs.list_stories(), common, summary, possible=frozenset({SCENARIO.name})
        )
        return
    try:
        story = jobs.load_scenario(scenario)
        rows = jobs.simulate(story._replace(protocol=protocol or story.protocol))
    except (jobs.ScenarioError, FileError) as error:
        raise UsageError(str(error)) from error
    run_answer("replica simulate", rows, common, summary, possible=frozenset({SIMULATION.name}))
