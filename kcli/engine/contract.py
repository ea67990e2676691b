"""What a unit of work is and what comes back: the contract between jobs and every engine.

A job maps each unit to an outcome, in any process. Where it also reduces, outcomes of consecutive units of a
group are combined, in the process that asked. Every engine gives the same outcomes in unit order. Errors are
values: a bad file raises nothing. A map whose rows would grow too large stops and gives its unit's
continuation, so memory stays flat.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from kcli.analysis.findings import Finding
from kcli.logdir.tree import Target
from kcli.rows import Failure, Item


class ResumePoint(NamedTuple):
    """Where a continuation goes on: a byte of the file, or the number of an entry where it has entries.

    `cursor` counts what of the batch or entry at that place is delivered: records, or fields.
    """

    position: int
    cursor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One picklable piece of work over one or more targets; `number` is its place among the units.

    `start` and `end` are a range of bytes of a file (exclusive, an end of 0 is the file's end). `resume` is
    where a continuation goes on, None for a unit that begins. Consecutive units of the same `group` are
    reduced together.
    """

    number: int
    targets: tuple[Target, ...]
    group: int = 0
    start: int = 0
    end: int = 0
    resume: ResumePoint | None = None

    @property
    def target(self) -> Target:
        """The only target, or the first."""
        return self.targets[0]

    @property
    def begins(self) -> bool:
        """Whether nothing of the file comes before."""
        return not self.start and self.resume is None

    @property
    def position(self) -> int:
        """Where reading begins: that of `resume`, or `start`."""
        return self.start if self.resume is None else self.resume.position

    @property
    def cursor(self) -> int:
        """The cursor of `resume`, 0 for a unit that begins."""
        return 0 if self.resume is None else self.resume.cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one call of a map gives: rows, findings, at most one error, and what is left to do.

    Where a worker wrote the rows to a file there are none; `taken` counts them, and `parts` describes the
    files that end here. `ran_past_end`: the batches of a range of a log do not end where the range does, so
    this goes on to the end of the log. `partial` is what a reduce works on, picklable.
    """

    number: int
    rows: list[Item] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    error: Failure | None = None
    continuation: Unit | None = None
    taken: int = 0
    parts: tuple[object, ...] = ()
    ran_past_end: bool = False
    partial: object = None


Map: TypeAlias = Callable[[Unit], Outcome]
Reduce: TypeAlias = Callable[[Outcome | None, Outcome | None], Outcome]
"""Combines two neighbours of a group, associatively; None stands for the group's beginning or end.

The result carries the rows and findings that are complete by then, those of the left one first.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What is done with every unit, picklable but for `reduce`."""

    map: Map
    reduce: Reduce | None = None


class Engine(Protocol):
    """Runs a job over units; outcomes come in unit order, those of one unit in the order of its calls."""

    def __call__(self, job: Job, units: Sequence[Unit]) -> Iterator[Outcome]:
        """Yield every outcome; the continuation of a unit comes before the next unit."""
        ...
