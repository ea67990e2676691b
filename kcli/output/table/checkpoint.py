"""The view of `checkpoint show`: the offsets of each partition in the order that they should have."""

from collections.abc import Sequence

from kcli.output.table.columns import NUMBER, ShownColumn
from kcli.output.table.table_view import TableView
from kcli.output.units import counted, joined
from kcli.rows.partitions import CheckpointRow


def _total(rows: Sequence[CheckpointRow]) -> str:
    violating = sum(bool(row.violations) for row in rows)
    if not violating:
        return f"{counted(len(rows), 'partition')}: the checkpoints agree with the logs."
    return f"{violating} of {counted(len(rows), 'partition')} with checkpoints that contradict the log."


CHECKPOINTS = TableView(
    columns=(
        ShownColumn("FIRST", "first_segment_offset", NUMBER, rank=4),
        ShownColumn("START", "log_start_offset", NUMBER),
        ShownColumn("CLEANER", "cleaner_point", NUMBER, rank=3),
        ShownColumn("RECOVERY", "recovery_point", NUMBER),
        ShownColumn("HW", "high_watermark", NUMBER),
        ShownColumn("END", "log_end_offset", NUMBER),
        ShownColumn("EPOCH", "latest_epoch", NUMBER, rank=2),
        ShownColumn("VIOLATED", lambda row: joined(row.violations), style="bold", least=30),
    ),
    verdict=_total,
    severity=lambda row: "warning" if row.violations else None,
)
