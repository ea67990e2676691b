"""The view of `ls`: partitions, how large each is, where it begins and ends."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import RenderableType

from formats.names import CLUSTER_METADATA
from kcli.kafka.findings.findings import SEVERITIES, Finding
from kcli.output.screen import Screen
from kcli.output.table.bars import of_largest
from kcli.output.table.grid import NUMBER, SIZE, DrawnColumn, ShownColumn
from kcli.output.table.marks import STYLES, by_dir, codes, joined, severity_of
from kcli.output.table.tables import TableView, draw_table
from kcli.output.units import counted, size
from kcli.rows.places import PartitionRow

NORMAL = "normal"
FROM_HEADERS = "headers"
NOT_RECOVERED = "START-005"


def draw_partitions(
    rows: Sequence[PartitionRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield partitions with bars of their sizes, and what is remarkable about each."""
    of_dir = by_dir(findings)
    severities = {path: severity_of(found) for path, found in of_dir.items()}
    bad = {path: severity for path, severity in severities.items() if severity != SEVERITIES[0]}
    note_rank = 0 if any(row.state != NORMAL for row in rows) else 3
    view = TableView(
        columns=(
            ShownColumn("LOG", "log_bytes", SIZE),
            ShownColumn("INDEX", "index_bytes", SIZE, rank=7),
            ShownColumn("DISK", "disk_bytes", SIZE),
            DrawnColumn("", of_largest(lambda row: row.disk_bytes), least=3, most=20, rank=4),
            ShownColumn("SEGS", "segments", NUMBER, rank=6),
            ShownColumn("START", "log_start_offset", NUMBER),
            ShownColumn("END", partial(_log_end, of_dir, "≤" if screen.is_utf8 else "<="), NUMBER),
            ShownColumn("HW", "high_watermark", NUMBER, rank=2),
            ShownColumn("EPOCH", "latest_epoch", NUMBER, rank=5),
            ShownColumn("NOTE", partial(_note, of_dir), rank=note_rank, least=12, style=STYLES["warning"]),
        ),
        closing=_total,
        severity=(lambda row: bad.get(row.where.dir)) if bad else None,
    )
    yield from draw_table(view, rows, screen, findings)


def _log_end(of_dir: dict[str, list[Finding]], at_most: str, row: PartitionRow) -> int | str | None:
    """Return the log end, or `≤ N` where START-005 has the largest that it can be."""
    if row.log_end_offset is not None or row.log_end_offset_source != FROM_HEADERS:
        return row.log_end_offset
    ends = [finding.found for finding in of_dir.get(row.where.dir, ()) if finding.code == NOT_RECOVERED]
    return f"{at_most} {ends[0]}" if ends else None


def _note(of_dir: dict[str, list[Finding]], row: PartitionRow) -> str:
    return joined(
        (
            row.state if row.state != NORMAL else "",
            codes(of_dir.get(row.where.dir, ())),
            counted(row.leftovers, "leftover") if row.leftovers else "",
        )
    )


def _total(rows: Sequence[PartitionRow]) -> str:
    states = Counter(row.state for row in rows if row.state != NORMAL)
    from_headers = [
        row for row in rows if row.log_end_offset_source == FROM_HEADERS and row.log_end_offset is None
    ]
    guessed = len(from_headers)
    total = joined(
        (
            counted(len(rows), "partition"),
            counted(sum(row.segments for row in rows), "segment"),
            f"{size(sum(row.disk_bytes for row in rows))} on disk",
            *(f"{count} {state}" for state, count in states.items()),
        )
    )
    if not guessed:
        return f"Total: {total}."
    why = "The broker was not stopped cleanly"
    if all(row.where.topic == CLUSTER_METADATA for row in from_headers):
        why = "KRaft recovers the metadata log at every start"
    return f"Total: {total}. {why}: {counted(guessed, 'log end')} unknown, known with --recover."
