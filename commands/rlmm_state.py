"""`kcli rlmm state` and `kcli rlmm check`: the remote segments as a broker's cache holds them."""

import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from kcli.cli.option import option
from kcli.cli.options import EngineOptions, Inputs, Output
from kcli.cli.parsers import parse_time
from kcli.cli.status import UsageError
from kcli.words import INT32, INT64, duration_ms

if TYPE_CHECKING:
    from kcli.kafka.remote.events import EventQuery

HISTORY, REPLAY = "--history", "--replay"
FIRST_TIME_MS = 100_000_000_000
"""Digits as long as these are a time: March 1973. No metadata partition comes to such an offset."""
SEGMENT_ID = "[A-Za-z0-9_-]{22}"
EVENT_SOURCES = ("events", "snapshots")

SOURCE = option(
    "--from",
    "The metadata topic, or the remote_log_snapshot files of 3.1 to 3.7 and the events after them; "
    "without: events where there are any.",
    choices=EVENT_SOURCES,
)

AT = option(
    "--at OFFSET|TIME",
    "Events up to this offset of the metadata partition, or up to this time (ISO-8601, @-1h, epoch "
    "ms of 12 digits or more).",
)


def state(
    *,
    source: str | None = SOURCE,
    at: str | None = AT,
    deleted: bool = option("--deleted", "Deleted segments too, which a broker forgets."),
    history: str | None = option(f"{HISTORY} SEGMENT_ID", "Every event of this segment."),
    replay: bool = option(
        f"{REPLAY}", "Which offset each remote_log_snapshot covers, and what a replay of the events adds."
    ),
    listed: int | None = option("--list EPOCH", "As listRemoteLogSegments.", min=0, max=INT32),
    lookup: str | None = option("--lookup EPOCH:OFFSET", "As remoteLogSegmentMetadata."),
    next_txn: str | None = option("--next-txn EPOCH:OFFSET", "As nextSegmentWithTxnIndex."),
    highest: int | None = option("--highest EPOCH", "As highestOffsetForEpoch.", min=0, max=INT32),
    inputs: Inputs,
    output: Output,
    engine: EngineOptions,
) -> None:
    """Print the remote segments of every partition, in the state that their events gave them.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user.

    Example: kcli rlmm state /var/lib/kafka/data --topic orders
    """
    from kcli.cli.run import Answer, Command, RowTopics, run
    from kcli.jobs.rlmm import state as jobs
    from kcli.jobs.rlmm.dump import topics
    from kcli.jobs.rlmm.snapshots import ACCEPTS, expand_source, grouped
    from kcli.rows.remote_segments import REMOTE_HIGHEST, REMOTE_HISTORY, REMOTE_REPLAY, REMOTE_SEGMENT

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
    row_type = {HISTORY: REMOTE_HISTORY, "--highest": REMOTE_HIGHEST, REPLAY: REMOTE_REPLAY}.get(
        asked[0] if asked else "", REMOTE_SEGMENT
    )
    query = _query(inputs, at)
    if history is not None:
        if re.fullmatch(SEGMENT_ID, history) is None:
            raise UsageError(f"{HISTORY} {history}: expected a segment id of 22 characters")
        job, source = partial(jobs.history, query=query, segment_id=history), EVENT_SOURCES[0]
    elif replay:
        job, source = partial(jobs.replays, query=query), EVENT_SOURCES[1]
    else:
        answer = queries[asked[0]] if asked else jobs.every_segment
        job = partial(jobs.state, query=query, answer=answer, keeps_deleted=deleted)
    command = Command(
        name="rlmm state",
        job=job,
        answer=Answer(possible=frozenset({row_type.name})),
        topics=RowTopics(
            topics,
            may_have_no_rows=bool(asked),
            without_rows=None if history is None else f"no event here is about segment {history}",
        ),
        accepts=ACCEPTS,
        expand=partial(expand_source, source, selection=query.selection),
        split=grouped,
    )
    run(command, inputs, output, engine)


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
    inputs: Inputs,
    output: Output,
    engine: EngineOptions,
) -> None:
    """Say what is wrong with the remote segments of each partition, by their events.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user. With --at
    ages are counted to then, or to the last event.

    Example: kcli rlmm check /var/lib/kafka/data --fail-on warning
    """
    from kcli.cli.run import Command, RowTopics, run
    from kcli.jobs.rlmm.check import RemoteCheck, StorageReducer
    from kcli.jobs.rlmm.check import check as job
    from kcli.jobs.rlmm.dump import topics
    from kcli.jobs.rlmm.snapshots import ACCEPTS, expand_source, grouped
    from kcli.jobs.rlmm.storage import Storage, objects_of
    from kcli.logdir.buffers import FileError
    from kcli.logdir.find import find
    from kcli.logdir.targets import Selection

    now, query = time.time_ns(), _query(inputs, at)
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
    command = Command(
        name="rlmm check",
        job=partial(job, query=query, options=options),
        reduce=None if listings is None else lambda _: StorageReducer(listings, query.selection),
        topics=RowTopics(topics),
        accepts=ACCEPTS,
        expand=partial(expand_source, source, selection=query.selection),
        split=grouped,
    )
    run(command, inputs, output, engine)


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

    query = EventQuery(inputs.selection())
    if at is None:
        return query
    is_offset = at.isascii() and at.isdecimal() and len(at) < len(str(FIRST_TIME_MS))
    return query._replace(last_offset=int(at)) if is_offset else query._replace(last_time_ms=parse_time(at))
