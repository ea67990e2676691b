"""The view of `epoch check`."""

from collections.abc import Sequence

from kcli.output.table.grid import NUMBER, ShownColumn
from kcli.output.table.marks import STYLES
from kcli.output.table.tables import TableView
from kcli.output.units import counted
from kcli.rows.epochs import EpochCheckRow

EQUAL = "equal"
MEANINGS = {
    "missing": "missing: no line for its batches",
    "extra": "extra: no batch has it",
    "past-end": "past the log end: a start drops it",
    "below-start": "below the log start: a start drops it",
}


SHIFTED = "shifted"
EARLIER, LATER = "earlier than its batches, as after compaction", "later than its batches"
WRONG = (MEANINGS["missing"], LATER)


def _verdict(rows: Sequence[EpochCheckRow]) -> str:
    epochs = counted(len(rows), "epoch")
    wrong = sum(_meaning(row) in WRONG for row in rows)
    if wrong:
        hint = "kcli epoch show --from batches: what batches give."
        return f"{wrong} of {epochs} wrong: followers truncate elsewhere. {hint}"
    others = sum(row.verdict != EQUAL for row in rows)
    if others:
        return f"No epoch is wrong; {others} of {epochs} differ from the batches in ways that brokers allow."
    return "The checkpoint says what the batches say."


def _meaning(row: EpochCheckRow) -> str:
    if row.verdict == SHIFTED and row.start_offset is not None and row.batches_start_offset is not None:
        return LATER if row.start_offset > row.batches_start_offset else EARLIER
    return MEANINGS.get(row.verdict, "")


def _style(text: str) -> str:
    return STYLES["error" if text in WRONG else "info"] if text else ""


CHECKED = TableView(
    columns=(
        ShownColumn("EPOCH", "epoch", NUMBER),
        ShownColumn("CHECKPOINT", "start_offset", NUMBER),
        ShownColumn("BATCHES", "batches_start_offset", NUMBER),
        ShownColumn("", _meaning, least=12, style=_style),
    ),
    verdict=_verdict,
)
