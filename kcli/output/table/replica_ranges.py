"""The view of `replica diff`: the ranges of offsets of a pair of replicas, and a verdict."""

import os
from collections.abc import Collection, Iterator, Sequence

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import COUNT, NUMBER, SIZE, ShownColumn, span
from kcli.output.table.places import short_dirs
from kcli.output.table.tables import TableView, draw_table
from kcli.output.units import counted
from kcli.output.values import one_line
from kcli.rows.replicas import ReplicaRangeRow

_SEVERITIES = {"differs": "error", "only-here": "warning", "only-there": "warning", "unknown": "warning"}


REASONS = {
    "boundaries": "other batches",
    "header": "batch header",
    "repeated": "offsets do not rise",
    "unreadable": "unreadable batch",
}
"""In what the first batch of a range differs, where the word of the row is short."""


def _pair(row: ReplicaRangeRow) -> tuple[str, str]:
    return row.where.dir, row.other_dir


def _severity(row: ReplicaRangeRow) -> str | None:
    return "error" if row.reason == "missing" else _SEVERITIES.get(row.verdict)


def _total(rows: Sequence[ReplicaRangeRow]) -> str:
    """Return how many pairs hold the same, and where the first of the others begins to differ."""
    pairs = list(dict.fromkeys(map(_pair, rows)))
    differing: dict[tuple[str, str], ReplicaRangeRow] = {}
    for row in rows:
        if _severity(row) == "error":
            differing.setdefault(_pair(row), row)
    unknown = {_pair(row) for row in rows if row.verdict == "unknown"} - differing.keys()
    if len(pairs) > 1:
        several = counted(len(pairs), "pair")
        not_all = f" {len(unknown)} could not be compared as far as both go." if unknown else ""
        if differing:
            return f"{len(differing)} of {several} of replicas differ.{not_all}"
        return f"{several} of replicas: none differs.{not_all}"
    for row in differing.values():
        if row.verdict != "differs":
            replica = "The second" if row.verdict == "only-here" else "The first"
            return f"{replica} lacks offsets {row.first_offset} to {row.last_offset}, which the other holds."
        return (
            f"They differ from offset {row.first_offset} on: leader epoch {_epoch(row.leader_epoch)} here, "
            f"{_epoch(row.other_leader_epoch)} there."
        )
    return _same({row.verdict for row in rows})


def _same(verdicts: Collection[str]) -> str:
    """Return in what way two replicas are the same that nowhere differ."""
    if "unknown" in verdicts:
        return "What was compared is the same; some offsets that both hold were not."
    if "compacted" in verdicts:
        return "What both hold is the same; compaction removed records of one."
    return "They hold the same." if set(verdicts) <= {"equal"} else "What both hold is the same."


def _epoch(epoch: int | None) -> str:
    return "none" if epoch is None else str(epoch)


def draw_ranges(
    rows: Sequence[ReplicaRangeRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the ranges of pairs of replicas; where all have one other log dir, the title names it."""
    others = {row.other_dir for row in rows}
    dirs = others if len(others) == 1 else set(map(os.path.dirname, others))
    if len(dirs) == 1:
        view = RANGES._replace(facts=lambda _: [f"with {one_line(next(iter(dirs)))}"])
    else:
        short = short_dirs(dirs)
        other = ShownColumn("OTHER", lambda row: short[os.path.dirname(row.other_dir)], rank=1)
        view = RANGES._replace(columns=(*RANGES.columns, other))
    yield from draw_table(view, rows, screen, findings)


RANGES = TableView(
    columns=(
        ShownColumn("OFFSETS", lambda row: span(row.first_offset, row.last_offset + 1)),
        ShownColumn("VERDICT", "verdict", style="bold"),
        ShownColumn("REASON", lambda row: REASONS.get(row.reason, row.reason), rank=3),
        ShownColumn("EPOCH", "leader_epoch", NUMBER, rank=1),
        ShownColumn("THERE", "other_leader_epoch", NUMBER, rank=1),
        ShownColumn("SIZE", "bytes", SIZE, rank=2),
        ShownColumn("THERE", "other_bytes", SIZE, rank=2),
    ),
    verdict=_total,
    severity=_severity,
)


FINGERPRINTS = TableView(
    columns=(
        ShownColumn("OFFSETS", lambda row: span(row.first_offset, row.last_offset + 1)),
        ShownColumn("HASH", "hash", style="bold"),
        ShownColumn("EPOCH", "leader_epoch", NUMBER, rank=1),
        ShownColumn("BATCHES", "batches", COUNT, rank=2),
        ShownColumn("SIZE", "bytes", SIZE, rank=2),
    ),
    closing=lambda rows: (
        f"{counted(len(rows), 'range')}: kcli replica diff takes the ndjson of this for a replica."
    ),
)
