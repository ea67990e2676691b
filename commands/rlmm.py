"""`kcli rlmm`: what __remote_log_metadata says about the segments of tiered topics (KIP-405)."""

import re
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from commands.retention import REMOTE_METADATA, settings_of_server
from commands.startup import METADATA_PATH
from kcli.cli.boundary import say
from kcli.cli.command import (
    REQUIRED,
    Command,
    Inputs,
    Options,
    Output,
    RowTopics,
    argument,
    moment,
    number,
    option,
)
from kcli.cli.parsers import log_dir_of_metadata, parse_moment, parse_offset, parse_time, remote_metadata_of
from kcli.cli.status import RefusedError, UsageError
from kcli.cli.typer_command import Group
from kcli.output.answer import Answer
from kcli.rows.declare import names_of
from kcli.words import INT32, INT64, WordError, duration_ms, parse_integers

if TYPE_CHECKING:
    from kcli.broker.settings import ClientSettings
    from kcli.cli.summary import RunSummary
    from kcli.engine.contract import Map
    from kcli.jobs.rlmm.bootstrap import OffsetsOnDisk
    from kcli.logdir.find import FileSet

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
limit, local_limit = (partial(option, min=least, max=INT64) for least in (-1, -2))

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
    options: Options,
) -> Command:
    """Print every event of remote log metadata.

    Log dirs, partition dirs, segments, remote_log_snapshot files. --topic, --partition: of the user.

    Example: kcli rlmm dump -o ndjson /var/lib/kafka/data
    """
    if text_format is not None and options.output.format != TEXT_WORD:
        raise UsageError("--format needs -o text")
    if layout == KIP and options.output.format == TEXT_WORD:
        raise UsageError("--layout kip gives rows: take another -o than text")
    from kcli.jobs.metadata_partitions import expand
    from kcli.jobs.rlmm import dump as jobs
    from kcli.jobs.rlmm import kip

    if layout == KIP:
        return Command(
            "rlmm dump",
            options,
            kip.dump,
            accepts=kip.KIP_FILE_KINDS,
            expand=expand,
            possible_types=kip.row_types,
            answer=Answer(default_type="rlmm_kip_event"),
        )
    return Command(
        "rlmm dump",
        options,
        partial(jobs.dump_selected, selection=options.inputs.selection()),
        topics=RowTopics(jobs.topics),
        accepts=jobs.EVENT_FILE_KINDS,
        expand=expand,
        possible_types=jobs.row_types,
        answer=Answer(text=kip.lines if text_format == KIP_LINES else jobs.kafka_lines),
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
    options: Options,
) -> Command:
    """Print the remote segments of every partition, in the state that their events gave them.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user.

    Example: kcli rlmm state /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import state as jobs
    from kcli.jobs.rlmm.dump import topics
    from kcli.kafka.remote.events import EventQuery
    from kcli.rows import remote_segments as rows

    next_one = jobs.next_with_txn_index
    queries: dict[str, Any] = {
        HISTORY: history,
        REPLAY: replay or None,
        "--list": None if listed is None else partial(jobs.listed, epoch=listed),
        "--lookup": None if lookup is None else partial(jobs.looked_up, at=_position("--lookup", lookup)),
        "--next-txn": None if next_txn is None else partial(next_one, at=_position("--next-txn", next_txn)),
        "--highest": None if highest is None else partial(jobs.highest, epoch=highest),
    }
    questions = [name for name, query in queries.items() if query is not None]
    if len(questions) > 1:
        raise UsageError(f"{questions[0]}, {questions[1]}: one question at a time")
    if deleted and questions:
        raise UsageError(f"--deleted with {questions[0]}: for the list of all segments")
    if (source == EVENT_SOURCES[0] and replay) or (source == EVENT_SOURCES[1] and history is not None):
        raise UsageError(f"{REPLAY if replay else HISTORY} with --from {source}: there is no such answer")
    types = {HISTORY: rows.RemoteHistoryRow, "--highest": rows.RemoteHighestRow, REPLAY: rows.RemoteReplayRow}
    row = types.get(questions[0] if questions else "", rows.RemoteSegmentRow)
    query = EventQuery(options.inputs.selection(), *parse_moment(at))
    if history is not None:
        if re.fullmatch(SEGMENT_ID, history) is None:
            raise UsageError(f"{HISTORY} {history}: expected a segment id of 22 characters")
        job, source = partial(jobs.history, query=query, segment_id=history), EVENT_SOURCES[0]
    elif replay:
        job, source = partial(jobs.replays, query=query), EVENT_SOURCES[1]
    else:
        answer = queries[questions[0]] if questions else jobs.every_segment
        job = partial(jobs.state, query=query, answer=answer, keeps_deleted=deleted)
    return Command(
        "rlmm state",
        options,
        job,
        answer=Answer(possible=names_of(row)),
        topics=RowTopics(topics, may_have_no_rows=bool(questions)),
        without_rows=None if history is None else f"no event here is about segment {history}",
        accepts=jobs.EVENT_SOURCE_KINDS,
        expand=partial(jobs.expand_source, source, selection=query.selection),
        split=jobs.grouped,
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
    options: Options,
) -> Command:
    """Say what is wrong with the remote segments of each partition, by their events.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user. With --at
    ages are counted to then, or to the last event.

    Example: kcli rlmm check /var/lib/kafka/data --fail-on warning
    """
    from kcli.jobs.rlmm import check as jobs
    from kcli.jobs.rlmm.dump import topics
    from kcli.jobs.rlmm.state import EVENT_SOURCE_KINDS, expand_source, grouped
    from kcli.jobs.rlmm.storage import Storage, objects_of
    from kcli.kafka.remote.events import EventQuery
    from kcli.logdir.buffers import FileError
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    now, query = time.time_ns(), EventQuery(options.inputs.selection(), *parse_moment(at))
    listings = Storage(tuple(storage), now) if storage else None
    now_ms = now // 1_000_000 if at is None else query.last_time_ms
    leading = find(leader or [], Selection())
    if leading.failures:
        raise UsageError(f"--leader {leading.failures[0]}")
    leaders = tuple(target for target in leading.targets if target.name is not None)
    longest_ms = duration_ms(stuck_after)
    remote = jobs.RemoteCheck(now_ms=now_ms, stuck_after_ms=longest_ms, storage=listings, leaders=leaders)
    try:
        _ = listings and objects_of(listings)
    except FileError as error:
        raise UsageError(f"--storage {error}") from error

    def expand(file_set: "FileSet") -> "FileSet":
        nonlocal remote
        remote = remote.within(file_set)
        return expand_source(source, file_set, selection=query.selection)

    return Command(
        "rlmm check",
        options,
        job_of=lambda _: partial(jobs.check, query=query, options=remote),
        reduce=None if listings is None else lambda _: jobs.objects_without_events(listings, query.selection),
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


def _named(text: str, expected: str = "TOPIC:PARTITION, such as orders:0, or :0..3") -> list[tuple[str, int]]:
    """Return what comes before the last colon, with each partition after it."""
    name, _, numbers = text.rpartition(":")
    try:
        partitions = parse_integers("partition", [numbers], 0, INT32)
    except WordError as error:
        raise UsageError(f"{text}: expected {expected}") from error
    if not name:
        raise UsageError(f"{text}: expected {expected}")
    return [(name, partition) for partition in partitions]


def _user_partitions(text: str) -> list[tuple[str, int]]:
    from formats.errors import FormatError
    from formats.primitives import uuid_bytes

    named = _named(text, "TOPIC_ID:PARTITION, for example u4NdSfWRQjaZ_ENyxMXLJA:0, or :0..3")
    try:
        uuid_bytes(named[0][0], "topic id")
    except FormatError as error:
        raise UsageError(f"{text}: expected a topic id of 22 characters, as in partition.metadata") from error
    return named


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
    from kcli.broker.cluster import Cluster, ClusterError
    from kcli.broker.settings import SettingError
    from kcli.cli.run import new_summary, run_answer
    from kcli.engine.contract import EngineMissingError
    from kcli.jobs.rlmm import bootstrap as jobs
    from kcli.jobs.rlmm.dump import kafka_lines
    from kcli.rows import Failure, Item
    from kcli.rows.remote_metadata import RlmmEventRow
    from kcli.rows.remote_segments import RemoteSegmentRow
    from kcli.rows.remote_tiers import RlmmClusterOffsetRow

    if events and _has_paths(inputs):
        raise UsageError("--events with PATH: rlmm dump PATH prints the events of files")
    if output.format == TEXT_WORD and not events:
        raise UsageError("-o text needs --events")
    milliseconds = duration_ms(timeout)
    if not 0 < milliseconds <= LONGEST_WAIT_MS:
        longest = f"{LONGEST_WAIT_MS // 60_000}m"
        raise UsageError(f"--timeout {timeout}: expected more than 0s and at most {longest}")
    settings = _settings(bootstrap_server, command_config)
    summary, selection = new_summary(output), inputs.selection()
    on_disk = _on_disk(inputs, summary)

    def rows() -> Iterator[Item]:
        """Yield what the cluster gives; one that does not answer is a part of the environment that lacks."""
        try:
            cluster = Cluster(settings, milliseconds / 1000)
        except SettingError as error:
            raise UsageError(str(error)) from error
        except ClusterError as error:
            raise EngineMissingError(str(error)) from error
        has_rows, has_offsets = not selection.names, False
        for outcome in jobs.events(cluster, selection) if events else jobs.state(cluster, selection, on_disk):
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

    types = names_of(RemoteSegmentRow, RlmmClusterOffsetRow)
    of_state = Answer(possible=types, default_type="remote_segment", single_view=True)
    answer = Answer(possible=names_of(RlmmEventRow), text=kafka_lines) if events else of_state
    run_answer("rlmm bootstrap", rows(), output, summary, answer)


def _has_paths(inputs: Inputs) -> bool:
    return bool(inputs.paths or inputs.files_from or inputs.server_config)


def _on_disk(inputs: Inputs, summary: "RunSummary") -> "OffsetsOnDisk":
    """Return the offsets that the files of log dirs give; what cannot be read are errors of the summary."""
    from kcli.cli.inputs import named_paths
    from kcli.jobs.common import PARTITIONS_ONLY, notes_as_findings, plan
    from kcli.jobs.rlmm.bootstrap import offsets_on_disk
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    if not _has_paths(inputs):
        return {}
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


STORAGE = option(
    "--storage DIR",
    "Find remote segments in this directory of LocalTieredStorage or Aiven's plugin; repeatable.",
)


def _directories(storage: list[str] | None) -> tuple[str, ...]:
    """Return the directories that --storage names."""
    from kcli.jobs.rlmm.storage import storage_directories
    from kcli.logdir.buffers import FileError

    try:
        return storage_directories(storage or ())
    except FileError as error:
        raise UsageError(f"--storage {error}") from error


def _command(name: str, options: Options, job: "Map", metadata: list[str] | None) -> Command:
    """Return the command of a job over user partitions, each with the directories of the metadata topic."""
    from kcli.jobs.tiered_leader import topics, with_metadata

    elsewhere = remote_metadata_of(metadata)
    if metadata and not elsewhere:
        raise UsageError(f"--remote-metadata {metadata[0]}: no partition of __remote_log_metadata is there")
    split = partial(with_metadata, elsewhere=elsewhere, selection=options.inputs.selection())
    return Command(name, options, job, split=split, topics=RowTopics(topics))


@app.command("offsets")
def offsets(*, remote_metadata: list[str] | None = REMOTE_METADATA, options: Options) -> Command:
    """Print what ListOffsets answers for every special timestamp, -1 to -6.

    Log dirs with __remote_log_metadata in one of them, or named by --remote-metadata.

    Example: kcli rlmm offsets /var/lib/kafka/data
    """
    from kcli.jobs.rlmm import tiers

    return _command("rlmm offsets", options, tiers.offsets, remote_metadata)


lookup_group = Group("Find the tier and the segment of an offset or a time.")
app.add_typer(lookup_group, name="lookup")


@lookup_group.command("offset")
def lookup_offset(
    offset: str = argument("OFFSET", "A number, earliest or latest.", default=REQUIRED),
    *,
    remote_metadata: list[str] | None = REMOTE_METADATA,
    storage: list[str] | None = STORAGE,
    options: Options,
) -> Command:
    """Print which tier and segment serve a fetch at this offset, and what the broker tries before.

    Example: kcli rlmm lookup offset 1200 /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import tiers

    job = partial(tiers.lookup_offset, offset=parse_offset(offset), storage=_directories(storage))
    return _command("rlmm lookup offset", options, job, remote_metadata)


