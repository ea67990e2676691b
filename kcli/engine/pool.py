"""Over worker processes of this machine: a `ProcessPoolExecutor` with a fork server.

Units and outcomes go through a file for each call, a path and a number through the executor's pipes: a worker
that is killed leaves no half message that others wait for. Large buffers stay in the file, which is mapped.
When a worker dies, the executor ends the others. The units under way are then repeated alone; one whose
worker dies again is the error `worker-died`.
"""

import gc
import mmap
import os
import pickle
import shutil
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import accumulate, pairwise
from multiprocessing import get_context, parent_process, util
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import IO, TypeAlias

from kcli.engine.contract import Engine, EngineMissingError, Job, Map, Outcome, Unit
from kcli.engine.inline import failed, mapped, reduced
from kcli.engine.processes import prepare, start_masked
from kcli.logdir.background import BackgroundCall
from kcli.rows import described

MOST_UNITS = 64  # of a call, which costs as much as the scan of a small partition; one range of a log
CALLS_A_WORKER = 3  # under way, or answered and not used yet: both busy workers and flat memory
MOST_BYTES = 64 << 20  # of all answers under way: a call that has its share of them ends, and another goes on
LARGE = 64 << 10  # bytes of a buffer: a smaller one is copied, it would keep the file open
MOST_WORKERS = 100  # the owner has some files open for each
START_SECONDS = 60  # for the first answer: an executor that cannot start a thread never gives one
DIED = "the process that read it died (killed, or out of memory)"
Call: TypeAlias = tuple[Sequence[Unit], str, Future[int]]
"""Units that a worker maps, the path of a file, and how many outcomes are in it once there is an answer."""


def pool(jobs: int) -> Engine:
    """Return an engine over `jobs` processes, fewer where more are of no use."""

    def run(job: Job, units: Sequence[Unit]) -> Iterator[Outcome]:
        window = min(jobs, MOST_WORKERS) * CALLS_A_WORKER
        size = 1 if any(unit.end for unit in units) else max(1, min(MOST_UNITS, len(units) // window // 2))
        work = deque(units[start : start + size] for start in range(0, len(units), size))
        return reduced(job, units, _outcomes(job.map, work, window))

    return run


def _outcomes(job: Map, work: deque[Sequence[Unit]], window: int) -> Iterator[Outcome]:
    """Yield the outcomes of calls in order, up to `window` under way; where that is 1, each has one unit."""
    while work:
        under_way: list[Call] = []
        try:
            yield from _mapped(job, work, window, under_way)
        except BrokenProcessPool:
            lost_units = [unit for units, *_ in under_way for unit in units]
            repeats = _outcomes(job, deque([unit] for unit in lost_units), 1)
            yield from repeats if window > 1 else (failed(unit, "worker-died", DIED) for unit in lost_units)


def _mapped(job: Map, work: deque[Sequence[Unit]], window: int, under_way: list[Call]) -> Iterator[Outcome]:
    """Yield outcomes until a worker dies: BrokenProcessPool. EngineMissingError where there can be none."""
    mmaps: dict[str, mmap.mmap] = {}

    def submit(units: Sequence[Unit]) -> Call:
        with _file(directory, mmaps) as file:
            pickle.dump((job, units, MOST_BYTES // window), file)
        return units, file.name, start_masked(executor.submit, _answer, file.name)

    try:
        with _started(min(-(-window // CALLS_A_WORKER), len(work))) as (executor, directory):
            while work or under_way:
                while work and len(under_way) < window:
                    under_way.append(submit(work[0]))
                    work.popleft()
                outcomes, remaining_units = _answered(*under_way[0], mmaps)
                under_way[:1] = [submit(remaining_units)] if remaining_units else []
                yield from outcomes
    except BrokenProcessPool:
        raise
    except (OSError, EOFError, RuntimeError) as error:
        has_died = isinstance(error, EOFError | ConnectionError)  # what the end of a pipe to it says
        reason = "a helper process died" if has_died else getattr(error, "strerror", None) or str(error)
        raise EngineMissingError(f"--jobs cannot work here, use --jobs 1 ({reason})") from error


def _file(directory: str, mmaps: dict[str, mmap.mmap]) -> IO[bytes]:
    """Return a file for a call: one whose answers are not in use any more, as it has pages, or a new one."""
    for path in [path for path, answers in mmaps.items() if answers.closed]:
        del mmaps[path]
        return open(path, "r+b")
    return NamedTemporaryFile(dir=directory, delete=False)


def _answered(
    units: Sequence[Unit], path: str, answer: Future[int], mmaps: dict[str, mmap.mmap]
) -> tuple[list[Outcome], list[Unit]]:
    """Return the outcomes of a call, when they are there, and what is left of its units."""
    count = answer.result()
    for answers in mmaps.values():
        with suppress(BufferError):  # rows that a writer holds
            answers.close()
    with open(path, "rb") as file:
        mmaps[path] = answers = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    outcomes: list[Outcome] = []
    for _ in range(count):
        data, sizes = pickle.load(answers)  # noqa: S301 - by our own workers
        ends = [*accumulate(sizes, initial=answers.tell())]
        answers.seek(ends[-1])
        buffers = [(memoryview(answers) if b - a >= LARGE else answers)[a:b] for a, b in pairwise(ends)]
        outcomes.append(pickle.loads(data, buffers=buffers))  # noqa: S301
    last = outcomes[-1]
    done = [unit.number for unit in units].index(last.number) + 1
    return outcomes, [*([last.continuation] if last.continuation else []), *units[done:]]


@contextmanager
def _started(workers: int) -> Iterator[tuple[ProcessPoolExecutor, str]]:
    """Give an executor of which a worker has begun, and a directory; its workers end with this block."""
    prepare()
    executor = ProcessPoolExecutor(workers, get_context("forkserver"), _set_up)
    try:
        first, *_ = [start_masked(executor.submit, os.getpid) for _ in range(workers)]  # all at once
        if not wait([first], START_SECONDS).done:
            raise TimeoutError(f"no worker began within {START_SECONDS} s")
        if first.exception():
            raise ChildProcessError("a worker ended before it began")
        with TemporaryDirectory(dir=util.get_temp_dir()) as directory:
            yield executor, directory
    finally:
        for process in [*(executor._processes or {}).values()]:  # noqa: SLF001 - 3.14 has kill_workers()
            process.kill()
        executor.shutdown(cancel_futures=True)


def _set_up() -> None:
    """Make a worker of a process that has just been forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # with it the executor ends workers
    threading.Thread(target=_end_with_owner, daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    BackgroundCall.enabled = False  # there are processes enough
    gc.freeze()  # else a collection would copy the pages that it shares with the others


def _end_with_owner() -> None:
    if owner := parent_process():
        owner.join()
    shutil.rmtree(util.get_temp_dir(), ignore_errors=True)
    os._exit(1)


def _answer(path: str) -> int:
    """Replace units in a file by their outcomes, as many as have a call's share of bytes; return how many."""
    with open(path, "r+b") as file:
        job, units, most = pickle.load(file)  # noqa: S301 - the owner wrote it
        file.seek(0)
        for count, outcome in enumerate(mapped(job, units), 1):
            buffers: list[pickle.PickleBuffer] = []
            try:
                data = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
            except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
                unit = next(unit for unit in units if unit.number == outcome.number)
                buffers, data = [], pickle.dumps(failed(unit, "internal", described(error)))
            pickle.dump((data, [buffer.raw().nbytes for buffer in buffers]), file)
            file.writelines(buffers)
            if file.tell() >= most:
                return count
    return count
