"""`kcli rlmm`: what __remote_log_metadata says about the segments of tiered topics (KIP-405)."""

import re
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from commands import rlmm_tier
from kcli.cli.boundary import say
from kcli.cli.command import (
    REQUIRED,
    Command,
    Given,
    Inputs,
    Output,
    RowTopics,
    argument,
    moment,
    number,
    option,
)
from kcli.cli.parsers import parse_moment
from kcli.cli.status import RefusedError, UsageError
from kcli.cli.typer_command import Group
from kcli.output.answer import Answer
from kcli.rows.declare import names_of
from kcli.words import INT32, INT64, WordError, duration_ms, parse_integers

if TYPE_CHECKING:
    from kcli.broker.settings import ClientSettings
    from kcli.cli.printing import Text
    from kcli.cli.summary import RunSummary
    from kcli.engine.contract import Outcome
    from kcli.jobs.rlmm.bootstrap import OffsetsOnDisk
    from kcli.kafka.remote.events import EventQuery
    from kcli.logdir.find import FileSet
    from kcli.logdir.targets import Selection
    from kcli.rows import Item

app = Group("Remote log metadata: what brokers did with each remote segment (KIP-405).")

KAFKA, KIP, KIP_LINES = "kafka", "kip", "kip405"
LAYOUT_OPTION = option(
    "--layout", "As brokers do, or as KIP-405 says (rows only).", default=KAFKA, choices=(KAFKA, KIP)
)
TEXT_WORD = "text"
DEFAULT_PARTITIONS = 50
HISTORY, REPLAY = "--history", "--replay"
SEGMENT_ID = "[A-Za-z0-9_-]{22}"
EVENT_SOURCES = ("events", "snapshots")

SOURCE = option(
    "--from",
    "The metadata topic, or the remote_log_snapshot files of 3.1 to 3.7 and the events after them; "
    "without: events where there are any.",
    choices=EVENT_SOURCES,
)

AT = moment("Events", "the metadata partition")

LONGEST_WAIT_MS = 600_000
"""The longest --timeout, in ms."""
NOT_ASKED = "note: the cluster is not asked for -4, -5 and -6: librdkafka knows no request for them"


@app.command("dump")
def dump(
    *,
    text_format: str | None = option(
        "--format",
        "Lines of -o text: of RemoteLogMetadataFormatter (the default), or of KIP-405.",
        choices=(KAFKA, KIP_LINES),
    ),
    layout: str = LAYOUT_OPTION,
    given: Given,
) -> Command:
    """Print every event of remote log metadata.

    Log dirs, partition dirs, segments, remote_log_snapshot files. --topic, --partition: of the user.

    Example: kcli rlmm dump -o ndjson /var/lib/kafka/data
    """
    if text_format is not None and given.output.format != TEXT_WORD:
        raise UsageError("--format needs -o text")
    if layout == KIP and given.output.format == TEXT_WORD:
        raise UsageError("--layout kip gives rows: take another -o than text")
    from kcli.jobs.metadata_partitions import expand
    from kcli.jobs.rlmm import dump as jobs
    from kcli.jobs.rlmm import kip

    texts: dict[str, Text] = {KAFKA: jobs.kafka_lines, KIP_LINES: kip.lines}
    if layout == KIP:
        return Command(
            "rlmm dump",
            given,
            kip.dump,
            accepts=kip.KIP_FILE_KINDS,
            expand=expand,
            possible_types=kip.row_types,
            answer=Answer(default_type="rlmm_kip_event"),
        )
    return Command(
        "rlmm dump",
        given,
        partial(jobs.dump_selected, selection=given.inputs.selection()),
        topics=RowTopics(jobs.topics),
        accepts=jobs.EVENT_FILE_KINDS,
        expand=expand,
        possible_types=jobs.row_types,
        answer=Answer(text=texts[text_format or KAFKA]),
    )


