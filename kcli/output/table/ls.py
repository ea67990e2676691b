"""The views of `ls` and `checkpoint show`: partitions, and how far they are."""

from collections import Counter
from collections.abc import Sequence

from formats.names import CLUSTER_METADATA
from kcli.kafka.storage.load_findings import NOT_RECOVERED
from kcli.output.table.columns import STYLES, ShownColumn, by_dir, codes, severity_of
from kcli.output.table.table_view import TableInput, TableView, table_view
from kcli.output.units import counted, joined, size, sums
from kcli.rows.partitions import CheckpointRow, DiskSumRow, PartitionRow

NORMAL = "normal"
FROM_HEADERS = "headers"


def draw_partition(answer: TableInput) -> TableView:
    """Return the view of partitions, and what is remarkable about each."""
    of_dir = by_dir(answer.findings)
    severities = {path: severity for path, own in of_dir.items() if (severity := severity_of(own)) != "info"}

    def note(row: PartitionRow) -> str:
        leftovers = counted(row.leftovers, "leftover") if row.leftovers else ""
        state = row.state if row.state != NORMAL else ""
        return joined((state, *codes(of_dir.get(row.where.dir, ())), leftovers))

    def log_end(row: PartitionRow) -> int | str | None:
        """Return the log end, or `≤ N` where START-005 has the largest that it can be."""
        if not _is_unknown(row):
            return row.log_end_offset
        at_most = "≤" if answer.screen.is_utf8 else "<="
        limits = (finding for finding in of_dir.get(row.where.dir, ()) if finding.code == NOT_RECOVERED)
        return next((f"{at_most} {finding.found}" for finding in limits), None)

    note_rank = 0 if any(row.state != NORMAL for row in answer.rows) else 3
    return table_view(
        ShownColumn("LOG", "log_bytes", "size"),
        ShownColumn("INDEX", "index_bytes", "size", rank=7),
        ShownColumn("DISK", "disk_bytes", "size"),
        ShownColumn("SEGS", "segments", "number", rank=6),
        ShownColumn("START", "log_start_offset", "number"),
        ShownColumn("END", log_end, "number"),
        ShownColumn("HW", "high_watermark", "number", rank=2),
        ShownColumn("EPOCH", "latest_epoch", "number", rank=5),
        ShownColumn("NOTE", note, rank=note_rank, least=12, style=STYLES["warning"]),
        closing=_total,
        severity=(lambda row: severities.get(row.where.dir)) if severities else None,
    )


def _is_unknown(row: PartitionRow) -> bool:
    """Whether only a recovery knows the log end."""
    return row.log_end_offset is None and row.log_end_offset_source == FROM_HEADERS


def _total(rows: Sequence[PartitionRow]) -> str:
    states = Counter(row.state for row in rows if row.state != NORMAL)
    unknown = list(filter(_is_unknown, rows))
    segments, disk = sums(rows, "segments", "disk_bytes")
    counts = (counted(len(rows), "partition"), counted(segments, "segment"), f"{size(disk)} on disk")
    total = joined((*counts, *(f"{count} {state}" for state, count in states.items())))
    if not unknown:
        return f"Total: {total}."
    reason = "The broker was running, or not stopped cleanly"
    if all(row.where.topic == CLUSTER_METADATA for row in unknown):
        reason = "KRaft recovers the metadata log at every start"
    return f"Total: {total}. {reason}: {counted(len(unknown), 'log end')} unknown, known with --recover."


def _checkpoints_verdict(rows: Sequence[CheckpointRow]) -> str:
    violating = sum(bool(row.violations) for row in rows)
    if not violating:
        return f"{counted(len(rows), 'partition')}: the checkpoints agree with the logs."
    return f"{violating} of {counted(len(rows), 'partition')} with checkpoints that contradict the log."


CHECKPOINT = table_view(
    ShownColumn("FIRST", "first_segment_offset", "number", rank=4),
    ShownColumn("START", "log_start_offset", "number"),
    ShownColumn("CLEANER", "cleaner_point", "number", rank=3),
    ShownColumn("RECOVERY", "recovery_point", "number"),
    ShownColumn("HW", "high_watermark", "number"),
    ShownColumn("END", "log_end_offset", "number"),
    ShownColumn("EPOCH", "latest_epoch", "number", rank=2),
    ShownColumn("VIOLATED", lambda row: joined(row.violations), style="bold", least=30),
    verdict=_checkpoints_verdict,
    severity=lambda row: "warning" if row.violations else None,
)


def _disk_verdict(rows: Sequence[DiskSumRow]) -> str:
    disk, leaving = sums(rows, "disk_bytes", "leaving_bytes")
    goes = f" {size(leaving)} of it go by themselves once the broker runs." if leaving else ""
    largest = max(rows, key=lambda row: row.disk_bytes)
    share = f" {largest.name} takes {largest.disk_bytes / disk:.0%}." if disk and len(rows) > 1 else ""
    return f"{size(disk)} on disk.{share}{goes}"


DISK_SUM = table_view(
    ShownColumn("NAME", "name"),
    ShownColumn("DISK", "disk_bytes", "size"),
    ShownColumn("LOG", "log_bytes", "size", rank=1),
    ShownColumn("INDEX", "index_bytes", "size", rank=6),
    ShownColumn("PREALLOCATED", "preallocated_bytes", "size", rank=7),
    ShownColumn("LEAVES", "leaving_bytes", "size"),
    ShownColumn("FREE", "file_system_free_bytes", "size", rank=1),
    ShownColumn("OF", "file_system_bytes", "size", rank=2),
    ShownColumn("PARTITIONS", "partitions", "number", rank=4),
    ShownColumn("SEGS", "segments", "number", rank=5),
    ShownColumn("OLDEST (UTC)", "oldest_timestamp", "time", rank=8),
    ShownColumn("NEWEST (UTC)", "newest_timestamp", "time", rank=3),
    verdict=_disk_verdict,
)
