"""The views of `rlmm`: events, states of remote segments, and the tiers of offsets."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.kafka.remote.serde import NOT_ALL_READ
from kcli.output.screen import Screen, Symbols
from kcli.output.table.columns import YES_OR_NO, ShownColumn, offsets_column, span
from kcli.output.table.fitted_table import StyledLines, sentences
from kcli.output.table.lookup import count_found
from kcli.output.table.retention import assumptions
from kcli.output.table.shared_columns import SharedColumn, name_of
from kcli.output.table.table_view import FEW, TableInput, draw_table, draw_tables, table_view
from kcli.output.table.timeline import Timeline
from kcli.output.units import counted, joined, moment, number, readable, size, tally
from kcli.rows.partitions import Where
from kcli.rows.remote_metadata import RlmmEventRow
from kcli.rows.remote_segments import (
    RemoteCheckRow,
    RemoteHistoryRow,
    RemoteReplayRow,
    RemoteSegmentRow,
)
from kcli.rows.remote_tiers import RlmmClusterOffsetRow, RlmmCoverageRow, RlmmLookupOffsetRow
from kcli.words import duration

COPYING, COPIED, DELETING = "COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED"
DELETED = "DELETE_SEGMENT_FINISHED"
STATE_TEXTS = {
    COPYING: "copying",
    COPIED: "copied",
    DELETING: "deleting",
    DELETED: "deleted",
    "DELETE_PARTITION_MARKED": "partition marked for deletion",
    "DELETE_PARTITION_STARTED": "partition deletion started",
    "DELETE_PARTITION_FINISHED": "partition deleted",
}
"""Kafka's states, and its states of partitions, in words."""
UNFINISHED = {COPYING: "copy not finished", DELETING: "deletion not finished"}
SEGMENT_TEXTS = {**STATE_TEXTS, **UNFINISHED}
SUPERSEDED = "superseded"
STATE_STYLES = {"copied": "green", "deleted": "red", "deleting": "red"}
UNREADABLE_TEXT = "cannot be decoded"
TO_READ, IS_DELETED, OTHERS, NOWHERE = "to read", "deleted", "not to read", "in none of these"
MOST_TIERS, LEAST_TIERS, ROOM_BESIDE_TIERS = 32, 12, 60
"""Columns of a line of tiers, and of what is beside it."""
WIDEST_LINE = 76
"""Columns of a line of remote segments."""

NAME = SharedColumn(
    "TOPIC-PARTITION",
    lambda row: f"{row.of.topic}-{row.of.partition}",
    noun=("partition",),
    may_overflow=True,
)
TOPIC_ID = SharedColumn("", lambda row: row.of.topic_id, "topic id {}")
METADATA = SharedColumn("", lambda row: row.of.metadata_partition, "__remote_log_metadata-{}")
DIR = SharedColumn(
    "DIR",
    lambda row: os.path.dirname(row.of.dir) or ".",
    noun=("directory", "directories"),
    are_paths=True,
    is_last=True,
)
PARTITION_COLUMNS = (NAME, TOPIC_ID, METADATA, DIR)


def _topic_partition(row: RlmmEventRow) -> str | None:
    is_of_none = row.topic is None and row.partition is None
    return None if is_of_none else f"{row.topic or row.topic_id}-{row.partition}"


def _event(row: RlmmEventRow) -> str:
    if row.error is not None:
        return f"{UNREADABLE_TEXT}: {row.error}"
    return STATE_TEXTS.get(row.state or "", row.state or row.record_type or "")


def _count_states(states: Iterable[str], copied_text: str = "copied") -> str:
    """Return how many remote segments are in each state; `copied_text` says what copied ones are."""
    count = Counter(states)
    texts = {
        COPIED: copied_text,
        SUPERSEDED: SUPERSEDED,
        COPYING: "begun and not finished",
        DELETING: "being deleted",
    }
    return tally({text: count[state] for state, text in {**texts, DELETED: "deleted"}.items()})


def _events_total(rows: Sequence[RlmmEventRow]) -> str:
    """Return in which state the last event of each segment leaves it."""
    last = {row.segment_id: row.state or "" for row in rows if row.segment_id is not None}
    unreadable = sum(row.error is not None for row in rows)
    undecoded = f"{counted(unreadable, 'event')} not decoded" if unreadable else ""
    states = joined((_count_states(last.values()), undecoded))
    segments = counted(len(last), "remote segment")
    return f"{segments} at the last of these events{f': {states}' if states else ''}."


