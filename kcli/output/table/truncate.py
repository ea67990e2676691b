"""The view of `truncate`: what changes, the rounds with a leader, and what goes on the line of offsets."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.columns import STYLES, ShownColumn, span
from kcli.output.table.fitted_table import Line, StyledLines, sentences, table
from kcli.output.table.shared_columns import SharedColumn, name_of
from kcli.output.table.table_view import FEW, table_view
from kcli.output.table.timeline import Timeline
from kcli.output.units import counted, period, size, sums, tally
from kcli.rows.bad_news import loses_records
from kcli.rows.truncation import TruncatedSegment, TruncationRound, TruncationRow

MOST_SEGMENTS = 8
"""Segments in a row that have the same done to them: more of them are one line."""
WIDEST_PLAN = 96
"""Columns of a line of offsets."""
LEFT = "  "
"""Before a line of offsets."""
SAVE = "save what will be lost first: the same command with --rescue FILE.ndjson"
"""Instead of the command line that the row has: it is longer than most terminals are wide."""
NONE, FULL, STUCK = "none", "full", "stuck"
KEEP, CUT, DELETE, CREATE = "keep", "cut", "delete", "create"
DONE_TO_SEGMENTS = {KEEP: "kept", CUT: "cut", DELETE: "deleted", CREATE: "created"}
SIGNS = {KEEP: "", CUT: "~", DELETE: "-", CREATE: "+"}
SIGN_STYLES = {"~": "yellow", "-": "red", "+": "green"}
ANSWERS = {"high-watermark": "", "remote-offset": "moved to tiered storage"}
"""Of leaders, where the rule says it; else an epoch and its end."""
CONCLUSIONS = {
    "undefined-end": "truncate to {to}, where this began: it knows no end",
    "unnamed-epoch": "truncate to {to}",
    "unknown-epoch": "truncate to {to}, ask again: not known here",
    "common-epoch": "truncate to {to}: in common",
    "untracked-epoch": "truncate to {to}: not among the epochs here",
    "high-watermark": "truncate to the high watermark {to}",
    "leader-end": "truncate to the leader's log end {to}",
    "leader-start": "drop everything, begin at the leader's log start {to}",
    "same-fetch": "fetch the same again, for ever",
    "remote-offset": "drop everything, take remote state, begin at {to}",
}


def _draw_plans(rows: Sequence[TruncationRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield the rounds, the line of offsets, the segments and the warnings of a few partitions."""
    for row in rows if len(rows) <= FEW else ():
        yield ""
        if len(rows) > 1:
            yield StyledLines([[(name_of(row.where), "bold")]], screen)
        if row.rounds:
            yield table(ROUNDS, row.rounds, screen)
            yield ""
        if row.kind != NONE:
            yield StyledLines(_offset_lines(row, screen), screen)
            yield ""
            yield table(SEGMENT_COLUMNS, list(_segment_lines(row)), screen)
        if row.kind != NONE and row.warnings:
            yield ""
        for warning in row.warnings:
            text = f"{screen.symbols.warning} {SAVE if 'kcli dump' in warning else warning}"
            yield sentences(screen, text, style=STYLES["warning"], indent=LEFT)


def _offset_lines(row: TruncationRow, screen: Screen) -> Iterator[Line]:
    """Yield the line of offsets: its numbers, what stays and what goes, and epochs."""
    symbols = screen.symbols
    first, end = row.log_start_offset_before, max(row.log_end_offset_before, row.target_offset)
    removed = row.log_end_offset_before if row.first_removed_offset is None else row.first_removed_offset
    removed = first if row.kind == FULL else max(removed, first)
    timeline = Timeline(first, end, min(screen.width - 2 * len(LEFT), WIDEST_PLAN))
    offsets = (removed, first, end, *(segment.base_offset for segment in row.segments))
    stays = timeline.column(removed)
    yield [(LEFT + timeline.labels((offset, offset) for offset in offsets if offset >= first), "dim")]
    yield [(LEFT + symbols.stays * stays, "green"), (symbols.goes * (timeline.width - stays), "red")]
    epochs = [(entry.start_offset, entry.epoch) for entry in row.epochs_before]
    if epochs:
        yield [(LEFT + timeline.labels(epochs), "dim")]
    yield [
        (f"{LEFT}{symbols.stays} stays  ", "green"),
        (f"{symbols.goes} goes", "red"),
        ("  numbers above: leader epochs" if epochs else "", "dim"),
    ]


class SegmentLine(NamedTuple):
    """A segment, or several with the same done to them; one past its last offset, and what changes."""

    segment: TruncatedSegment
    end: int
    note: str


