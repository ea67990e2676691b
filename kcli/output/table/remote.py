"""The views of `rlmm`: what brokers did with remote segments."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import COUNT, NUMBER, RANGE, SIZE, TEXT, Kind, ShownColumn
from kcli.output.table.marks import joined
from kcli.output.table.places import is_one
from kcli.output.table.tables import TableView, draw_table, time_column
from kcli.output.units import counted, number
from kcli.rows.remote_metadata import RlmmEventRow, RlmmKipEventRow
from kcli.times import duration

WORDS = {
    "COPY_SEGMENT_STARTED": "copying",
    "COPY_SEGMENT_FINISHED": "copied",
    "DELETE_SEGMENT_STARTED": "deleting",
    "DELETE_SEGMENT_FINISHED": "deleted",
    "DELETE_PARTITION_MARKED": "partition marked for deletion",
    "DELETE_PARTITION_STARTED": "partition deletion started",
    "DELETE_PARTITION_FINISHED": "partition deleted",
}
"""Kafka's states, and its states of partitions, in words."""
STYLES = {"copied": "green", "deleted": "red", "deleting": "red"}
UNREADABLE = "cannot be decoded"
COPYING, COPIED, DELETING = "COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED"


def draw_events(
    rows: Sequence[RlmmEventRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield events, the time since the one before of the same segment, and in which state segments are."""
    took = _took(rows)
    time, day = time_column("TIME", "event_timestamp_ms", rows)
    topics = {(row.topic, row.partition) for row in rows if row.error is None}
    several = (
        [] if len(topics) == 1 else [ShownColumn("TOPIC-PARTITION", _topic_partition, may_overflow=True)]
    )
    places = {row.metadata_partition for row in rows}
    view = TableView(
        columns=(
            ShownColumn("AT", _metadata_place if len(places) > 1 else "metadata_offset", AT),
            time,
            *several,
            ShownColumn("SEGMENT ID", "segment_id"),
            ShownColumn("OFFSETS", _offsets, RANGE),
            ShownColumn("SIZE", "segment_size_bytes", SIZE, rank=3),
            ShownColumn("EVENT", _event, least=12, style=lambda text: STYLES.get(text, "")),
            ShownColumn(
                "AFTER",
                lambda row: took.get(id(row)),
                Kind(lambda ms, _: duration(ms), is_right=True),
                rank=2,
            ),
            ShownColumn("BY", "broker_id", NUMBER, rank=1),
        ),
        closing=_total,
        facts=lambda _: [*_subject(rows, topics), *day],
    )
    yield from draw_table(view, rows, screen, findings)


AT = Kind(lambda value, _: str(value), is_right=True)


def _metadata_place(row: RlmmEventRow) -> str:
    """Return partition and offset in __remote_log_metadata."""
    return f"{row.metadata_partition}:{'' if row.metadata_offset is None else row.metadata_offset}"


def _topic_partition(row: RlmmEventRow | RlmmKipEventRow) -> str | None:
    return (
        None
        if row.topic is None and row.partition is None
        else f"{row.topic or row.topic_id}-{row.partition}"
    )


def _offsets(row: RlmmEventRow | RlmmKipEventRow) -> tuple[int, int] | None:
    return (
        None if row.start_offset is None or row.end_offset is None else (row.start_offset, row.end_offset + 1)
    )


def _event(row: RlmmEventRow | RlmmKipEventRow) -> str:
    if row.error is not None:
        return f"{UNREADABLE}: {row.error}"
    return WORDS.get(row.state or "", row.state or row.record_type or "")


def _took(rows: Sequence[RlmmEventRow]) -> dict[int, int]:
    """Return for each event the milliseconds since the one before of the same segment, by the row's id."""
    last: dict[str, int] = {}
    took: dict[int, int] = {}
    for row in rows:
        if row.segment_id is None or row.event_timestamp_ms is None:
            continue
        if row.segment_id in last and row.event_timestamp_ms >= last[row.segment_id]:
            took[id(row)] = row.event_timestamp_ms - last[row.segment_id]
        last[row.segment_id] = row.event_timestamp_ms
    return took


def _subject(rows: Sequence[RlmmEventRow], topics: set[tuple[str | None, int | None]]) -> list[str]:
    found = [counted(len(rows), "event")]
    if len(topics) == 1:
        ((topic, partition),) = topics
        found.append(f"{topic}-{partition}")
    if is_one(row.metadata_partition for row in rows):
        found.append(f"__remote_log_metadata-{rows[0].metadata_partition}")
    dirs = {row.dir for row in rows}
    return [*found, dirs.pop()] if len(dirs) == 1 else found


def _total(rows: Sequence[RlmmEventRow]) -> str:
    """Return in which state the last event of each segment leaves it."""
    last = {row.segment_id: row.state for row in rows if row.segment_id is not None}
    count = Counter(last.values())
    unreadable = sum(row.error is not None for row in rows)
    states = joined(
        (
            f"{number(count[COPIED])} copied" if count[COPIED] else "",
            f"{number(count['DELETE_SEGMENT_FINISHED'])} deleted" if count["DELETE_SEGMENT_FINISHED"] else "",
            f"{number(count[COPYING])} begun and not finished" if count[COPYING] else "",
            f"{number(count[DELETING])} being deleted" if count[DELETING] else "",
            f"{counted(unreadable, 'event')} not decoded" if unreadable else "",
        )
    )
    return f"{counted(len(last), 'remote segment')} at the last of these events" + (
        f": {states}." if states else "."
    )


SNAPSHOTS = TableView(
    columns=(
        ShownColumn("DIR", "dir", may_overflow=True),
        ShownColumn("METADATA PARTITION", "metadata_partition", NUMBER),
        ShownColumn("UP TO OFFSET", "metadata_partition_offset", NUMBER),
        ShownColumn("ENTRIES", "entries", COUNT),
        ShownColumn("VERSION", "version", NUMBER, rank=1),
    ),
)
COMMITTED_OFFSETS = TableView(
    columns=(
        ShownColumn("DIR", "dir", may_overflow=True),
        ShownColumn("METADATA PARTITION", "metadata_partition", NUMBER),
        ShownColumn("COMMITTED OFFSET", "committed_offset", NUMBER),
    ),
)
KIP_EVENTS = TableView(
    columns=(
        ShownColumn("AT", lambda row: f"byte {row.position}", AT),
        ShownColumn("TOPIC-PARTITION", _topic_partition, TEXT),
        ShownColumn("SEGMENT", "segment_id", TEXT),
        ShownColumn("OFFSETS", _offsets, RANGE),
        ShownColumn("LEADER EPOCH", "leader_epoch", NUMBER),
        ShownColumn("EVENT", _event, TEXT, may_overflow=True),
    ),
)
KIP_FILES = TableView(
    columns=(
        ShownColumn("FILE", "file", TEXT),
        ShownColumn("TOPIC", "topic", TEXT),
        ShownColumn("UP TO OFFSET", "covered_offset", NUMBER),
        ShownColumn("ENTRIES", "entries", COUNT),
    ),
)
KIP_PARTITIONS = TableView(
    columns=(
        ShownColumn("TOPIC", "topic", TEXT),
        ShownColumn("PARTITION", "partition", NUMBER),
        ShownColumn("THE KIP NAMES", lambda row: f"__remote_log_metadata-{row.metadata_partition}", TEXT),
    ),
)
PARTITIONS = TableView(
    columns=(
        ShownColumn("TOPIC ID", "topic_id", TEXT),
        ShownColumn("PARTITION", "partition", NUMBER),
        ShownColumn("EVENTS ARE IN", lambda row: f"__remote_log_metadata-{row.metadata_partition}", TEXT),
    ),
)