@app.command("state")
def state(
    *,
    source: str | None = SOURCE,
    at: str | None = AT,
    deleted: bool = option("--deleted", "Deleted segments too, which a broker forgets."),
    history: str | None = option(f"{HISTORY} SEGMENT_ID", "Every event of this segment."),
    replay: bool = option(
        f"{REPLAY}", "Which offset each remote_log_snapshot covers, and what a replay of the events adds."
    ),
    listed: int | None = number("--list EPOCH", "As listRemoteLogSegments.", min=0),
    lookup: str | None = option("--lookup EPOCH:OFFSET", "As remoteLogSegmentMetadata."),
    next_txn: str | None = option("--next-txn EPOCH:OFFSET", "As nextSegmentWithTxnIndex."),
    highest: int | None = number("--highest EPOCH", "As highestOffsetForEpoch.", min=0),
    given: Given,
) -> Command:
    """Print the remote segments of every partition, in the state that their events gave them.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user.

    Example: kcli rlmm state /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import state as jobs
    from kcli.jobs.rlmm.dump import topics
    from kcli.jobs.rlmm.state import EVENT_SOURCE_KINDS, expand_source, grouped
    from kcli.rows.remote_segments import (
        RemoteHighestRow,
        RemoteHistoryRow,
        RemoteReplayRow,
        RemoteSegmentRow,
    )

    queries: dict[str, Any] = {
        HISTORY: history,
        REPLAY: replay or None,
        "--list": None if listed is None else partial(jobs.listed, epoch=listed),
        "--lookup": None if lookup is None else partial(jobs.looked_up, at=_position("--lookup", lookup)),
        "--next-txn": None
        if next_txn is None
        else partial(jobs.next_with_txn_index, at=_position("--next-txn", next_txn)),
        "--highest": None if highest is None else partial(jobs.highest, epoch=highest),
    }
    asked = [name for name, query in queries.items() if query is not None]
    if len(asked) > 1:
        raise UsageError(f"{asked[0]}, {asked[1]}: one question at a time")
    if deleted and asked:
        raise UsageError(f"--deleted with {asked[0]}: for the list of all segments")
    if (source == EVENT_SOURCES[0] and replay) or (source == EVENT_SOURCES[1] and history is not None):
        raise UsageError(f"{REPLAY if replay else HISTORY} with --from {source}: there is no such answer")
    types = {HISTORY: RemoteHistoryRow, "--highest": RemoteHighestRow, REPLAY: RemoteReplayRow}
    row = types.get(asked[0] if asked else "", RemoteSegmentRow)
    query = _query(given.inputs, at)
    if history is not None:
        if re.fullmatch(SEGMENT_ID, history) is None:
            raise UsageError(f"{HISTORY} {history}: expected a segment id of 22 characters")
        job, source = partial(jobs.history, query=query, segment_id=history), EVENT_SOURCES[0]
    elif replay:
        job, source = partial(jobs.replays, query=query), EVENT_SOURCES[1]
    else:
        answer = queries[asked[0]] if asked else jobs.every_segment
        job = partial(jobs.state, query=query, answer=answer, keeps_deleted=deleted)
    return Command(
        "rlmm state",
        given,
        job,
        answer=Answer(possible=names_of(row)),
        topics=RowTopics(topics, may_have_no_rows=bool(asked)),
        without_rows=None if history is None else f"no event here is about segment {history}",
        accepts=EVENT_SOURCE_KINDS,
        expand=partial(expand_source, source, selection=query.selection),
        split=grouped,
    )


@app.command("check")
def check(
    *,
    stuck_after: str = option(
        "--stuck-after DURATION",
        "A copy or deletion that is not finished after so long is a finding.",
        default="1h",
    ),
    storage: list[str] | None = option(
        "--storage LISTING",
        "Compare with remote storage: a directory of LocalTieredStorage or Aiven's plugin, or a "
        "file of object names and sizes; repeatable.",
    ),
    leader: list[str] | None = option(
        "--leader PATH", "Compare with a leader's epochs and offsets: its log dir or partition; repeatable."
    ),
    source: str | None = SOURCE,
    at: str | None = AT,
    given: Given,
) -> Command:
    """Say what is wrong with the remote segments of each partition, by their events.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user. With --at
    ages are counted to then, or to the last event.

    Example: kcli rlmm check /var/lib/kafka/data --fail-on warning
    """
    from kcli.jobs.rlmm.check import RemoteCheck, objects_without_events
    from kcli.jobs.rlmm.check import check as job
    from kcli.jobs.rlmm.dump import topics
    from kcli.jobs.rlmm.state import EVENT_SOURCE_KINDS, expand_source, grouped
    from kcli.jobs.rlmm.storage import Storage, objects_of
    from kcli.logdir.buffers import FileError
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    now, query = time.time_ns(), _query(given.inputs, at)
    listings = Storage(tuple(storage), now) if storage else None
    now_ms = now // 1_000_000 if at is None else query.last_time_ms
    leading = find(leader or [], Selection())
    if leading.failures:
        raise UsageError(f"--leader {leading.failures[0].path}: {leading.failures[0].message}")
    leaders = tuple(target for target in leading.targets if target.name is not None)
    options = RemoteCheck(
        now_ms=now_ms, stuck_after_ms=duration_ms(stuck_after), storage=listings, leaders=leaders
    )
    try:
        _ = listings and objects_of(listings)
    except FileError as error:
        raise UsageError(f"--storage {error}") from error

    def expand(file_set: "FileSet") -> "FileSet":
        nonlocal options
        options = options.within(file_set)
        return expand_source(source, file_set, selection=query.selection)

    return Command(
        "rlmm check",
        given,
        job_of=lambda _: partial(job, query=query, options=options),
        reduce=None if listings is None else lambda _: objects_without_events(listings, query.selection),
        topics=RowTopics(topics),
        accepts=EVENT_SOURCE_KINDS,
        expand=expand,
        split=grouped,
    )


def _position(option: str, text: str) -> tuple[int, int]:
    """Return the leader epoch and the offset of EPOCH:OFFSET."""
    epoch, colon, offset = text.partition(":")
    if not (colon and epoch.isdecimal() and offset.isdecimal() and text.isascii()):
        raise UsageError(f"{option} {text}: expected EPOCH:OFFSET, for example 2:1500")
    if len(text) > len("2147483647:9223372036854775807") or int(epoch) > INT32 or int(offset) > INT64:
        raise UsageError(f"{option} {text}: expected an epoch of 32 bits and an offset of 64")
    return int(epoch), int(offset)


def _query(inputs: Inputs, at: str | None) -> "EventQuery":
    """Return which events count; all digits are an offset of the metadata partition, or epoch ms."""
    from kcli.kafka.remote.events import EventQuery

    offset, time_ms = parse_moment(at)
    return EventQuery(inputs.selection(), last_offset=offset, last_time_ms=time_ms)


@app.command("partition")
def partition(
    users: list[str] = argument(
        "TOPIC_ID:PARTITION...",
        "User partitions, topics by id; :0..3 is four. --layout kip: by name.",
        default=REQUIRED,
    ),
    *,
    count: int = number(
        "--partitions N", "Partitions of __remote_log_metadata.", default=DEFAULT_PARTITIONS, min=1
    ),
    layout: str = LAYOUT_OPTION,
    output: Output,
) -> None:
    """Print which partition of __remote_log_metadata holds the events of a user partition.

    Example: kcli rlmm partition u4NdSfWRQjaZ_ENyxMXLJA:0
    """
    from kcli.cli.run import run_rows
    from kcli.jobs.rlmm import kip
    from kcli.jobs.rlmm.dump import partition_rows
    from kcli.rows.remote_metadata import RlmmKipPartitionRow

    if layout == KIP:
        named = list(chain.from_iterable(map(_named, users)))
        run_rows("rlmm partition", kip.partition_rows(named, count), output, row=RlmmKipPartitionRow)
    user_partitions = list(chain.from_iterable(map(_user_partitions, users)))
    run_rows("rlmm partition", partition_rows(user_partitions, count), output)


def _named(word: str, expected: str = "TOPIC:PARTITION, such as orders:0, or :0..3") -> list[tuple[str, int]]:
    """Return what comes before the last colon, with each partition after it."""
    name, _, numbers = word.rpartition(":")
    try:
        partitions = parse_integers("partition", [numbers], 0, INT32)
    except WordError as error:
        raise UsageError(f"{word}: expected {expected}") from error
    if not name:
        raise UsageError(f"{word}: expected {expected}")
    return [(name, partition) for partition in partitions]


def _user_partitions(word: str) -> list[tuple[str, int]]:
    from formats.errors import FormatError
    from formats.primitives import uuid_bytes

    match = _named(word, "TOPIC_ID:PARTITION, for example u4NdSfWRQjaZ_ENyxMXLJA:0, or :0..3")
    topic_id = word.rpartition(":")[0]
    try:
        uuid_bytes(topic_id, "topic id")
    except FormatError as error:
        raise UsageError(f"{word}: expected a topic id of 22 characters, as in partition.metadata") from error
    return match


@app.command("bootstrap")
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
    from kcli.cli.run import new_summary, run_answer
    from kcli.jobs.rlmm.dump import kafka_lines
    from kcli.rows.remote_metadata import RlmmEventRow
    from kcli.rows.remote_segments import RemoteSegmentRow
    from kcli.rows.remote_tiers import RlmmClusterOffsetRow

    has_paths = bool(inputs.paths or inputs.files_from or inputs.server_config)
    if events and has_paths:
        raise UsageError("--events with PATH: rlmm dump PATH prints the events of files")
    if output.format == TEXT_WORD and not events:
        raise UsageError("-o text needs --events")
    milliseconds = duration_ms(timeout)
    if not 0 < milliseconds <= LONGEST_WAIT_MS:
        raise UsageError(
            f"--timeout {timeout}: expected more than 0s and at most {LONGEST_WAIT_MS // 60_000}m"
        )
    settings = _settings(bootstrap_server, command_config)
    summary = new_summary(output)
    on_disk = _on_disk(inputs, summary) if has_paths else {}
    outcomes = _outcomes(settings, milliseconds / 1000, inputs.selection(), on_disk, events=events)
    answer = partial(run_answer, "rlmm bootstrap", _rows(outcomes, inputs, output, summary), output, summary)
    if events:
        answer(Answer(possible=names_of(RlmmEventRow), text=kafka_lines))
    else:
        both = names_of(RemoteSegmentRow, RlmmClusterOffsetRow)
        answer(Answer(possible=both, default_type="remote_segment", single_view=True))


def _rows(
    outcomes: Iterator["Outcome"], inputs: Inputs, output: Output, summary: "RunSummary"
) -> Iterator["Item"]:
    from kcli.rows import Failure
    from kcli.rows.remote_tiers import RlmmClusterOffsetRow

    has_rows, has_offsets = not inputs.selection().names, False
    for outcome in outcomes:
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
    from kcli.engine.contract import EngineMissingError
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
    from kcli.jobs.common import PARTITIONS_ONLY, notes_as_findings, plan
    from kcli.jobs.rlmm.bootstrap import offsets_on_disk
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    file_set = find(list(named_paths(inputs)), Selection(include_leftovers=inputs.include_leftovers))
    units, failures = plan(file_set, PARTITIONS_ONLY)
    summary.failures.extend(failures)
    summary.findings.extend(notes_as_findings(file_set.notes))
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


app.command("offsets")(rlmm_tier.offsets)
app.command("coverage")(rlmm_tier.coverage)
app.command("retention")(rlmm_tier.retention)
app.command("follow")(rlmm_tier.follow)
app.add_typer(rlmm_tier.lookup, name="lookup")
