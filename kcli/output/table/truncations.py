"""The view of `truncate`: a plan, with what stays and what goes on the line of offsets."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.bars import OffsetAxis, labels
from kcli.output.table.grid import COUNT, NUMBER, SIZE, Line, Lines, ShownColumn, span, table
from kcli.output.table.marks import STYLES, findings_line, joined
from kcli.output.table.places import name_of, place_parts, title
from kcli.output.table.rounds import draw_rounds
from kcli.output.table.tables import TableView, conclusion, draw_table, sentences
from kcli.output.units import counted, moment, size
from kcli.rows.truncation import TruncatedSegment, TruncationRow
from kcli.times import DAY, SECOND

MOST_PLANS = 4
"""Partitions that a plan is drawn for; of more there is a table."""
MOST_SEGMENTS = 8
"""Segments in a row that have the same done to them: of more the first and the last are listed."""
LEFT = 2
"""Spaces before a plan's lines."""

SAVE = "save what will be lost first: the same command with --rescue FILE.ndjson"
"""Instead of the command line that the row has: it is longer than most terminals are wide."""

NONE, FULL = "none", "full"
CONVERGED, TIERED = "converged", "tiered"
KEEP, CUT, DELETE, CREATE = "keep", "cut", "delete", "create"
SIGNS = {KEEP: "", CUT: "~", DELETE: "-", CREATE: "+"}
TOGETHER = {KEEP: "that stay", CUT: "that are cut", DELETE: "to delete", CREATE: "to create"}
ACTION_STYLES = {KEEP: "", CUT: "yellow", DELETE: "red", CREATE: "green"}


