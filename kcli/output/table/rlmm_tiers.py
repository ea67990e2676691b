"""The views of `rlmm` about tiers: where offsets are, what serves them, what goes next."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.serde import NOT_ALL_READ
from kcli.output.screen import Screen, Symbols
from kcli.output.table.columns import DEFINED, NUMBER, SIZE, TIME, DrawnColumn, ShownColumn, span
from kcli.output.table.fitted_table import sentences
from kcli.output.table.shared_columns import SharedColumn, name_of
from kcli.output.table.table_view import FEW, TableInput, TableView, draw_table
from kcli.output.table.timeline import Timeline
from kcli.output.units import counted, joined, moment, number, readable, size
from kcli.rows.partitions import Where
from kcli.rows.remote_tiers import RlmmClusterOffsetRow, RlmmCoverageRow, RlmmLookupOffsetRow


def _draw_steps(field: str, rows: Sequence[Any], screen: Screen) -> Iterator[RenderableType]:
    """Yield what a broker does for each of a few rows, step by step."""
    for row in rows if len(rows) <= FEW else ():
        yield ""
        if len(rows) > 1:
            yield sentences(screen, name_of(row.where), style="bold")
        for step, text in enumerate(getattr(row, field), 1):
            yield sentences(screen, f"  {step:>3}  {readable(text)}", indent=" " * 7)


def _tiered(rows: Sequence[Any]) -> str:
    tiered = number(sum(row.remote_storage for row in rows))
    pending = number(sum(row.earliest_pending_upload_offset >= 0 for row in rows))
    return (
        f"{counted(len(rows), 'partition')}: {tiered} tiered, {pending} with records that are not copied yet."
    )


OFFSETS = TableView(
    columns=(
        ShownColumn("EARLIEST", "earliest_offset", DEFINED),
        ShownColumn("EARLIEST LOCAL", "earliest_local_offset", DEFINED),
        ShownColumn("LATEST TIERED", "latest_tiered_offset", DEFINED),
        ShownColumn("NOT COPIED FROM", "earliest_pending_upload_offset", DEFINED, rank=1),
        ShownColumn("LATEST", "latest_offset", DEFINED),
        ShownColumn("EPOCH", "latest_epoch", NUMBER, rank=3),
        ShownColumn("NEWEST LOCAL (UTC)", "max_timestamp", TIME, rank=2),
    ),
    verdict=_tiered,
)


def _asked(row: Any) -> str:
    if isinstance(row, RlmmLookupOffsetRow):
        return f"offset {row.offset}"
    return f"at or after {moment(row.timestamp, with_ms=True)} UTC"


def _position(row: Any) -> str:
    """Return the record or the byte that is found, or the byte from which the broker reads."""
    if not isinstance(row, RlmmLookupOffsetRow):
        return "" if row.record.offset is None else f"offset {row.record.offset}"
    if row.batch.position is not None:
        return f"byte {row.batch.position} of {row.batch.file}"
    entry = row.batch.index_entry_position
    return "" if entry is None else f"read from byte {entry} on"


def _doubt(row: Any) -> str:
    """Return why nothing is found, or that the log of what is found is not in remote storage."""
    reason: str = row.reason
    is_read = (
        row.batch.position is not None
        if isinstance(row, RlmmLookupOffsetRow)
        else row.record.offset is not None
    )
    if not row.found:
        return readable(reason)
    return "" if is_read else reason.partition(":")[0].partition("; ")[2]


def _remote_offsets(row: Any) -> str | None:
    remote = row.remote
    if remote.start_offset is None or remote.end_offset is None:
        return None
    return span(remote.start_offset, remote.end_offset + 1)


LOOKUPS = TableView(
    columns=(
        ShownColumn("TIER", "tier", style="bold"),
        ShownColumn("SEGMENT ID", "remote.segment_id"),
        ShownColumn("OFFSETS", _remote_offsets, rank=3),
        ShownColumn("WHERE", _position, rank=2),
        ShownColumn("", _doubt, least=20, style="yellow"),
    ),
    shared=(SharedColumn("ASKED FOR", _asked),),
    below=partial(_draw_steps, "tries"),
    closing=lambda rows: (
        f"Found in {number(sum(row.found for row in rows))} of {counted(len(rows), 'partition')}."
    ),
)


class Coverage(NamedTuple):
    """The ranges of offsets of a partition."""

    where: Where
    ranges: tuple[RlmmCoverageRow, ...]

    @property
    def offsets(self) -> str:
        """Its first and last offset."""
        return span(self.ranges[0].first_offset, self.ranges[-1].last_offset + 1)

    def bytes(self, column: str) -> int:
        """Return the sum of a column."""
        return sum(getattr(row, column) for row in self.ranges)


def _tier_cells(symbols: Symbols) -> dict[str, str]:
    return {"both": symbols.stays, "remote": symbols.middle, "local": symbols.half, "none": symbols.warning}


def _draw_tiers(_: Sequence[Coverage], symbols: Symbols) -> Callable[[Coverage, int], str]:
    cells = _tier_cells(symbols)

    def draw(coverage: Coverage, width: int) -> str:
        ranges = [
            (row.first_offset, row.last_offset + 1, cells.get(row.tiers, " "))
            for row in sorted(coverage.ranges, key=lambda row: row.tiers == "none")  # gaps always show
        ]
        timeline = Timeline(coverage.ranges[0].first_offset, coverage.ranges[-1].last_offset + 1, width)
        return "".join(timeline.cells(ranges))

    return draw


def draw_coverage(answer: TableInput) -> Iterator[RenderableType]:
    """Yield a line of offsets for each partition, from its log start to its log end."""
    groups = groupby(answer.rows, key=lambda row: row.where)
    partitions = [Coverage(where, tuple(own)) for where, own in groups]
    view = COVERAGE._replace(verdict=lambda rows: _covered(rows, answer))
    yield from draw_table(view, answer._replace(rows=partitions))


def _covered(partitions: Sequence[Coverage], answer: TableInput) -> str:
    lost = sum(row.tiers == "none" for coverage in partitions for row in coverage.ranges)
    safe = size(sum(coverage.bytes("safe_to_lose_bytes") for coverage in partitions))
    legend = joined(f"{cell} {tier}" for tier, cell in _tier_cells(answer.screen.symbols).items())
    unread = _unread(answer.findings)
    words = [
        f"{counted(lost, 'range')} in no tier" if lost else "" if unread else "every offset is in a tier",
        unread,
    ]
    gaps = joined(words)
    return f"{legend}. {gaps[0].upper()}{gaps[1:]}; {safe} of local logs are in remote storage too."


def _unread(findings: Sequence[Finding]) -> str:
    """Return why some remote segments are not known; empty where all are."""
    stops = sorted({finding.code for finding in findings} & NOT_ALL_READ)
    if stops:
        return f"brokers do not read all events of the remote segments ({joined(stops)})"
    without_epochs = sum(finding.code == "EPOCH-001" for finding in findings)
    partitions = counted(without_epochs, "partition")
    return f"the remote segments of {partitions} are not reached (EPOCH-001)" if without_epochs else ""


COVERAGE = TableView(
    columns=(
        ShownColumn("OFFSETS", "offsets"),
        DrawnColumn("TIERS", _draw_tiers, least=12, most=32, rank=0, style=""),
        ShownColumn("LOCAL", lambda coverage: coverage.bytes("local_bytes"), SIZE, rank=1),
        ShownColumn("REMOTE", lambda coverage: coverage.bytes("remote_bytes"), SIZE, rank=1),
        ShownColumn("SAFE TO LOSE", lambda coverage: coverage.bytes("safe_to_lose_bytes"), SIZE),
    ),
)


def _deletes(rows: Sequence[Any]) -> str:
    parts = []
    for tier in ("remote", "local"):
        sizes = [row.size_bytes for row in rows if row.tier == tier and row.action == "delete"]
        parts += [f"{counted(len(sizes), f'{tier} segment')}, {size(sum(sizes))}"] if sizes else []
    return f"The next clean-up deletes {' and '.join(parts) or 'nothing'}."


RETENTION = TableView(
    columns=(
        ShownColumn("TIER", "tier"),
        ShownColumn("SEGMENT ID", "segment_id"),
        ShownColumn("OFFSETS", lambda row: span(row.start_offset, row.end_offset + 1)),
        ShownColumn("SIZE", "size_bytes", SIZE, rank=2),
        ShownColumn("GOES", "order", NUMBER, style="red"),
        ShownColumn("RULE", "rule"),
        ShownColumn("WHY", "reason", rank=1, least=20),
    ),
    verdict=_deletes,
)
OUTCOMES = {
    "local": "fetches from the leader's local log",
    "tiered": "takes the state of a remote segment, then fetches",
    "failed": "cannot take the state of a remote segment, and tries again for ever",
    "out-of-range": "is out of the leader's range, then fetches",
}
FOLLOWERS = TableView(
    columns=(
        ShownColumn("FETCHES FROM", "fetch_offset", NUMBER),
        ShownColumn("SEGMENT ID", "remote.segment_id", rank=2),
        ShownColumn("THEN FROM", "next_fetch_offset", NUMBER),
        ShownColumn("THE FOLLOWER", lambda row: OUTCOMES.get(row.outcome, row.outcome), least=20),
    ),
    severity=lambda row: "error" if row.outcome == "failed" else None,
    shared=(SharedColumn("LEADER", lambda row: row.leader_dir, "leader {}", rank=3),),
    below=partial(_draw_steps, "steps"),
    closing=lambda rows: (
        f"{counted(len(rows), 'follower')}, {sum(row.outcome == 'failed' for row in rows)} failed."
    ),
)


def _compared(rows: Sequence[RlmmClusterOffsetRow]) -> str:
    agrees = [row.agrees for row in rows if row.agrees is not None]
    return f"{sum(agrees)} of {counted(len(agrees), 'offset')} on disk as in the cluster." if agrees else ""


CLUSTER_OFFSETS = TableView(
    columns=(
        ShownColumn("QUERY", "query"),
        ShownColumn("CLUSTER", "cluster_offset", DEFINED, style="bold"),
        ShownColumn("ON DISK", "disk_offset", DEFINED, rank=1),
    ),
    shared=(
        SharedColumn("TOPIC-PARTITION", lambda row: f"{row.topic}-{row.partition}", noun=("partition",)),
        SharedColumn("DIR", lambda row: row.dir, is_last=True),
    ),
    severity=lambda row: "warning" if row.agrees is False else None,
    verdict=_compared,
)
