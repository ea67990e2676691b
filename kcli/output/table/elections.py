"""The view of `replica elect`: what each replica as the leader costs the others."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, SIZE, ShownColumn
from kcli.output.table.places import name_of, short_dirs
from kcli.output.table.tables import TableView, draw_table, sentences
from kcli.output.units import counted, moment, number, only_day
from kcli.output.values import one_line
from kcli.rows.elections import ElectionRow


def _severity(row: ElectionRow) -> str | None:
    if row.committed_records_lost or row.outcome == "stuck":
        return "error"
    if row.outcome == UNKNOWN:
        return "warning"
    return "warning" if row.records_lost != 0 or row.offsets_below_start else None


def _cut(row: ElectionRow) -> str:
    if row.outcome == "stuck":
        return "is stuck"
    if row.outcome == UNKNOWN:
        return UNKNOWN
    start = f"from {row.log_start_offset}" if row.offsets_below_start else ""
    if row.truncate_to == row.follower_log_end_offset:
        if row.outcome == "tiered":
            return "remote state"
        return f"keeps all {start}" if start else KEEPS_ALL
    return f"{row.truncate_to} of {row.follower_log_end_offset}" + (f", {start}" if start else "")


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


def _span(row: ElectionRow, *, with_day: bool) -> str:
    """Return the times of the records that are lost, on one day without the day again."""
    if row.first_lost_timestamp is None or row.last_lost_timestamp is None:
        return ""
    first = moment(row.first_lost_timestamp, with_day=with_day)
    last = moment(row.last_lost_timestamp, with_day=with_day)
    day, _, clock = last.rpartition(" ")
    return first if first == last else f"{first} to {clock if first.startswith(day) else last}"


class _Line(NamedTuple):
    """A row with the short names of its replicas, and when the records that go were written."""

    row: ElectionRow
    leader: str
    elected: str
    follower: str
    written: str


UNKNOWN = "unknown"
KEEPS_ALL = "keeps all"
PARTITION = ShownColumn("TOPIC-PARTITION", lambda line: name_of(line.row.where), may_overflow=True)
ELECTIONS = TableView(
    columns=(
        ShownColumn("LEADER", "leader", style="bold"),
        ShownColumn("ELECTED", "elected", rank=1),
        ShownColumn("FOLLOWER", "follower"),
        ShownColumn("TRUNCATES TO", lambda line: _cut(line.row)),
        ShownColumn("LOSES", lambda line: _lost(line.row), NUMBER),
        ShownColumn("COMMITTED", lambda line: _committed(line.row), NUMBER),
        ShownColumn("SIZE", lambda line: line.row.bytes_lost or None, SIZE, rank=2),
        ShownColumn("WRITTEN (UTC)", "written", rank=3),
    ),
    severity=lambda line: _severity(line.row),
)


def draw_elections(
    rows: Sequence[ElectionRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield a line for each candidate and follower, then who is elected."""
    names = _names(rows)
    day = only_day(time for row in rows for time in (row.first_lost_timestamp, row.last_lost_timestamp))
    partitions: dict[str, list[ElectionRow]] = {}
    for row in rows:
        partitions.setdefault(name_of(row.where), []).append(row)
    lines = [
        line
        for found in partitions.values()
        for line in _lines(found, names, is_alone=len(partitions) == 1, with_day=day is None)
    ]
    clusters = {row.where.cluster_id for row in rows} - {None}
    parts = [
        one_line(next(iter(partitions))) if len(partitions) == 1 else counted(len(partitions), "partition"),
        counted(len(names), "replica") if len(partitions) == 1 else "",
        f"cluster {next(iter(clusters))}" if len(clusters) == 1 else "",
        f"{day} UTC" if day else "",
    ]
    columns = ELECTIONS.columns if len(partitions) == 1 else (PARTITION, *ELECTIONS.columns)
    view = ELECTIONS._replace(columns=columns, facts=lambda _: list(filter(None, parts)))
    yield from draw_table(view, lines, screen, findings)
    if not screen.is_part:
        yield ""
        yield sentences(screen, *_closing(rows, names))


