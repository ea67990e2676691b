"""On this machine: in this process, or over a pool of processes. Both give the same outcomes in the same order."""

import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kcli.engine.contract import Engine, Outcome, Scan, Unit
from kcli.engine.worker import failed, packed, scanned_to_end
from kcli.rows import Away, EncodedRows, TextBlock

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from kcli.engine.crew import Crew, Parcel

Chunk: TypeAlias = tuple[Unit, ...]

UNITS_A_CHUNK = 64
"""At most so many units travel together: the transport of one costs as much as a small partition's scan."""
ROWS_A_PARCEL = 10_000
"""Outcomes of small units travel together until they have so many rows."""
AHEAD = 1
"""Pieces of a log that wait in a worker's pipe: it begins the next at once, whatever the owner is busy with."""
CHUNKS_A_WORKER = 2
"""So many chunks a worker are in flight or wait to be told: enough to keep it busy, few enough to keep memory flat."""
WORTH_A_PART = 1 << 16
"""Bytes of a buffer that travels beside its row instead of in it."""
HELD = 48 << 20
"""Bytes of answers that wait for their turn in this process: beyond, workers wait with theirs."""
FEW_WORKERS = 16
WORKERS_A_CORE = 4
"""More processes than this, or those few, only wait for each other, whatever was asked for."""


class Task(NamedTuple):
    """What is done with every unit, whether workers write long text to stdout themselves, and how many chunks they are given ahead."""

    scan: Scan
    writes: bool
    ahead: int


@dataclass(slots=True, eq=False)
class Piece:
    """A chunk on its way: `pipe` leads to the worker that has it, `parcels` came from there and wait for their turn.

    A suspect was there when a worker died. `told` counts the outcomes of the chunk's first unit that are told, `skip` those that
    a worker gives once more. `home` leads to the worker that had it last, and may keep bytes of it; if that died with some, `rest`
    is what another one goes on with.
    """

    chunk: Chunk
    suspect: bool = False
    told: int = 0
    skip: int = 0
    pipe: "Connection | None" = None
    parcels: "deque[Parcel]" = field(default_factory=deque)
    complete: bool = False
    home: "Connection | None" = None
    rest: Iterator[Outcome] | None = None

    @property
    def waits(self) -> bool:
        """Whether no worker has it, or has had it."""
        return self.pipe is None and not self.complete


