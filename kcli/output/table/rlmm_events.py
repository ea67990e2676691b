"""The views of `rlmm dump` and `rlmm partition`: what brokers did with remote segments."""

from collections import Counter
from collections.abc import Sequence

from kcli.output.table.columns import (
    DURATION,
    NUMBER,
    RANGE,
    RIGHT_TEXT,
    SIZE,
    TIME_OF_DAY,
    ShownColumn,
)
from kcli.output.table.shared_columns import SharedColumn
from kcli.output.table.table_view import TableInput, TableView
from kcli.output.units import counted, joined, number
from kcli.rows.remote_metadata import RlmmEventRow

STATES = {
    "COPY_SEGMENT_STARTED": "copying",
    "COPY_SEGMENT_FINISHED": "copied",
    "DELETE_SEGMENT_STARTED": "deleting",
    "DELETE_SEGMENT_FINISHED": "deleted",
    "DELETE_PARTITION_MARKED": "partition marked for deletion",
    "DELETE_PARTITION_STARTED": "partition deletion started",
    "DELETE_PARTITION_FINISHED": "partition deleted",
}
"""Kafka's states, and its states of partitions, in words."""
STATE_STYLES = {"copied": "green", "deleted": "red", "deleting": "red"}
UNREADABLE = "cannot be decoded"


def view_events(answer: TableInput) -> TableView:
    """Return the view of events with the time since the one before of the same segment."""
    took = _times_since_previous(answer.rows)
    return TableView(
        columns=(
            ShownColumn("AT", "metadata_offset", RIGHT_TEXT),
            ShownColumn("TIME (UTC)", "event_timestamp_ms", TIME_OF_DAY),
            ShownColumn("SEGMENT ID", "segment_id"),
            ShownColumn("OFFSETS", _offsets, RANGE),
            ShownColumn("SIZE", "segment_size_bytes", SIZE, rank=3),
            ShownColumn("EVENT", _event, least=12, style=lambda text: STATE_STYLES.get(text, "")),
            ShownColumn("AFTER", lambda row: took.get(id(row)), DURATION, rank=2),
            ShownColumn("BY", "broker_id", NUMBER, rank=1),
        ),
        shared=(
            SharedColumn("TOPIC-PARTITION", _topic_partition, noun=("partition",), may_overflow=True),
            SharedColumn(
                "METADATA", lambda row: row.metadata_partition, "__remote_log_metadata-{}", kind=NUMBER
            ),
            SharedColumn("DIR", lambda row: row.dir, are_paths=True, is_last=True),
        ),
        facts=lambda rows: [counted(len(rows), "event")],
        closing=_total,
    )


def _topic_partition(row: RlmmEventRow) -> str | None:
    if row.topic is None and row.partition is None:
        return None
    return f"{row.topic or row.topic_id}-{row.partition}"


def _offsets(row: RlmmEventRow) -> tuple[int, int] | None:
    if row.start_offset is None or row.end_offset is None:
        return None
    return row.start_offset, row.end_offset + 1


def _event(row: RlmmEventRow) -> str:
    if row.error is not None:
        return f"{UNREADABLE}: {row.error}"
    return STATES.get(row.state or "", row.state or row.record_type or "")


def _times_since_previous(rows: Sequence[RlmmEventRow]) -> dict[int, int]:
    """Return for each event the milliseconds since the one before of the same segment, by the row's id."""
    last: dict[str, int] = {}
    times: dict[int, int] = {}
    for row in rows:
        if row.segment_id is None or row.event_timestamp_ms is None:
            continue
        if row.segment_id in last and row.event_timestamp_ms >= last[row.segment_id]:
            times[id(row)] = row.event_timestamp_ms - last[row.segment_id]
        last[row.segment_id] = row.event_timestamp_ms
    return times


def states_in_words(count: Counter[str], read: str = "copied") -> str:
    """Return how many remote segments are in each state; `read` says what copied ones are."""
    words = {
        "COPY_SEGMENT_FINISHED": read,
        "superseded": "superseded",
        "COPY_SEGMENT_STARTED": "begun and not finished",
        "DELETE_SEGMENT_STARTED": "being deleted",
        "DELETE_SEGMENT_FINISHED": "deleted",
    }
    return joined(f"{number(count[state])} {word}" for state, word in words.items() if count[state])


def _total(rows: Sequence[RlmmEventRow]) -> str:
    """Return in which state the last event of each segment leaves it."""
    last = {row.segment_id: row.state or "" for row in rows if row.segment_id is not None}
    unreadable = sum(row.error is not None for row in rows)
    undecoded = f"{counted(unreadable, 'event')} not decoded" if unreadable else ""
    states = joined((states_in_words(Counter(last.values())), undecoded))
    segments = counted(len(last), "remote segment")
    return f"{segments} at the last of these events{f': {states}' if states else ''}."
