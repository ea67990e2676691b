"""`kcli rlmm state` and `kcli rlmm check`: the remote segments as a broker's cache holds them."""

import re
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kcli.cli.options import INT32, INT64, Common, Paths, UsageError, parse_duration, parse_time

if TYPE_CHECKING:
    from kcli.kafka.remote.events import EventQuery

HISTORY, REPLAY = "--history", "--replay"
FIRST_TIME_MS = 100_000_000_000
"""Digits as long as these are a time: March 1973. No metadata partition comes to such an offset."""
SEGMENT_ID = "[A-Za-z0-9_-]{22}"
EVENT_SOURCES = ("events", "snapshots")

Source: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="events|snapshots",
        help="The metadata topic, or the remote_log_snapshot files of 3.1 to 3.7 and the events after them; "
        "without: events where there are any.",
        show_default=False,
    ),
]

At: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="OFFSET|TIME",
        help="Events up to this offset of the metadata partition, or up to this time (ISO-8601, @-1h, epoch "
        "ms of 12 digits or more).",
        show_default=False,
    ),
]


def state(
    paths: Paths = None,
    *,
    source: Source = None,
    at: At = None,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Deleted segments too, which a broker forgets.")
    ] = False,
    history: Annotated[
        str | None,
        typer.Option(HISTORY, metavar="SEGMENT_ID", help="Every event of this segment.", show_default=False),
    ] = None,
    replay: Annotated[
        bool,
        typer.Option(
            REPLAY, help="Which offset each remote_log_snapshot covers, and what a replay of the events adds."
        ),
    ] = False,
    listed: Annotated[
        int | None,
        typer.Option(
            "--list", metavar="EPOCH", min=0, max=INT32, help="As listRemoteLogSegments.", show_default=False
        ),
    ] = None,
    lookup: Annotated[
        str | None,
        typer.Option(
            "--lookup", metavar="EPOCH:OFFSET", help="As remoteLogSegmentMetadata.", show_default=False
        ),
    ] = None,
    next_txn: Annotated[
        str | None,
        typer.Option(
            "--next-txn", metavar="EPOCH:OFFSET", help="As nextSegmentWithTxnIndex.", show_default=False
        ),
    ] = None,
    highest: Annotated[
        int | None,
        typer.Option(
            "--highest",
            metavar="EPOCH",
            min=0,
            max=INT32,
            help="As highestOffsetForEpoch.",
            show_default=False,
        ),
    ] = None,
    common: Common,
) -> None:
    """Print the remote segments of every partition, in the state that their events gave them.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user.

    Example: kcli rlmm state /var/lib/kafka/data --topic orders
    """
    from kcli.cli.run import Command, run
    from kcli.jobs.rlmm import state as jobs
    from kcli.jobs.rlmm.dump import topics
    from kcli.jobs.rlmm.snapshots import ACCEPTS, expand_source, grouped
    from kcli.rows.remote_state import (
        REMOTE_HIGHEST,
        REMOTE_HISTORY,
        REMOTE_REPLAY,
        REMOTE_SEGMENT,
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
    row_type = {HISTORY: REMOTE_HISTORY, "--highest": REMOTE_HIGHEST, REPLAY: REMOTE_REPLAY}.get(
        asked[0] if asked else "", REMOTE_SEGMENT
    )
    query = _query(common, at)
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
        possible_types=lambda _: frozenset({row_type.name}),
        topics_of_rows=topics,
        may_have_no_rows=bool(asked),
        without_rows=None if history is None else f"no event here is about segment {history}",
        accepts=ACCEPTS,
        expand=partial(expand_source, _source(source), selection=query.selection),
        split=grouped,
    )
    run(command, paths, common)


def check(
    paths: Paths = None,
    *,
    stuck_after: Annotated[
        str,
        typer.Option(
            "--stuck-after",
            metavar="DURATION",
            help="A copy or deletion that is not finished after so long is a finding.",
        ),
    ] = "1h",
    storage: Annotated[
        list[str] | None,
        typer.Option(
            "--storage",
            metavar="LISTING",
            help="Compare with remote storage: a directory of LocalTieredStorage or Aiven's plugin, or a "
            "file of object names and sizes; repeatable.",
            show_default=False,
        ),
    ] = None,
    leader: Annotated[
        list[str] | None,
        typer.Option(
            "--leader",
            metavar="PATH",
            help="Compare with a leader's epochs and offsets: its log dir or partition; repeatable.",
            show_default=False,
        ),
    ] = None,
    source: Source = None,
    at: At = None,
    common: Common,
) -> None:
    """Say what is wrong with the remote segments of each partition, by their events.

    Log dirs, or segments of __remote_log_metadata. --topic and --partition are those of the user. With --at
    ages are counted to then, or to the last event.

    Example: kcli rlmm check /var/lib/kafka/data --fail-on warning
    """
    from kcli.cli.run import Command, run
    from kcli.jobs.rlmm.check import RemoteCheck, reducer
    from kcli.jobs.rlmm.check import check as job
    from kcli.jobs.rlmm.dump import topics
    from kcli.jobs.rlmm.snapshots import ACCEPTS, expand_source, grouped
    from kcli.jobs.rlmm.storage import Storage, objects_of
    from kcli.logdir.buffers import FileError
    from kcli.logdir.find import find
    from kcli.logdir.select import Selection

    now, query = time.time_ns(), _query(common, at)
    listings = Storage(tuple(storage), now) if storage else None
    now_ms = now // 1_000_000 if at is None else query.until.event_timestamp_ms
    leading = find(leader or [], Selection())
    if leading.failures:
        raise UsageError(f"--leader {leading.failures[0].path}: {leading.failures[0].message}")
    leaders = tuple(target for target in leading.targets if target.name is not None)
    options = RemoteCheck(
        now_ms=now_ms, stuck_after_ms=parse_duration(stuck_after), storage=listings, leaders=leaders
    )
    try:
        _ = listings and objects_of(listings)
    except FileError as error:
        raise UsageError(f"--storage {error}") from error
    command = Command(
        name="rlmm check",
        job=partial(job, query=query, options=options),
        reduce=None if listings is None else partial(reducer, listings, query.selection),
        topics_of_rows=topics,
        accepts=ACCEPTS,
        expand=partial(expand_source, _source(source), selection=query.selection),
        split=grouped,
    )
    run(command, paths, common)


def _source(source: str | None) -> str | None:
    if source is not None and source not in EVENT_SOURCES:
        raise UsageError(f"--from {source}: expected events or snapshots")
    return source


def _position(option: str, text: str) -> tuple[int, int]:
    """Return the leader epoch and the offset of EPOCH:OFFSET."""
    epoch, colon, offset = text.partition(":")
    if not (colon and epoch.isdecimal() and offset.isdecimal() and text.isascii()):
        raise UsageError(f"{option} {text}: expected EPOCH:OFFSET, for example 2:1500")
    if len(text) > len("2147483647:9223372036854775807") or int(epoch) > INT32 or int(offset) > INT64:
        raise UsageError(f"{option} {text}: expected an epoch of 32 bits and an offset of 64")
    return int(epoch), int(offset)


def _query(common: Common, at: str | None) -> "EventQuery":
    """Return which events count; all digits are an offset of the metadata partition, or epoch ms."""
    from kcli.kafka.remote.events import NO_LIMIT, EventQuery, Until

    until = NO_LIMIT
    if at is not None and at.isascii() and at.isdecimal() and len(at) < len(str(FIRST_TIME_MS)):
        until = Until(metadata_offset=int(at))
    elif at is not None:
        until = Until(event_timestamp_ms=parse_time(at))
    return EventQuery(common.selection(), until)
