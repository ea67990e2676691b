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
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import accumulate, pairwise
from multiprocessing import get_context, parent_process, util
from tempfile import TemporaryDirectory, mkstemp
from typing import BinaryIO, TypeAlias

from kcli.engine.contract import Engine, Job, Map, Outcome, Unit
from kcli.engine.errors import EngineMissingError
from kcli.engine.fork_server import held, prepare
from kcli.engine.inline import described, failed, mapped, reduced
from kcli.logdir.background import BackgroundCall

MOST_UNITS = 64  # of a call, which costs as much as the scan of a small partition
CALLS_A_WORKER = 3  # under way, or answered and not used yet: both busy workers and flat memory
LARGE_BUFFER = 64 << 10  # bytes: a smaller one is copied, it would keep the whole file
MOST_BYTES = 64 << 20  # of all answers under way: a call that has its share of them ends, and another goes on
KEPT_ANSWERS = 2  # files of the last calls, whose outcomes are being used
MOST_WORKERS = 100  # the owner has some files open for each
START_SECONDS = 60  # for the first answer: an executor that cannot start a thread never gives one
DIED = "the process that read it died (killed, or out of memory)"

Call: TypeAlias = tuple[Sequence[Unit], str, Future[int]]
"""Units that a worker maps, the path of a file, and how many outcomes are in it once there is an answer."""

Answered: TypeAlias = tuple[str, mmap.mmap]
"""The path of a file with outcomes, and the file, mapped."""


def pool(jobs: int) -> Engine:
    """Return an engine over `jobs` processes, fewer where more are of no use."""

    def run(job: Job, units: Sequence[Unit]) -> Iterator[Outcome]:
        window = min(jobs, MOST_WORKERS) * CALLS_A_WORKER
        are_ranges = any(unit.end for unit in units)  # of a log, which give much
        size = 1 if are_ranges else max(1, min(MOST_UNITS, len(units) // window // 2))
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
            lost = [unit for units, *_ in under_way for unit in units]
            if window > 1:
                yield from _outcomes(job, deque([unit] for unit in lost), 1)
            else:
                yield from (failed(unit, "worker-died", DIED) for unit in lost)


def _mapped(job: Map, work: deque[Sequence[Unit]], window: int, under_way: list[Call]) -> Iterator[Outcome]:
    """Yield outcomes until a worker dies: BrokenProcessPool. EngineMissingError where there can be none."""
    answered: deque[Answered] = deque()

    def submit(units: Sequence[Unit]) -> Call:
        path = _file(directory, answered)
        with open(path, "r+b") as file:
            pickle.dump((job, units, MOST_BYTES // window), file)
        return units, path, held(executor.submit, _answer, path)

    try:
        with _started(min(-(-window // CALLS_A_WORKER), len(work))) as (executor, directory):
            while work or under_way:
                while work and len(under_way) < window:
                    under_way.append(submit(work[0]))
                    work.popleft()
                outcomes, rest = _answered(*under_way[0], answered)
                under_way[:1] = [submit(rest)] if rest else []
                yield from outcomes
    except BrokenProcessPool:
        raise
    except (OSError, EOFError, RuntimeError) as error:
        raise EngineMissingError(f"--jobs cannot work here, use --jobs 1 ({_reason(error)})") from error


def _reason(error: OSError | EOFError | RuntimeError) -> str:
    """Return why there can be no worker; the end of the pipe to a helper process is its death."""
    if isinstance(error, TimeoutError):
        return f"no worker began within {START_SECONDS} s"
    died = isinstance(error, EOFError | ConnectionError)
    return "a helper process died" if died else getattr(error, "strerror", None) or str(error)


def _file(directory: str, answered: deque[Answered]) -> str:
    """Return the path of a file for a call: of an earlier one, whose pages are in memory, or a new one."""
    while len(answered) > KEPT_ANSWERS:
        path, answers = answered.popleft()
        try:
            answers.close()
        except BufferError:  # its outcomes are still in use
            os.unlink(path)
        else:
            return path
    number, path = mkstemp(dir=directory)
    os.close(number)
    return path


def _answered(
    units: Sequence[Unit], path: str, answer: Future[int], answered: deque[Answered]
) -> tuple[list[Outcome], list[Unit]]:
    """Return the outcomes of a call, when they are there, and what is left of its units."""
    count = answer.result()
    with open(path, "rb") as file:
        answers = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    answered.append((path, answers))
    outcomes = [_read(answers) for _ in range(count)]
    last = outcomes[-1]
    done = [unit.number for unit in units].index(last.number) + 1
    return outcomes, [*([last.continuation] if last.continuation else []), *units[done:]]


@contextmanager
def _started(workers: int) -> Iterator[tuple[ProcessPoolExecutor, str]]:
    """Give an executor of which a worker has begun, and a directory; its workers end with this block."""
    prepare()
    executor = ProcessPoolExecutor(workers, get_context("forkserver"), _set_up)
    try:
        first, *_ = [held(executor.submit, os.getpid) for _ in range(workers)]  # all of them start now
        if isinstance(first.exception(START_SECONDS), BrokenProcessPool):
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
            try:
                _write(outcome, file)
            except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
                unit = next(unit for unit in units if unit.number == outcome.number)
                _write(failed(unit, "internal", described(error)), file)
            if file.tell() >= most:
                return count
    return count


def _write(outcome: Outcome, file: BinaryIO) -> None:
    """Write the sizes of an outcome and its large buffers, then these. Errors of pickle."""
    buffers: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes >= LARGE_BUFFER:
            buffers.append(view)
        return view.nbytes < LARGE_BUFFER

    data = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL, buffer_callback=is_small)
    pickle.dump([len(data), *map(len, buffers)], file)
    file.writelines([data, *buffers])


def _read(answers: mmap.mmap) -> Outcome:
    """Return the next outcome of a mapped file, which stays as long as one of its large buffers."""
    sizes: list[int] = pickle.load(answers)  # noqa: S301 - by our own workers
    ends = accumulate(sizes, initial=answers.tell())
    data, *buffers = [memoryview(answers)[start:end] for start, end in pairwise(ends)]
    answers.seek(data.nbytes + sum(map(len, buffers)), os.SEEK_CUR)
    outcome: Outcome = pickle.loads(data, buffers=buffers)  # noqa: S301 - by our own workers
    return outcome
