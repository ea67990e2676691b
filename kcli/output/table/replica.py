"""The views of `replica` and `failover`: what replicas hold, which may lead, what a failover changes."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.columns import STYLES, YES_OR_NO, ShownColumn, offsets_column
from kcli.output.table.fitted_table import sentences
from kcli.output.table.shared_columns import SharedColumn, name_of, replica_names
from kcli.output.table.table_view import TableInput, TableView, table_view
from kcli.output.units import counted, joined, number, period, tally
from kcli.rows.bad_news import has_other_epochs
from kcli.rows.replicas import (
    ElectionRow,
    FailoverControllerRow,
    FailoverRow,
    ReplicaRangeRow,
    SimulationRow,
)

UNKNOWN = "unknown"
RANGE_SEVERITIES = {"differs": "error", "only-here": "warning", "only-there": "warning", UNKNOWN: "warning"}
REASONS = {
    "boundaries": "other batches",
    "header": "batch header",
    "repeated": "offsets do not rise",
    "unreadable": "unreadable batch",
}
"""In what the first batch of a range differs, where the word of the row is short."""


def _range_severity(row: ReplicaRangeRow) -> str | None:
    if has_other_epochs(row):
        return "warning"
    return "error" if row.reason == "missing" else RANGE_SEVERITIES.get(row.verdict)


def _ranges_verdict(rows: Sequence[ReplicaRangeRow]) -> str:
    """Return what is the same in pairs of replicas, and that one holds offsets outside of the other's log."""
    key = attrgetter("where.dir", "other_dir")
    of_pairs = [list(pair) for _, pair in groupby(sorted(rows, key=key), key)]
    outside = [row for row in rows if row.verdict in {"only-here", "only-there"} and row.reason != "missing"]
    more = [*map(_lacks, outside)]
    if len(of_pairs) > 1 and outside:
        pairs = counted(len({*map(key, outside)}), "pair")
        more = [f"In {pairs} one replica holds records which the other lacks."]
    return " ".join((_common_verdict(rows, of_pairs), *more))


def _lacks(row: ReplicaRangeRow) -> str:
    replica = "The second" if row.verdict == "only-here" else "The first"
    return f"{replica} lacks offsets {row.first_offset} to {row.last_offset}, which the other holds."


def _common_verdict(rows: Sequence[ReplicaRangeRow], of_pairs: Sequence[Sequence[ReplicaRangeRow]]) -> str:
    """Return how many pairs hold the same, and where the first of the others begins to differ."""
    errors = [[row for row in pair if _range_severity(row) == "error"] for pair in of_pairs]
    differing = [pair[0] for pair in errors if pair]
    parted = [row.first_offset for row in rows if has_other_epochs(row)]
    see = "in other leader epochs: see kcli epoch diff."
    if len(of_pairs) > 1:
        unknown = sum(any(row.verdict == UNKNOWN for row in pair) for pair in of_pairs)
        verdict = f"{len(differing) or 'None'} of {counted(len(of_pairs), 'pair')} of replicas differ."
        verdict += f" The same records are {see}" if parted else ""
        return verdict + (f" {unknown} could not be compared as far as both go." if unknown else "")
    verdicts = {row.verdict for row in rows}
    if not differing and UNKNOWN in verdicts:
        return "What was compared is the same; some offsets that both hold were not."
    same = "They hold the same" if verdicts <= {"equal"} else "What both hold is the same"
    if not differing and parted:
        return f"{same}, from offset {parted[0]} on {see}"
    if not differing:
        return f"{same}{'; compaction removed records of one' * ('compacted' in verdicts)}."
    (row,) = differing
    if row.verdict != "differs":
        return _lacks(row)
    epochs = ["none" if epoch is None else epoch for epoch in (row.leader_epoch, row.other_leader_epoch)]
    return f"They differ from offset {row.first_offset} on: leader epoch {epochs[0]} here, {epochs[1]} there."


