"""The views of `lookup`: where an offset or a time lies, and how it was found."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.columns import ShownColumn
from kcli.output.table.fitted_table import sentences
from kcli.output.table.shared_columns import SharedColumn, name_of
from kcli.output.table.table_view import FEW, table_view
from kcli.output.units import counted, moment, number, readable
from kcli.rows.lookups import LookupOffsetRow, LookupTimestampRow

EXPECTED_REASONS = {"in batch", "found"}
"""Reasons that say no more than where it lies."""


def _request(row: LookupTimestampRow) -> str:
    timestamp = row.timestamp
    return "newest record" if timestamp is None else f"at or after {moment(timestamp, with_ms=True)} UTC"


def _batch(row: LookupOffsetRow) -> tuple[int, int] | None:
    first, last = row.batch.batch_base_offset, row.batch.batch_last_offset
    return None if first is None or last is None else (min(first, last), last + 1)


def _reason(row: Any) -> str:
    return "" if row.reason in EXPECTED_REASONS else readable(row.reason).partition(";")[0]


def _draw_reasons(rows: Sequence[Any], screen: Screen) -> Iterator[RenderableType]:
    """Yield why nothing is found, for each of a few partitions."""
    not_found = [row for row in rows if not row.found]
    if not_found and len(rows) <= FEW:
        yield ""
        for row in not_found:
            yield sentences(screen, f"{name_of(row.where)}: {readable(row.reason)}", indent="  ")


def count_found(rows: Sequence[Any]) -> str:
    """Return in how many partitions something is found."""
    return f"Found in {number(sum(row.found for row in rows))} of {counted(len(rows), 'partition')}."


LOOKUP_OFFSET = table_view(
    ShownColumn("SEGMENT", "batch.segment_base_offset", "number"),
    ShownColumn("AT BYTE", "batch.position", "number", style="bold"),
    ShownColumn("BATCH", _batch, "range"),
    ShownColumn("EPOCH", "batch.leader_epoch", "number", rank=2),
    ShownColumn("INDEX ENTRY", "batch.index_entry_offset", "number", rank=5),
    ShownColumn("", _reason, rank=1, least=20, style="yellow"),
    shared=(SharedColumn("OFFSET", lambda row: row.offset, "offset {}", kind="number"),),
    below=_draw_reasons,
    closing=count_found,
)
LOOKUP_TIMESTAMP = table_view(
    ShownColumn("OFFSET", "record.offset", "number", style="bold"),
    ShownColumn("WRITTEN (UTC)", "record.record_timestamp", "time"),
    ShownColumn("EPOCH", "record.leader_epoch", "number", rank=3),
    ShownColumn("SEGMENT", "record.segment_base_offset", "number", rank=2),
    ShownColumn("AT BYTE", "record.position", "number", rank=4),
    ShownColumn("", _reason, rank=1, least=12, style="yellow"),
    shared=(SharedColumn("ASKED FOR", _request),),
    below=_draw_reasons,
    closing=count_found,
)
PARTITION_FOR = table_view(
    ShownColumn("KIND", "kind"),
    ShownColumn("VALUE", "value", may_overflow=True),
    ShownColumn("TOPIC", "topic"),
    ShownColumn("PARTITION", "partition", "number", style="bold"),
    ShownColumn("OF", "partitions", "number", rank=2),
    ShownColumn("HASH", "hash", "number", rank=3),
)
