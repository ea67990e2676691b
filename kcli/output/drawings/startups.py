"""The view of `startup`: what becomes of each partition, and whether the broker starts."""

from collections.abc import Sequence

from kcli.analysis.startup import FAILS
from kcli.output.drawings.grid import COUNT, NUMBER, SIZE, ShownColumn
from kcli.output.drawings.marks import STYLES, joined
from kcli.output.drawings.tables import TableView
from kcli.output.units import counted, number, size
from kcli.rows.startup import StartupRow

CLEAN, UNCLEAN = "clean", "unclean"


def _severity(row: StartupRow) -> str | None:
    if row.outcome == FAILS:
        return "error"
    return "warning" if row.records_lost or row.records_lost is None else None


def _stop(row: StartupRow) -> str:
    return CLEAN if row.clean else UNCLEAN


def _why(row: StartupRow) -> str:
    return joined((row.error, row.error_message))


def _total(rows: Sequence[StartupRow]) -> str:
    failing = [row for row in rows if row.outcome == FAILS]
    if failing:
        return (
            f"The broker would not load {counted(len(failing), 'partition')} of {len(rows)}: "
            f"{', '.join(sorted({str(row.error) for row in failing}))}."
        )
    read = sum(row.bytes_read or 0 for row in rows)
    lost = sum(row.records_lost or 0 for row in rows)
    unknown = sum(row.records_lost is None for row in rows)
    removes = joined(
        (
            f"{number(lost)} records" if lost else "",
            f"of {counted(unknown, 'partition')} an unknown number" if unknown else "",
        )
    )
    return (
        f"{counted(len(rows), 'partition')}: all load, {size(read)} of logs read; "
        f"recovery removes {removes or 'no record'}."
    )


STARTUPS = TableView(
    columns=(
        ShownColumn("STOP", _stop, rank=4),
        ShownColumn("OUTCOME", "outcome"),
        ShownColumn("SEGS", "segments", NUMBER, rank=5),
        ShownColumn("START", "log_start_offset", NUMBER, rank=2),
        ShownColumn("END", "log_end_offset", NUMBER),
        ShownColumn("READS", "bytes_read", SIZE, rank=3),
        ShownColumn("LOSES", "records_lost", COUNT),
        ShownColumn("WHY", _why, least=16, style=STYLES["error"]),
    ),
    closing=_total,
    severity=_severity,
)