RLMM_EVENT = table_view(
    ShownColumn("AT", "metadata_offset", "right text"),
    ShownColumn("TIME (UTC)", "event_timestamp_ms", "time of day"),
    ShownColumn("SEGMENT ID", "segment_id"),
    offsets_column("start_offset", "end_offset"),
    ShownColumn("SIZE", "segment_size_bytes", "size", rank=2),
    ShownColumn("EVENT", _event, least=12, style=STATE_STYLES.get),
    ShownColumn("BY", "broker_id", "number", rank=1),
    shared=(
        SharedColumn("TOPIC-PARTITION", _topic_partition, noun=("partition",), may_overflow=True),
        METADATA._replace(header="METADATA", value=attrgetter("metadata_partition"), kind="number"),
        SharedColumn("DIR", lambda row: row.dir, are_paths=True, is_last=True),
    ),
    facts=lambda rows: [counted(len(rows), "event")],
    closing=_events_total,
)


def draw_remote_segment(answer: TableInput) -> Iterator[RenderableType]:
    """Yield remote segments, then what a live cluster answers."""
    segments = [row for row in answer.rows if isinstance(row, RemoteSegmentRow)]
    offsets = [row for row in answer.rows if not isinstance(row, RemoteSegmentRow)]
    return draw_tables(answer, (SEGMENT_VIEW, segments), (RLMM_CLUSTER_OFFSET, offsets))


def draw_line(rows: Sequence[RemoteSegmentRow], screen: Screen) -> list[RenderableType]:
    """Return a partition's segments as a line of offsets with its scale; nothing for several partitions."""
    if len({row.of for row in rows}) > 1 or len(rows) < 2:
        return []
    symbols = screen.symbols
    cells = {TO_READ: symbols.stays, OTHERS: symbols.goes, IS_DELETED: symbols.cross}
    by_start = sorted(rows, key=lambda row: row.start_offset)
    spans = [(row.start_offset, row.end_offset + 1, cells[_kind(row)]) for row in by_start]
    spans.sort(key=lambda span: [*cells.values()].index(span[2]), reverse=True)  # what can be read is on top
    cells[NOWHERE] = symbols.warning
    starts = [row.start_offset for row in by_start]
    ends = [*accumulate((row.end_offset + 1 for row in by_start), max, initial=starts[0])]
    spans += [(end, start, cells[NOWHERE]) for end, start in zip(ends, starts, strict=False) if start > end]
    timeline = Timeline(starts[0], ends[-1], min(screen.width, WIDEST_LINE))
    line = "".join(timeline.cells(spans))
    scale = timeline.labels((offset, offset) for offset in (starts[0], ends[-1] - 1, *starts))
    legend = "   ".join(f"{cell} {kind}" for kind, cell in cells.items() if cell in line)
    return [StyledLines([[(text, "")] for text in (scale, line, legend)], screen), ""]


def _kind(row: RemoteSegmentRow) -> str:
    if row.state == DELETED:
        return IS_DELETED
    return TO_READ if row.state == COPIED and row.referenced else OTHERS


def _epochs(row: RemoteSegmentRow) -> str:
    epochs = [entry.epoch for entry in row.segment_leader_epochs]
    return "..".join(str(epoch) for epoch in dict.fromkeys((epochs[0], epochs[-1]))) if epochs else ""


def _copy_duration(row: RemoteSegmentRow) -> int | None:
    begin, end = row.copy_started_ms, row.copy_finished_ms
    return None if begin is None or end is None else max(end - begin, 0)


def _state(row: RemoteSegmentRow) -> str:
    """Return the state of a segment; of one that no epoch refers to that others took its place."""
    return SUPERSEDED if row.state == COPIED and not row.referenced else row.state


def _segments_total(rows: Sequence[RemoteSegmentRow]) -> str:
    readable_bytes = sum(row.segment_size_bytes for row in rows if _state(row) == COPIED)
    states = _count_states(map(_state, rows), f"to read, {size(readable_bytes)}")
    return f"{counted(len(rows), 'remote segment')}: {states}."


SEGMENT_VIEW = table_view(
    ShownColumn("SEGMENT ID", "segment_id"),
    offsets_column("start_offset", "end_offset"),
    ShownColumn("EPOCH", _epochs, rank=5),
    ShownColumn("SIZE", "segment_size_bytes", "size", rank=2),
    ShownColumn("COPIED (UTC)", "copy_finished_ms", "time of day", rank=1),
    ShownColumn("TOOK", _copy_duration, "duration", rank=4),
    ShownColumn("BY", "broker_id", "number", rank=3),
    ShownColumn("STATE", lambda row: SEGMENT_TEXTS.get(_state(row), _state(row)), style=STATE_STYLES.get),
    severity=lambda row: "warning" if row.state in UNFINISHED else None,
    closing=_segments_total,
    shared=PARTITION_COLUMNS,
    above=draw_line,
)


