"""The view of `diff`: the verdict on each partition, what moved, and what is new."""

from collections import Counter
from collections.abc import Sequence

from kcli.output.table.grid import SIZE, ShownColumn
from kcli.output.table.marks import joined
from kcli.output.table.tables import TableView
from kcli.output.units import counted, number
from kcli.rows.runs import VERDICTS, RunDiffRow

ERRORS, WARNINGS = VERDICTS[:3], ("gone", "changed")


def _moved(before: int | str | None, after: int | str | None) -> str:
    return " -> ".join(dict.fromkeys(str(one) for one in (before, after) if one is not None))


def _grown(row: RunDiffRow) -> int | None:
    if row.log_bytes_before is None or row.log_bytes_after is None:
        return None
    return row.log_bytes_after - row.log_bytes_before


def _segments(row: RunDiffRow) -> str:
    signs = (("+", row.segments_new), ("-", row.segments_gone), ("~", row.segments_changed))
    return " ".join(f"{sign}{len(names)}" for sign, names in signs if names)


def _total(rows: Sequence[RunDiffRow]) -> str:
    if not rows:
        return "Nothing changed."
    verdicts = Counter(row.verdict for row in rows)
    of_each = joined([f"{number(verdicts[name])} {name}" for name in VERDICTS if verdicts[name]])
    return f"{counted(len(rows), 'partition')}: {of_each}."


def _severity(row: RunDiffRow) -> str | None:
    return "error" if row.verdict in ERRORS else "warning" if row.verdict in WARNINGS else None


def _column(title: str, name: str, rank: int) -> ShownColumn:
    return ShownColumn(
        title, lambda row: _moved(getattr(row, f"{name}_before"), getattr(row, f"{name}_after")), rank=rank
    )


DIFFERENCES = TableView(
    columns=(
        ShownColumn("VERDICT", "verdict"),
        _column("RESULT", "result", 2),
        _column("LOG START", "log_start_offset", 4),
        _column("LOG END", "log_end_offset", 1),
        _column("EPOCH", "latest_epoch", 3),
        ShownColumn("GREW BY", _grown, SIZE, rank=5),
        ShownColumn("SEGMENTS", _segments, rank=6),
        ShownColumn("NEW", lambda row: ", ".join(row.findings_new), least=12),
    ),
    verdict=_total,
    severity=_severity,
)
