"""The views of `epoch check` and `epoch rebuild`."""

from collections.abc import Sequence

from kcli.output.drawings.grid import NUMBER, ShownColumn
from kcli.output.drawings.marks import STYLES
from kcli.output.drawings.tables import TableView
from kcli.output.units import counted
from kcli.rows.epochs import EpochCheckRow

EQUAL = "equal"
MEANINGS = {
    "missing": "missing: no line for its batches",
    "extra": "extra: no batch has it",
    "shifted": "shifted: its batches begin elsewhere",
    "past-end": "past the log end: a start drops it",
    "below-start": "below the log start: a start drops it",
}


def _verdict(rows: Sequence[EpochCheckRow]) -> str:
    equal = sum(row.verdict == EQUAL for row in rows)
    if equal == len(rows):
        return "The checkpoint says what the batches say."
    return f"{len(rows) - equal} of {counted(len(rows), 'epoch')} are not as the batches say."


def _meaning(row: EpochCheckRow) -> str:
    return MEANINGS.get(row.verdict, "")


CHECKED = TableView(
    columns=(
        ShownColumn("EPOCH", "epoch", NUMBER),
        ShownColumn("CHECKPOINT", "start_offset", NUMBER),
        ShownColumn("BATCHES", "batches_start_offset", NUMBER),
        ShownColumn("", _meaning, style=lambda text: STYLES["warning"] if text else ""),
    ),
    closing=_verdict,
)
REBUILT = TableView(
    columns=(
        ShownColumn("EPOCH", "epoch", NUMBER),
        ShownColumn("START", "start_offset", NUMBER),
        ShownColumn("END", "end_offset", NUMBER),
        ShownColumn("CHECKPOINT", lambda row: "" if row.verdict == EQUAL else row.verdict),
    ),
)
