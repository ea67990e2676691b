"""The rounds of a follower and its leader: what it asks, what the leader answers, what it makes of that."""

from collections.abc import Iterator

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.grid import ShownColumn, table
from kcli.output.table.tables import sentences
from kcli.rows.truncation import TruncationRound, TruncationRow

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


def draw_rounds(row: TruncationRow, screen: Screen) -> Iterator[RenderableType]:
    """Yield the rounds as a table, or a sentence where the logs agree at once."""
    if row.rounds:
        yield table(ROUNDS, row.rounds, screen)
    else:
        yield sentences(screen, "The logs agree: the first fetch is answered with records.")
    yield ""


def _request(one: TruncationRound) -> str:
    if one.requested_epoch is not None:
        return f"where epoch {one.requested_epoch} ends"
    if one.rule == "high-watermark":
        return ""
    epoch = "" if one.last_fetched_epoch is None else f", epoch {one.last_fetched_epoch}"
    return f"fetch at {one.fetch_offset}{epoch}"


def _answer(one: TruncationRound) -> str:
    if one.rule == "high-watermark":
        return ""
    if one.rule == "remote-offset":
        return "moved to tiered storage"
    if one.end_offset is None:
        return "out of range"
    if one.end_offset < 0:
        return "undefined"
    epoch = "" if one.leader_epoch is None or one.leader_epoch < 0 else f"epoch {one.leader_epoch}, "
    return f"{epoch}end {one.end_offset}"


def _conclusion(one: TruncationRound) -> str:
    if one.rule == "remote-offset" and one.truncate_to is None:
        return "no remote segment: fetch the same again, for ever"
    return CONCLUSIONS.get(one.rule, one.rule).format(to=one.truncate_to)


ROUNDS = (
    ShownColumn("ASKS", _request),
    ShownColumn("LEADER ANSWERS", _answer),
    ShownColumn("SO", _conclusion, least=20),
)
