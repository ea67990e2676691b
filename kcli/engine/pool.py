"""Over worker processes of this machine: a `ProcessPoolExecutor` with a fork server.

The executor's own pipes carry one number a call. Units and outcomes go through scratch files, one for each
call under way: a worker that is killed leaves no half message that others wait for, and long text is copied
twice at most.

Outcomes come in unit order. When a worker dies, the executor ends the others. The calls without an answer are
then repeated, each unit alone; a unit whose worker dies again is the error `worker-died`.
"""

import gc
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from formats.types import Buffer
from kcli.engine.contract import Engine, Job, Map, Outcome, Unit
from kcli.engine.errors import EngineMissingError
from kcli.engine.inline import described, failed, mapped, reduced
from kcli.engine.scratch import ScratchFile, scratch_directory

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

UNITS_A_CALL = 64
"""At most: a call costs as much as the scan of a small partition."""
CALLS_A_WORKER = 2
"""Calls under way, or answered and not used yet.

Enough to keep a worker busy, few enough to keep memory flat.
"""
BYTES_UNDER_WAY = 64 << 20
"""Of all answers together: a call that has its share of them ends, and another goes on."""
FEW_WORKERS, WORKERS_A_CORE, MOST_WORKERS = 16, 4, 100
"""More processes only wait for each other. A process can be given 250 files, and each call has one."""
WORTH_A_PART = 1 << 16
"""Bytes of a buffer that is pickled apart from its row."""
STARTS = 3
"""Executors in a row of which no worker begins: then there can be none."""
THREADS = 3
"""That an executor starts, with one to spare."""
STDOUT = 1
FOR_THE_OWNER = {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}
"""A terminal, `timeout` or a supervisor sends these to every process of a command.

The owner ends the workers.
"""


class NoWorkersError(Exception):
    """There can be no worker here, or its files may not be long enough."""


@dataclass(slots=True, eq=False)
class Call:
    """Units that a worker maps; the answer is in `file` once `future` is done.

    `alone`: a worker may have died of them, so nothing else is under way with them.
    """

    units: Sequence[Unit]
    alone: bool = False
    file: ScratchFile | None = None
    future: "Future[bool] | None" = None


def pool(jobs: int) -> Engine:
    """Return an engine over `jobs` processes, fewer where more are of no use or can be had."""

    def run(job: Job, units: Sequence[Unit]) -> Iterator[Outcome]:
        size, count = shares(units, jobs)
        calls = deque(Call(units[start : start + size]) for start in range(0, len(units), size))
        return reduced(job, units, _outcomes(job.map, calls, count))

    return run


