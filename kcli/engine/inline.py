"""In this process: one unit after the other. Every other engine gives the same outcomes in the same order."""

import traceback
from collections.abc import Iterator, Sequence

from kcli.engine.contract import Outcome, Scan, Unit
from kcli.rows import Failure


def inline(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
    """Yield the outcomes of a scan over units, run in this process."""
    for unit in units:
        yield from scanned_to_end(scan, unit)


def scanned_to_end(scan: Scan, unit: Unit) -> Iterator[Outcome]:
    """Yield the outcomes of a unit and of every rest that it leaves."""
    rest: Unit | None = unit
    while rest is not None:
        outcome = scanned(scan, rest)
        yield outcome
        rest = outcome.rest


def scanned(scan: Scan, unit: Unit) -> Outcome:
    """Return the outcome of one call of a scan; an exception, which is a bug, becomes the unit's error."""
    try:
        return scan(unit)
    except Exception as error:  # noqa: BLE001 - the contract forbids it, so it can be anything
        return failed(unit, "internal", described(error))


def failed(unit: Unit, error: str, message: str) -> Outcome:
    """Return the outcome of a unit that could not be answered."""
    return Outcome(number=unit.number, error=Failure(unit.target.shown, error, None, None, message))


def described(error: BaseException) -> str:
    """Return an exception with the place in the code that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"
