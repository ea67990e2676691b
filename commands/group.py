"""`kcli group`: what consumer groups had committed, by the log of their coordinator."""

from functools import partial
from glob import has_magic
from typing import Any, NamedTuple

from kcli.cli.command import COORDINATOR_VERSION, Command, Options, RowTopics, moment, option
from kcli.cli.parsers import parse_moment, parse_release, split_list
from kcli.cli.status import UsageError
from kcli.cli.typer_command import Group
from kcli.output.answer import Answer
from kcli.rows.declare import names_of
from kcli.words import clock_ms

app = Group("Groups of consumers, by __consumer_offsets: their commits, members and history.")

RESET_OFFSETS = "reset-offsets"


class GroupOptions(NamedTuple):
    """Which groups, and up to which record."""

    group: list[str] | None = option("--group NAME,...", "Only these groups; globs.")
    at: str | None = moment("Records", "__consumer_offsets")


def _command(name: str, options: Options, job: Any, groups: GroupOptions, **fields: Any) -> Command:
    """Return the command of a job of `kcli.jobs.group` with the query that the options make."""
    from formats.names import CONSUMER_OFFSETS
    from kcli.jobs import group as jobs
    from kcli.jobs.copies import absent_coordinators
    from kcli.rows.groups import GroupRow, GroupStorageRow

    last_offset, last_time = parse_moment(groups.at)
    names = tuple(split_list(groups.group))
    query = jobs.GroupQuery(
        now_ms=clock_ms() if last_time is None else last_time,
        groups=names,
        selection=options.inputs.selection(),
        last_offset=last_offset,
        last_time_ms=last_time,
        **fields,
    )
    is_any = not names or "*" in names
    message = None if is_any else f"no group here is {' or '.join(names)}: kcli group list shows all"
    types = {jobs.list_groups: GroupRow, jobs.storage: GroupStorageRow}
    possible = names_of(types[job]) if job in types else None
    topics = jobs.OFFSET_TOPICS if job is jobs.offsets else (CONSUMER_OFFSETS,)
    return Command(
        name,
        options,
        partial(job, query=query),
        answer=Answer(possible=possible),
        expand=partial(jobs.expand, topics=topics, of_one=query.resets),
        split=lambda units: jobs.split(units, topics),
        topics=RowTopics(jobs.topics),
        without_rows=message
        and (lambda file_set: message + absent_coordinators(names, CONSUMER_OFFSETS, file_set)),
    )


@app.command("list")
def list_groups(
    *,
    groups: GroupOptions,
    kafka_version: str | None = COORDINATOR_VERSION,
    by_bytes: bool = option("--storage", "What the records of each group take in the log, by type."),
    options: Options,
) -> Command:
    """Print every group: its state, members, and how much it has committed.

    --topic, --partition: of the users; groups that committed for them. A record at which the load of a
    coordinator would end is a finding.

    Example: kcli group list /var/lib/kafka/data
    """
    from kcli.jobs import group as jobs

    version = parse_release(kafka_version)
    job = jobs.storage if by_bytes else jobs.list_groups
    return _command("group list", options, job, groups, version=version)


@app.command("offsets")
def offsets(
    *,
    groups: GroupOptions,
    everything: bool = option("--all", "Commits that a tombstone removed, too."),
    line_format: str | None = option(
        "--format",
        "Lines of -o csv for kafka-consumer-groups.sh --reset-offsets --from-file.",
        choices=(RESET_OFFSETS,),
    ),
    options: Options,
) -> Command:
    """Print what each group committed, its lag, and whether the log still has it.

    Lag and position need the log of the partition, too: name the log dirs of all brokers.

    Example: kcli group offsets --group billing /var/lib/kafka/data
    """
    if line_format is not None:
        from kcli.output.formats import CSV

        if options.output.format != CSV.name or everything:
            raise UsageError("--format reset-offsets needs -o csv, without --all")
        names = split_list(groups.group)
        is_one = len(names) == 1 and not has_magic(names[0])
        columns = ["topic", "partition", "committed_offset"]
        columns = columns if is_one else ["group_id", *columns]
        options = options._replace(output=options.output._replace(columns=columns, no_headers=True))
    from kcli.jobs import group as jobs

    fields = {"removed": everything, "resets": line_format is not None}
    return _command("group offsets", options, jobs.offsets, groups, **fields)


@app.command("members")
def members(*, groups: GroupOptions, options: Options) -> Command:
    """Print the members of each group: client, host, partitions, topics.

    Example: kcli group members --group billing /var/lib/kafka/data
    """
    from kcli.jobs import group as jobs

    return _command("group members", options, jobs.members, groups)


@app.command("history")
def history(*, groups: GroupOptions, options: Options) -> Command:
    """Print each commit and each tombstone of a group, in the order of the log.

    --topic, --partition: of the users. Cleaning removes older commits of a partition.

    Example: kcli group history --group billing --topic orders /var/lib/kafka/data
    """
    if not groups.group:
        raise UsageError("use --group NAME: of which group? kcli group list shows all")
    from kcli.jobs import group as jobs

    return _command("group history", options, jobs.history, groups)
