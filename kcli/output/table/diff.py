"""The view of `diff`: the verdict on each partition, what moved, and what is new."""

from collections import Counter
from collections.abc import Callable, Sequence

from kcli.output.table.columns import CHANGE, SIZE, ShownColumn
from kcli.output.table.table_view import TableView
from kcli.output.units import counted, joined, number
from kcli.rows.checks import VERDICTS, RunDiffRow

ERRORS, WARNINGS = VERDICTS[:3], ("gone", "changed")


def _moved(field: str) -> Callable[[RunDiffRow], tuple[object, object] | None]:
    """Return what gives the values of a field in both runs, one of them twice where the other is null."""

    def pair(row: RunDiffRow) -> tuple[object, object] | None:
        before, after = getattr(row, f"{field}_before"), getattr(row, f"{field}_after")
        if before is None and after is None:
            return None
        return (after if before is None else before), (before if after is None else after)

    return pair


def _grown(row: RunDiffRow) -> int | None:
    if row.log_bytes_before is None or row.log_bytes_after is None:
        return None
    return row.log_bytes_after - row.log_bytes_before


def _severity(row: RunDiffRow) -> str | None:
    return "error" if row.verdict in ERRORS else "warning" if row.verdict in WARNINGS else None


def _total(rows: Sequence[RunDiffRow]) -> str:
    verdicts = Counter(row.verdict for row in rows)
    of_each = joined(f"{number(verdicts[name])} {name}" for name in VERDICTS if verdicts[name])
    return f"{counted(len(rows), 'partition')}: {of_each}."


DIFFERENCES = TableView(
    columns=(
        ShownColumn("VERDICT", "verdict"),
        ShownColumn("RESULT", _moved("result"), CHANGE, rank=2),
        ShownColumn("LOG START", _moved("log_start_offset"), CHANGE, rank=4),
        ShownColumn("LOG END", _moved("log_end_offset"), CHANGE, rank=1),
        ShownColumn("EPOCH", _moved("latest_epoch"), CHANGE, rank=3),
        ShownColumn("GREW BY", _grown, SIZE, rank=5),
        ShownColumn("SEGMENTS", _moved("segments"), CHANGE, rank=6),
        ShownColumn("NEW", lambda row: joined(row.findings_new), least=12),
    ),
    verdict=_total,
    severity=_severity,
)
