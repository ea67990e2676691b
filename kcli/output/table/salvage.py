"""The view of `salvage`: what was written where, and what could not be saved."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.columns import COUNT, NUMBER, RANGE, SIZE, ShownColumn
from kcli.output.table.fitted_table import sentences, table
from kcli.output.table.shared_columns import name_of
from kcli.output.table.table_view import TableInput, TableView
from kcli.output.units import counted, joined, size
from kcli.rows.checks import SalvageRow

LOST = (
    ShownColumn("NOT SAVED", "file"),
    ShownColumn("FROM BYTE", "start", NUMBER),
    ShownColumn("TO", "end", NUMBER),
    ShownColumn("SIZE", lambda lost: lost.end - lost.start, SIZE),
    ShownColumn("OFFSET", "first_offset", NUMBER),
    ShownColumn("WHY", "reason"),
)
MOST = 25
"""Ranges that are listed."""
FILE_NOT_SAVED, RECORDS_LOST, MAY_BE_LOST = "SALV-004", "SALV-010", "SALV-011"


def view_salvages(answer: TableInput) -> TableView:
    """Return the view of what was written of each partition, what not, and a verdict."""
    files = [finding.file or "" for finding in answer.findings if finding.code == FILE_NOT_SAVED]
    codes = {finding.code for finding in answer.findings}
    return TableView(
        columns=(
            ShownColumn("SEGMENTS", "segments", COUNT),
            ShownColumn("BATCHES", "batches", COUNT),
            ShownColumn("SIZE", "bytes", SIZE, rank=1),
            ShownColumn("OFFSETS", lambda row: (row.log_start_offset, row.log_end_offset), RANGE),
            ShownColumn("FILES", lambda row: len(row.files), COUNT, rank=2),
            ShownColumn("IN", "out_dir", may_overflow=True),
        ),
        severity=lambda row: "error" if row.lost or row.batches_lost or row.bytes_lost else "",
        below=_draw_lost,
        verdict=lambda rows: "\n".join(_verdict(row, files, codes) for row in rows),
    )


def _draw_lost(rows: Sequence[SalvageRow], screen: Screen) -> Iterator[RenderableType]:
    for row in rows:
        if row.lost:
            yield ""
            yield from [sentences(screen, name_of(row.where))] if len(rows) > 1 else []
            yield table(LOST, row.lost[:MOST], screen)
        if len(row.lost) > MOST:
            yield sentences(screen, f"{len(row.lost) - MOST} more: -o json lists them.", style="dim")


def _verdict(row: SalvageRow, files: Sequence[str], codes: set[str]) -> str:
    lost = [counted(row.batches_lost, "batch", "batches")] if row.batches_lost else []
    lost += [size(row.bytes_lost)] if row.bytes_lost else []
    gone = ["records that no log has"] if RECORDS_LOST in codes else []
    saved = "All batches are saved." if row.batches is not None else "The indexes are written anew."
    if codes & {RECORDS_LOST, MAY_BE_LOST}:
        saved = "All batches that the logs have are saved."
    parts = [f"Not saved: {joined([*lost, *files, *gone])}."] if lost or files or gone else []
    parts += [saved] if not lost else []
    parts += ["Other records may be lost."] if MAY_BE_LOST in codes and not gone else []
    return " ".join(parts)
