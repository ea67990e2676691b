"""Over worker processes of this machine: `concurrent.futures.ProcessPoolExecutor`, forked by a server that has imported the jobs.

The executor's own pipes carry a number a call. Units and outcomes go through scratch files, one for each call under
way: so a worker that is killed leaves no half message that others wait for, and long text is copied twice at most.

Outcomes come in unit order. A worker that dies ends all others of its executor. What they had is then tried again, each unit
alone; a unit that ends its worker once more is the error `worker-died`.
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
from kcli.engine.contract import Engine, Outcome, Scan, Unit
from kcli.engine.errors import EngineMissingError
from kcli.engine.inline import described, failed, inline
from kcli.engine.scratch import ScratchFile, scratch_directory

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

UNITS_A_CALL = 64
"""At most: a call costs as much as the scan of a small partition."""
CALLS_A_WORKER = 2
"""Calls that are under way or whose answers wait for their turn: enough to keep it busy, few enough to keep memory flat."""
BYTES_UNDER_WAY = 64 << 20
"""Of all answers together: a call that has its share of them ends, and another goes on."""
FEW_WORKERS, WORKERS_A_CORE, MOST_WORKERS = 16, 4, 100
"""More processes only wait for each other; each call has a file, of which a process is given 250 at most."""
WORTH_A_PART = 1 << 16
"""Bytes of a buffer that is pickled apart from its row."""
STARTS = 3
"""Executors in a row none of whose workers begins: then there can be none."""
THREADS = 3
"""That an executor starts, with one to spare."""
STDOUT = 1
FOR_THE_OWNER = {signal.SIGINT, signal.SIGHUP, signal.SIGTERM}
"""Signals that a terminal, `timeout` or a supervisor sends to every process of a command: it ends its workers itself."""


@dataclass(slots=True, eq=False)
class Call:
    """Units of which a worker is asked; the answer is in `file` when `future` is done. `alone`: a worker died of one like it."""

    units: Sequence[Unit]
    alone: bool = False
    file: ScratchFile | None = None
    future: "Future[bool] | None" = None


def pool(jobs: int) -> Engine:
    """Return an engine over `jobs` processes, fewer where more are of no use; where there can be none, over this one."""

    def run(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
        if not units:
            return
        size, count = shares(units, jobs)
        waiting = (Call(units[start : start + size]) for start in range(0, len(units), size))
        workers = Workers(scan, count)
        try:
            yield from _spread(workers, waiting)
        finally:
            workers.end()

    return run


def shares(units: Sequence[Unit], jobs: int) -> tuple[int, int]:
    """Return how many units a call has, and how many workers are worth starting."""
    workers = min(jobs, max(FEW_WORKERS, WORKERS_A_CORE * cores()), MOST_WORKERS)
    size = max(1, min(UNITS_A_CALL, len(units) // (workers * CALLS_A_WORKER * 2)))
    if any(unit.end for unit in units):
        size = 1  # pieces of a log give much
    return size, min(workers, -(-len(units) // size))


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _spread(workers: "Workers", waiting: Iterator[Call]) -> Iterator[Outcome]:
    """Yield the outcomes of calls in order."""
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - only a pool pays for it

    line: deque[Call] = deque()
    while True:
        line.extend(islice(waiting, max(0, workers.window - len(line))))
        if not line:
            return
        call = line[0]
        workers.start(line)
        try:
            outcomes = workers.here(call) if call.future is None else workers.answer(call)
        except BrokenProcessPool:
            if call.alone and workers.began:
                yield _died(line.popleft().units[0])
            workers.replace(line)
            continue
        line.popleft()
        rest = _rest(call.units, outcomes[-1])
        if rest:
            line.appendleft(Call(rest))
            workers.start(line)
        yield from outcomes


def _rest(units: Sequence[Unit], last: Outcome) -> list[Unit]:
    """Return what of the units of a call is still to do behind an outcome."""
    done = [unit.number for unit in units].index(last.number) + 1
    return [*([] if last.rest is None else [last.rest]), *units[done:]]


def _died(unit: Unit) -> Outcome:
    return failed(unit, "worker-died", "the process that read it died (killed, or out of memory)")


class Workers:
    """The processes that calls go to: an executor, replaced when one of its workers dies. None can be had: `here` does it."""

    def __init__(self, scan: Scan, count: int) -> None:
        self.window = count * CALLS_A_WORKER
        self._scan = scan
        self._count = count
        self._files: list[ScratchFile] = []
        self._free: list[ScratchFile] = []
        self._executor: ProcessPoolExecutor | None = None
        self._first: Future[int] | None = None
        self._starts = STARTS
        self._begin()

    @property
    def began(self) -> bool:
        """Whether a worker of this executor has done something."""
        return self._first is not None and self._first.done() and self._first.exception() is None

    def start(self, line: Iterable[Call]) -> None:
        """Have workers do the calls that none does; one that is to be alone when it is the first."""
        with _signals_held():
            self._start(line)

    def _start(self, line: Iterable[Call]) -> None:
        from concurrent.futures import Future  # noqa: PLC0415 - only a pool pays for it
        from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

        for place, call in enumerate(line):
            if self._executor is None or (call.alone and place):
                return
            if call.future is None:
                call.file = self._free[-1]
                work = self._scan, call.units, BYTES_UNDER_WAY // self.window
                call.file.write([pickle.dumps(work, pickle.HIGHEST_PROTOCOL)])
                self._free.pop()
                try:
                    call.future = self._executor.submit(_answer, call.file.number)
                except BrokenProcessPool as error:
                    call.future = Future()
                    call.future.set_exception(error)
            if call.alone:
                return

    def answer(self, call: Call) -> list[Outcome]:
        """Wait for the outcomes of a call; BrokenProcessPool."""
        assert call.future is not None
        assert call.file is not None
        is_there = call.future.result()
        self._free.append(call.file)
        if not is_there:
            return [next(inline(self._scan, call.units))]
        counts, *parts = call.file.read()
        rest = iter(parts)
        return [pickle.loads(next(rest), buffers=islice(rest, count)) for count in pickle.loads(counts)]  # noqa: S301 - our own workers wrote it

    def here(self, call: Call) -> list[Outcome]:
        """Return the next outcome of a call that no worker can do; one that may have ended a worker is not tried."""
        unit = call.units[0]
        return [_died(unit) if call.alone else next(inline(self._scan, [unit]))]

    def replace(self, line: deque[Call]) -> None:
        """End the executor, which is broken, and make another; calls of which no answer has come are alone from now on."""
        began = self.began
        self.end()
        calls = [*line]
        line.clear()
        for call in calls:
            if call.future is None or call.future.exception() is None:
                line.append(call)
                continue
            assert call.file is not None
            self._free.append(call.file)
            line.extend([Call([unit], alone=True) for unit in call.units] if began else [Call(call.units)])
        self._starts = STARTS if began else self._starts - 1
        if self._starts:
            self._begin()

    def _begin(self) -> None:
        """Make an executor, unless there can be none."""
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only a pool pays for it
        from multiprocessing import get_context  # noqa: PLC0415

        try:
            _try_threads()
            prepare()
            if not self._files:
                self._files = [ScratchFile(number) for number in range(self.window)]
                self._free = [*self._files]
            setup = self._files, os.getcwd(), self._count >= cores()
            self._executor = ProcessPoolExecutor(self._count, get_context("forkserver"), _set_up, setup)
            with _signals_held():
                self._first = self._executor.submit(os.getpid)
        except (
            OSError,
            EOFError,
            RuntimeError,
            ImportError,
            EngineMissingError,
        ):  # no process, thread, semaphore or socket
            self.end()

    def end(self) -> None:
        """End the workers, whatever they do."""
        executor, self._executor = self._executor, None
        if executor is not None:
            for process in [*(executor._processes or {}).values()]:  # noqa: SLF001 - Python 3.14 has kill_workers()
                process.kill()
            executor.shutdown(cancel_futures=True)


def prepare(modules: Sequence[str] = ()) -> None:
    """Start the process that workers are forked from, which imports modules meanwhile; nothing if it runs.

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
    """Let signals wait: a process that is started is known to its owner before anything ends that, and blocks them itself."""
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


def _set_up(files: list[ScratchFile], directory: str, is_crowded: bool) -> None:  # noqa: FBT001 - as it travels
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
    """Replace units in a scratch file by their outcomes, or by the first of them that have a call's share of bytes.

    Return whether the file took them (ulimit -f): nothing long goes through the executor's pipes.
    """
    (work,) = _files[number].read()
    scan, units, most = pickle.loads(work)  # noqa: S301 - the owner wrote it
    counts: list[int] = []
    parts: list[Buffer] = []
    size = 0
    by_number = {unit.number: unit for unit in units}
    for outcome in inline(scan, units):
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
    """Return an outcome pickled, its large buffers apart; one that cannot be pickled is a bug and becomes its unit's error."""
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