def _segment_lines(row: TruncationRow) -> Iterator[SegmentLine]:
    existing = [segment.base_offset for segment in row.segments if segment.size_before is not None]
    ends = dict(zip(existing, [*existing[1:], row.log_end_offset_before], strict=False))
    offset = row.target_offset if row.first_removed_offset is None else row.first_removed_offset
    notes = {KEEP: "", CUT: f"cut at {offset}"}
    for action, group in groupby(row.segments, key=lambda segment: segment.action):
        lines = [(segment, segment.base_offset) for segment in group]
        note = notes.get(action, str(action))
        if len(lines) > MOST_SEGMENTS:
            before, after = sums((segment for segment, _ in lines), "size_before", "size_after")
            note = f"{counted(len(lines), 'segment')}: {action}"
            first = lines[0][0]._replace(size_before=before, size_after=None if action == DELETE else after)
            lines = [(first, lines[-1][1])]
        yield from (SegmentLine(segment, ends.get(last, last), note) for segment, last in lines)


SEGMENT_COLUMNS = (
    ShownColumn("", lambda line: SIGNS[line.segment.action], style=SIGN_STYLES.get),
    ShownColumn("SEGMENT", "segment.base_offset", "number"),
    ShownColumn("OFFSETS", lambda line: span(line.segment.base_offset, line.end)),
    ShownColumn("SIZE", "segment.size_before", "size"),
    ShownColumn("AFTER", "segment.size_after", "size"),
    ShownColumn("", "note", rank=1, least=10),
)


def _request(exchange: TruncationRound) -> str:
    if exchange.requested_epoch is not None:
        return f"where epoch {exchange.requested_epoch} ends"
    epoch = "" if exchange.last_fetched_epoch is None else f", epoch {exchange.last_fetched_epoch}"
    return "" if exchange.rule == "high-watermark" else f"fetch at {exchange.fetch_offset}{epoch}"


def _answer(exchange: TruncationRound) -> str:
    if exchange.rule in ANSWERS:
        return ANSWERS[exchange.rule]
    if exchange.end_offset is None or exchange.end_offset < 0:
        return "out of range" if exchange.end_offset is None else "undefined"
    epoch = "" if exchange.leader_epoch in {None, -1} else f"epoch {exchange.leader_epoch}, "
    return f"{epoch}end {exchange.end_offset}"


def _conclusion(exchange: TruncationRound) -> str:
    if exchange.rule == "remote-offset" and exchange.truncate_to is None:
        return "no remote segment: fetch the same again, for ever"
    return CONCLUSIONS.get(exchange.rule, exchange.rule).format(to=exchange.truncate_to)


ROUNDS = (
    ShownColumn("ASKS", _request),
    ShownColumn("LEADER ANSWERS", _answer),
    ShownColumn("SO", _conclusion, least=20),
)


def _log_start(row: TruncationRow) -> tuple[int, int] | None:
    pair = row.log_start_offset_before, row.log_start_offset_after
    return None if len(set(pair)) == 1 else pair


def _moved(field: str) -> Callable[[TruncationRow], Any]:
    return attrgetter(f"{field}_before", f"{field}_after")


def _epoch(row: TruncationRow) -> tuple[Any, ...]:
    return tuple(entries[-1].epoch if entries else None for entries in (row.epochs_before, row.epochs_after))


def _verdict(rows: Sequence[TruncationRow]) -> str:
    """Return what happens to segments, and what is lost."""
    actions: Counter[str] = Counter(segment.action for row in rows for segment in row.segments)
    segments = tally({text: actions[action] for action, text in DONE_TO_SEGMENTS.items()})
    losers = [row for row in rows if loses_records(row)]
    stuck = sum(row.outcome == STUCK for row in rows)
    if stuck and not losers:
        return f"Stuck for ever: {counted(stuck, 'follower')}. Each fetch is out of the leader's range."
    if not losers:
        return f"The truncation loses nothing. Segments: {segments}."
    counts = [row.records_lost for row in losers if row.records_lost is not None]
    least = "at least " if len(counts) < len(losers) else ""
    records = f"{least}{counted(sum(counts), 'record')}" if counts else "an unknown number of records"
    lose = f"{counted(len(losers), 'partition')} lose{'s' * (len(losers) == 1)}"
    lost_bytes = size(sum(row.bytes_removed for row in losers))
    return f"{lose} {records}, {lost_bytes}. Segments: {segments}."


TRUNCATION = table_view(
    ShownColumn("LOG START", _log_start, "change", rank=5),
    ShownColumn("LOG END", _moved("log_end_offset"), "change"),
    ShownColumn("HW", _moved("high_watermark"), "change", rank=3),
    ShownColumn("RECOVERY", _moved("recovery_point"), "change", rank=8),
    ShownColumn("EPOCH", _epoch, "change", rank=6),
    ShownColumn("LOSES", "records_lost", "count", style="red"),
    ShownColumn("SIZE", "bytes_removed", "size", rank=1, style="red"),
    ShownColumn("OFFSETS", "lost_offsets", rank=4),
    ShownColumn(
        "WRITTEN (UTC)", lambda row: period(row.first_removed_timestamp, row.max_removed_timestamp), rank=7
    ),
    ShownColumn("OUTCOME", "outcome", rank=2),
    shared=(
        SharedColumn("TO", lambda row: row.target_offset, "truncate to {}", kind="number"),
        SharedColumn("LEADER", lambda row: row.leader_dir, "follows {}", rank=10),
        SharedColumn("", lambda _: "dry run"),
    ),
    verdict=_verdict,
    below=_draw_plans,
)
