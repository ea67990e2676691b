"""The view of `epoch end-offset`: what replicas answer to OffsetForLeaderEpoch, and by which rule."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, ShownColumn, stacked
from kcli.output.table.marks import STYLES
from kcli.output.table.places import name_of, place_parts, title
from kcli.output.table.replicas import Replica, column_name, draw_by_partition
from kcli.output.table.tables import TableView, sentences
from kcli.output.units import counted
from kcli.rows.epochs import EndOffsetRow

RULES = {
    "undefined-request": "the epoch asked for is undefined",
    "latest": "the newest epoch: the log end",
    "above-all": "newer than every epoch here",
    "below-all": "older than every epoch here",
    "between": "ends where the next epoch begins",
}
"""What each rule of LeaderEpochFileCache.endOffsetFor means."""

ERRORS = {
    "FENCED_LEADER_EPOCH": "FENCED_LEADER_EPOCH: the partition's epoch is newer",
    "UNKNOWN_LEADER_EPOCH": "UNKNOWN_LEADER_EPOCH: the partition's epoch is older",
    "NOT_LEADER_OR_FOLLOWER": "NOT_LEADER_OR_FOLLOWER: this broker does not lead",
    "UNKNOWN_TOPIC_OR_PARTITION": "UNKNOWN_TOPIC_OR_PARTITION: the metadata lacks it",
}
"""What each error of OffsetForLeaderEpoch means."""


def draw_end_offsets(
    rows: Sequence[EndOffsetRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the answers to each epoch that was asked for, of several replicas side by side."""
    yield from draw_by_partition(
        rows, END_OFFSETS, screen, findings, side_by_side=_side_by_side, agree=_agree, verdict=_verdict
    )


UNDEFINED = -1


def _defined(field: str, row: Any) -> int | None:
    value: int = getattr(row, field)
    return None if value == UNDEFINED else value


def _log_end(rows: Sequence[EndOffsetRow]) -> list[str]:
    ends = {(row.log_end_offset, row.log_end_offset_source) for row in rows}
    return [f"log end {end} ({source})" for end, source in ends] * (len(ends) == 1) + _fence(rows)


def _fence(rows: Sequence[EndOffsetRow]) -> list[str]:
    fences = {
        (row.current_leader_epoch, row.partition_leader_epoch, row.partition_leader_epoch_source)
        for row in rows
    }
    if len(fences) > 1:
        return []
    current, own, source = fences.pop()
    asked = [] if current is None else [f"request names epoch {current}"]
    return asked + ([] if own is None else [f"partition in epoch {own} ({source})"])


def _why(row: EndOffsetRow) -> str:
    return RULES.get(row.rule, row.rule) if row.error is None else ERRORS.get(row.error, row.error)


END_OFFSETS = TableView(
    columns=(
        ShownColumn("ASKED FOR", "requested_epoch", NUMBER),
        ShownColumn("EPOCH", partial(_defined, "leader_epoch"), NUMBER),
        ShownColumn("ENDS AT", partial(_defined, "end_offset"), NUMBER, style="bold"),
        ShownColumn("WHY", _why, rank=2, least=12),
    ),
    facts=_log_end,
)


class _AnswerLine(NamedTuple):
    """One epoch that was asked for, and each replica's answer."""

    requested: int
    answers: tuple[EndOffsetRow | None, ...]


def _side_by_side(found: Sequence[Replica], screen: Screen) -> Iterator[RenderableType]:
    lines = _answer_lines(found)
    asked = ShownColumn("ASKED FOR", "requested", NUMBER)
    columns = [ShownColumn(column_name(one), partial(_answer, place)) for place, one in enumerate(found)]
    agreement = ShownColumn("", _agreement, rank=1, style=STYLES["warning"])
    places = [one.where for one in found]
    yield title([name_of(places[0]), f"{len(found)} replicas", *place_parts(places)], screen)
    yield ""
    yield from stacked(asked, columns, [agreement], lines, screen)
    yield ""
    ends = ", ".join(f"{one.name} {one.rows[0].log_end_offset}" for one in found)
    yield sentences(screen, f"Log ends: {ends}.")


def _answer_lines(found: Sequence[Replica]) -> list[_AnswerLine]:
    """Return the answers of all replicas to each epoch."""
    known = [{row.requested_epoch: row for row in one.rows} for one in found]
    asked = sorted({epoch for one in known for epoch in one})
    return [_AnswerLine(epoch, tuple(one.get(epoch) for one in known)) for epoch in asked]


def _agree(found: Sequence[Replica]) -> bool:
    return not any(map(_agreement, _answer_lines(found)))


def _verdict(several: Sequence[Sequence[Replica]]) -> str:
    """Return how many answers differ."""
    lines = [line for found in several for line in _answer_lines(found)]
    differ = sum(bool(_agreement(line)) for line in lines)
    return f"{differ} of {counted(len(lines), 'answer')} differ." if differ else "All answers are the same."


def _answer(place: int, line: _AnswerLine) -> str | None:
    row = line.answers[place]
    if row is not None and row.error is not None:
        return row.error
    if row is None or row.end_offset == UNDEFINED:
        return None
    return f"epoch {row.leader_epoch} ends at {row.end_offset}"


def _agreement(line: _AnswerLine) -> str:
    answers = {(row.leader_epoch, row.end_offset, row.error) for row in line.answers if row is not None}
    return "differ" if len(answers) > 1 else ""