def shares(units: Sequence[Unit], jobs: int) -> tuple[int, int]:
    """Return how many units a call has, and how many workers are worth starting."""
    workers = min(jobs, max(FEW_WORKERS, WORKERS_A_CORE * cores()), MOST_WORKERS)
    size = max(1, min(UNITS_A_CALL, len(units) // (workers * CALLS_A_WORKER * 2)))
    if any(unit.end for unit in units):
        size = 1  # ranges of a log give much
    return size, min(workers, -(-len(units) // size))


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _outcomes(job: Map, calls: deque[Call], count: int) -> Iterator[Outcome]:
    """Yield the outcomes of calls in order."""
    workers = Workers(job, count)
    try:
        yield from _by_workers(workers, calls)
    except NoWorkersError:
        for call in calls:
            yield from map(_died, call.units) if call.alone else mapped(job, call.units)
    finally:
        workers.end()


def _by_workers(workers: "Workers", calls: deque[Call]) -> Iterator[Outcome]:
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - only a pool pays for it

    while calls:
        call = calls[0]
        try:
            workers.start(calls)
            outcomes = workers.answer(call)
        except BrokenProcessPool:
            if call.alone and workers.began:
                yield _died(calls.popleft().units[0])
            workers.replace(calls)
            continue
        calls.popleft()
        last = outcomes[-1]
        done = [unit.number for unit in call.units].index(last.number) + 1
        left = [*([] if last.continuation is None else [last.continuation]), *call.units[done:]]
        if left:
            calls.appendleft(Call(left))
        with suppress(BrokenProcessPool, NoWorkersError):  # raised again by the next start
            workers.start(calls)
        yield from outcomes


def _died(unit: Unit) -> Outcome:
    return failed(unit, "worker-died", "the process that read it died (killed, or out of memory)")


class Workers:
    """An executor for calls, replaced when one of its processes dies."""

    def __init__(self, job: Map, count: int) -> None:
        self._job = job
        self._count = count
        self._window = count * CALLS_A_WORKER
        self._files: list[ScratchFile] = []
        self._free: list[ScratchFile] = []
        self._executor: ProcessPoolExecutor | None = None
        self._first: Future[int] | None = None
        self._starts = STARTS

    @property
    def began(self) -> bool:
        """Whether a worker of this executor has done something."""
        return self._first is not None and self._first.done() and self._first.exception() is None

    def start(self, calls: Iterable[Call]) -> None:
        """Submit the first calls; one that is to be alone only as the first.

        BrokenProcessPool, NoWorkersError.
        """
        with _signals_held():
            executor = self._executor or self._begin()
            for place, call in enumerate(islice(calls, self._window)):
                if call.alone and place:
                    return
                if call.future is None:
                    file = self._free[-1]
                    work = self._job, call.units, BYTES_UNDER_WAY // self._window
                    try:
                        file.write([pickle.dumps(work, pickle.HIGHEST_PROTOCOL)])
                    except OSError as error:
                        raise NoWorkersError from error
                    call.future = executor.submit(_answer, file.number)
                    call.file = self._free.pop()
                if call.alone:
                    return

    def answer(self, call: Call) -> list[Outcome]:
        """Wait for the outcomes of a call. BrokenProcessPool or NoWorkersError."""
        assert call.future is not None
        assert call.file is not None
        if not call.future.result():
            raise NoWorkersError
        counts, *parts = call.file.read()
        self._free.append(call.file)
        left = iter(parts)
        numbers: list[int] = pickle.loads(counts)  # noqa: S301 - our own workers wrote it
        return [pickle.loads(next(left), buffers=islice(left, count)) for count in numbers]  # noqa: S301

    def replace(self, calls: deque[Call]) -> None:
        """End the broken executor; calls without an answer are to be alone, if a worker had begun."""
        began = self.began
        self.end()
        self._starts = STARTS if began else self._starts - 1
        for call in [calls.popleft() for _ in range(len(calls))]:
            if call.future is None or call.future.exception() is None:
                calls.append(call)
            else:
                calls.extend(
                    [Call([unit], alone=True) for unit in call.units] if began else [Call(call.units)]
                )
        held = [call.file for call in calls if call.file is not None]
        self._free = [file for file in self._files if file not in held]

    def _begin(self) -> "ProcessPoolExecutor":
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only a pool pays for it
        from multiprocessing import get_context  # noqa: PLC0415

        if not self._starts:
            raise NoWorkersError
        try:
            _try_threads()
            prepare()
            if not self._files:
                self._files = [ScratchFile(number) for number in range(self._window)]
                self._free = [*self._files]
            setup = self._files, os.getcwd(), self._count >= cores()
            self._executor = ProcessPoolExecutor(self._count, get_context("forkserver"), _set_up, setup)
            self._first = self._executor.submit(os.getpid)
        except (OSError, EOFError, RuntimeError, ImportError, EngineMissingError) as error:
            raise NoWorkersError from error  # no process, thread, semaphore or socket can be had
        return self._executor

    def end(self) -> None:
        """End the workers, whatever they do."""
        executor, self._executor = self._executor, None
        if executor is not None:
            # Python 3.14 has kill_workers()
            for process in [*(executor._processes or {}).values()]:  # noqa: SLF001
                process.kill()
            executor.shutdown(cancel_futures=True)


def prepare(modules: Sequence[str] = ()) -> None:
    """Start the fork server, which imports modules meanwhile, unless it runs.

    OSError when there can be no process, EngineMissingError when there is no place for its socket.
    """
    from multiprocessing import forkserver, resource_tracker  # noqa: PLC0415 - only a pool pays for it

    scratch_directory()
    if modules:
        forkserver.set_forkserver_preload([__name__, *modules])
    before = dict(os.environ)
    # it finds what this process finds, and nothing in the working directory
    os.environ.update(PYTHONSAFEPATH="1", PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    try:
        with _signals_held():
            resource_tracker.ensure_running()
        with _signals_held():  # the tracker's start has let some through
            forkserver.ensure_running()
    finally:
        for name in ("PYTHONSAFEPATH", "PYTHONPATH"):
            os.environ.pop(name)
            os.environ.update({name: before[name]} if name in before else {})


@contextmanager
def _signals_held() -> Iterator[None]:
    """Block signals: a process is known to its owner before one of them ends that, and inherits the mask."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_OWNER)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _try_threads() -> None:
    """Raise RuntimeError if there can be no more threads: an executor without its own would never answer."""
    end = threading.Event()
    threads = [threading.Thread(target=end.wait, daemon=True) for _ in range(THREADS)]
    try:
        for thread in threads:
            thread.start()
    finally:
        end.set()


_files: list[ScratchFile] = []
"""Of a worker: those of its owner, by number."""


def _set_up(files: list[ScratchFile], directory: str, is_crowded: bool) -> None:  # noqa: FBT001 - positional
    """Make a worker of a process that has just been forked."""
    from kcli.logdir.background import BackgroundCall  # noqa: PLC0415 - only a worker needs it

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # with it the executor ends workers
    threading.Thread(target=_end_with_owner, daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
    with suppress(OSError):
        os.chdir(directory)
    BackgroundCall.enabled = not is_crowded
    _files[:] = files
    gc.freeze()  # else a collection would copy the pages that it shares with the others


def _end_with_owner() -> None:
    from multiprocessing import parent_process  # noqa: PLC0415 - only a worker needs it

    owner = parent_process()
    if owner is not None:
        owner.join()
    os._exit(1)


def _answer(number: int) -> bool:
    """Replace units in a scratch file by their outcomes, as many as have a call's share of bytes.

    Return whether the file took them (ulimit -f): nothing long goes through the executor's pipes.
    """
    (work,) = _files[number].read()
    job, units, most = pickle.loads(work)  # noqa: S301 - the owner wrote it
    counts: list[int] = []
    parts: list[Buffer] = []
    size = 0
    by_number = {unit.number: unit for unit in units}
    for outcome in mapped(job, units):
        some = _packed(outcome, by_number[outcome.number])
        counts.append(len(some) - 1)
        parts += some
        size += sum(map(len, some))
        if size >= most:
            break
    try:
        _files[number].write([pickle.dumps(counts), *parts])
    except OSError:
        return False
    return True


def _packed(outcome: Outcome, unit: Unit) -> list[Buffer]:
    """Return an outcome pickled, its large buffers apart; one that cannot be pickled is its unit's error."""
    parts: list[Buffer] = []

    def stays(part: pickle.PickleBuffer) -> bool:
        is_large = part.raw().nbytes >= WORTH_A_PART
        parts.extend([part.raw()] if is_large else [])
        return not is_large

    try:
        pickled = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL, buffer_callback=stays)
    except Exception as error:  # noqa: BLE001 - pickle raises what the values raise
        return [pickle.dumps(failed(unit, "internal", described(error)))]
    return [pickled, *parts]
