"""`kcli retention`: what goes of each log, when, and why the rest stays."""

from collections.abc import Iterable
from functools import partial

from commands.startup import METADATA_PATH
from kcli.cli.command import BROKER, Command, Inputs, Options, option
from kcli.cli.parsers import log_dir_of_metadata, parse_time, remote_metadata_of
from kcli.cli.status import UsageError
from kcli.output.answer import Answer

LOOK_TIME = option("--at TIME", "The time of the look; without: now.", BROKER)
REMOTE_METADATA = option(
    "--remote-metadata PATH",
    "Read __remote_log_metadata here, too: a log dir or a partition dir; repeatable.",
)
CONFIG = option(
    "--config --if K=V", "Take this topic setting for all logs: retention.ms=86400000; repeatable.", BROKER
)


def retention(
    *,
    at: str | None = LOOK_TIME,
    config: list[str] | None = CONFIG,
    metadata: str | None = METADATA_PATH,
    remote_metadata: list[str] | None = REMOTE_METADATA,
    options: Options,
) -> Command:
    """Print which segments a broker deletes next, why the others stay, and what the cleaner does.

    Settings are those of the topic and of the broker in the cluster metadata here, of --server-config, then
    Kafka's defaults; each row says where they are from.

    Example: kcli retention /var/lib/kafka/data --topic orders
    """
    from kcli.jobs import retention as jobs
    from kcli.jobs.cluster_metadata import with_topic_settings
    from kcli.jobs.held_log import RetentionQuery
    from kcli.jobs.tiered_leader import with_events
    from kcli.kafka.kraft.log_config import POLICY

    elsewhere = remote_metadata_of(remote_metadata)
    query = RetentionQuery(parse_time(at), settings_of_server(options.inputs), settings_in(config or ()))
    expand = partial(
        with_topic_settings, log_dir=log_dir_of_metadata(metadata), are_given=POLICY in query.given
    )
    return Command(
        "retention",
        options,
        partial(jobs.retention, query=query),
        expand=expand,
        split=lambda units: with_events(units, elsewhere),
        answer=Answer(single_view=True),
        without_rows="__cluster_metadata is cut by its snapshots, not by retention: "
        "metadata.max.retention.bytes, metadata.max.retention.ms",
    )


def settings_of_server(inputs: Inputs) -> dict[str, str]:
    """Return what --server-config says; UsageError for a value with which no broker starts."""
    from kcli.cli.inputs import server_properties
    from kcli.kafka.kraft.log_config import refused_setting

    server = server_properties(inputs) or {}
    refused = refused_setting(server)
    if refused is not None:
        raise UsageError(f"--server-config {inputs.server_config}: {refused}")
    return server


def settings_in(assignments: Iterable[str]) -> dict[str, str]:
    """Return the settings in `name=value` words; UsageError for one that retention does not ask for."""
    from kcli.kafka.kraft.log_config import TOPIC_SETTINGS

    settings: dict[str, str] = {}
    for assignment in assignments:
        name, is_set, value = assignment.partition("=")
        if not is_set:
            raise UsageError(f"setting {assignment}: expected NAME=VALUE, such as retention.ms=86400000")
        if name not in TOPIC_SETTINGS:
            raise UsageError(f"setting {name}: expected one of {', '.join(TOPIC_SETTINGS)}")
        if name in settings:
            raise UsageError(f"setting {name}: given twice")
        expected = TOPIC_SETTINGS[name].refusal(value)
        if expected:
            raise UsageError(f"setting {assignment}: expected {expected}")
        settings[name] = value
    return settings
