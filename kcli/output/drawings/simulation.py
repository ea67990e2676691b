"""The views of `replica simulate`: a story step by step, and the list of stories."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType

from kcli.analysis.findings import Finding
from kcli.output.drawings.grid import NUMBER, ShownColumn
from kcli.output.drawings.tables import TableView, draw_table, sentences
from kcli.output.screen import Screen
from kcli.output.units import counted
from kcli.rows.simulation import ScenarioRow, SimulationRow


def _log(row: SimulationRow) -> str:
    """Return the records, each run of one leader epoch with the epoch before it."""
    runs = groupby(row.log, key=lambda record: record.epoch)
    return "  ".join(f"e{epoch}: {' '.join(record.value for record in run)}" for epoch, run in runs)


def _remote(row: SimulationRow) -> str:
    ends = row.remote_log_end_offsets
    return " ".join(f"{replica} {'?' if end is None else end}" for replica, end in ends)


class _Line:
    """A row, and the words of its step where it is the first of it."""

    def __init__(self, row: SimulationRow, *, is_first: bool) -> None:
        self.row = row
        self.step = str(row.step) if is_first else ""
        self.action = row.action if is_first else ""


COLUMNS = (
    ShownColumn("STEP", "step"),
    ShownColumn("WHAT HAPPENS", "action", style="bold"),
    ShownColumn("REPLICA", "row.replica"),
    ShownColumn("ROLE", lambda line: line.row.role + ("" if line.row.in_isr else ", out"), rank=1),
    ShownColumn("LEO", "row.log_end_offset", NUMBER),
    ShownColumn("HW", "row.high_watermark", NUMBER),
    ShownColumn("REMOTE LEO", lambda line: _remote(line.row), rank=2),
    ShownColumn("LOG", lambda line: _log(line.row)),
)


def draw_story(
    rows: Sequence[SimulationRow], screen: Screen, findings: Sequence[Finding]
) -> Iterator[RenderableType]:
    """Yield the replicas after each step, then what happened to them, then what it came to."""
    lines = [
        _Line(row, is_first=not number or rows[number - 1].step != row.step)
        for number, row in enumerate(rows)
    ]
    stories = {row.scenario for row in rows}
    view = TableView(columns=COLUMNS, facts=lambda _: sorted(stories))
    yield from draw_table(view, lines, screen, findings)
    said = [f"{row.step}  {row.replica} {event}" for row in rows for event in row.events]
    if said:
        yield ""
        yield sentences(screen, *said, indent="    ")
    yield ""
    yield sentences(screen, _verdict(rows))


def _verdict(rows: Sequence[SimulationRow]) -> str:
    last = [row for row in rows if row.step == rows[-1].step]
    lost = sum(" is lost: " in event for row in rows for event in row.events)
    logs = [row.log for row in last]
    shortest = min(map(len, logs))
    agree = all(log[:shortest] == logs[0][:shortest] for log in logs)
    words = "No committed record is lost" if not lost else f"{counted(lost, 'committed record')} lost"
    return f"{words}; the replicas {'agree' if agree else 'differ'} at the end."


def _total(rows: Sequence[Any]) -> str:
    return f"{counted(len(rows), 'story', 'stories')}: kcli replica simulate NAME shows one."


def _replicas(row: ScenarioRow) -> str:
    return ", ".join(row.replicas)


SCENARIOS = TableView(
    columns=(
        ShownColumn("NAME", "name"),
        ShownColumn("WHAT IT SHOWS", "title"),
        ShownColumn("PROTOCOL", "protocol", rank=1),
        ShownColumn("STEPS", "steps", NUMBER, rank=2),
        ShownColumn("REPLICAS", _replicas, rank=3),
    ),
    closing=_total,
)