REPLICA_RANGE = table_view(
    offsets_column("first_offset", "last_offset"),
    ShownColumn("VERDICT", "verdict", style="bold"),
    ShownColumn("REASON", lambda row: REASONS.get(row.reason, row.reason), rank=3),
    ShownColumn("EPOCH", "leader_epoch", "number", rank=1),
    ShownColumn("THERE", "other_leader_epoch", "number", rank=1),
    ShownColumn("SIZE", "bytes", "size", rank=2),
    ShownColumn("THERE", "other_bytes", "size", rank=2),
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

FINGERPRINT = table_view(
    offsets_column("first_offset", "last_offset"),
    ShownColumn("HASH", "hash", style="bold"),
    ShownColumn("EPOCH", "leader_epoch", "number", rank=1),
    ShownColumn("BATCHES", "batches", "count", rank=2),
    ShownColumn("SIZE", "bytes", "size", rank=2),
    closing=lambda rows: (
        f"{counted(len(rows), 'range')}: replica diff takes the ndjson of this for a replica."
    ),
)


def _cut(row: ElectionRow) -> str:
    if row.outcome in {"stuck", UNKNOWN}:
        return UNKNOWN if row.outcome == UNKNOWN else "is stuck"
    start = f"from {row.log_start_offset}" if row.offsets_below_start else ""
    if row.truncate_to == row.follower_log_end_offset:
        return "remote state" if row.outcome == "tiered" else f"keeps all {start}".rstrip()
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


def draw_election(answer: TableInput) -> TableView:
    """Return the view of a line for each candidate and follower; the verdict says who is elected."""
    rows = answer.rows
    names = replica_names(
        row.where._replace(dir=path, broker_id=broker)
        for row in rows
        for path, broker in ((row.candidate, row.candidate_broker_id), (row.follower, row.follower_broker_id))
    )
    return table_view(
        ShownColumn("LEADER", lambda row: names[row.candidate], style="bold"),
        ShownColumn("ELECTED", _elected, rank=1),
        ShownColumn("FOLLOWER", lambda row: names[row.follower]),
        ShownColumn("TRUNCATES TO", _cut),
        ShownColumn("LOSES", _lost, "number"),
        ShownColumn("COMMITTED", _committed, "number"),
        ShownColumn("SIZE", lambda row: row.bytes_lost or None, "size", rank=2),
        ShownColumn(
            "WRITTEN (UTC)", lambda row: period(row.first_lost_timestamp, row.last_lost_timestamp), rank=3
        ),
        names_replicas=True,
        severity=_election_severity,
        verdict=partial(_elections_verdict, names),
    )


def _elections_verdict(names: dict[str, str], rows: Sequence[ElectionRow]) -> str:
    elected = [row for row in rows if row.would_be_elected]
    may_be = [row for row in rows if row.would_be_elected is None]
    partitions = len({name_of(row.where) for row in rows})
    if partitions > 1:
        return "\n".join(_of_partitions(rows, counted(partitions, "partition")))
    if elected:
        verdict = f"Kafka elects {names[elected[0].candidate]}: {elected[0].reason}."
    elif may_be:
        verdict = f"Whom Kafka elects is open: {may_be[0].reason}."
    else:
        verdict = "Kafka elects none of them: no replica here is in sync, and unclean election is off."
    return f"{verdict}\n{_least_loss(rows, names)}"


def _of_partitions(rows: Sequence[ElectionRow], partitions: str) -> Iterator[str]:
    """Yield in how many partitions Kafka elects a leader, and in how many that is open, and why."""
    elected = [row for row in rows if row.would_be_elected]
    led = {name_of(row.where) for row in elected}
    may_be = [row for row in rows if row.would_be_elected is None and name_of(row.where) not in led]
    losing, may_lose = (
        len({name_of(row.where) for row in some if row.committed_records_lost}) for some in (elected, may_be)
    )
    if led or not may_be:
        yield f"Kafka elects a leader for {len(led)} of {partitions}; {losing} lose committed records by it."
    reasons = {name_of(row.where): row.reason for row in may_be}
    for reason, count in Counter(reasons.values()).items():
        yield f"Whom Kafka elects is open in {count} of {partitions}: {reason}."
    if may_lose:
        yield f"{counted(may_lose, 'partition')} may lose committed records by it."


def _least_loss(rows: Sequence[ElectionRow], names: dict[str, str]) -> str:
    """Return with which leader the least is lost, of those of which that is known."""
    candidates: dict[str, list[ElectionRow]] = {}
    for row in rows:
        candidates.setdefault(row.candidate, []).append(row)
    unknown = [path for path, group in candidates.items() if any(_committed(row) == UNKNOWN for row in group)]
    losses = {
        path: tuple(max(getattr(row, field) or 0 for row in group) for field in LOSSES)
        for path, group in candidates.items()
        if path not in unknown
    }
    if not losses:
        return "Which of them loses the least is unknown: no checkpoint has a high watermark."
    best = min(losses, key=lambda path: losses[path])
    committed, _, below_start, records = losses[best]
    lost = f"{counted(records, 'record')}, {committed or 'none'} of them known to be committed"
    below = f"{counted(below_start, 'offset')} below its log start"
    loss = joined((lost if records else "", below if below_start else "")) or "nothing"
    doubts = f" Unknown with {joined(names[path] for path in unknown)}." if unknown else ""
    return f"Least is lost with {names[best]}: {loss}.{doubts}"


LOSSES = ("committed_records_lost", "bytes_lost", "offsets_below_start", "records_lost")
"""What followers of a candidate lose, the worst first."""


def _failover_severity(row: FailoverRow) -> str | None:
    if row.outcome == "offline":
        return "error"
    return "warning" if row.unclean or not row.writable else None


def _brokers(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers)) or "none"


