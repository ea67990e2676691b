"""The views of `replica simulate`: a story step by step, and the list of stories."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType

from kcli.kafka.findings.findings import Finding
from kcli.output.screen import Screen
from kcli.output.table.grid import NUMBER, Line, Lines, ShownColumn, table
from kcli.output.table.marks import STYLES, findings_line
from kcli.output.table.places import title
from kcli.output.table.tables import TableView, conclusion, sentences
from kcli.output.units import counted
from kcli.rows.simulation import ScenarioRow, SimulationRow


def _log(row: SimulationRow) -> str:
    """Return the records, each run of one leader epoch with the epoch before it."""
    runs = groupby(row.log, key=lambda record: record.epoch)
    return "  ".join(f"e{epoch}: {' '.join(record.value for record in run)}" for epoch, run in runs)


def _remote(row: SimulationRow) -> str:
    ends = row.remote_log_end_offsets
    return " ".join(f"{replica} {'?' if end is None else end}" for replica, end in ends)


EVENT = " " * 6
"""Events are drawn below what happens, which is the second column."""


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
    """Yield the replicas after each step with what happened to them, then what it came to."""
    lines = [
        _Line(row, is_first=not number or rows[number - 1].step != row.step)
        for number, row in enumerate(rows)
    ]
    first = rows[0]
    name = [] if first.scenario == first.title else [first.scenario]
    yield title([*name, first.title, f"protocol {first.protocol}"], screen)
    yield ""
    drawn = table(COLUMNS, lines, screen)
    yield Lines(_with_events(drawn.lines, rows, screen), screen.width)
    yield ""
    yield from conclusion(screen, _verdict(rows), findings_line(findings))


def _with_events(drawn: Sequence[Line], rows: Sequence[SimulationRow], screen: Screen) -> Iterator[Line]:
    """Yield the lines of the table, after those of each step what happened in it.

    After all of them where the screen is so narrow that rows take several lines.
    """
    header, *lines = drawn
    yield header
    is_folded = len(lines) != len(rows)
    if is_folded:
        yield from lines
    for _, found in groupby(enumerate(rows), key=lambda pair: pair[1].step):
        step = list(found)
        if not is_folded:
            yield from (lines[number] for number, _ in step)
        for _, row in step:
            for event in row.events:
                is_of_record = is_loss(event) or is_return(event)
                text = event if is_of_record else f"{row.replica} {event}"
                style = STYLES["error"] if is_loss(event) else STYLES["warning"]
                line = f"{EVENT}{screen.symbols.arrow} {text}"
                yield from sentences(screen, line, style=style, indent=f"{EVENT}  ").lines


def is_loss(event: str) -> bool:
    """Whether an event is that a committed record is lost."""
    return " is lost: " in event


def is_return(event: str) -> bool:
    """Whether an event is that a leader holds a record that was lost."""
    return " is back: " in event


def _verdict(rows: Sequence[SimulationRow]) -> str:
    last = [row for row in rows if row.step == rows[-1].step]
    lost = sum(is_loss(event) - is_return(event) for row in rows for event in row.events)
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
