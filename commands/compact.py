"""`kcli compact`: what one cleaning would leave of each compacted log."""

from functools import partial

from commands.retention import CONFIG, LOOK_TIME, settings_in, settings_of_server
from commands.startup import METADATA_PATH
from kcli.cli.command import Command, Options, option, release
from kcli.cli.parsers import log_dir_of_metadata, parse_release, parse_time


def compact(
    *,
    at: str | None = LOOK_TIME,
    records: bool = option("--records", "Each record that goes, and why."),
    config: list[str] | None = CONFIG,
    metadata: str | None = METADATA_PATH,
    kafka_version: str | None = release("of the broker"),
    options: Options,
) -> Command:
    """Print what one cleaning would keep and free of each compacted log; nothing is changed.

    Settings as in kcli retention; --server-config has the memory that the cleaner may use for keys.

    Example: kcli compact /var/lib/kafka/data --topic __consumer_offsets
    """
    from kcli.jobs import compact as jobs
    from kcli.jobs.cluster_metadata import with_topic_settings
    from kcli.jobs.held_log import RetentionQuery
    from kcli.kafka.kraft.log_config import POLICY

    now_ms = parse_time(at)
    query = RetentionQuery(now_ms, settings_of_server(options.inputs), settings_in(config or ()))
    release = parse_release(kafka_version)
    job = partial(jobs.compact, query=query, release=release, records=records)
    expand = partial(
        with_topic_settings, log_dir=log_dir_of_metadata(metadata), are_given=POLICY in query.given
    )
    message = "nothing here is compacted: no cleanup.policy has compact; --if cleanup.policy=compact tries it"
    return Command("compact", options, job, expand=expand, without_rows=message)