def _pair(field: str) -> Callable[[FailoverRow], list[object]]:
    """Return what gives the values of a field now and after the failover; no leader is -1."""
    return lambda row: [
        _brokers(value) if isinstance(value, tuple) else None if value < 0 else value
        for value in attrgetter(field, f"next_{field}")(row)
    ]


def _note(row: FailoverRow) -> str:
    """Return what is unusual about a partition."""
    notes = (
        f"waits for {_brokers(row.next_elr or row.next_isr)}" if row.outcome == "offline" else "",
        "unclean" if row.unclean else "",
        "no acks=all" if row.next_leader >= 0 and not row.writable else "",
        f"ELR {_brokers(row.next_elr)}" if row.next_elr and row.next_leader >= 0 else "",
        f"adding {_brokers(row.adding_replicas)}" if row.adding_replicas else "",
        f"removing {_brokers(row.removing_replicas)}" if row.removing_replicas else "",
    )
    return joined(notes)


def _failover_verdict(rows: Sequence[FailoverRow]) -> str:
    outcomes = Counter(row.outcome for row in rows)
    offline_before = sum(row.outcome == "offline" and row.leader < 0 for row in rows)
    counts = {
        "get another leader": outcomes["new-leader"],
        "go offline": outcomes["offline"] - offline_before,
        "offline already": offline_before,
        "lose a follower": outcomes["isr-shrinks"],
        "unchanged": outcomes["unchanged"],
        "by unclean election": sum(row.unclean for row in rows),
        "below min.insync.replicas": sum(row.next_leader >= 0 and not row.writable for row in rows),
    }
    return f"{counted(len(rows), 'partition')}: {tally(counts)}."


FAILOVER = table_view(
    ShownColumn("TOPIC-PARTITION", lambda row: f"{row.topic}-{row.partition}", may_overflow=True),
    ShownColumn("REPLICAS", lambda row: _brokers(row.replicas), rank=3),
    ShownColumn("LEADER", _pair("leader"), "changed text", style="bold"),
    ShownColumn("ISR", _pair("isr"), "changed text"),
    ShownColumn("EPOCH", _pair("leader_epoch"), "change"),
    ShownColumn("", _note, rank=1, least=16, style="yellow"),
    shared=(SharedColumn("METADATA", lambda row: row.dir, "metadata of {}", rank=2, is_last=True),),
    verdict=_failover_verdict,
    severity=_failover_severity,
)


def _votes(row: FailoverControllerRow) -> str:
    if row.majority is None or row.node_id is None:
        return "unknown"
    return "no voter" if row.votes is None else f"{row.votes} of {row.majority}"


