"""The view of `producers`."""

from collections.abc import Sequence

from kcli.output.table.columns import DEFINED, NUMBER, TIME, TIME_OF_DAY, ShownColumn
from kcli.output.table.table_view import TableView
from kcli.output.units import counted
from kcli.rows.transactions import ProducerRow


def _producers_verdict(rows: Sequence[ProducerRow]) -> str:
    open_since = [row for row in rows if row.current_txn_start_offset is not None]
    held = f" {counted(len(open_since), 'transaction')} open: kcli txn open says more." if open_since else ""
    return f"{counted(len(rows), 'producer')} remembered.{held}"


REMEMBERED_PRODUCERS = TableView(
    columns=(
        ShownColumn("PRODUCER", lambda row: f"{row.producer_id}/{row.producer_epoch}"),
        ShownColumn("LAST SEQ", "last_sequence", DEFINED, rank=4),
        ShownColumn("LAST OFFSET", "last_offset", DEFINED),
        ShownColumn("LAST SEEN (UTC)", "last_timestamp", TIME_OF_DAY),
        ShownColumn("OPEN FROM", "current_txn_start_offset", NUMBER, rank=1, style="yellow"),
        ShownColumn("EXPIRES (UTC)", "expires_at", TIME, rank=2),
        ShownColumn("COORDINATOR EPOCH", "coordinator_epoch", DEFINED, rank=5),
    ),
    merged=lambda row: (
        row.producer_id,
        row.producer_epoch,
        *(-1 if one is None else one for one in row[3:]),
    ),
    verdict=_producers_verdict,
)
