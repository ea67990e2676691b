"""The views of `rlmm state` and `rlmm check`: states of segments, the history of one, verdicts."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.cluster_offsets import draw_offsets
from kcli.output.table.grid import COUNT, NUMBER, RANGE, SIZE, TEXT, Kind, ShownColumn
from kcli.output.table.marks import joined
from kcli.output.table.places import is_one, short_dirs
from kcli.output.table.remote import AT, COPIED, COPYING, DELETING, STYLES, WORDS
from kcli.output.table.remote_line import DELETED, segments_line
from kcli.output.table.tables import TableView, draw_table, time_column
from kcli.output.units import counted, number, size
from kcli.rows.remote_state import (
    RemoteCheckRow,
    RemoteHighestRow,
    RemoteHistoryRow,
    RemotePartition,
    RemoteReplayRow,
    RemoteSegmentRow,
)
from kcli.rows.remote_tier import RlmmClusterOffsetRow
from kcli.times import duration

DURATION = Kind(lambda ms, _: duration(ms), is_right=True)


def draw_segments(
    rows: Sequence[RemoteSegmentRow | RlmmClusterOffsetRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield remote segments, what is unfinished and superseded among them, and how much there is.

    Then what a live cluster answers about their partitions.
    """
    segments = [row for row in rows if isinstance(row, RemoteSegmentRow)]
    offsets = [row for row in rows if isinstance(row, RlmmClusterOffsetRow)]
    if segments:
        yield from _segments(segments, screen, [] if offsets else findings)
    if segments and offsets:
        yield ""
    if offsets:
        yield from draw_offsets(offsets, screen, findings)


def _segments(
    rows: Sequence[RemoteSegmentRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    time, day = time_column("COPIED", "copy_finished_ms", rows, rank=1)
    view = TableView(
        columns=(
            *_partition_column(rows),
            ShownColumn("SEGMENT ID", "segment_id"),
            ShownColumn("OFFSETS", lambda row: (row.start_offset, row.end_offset + 1), RANGE),
            ShownColumn("EPOCH", _epochs, TEXT, rank=5),
            ShownColumn("SIZE", "segment_size_bytes", SIZE, rank=2),
            time,
            ShownColumn("TOOK", _took, DURATION, rank=4),
            ShownColumn("BY", "broker_id", NUMBER, rank=3),
            *_dir_column(rows),
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
        above=segments_line,
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
            *_dir_column(rows),
            ShownColumn("EVENT", _event, least=12, style=lambda text: STYLES.get(text, "")),
        ),
        closing=_last_event,
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
            *_dir_column(rows),
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
            *_metadata_column(rows),
            ShownColumn("COVERS TO", "covered_offset", NUMBER),
            ShownColumn("COMMITTED", "committed_offset", NUMBER, rank=2),
            ShownColumn("SEGMENTS", "segments", COUNT),
            ShownColumn("AS EVENTS", _as_events, TEXT),
            ShownColumn("EVENTS TO", "last_offset", NUMBER, rank=1),
            ShownColumn("AFTER", "events_after", COUNT),
            ShownColumn("REPLAY ADDS", _adds, least=max(len(_adds(row)) for row in rows)),
            *_dir_column(rows),
        ),
        severity=lambda row: "warning" if row.is_as_events is False else None,
        facts=lambda _: [counted(len(rows), "remote_log_snapshot"), *_metadata_partition(rows)],
    )
    yield from draw_table(view, rows, screen, findings)


def _as_events(row: RemoteReplayRow) -> str:
    return {True: "yes", False: "no", None: "?"}[row.is_as_events]


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
            *_dir_column(rows),
        ),
        verdict=_verdict,
        severity=lambda row: {"damaged": "error", "warning": "warning"}.get(row.result),
        facts=lambda _: _subject(rows),
    )
    yield from draw_table(view, rows, screen, findings)


def _unfinished(row: RemoteCheckRow) -> int:
    return row.unfinished_copies + row.unfinished_deletions


def _verdict(rows: Sequence[RemoteCheckRow]) -> str:
    count = Counter(row.result for row in rows)
    results = joined(f"{number(count[one])} {one}" for one in ("damaged", "warning", "clean") if count[one])
    copied, unfinished = sum(row.copied for row in rows), sum(map(_unfinished, rows))
    segments = f"{counted(copied, 'remote segment')} to read"
    what = counted(unfinished, "unfinished copy or deletion", "unfinished copies or deletions")
    left = f", {what}" if unfinished else ""
    return f"{counted(len(rows), 'partition')}: {results}. {segments}{left}."


def _partition_column(rows: Sequence[Any]) -> list[ShownColumn]:
    """Return the column of the partition where there are several."""
    return (
        []
        if len({(row.of.topic_id, row.of.topic, row.of.partition) for row in rows}) == 1
        else [ShownColumn("TOPIC-PARTITION", _name, may_overflow=True)]
    )


def _dir_column(rows: Sequence[Any]) -> list[ShownColumn]:
    """Return the column of the log dir where there are several: replicas of a metadata partition."""
    dirs = short_dirs({os.path.dirname(row.of.dir) or "." for row in rows})
    if len(dirs) < 2:
        return []
    return [ShownColumn("DIR", lambda row: dirs[os.path.dirname(row.of.dir) or "."])]


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
    found += _metadata_partition(rows)
    dirs = {row.of.dir for row in rows}
    return [*found, dirs.pop()] if len(dirs) == 1 else found


def _metadata_partition(rows: Sequence[Any]) -> list[str]:
    """Return the metadata partition that all rows are from; nothing for several."""
    is_same = is_one(row.of.metadata_partition for row in rows)
    return [f"__remote_log_metadata-{rows[0].of.metadata_partition}"] if is_same else []


def _metadata_column(rows: Sequence[Any]) -> list[ShownColumn]:
    return [] if _metadata_partition(rows) else [ShownColumn("METADATA", "of.metadata_partition", NUMBER)]


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


def _last_event(rows: Sequence[RemoteHistoryRow]) -> str:
    """Return what the events of a segment come to, and how long they took."""
    taken = [row for row in rows if row.refused is None]
    if not taken or len({row.of for row in rows}) > 1:
        return ""
    words = {
        COPYING: "The copy is not finished",
        DELETING: "The deletion is not finished",
        DELETED: "It is deleted",
    }
    last = words.get(taken[-1].state, "It is copied")
    if len(taken) == 1:
        return f"{last}: no event follows."
    took = duration(max(taken[-1].event_timestamp_ms - taken[0].event_timestamp_ms, 0))
    return f"{last}, {took} after the first event."


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
