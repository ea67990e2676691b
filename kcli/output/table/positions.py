"""The view of `epoch validate`: the leader's answer about each position, and what the consumer does."""

from collections.abc import Sequence

from kcli.output.table.grid import NUMBER, ShownColumn
from kcli.output.table.marks import STYLES, joined
from kcli.output.table.tables import TableView
from kcli.output.units import counted
from kcli.rows.epochs import PositionRow

UNDEFINED = -1
KEPT = {"valid": "valid: reads on", "unchecked": "not validated: no epoch to ask for"}


def _epoch(row: PositionRow) -> int | None:
    return None if row.offset_epoch == UNDEFINED else row.offset_epoch


def _answer(row: PositionRow) -> str:
    if row.outcome == "unchecked":
        return ""
    if row.error is not None:
        return row.error
    if row.end_offset == UNDEFINED:
        return "undefined"
    return f"epoch {row.leader_epoch} ends at {row.end_offset}"


def _conclusion(row: PositionRow) -> str:
    if row.outcome in KEPT:
        return KEPT[row.outcome]
    if row.outcome == "retry":
        return "asks again with new metadata"
    if row.exception is not None:
        divergent = f", divergent offset {row.end_offset}" if row.outcome == "truncated" else ""
        return f"{row.exception}{divergent}"
    if row.outcome == "truncated" and row.next_offset is not None:
        return f"truncated: goes back to {row.next_offset}, epoch {row.next_offset_epoch}"
    why = "out of range" if row.outcome == "out-of-range" else "truncated"
    known = "which is unknown here" if row.next_offset is None else row.next_offset
    return f"{why}: resets to {row.reset}, {known}"


def _severity(row: PositionRow) -> str | None:
    if row.outcome in KEPT:
        return ""
    return "warning" if row.outcome == "retry" else "error"


def _verdict(rows: Sequence[PositionRow]) -> str:
    truncated = sum(row.outcome in {"truncated", "undefined", "out-of-range"} for row in rows)
    retried = sum(row.outcome == "retry" for row in rows)
    if not truncated and not retried:
        return "The consumer reads on where it is."
    words = (
        f"{truncated} of {counted(len(rows), 'position')} cannot stay" if truncated else "",
        f"{retried} of {counted(len(rows), 'position')} not answered" if retried else "",
    )
    return f"{joined(words)}."


def _log(rows: Sequence[PositionRow]) -> list[str]:
    logs = {(row.log_start_offset, row.log_end_offset, row.log_end_offset_source) for row in rows}
    return [f"log {start} to {end} ({source})" for start, end, source in logs] if len(logs) == 1 else []


def _style(text: str) -> str:
    return "" if text in KEPT.values() else STYLES["warning"]


POSITIONS = TableView(
    columns=(
        ShownColumn("POSITION", "offset", NUMBER, style="bold"),
        ShownColumn("EPOCH", _epoch, NUMBER),
        ShownColumn("ANSWER", _answer, rank=1, least=12),
        ShownColumn("SO THE CONSUMER", _conclusion, least=20, style=_style),
    ),
    verdict=_verdict,
    severity=_severity,
    facts=_log,
)
