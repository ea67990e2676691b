"""`kcli rlmm bootstrap`: remote log metadata of a live cluster."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from kcli.cli.boundary import say
from kcli.cli.option import REQUIRED, option
from kcli.cli.options import Inputs, Output
from kcli.cli.status import RefusedError, UsageError
from kcli.words import duration_ms

if TYPE_CHECKING:
    from kcli.broker.settings import ClientSettings
    from kcli.cli.summary import RunSummary
    from kcli.engine.contract import Outcome
    from kcli.jobs.rlmm.bootstrap import OffsetsOnDisk
    from kcli.logdir.targets import Selection
    from kcli.rows import Item

LONGEST_WAIT_MS = 600_000
"""The longest --timeout, in ms."""
NOT_ASKED = "note: the cluster is not asked for -4, -5 and -6: librdkafka knows no request for them"
TEXT = "text"


def bootstrap(
    *,
    bootstrap_server: str = option(
        "--bootstrap-server HOST:PORT,...", "Brokers of the cluster.", default=REQUIRED
    ),
    command_config: str | None = option(
        "--command-config FILE", "Properties of the client: security.protocol, sasl.*, ssl.*."
    ),
    events: bool = option("--events", "Every event, as rlmm dump gives them."),
    timeout: str = option("--timeout DURATION", "The longest wait for an answer.", default="15s"),
    inputs: Inputs,
    output: Output,
) -> None:
    """Read remote log metadata from a live cluster; ask it for its offsets, beside those of PATHs.

    Nothing is written, no group is joined, nothing is committed. --topic, --partition: of the user.

    Example: kcli rlmm bootstrap --bootstrap-server b1:9092 /var/lib/kafka/data
    """
    from kcli.cli.run import Answer, new_summary, run_answer
    from kcli.jobs.rlmm.dump import kafka_lines
    from kcli.rows.remote_metadata import RLMM_EVENT
    from kcli.rows.remote_segments import REMOTE_SEGMENT
    from kcli.rows.remote_tiers import RLMM_CLUSTER_OFFSET

    has_paths = bool(inputs.paths or inputs.files_from or inputs.server_config)
    if events and has_paths:
        raise UsageError("--events with PATH: rlmm dump PATH prints the events of files")
    if output.format == TEXT and not events:
        raise UsageError("-o text needs --events")
    milliseconds = duration_ms(timeout)
    if not 0 < milliseconds <= LONGEST_WAIT_MS:
        raise UsageError(
            f"--timeout {timeout}: expected more than 0s and at most {LONGEST_WAIT_MS // 60_000}m"
        )
    settings = _settings(bootstrap_server, command_config)
    summary = new_summary(output)
    on_disk = _on_disk(inputs, summary) if has_paths else {}
    found = _outcomes(settings, milliseconds / 1000, inputs.selection(), on_disk, events=events)
    answer = partial(run_answer, "rlmm bootstrap", _rows(found, inputs, output, summary), output, summary)
    if events:
        answer(Answer(possible=frozenset({RLMM_EVENT.name}), text=kafka_lines))
    else:
        both = frozenset({REMOTE_SEGMENT.name, RLMM_CLUSTER_OFFSET.name})
        answer(Answer(possible=both, default_type=REMOTE_SEGMENT.name, single_view=True))


def _rows(
    found: Iterator["Outcome"], inputs: Inputs, output: Output, summary: "RunSummary"
) -> Iterator["Item"]:
    from kcli.rows import Failure
    from kcli.rows.remote_tiers import RlmmClusterOffsetRow

    has_rows, has_offsets = not inputs.selection().names, False
    for outcome in found:
        summary.inputs += 1
        summary.add(outcome)
        has_rows = has_rows or bool(outcome.rows)
        has_offsets = has_offsets or any(isinstance(row, RlmmClusterOffsetRow) for row in outcome.rows)
        yield from outcome.rows
    if has_offsets and not output.quiet:
        say(NOT_ASKED)
    if not has_rows and not summary.failures:
        summary.answered = 0
        message = "no event is about what was asked for"
        summary.failures.append(Failure("", "nothing-matched", None, None, message))


def _outcomes(
    settings: "ClientSettings",
    timeout: float,
    selection: "Selection",
    on_disk: "OffsetsOnDisk",
    *,
    events: bool,
) -> Iterator["Outcome"]:
    """Yield what the cluster gives; one that does not answer is a part of the environment that lacks."""
    from kcli.broker.cluster import Cluster, ClusterError
    from kcli.broker.settings import SettingError
    from kcli.engine.errors import EngineMissingError
    from kcli.jobs.rlmm import bootstrap as jobs

    try:
        cluster = Cluster(settings, timeout)
    except SettingError as error:
        raise UsageError(str(error)) from error
    except ClusterError as error:
        raise EngineMissingError(str(error)) from error
    yield from jobs.events(cluster, selection) if events else jobs.state(cluster, selection, on_disk)


def _on_disk(inputs: Inputs, summary: "RunSummary") -> "OffsetsOnDisk":
    """Return the offsets that the files of log dirs give; what cannot be read are errors of the summary."""
    from kcli.cli.inputs import named_paths
    from kcli.jobs.common import (
        PARTITIONS_ONLY,
        notes_as_findings,
        plan,
    )
    from kcli.jobs.rlmm.bootstrap import offsets_on_disk
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    found = find(list(named_paths(inputs)), Selection(include_leftovers=inputs.include_leftovers))
    units, failures = plan(found, PARTITIONS_ONLY)
    summary.failures.extend(failures)
    summary.findings.extend(notes_as_findings(found.notes))
    offsets, outcomes = offsets_on_disk(units, inputs.selection())
    for outcome in outcomes:
        summary.inputs += 1
        summary.add(outcome)
    return offsets


def _settings(servers: str, command_config: str | None) -> "ClientSettings":
    from kcli.broker.settings import SettingError, UnsafeSettingError, client_settings
    from kcli.cli.inputs import properties_of

    option = "--command-config"
    properties = {} if command_config is None else properties_of(option, command_config)
    try:
        return client_settings(servers, properties)
    except UnsafeSettingError as error:
        raise RefusedError(f"{option} {command_config}: {error}") from error
    except SettingError as error:
        raise UsageError(f"{option} {command_config}: {error}") from error