def draw_truncations(
    rows: Sequence[TruncationRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield a plan for each partition, or a table of many; then what is lost altogether."""
    if len(rows) <= MOST_PLANS:
        for row in rows:
            yield from _plan(row, screen)
            yield ""
    else:
        yield from draw_table(MANY, rows, screen)
        yield ""
    yield from conclusion(screen, _verdict(rows, findings), style="bold")
    if findings:
        yield sentences(screen, findings_line(findings))


def _plan(row: TruncationRow, screen: Screen) -> Iterator[RenderableType]:
    target = f"truncate to {row.target_offset}"
    if row.outcome is not None:
        target = f"follows {row.leader_dir or 'a leader that is described'}"
    yield title([name_of(row.where), target, "dry run", *place_parts([row.where])], screen)
    yield ""
    if row.outcome is not None:
        yield from draw_rounds(row, screen)
    if row.kind == NONE:
        yield sentences(screen, f"Nothing goes: the log ends at {row.log_end_offset_before}.")
    else:
        yield Lines(_offset_line(row, screen), screen.width)
        yield ""
        yield table(SEGMENTS, _segments(row, screen.symbols.arrow), screen)
        yield ""
        yield sentences(screen, _losses(row))
    yield sentences(screen, _changes(row, screen))
    for said in row.warnings:
        text = SAVE if "kcli dump" in said else said
        yield sentences(
            screen, f"{screen.symbols.warning} {text}", style=STYLES["warning"], indent=" " * LEFT
        )


def _offset_line(row: TruncationRow, screen: Screen) -> Iterator[Line]:
    """Yield the line of offsets: its numbers, segments, what stays and what goes, and epochs."""
    symbols = screen.symbols
    first, end = row.log_start_offset_before, max(row.log_end_offset_before, row.target_offset)
    width = min(screen.width - 2 * LEFT, 96)
    axis = OffsetAxis(first, end, width)
    lost = row.log_end_offset_before if row.first_removed_offset is None else row.first_removed_offset
    lost = first if row.kind == FULL else max(lost, first)
    bases = [one.base_offset for one in row.segments if one.base_offset > first]
    numbers = labels(axis, [lost, first, end, *bases], width + 1)
    left = " " * LEFT
    yield [(left + numbers, "dim")]
    ticks = [symbols.axis[2]] * width
    for base in bases:
        ticks[min(axis.column(base), width - 1)] = symbols.axis[1]
    ticks[0], ticks[-1] = symbols.axis[0], symbols.axis[3]
    here = min(axis.column(lost), width - 1)
    yield [
        (left + "".join(ticks[:here]), "dim"),
        (symbols.here, "bold red"),
        ("".join(ticks[here + 1 :]), "dim"),
    ]
    stays, _ = axis.stretch(lost, end) if end > lost else (width, width)
    yield [
        (left + symbols.stays * stays, "green"),
        (symbols.goes * (width - stays), "red"),
    ]
    if row.epochs_before:
        yield [(left + _epoch_marks(row, axis), "dim")]
    legend = [(f"{left}{symbols.stays} stays  ", "green"), (f"{symbols.goes} goes", "red")]
    yield [*legend, ("  numbers above: leader epochs" if row.epochs_before else "", "dim")]


def _epoch_marks(row: TruncationRow, axis: OffsetAxis) -> str:
    """Return the numbers of epochs where each begins."""
    line = ""
    for entry in row.epochs_before:
        at = axis.column(entry.start_offset)
        if at >= len(line) + bool(line) and at + len(str(entry.epoch)) <= axis.width:
            line = line.ljust(at) + str(entry.epoch)
    return line


class _SegmentLine(NamedTuple):
    """One line of the plan: a segment, its first offset and one past its last; or how many are left out."""

    segment: TruncatedSegment
    end: int
    note: str


def _segments(row: TruncationRow, arrow: str) -> list[_SegmentLine]:
    """Return the segments with their ends; of many that have the same done to them the first and the last."""
    existing = [one for one in row.segments if one.size_before is not None]
    ends = [*(one.base_offset for one in existing[1:]), row.log_end_offset_before]
    bounds = {one.base_offset: end for one, end in zip(existing, ends, strict=False)}
    lines: list[_SegmentLine] = []
    for _, group in groupby(row.segments, key=lambda one: one.action):
        found = [
            _SegmentLine(one, bounds.get(one.base_offset, one.base_offset), _note(one, row, arrow))
            for one in group
        ]
        if len(found) > MOST_SEGMENTS:
            between = found[1:-1]
            before = sum(one.segment.size_before or 0 for one in between)
            after = (
                None
                if between[0].segment.size_after is None
                else sum(one.segment.size_after or 0 for one in between)
            )
            middle = between[0].segment._replace(size_before=before, size_after=after)
            note = f"{counted(len(between), 'segment')} {TOGETHER[between[0].segment.action]}"
            found = [found[0], _SegmentLine(middle, between[-1].end, note), found[-1]]
        lines += found
    return lines


def _note(one: TruncatedSegment, row: TruncationRow, arrow: str) -> str:
    if one.action == KEEP:
        return ""
    if one.action != CUT:
        return str(one.action)
    changes = [
        f"cut at {row.first_removed_offset if row.first_removed_offset is not None else row.target_offset}"
    ]
    for suffix, name in (("index", "offset"), ("timeindex", "time"), ("txnindex", "txn")):
        before, after = (
            getattr(one, f"{name}_index_entries_before"),
            getattr(one, f"{name}_index_entries_after"),
        )
        if before != after:
            changes.append(f"{suffix} {before}{arrow}{after}")
    return ", ".join(changes)


_SIGN_STYLES = {sign: ACTION_STYLES[action] for action, sign in SIGNS.items()}
SEGMENTS = (
    ShownColumn("", lambda line: SIGNS[line.segment.action], style=lambda sign: _SIGN_STYLES[sign]),
    ShownColumn("SEGMENT", "segment.base_offset", NUMBER),
    ShownColumn("OFFSETS", lambda line: span(line.segment.base_offset, line.end)),
    ShownColumn("SIZE", "segment.size_before", SIZE),
    ShownColumn("AFTER", "segment.size_after", SIZE),
    ShownColumn("", "note", rank=1, least=10),
)


def _losses(row: TruncationRow) -> str:
    """Return what of the log is lost; what a restart cuts off later is a warning of the row."""
    if not row.bytes_removed:
        return "Lost: no records."
    records = "" if row.records_removed is None else f"{counted(row.records_removed, 'record')} in "
    if row.first_removed_offset is None:
        return f"Lost: {size(row.bytes_removed)} that are no batches."
    lost = f"{records}{counted(row.batches_removed, 'batch', 'batches')}, {size(row.bytes_removed)}"
    last = row.log_end_offset_before - 1 if row.last_removed_offset is None else row.last_removed_offset
    words = f"{lost}, offsets {span(row.first_removed_offset, last + 1)}{_written(row)}."
    if row.outcome != TIERED:
        return f"Removed: {words} {_lost(row)}" if _was_deleted(row) else f"Lost: {words}"
    if row.rescue_command is None:
        return f"Dropped: {words} Remote storage has them."
    return f"Dropped: {words} Remote storage has those below {row.rounds[-1].fetch_offset}."


def _was_deleted(row: TruncationRow) -> bool:
    """Whether some of what goes was deleted before: it lies below the log start offset."""
    first = row.first_removed_offset
    return first is not None and first < row.log_start_offset_before


def _lost(row: TruncationRow) -> str:
    """Return what is lost where not all that goes is."""
    start = row.log_start_offset_before
    if row.lost_offsets is None:
        return f"Lost: no records, they were deleted before: the log starts at {start}."
    records = "" if row.records_lost is None else f"{counted(row.records_lost, 'record')}, "
    return (
        f"Lost: {records}offsets {row.lost_offsets}. Those below the log start offset {start} were deleted "
        "before."
    )


def _is_lossy(row: TruncationRow) -> bool:
    """Whether records go that are nowhere else."""
    if _was_deleted(row) and row.lost_offsets is None:
        return False
    return bool(row.bytes_removed) and (row.outcome != TIERED or row.rescue_command is not None)


def _written(row: TruncationRow) -> str:
    first, last = row.first_removed_timestamp, row.max_removed_timestamp
    if first is None or last is None or first < 0:
        return ""
    if first // SECOND == last // SECOND:
        return f", written {moment(first)} UTC"
    return f", written {moment(first)} to {moment(last, with_day=first // DAY != last // DAY)} UTC"


MOST_EPOCHS = 8
"""Of a longer history the first and the last two are shown."""


def _changes(row: TruncationRow, screen: Screen) -> str:
    """Return what changes apart from segments: ends, checkpoints, epochs, snapshots."""
    symbols = screen.symbols

    def change(name: str, before: Any, after: Any) -> str:
        return "" if before == after else f"{name} {_shown(before)} {symbols.arrow} {_shown(after)}"

    created, deleted = (
        sum(one.action == action for one in row.producer_snapshots) for action in (CREATE, DELETE)
    )
    changes = [
        change("log start", row.log_start_offset_before, row.log_start_offset_after),
        change("log end", row.log_end_offset_before, row.log_end_offset_after),
        change("high watermark", row.high_watermark_before, row.high_watermark_after),
        change("recovery point", row.recovery_point_before, row.recovery_point_after),
        change("epochs", *(_epochs(one, symbols.more) for one in (row.epochs_before, row.epochs_after))),
        f"snapshots +{created} -{deleted}" if created or deleted else "",
    ]
    found = [text for text in changes if text]
    return f"Then: {', '.join(found)}." if found else ""


def _shown(value: Any) -> str:
    return "unknown" if value is None else str(value)


def _epochs(entries: Sequence[Any], more: str) -> str:
    words = [str(entry.epoch) for entry in entries]
    if len(words) > MOST_EPOCHS:
        words[2:-2] = [more]
    return "/".join(words) or "none"


def _verdict(rows: Sequence[TruncationRow], findings: Sequence[Finding]) -> str:
    """Return what happens to segments, and what is lost."""
    count = {
        action: sum(one.action == action for row in rows for one in row.segments)
        for action in (KEEP, CUT, DELETE, CREATE)
    }
    doing = joined(
        (
            f"{counted(count[KEEP], 'segment')} stay{'s' * (count[KEEP] == 1)}" if count[KEEP] else "",
            f"{count[CUT]} cut" if count[CUT] else "",
            f"{count[DELETE]} deleted" if count[DELETE] else "",
            f"{count[CREATE]} created" if count[CREATE] else "",
        )
    )
    losers = [row for row in rows if _is_lossy(row)]
    if not losers:
        if any(one.code == "REPL-006" for one in findings):
            return f"Plan: {doing}. The truncation loses nothing; the leader's log start does (REPL-006)."
        return f"Plan: {doing}. Nothing is lost."
    known = [row.records_lost for row in losers if row.records_lost is not None]
    least = "at least " if len(known) < len(losers) else ""
    records = f"{least}{counted(sum(known), 'record')}" if known else "an unknown number of records"
    lose = f"{counted(len(losers), 'partition')} lose{'s' * (len(losers) == 1)}"
    return f"Plan: {doing}. {lose} {records}, {size(sum(row.bytes_removed for row in losers))}."


def _count(action: str, row: TruncationRow) -> int:
    return sum(one.action == action for one in row.segments)


MANY = TableView(
    columns=(
        ShownColumn("ROUNDS", lambda row: len(row.rounds) if row.outcome else None, NUMBER, rank=2),
        ShownColumn("TO", "target_offset", NUMBER),
        ShownColumn("END", "log_end_offset_before", NUMBER),
        ShownColumn("AFTER", "log_end_offset_after", NUMBER),
        ShownColumn("HW", "high_watermark_before", NUMBER, rank=3),
        ShownColumn("RECORDS", "records_lost", COUNT, style="red"),
        ShownColumn("LOST", "bytes_removed", SIZE, rank=1, style="red"),
        ShownColumn("CUT", partial(_count, CUT), NUMBER, rank=4),
        ShownColumn("DELETED", partial(_count, DELETE), NUMBER, rank=4),
        ShownColumn("OUTCOME", lambda row: None if row.outcome == CONVERGED else row.outcome, rank=2),
    ),
)
