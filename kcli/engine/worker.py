"""What happens where a scan runs, on every engine: nothing that a scan does ends more than its own unit."""

import pickle
import traceback
from collections.abc import Iterator

from kcli.engine.contract import Outcome, Scan, Unit
from kcli.rows import Failure


def scanned(scan: Scan, unit: Unit) -> Outcome:
    """Return the outcome of one call of a scan; an exception, which is a bug, becomes the unit's error."""
    try:
        return scan(unit)
    except Exception as error:  # noqa: BLE001 - the contract forbids it, so it can be anything
        return failed(unit, "internal", _described(error))


def scanned_to_end(scan: Scan, unit: Unit) -> Iterator[Outcome]:
    """Yield the outcomes of a unit and of every rest that it leaves."""
    rest: Unit | None = unit
    while rest is not None:
        outcome = scanned(scan, rest)
        yield outcome
        rest = outcome.rest


def packed(outcome: Outcome, unit: Unit) -> bytes:
    """Return an outcome pickled; one that cannot be pickled is a bug and becomes the unit's error."""
    try:
        return pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - pickle raises what the values raise
        return pickle.dumps(failed(unit, "internal", _described(error)), pickle.HIGHEST_PROTOCOL)


def failed(unit: Unit, error: str, message: str) -> Outcome:
    """Return the outcome of a unit whose scan came to nothing."""
    return Outcome(number=unit.number, error=Failure(unit.target.shown, error, None, None, message))


def _described(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"
