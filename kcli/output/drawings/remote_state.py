"""The views of `rlmm state` and `rlmm check`: states of segments, the history of one, verdicts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from kcli.analysis.findings import Finding
from kcli.analysis.times import duration
from kcli.output.drawings.grid import COUNT, NUMBER, RANGE, SIZE, TEXT, Kind, ShownColumn
from kcli.output.drawings.marks import joined
from kcli.output.drawings.places import is_one
from kcli.output.drawings.remote import AT, COPIED, COPYING, DELETING, STYLES, WORDS
from kcli.output.drawings.tables import TableView, draw_table, time_column
from kcli.output.screen import Screen
from kcli.output.units import counted, number, size
from kcli.rows.remote_state import (
    RemoteCheckRow,
    RemoteHighestRow,
    RemoteHistoryRow,
    RemotePartition,
    RemoteReplayRow,
    RemoteSegmentRow,
)

DELETED = "DELETE_SEGMENT_FINISHED"
DURATION = Kind(lambda ms, _: duration(ms), is_right=True)


def draw_segments(
    rows: Sequence[RemoteSegmentRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield remote segments, what is unfinished and superseded among them, and how much there is."""
    time, day = time_column("COPIED", "copy_finished_ms", rows)
    view = TableView(
        columns=(
            *_partition_column(rows),
            ShownColumn("SEGMENT ID", "segment_id"),
            ShownColumn("OFFSETS", lambda row: (row.start_offset, row.end_offset + 1), RANGE),
            ShownColumn("EPOCH", _epochs, TEXT, rank=3),
            ShownColumn("SIZE", "segment_size_bytes", SIZE),
            time,
            ShownColumn("TOOK", _took, DURATION, rank=2),
            ShownColumn("BY", "broker_id", NUMBER, rank=1),
            ShownColumn(
                "STATE",
                _state,
                least=max(len(_state(row)) for row in rows),
                style=lambda text: STYLES.get(text, ""),
            ),
        ),
        closing=_total,
        severity=_severity if any(map(_severity, rows)) else None,
        facts=lambda _: [*_subject(rows), *day],
    )
    yield from draw_table(view, rows, screen, findings)