@lookup_group.command("timestamp")
def lookup_timestamp(
    timestamp: str = argument("TIME", "Epoch ms, ISO-8601, @-1h.", default=REQUIRED),
    *,
    remote_metadata: list[str] | None = REMOTE_METADATA,
    storage: list[str] | None = STORAGE,
    options: Options,
) -> Command:
    """Print which tier and segment answer ListOffsets for a time, and what the broker tries before.

    Example: kcli rlmm lookup timestamp 1h /var/lib/kafka/data --topic orders
    """
    from kcli.jobs.rlmm import tiers

    job = partial(tiers.lookup_timestamp, timestamp=parse_time(timestamp), storage=_directories(storage))
    return _command("rlmm lookup timestamp", options, job, remote_metadata)


@app.command("coverage")
def coverage(*, remote_metadata: list[str] | None = REMOTE_METADATA, options: Options) -> Command:
    """Print which offsets are on local disk, in remote storage, in both or nowhere.

    And how many local bytes could be lost without losing records.

    Example: kcli rlmm coverage /var/lib/kafka/data
    """
    from kcli.jobs.rlmm import tiers

    return _command("rlmm coverage", options, tiers.coverage, remote_metadata)


@app.command("retention")
def retention(
    *,
    retention_ms: int | None = limit(
        "--retention-ms N", "retention.ms; -1: none. Without: as the cluster metadata here says."
    ),
    retention_bytes: int | None = limit("--retention-bytes N", "retention.bytes; -1: none."),
    local_retention_ms: int | None = local_limit(
        "--local-retention-ms N", "local.retention.ms; -2: that of the whole log."
    ),
    local_retention_bytes: int | None = local_limit(
        "--local-retention-bytes N", "local.retention.bytes; -2: that of the whole log."
    ),
    at: str | None = option("--at TIME", "The time of the clean-up; without: now."),
    metadata: str | None = METADATA_PATH,
    remote_metadata: list[str] | None = REMOTE_METADATA,
    options: Options,
) -> Command:
    """Print what the leader's next clean-up deletes of each tier, in order, and why the rest is kept.

    Limits are as kcli retention takes them; options win.

    Example: kcli rlmm retention /var/lib/kafka/data
    """
    from kcli.jobs.cluster_metadata import with_topic_settings
    from kcli.jobs.held_log import RetentionQuery
    from kcli.jobs.rlmm import tiers

    now_ms = parse_time(at)
    pairs = (retention_ms, local_retention_ms, "ms"), (retention_bytes, local_retention_bytes, "bytes")
    for total, local, unit in pairs:
        if total is not None and local is not None and total >= 0 and (local == -1 or local > total):
            total_option = f"--retention-{unit} {total}"
            raise UsageError(f"--local-retention-{unit} {local}: a broker refuses more than {total_option}")
    limits = {
        "retention.ms": retention_ms,
        "retention.bytes": retention_bytes,
        "local.retention.ms": local_retention_ms,
        "local.retention.bytes": local_retention_bytes,
    }
    settings = {name: str(value) for name, value in limits.items() if value is not None}
    query = RetentionQuery(now_ms, settings_of_server(options.inputs), settings)
    job, log_dir = partial(tiers.retention, query=query), log_dir_of_metadata(metadata)
    expand = partial(with_topic_settings, log_dir=log_dir, are_given=bool(settings))
    return _command("rlmm retention", options, job, remote_metadata)._replace(expand=expand)