REMOTE_HIGHEST = table_view(
    ShownColumn("EPOCH", "epoch", "number"),
    ShownColumn("HIGHEST OFFSET", "highest_offset", "number"),
    shared=PARTITION_COLUMNS,
)


def _history_event(row: RemoteHistoryRow) -> str:
    text = STATE_TEXTS.get(row.state, row.state)
    return text if row.refused is None else f"{text}: not taken ({row.refused.replace('-', ' ')})"


REMOTE_HISTORY = table_view(
    ShownColumn("AT", "metadata_offset", "right text"),
    ShownColumn("TIME (UTC)", "event_timestamp_ms", "time of day"),
    ShownColumn("AFTER", "since_previous_ms", "duration"),
    ShownColumn("BY", "broker_id", "number"),
    ShownColumn("EVENT", _history_event, least=12, style=STATE_STYLES.get),
    shared=(SharedColumn("SEGMENT ID", lambda row: row.segment_id, "segment {}"), *PARTITION_COLUMNS),
)


def _additions(row: RemoteReplayRow) -> str:
    counts = {"more": row.segments_added, "changed": row.segments_changed, "gone": row.segments_removed}
    return tally(counts) or "nothing"


REMOTE_REPLAY = table_view(
    ShownColumn("COVERS TO", "covered_offset", "number"),
    ShownColumn("COMMITTED", "committed_offset", "number", rank=2),
    ShownColumn("SEGMENTS", "segments", "count"),
    ShownColumn("AS EVENTS", lambda row: YES_OR_NO[row.is_as_events]),
    ShownColumn("EVENTS TO", "last_offset", "number", rank=1),
    ShownColumn("AFTER", "events_after", "count"),
    ShownColumn("REPLAY ADDS", _additions),
    severity=lambda row: "warning" if row.is_as_events is False else None,
    shared=(NAME, METADATA._replace(header="METADATA", kind="number"), DIR),
    facts=lambda rows: [counted(len(rows), "remote_log_snapshot")],
)


def _check_verdict(rows: Sequence[RemoteCheckRow]) -> str:
    results = Counter(row.result for row in rows)
    unfinished = sum(row.unfinished_copies + row.unfinished_deletions for row in rows)
    copies = counted(unfinished, "unfinished copy or deletion", "unfinished copies or deletions")
    copied = counted(sum(row.copied for row in rows), "remote segment")
    objects = [row.objects for row in rows if row.objects is not None]
    without = sum(row.leader_dir is None and row.copied > 0 for row in rows)
    parts = [
        f"{counted(len(rows), 'partition')}:",
        f"{tally({name: results[name] for name in ('damaged', 'warning', 'clean')})}.",
        f"{joined((f'{copied} to read', copies if unfinished else ''))}.",
    ]
    if objects:
        parts.append(f"Not read: the contents of {counted(sum(objects), 'object')} (kcli check reads logs).")
    leaders = f"the leader's log of {counted(without, 'partition')} (--leader)" if without else ""
    compared = joined(("" if objects else "remote storage (--storage)", leaders))
    return " ".join([*parts, f"Not compared: {compared}."] if compared else parts)


REMOTE_CHECK = table_view(
    ShownColumn("RESULT", "result"),
    ShownColumn("COPIED", "copied", "count"),
    ShownColumn("UNFINISHED", lambda row: row.unfinished_copies + row.unfinished_deletions, "count"),
    ShownColumn("SUPERSEDED", "superseded", "count", rank=2),
    ShownColumn("BYTES", "remote_bytes", "size"),
    ShownColumn("EVENTS", "events", "count", rank=3),
    ShownColumn("FINDINGS", "findings", "count"),
    shared=PARTITION_COLUMNS,
    severity=lambda row: {"damaged": "error", "warning": "warning"}.get(row.result),
    verdict=_check_verdict,
)


def _draw_steps(field: str, rows: Sequence[Any], screen: Screen) -> Iterator[RenderableType]:
    """Yield what a broker does for each of a few rows, step by step."""
    for row in rows if len(rows) <= FEW else ():
        yield ""
        if len(rows) > 1:
            yield sentences(screen, name_of(row.where), style="bold")
        for step, text in enumerate(getattr(row, field), 1):
            yield sentences(screen, f"  {step:>3}  {readable(text)}", indent=" " * 7)


