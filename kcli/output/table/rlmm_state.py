"""The views of `rlmm state` and `rlmm check`: states of segments, the history of one, verdicts."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.columns import (
    COUNT,
    DURATION,
    NUMBER,
    RANGE,
    RIGHT_TEXT,
    SIZE,
    TIME_OF_DAY,
    ShownColumn,
)
from kcli.output.table.fitted_table import StyledLines
from kcli.output.table.rlmm_events import STATE_STYLES, STATES, states_in_words
from kcli.output.table.rlmm_tiers import CLUSTER_OFFSETS
from kcli.output.table.shared_columns import SharedColumn
from kcli.output.table.table_view import TableInput, TableView, draw_table
from kcli.output.table.timeline import Timeline
from kcli.output.units import counted, joined, number, size
from kcli.rows.remote_segments import RemoteCheckRow, RemoteHistoryRow, RemoteReplayRow, RemoteSegmentRow
from kcli.times import duration

COPYING, COPIED, DELETING = "COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED"
DELETED = "DELETE_SEGMENT_FINISHED"
WIDEST, MOST_SEGMENTS = 76, 2000
"""Columns, and segments, of a line of remote segments."""
TO_READ, IS_DELETED, OTHERS, NOWHERE = "to read", "deleted", "not to read", "in none of these"

DIR = SharedColumn(
    "DIR",
    lambda row: os.path.dirname(row.of.dir) or ".",
    noun=("directory", "directories"),
    are_paths=True,
    is_last=True,
)
NAME = SharedColumn(
    "TOPIC-PARTITION",
    lambda row: f"{row.of.topic}-{row.of.partition}",
    noun=("partition",),
    may_overflow=True,
)
TOPIC_ID = SharedColumn("", lambda row: row.of.topic_id, "topic id {}")
METADATA = SharedColumn("", lambda row: row.of.metadata_partition, "__remote_log_metadata-{}")
PARTITION = (NAME, TOPIC_ID, METADATA, DIR)


def draw_segments(answer: TableInput) -> Iterator[RenderableType]:
    """Yield remote segments, then what a live cluster answers about their partitions."""
    segments = [row for row in answer.rows if isinstance(row, RemoteSegmentRow)]
    offsets = [row for row in answer.rows if not isinstance(row, RemoteSegmentRow)]
    if segments:
        view = SEGMENTS._replace(severity=_severity) if any(map(_severity, segments)) else SEGMENTS
        yield from draw_table(
            view, answer._replace(rows=segments, findings=() if offsets else answer.findings)
        )
    if segments and offsets:
        yield ""
    if offsets:
        yield from draw_table(CLUSTER_OFFSETS, answer._replace(rows=offsets))


def draw_line(rows: Sequence[RemoteSegmentRow], screen: Screen) -> list[RenderableType]:
    """Return a partition's segments as a line of offsets with its scale; nothing for several partitions."""
    if len({row.of for row in rows}) > 1 or not 2 <= len(rows) <= MOST_SEGMENTS:
        return []
    symbols = screen.symbols
    cells = {
        TO_READ: symbols.stays,
        IS_DELETED: symbols.cross,
        OTHERS: symbols.goes,
        NOWHERE: symbols.warning,
    }
    first, end = min(row.start_offset for row in rows), max(row.end_offset for row in rows) + 1
    timeline = Timeline(first, end, min(screen.width, WIDEST))
    by_start = sorted(rows, key=lambda row: row.start_offset)
    ranges = [
        (row.start_offset, row.end_offset + 1, cells[kind])
        for kind in (IS_DELETED, OTHERS, TO_READ)
        for row in by_start
        if _kind(row) == kind
    ]
    covered = first
    for row in by_start:
        if row.start_offset > covered:
            ranges.append((covered, row.start_offset, cells[NOWHERE]))
        covered = max(covered, row.end_offset + 1)
    line = "".join(timeline.cells(ranges))
    starts = [first, end - 1, *(row.start_offset for row in by_start)]
    legend = "   ".join(f"{cell} {kind}" for kind, cell in cells.items() if cell in line)
    scale = timeline.labels((offset, offset) for offset in starts)
    return [StyledLines([[(text, "")] for text in (scale, line, legend)], screen), ""]


def _kind(row: RemoteSegmentRow) -> str:
    if row.state == DELETED:
        return IS_DELETED
    return TO_READ if row.state == COPIED and row.referenced else OTHERS


def _epochs(row: RemoteSegmentRow) -> str:
    epochs = [entry.epoch for entry in row.segment_leader_epochs]
    return "..".join(str(epoch) for epoch in dict.fromkeys((epochs[0], epochs[-1]))) if epochs else ""


def _took(row: RemoteSegmentRow) -> int | None:
    if row.copy_started_ms is None or row.copy_finished_ms is None:
        return None
    return max(row.copy_finished_ms - row.copy_started_ms, 0)


def _state(row: RemoteSegmentRow) -> str:
    if row.state == COPIED and not row.referenced:
        return "superseded"
    unfinished = {COPYING: "copy not finished", DELETING: "deletion not finished"}
    return unfinished.get(row.state) or STATES.get(row.state, row.state)


def _severity(row: RemoteSegmentRow) -> str | None:
    return "warning" if row.state in {COPYING, DELETING} else None