def inline(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
    """Run a scan over units in this process."""
    for unit in units:
        yield from scanned_to_end(scan, unit)


def pool(jobs: int, *, writes: bool = False) -> Engine:
    """Return an engine over `jobs` processes of this interpreter, fewer where more are of no use.

    They start when it is given units. `writes`: stdout is a regular file, and they may write to it what is long; there are
    rows that are Away, then. EngineMissingError when there is no place for a socket to talk to them.
    """

    def run(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
        from kcli.engine.away import obey  # noqa: PLC0415 - only a pool pays for it
        from kcli.engine.crew import Crew  # noqa: PLC0415

        size, workers = _shares(len(units), jobs)
        ahead = 0
        if any(unit.end for unit in units):
            size = 1  # pieces of a log come out large: each is to be told when its turn comes, and no sooner
            ahead = AHEAD if writes else 0
        waiting: deque[Chunk] = deque(
            tuple(units[start : start + size]) for start in range(0, len(units), size)
        )
        if waiting:
            with Crew(workers, _answer, obey) as crew:
                yield from _spread(
                    crew, Task(scan, writes, ahead), waiting, workers * (CHUNKS_A_WORKER + ahead)
                )

    return run


def _shares(units: int, jobs: int) -> tuple[int, int]:
    """Return how many units a chunk has, and how many workers are worth starting."""
    from kcli.engine.crew import cores  # noqa: PLC0415 - only a pool pays for it

    workers = min(jobs, max(FEW_WORKERS, WORKERS_A_CORE * cores()))
    size = max(1, min(UNITS_A_CHUNK, units // (workers * CHUNKS_A_WORKER * 2)))
    return size, min(workers, -(-units // size))


def _spread(crew: "Crew", task: Task, waiting: deque[Chunk], window: int) -> Iterator[Outcome]:
    """Yield the outcomes of the waiting chunks in order, at most `window` of them on their way."""
    line: deque[Piece] = deque()
    while waiting or line:
        while waiting and len(line) < window:
            line.append(Piece(waiting.popleft()))
        _feed(crew, task, line)
        first = line[0]
        if first.rest is not None:
            _take_back(crew, line, first.pipe)
            yield from _told(line.popleft(), first.rest)
        elif first.parcels:
            yield from _in_turns(crew, task.scan, first, _told(first, _outcomes(first.parcels.popleft())))
            if first.rest is None:
                _receive(crew, line, 0)
        elif first.complete:
            line.popleft()
        elif first.waits and crew.is_lost:
            yield from _told(line.popleft(), _alone(task.scan, first))
        else:
            _receive(crew, line, None)


def _told(piece: Piece, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Yield the outcomes of a piece that were not told before; its chunk is then what is left to tell."""
    for outcome in outcomes:
        if piece.skip:
            piece.skip -= 1
        else:
            piece.told += 1
            yield outcome
        if outcome.rest is None:
            piece.chunk, piece.told, piece.skip = piece.chunk[1:], 0, 0


def _in_turns(crew: "Crew", scan: Scan, piece: Piece, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Yield outcomes that are told; one with bytes that a worker keeps in parts, each up to such bytes, which are written then.

    If the worker has died, another makes them anew, and goes on with the piece: see its `rest`. A unit of which they are fewer
    now, or which ends that worker, too, is over.
    """
    from kcli.engine.away import forgotten, size, write_all, written  # noqa: PLC0415 - only a pool pays for it

    for outcome in outcomes:
        unit, number, begun = piece.chunk[0], piece.told - 1, 0
        remade: Outcome | None = None
        for place, row in enumerate(outcome.rows):
            if not isinstance(row, Away) or piece.home is None:
                continue
            kept: Any = row.values[0]
            reached: list[int] = []
            reach: Any = reached.append
            yield Outcome(
                number=outcome.number,
                rows=[*outcome.rows[begun:place], Away(row.type, (reach,))],
                rest=outcome.rest or unit,
            )
            begun = place + 1
            ask = partial(crew.ask, piece.home)
            if not reached:
                forgotten(kept, ask)
                continue
            done = written(kept, reached[0], ask)
            if done == kept.size:
                continue
            if piece.rest is None:
                piece.rest = _behind(number, pool(1)(scan, piece.chunk))
                remade = next(piece.rest, None)
            anew = remade.rows[place] if remade is not None and place < len(remade.rows) else None
            if not isinstance(anew, (TextBlock, EncodedRows)) or size(anew.buffers) < done:
                yield _died(unit)
                piece.chunk, piece.told = piece.chunk[1:], 0
                piece.rest = pool(1)(scan, piece.chunk)
                return
            write_all(reached[0], memoryview(b"".join(anew.buffers))[done:])
        yield replace(outcome, rows=outcome.rows[begun:]) if begun else outcome


def _behind(count: int, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Yield outcomes behind so many of the first unit, or from its last on if it has no more."""
    for outcome in outcomes:
        if count and outcome.rest is not None:
            count -= 1
        else:
            count = 0
            yield outcome


def _feed(crew: "Crew", task: Task, line: deque[Piece]) -> None:
    """Give pieces to workers that wait; a suspect runs when it is first, and while nothing else does: only it can be to blame.

    One that is late, for later ones were given before, waits behind none of them, and its worker keeps nothing of it: what that
    keeps of later ones may leave no room, and goes only when their turn comes.
    """
    for place, piece in enumerate(line):
        if piece.suspect:
            if piece is not line[0]:
                return
            for pipe in {other.pipe for other in line if other is not piece}:
                _take_back(crew, line, pipe)
        if piece.waits:
            is_late = any(not other.waits for other in islice(line, place + 1, None))
            if not crew.is_ready(0 if is_late else task.ahead):
                return
            work = task.scan, piece.chunk, task.writes and not (piece.suspect or is_late)
            piece.pipe = piece.home = crew.give(pickle.dumps(work, pickle.HIGHEST_PROTOCOL))
        if piece.suspect:
            return


def _take_back(crew: "Crew", line: Iterable[Piece], pipe: "Connection | None") -> None:
    """End the worker at a pipe's end, if it is one; what it has not told of is for another."""
    if pipe is None:
        return
    crew.recall(pipe)
    for piece in line:
        if piece.pipe is pipe:
            piece.pipe = None
            piece.parcels.clear()


def _receive(crew: "Crew", line: deque[Piece], timeout: float | None) -> None:
    """Take what is there: one parcel of each piece, then no more until its turn; what a dead worker had is tried again, unit by unit.

    Only of the first is there always room for one.
    Where the first waits for a worker, and all are at later ones, of which they may go no further before it, one is ended:
    its replacement does the first.
    """
    from kcli.engine.crew import UNTOUCHED  # noqa: PLC0415 - only a pool pays for it

    if timeout is None and line[0].waits and not crew.is_starting:
        _take_back(crew, line, next(piece.pipe for piece in reversed(line) if piece.pipe is not None))
        return
    begun = _begun(line)
    room = HELD - sum(_size(parcel) for piece in line for parcel in piece.parcels)
    wanted = [pipe for pipe, piece in begun.items() if not piece.parcels and (room > 0 or piece is line[0])]
    for pipe, parcel in crew.parcels(wanted, timeout):
        if parcel is None or parcel is UNTOUCHED:
            for piece in line:
                if piece.pipe is pipe:
                    piece.pipe = None
        if parcel is None:
            _blame(line, begun[pipe])
        elif parcel is not UNTOUCHED:
            _take(begun[pipe], parcel)
            room -= _size(parcel)
            if room <= 0:
                return


def _size(parcel: "Parcel") -> int:
    return sum(map(len, parcel.parts))


def _begun(line: Iterable[Piece]) -> "dict[Connection, Piece]":
    """Return the piece that each worker is at: of those that it was given, the first."""
    begun: dict[Connection, Piece] = {}
    for piece in line:
        if piece.pipe is not None:
            begun.setdefault(piece.pipe, piece)
    return begun


def _take(piece: Piece, parcel: "Parcel") -> None:
    piece.parcels.append(parcel)
    if parcel.last:
        piece.pipe, piece.complete = None, True


def _blame(line: deque[Piece], piece: Piece) -> None:
    """Note that a worker died at a piece: its units are suspects now; one that was is told of."""
    if piece.suspect:
        piece.parcels.append(_parcel([_died(piece.chunk[0])], piece.chunk, last=True))
        piece.skip, piece.complete = 0, True
        return
    place = line.index(piece)
    del line[place]
    told = [piece.told, *(0 for _ in piece.chunk[1:])]
    for unit, count in reversed(list(zip(piece.chunk, told, strict=True))):
        line.insert(place, Piece((unit,), suspect=True, told=count, skip=count))


def _alone(scan: Scan, piece: Piece) -> Iterator[Outcome]:
    """Yield the outcomes of a piece without workers: here, unless it may have killed one."""
    if piece.suspect:
        piece.skip = 0
        yield _died(piece.chunk[0])
    else:
        yield from inline(scan, piece.chunk)


def _died(unit: Unit) -> Outcome:
    return failed(unit, "worker-died", "the process that read it died (killed, or out of memory)")


def _answer(message: bytes) -> Iterator["Parcel"]:
    """Yield the outcomes of a chunk of units: those of small ones together, those of large ones as they come."""
    from kcli.engine.away import shelf  # noqa: PLC0415 - only a pool pays for it

    scan, chunk, keeps = pickle.loads(message)  # noqa: S301 - the parent wrote it
    outcomes: list[Outcome] = []
    rows = 0
    for number, unit in enumerate(chunk):
        for outcome in scanned_to_end(scan, unit):
            away = shelf.keep(outcome.rows) if keeps else None
            outcomes.append(outcome if away is None else replace(outcome, rows=away))
            rows += len(outcome.rows)
            last = number == len(chunk) - 1 and outcome.rest is None
            if last or outcome.rest is not None or away is not None or rows >= ROWS_A_PARCEL:
                yield _parcel(outcomes, chunk, last=last)
                outcomes, rows = [], 0


def _parcel(outcomes: list[Outcome], chunk: Chunk, *, last: bool) -> "Parcel":
    """Return outcomes pickled, their large buffers apart; one that cannot be pickled is a bug and becomes its unit's error."""
    from kcli.engine.crew import Parcel  # noqa: PLC0415 - only a pool pays for it

    parts: list[pickle.PickleBuffer] = []

    def stays(part: pickle.PickleBuffer) -> bool:
        if part.raw().nbytes >= WORTH_A_PART:
            parts.append(part)
            return False
        return True

    try:
        pickled = pickle.dumps(outcomes, pickle.HIGHEST_PROTOCOL, buffer_callback=stays)
    except Exception:  # noqa: BLE001 - pickle raises what the values raise
        units = {unit.number: unit for unit in chunk}
        sound = [pickle.loads(packed(outcome, units[outcome.number])) for outcome in outcomes]  # noqa: S301 - just made
        return Parcel([pickle.dumps(sound, pickle.HIGHEST_PROTOCOL)], last)
    return Parcel([pickled, *(part.raw() for part in parts)], last)


def _outcomes(parcel: "Parcel") -> list[Outcome]:
    pickled, *parts = parcel.parts
    outcomes: list[Outcome] = pickle.loads(pickled, buffers=parts)  # noqa: S301 - our own workers wrote it
    return outcomes
