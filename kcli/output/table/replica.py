"""The views of `replica diff`, `fingerprint` and `elect`: what replicas hold, and which of them may lead."""

import os
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter

from kcli.output.table.columns import COUNT, NUMBER, SIZE, ShownColumn, offsets_column
from kcli.output.table.replica_names import replica_names
from kcli.output.table.shared_columns import SharedColumn, name_of
from kcli.output.table.table_view import TableInput, TableView
from kcli.output.units import counted, joined, number, period
from kcli.rows.replicas import ElectionRow, ReplicaRangeRow

RANGE_SEVERITIES = {"differs": "error", "only-here": "warning", "only-there": "warning", "unknown": "warning"}
REASONS = {
    "boundaries": "other batches",
    "header": "batch header",
    "repeated": "offsets do not rise",
    "unreadable": "unreadable batch",
}
"""In what the first batch of a range differs, where the word of the row is short."""


def _range_severity(row: ReplicaRangeRow) -> str | None:
    return "error" if row.reason == "missing" else RANGE_SEVERITIES.get(row.verdict)


def _ranges_verdict(rows: Sequence[ReplicaRangeRow]) -> str:
    """Return how many pairs hold the same, and where the first of the others begins to differ."""
    key = attrgetter("where.dir", "other_dir")
    of_pairs = [list(own) for _, own in groupby(sorted(rows, key=key), key)]
    errors = [[row for row in own if _range_severity(row) == "error"] for own in of_pairs]
    differing = [own[0] for own in errors if own]
    if len(of_pairs) > 1:
        unknown = sum(any(row.verdict == "unknown" for row in own) for own in of_pairs)
        words = f"{len(differing) or 'None'} of {counted(len(of_pairs), 'pair')} of replicas differ."
        return words + (f" {unknown} could not be compared as far as both go." if unknown else "")
    verdicts = {row.verdict for row in rows}
    if not differing:
        if "unknown" in verdicts:
            return "What was compared is the same; some offsets that both hold were not."
        if "compacted" in verdicts:
            return "What both hold is the same; compaction removed records of one."
        return "They hold the same." if verdicts <= {"equal"} else "What both hold is the same."
    (row,) = differing
    if row.verdict != "differs":
        replica = "The second" if row.verdict == "only-here" else "The first"
        return f"{replica} lacks offsets {row.first_offset} to {row.last_offset}, which the other holds."
    here, there = ("none" if epoch is None else epoch for epoch in (row.leader_epoch, row.other_leader_epoch))
    return f"They differ from offset {row.first_offset} on: leader epoch {here} here, {there} there."


RANGES = TableView(
    columns=(
        offsets_column("first_offset", "last_offset"),
        ShownColumn("VERDICT", "verdict", style="bold"),
        ShownColumn("REASON", lambda row: REASONS.get(row.reason, row.reason), rank=3),
        ShownColumn("EPOCH", "leader_epoch", NUMBER, rank=1),
        ShownColumn("THERE", "other_leader_epoch", NUMBER, rank=1),
        ShownColumn("SIZE", "bytes", SIZE, rank=2),
        ShownColumn("THERE", "other_bytes", SIZE, rank=2),
    ),
    shared=(
        SharedColumn(
            "OTHER",
            lambda row: os.path.dirname(row.other_dir) or ".",
            "with {}",
            are_paths=True,
            is_last=True,
        ),
    ),
    verdict=_ranges_verdict,
    severity=_range_severity,
)

FINGERPRINTS = TableView(
    columns=(
        offsets_column("first_offset", "last_offset"),
        ShownColumn("HASH", "hash", style="bold"),
        ShownColumn("EPOCH", "leader_epoch", NUMBER, rank=1),
        ShownColumn("BATCHES", "batches", COUNT, rank=2),
        ShownColumn("SIZE", "bytes", SIZE, rank=2),
    ),
    closing=lambda rows: (
        f"{counted(len(rows), 'range')}: replica diff takes the ndjson of this for a replica."
    ),
)
UNKNOWN = "unknown"


def _cut(row: ElectionRow) -> str:
    if row.outcome == "stuck":
        return "is stuck"
    if row.outcome == UNKNOWN:
        return UNKNOWN
    start = f"from {row.log_start_offset}" if row.offsets_below_start else ""
    if row.truncate_to == row.follower_log_end_offset:
        if row.outcome == "tiered":
            return "remote state"
        return f"keeps all {start}" if start else "keeps all"
    return joined((f"{row.truncate_to} of {row.follower_log_end_offset}", start))


