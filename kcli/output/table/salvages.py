"""The view of `salvage`: what was written where, and what could not be saved."""

from collections.abc import Collection, Iterator, Sequence

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, SIZE, ShownColumn, span, table
from kcli.output.table.places import name_of, place_parts, title
from kcli.output.table.tables import sentences
from kcli.output.units import counted, size
from kcli.output.values import one_line
from kcli.rows.salvage import SalvageRow

LOST = (
    ShownColumn("NOT SAVED", "file"),
    ShownColumn("FROM BYTE", "start", NUMBER),
    ShownColumn("TO", "end", NUMBER),
    ShownColumn("SIZE", lambda one: one.end - one.start, SIZE),
    ShownColumn("OFFSET", "first_offset", NUMBER),
    ShownColumn("WHY", "reason"),
)
MOST = 25
"""Ranges that are listed."""
FILES_LOST = ("SALV-004", "SALV-006", "SALV-007", "SALV-008", "SALV-014")
"""Findings about a file that is not in the copy as it should be."""
RECORDS_LOST, MAY_BE_LOST, PAST_END = ("SALV-009", "SALV-010"), "SALV-011", "SALV-012"
"""Findings about records that no log has, or may be in none."""


def draw_salvages(
    rows: Sequence[SalvageRow],
    screen: Screen,
    findings: Sequence[Finding],
) -> Iterator[RenderableType]:
    """Yield what was written of each partition, what not, and a verdict."""
    files = [finding.file or "" for finding in findings if finding.code in FILES_LOST]
    codes = {finding.code for finding in findings}
    for row in rows:
        yield title([name_of(row.where), *place_parts([row.where])], screen)
        yield ""
        if row.lost:
            yield table(LOST, row.lost[:MOST], screen)
            if len(row.lost) > MOST:
                yield sentences(screen, f"{len(row.lost) - MOST} more: -o json lists them.", style="dim")
            yield ""
        yield sentences(screen, _written(row))
        yield sentences(screen, _verdict(row, files, codes), style="bold")


def _written(row: SalvageRow) -> str:
    held = f"offsets {span(row.log_start_offset, row.log_end_offset)}"
    if row.batches is None:
        return f"{counted(len(row.files), 'index', 'indexes')} of {held} in {one_line(row.out_dir)}."
    what = (
        f"{counted(row.segments, 'segment')}, {counted(row.batches, 'batch', 'batches')}, {size(row.bytes)}"
    )
    return f"{what}, {held} in {one_line(row.out_dir)}."


def _verdict(row: SalvageRow, files: Sequence[str], codes: Collection[str]) -> str:
    lost = [counted(row.batches_lost, "batch", "batches")] if row.batches_lost else []
    lost += [size(row.bytes_lost)] if row.bytes_lost else []
    gone = ["records that no log has"] if any(code in codes for code in RECORDS_LOST) else []
    saved = "All batches are saved." if row.batches is not None else "The indexes are written anew."
    if gone or MAY_BE_LOST in codes or PAST_END in codes:
        saved = "All batches that the logs have are saved."
    parts = [f"Not saved: {', '.join([*lost, *files, *gone])}."] if lost or files or gone else []
    parts += [saved] if not lost else []
    parts += ["Other records may be lost."] if MAY_BE_LOST in codes and not gone else []
    return " ".join(parts)