def _next_controller(rows: Sequence[FailoverControllerRow]) -> str:
    """Return how many voters are here, and which of them can lead without the active controller."""
    nodes = {row.node_id for row in rows if row.votes is not None}
    voters, leaders = {voter for row in rows for voter in row.voters}, {row.leader for row in rows}
    can = [str(row.node_id) for row in rows if row.electable]
    behind = {row.node_id or 0 for row in rows if row.votes is not None and row.electable is False} - leaders
    lacking = voters - nodes - leaders
    verdicts = (
        f"Quorum: {len(nodes)} of {counted(len(voters), 'voter')} here." if nodes else "",
        f"Without the leader {' or '.join(can)} can lead." if can else "No node here can lead for sure.",
        f"Behind: {_brokers(sorted(behind))}." if behind else "",
        f"Name the logs of {_brokers(sorted(lacking))}, too." if lacking else "",
    )
    return " ".join(filter(None, verdicts))


FAILOVER_CONTROLLER = table_view(
    ShownColumn("METADATA", "dir", may_overflow=True),
    ShownColumn("NODE", "node_id", "number"),
    ShownColumn("LEADER", "leader", "number"),
    ShownColumn("EPOCH", "leader_epoch", "number"),
    ShownColumn("NEXT", "next_leader_epoch", "number"),
    ShownColumn("VOTERS", lambda row: _brokers(row.voters), rank=1),
    ShownColumn("VOTES", _votes),
    ShownColumn("LAST EPOCH", "last_epoch", "number"),
    ShownColumn("LOG END", "log_end_offset", "number"),
    ShownColumn("CAN LEAD NEXT", lambda row: YES_OR_NO[row.electable], style="bold"),
    verdict=_next_controller,
)


SCENARIO = table_view(
    ShownColumn("NAME", "name"),
    ShownColumn("WHAT IT SHOWS", "title"),
    ShownColumn("PROTOCOL", "protocol", rank=1),
    ShownColumn("STEPS", "steps", "number", rank=2),
    ShownColumn("REPLICAS", lambda row: ", ".join(row.replicas), rank=3),
    closing=lambda rows: f"{counted(len(rows), 'story', 'stories')}: kcli replica simulate NAME shows one.",
)


def _log(row: SimulationRow) -> str:
    """Return the records, each run of one leader epoch with the epoch before it."""
    runs = groupby(row.log, key=attrgetter("epoch"))
    return "  ".join(f"e{epoch}: {' '.join(record.value for record in run)}" for epoch, run in runs)


def _remote_ends(row: SimulationRow) -> str:
    return " ".join(f"{name} {'?' if end is None else end}" for name, end in row.remote_log_end_offsets)


LOST, BACK = " is lost: ", " is back: "
"""In an event about a committed record that the leader lacks, or holds again."""


def _story_verdict(rows: Sequence[SimulationRow]) -> str:
    lost = sum((LOST in event) - (BACK in event) for row in rows for event in row.events)
    logs = [row.log for row in rows if row.step == rows[-1].step]
    shortest = min(map(len, logs))
    agree = all(log[:shortest] == logs[0][:shortest] for log in logs)
    verdict = "No committed record is lost" if not lost else f"{counted(lost, 'committed record')} lost"
    return f"{verdict}; the replicas {'agree' if agree else 'differ'} at the end."


def _events(rows: Sequence[SimulationRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield what happened to the replicas in each step."""
    if any(row.events for row in rows):
        yield ""
    for row in rows:
        for event in row.events:
            text = event if LOST in event or BACK in event else f"{row.replica} {event}"
            style = STYLES["error" if LOST in event else "warning"]
            yield sentences(screen, f"  {row.step:>3}  {text}", style=style, indent=" " * 7)


def draw_simulation(answer: TableInput) -> TableView:
    """Return the replicas after each step, what happened to them, and what it came to."""
    first = answer.rows[0]
    return table_view(
        ShownColumn("STEP", lambda row: str(row.step) if row.replica == first.replica else ""),
        ShownColumn("WHAT HAPPENS", lambda row: row.action * (row.replica == first.replica), style="bold"),
        ShownColumn("REPLICA", "replica"),
        ShownColumn("ROLE", lambda row: row.role + ("" if row.in_isr else ", out"), rank=1),
        ShownColumn("LEO", "log_end_offset", "number"),
        ShownColumn("HW", "high_watermark", "number"),
        ShownColumn("REMOTE LEO", _remote_ends, rank=2),
        ShownColumn("LOG", _log),
        facts=lambda _: list(dict.fromkeys((first.scenario, first.title, f"protocol {first.protocol}"))),
        below=_events,
        verdict=_story_verdict,
    )