def _total(rows: Sequence[RemoteSegmentRow]) -> str:
    count = Counter("superseded" if row.state == COPIED and not row.referenced else row.state for row in rows)
    readable = sum(row.segment_size_bytes for row in rows if row.state == COPIED and row.referenced)
    return f"{counted(len(rows), 'remote segment')}: {states_in_words(count, f'to read, {size(readable)}')}."


SEGMENTS = TableView(
    columns=(
        ShownColumn("SEGMENT ID", "segment_id"),
        ShownColumn("OFFSETS", lambda row: (row.start_offset, row.end_offset + 1), RANGE),
        ShownColumn("EPOCH", _epochs, rank=5),
        ShownColumn("SIZE", "segment_size_bytes", SIZE, rank=2),
        ShownColumn("COPIED (UTC)", "copy_finished_ms", TIME_OF_DAY, rank=1),
        ShownColumn("TOOK", _took, DURATION, rank=4),
        ShownColumn("BY", "broker_id", NUMBER, rank=3),
        ShownColumn("STATE", _state, style=lambda text: STATE_STYLES.get(text, "")),
    ),
    closing=_total,
    shared=PARTITION,
    above=draw_line,
)
HIGHEST = TableView(
    columns=(
        ShownColumn("EPOCH", "epoch", NUMBER),
        ShownColumn("HIGHEST OFFSET", "highest_offset", NUMBER),
    ),
    shared=PARTITION,
)


def _event(row: RemoteHistoryRow) -> str:
    word = STATES.get(row.state, row.state)
    return word if row.refused is None else f"{word}: not taken ({row.refused.replace('-', ' ')})"


def _last_event(rows: Sequence[RemoteHistoryRow]) -> str:
    """Return what the events of a segment come to, and how long they took."""
    accepted = [row for row in rows if row.refused is None]
    if not accepted or len({row.of for row in rows}) > 1:
        return ""
    words = {
        COPYING: "The copy is not finished",
        DELETING: "The deletion is not finished",
        DELETED: "It is deleted",
    }
    last = words.get(accepted[-1].state, "It is copied")
    if len(accepted) == 1:
        return f"{last}: no event follows."
    took = duration(max(accepted[-1].event_timestamp_ms - accepted[0].event_timestamp_ms, 0))
    return f"{last}, {took} after the first event."


HISTORY = TableView(
    columns=(
        ShownColumn("AT", "metadata_offset", RIGHT_TEXT),
        ShownColumn("TIME (UTC)", "event_timestamp_ms", TIME_OF_DAY),
        ShownColumn("AFTER", "since_previous_ms", DURATION),
        ShownColumn("BY", "broker_id", NUMBER),
        ShownColumn("EVENT", _event, least=12, style=lambda text: STATE_STYLES.get(text, "")),
    ),
    shared=(SharedColumn("SEGMENT ID", lambda row: row.segment_id, "segment {}"), *PARTITION),
    closing=_last_event,
)


def _adds(row: RemoteReplayRow) -> str:
    counts = ((row.segments_added, "more"), (row.segments_changed, "changed"), (row.segments_removed, "gone"))
    return joined(f"{number(count)} {what}" for count, what in counts if count) or "nothing"


REPLAYS = TableView(
    columns=(
        ShownColumn("COVERS TO", "covered_offset", NUMBER),
        ShownColumn("COMMITTED", "committed_offset", NUMBER, rank=2),
        ShownColumn("SEGMENTS", "segments", COUNT),
        ShownColumn("AS EVENTS", lambda row: {True: "yes", False: "no", None: "?"}[row.is_as_events]),
        ShownColumn("EVENTS TO", "last_offset", NUMBER, rank=1),
        ShownColumn("AFTER", "events_after", COUNT),
        ShownColumn("REPLAY ADDS", _adds),
    ),
    severity=lambda row: "warning" if row.is_as_events is False else None,
    shared=(NAME, METADATA._replace(header="METADATA", kind=NUMBER), DIR),
    facts=lambda rows: [counted(len(rows), "remote_log_snapshot")],
)


def _unfinished(row: RemoteCheckRow) -> int:
    return row.unfinished_copies + row.unfinished_deletions


def _verdict(rows: Sequence[RemoteCheckRow]) -> str:
    count = Counter(row.result for row in rows)
    results = joined(
        f"{number(count[name])} {name}" for name in ("damaged", "warning", "clean") if count[name]
    )
    copied, unfinished = sum(row.copied for row in rows), sum(map(_unfinished, rows))
    copies = counted(unfinished, "unfinished copy or deletion", "unfinished copies or deletions")
    segments = joined((f"{counted(copied, 'remote segment')} to read", copies if unfinished else ""))
    return f"{counted(len(rows), 'partition')}: {results}. {segments}."


CHECKS = TableView(
    columns=(
        ShownColumn("RESULT", "result"),
        ShownColumn("COPIED", "copied", COUNT),
        ShownColumn("UNFINISHED", _unfinished, COUNT),
        ShownColumn("SUPERSEDED", "superseded", COUNT, rank=2),
        ShownColumn("BYTES", "remote_bytes", SIZE),
        ShownColumn("EVENTS", "events", COUNT, rank=3),
        ShownColumn("FINDINGS", "findings", COUNT),
    ),
    shared=PARTITION,
    verdict=_verdict,
    severity=lambda row: {"damaged": "error", "warning": "warning"}.get(row.result),
)
