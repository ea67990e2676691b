"""What happens where a scan runs, on every engine: nothing that a scan does ends more than its own unit."""

import errno
import pickle
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from kcli.analysis.findings import Finding
from kcli.engine.contract import Outcome, Scan, Sink, Unit
from kcli.engine.errors import NotWrittenError
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


def packed_bin(scan: Scan, units: Sequence[Unit], sink: Sink | None, most: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield (unit, sequence, pickled outcome) of units: of each at most so many, or one if a sink takes the rows.

    What the sink raises is yielded instead: NotWrittenError when it cannot write.
    """
    if sink is None:
        for unit in units:
            for sequence, outcome in enumerate(islice(scanned_to_end(scan, unit), most)):
                yield unit.number, sequence, packed(outcome, unit)
        return
    try:
        outcomes = _sunk(scan, units, sink)
    except OSError as error:
        away = error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EROFS}
        hint = "; it must be a place that this machine and every worker share and may write to" if away else ""
        why = (error.strerror or str(error)).lower()
        yield units[0].number, 0, pickle.dumps(NotWrittenError(f"a Spark worker cannot write there: {why}{hint}"))
    except Exception as error:  # noqa: BLE001 - a bug must not look like the death of a worker
        yield units[0].number, 0, pickle.dumps(RuntimeError(_described(error)))
    else:
        for unit, outcome in zip(units, outcomes, strict=True):
            yield unit.number, 0, packed(outcome, unit)


def _sunk(scan: Scan, units: Sequence[Unit], sink: Sink) -> list[Outcome]:
    """Return an outcome for each unit, once all their rows are in a part of the sink."""
    outcomes = []
    with sink() as part:
        for unit in units:
            taken = 0
            error: Failure | None = None
            findings: list[Finding] = []
            for outcome in scanned_to_end(scan, unit):
                part.write(outcome.rows)
                taken += len(outcome.rows)
                findings += outcome.findings
                error = outcome.error or error
            outcomes.append(Outcome(number=unit.number, findings=findings, error=error, taken=taken))
    outcomes[-1] = replace(outcomes[-1], part=part.receipt)
    return outcomes


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
