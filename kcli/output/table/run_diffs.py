"""The view of `diff`: the verdict on each partition, what moved, and what is new."""

from collections import Counter
from collections.abc import Sequence

from kcli.kafka.integrity.run_diffs import VERDICTS
from kcli.output.table.grid import SIZE, ShownColumn
from kcli.output.table.marks import joined
from kcli.output.table.tables import TableView
from kcli.output.units import counted, number
from kcli.rows.runs import RunDiffRow

SEVERITIES = {
    "damaged": "error",
    "rewritten": "error",
    "shrunk": "error",
    "gone": "warning",
    "changed": "warning",
}


def _moved(before: int | str | None, after: int | str | None) -> str:
    return " -> ".join(dict.fromkeys(str(one) for one in (before, after) if one is not None))


def _grown(row: RunDiffRow) -> int | None:
    if row.log_bytes_before is None or row.log_bytes_after is None:
        return None
    return row.log_bytes_after - row.log_bytes_before


def _segments(row: RunDiffRow) -> str:
    signs = (("+", row.segments_new), ("-", row.segments_gone), ("~", row.segments_changed))
    return " ".join(f"{sign}{len(some)}" for sign, some in signs if some)


def _total(rows: Sequence[RunDiffRow]) -> str:
    if not rows:
        return "Nothing changed."
    verdicts = Counter(row.verdict for row in rows)
    of_each = joined([f"{number(verdicts[name])} {name}" for name in VERDICTS if verdicts[name]])
    return f"{counted(len(rows), 'partition')}: {of_each}."


DIFFERENCES = TableView(
    columns=(
        ShownColumn("VERDICT", "verdict"),
        ShownColumn("RESULT", lambda row: _moved(row.result_before, row.result_after), rank=2),
        ShownColumn(
            "LOG START", lambda row: _moved(row.log_start_offset_before, row.log_start_offset_after), rank=4
        ),
        ShownColumn(
            "LOG END", lambda row: _moved(row.log_end_offset_before, row.log_end_offset_after), rank=1
        ),
        ShownColumn("EPOCH", lambda row: _moved(row.latest_epoch_before, row.latest_epoch_after), rank=3),
        ShownColumn("GREW BY", _grown, SIZE, rank=5),
        ShownColumn("SEGMENTS", _segments, rank=6),
        ShownColumn("NEW", lambda row: ", ".join(row.findings_new), least=12),
    ),
    verdict=_total,
    severity=lambda row: SEVERITIES.get(row.verdict),
)
