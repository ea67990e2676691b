"""The views of `rlmm` about tiers: what a leader answers, where offsets are, what goes next."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.kafka.remote.serde import NOT_ALL_READ
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, SIZE, TIME, ShownColumn, span
from kcli.output.table.marks import STYLES
from kcli.output.table.places import name_of, place_parts, title
from kcli.output.table.tables import TableView, draw_table, sentences
from kcli.output.units import counted, moment, number, readable, size
from kcli.rows.places import Where
from kcli.rows.remote_tier import RlmmCoverageRow, RlmmLookupOffsetRow, RlmmLookupTimestampRow


def _known(name: str) -> Callable[[Any], int | None]:
    """Return what gives a column's value, None for -1."""

    def value(row: Any) -> int | None:
        found: int = getattr(row, name)
        return None if found < 0 else found

    return value


def _tiered(rows: Sequence[Any]) -> str:
    tiered = sum(row.remote_storage for row in rows)
    pending = sum(row.earliest_pending_upload_offset >= 0 for row in rows)
    return (
        f"{counted(len(rows), 'partition')}: {number(tiered)} tiered, {number(pending)} with records that "
        "are not copied yet."
    )


OFFSETS = TableView(
    columns=(
        ShownColumn("EARLIEST", _known("earliest_offset"), NUMBER),
        ShownColumn("EARLIEST LOCAL", _known("earliest_local_offset"), NUMBER),
        ShownColumn("LATEST TIERED", _known("latest_tiered_offset"), NUMBER),
        ShownColumn("NOT COPIED FROM", _known("earliest_pending_upload_offset"), NUMBER, rank=1),
        ShownColumn("LATEST", _known("latest_offset"), NUMBER),
        ShownColumn("EPOCH", "latest_epoch", NUMBER, rank=3),
        ShownColumn("NEWEST LOCAL (UTC)", _known("max_timestamp"), TIME, rank=2),
    ),
    verdict=_tiered,
)


