"""The views of `lookup`: where an offset or a time lies, and how it was found, in three lines or a table."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, RANGE, TIME, Lines, ShownColumn, ascii_only
from kcli.output.table.marks import STYLES, findings_line
from kcli.output.table.places import name_of, place_parts, title
from kcli.output.table.tables import TableView, draw_table, sentences
from kcli.output.units import counted, moment, number, readable
from kcli.rows.lookups import LookupOffsetRow, LookupTimestampRow
from kcli.times import duration

MOST_ANSWERS = 4
"""Answers of three lines each; of more there is a table."""
NAME = 8
"""Columns of the names of a line."""
IN_BATCH, FOUND = "in batch", "found"
"""Reasons that say no more than where it lies."""


def draw_offsets(
    rows: Sequence[LookupOffsetRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield where the offset lies in each partition."""
    yield from _draw(rows, screen, findings, OFFSETS)


def draw_timestamps(
    rows: Sequence[LookupTimestampRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the first record at or after the time in each partition."""
    yield from _draw(rows, screen, findings, TIMESTAMPS)


def _draw(
    rows: Sequence[Any], screen: Screen, findings: Sequence[Finding], view: TableView
) -> Iterator[RenderableType]:
    if len(rows) > MOST_ANSWERS:
        yield from draw_table(view, rows, screen, findings)
        return
    for place, row in enumerate(rows):
        if place:
            yield ""
        yield title([name_of(row.where), _asked(row), *place_parts([row.where])], screen)
        if not row.found:
            said = readable(row.reason) if isinstance(row, LookupTimestampRow) else row.reason
            yield from _named(screen, "not found", said, STYLES["warning"])
            continue
        answer = _lines_of_offset(row) if isinstance(row, LookupOffsetRow) else _lines_of_time(row)
        for word, text in answer:
            yield from _named(screen, word, text, "bold" if word == "at" else "")
    if findings:
        yield ""
        yield sentences(screen, findings_line(findings))


def _named(screen: Screen, word: str, text: str, style: str) -> Iterator[Lines]:
    """Yield a text after its name, broken between words where it is wider than the screen."""
    head = f"  {word:<{NAME}}" if len(word) < NAME else f"  {word}   "
    lines = wrap(
        text if screen.is_utf8 else ascii_only(text), screen.width - len(head), break_on_hyphens=False
    )
    for line in lines:
        yield Lines([[(head, "dim"), (line, style)]], screen.width)
        head = " " * len(head)


def _asked(row: LookupOffsetRow | LookupTimestampRow) -> str:
    if isinstance(row, LookupOffsetRow):
        return f"offset {row.offset}"
    return (
        "newest record" if row.timestamp is None else f"at or after {moment(row.timestamp, with_ms=True)} UTC"
    )


def _lines_of_offset(row: LookupOffsetRow) -> list[tuple[str, str]]:
    batch = row.batch
    assert batch.position is not None
    assert batch.batch_base_offset is not None
    assert batch.batch_last_offset is not None
    count = batch.batch_last_offset - batch.batch_base_offset + 1
    offsets = (
        f"{batch.batch_base_offset}..{batch.batch_last_offset}" if count > 0 else batch.batch_last_offset
    )
    how = "the segment's first batches were walked"
    if batch.index_entry_offset is not None and batch.index_entry_position is not None:
        walked = batch.position - batch.index_entry_position
        how = f"offset index: {batch.index_entry_offset} is at byte {batch.index_entry_position}"
        how += f", then {counted(walked, 'byte')} of batches on" if walked else ""
    return [
        ("at", f"{batch.file}, byte {batch.position}"),
        ("batch", f"offsets {offsets}, leader epoch {batch.leader_epoch}"),
        ("found", how if row.reason == IN_BATCH else f"{row.reason}; {how}"),
    ]


def _lines_of_time(row: LookupTimestampRow) -> list[tuple[str, str]]:
    record = row.record
    late = ""
    if row.timestamp is not None and record.record_timestamp is not None:
        after = record.record_timestamp - row.timestamp
        late = f", {duration(after)} after what was asked for" if after > 0 else ", exactly then"
    written = "" if record.record_timestamp is None else moment(record.record_timestamp, with_ms=True)
    return [
        ("at", f"offset {record.offset}, leader epoch {record.leader_epoch}"),
        ("written", f"{written} UTC{late}"),
        ("found", f"in the batch at byte {record.position} of {record.file}"),
    ]


def _batch(row: LookupOffsetRow) -> tuple[int, int] | None:
    first, last = row.batch.batch_base_offset, row.batch.batch_last_offset
    return None if first is None or last is None else (min(first, last), last + 1)


def _reason(row: Any) -> str:
    reason = readable(row.reason) if isinstance(row, LookupTimestampRow) else row.reason
    return "" if reason in {IN_BATCH, FOUND} else reason.partition(";")[0]


def _total(rows: Sequence[Any]) -> str:
    return f"Found in {number(sum(row.found for row in rows))} of {counted(len(rows), 'partition')}."


def _same_question(rows: Sequence[Any]) -> list[str]:
    asked = {_asked(row) for row in rows}
    return [f"{asked.pop()}"] if len(asked) == 1 else []


OFFSETS = TableView(
    columns=(
        ShownColumn("SEGMENT", "batch.segment_base_offset", NUMBER),
        ShownColumn("AT BYTE", "batch.position", NUMBER),
        ShownColumn("BATCH", _batch, RANGE),
        ShownColumn("EPOCH", "batch.leader_epoch", NUMBER, rank=2),
        ShownColumn("", _reason, rank=1, least=20, style="yellow"),
    ),
    closing=_total,
    facts=_same_question,
)
TIMESTAMPS = TableView(
    columns=(
        ShownColumn("OFFSET", "record.offset", NUMBER),
        ShownColumn("WRITTEN (UTC)", "record.record_timestamp", TIME),
        ShownColumn("EPOCH", "record.leader_epoch", NUMBER, rank=3),
        ShownColumn("SEGMENT", "record.segment_base_offset", NUMBER, rank=2),
        ShownColumn("AT BYTE", "record.position", NUMBER, rank=4),
        ShownColumn("", _reason, rank=1, least=12, style="yellow"),
    ),
    closing=_total,
    facts=_same_question,
)
