"""In this process, one unit after the other; and the reduce step, which every engine takes here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from kcli.engine.contract import Job, Map, Outcome, Unit
from kcli.rows import Failure, described


def inline(job: Job, units: Sequence[Unit]) -> Iterator[Outcome]:
    """Yield the outcomes of a job, run in this process."""
    return reduced(job, units, mapped(job.map, units))


def mapped(job: Map, units: Iterable[Unit]) -> Iterator[Outcome]:
    """Yield the outcomes of units and of their continuations; an exception is its unit's error."""
    for unit in units:
        next_unit: Unit | None = unit
        while next_unit is not None:
            try:
                outcome = job(next_unit)
            except Exception as error:  # noqa: BLE001 - the contract forbids it, so it can be anything
                outcome = failed(unit, "internal", described(error))
            yield outcome
            next_unit = outcome.continuation


def reduced(job: Job, units: Sequence[Unit], outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Yield the outcomes of a map, those of each group reduced from left to right; complete rows at once."""
    if job.reduce is None:
        yield from outcomes
        return
    by_number = {unit.number: unit for unit in units}
    for _, group in groupby(outcomes, key=lambda outcome: by_number[outcome.number].group):
        fold = job.reduce(None, next(group))
        for outcome in group:  # noqa: B031 - the rest of it
            yield replace(fold, partial=None, continuation=fold.continuation or by_number[outcome.number])
            fold = job.reduce(Outcome(number=fold.number, partial=fold.partial), outcome)
        last = job.reduce(Outcome(number=fold.number, partial=fold.partial), None)
        adds = bool(last.rows or last.findings or last.error)
        yield replace(fold, partial=None, continuation=by_number[fold.number] if adds else fold.continuation)
        if adds:
            yield replace(last, partial=None)


def failed(unit: Unit, error: str, message: str) -> Outcome:
    """Return the outcome of a unit that a map could not answer; its partial is the unit."""
    failure = Failure(unit.target.shown, error, None, None, message)
    return Outcome(number=unit.number, error=failure, partial=unit)
