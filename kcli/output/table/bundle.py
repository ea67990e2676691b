"""The view of `bundle`: what is in the archive, and what is not."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.columns import ShownColumn
from kcli.output.table.fitted_table import sentences, table
from kcli.output.table.table_view import table_view
from kcli.output.units import counted, joined, size
from kcli.rows.bundles import BundleRow

MOST_LEFT_OUT = 25
LEFT_OUT = (
    ShownColumn("LEFT OUT", "path", may_overflow=True),
    ShownColumn("SIZE", "size", "size"),
    ShownColumn("WHY", "reason"),
)


def _verdict(rows: Sequence[BundleRow]) -> str:
    row = rows[0]
    damaged = [
        counted(row.bad_checksums, "batch", "batches") + " of wrong checksum" if row.bad_checksums else "",
        f"{size(row.damaged_bytes)} of logs that are no batches" if row.damaged_bytes else "",
    ]
    parts = joined([counted(row.partitions, "partition"), counted(row.batches, "batch", "batches"), *damaged])
    return (
        f"{row.out} ({size(row.size)}) has {parts}.\n"
        "Keys, values, headers, passwords and SCRAM keys are not in it. Names of topics, groups, clients, "
        f"hosts and directories are.\nsha256 {row.sha256}"
    )


def _draw_rest(rows: Sequence[BundleRow], screen: Screen) -> Iterator[RenderableType]:
    left_out = rows[0].left_out
    if left_out:
        yield ""
        yield table(LEFT_OUT, left_out[:MOST_LEFT_OUT], screen)
    if len(left_out) > MOST_LEFT_OUT:
        yield sentences(screen, f"{len(left_out) - MOST_LEFT_OUT} more: -o json lists them.", style="dim")
    yield ""
    yield sentences(screen, f"Not judged on it: {'; '.join(rows[0].not_judged)}.", style="dim")


BUNDLE = table_view(
    ShownColumn("LOG DIRS", lambda row: ", ".join(row.log_dirs)),
    ShownColumn("PARTITIONS", "partitions", "count"),
    ShownColumn("FILES", "files", "count"),
    ShownColumn("BATCHES", "batches", "count"),
    ShownColumn("UNPACKED", "unpacked_size", "size"),
    verdict=lambda rows: _verdict(rows) if rows else "",
    below=_draw_rest,
)
