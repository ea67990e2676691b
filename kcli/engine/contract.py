"""What a unit of work is and what comes back: the contract between jobs and every engine.

A job maps each unit to an outcome, in any process. Where it also reduces, outcomes of consecutive units of a
group are combined from left to right, in the process that asked. Errors are values: a bad file raises
nothing. A map whose rows would grow too large stops and gives its unit's continuation, so memory stays flat.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

from kcli.kafka.findings.findings import Finding
from kcli.logdir.targets import Target
from kcli.rows import Failure, Item


class EngineMissingError(Exception):
    """A part of the environment is not there; the message says what to install."""


class NotWrittenError(Exception):
    """Rows cannot be written where they should go; the message says why."""


class ResumePoint(NamedTuple):
    """Where a continuation goes on; `cursor` counts records, or fields, of that place that are delivered."""

    position: int  # a byte of the file, or the number of an entry where it has entries
    cursor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One picklable piece of work over one or more targets, or over a range of bytes of a file."""

    number: int  # its place among the units
    targets: tuple[Target, ...]
    group: int = 0  # consecutive units of the same group are reduced together
    start: int = 0
    end: int = 0  # exclusive; 0 is the file's end
    resume: ResumePoint | None = None  # where a continuation goes on
    facts: object = field(default=None, compare=False)  # of the file before `start`

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
    """What one call of a map gives: rows, findings, at most one error, and what is left to do."""

    number: int
    rows: list[Item] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    error: Failure | None = None
    continuation: Unit | None = None
    written_rows: int = 0  # that a worker wrote to a file
    parts: tuple[object, ...] = ()  # the files of a worker that end here
    ran_past_end: bool = False  # no batch ends where the range of a log does: this goes on to the log's end
    partial: object = None  # what a reduce works on, picklable


Map: TypeAlias = Callable[[Unit], Outcome]
Reduce: TypeAlias = Callable[[Outcome | None, Outcome | None], Outcome]
"""Adds the next outcome of a group to what those before it came to; None is the group's beginning or end.
The result carries the rows and findings that are complete by then; the left partial may change in place."""


def at_end(finish: Callable[[list[Any]], tuple[Iterable[Item], Iterable[Finding]]]) -> Reduce:
    """Return a reduce step that keeps partials, and gives at the end the rows and findings by all of them."""

    def reduce(left: Outcome | None, right: Outcome | None) -> Outcome:
        parts = left.partial if left is not None and isinstance(left.partial, list) else []
        if right is not None:
            if right.partial is not None and not isinstance(right.partial, Unit):  # of a worker that died
                parts.append(right.partial)
            return replace(right, partial=parts)
        assert left is not None
        rows, findings = finish(parts)
        return Outcome(number=left.number, rows=[*rows], findings=[*findings], partial=parts)

    return reduce


class Job(NamedTuple):
    """What is done with every unit, picklable but for `reduce`."""

    map: Map
    reduce: Reduce | None = None


Engine: TypeAlias = Callable[[Job, Sequence[Unit]], Iterator[Outcome]]
"""Runs a job over units: every outcome in unit order, a continuation of a unit before the next unit."""


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
"""Where workers write rows: picklable; a part counts if its block ends well and its receipt comes back."""