def _tiered(rows: Sequence[Any]) -> str:
    tiered = number(sum(row.remote_storage for row in rows))
    pending = f"{number(sum(row.earliest_pending_upload_offset >= 0 for row in rows))} with records"
    return f"{counted(len(rows), 'partition')}: {tiered} tiered, {pending} that are not copied yet."


RLMM_OFFSETS = table_view(
    ShownColumn("EARLIEST", "earliest_offset", "defined"),
    ShownColumn("EARLIEST LOCAL", "earliest_local_offset", "defined"),
    ShownColumn("LATEST TIERED", "latest_tiered_offset", "defined"),
    ShownColumn("NOT COPIED FROM", "earliest_pending_upload_offset", "defined", rank=1),
    ShownColumn("LATEST", "latest_offset", "defined"),
    ShownColumn("EPOCH", "latest_epoch", "number", rank=3),
    ShownColumn("NEWEST LOCAL (UTC)", "max_timestamp", "time", rank=2),
    verdict=_tiered,
)


def _request(row: Any) -> str:
    if isinstance(row, RlmmLookupOffsetRow):
        return f"offset {row.offset}"
    return f"at or after {moment(row.timestamp, with_ms=True)} UTC"


def _position(row: Any) -> str:
    """Return the record or the byte that is found, or the byte from which the broker reads."""
    if not isinstance(row, RlmmLookupOffsetRow):
        return "" if row.record.offset is None else f"offset {row.record.offset}"
    if row.batch.position is not None:
        return f"byte {row.batch.position} of {row.batch.file}"
    entry = row.batch.index_entry_position
    return "" if entry is None else f"read from byte {entry} on"


def _doubt(row: Any) -> str:
    """Return why nothing is found, or that the log of what is found is not in remote storage."""
    if not row.found:
        return readable(row.reason)
    is_offset = isinstance(row, RlmmLookupOffsetRow)
    result = row.batch.position if is_offset else row.record.offset
    return "" if result is not None else str(row.reason).partition(":")[0].partition("; ")[2]


RLMM_LOOKUP_OFFSET = RLMM_LOOKUP_TIMESTAMP = table_view(
    ShownColumn("TIER", "tier", style="bold"),
    ShownColumn("SEGMENT ID", "remote.segment_id"),
    offsets_column("remote.start_offset", "remote.end_offset", rank=3),
    ShownColumn("WHERE", _position, rank=2),
    ShownColumn("", _doubt, least=20, style="yellow"),
    shared=(SharedColumn("ASKED FOR", _request),),
    below=partial(_draw_steps, "tries"),
    closing=count_found,
)


class Coverage(NamedTuple):
    """The ranges of offsets of a partition."""

    where: Where
    ranges: tuple[RlmmCoverageRow, ...]

    @property
    def bounds(self) -> tuple[int, int]:
        """Its first offset, and one past the last."""
        return self.ranges[0].first_offset, self.ranges[-1].last_offset + 1

    def bytes(self, column: str) -> int:
        """Return the sum of a column."""
        return sum(getattr(row, column) for row in self.ranges)


def _tier_cells(symbols: Symbols) -> dict[str, str]:
    return {"both": symbols.stays, "remote": symbols.middle, "local": symbols.half, "none": symbols.warning}


def draw_rlmm_coverage(answer: TableInput) -> Iterator[RenderableType]:
    """Yield a line of offsets for each partition, from its log start to its log end."""
    groups = groupby(answer.rows, key=lambda row: row.where)
    partitions = [Coverage(where, tuple(group)) for where, group in groups]
    cells = _tier_cells(answer.screen.symbols)
    width = min(max(answer.screen.width - ROOM_BESIDE_TIERS, LEAST_TIERS), MOST_TIERS)

    def draw_tiers(coverage: Coverage) -> str:
        ranges = [
            (row.first_offset, row.last_offset + 1, cells.get(row.tiers, " "))
            for row in sorted(coverage.ranges, key=lambda row: row.tiers == "none")  # gaps always show
        ]
        return "".join(Timeline(*coverage.bounds, width).cells(ranges))

    view = table_view(
        ShownColumn("OFFSETS", lambda coverage: span(*coverage.bounds)),
        ShownColumn("TIERS", draw_tiers),
        ShownColumn("LOCAL", lambda coverage: coverage.bytes("local_bytes"), "size", rank=1),
        ShownColumn("REMOTE", lambda coverage: coverage.bytes("remote_bytes"), "size", rank=1),
        ShownColumn("SAFE TO LOSE", lambda coverage: coverage.bytes("safe_to_lose_bytes"), "size"),
        verdict=lambda rows: _covered(rows, answer),
    )
    yield from draw_table(view, answer._replace(rows=partitions))