def draw_history(
    rows: Sequence[RemoteHistoryRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the events of a segment, and the time between them."""
    time, day = time_column("TIME", "event_timestamp_ms", rows)
    view = TableView(
        columns=(
            *_partition_column(rows),
            ShownColumn("AT", "metadata_offset", AT),
            time,
            ShownColumn("AFTER", "since_previous_ms", DURATION),
            ShownColumn("BY", "broker_id", NUMBER),
            ShownColumn("EVENT", _event, least=12, style=lambda text: STYLES.get(text, "")),
        ),
        facts=lambda _: [f"segment {rows[0].segment_id}", *_subject(rows), *day],
    )
    yield from draw_table(view, rows, screen, findings)


def draw_highest(
    rows: Sequence[RemoteHighestRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the highest offset of an epoch in each partition."""
    view = TableView(
        columns=(
            ShownColumn("TOPIC-PARTITION", _name, may_overflow=True),
            ShownColumn("EPOCH", "epoch", NUMBER),
            ShownColumn("HIGHEST OFFSET", "highest_offset", NUMBER),
        )
    )
    yield from draw_table(view, rows, screen, findings)


def draw_replays(
    rows: Sequence[RemoteReplayRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield snapshot files with the offset that each covers, and what a replay adds."""
    view = TableView(
        columns=(
            ShownColumn("TOPIC-PARTITION", _name, may_overflow=True),
            ShownColumn("COVERS", _covers),
            ShownColumn("COMMITTED", "committed_offset", NUMBER, rank=1),
            ShownColumn("SEGMENTS", "segments", COUNT),
            ShownColumn("AS EVENTS SAY", _as_events, TEXT),
            ShownColumn("EVENTS AFTER", _events_after),
            ShownColumn("REPLAY ADDS", _adds, least=12),
        ),
        severity=lambda row: "warning" if row.is_as_events is False else None,
        facts=lambda _: [counted(len(rows), "remote_log_snapshot")],
    )
    yield from draw_table(view, rows, screen, findings)


def _covers(row: RemoteReplayRow) -> str:
    return f"{row.of.metadata_partition}: {number(row.covered_offset)}"


def _as_events(row: RemoteReplayRow) -> str:
    return {True: "yes", False: "no", None: "not known"}[row.is_as_events]


def _events_after(row: RemoteReplayRow) -> str:
    return (
        "no events here" if row.last_offset is None else f"{number(row.events_after)}, to {row.last_offset}"
    )


def _adds(row: RemoteReplayRow) -> str:
    counts = ((row.segments_added, "more"), (row.segments_changed, "changed"), (row.segments_removed, "gone"))
    return joined(f"{number(count)} {what}" for count, what in counts if count) or "nothing"


def draw_checks(
    rows: Sequence[RemoteCheckRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield partitions with what is wrong with their remote segments, and how many are clean."""
    view = TableView(
        columns=(
            ShownColumn("TOPIC-PARTITION", _name, may_overflow=True),
            ShownColumn("RESULT", "result", TEXT),
            ShownColumn("COPIED", "copied", COUNT),
            ShownColumn("UNFINISHED", _unfinished, COUNT),
            ShownColumn("SUPERSEDED", "superseded", COUNT, rank=2),
            ShownColumn("BYTES", "remote_bytes", SIZE),
            ShownColumn("EVENTS", "events", COUNT, rank=3),
            ShownColumn("FINDINGS", "findings", COUNT),
        ),
        closing=_verdict,
        severity=lambda row: {"damaged": "error", "warning": "warning"}.get(row.result),
        facts=lambda _: _subject(rows),
    )
    yield from draw_table(view, rows, screen, findings)


def _unfinished(row: RemoteCheckRow) -> int:
    return row.unfinished_copies + row.unfinished_deletions


def _verdict(rows: Sequence[RemoteCheckRow]) -> str:
    count = Counter(row.result for row in rows)
    results = joined(f"{number(many)} {result}" for result, many in sorted(count.items()))
    return f"{counted(len(rows), 'partition')}: {results}."


def _partition_column(rows: Sequence[Any]) -> list[ShownColumn]:
    """Return the column of the partition where there are several."""
    return (
        [] if is_one(row.of for row in rows) else [ShownColumn("TOPIC-PARTITION", _name, may_overflow=True)]
    )


def _name(row: Any) -> str:
    of: RemotePartition = row.of
    return f"{of.topic}-{of.partition}"


def _subject(rows: Sequence[Any]) -> list[str]:
    """Return what all rows share: partition, topic id, where the events are."""
    partitions = {(row.of.topic, row.of.partition, row.of.topic_id) for row in rows}
    found = []
    if len(partitions) == 1:
        ((topic, partition, topic_id),) = partitions
        found += [f"{topic}-{partition}", *([] if topic_id is None else [f"topic id {topic_id}"])]
    else:
        found.append(counted(len(partitions), "partition"))
    if is_one(row.of.metadata_partition for row in rows):
        found.append(f"__remote_log_metadata-{rows[0].of.metadata_partition}")
    dirs = {row.of.dir for row in rows}
    return [*found, dirs.pop()] if len(dirs) == 1 else found


def _epochs(row: RemoteSegmentRow) -> str:
    epochs = [entry.epoch for entry in row.segment_leader_epochs]
    return str(epochs[0]) if len(epochs) == 1 else f"{epochs[0]}..{epochs[-1]}" if epochs else ""


def _took(row: RemoteSegmentRow) -> int | None:
    if row.copy_started_ms is None or row.copy_finished_ms is None:
        return None
    return max(row.copy_finished_ms - row.copy_started_ms, 0)


def _state(row: RemoteSegmentRow) -> str:
    if row.state == COPYING:
        return "copy not finished"
    if row.state == COPIED and not row.referenced:
        return "superseded"
    if row.state == DELETING:
        return "deletion not finished"
    return WORDS.get(row.state, row.state)


def _severity(row: RemoteSegmentRow) -> str | None:
    return "warning" if row.state in {COPYING, DELETING} else None


def _event(row: RemoteHistoryRow) -> str:
    word = WORDS.get(row.state, row.state)
    return word if row.refused is None else f"{word}: not taken ({row.refused.replace('-', ' ')})"


def _total(rows: Sequence[RemoteSegmentRow]) -> str:
    count: Counter[str] = Counter()
    for row in rows:
        count["superseded" if row.state == COPIED and not row.referenced else row.state] += 1
    readable = sum(row.segment_size_bytes for row in rows if row.state == COPIED and row.referenced)
    states = joined(
        (
            f"{number(count[COPIED])} to read, {size(readable)}" if count[COPIED] else "",
            f"{number(count['superseded'])} superseded" if count["superseded"] else "",
            f"{number(count[COPYING])} begun and not finished" if count[COPYING] else "",
            f"{number(count[DELETING])} being deleted" if count[DELETING] else "",
            f"{number(count[DELETED])} deleted" if count[DELETED] else "",
        )
    )
    return f"{counted(len(rows), 'remote segment')}: {states}."