@app.command("follow")
def follow(
    *,
    leader: str = option("--leader PATH", "The leader's log dir or partition.", default=REQUIRED),
    remote_metadata: list[str] | None = REMOTE_METADATA,
    storage: list[str] | None = STORAGE,
    options: Options,
) -> Command:
    """Print how a follower gets into a tiered log: requests, answers, the segment whose state it takes.

    __remote_log_metadata is read from the leader's log dir, and from --remote-metadata.

    Example: kcli rlmm follow --leader broker1/data broker2/data/orders-0
    """
    from formats.names import REMOTE_LOG_METADATA
    from kcli.jobs.rlmm import follow as jobs
    from kcli.jobs.tiered_leader import topics
    from kcli.kafka.kraft.log_settings import NEVER_TIERED
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    file_set = find([leader, *(remote_metadata or [])], Selection())
    if file_set.failures:
        raise UsageError(str(file_set.failures[0]))
    metadata = [log for log in file_set.targets if log.name and log.name.topic == REMOTE_LOG_METADATA]
    leaders = [log for log in file_set.targets if log.name and log.name.topic not in NEVER_TIERED]
    selection = options.inputs.selection()
    return Command(
        "rlmm follow",
        options,
        partial(jobs.predict_follower, leader_path=leader, storage=_directories(storage)),
        split=lambda units: jobs.with_leader_and_metadata(units, leaders, metadata, selection),
        topics=RowTopics(topics),
    )
