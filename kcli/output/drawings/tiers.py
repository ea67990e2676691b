"""The views of `rlmm` about tiers: what a leader answers, where offsets are, what goes next."""

from collections.abc import Callable, Sequence
from typing import Any

from kcli.output.drawings.grid import NUMBER, TIME, ShownColumn
from kcli.output.drawings.tables import TableView
from kcli.output.units import counted, number


def _known(name: str) -> Callable[[Any], int | None]:
    """Return what gives a column's value, None for -1."""

    def value(row: Any) -> int | None:
        found: int = getattr(row, name)
        return None if found < 0 else found

    return value


def _tiered(rows: Sequence[Any]) -> str:
    tiered = sum(row.remote_storage for row in rows)
    pending = sum(row.earliest_pending_upload_offset >= 0 for row in rows)
    return (
        f"{counted(len(rows), 'partition')}: {number(tiered)} tiered, {number(pending)} with records that "
        "are not copied yet."
    )


OFFSETS = TableView(
    columns=(
        ShownColumn("EARLIEST", _known("earliest_offset"), NUMBER),
        ShownColumn("EARLIEST LOCAL", _known("earliest_local_offset"), NUMBER),
        ShownColumn("LATEST TIERED", _known("latest_tiered_offset"), NUMBER),
        ShownColumn("NOT COPIED FROM", _known("earliest_pending_upload_offset"), NUMBER, rank=1),
        ShownColumn("LATEST", _known("latest_offset"), NUMBER),
        ShownColumn("EPOCH", "latest_epoch", NUMBER, rank=3),
        ShownColumn("NEWEST LOCAL (UTC)", _known("max_timestamp"), TIME, rank=2),
    ),
    closing=_tiered,
)
