"""On this machine: in this process, or over a pool of processes. Both give the same outcomes in the same order."""

import os
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from kcli.engine.contract import Engine, Outcome, Scan, Unit
from kcli.engine.errors import EngineMissingError
from kcli.engine.worker import failed, packed, scanned, scanned_to_end

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Chunk: TypeAlias = tuple[Unit, ...]
Flying: TypeAlias = "deque[tuple[Future[list[bytes]], Chunk]]"

UNITS_A_CHUNK = 64
"""At most so many units travel together: the transport of one costs as much as a small partition's scan."""
ROWS_A_CHUNK = 10_000
"""A chunk comes back early when it has given so many rows."""
CHUNKS_A_WORKER = 2
"""So many chunks a worker are in flight: enough to keep it busy, few enough to keep memory flat."""


def inline(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
    """Run a scan over units in this process."""
    for unit in units:
        yield from scanned_to_end(scan, unit)


def pool(jobs: int) -> Engine:
    """Return an engine over `jobs` processes of this interpreter; they start when it is given units."""

    def run(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
        from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - only a pool pays for it

        size = max(1, min(UNITS_A_CHUNK, len(units) // (jobs * CHUNKS_A_WORKER * 2)))
        waiting: deque[Chunk] = deque(tuple(units[start : start + size]) for start in range(0, len(units), size))
        flying: Flying = deque()
        while waiting:
            try:
                with _workers(jobs) as executor:
                    yield from _flown(executor, scan, waiting, flying, jobs * CHUNKS_A_WORKER)
            except BrokenProcessPool:
                suspects = [unit for _, chunk in flying for unit in chunk]
                flying.clear()
                yield from _one_by_one(scan, suspects)

    return run


def _flown(executor: "ProcessPoolExecutor", scan: Scan, waiting: deque[Chunk], flying: Flying, window: int) -> Iterator[Outcome]:
    """Yield the outcomes of the waiting chunks in order, at most `window` of them in flight."""
    while waiting or flying:
        while waiting and len(flying) < window:
            chunk = waiting.popleft()
            flying.append((_submitted(executor, scan, chunk), chunk))
        future, chunk = flying[0]
        outcomes = [pickle.loads(payload) for payload in future.result()]  # noqa: S301 - our own workers wrote it
        flying.popleft()
        yield from outcomes
        rest = outcomes[-1].rest
        left = ((rest,) if rest is not None else ()) + chunk[len(outcomes) :]
        if left:
            flying.appendleft((_submitted(executor, scan, left), left))


def _submitted(executor: "ProcessPoolExecutor", scan: Scan, chunk: Chunk) -> "Future[list[bytes]]":
    """Submit a chunk; a pool that is broken already says so where the result is asked for, like one that breaks later."""
    from concurrent.futures import BrokenExecutor, Future  # noqa: PLC0415 - only a pool pays for it

    try:
        return executor.submit(_scan_chunk, scan, chunk)
    except BrokenExecutor as error:
        future: Future[list[bytes]] = Future()
        future.set_exception(error)
        return future


def _one_by_one(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
    """Yield the outcomes of units run alone, so that only the one that kills its worker has to fail."""
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - only a pool pays for it

    alone: deque[Chunk] = deque((unit,) for unit in units)
    flying: Flying = deque()
    while alone:
        try:
            with _workers(1) as executor:
                yield from _flown(executor, scan, alone, flying, 1)
        except BrokenProcessPool:
            (_, chunk) = flying.popleft()
            yield failed(chunk[0], "worker-died", "the process that read it died (killed, or out of memory)")


def _scan_chunk(scan: Scan, chunk: Chunk) -> list[bytes]:
    """Return pickled outcomes, one for each unit from the first; stops after a rest, or when they grow large."""
    payloads: list[bytes] = []
    rows = 0
    for unit in chunk:
        outcome = scanned(scan, unit)
        payloads.append(packed(outcome, unit))
        rows += len(outcome.rows)
        if outcome.rest is not None or rows >= ROWS_A_CHUNK:
            break
    return payloads


@contextmanager
def _workers(jobs: int) -> "Iterator[ProcessPoolExecutor]":
    """Start worker processes, all of them before the first unit; end them at once if the caller does not finish."""
    import multiprocessing as mp  # noqa: PLC0415 - only a pool pays for it
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

    before = set(mp.active_children())
    # forkserver: a fork of this process would copy its threads' locks, and a thread may be drawing progress.
    executor = ProcessPoolExecutor(jobs, mp_context=mp.get_context("forkserver"), initializer=_start_worker)
    try:
        try:
            for ready in [executor.submit(os.getpid) for _ in range(jobs)]:
                ready.result()
        except (BrokenProcessPool, OSError) as error:
            raise EngineMissingError(f"--jobs: worker processes cannot be started here: {error}") from error
        yield executor
    except BaseException:
        for process in set(mp.active_children()) - before:
            process.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    import signal  # noqa: PLC0415 - runs in the worker
    import threading  # noqa: PLC0415
    from multiprocessing import parent_process  # noqa: PLC0415

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
