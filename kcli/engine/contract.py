"""What a unit of work is and what comes back: the contract between jobs and every engine.

A job is a picklable function `scan(unit) -> Outcome`. An engine runs it over
units and hands back the outcomes in unit order, whichever way it spread the
work. Errors are values: a scan never raises for a bad file. A scan whose rows
would grow too large stops, says in `rest` where it wants to go on, and is
called again with that unit: so memory stays flat on every engine.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from kcli.analysis.findings import Finding
from kcli.logdir.tree import Target
from kcli.rows import Failure, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One picklable piece of work; `number` is its place in the output.

    `start` and `mark` are where a continued scan goes on: their meaning is the job's. `end` is where a piece of a file
    ends, 0 for its end.
    """

    number: int
    target: Target
    start: int = 0
    mark: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one call of a scan gives: rows, findings, at most one terminal error, and what is still to do.

    Where a sink took the rows there are none; `taken` counts them, and `part` is the receipt of the part that ends here.
    `beyond`: the piece of a file had no end where it should, so this goes on to the end of the file.
    """

    number: int
    rows: list[Item] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    error: Failure | None = None
    rest: Unit | None = None
    taken: int = 0
    part: object = None
    beyond: bool = False


Scan: TypeAlias = Callable[[Unit], Outcome]


class Part(Protocol):
    """One place that rows of consecutive units go to."""

    @property
    def receipt(self) -> object:
        """What is to be known of it once it is complete, small and picklable; None for nothing."""
        ...

    def write(self, rows: Sequence[Item]) -> None:
        """Take rows; OSError when it cannot."""
        ...


Sink: TypeAlias = Callable[[], AbstractContextManager[Part]]
"""Where rows go without passing through the process that asked for them; picklable.

A part is complete when its block ends well. One whose block did not, or whose receipt no outcome carries, does not count.
"""


class Engine(Protocol):
    """Runs a scan over units; outcomes come in unit order, those of one unit in the order of its scan."""

    def __call__(self, scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
        """Yield every outcome; a unit that stopped early is followed by its rest before the next unit."""
        ...
