"""The views of `replica simulate`: a story step by step, and the list of stories."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from rich.console import RenderableType

from kcli.output.screen import Screen
from kcli.output.table.columns import NUMBER, ShownColumn
from kcli.output.table.fitted_table import sentences
from kcli.output.table.severities import STYLES
from kcli.output.table.table_view import TableInput, TableView
from kcli.output.units import counted
from kcli.rows.replicas import SimulationRow

SCENARIOS = TableView(
    columns=(
        ShownColumn("NAME", "name"),
        ShownColumn("WHAT IT SHOWS", "title"),
        ShownColumn("PROTOCOL", "protocol", rank=1),
        ShownColumn("STEPS", "steps", NUMBER, rank=2),
        ShownColumn("REPLICAS", lambda row: ", ".join(row.replicas), rank=3),
    ),
    closing=lambda rows: f"{counted(len(rows), 'story', 'stories')}: kcli replica simulate NAME shows one.",
)


def _log(row: SimulationRow) -> str:
    """Return the records, each run of one leader epoch with the epoch before it."""
    runs = groupby(row.log, key=attrgetter("epoch"))
    return "  ".join(f"e{epoch}: {' '.join(record.value for record in run)}" for epoch, run in runs)


def _remote_ends(row: SimulationRow) -> str:
    ends = row.remote_log_end_offsets
    return " ".join(f"{replica} {'?' if end is None else end}" for replica, end in ends)


def is_loss(event: str) -> bool:
    """Whether an event is that a committed record is lost."""
    return " is lost: " in event


def is_return(event: str) -> bool:
    """Whether an event is that a leader holds a record that was lost."""
    return " is back: " in event


def _verdict(rows: Sequence[SimulationRow]) -> str:
    lost = sum(is_loss(event) - is_return(event) for row in rows for event in row.events)
    logs = [row.log for row in rows if row.step == rows[-1].step]
    shortest = min(map(len, logs))
    agree = all(log[:shortest] == logs[0][:shortest] for log in logs)
    words = "No committed record is lost" if not lost else f"{counted(lost, 'committed record')} lost"
    return f"{words}; the replicas {'agree' if agree else 'differ'} at the end."


def _events(rows: Sequence[SimulationRow], screen: Screen) -> Iterator[RenderableType]:
    """Yield what happened to the replicas in each step."""
    if any(row.events for row in rows):
        yield ""
    for row in rows:
        for event in row.events:
            text = event if is_loss(event) or is_return(event) else f"{row.replica} {event}"
            style = STYLES["error" if is_loss(event) else "warning"]
            yield sentences(screen, f"  {row.step:>3}  {text}", style=style, indent=" " * 7)


def view_story(answer: TableInput) -> TableView:
    """Return the replicas after each step, what happened to them, and what it came to."""
    first = answer.rows[0]
    return TableView(
        columns=(
            ShownColumn("STEP", lambda row: str(row.step) if row.replica == first.replica else ""),
            ShownColumn(
                "WHAT HAPPENS", lambda row: row.action * (row.replica == first.replica), style="bold"
            ),
            ShownColumn("REPLICA", "replica"),
            ShownColumn("ROLE", lambda row: row.role + ("" if row.in_isr else ", out"), rank=1),
            ShownColumn("LEO", "log_end_offset", NUMBER),
            ShownColumn("HW", "high_watermark", NUMBER),
            ShownColumn("REMOTE LEO", _remote_ends, rank=2),
            ShownColumn("LOG", _log),
        ),
        facts=lambda _: list(dict.fromkeys((first.scenario, first.title, f"protocol {first.protocol}"))),
        below=_events,
        verdict=_verdict,
    )
