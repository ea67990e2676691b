"""On this machine: in this process, or over a pool of processes. Both give the same outcomes in the same order."""

import os
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kcli.engine.contract import Engine, Outcome, Scan, Unit
from kcli.engine.worker import failed, packed, scanned, scanned_to_end

if TYPE_CHECKING:
    from kcli.engine.crew import Crew, Parcel

Chunk: TypeAlias = tuple[Unit, ...]

UNITS_A_CHUNK = 64
"""At most so many units travel together: the transport of one costs as much as a small partition's scan."""
ROWS_A_CHUNK = 10_000
"""A chunk comes back early when it has given so many rows."""
CHUNKS_A_WORKER = 2
"""So many chunks a worker are in flight or wait to be told: enough to keep it busy, few enough to keep memory flat."""
WORTH_A_PART = 1 << 16
"""Bytes of a buffer that travels beside its row instead of in it."""
FEW_WORKERS = 16
WORKERS_A_CORE = 4
"""More processes than this, or those few, only wait for each other, whatever was asked for."""


@dataclass(slots=True, eq=False)
class Piece:
    """A chunk on its way; `answer` is its outcomes, pickled, once it is back. A suspect was there when a worker died."""

    chunk: Chunk
    suspect: bool = False
    pipe: Any = None
    answer: "Parcel | None" = None


def inline(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
    """Run a scan over units in this process."""
    for unit in units:
        yield from scanned_to_end(scan, unit)


def pool(jobs: int) -> Engine:
    """Return an engine over `jobs` processes of this interpreter, fewer where more are of no use.

    They start when it is given units. EngineMissingError when there is no place for a socket to talk to them.
    """

    def run(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
        from kcli.engine.crew import Crew  # noqa: PLC0415 - only a pool pays for it

        size, workers = _shares(len(units), jobs)
        if any(unit.end for unit in units):
            size = 1  # pieces of a log come out large: each is to be told when its turn comes, and no sooner
        waiting: deque[Chunk] = deque(tuple(units[start : start + size]) for start in range(0, len(units), size))
        if waiting:
            with Crew(workers, _answer) as crew:
                yield from _spread(crew, scan, waiting, workers * CHUNKS_A_WORKER)

    return run


def _shares(units: int, jobs: int) -> tuple[int, int]:
    """Return how many units a chunk has, and how many workers are worth starting."""
    workers = min(jobs, max(FEW_WORKERS, WORKERS_A_CORE * len(os.sched_getaffinity(0))))
    size = max(1, min(UNITS_A_CHUNK, units // (workers * CHUNKS_A_WORKER * 2)))
    return size, min(workers, -(-units // size))


def _spread(crew: "Crew", scan: Scan, waiting: deque[Chunk], window: int) -> Iterator[Outcome]:
    """Yield the outcomes of the waiting chunks in order, at most `window` of them on their way."""
    line: deque[Piece] = deque()
    while waiting or line:
        while waiting and len(line) < window:
            line.append(Piece(waiting.popleft()))
        _feed(crew, scan, line)
        answer = line[0].answer
        if answer is None and crew.is_lost:
            yield from _alone(scan, line.popleft())
            continue
        if answer is None:
            _receive(crew, line, None)
            continue
        chunk = line.popleft().chunk
        outcomes: list[Outcome] = pickle.loads(answer[0], buffers=answer[1:])  # noqa: S301 - our own workers wrote it
        yield from outcomes
        rest = outcomes[-1].rest
        left = ((rest,) if rest is not None else ()) + chunk[len(outcomes) :]
        if left:
            line.appendleft(Piece(left))
        _receive(crew, line, 0)


def _feed(crew: "Crew", scan: Scan, line: deque[Piece]) -> None:
    """Give pieces to workers that wait; a suspect runs while nothing else does, so that only it can be to blame."""
    for piece in line:
        flies_alone = any(other.suspect and other.pipe is not None for other in line)
        if not crew.is_ready or flies_alone:
            return
        if piece.pipe is not None or piece.answer is not None:
            continue
        if piece.suspect and not crew.is_resting:
            return
        piece.pipe = crew.give(pickle.dumps((scan, piece.chunk), pickle.HIGHEST_PROTOCOL))


def _receive(crew: "Crew", line: deque[Piece], timeout: float | None) -> None:
    """Take the answers that are there; what a dead worker had is tried again, unit by unit, then given up."""
    for pipe, answer in crew.answers(timeout):
        place = next(place for place, piece in enumerate(line) if piece.pipe is pipe)
        piece = line[place]
        piece.pipe = None
        if answer is not None:
            piece.answer = answer
        elif piece.suspect:
            piece.answer = _parcel([_died(piece.chunk[0])], piece.chunk)
        else:
            del line[place]
            for unit in reversed(piece.chunk):
                line.insert(place, Piece((unit,), suspect=True))


def _alone(scan: Scan, piece: Piece) -> Iterator[Outcome]:
    """Yield the outcomes of a piece without workers: here, unless it may have killed one."""
    if piece.suspect:
        yield _died(piece.chunk[0])
    else:
        yield from inline(scan, piece.chunk)


def _died(unit: Unit) -> Outcome:
    return failed(unit, "worker-died", "the process that read it died (killed, or out of memory)")


def _answer(message: bytes) -> "Parcel":
    """Return the outcomes of a chunk, one for each unit from the first; stops after a rest, or when they grow large."""
    scan, chunk = pickle.loads(message)  # noqa: S301 - the parent wrote it
    outcomes: list[Outcome] = []
    rows = 0
    for unit in chunk:
        outcomes.append(scanned(scan, unit))
        rows += len(outcomes[-1].rows)
        if outcomes[-1].rest is not None or rows >= ROWS_A_CHUNK:
            break
    return _parcel(outcomes, chunk)


def _parcel(outcomes: list[Outcome], chunk: Chunk) -> "Parcel":
    """Return outcomes pickled, their large buffers apart; one that cannot be pickled is a bug and becomes its unit's error."""
    parts: list[pickle.PickleBuffer] = []

    def stays(part: pickle.PickleBuffer) -> bool:
        if part.raw().nbytes >= WORTH_A_PART:
            parts.append(part)
            return False
        return True

    try:
        pickled = pickle.dumps(outcomes, pickle.HIGHEST_PROTOCOL, buffer_callback=stays)
    except Exception:  # noqa: BLE001 - pickle raises what the values raise
        sound = [pickle.loads(packed(outcome, unit)) for outcome, unit in zip(outcomes, chunk, strict=False)]  # noqa: S301 - just made
        return [pickle.dumps(sound, pickle.HIGHEST_PROTOCOL)]
    return [pickled, *(part.raw() for part in parts)]