def _covered(partitions: Sequence[Coverage], answer: TableInput) -> str:
    """Return what the cells mean, and why some remote segments are not known, or what no tier has."""
    lost = sum(row.tiers == "none" for coverage in partitions for row in coverage.ranges)
    safe = size(sum(coverage.bytes("safe_to_lose_bytes") for coverage in partitions))
    legend = joined(f"{cell} {tier}" for tier, cell in _tier_cells(answer.screen.symbols).items())
    codes = Counter(finding.code for finding in answer.findings)
    troubles = [f"{counted(lost, 'range')} in no tier"] if lost else []
    if unread := joined(sorted({*codes} & NOT_ALL_READ)):
        troubles.append(f"brokers do not read all events of the remote segments ({unread})")
    elif codes["EPOCH-001"]:
        without_epochs = counted(codes["EPOCH-001"], "partition")
        troubles.append(f"the remote segments of {without_epochs} are not reached (EPOCH-001)")
    gaps = joined(troubles) or "every offset is in a tier"
    return f"{legend}. {gaps[0].upper()}{gaps[1:]}; {safe} of local logs are in remote storage too."


def _deletes(rows: Sequence[Any]) -> str:
    parts = []
    for tier in ("remote", "local"):
        sizes = [row.size_bytes for row in rows if row.tier == tier and row.action == "delete"]
        parts += [f"{counted(len(sizes), f'{tier} segment')}, {size(sum(sizes))}"] if sizes else []
    return f"The next clean-up deletes {' and '.join(parts) or 'nothing'}."


def _limits(rows: Sequence[Any]) -> list[str]:
    """Return the limits of each tier, where all rows have the same."""
    lines = []
    for tier in ("remote", "local"):
        limits = {(row.retention_ms, row.retention_bytes) for row in rows if row.tier == tier}
        if len(limits) == 1:
            ((ms, most),) = limits
            parts = (duration(ms) if ms >= 0 else "", size(most) if most >= 0 else "")
            lines.append(f"{tier} limit {joined(parts) or 'none'}")
    return lines


RLMM_RETENTION = table_view(
    ShownColumn("TIER", "tier"),
    ShownColumn("SEGMENT ID", "segment_id"),
    offsets_column("start_offset", "end_offset"),
    ShownColumn("SIZE", "size_bytes", "size", rank=2),
    ShownColumn("GOES", "order", "number", style="red"),
    ShownColumn("RULE", "rule"),
    ShownColumn("WHY", "reason", rank=1, least=20),
    facts=_limits,
    verdict=_deletes,
    assumes=assumptions,
)
OUTCOMES = {
    "local": "fetches from the leader's local log",
    "tiered": "takes the state of a remote segment, then fetches",
    "failed": "cannot take the state of a remote segment, and tries again for ever",
    "out-of-range": "is out of the leader's range, then fetches",
}
RLMM_FOLLOW = table_view(
    ShownColumn("FETCHES FROM", "fetch_offset", "number"),
    ShownColumn("SEGMENT ID", "remote.segment_id", rank=2),
    ShownColumn("THEN FROM", "next_fetch_offset", "number"),
    ShownColumn("THE FOLLOWER", lambda row: OUTCOMES.get(row.outcome, row.outcome), least=20),
    severity=lambda row: "error" if row.outcome == "failed" else None,
    shared=(SharedColumn("LEADER", lambda row: row.leader_dir, "leader {}", rank=3),),
    below=partial(_draw_steps, "steps"),
    closing=lambda rows: (
        f"{counted(len(rows), 'follower')}, {sum(row.outcome == 'failed' for row in rows)} failed."
    ),
)


def _compared(rows: Sequence[RlmmClusterOffsetRow]) -> str:
    agrees = [row.agrees for row in rows if row.agrees is not None]
    return f"{sum(agrees)} of {counted(len(agrees), 'offset')} on disk as in the cluster." if agrees else ""


RLMM_CLUSTER_OFFSET = table_view(
    ShownColumn("QUERY", "query"),
    ShownColumn("CLUSTER", "cluster_offset", "defined", style="bold"),
    ShownColumn("ON DISK", "disk_offset", "defined", rank=1),
    shared=(
        SharedColumn("TOPIC-PARTITION", lambda row: f"{row.topic}-{row.partition}", noun=("partition",)),
        SharedColumn("DIR", lambda row: row.dir, is_last=True),
    ),
    severity=lambda row: "warning" if row.agrees is False else None,
    verdict=_compared,
)
