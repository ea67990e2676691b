"""`kcli replica`: the replicas of a partition, compared."""

from collections.abc import Iterable
from functools import partial

from kcli.cli.command import BROKER_STATE, RUNNING, Command, Options, Output, argument, choose, number, option
from kcli.cli.parsers import broker_ids, metadata_path
from kcli.cli.status import UsageError
from kcli.cli.typer_command import Group
from kcli.output.answer import Answer
from kcli.rows.declare import names_of

DEFAULT_RANGE = 10_000

app = Group("Replicas of a partition: what they have in common, and what not.")


@app.command("diff")
def diff(
    *,
    ignore_compression: bool = option(
        "--ignore-compression", "Batches of the same records are equal, however they are compressed."
    ),
    options: Options,
) -> Command:
    """Compare replicas batch by batch: the first log dir or partition with each of the others.

    A replica may be given by what `replica fingerprint` wrote: -o ndjson, or --out with .ndjson.

    Example: kcli replica diff broker1/data broker2/data
    """
    from kcli.cli.inputs import comparing
    from kcli.jobs.replica import replica_diff as jobs
    from kcli.jobs.replica_pairs import pairs

    selection = options.inputs.selection()
    expand, split = comparing(pairs, lambda file_set: jobs.with_manifests(file_set, selection))
    if any(map(jobs.is_manifest, options.inputs.paths or ())):  # its partitions are known when it is open
        options = options.without_selection()
    return Command(
        "replica diff",
        options,
        partial(jobs.diff, ignore_compression=ignore_compression),
        accepts=jobs.REPLICA_KINDS,
        expand=expand,
        split=split,
        compares=True,
    )


@app.command("fingerprint")
def fingerprint(
    *,
    every: int = number("--every N", "Offsets of a range: one hash for each.", default=DEFAULT_RANGE, min=1),
    options: Options,
) -> Command:
    """Print a hash for each range of offsets of a replica, for `replica diff` on another host.

    Example: kcli replica fingerprint --out b1.ndjson /var/lib/kafka/data
    """
    from kcli.jobs.replica import replica_diff as jobs

    return Command("replica fingerprint", options, partial(jobs.fingerprint, width=every))


@app.command("elect")
def elect(
    *,
    isr: list[str] | None = option("--isr 1,2", "The brokers that were in sync last."),
    metadata: str | None = option(
        "--metadata PATH",
        "Take ISR, ELR, assignment and settings from this KRaft metadata log or .checkpoint.",
    ),
    unclean_leader_election: bool = option(
        "--unclean-leader-election", "Unclean election is enabled, for topics without their own setting."
    ),
    broker: str = BROKER_STATE,
    options: Options,
) -> Command:
    """Show what each replica as the leader would cost: what the others truncate and lose.

    Only the replicas that are named count as live.

    Example: kcli replica elect --isr 1,2 broker1/data broker2/data broker3/data
    """
    if isr is not None and metadata is not None:
        raise UsageError("use --isr or --metadata, not both")
    from kcli.cli.inputs import comparing
    from kcli.jobs.replica import elect as jobs
    from kcli.kafka.kraft.failover import Defaults

    expand, split = comparing(jobs.groups)
    electorate = jobs.Electorate(
        isr=None if isr is None else broker_ids(isr, "--isr"),
        metadata=metadata_path(metadata),
        defaults=Defaults(may_be_unclean=unclean_leader_election),
    )
    job = partial(jobs.show, electorate=electorate, running=broker == RUNNING)
    return Command("replica elect", options, job, expand=expand, split=split, compares=True)


def _scenarios() -> Iterable[str]:
    from kcli.jobs.replica.simulate import bundled

    return bundled()


def _protocols() -> Iterable[str]:
    from kcli.kafka.replication.follower import PROTOCOLS

    return PROTOCOLS


@app.command("simulate")
def simulate(
    scenario: str | None = argument(
        "SCENARIO", "A name that --list shows, or a .toml file.", words=_scenarios
    ),
    *,
    list_them: bool = option("--list", "List the stories that come with kcli."),
    protocol: str | None = option(
        "--protocol NAME",
        "How followers truncate, instead of what the story says: high-watermark (before Kafka "
        "0.11), epoch-v0 (KIP-101), epoch (KIP-279), fetch (from 2.7).",
        words=_protocols,
    ),
    output: Output,
) -> None:
    """Show a story of leader changes step by step: log ends, high watermarks, epochs, truncations.

    Example: kcli replica simulate loss
    """
    if list_them == (scenario is not None):
        raise UsageError("name a SCENARIO, or use --list")
    from kcli.cli.run import new_summary, run_answer
    from kcli.jobs.replica import simulate as jobs
    from kcli.kafka.replication.follower import PROTOCOLS
    from kcli.logdir.buffers import FileError
    from kcli.rows.replicas import ScenarioRow, SimulationRow

    if protocol is not None:
        choose("--protocol", protocol, PROTOCOLS)
    summary = new_summary(output)
    summary.answered = 1
    if scenario is None:
        stories = Answer(possible=names_of(ScenarioRow))
        run_answer("replica simulate", jobs.list_stories(), output, summary, stories)
        return
    try:
        story = jobs.load_scenario(scenario)
        rows = jobs.simulate(story._replace(protocol=protocol or story.protocol))
    except (jobs.ScenarioError, FileError) as error:
        raise UsageError(str(error)) from error
    run_answer("replica simulate", rows, output, summary, Answer(possible=names_of(SimulationRow)))