def _lost(row: ElectionRow) -> str | None:
    """Return how many records go; `unknown` where they cannot be counted."""
    if row.records_lost is None:
        return UNKNOWN
    return number(row.records_lost) if row.records_lost else None


def _committed(row: ElectionRow) -> str | None:
    """Return how many of the records that go are committed; `unknown` where no high watermark says."""
    if row.outcome == UNKNOWN or (row.committed_records_lost is None and row.records_lost != 0):
        return UNKNOWN
    return number(row.committed_records_lost) if row.committed_records_lost else None


def _election_severity(row: ElectionRow) -> str | None:
    if row.committed_records_lost or row.outcome == "stuck":
        return "error"
    return "warning" if row.outcome == UNKNOWN or row.records_lost != 0 or row.offsets_below_start else None


def _elected(row: ElectionRow) -> str:
    if row.would_be_elected is None:
        return "?"
    return ("yes" if row.clean else "yes, unclean") if row.would_be_elected else ""


def view_elections(answer: TableInput) -> TableView:
    """Return the view of a line for each candidate and follower; the verdict says who is elected."""
    rows = answer.rows
    names = replica_names(
        row.where._replace(dir=path, broker_id=broker)
        for row in rows
        for path, broker in (
            (row.candidate, row.candidate_broker_id),
            (row.follower, row.follower_broker_id),
        )
    )
    return TableView(
        columns=(
            ShownColumn("LEADER", lambda row: names[row.candidate], style="bold"),
            ShownColumn("ELECTED", _elected, rank=1),
            ShownColumn("FOLLOWER", lambda row: names[row.follower]),
            ShownColumn("TRUNCATES TO", _cut),
            ShownColumn("LOSES", _lost, NUMBER),
            ShownColumn("COMMITTED", _committed, NUMBER),
            ShownColumn("SIZE", lambda row: row.bytes_lost or None, SIZE, rank=2),
            ShownColumn(
                "WRITTEN (UTC)",
                lambda row: period(row.first_lost_timestamp, row.last_lost_timestamp),
                rank=3,
            ),
        ),
        names_replicas=True,
        severity=_election_severity,
        verdict=partial(_elections_verdict, names),
    )


def _elections_verdict(names: dict[str, str], rows: Sequence[ElectionRow]) -> str:
    partitions = len({name_of(row.where) for row in rows})
    elected = [row for row in rows if row.would_be_elected]
    if partitions > 1:
        lost = len({name_of(row.where) for row in elected if row.committed_records_lost})
        leaders = len({name_of(row.where) for row in elected})
        words = f"Kafka elects a leader for {leaders} of {counted(partitions, 'partition')}; "
        return f"{words}{lost} lose committed records by it." if elected else ""
    if elected:
        words = f"Kafka elects {names[elected[0].candidate]}: {elected[0].reason}."
    elif rows[0].would_be_elected is None:
        words = f"Whom Kafka elects is open: {rows[0].reason}."
    else:
        words = "Kafka elects none of them: no replica here is in sync, and unclean election is off."
    return f"{words}\n{_least_loss(rows, names)}"


def _least_loss(rows: Sequence[ElectionRow], names: dict[str, str]) -> str:
    """Return with which leader the least is lost, of those of which that is known."""
    candidates: dict[str, list[ElectionRow]] = {}
    for row in rows:
        candidates.setdefault(row.candidate, []).append(row)
    unknown = [path for path, own in candidates.items() if any(_committed(row) == UNKNOWN for row in own)]
    losses = {
        path: tuple(max(getattr(row, field) or 0 for row in own) for field in LOSSES)
        for path, own in candidates.items()
        if path not in unknown
    }
    if not losses:
        return "Which of them loses the least is unknown: no checkpoint has a high watermark."
    best = min(losses, key=lambda path: losses[path])
    committed, _, below_start, records = losses[best]
    words = (
        f"{counted(records, 'record')}, {committed or 'none'} of them known to be committed"
        if records
        else "",
        f"{counted(below_start, 'offset')} below its log start" if below_start else "",
    )
    others = f" Unknown with {joined(names[path] for path in unknown)}." if unknown else ""
    return f"Least is lost with {names[best]}: {joined(words) or 'nothing'}.{others}"


LOSSES = ("committed_records_lost", "bytes_lost", "offsets_below_start", "records_lost")
"""What followers of a candidate lose, the worst first."""