def draw_lookups(
    rows: Sequence[Any], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield for each partition which tier serves what was asked for, and the tries before."""
    if len(rows) > MOST_ANSWERS:
        yield from draw_table(LOOKUPS, rows, screen, findings)
        return
    for place, row in enumerate(rows):
        if place:
            yield ""
        yield title([name_of(row.where), _asked(row), *place_parts([row.where])], screen)
        if row.found:
            yield sentences(screen, f"  from   {_served(row)}", style="bold", indent="         ")
        else:
            yield sentences(screen, f"  not found   {row.reason}", style=STYLES["warning"], indent="    ")
        tries = row.tries if isinstance(row, RlmmLookupOffsetRow) else map(readable, row.tries)
        for step, text in enumerate(tries, 1):
            yield sentences(screen, f"  {step:>4}   {text}", indent="         ")
        if row.found and not _is_read(row):
            yield sentences(screen, f"  {row.reason}", indent="  ")


MOST_ANSWERS = 4
"""Answers in full; of more there is a table."""


def _asked(row: RlmmLookupOffsetRow | RlmmLookupTimestampRow) -> str:
    if isinstance(row, RlmmLookupOffsetRow):
        return f"offset {row.offset}"
    return f"at or after {moment(row.timestamp, with_ms=True)} UTC"


def _served(row: RlmmLookupOffsetRow | RlmmLookupTimestampRow) -> str:
    remote = row.remote
    if row.tier == "remote":
        place = f"remote segment {remote.segment_id}, offsets {remote.start_offset} to {remote.end_offset}"
    else:
        place = "local disk"
    return f"{place}{_position(row)}"


def _is_read(row: RlmmLookupOffsetRow | RlmmLookupTimestampRow) -> bool:
    """Whether the batch or the record was found in a log, and not by remote log metadata alone."""
    if isinstance(row, RlmmLookupOffsetRow):
        return row.batch.position is not None
    return row.record.offset is not None


def _position(row: RlmmLookupOffsetRow | RlmmLookupTimestampRow) -> str:
    if isinstance(row, RlmmLookupOffsetRow):
        batch = row.batch
        if batch.position is not None:
            return f", byte {batch.position} of {batch.file}"
        at = batch.index_entry_position
        return "" if at is None else f", read from byte {at} on"
    return "" if row.record.offset is None else f", offset {row.record.offset}"


def _doubt(row: Any) -> str:
    """Return why nothing is found, or that the log of what is found is not in remote storage."""
    said: str = row.reason.partition(":")[0]
    return said if not row.found else "" if _is_read(row) else said.partition("; ")[2]


LOOKUPS = TableView(
    columns=(
        ShownColumn("TIER", "tier"),
        ShownColumn("SEGMENT ID", "remote.segment_id"),
        ShownColumn("WHERE", lambda row: _position(row).removeprefix(", "), rank=2),
        ShownColumn("", _doubt, least=20, style="yellow"),
    ),
    closing=lambda rows: (
        f"Found in {number(sum(row.found for row in rows))} of {counted(len(rows), 'partition')}."
    ),
    facts=lambda rows: [next(iter(asked))] if len(asked := set(map(_asked, rows))) == 1 else [],
)


class _Bar(NamedTuple):
    """A partition's ranges."""

    where: Where
    rows: tuple[RlmmCoverageRow, ...]

    @property
    def offsets(self) -> str:
        """Its first and last offset."""
        return span(self.rows[0].first_offset, self.rows[-1].last_offset + 1)

    def bytes(self, column: str) -> int:
        """Return the sum of a column."""
        return sum(getattr(row, column) for row in self.rows)


CELLS = {"both": "█", "remote": "▒", "local": "▄", "none": "!"}
ASCII_CELLS = {"both": "#", "remote": "r", "local": "l", "none": "!"}
WIDEST_BAR, NARROW_BAR, NARROW = 32, 12, 100


def draw_coverage(
    rows: Sequence[RlmmCoverageRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield a bar for each partition, from its log start to its log end."""
    bars = [_Bar(where, tuple(own)) for where, own in groupby(rows, key=lambda row: row.where)]
    cells = CELLS if screen.is_utf8 else ASCII_CELLS
    width = NARROW_BAR if screen.width < NARROW else WIDEST_BAR
    view = TableView(
        columns=(
            ShownColumn("OFFSETS", "offsets"),
            ShownColumn("TIERS", lambda bar: _bar(bar, cells, width)),
            ShownColumn("LOCAL", lambda bar: bar.bytes("local_bytes"), SIZE, rank=1),
            ShownColumn("REMOTE", lambda bar: bar.bytes("remote_bytes"), SIZE, rank=1),
            ShownColumn("SAFE TO LOSE", lambda bar: bar.bytes("safe_to_lose_bytes"), SIZE),
        ),
        verdict=lambda _: _covered(bars, cells, findings),
    )
    yield from draw_table(view, bars, screen, findings)


def _bar(bar: _Bar, cells: dict[str, str], width: int) -> str:
    """Return a cell for each part of the offsets, of the tier that holds its first one; gaps always show."""
    first, end = bar.rows[0].first_offset, bar.rows[-1].last_offset + 1
    drawn = []
    for cell in range(width):
        low = first + (end - first) * cell // width
        high = max(first + (end - first) * (cell + 1) // width, low + 1)
        tiers = [row.tiers for row in bar.rows if row.first_offset < high and row.last_offset >= low]
        drawn.append(cells.get("none" if "none" in tiers else next(iter(tiers), ""), " "))
    return "".join(drawn)


def _covered(bars: Sequence[_Bar], cells: dict[str, str], findings: Sequence[Finding]) -> str:
    lost = sum(row.tiers == "none" for bar in bars for row in bar.rows)
    safe = size(sum(bar.bytes("safe_to_lose_bytes") for bar in bars))
    legend = ", ".join(f"{cells[tier]} {tier}" for tier in cells)
    gaps = f"{counted(lost, 'range')} in no tier" if lost else "every offset is in a tier"
    without_epochs = sum(one.code == "EPOCH-001" for one in findings)
    stops = sorted({one.code for one in findings} & NOT_ALL_READ)
    if stops:
        unread = f"brokers do not read all events of the remote segments ({', '.join(stops)})"
        gaps = f"{gaps}, {unread}" if lost else unread
    elif without_epochs:
        unread = f"the remote segments of {counted(without_epochs, 'partition')} are not reached (EPOCH-001)"
        gaps = f"{gaps}, {unread}" if lost else unread
    return f"{legend}. {gaps[0].upper()}{gaps[1:]}; {safe} of local logs are in remote storage too."


def _offsets_of(row: Any) -> str:
    return span(row.start_offset, row.end_offset + 1) if row.end_offset >= row.start_offset else "empty"


def _goes(rows: Sequence[Any]) -> str:
    parts = []
    for tier in ("remote", "local"):
        going = [row for row in rows if row.tier == tier and row.action == "delete"]
        if going:
            freed = size(sum(row.size_bytes for row in going))
            parts.append(f"{counted(len(going), f'{tier} segment')}, {freed}")
    return (
        f"The next clean-up deletes {' and '.join(parts)}." if parts else "The next clean-up deletes nothing."
    )


RETENTION = TableView(
    columns=(
        ShownColumn("TIER", "tier"),
        ShownColumn("SEGMENT ID", "segment_id"),
        ShownColumn("OFFSETS", _offsets_of),
        ShownColumn("SIZE", "size_bytes", SIZE, rank=2),
        ShownColumn("GOES", "order", NUMBER, style="red"),
        ShownColumn("RULE", "rule"),
        ShownColumn("WHY", "reason", rank=1, least=20),
    ),
    verdict=_goes,
)


_OUTCOMES = {
    "local": "fetches from the leader's local log, at",
    "tiered": "takes the state of a remote segment, and fetches from",
    "failed": "cannot take the state of a remote segment, and tries again for ever",
    "out-of-range": "is out of the leader's range, and goes on from",
}


def draw_follow(rows: Sequence[Any], screen: Screen, findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """Yield for each follower its requests and the answers, and where it ends."""
    if len(rows) > MOST_ANSWERS:
        yield from draw_table(FOLLOWERS, rows, screen, findings)
        return
    for place, row in enumerate(rows):
        if place:
            yield ""
        yield title([name_of(row.where), *place_parts([row.where]), f"leader {row.leader_dir}"], screen)
        for step, text in enumerate(row.steps, 1):
            yield sentences(screen, f"  {step:>3}  {text}", indent="       ")
        style = STYLES["error"] if row.outcome == "failed" else "bold"
        yield sentences(screen, f"The follower {_ends(row)}.", style=style)


def _ends(row: Any) -> str:
    offset = "" if row.next_fetch_offset is None else f" {row.next_fetch_offset}"
    return f"{_OUTCOMES.get(row.outcome, row.outcome)}{offset}"


FOLLOWERS = TableView(
    columns=(
        ShownColumn("FETCHES FROM", "fetch_offset", NUMBER),
        ShownColumn("SEGMENT ID", "remote.segment_id"),
        ShownColumn("THEN FROM", "next_fetch_offset", NUMBER),
        ShownColumn("OUTCOME", "outcome"),
    ),
    closing=lambda rows: f"{counted(sum(row.outcome == 'failed' for row in rows), 'follower')} failed.",
)
