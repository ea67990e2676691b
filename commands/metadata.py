"""`kcli metadata`: what a KRaft cluster knows of itself, by the records of its metadata log."""

import os
from collections.abc import Collection
from functools import partial
from glob import has_magic
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.cli.command import Command, Options, RowTopics, moment, number, option
from kcli.cli.parsers import parse_moment
from kcli.cli.status import UsageError
from kcli.cli.typer_command import Group
from kcli.output.answer import Answer
from kcli.words import INT64

if TYPE_CHECKING:
    from kcli.jobs.metadata.metadata import MetadataQuery
    from kcli.kafka.kraft.metadata_loader import Until

app = Group(
    "What a KRaft cluster knows, by its metadata log: topics, brokers, settings, ACLs; their changes."
)

OF_TOPICS = frozenset({"topics", "partitions", "configs"})
SECRETS = option("--secrets", "Show the values of secret settings.")


def _command(name: str, options: Options, job: Any, query: "MetadataQuery", **fields: Any) -> Command:
    from kcli.jobs.cluster_metadata import only_metadata_logs
    from kcli.jobs.metadata import metadata as jobs

    accepts = jobs.METADATA_FILES
    command = Command(name, options, partial(job, query=query), accepts=accepts, expand=only_metadata_logs)
    return command._replace(topics=RowTopics(partial(jobs.topics, query)), **fields)


class ImageOptions(NamedTuple):
    """Up to which record, and what of it is shown."""

    at: str | None = moment("Records", "the metadata log")
    secrets: bool = SECRETS

    def query(self, options: Options, **fields: Any) -> "MetadataQuery":
        """Return the query of a job."""
        from kcli.jobs.metadata.metadata import MetadataQuery

        selection = options.inputs.selection()
        return MetadataQuery(selection=selection, until=_until(self.at), secrets=self.secrets, **fields)


def _until(text: str | None) -> "Until":
    """Return the last record that counts."""
    from kcli.kafka.kraft.metadata_loader import Until

    return Until(*(INT64 if limit is None else limit for limit in parse_moment(text)))


@app.command("show")
def show(*, image: ImageOptions, options: Options) -> Command:
    """Print what the cluster knows: a summary, or all of the kinds that are named before PATH.

    Kinds: topics, partitions, brokers, controllers, configs, features, acls, quotas, scram, tokens,
    producer-ids, voters. PATH is __cluster_metadata-0, the log dir around it, a segment or a .checkpoint.

    Example: kcli metadata show topics partitions /var/lib/kafka/data
    """
    from kcli.jobs.metadata import metadata as jobs
    from kcli.kafka.kraft.metadata_kinds import IMAGE_KINDS
    from kcli.rows import row_types

    kinds, options = _without_kinds(options, IMAGE_KINDS)
    query = image.query(options, kinds=kinds)
    _refuse_without_topics(query, kinds)
    types = dict(zip(["", *IMAGE_KINDS], row_types("metadata show"), strict=True))
    answer = Answer(possible=frozenset(types[kind].name for kind in kinds or ("",)))
    return _command("metadata show", options, jobs.show, query, answer=answer)


@app.command("history")
def history(
    *,
    node: int | None = number("--node N", "Changes of this broker, controller or voter, too.", min=0),
    topic_id: str | None = option("--topic-id ID", "Changes of this topic, also where it was deleted."),
    image: ImageOptions,
    options: Options,
) -> Command:
    """Print what each record changed, in the order of the log.

    Words before PATH choose a TOPIC or TOPIC-PARTITION, and then the fencing of the brokers of its
    replicas is shown, too. It begins with the oldest snapshot or
    segment that is here.

    Example: kcli metadata history orders-3 /var/lib/kafka/data
    """
    from kcli.jobs.metadata import metadata as jobs

    names, paths = _names_and_paths(options.inputs.paths or [])
    query = image.query(options, names=names, node=node, topic_id=topic_id)
    subjects = [*names, *([] if node is None else [f"node {node}"]), *([topic_id] if topic_id else [])]
    message = f"no change here is of {' or '.join(subjects)}" if subjects else None
    return _command(
        "metadata history", options.with_inputs(paths=paths), jobs.history, query, without_rows=message
    )


def _names_and_paths(arguments: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the words that name topics or partitions, also by directories, and those that are paths."""
    from formats.names import CLUSTER_METADATA, parse_partition_dir

    def is_path(argument: str) -> bool:
        if os.sep in argument or argument == "-" or has_magic(argument):
            return True
        name = parse_partition_dir(argument)
        return os.path.lexists(argument) and (name is None or name.topic == CLUSTER_METADATA)

    names = tuple(argument for argument in arguments if not is_path(argument))
    return names, [argument for argument in arguments if is_path(argument)]


@app.command("diff")
def diff(
    *,
    since: str | None = option("--from OFFSET|TIME", "Compare one log at this moment with itself at --to."),
    to: str | None = option("--to OFFSET|TIME", "The later moment; without it the end."),
    secrets: bool = SECRETS,
    options: Options,
) -> Command:
    """Print what differs between two images: of two nodes, of a snapshot and a log, before and after.

    Status 1 where they differ.

    Example: kcli metadata diff controller1/data controller2/data
    """
    from kcli.cli.inputs import comparing
    from kcli.jobs.metadata import metadata as jobs

    if to is not None and since is None:
        raise UsageError("--to needs --from: from which moment on?")
    begin = None if since is None else _until(since)
    query = ImageOptions(to, secrets).query(options, since=begin)
    if begin and any(INT64 > first > last for first, last in zip(begin, query.until, strict=True)):
        raise UsageError(f"--from {since} is later than --to {to}")
    command = _command("metadata diff", options, jobs.diff, query)
    if since is not None:
        return command
    expected = "two metadata logs or snapshots, or one and --from"
    expand, split = comparing(jobs.pairs, jobs.expand_several, expected)
    return command._replace(expand=expand, split=split, compares=True)


@app.command("export")
def export(*, image: ImageOptions, options: Options) -> Command:
    """Print the commands that make topics, settings, ACLs and quotas again on another cluster.

    Kinds before PATH: topics, configs, acls, quotas, scram. -o text prints a script; set BOOTSTRAP for it.

    Example: kcli metadata export -o text /var/lib/kafka/data > again.sh
    """
    from kcli.jobs.metadata import export as jobs

    kinds, options = _without_kinds(options, jobs.EXPORTED)
    query = image.query(options, kinds=kinds)
    _refuse_without_topics(query, kinds or jobs.EXPORTED)
    answer = Answer(text=jobs.lines)
    return _command("metadata export", options, jobs.export, query, answer=answer)


def _without_kinds(options: Options, kinds: Collection[str]) -> tuple[tuple[str, ...], Options]:
    """Return the kinds among the words before the paths, and the options without them."""
    arguments = options.inputs.paths or []
    named_kinds = tuple(dict.fromkeys(argument for argument in arguments if argument in kinds))
    paths = [argument for argument in arguments if argument not in kinds]
    return named_kinds, options.with_inputs(paths=paths)


def _refuse_without_topics(query: "MetadataQuery", kinds: Collection[str]) -> None:
    """Raise UsageError where a topic is asked for, and none of the kinds has topics."""
    if query.selection.names and not OF_TOPICS & {*kinds}:
        raise UsageError("--topic and the like select topics, partitions and configs: name a kind of these")