def _lines(
    rows: Sequence[ElectionRow], names: dict[str, str], *, is_alone: bool, with_day: bool
) -> Iterator[_Line]:
    """Yield the lines of a partition: one of several partitions is one line where nothing is cut at all."""
    if not is_alone and all(_cut(row) == KEEPS_ALL for row in rows):
        elected = next((row for row in rows if row.would_be_elected), None)
        words = _elected(rows[0])
        if elected is not None:
            words = names[elected.candidate] + ("" if elected.clean else ", unclean")
        yield _Line(rows[0], "any", words, "all", "")
        return
    for row in rows:
        written = _span(row, with_day=with_day)
        yield _Line(row, names[row.candidate], _elected(row), names[row.follower], written)


def _elected(row: ElectionRow) -> str:
    if row.would_be_elected is None:
        return "?"
    return ("yes" if row.clean else "yes, unclean") if row.would_be_elected else ""


def _names(rows: Sequence[ElectionRow]) -> dict[str, str]:
    """Return short names of replicas: brokers, or log dirs where these are not known or not different."""
    brokers = {row.candidate: row.candidate_broker_id for row in rows}
    brokers.update({row.follower: row.follower_broker_id for row in rows})
    if None in brokers.values() or _are_shared(rows, brokers):
        dirs = {path: os.path.dirname(path) or path for path in brokers}
        short = short_dirs(dirs.values())
        return {path: short[directory] for path, directory in dirs.items()}
    return {path: f"broker {broker}" for path, broker in brokers.items()}


def _are_shared(rows: Sequence[ElectionRow], brokers: dict[str, int | None]) -> bool:
    """Whether two replicas of a partition are of the same broker: copies from different times."""
    pairs = {(row.candidate, row.follower) for row in rows}
    return any(brokers[one] == brokers[other] for one, other in pairs)


def _closing(rows: Sequence[ElectionRow], names: dict[str, str]) -> list[str]:
    partitions = len({name_of(row.where) for row in rows})
    if partitions > 1:
        elected = [row for row in rows if row.would_be_elected]
        lost = {name_of(row.where) for row in elected if row.committed_records_lost}
        found = len({name_of(row.where) for row in elected})
        if not elected:
            return [f"{counted(partitions, 'partition')}."]
        words = f"Kafka elects a leader for {found} of {counted(partitions, 'partition')}; "
        return [f"{words}{len(lost)} lose committed records by it."]
    least = _least(rows, names)
    for row in rows:
        if row.would_be_elected:
            return [f"Kafka elects {names[row.candidate]}: {row.reason}.", least]
    if rows[0].would_be_elected is None:
        return [f"Whom Kafka elects is open: {rows[0].reason}.", least]
    return ["Kafka elects none of them: no replica here is in sync, and unclean election is off.", least]


def _least(rows: Sequence[ElectionRow], names: dict[str, str]) -> str:
    """Return with which leader the least is lost, of those of which that is known."""
    unknown = {row.candidate for row in rows if _committed(row) == UNKNOWN}
    known = [row for row in rows if row.candidate not in unknown]
    if not known:
        return "Which of them loses the least is unknown: no checkpoint has a high watermark."
    best = min(known, key=lambda row: _cost(rows, row.candidate))
    others = f" Unknown with {', '.join(names[one] for one in names if one in unknown)}." if unknown else ""
    return f"Least is lost with {names[best.candidate]}: {_in_words(rows, best.candidate)}.{others}"


def _cost(rows: Sequence[ElectionRow], candidate: str) -> tuple[int, int, int]:
    own = [row for row in rows if row.candidate == candidate]
    return (
        max((row.committed_records_lost or 0 for row in own), default=0),
        max((row.bytes_lost or 0 for row in own), default=0),
        max((row.offsets_below_start for row in own), default=0),
    )


def _in_words(rows: Sequence[ElectionRow], candidate: str) -> str:
    own = [row for row in rows if row.candidate == candidate]
    records = max((row.records_lost or 0 for row in own), default=0)
    committed = max((row.committed_records_lost or 0 for row in own), default=0)
    below = max((row.offsets_below_start for row in own), default=0)
    before = f"what is below its log start ({counted(below, 'offset')})" if below else ""
    if not records:
        return before or "nothing"
    known = "none of them known to be committed"
    if committed:
        known = "all of them committed" if committed == records else f"{committed} of them committed"
    return f"{counted(records, 'record')}, {known}" + (f", and {before}" if before else "")
