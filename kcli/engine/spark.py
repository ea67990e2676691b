"""Over Spark: the same scan on Spark's workers, the same outcomes in the same order.

Units are packed into bins of about equal bytes. Each bin, or a few on a large cluster, is a Spark job of its
own, and some are under way at once: so a dead worker costs its bin alone, and what has come back and waits
for its turn is bounded. Workers give back `(bin, sequence, payload)` with pickled outcomes, so no schema of
any job is known here, and the one path works on Spark Connect too. A bin whose outcomes grow large comes back
early; what is left of it goes on in bins that are as small as that one came out. Only the Spark engine and
the Spark source import pyspark.
"""

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, TypeAlias

from kcli.engine.contract import Engine, EngineMissingError, Job, Map, Outcome, Sink, Unit
from kcli.engine.inline import failed, reduced
from kcli.engine.spark_bins import consecutive_bins
from kcli.engine.spark_session import Jobs, Session, cores_of, first_line, is_alive, is_local, opened
from kcli.engine.spark_worker import look_for, unpacked
from kcli.logdir.buffers import UNPACKED, shown

Work: TypeAlias = tuple[Map, Sink | None]
Shape: TypeAlias = tuple[int, int, int]
"""Bins under way at once, bins a job, bytes of outcomes after which a bin returns."""
Batches: TypeAlias = Iterator[Any]

PAYLOAD_NAMES = ("bin", "sequence", "payload")
UNITS_A_BIN = 256
BYTES_A_BIN = 1 << 30  # a bin is a job of Spark, which costs as much as to read some 100 MiB
BINS_AT_ONCE_A_CORE = 2  # bins a core that are under way, or have come back and are not used yet
JOBS_AT_ONCE = 16
HELD_BYTES = 12 << 20  # of outcomes that have come back and are not used yet, all together
LEAST_BYTES = 256 << 10  # of outcomes of a bin that has to come back, on however large a cluster
ATTEMPTS_ALONE = 2
ASKED_AT_MOST = 64


@dataclass(slots=True, eq=False)
class Bin:
    """A bin on its way, the job that it is in, and its place there; `alone`: it failed without company."""

    units: Sequence[Unit]
    alone: bool = False
    failures: int = 0
    job: Future[dict[int, list[bytes]]] | None = None
    number: int = 0


def spark(
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str] | None = None,
    *,
    sink: Sink | None = None,
) -> Engine:
    """Return an engine over Spark: `master` (default local[*]) or a Spark Connect `remote`, with settings.

    With a sink the workers give it the rows, and outcomes come without, one for each unit: those of a bin are
    in a part of its own, those of each range of a log are, too. NotWrittenError when they cannot write.
    An active session is used as it is and left running. EngineMissingError when pyspark or Java is not there,
    and when workers do not see the files.
    """

    def run(job: Job, units: Sequence[Unit]) -> Iterator[Outcome]:
        return reduced(job, units, mapped(job.map, units))

    def mapped(job: Map, units: Sequence[Unit]) -> Iterator[Outcome]:
        if not units:
            return
        with opened(master, remote, conf or {}) as session, Jobs(session, JOBS_AT_ONCE) as jobs:
            if not is_local(session):
                see_paths(session, jobs, units)
            yield from _spread(session, jobs, (job, sink), units)

    return run


def _spread(session: Session, jobs: Jobs, work: Work, units: Sequence[Unit]) -> Iterator[Outcome]:
    """Yield the outcomes of units in their order, whatever order their bins come back in."""
    cores = cores_of(session)
    shape = _shape(cores)
    directory = _directory(units)
    waiting = _bins(units, cores)
    line: deque[Bin] = deque()
    while True:
        line.extend(Bin(units) for units in islice(waiting, max(0, shape[0] - len(line))))
        if not line:
            return
        _start(jobs, work, line, shape, directory)
        work_bin = line.popleft()
        assert work_bin.job is not None
        try:
            payloads = work_bin.job.result().get(work_bin.number, [])
        except Exception as error:  # noqa: BLE001 - whatever Spark says, the same is done about it
            _explain(session, error)
            if work_bin.failures + 1 >= ATTEMPTS_ALONE:
                yield failed(
                    work_bin.units[0],
                    "worker-died",
                    "the Spark worker that read it died (killed, or out of memory)",
                )
            else:
                line.extendleft(reversed(_again(work_bin)))
            continue
        last = None
        for payload in payloads:
            last = unpacked(payload)
            if isinstance(last, Exception):
                raise last
            yield last
        assert last is not None
        done = [unit.number for unit in work_bin.units].index(last.number) + 1
        remaining_units = work_bin.units[done:]  # in bins of as many units as came back
        new_bins = [remaining_units[start : start + done] for start in range(0, len(remaining_units), done)]
        new_bins[:0] = [] if last.continuation is None else [[last.continuation]]
        line.extendleft(map(Bin, reversed(new_bins)))


def _shape(cores: int) -> Shape:
    window = cores * BINS_AT_ONCE_A_CORE
    return window, -(-window // JOBS_AT_ONCE), max(LEAST_BYTES, HELD_BYTES // window)


def _bins(units: Sequence[Unit], cores: int) -> Iterator[Sequence[Unit]]:
    """Yield units in consecutive bins of about equal costs, a few for each core."""
    for bin_units in consecutive_bins([[unit] for unit in units], cores, BYTES_A_BIN):
        for start in range(0, len(bin_units), UNITS_A_BIN):
            yield bin_units[start : start + UNITS_A_BIN]


def _start(jobs: Jobs, work: Work, line: deque[Bin], shape: Shape, directory: str | None) -> None:
    """Start the first bins that are not under way, once they fill a job, or the first of all is one."""
    window, bins_a_job, most_bytes = shape
    ready = [work_bin for work_bin in islice(line, window) if work_bin.job is None]
    if line[0].job is not None and len(ready) < bins_a_job:
        return
    joint_bins = [work_bin for work_bin in ready if not work_bin.alone]
    groups = [[work_bin] for work_bin in ready if work_bin.alone]
    groups += [joint_bins[start : start + bins_a_job] for start in range(0, len(joint_bins), bins_a_job)]
    for group in groups:
        bins = [pickle.dumps((*work, list(work_bin.units)), pickle.HIGHEST_PROTOCOL) for work_bin in group]
        job = jobs.start(_runner(bins, directory, most_bytes), len(bins))
        for number, work_bin in enumerate(group):
            work_bin.job, work_bin.number, work_bin.alone = job, number, len(group) == 1


def _again(work_bin: Bin) -> list[Bin]:
    """Return a bin that failed alone, then its halves, until the unit to blame is found."""
    if not work_bin.alone:
        return [Bin(work_bin.units, alone=True)]
    if len(work_bin.units) == 1:
        return [Bin(work_bin.units, alone=True, failures=work_bin.failures + 1)]
    middle = len(work_bin.units) // 2
    return [Bin(half, alone=True) for half in (work_bin.units[:middle], work_bin.units[middle:])]


def _explain(session: Session, error: Exception) -> None:
    """Raise EngineMissingError where a failed job means that none can succeed."""
    if not is_alive(session):
        raise EngineMissingError(f"Spark has gone away: {first_line(error)}") from error
    if type(error).__name__ == "PythonException":
        raise EngineMissingError(f"the Spark workers cannot run kcli: {_raised(str(error))}") from error


def _raised(message: str) -> str:
    """Return what a traceback in an error of Spark says was raised."""
    _, _, trace = message.partition("Traceback (most recent call last):")
    lines = (line for line in trace.splitlines() if line.strip() and not line[0].isspace())
    return next(lines, "") or message.strip().partition("\n")[0]


def _directory(units: Sequence[Unit]) -> str | None:
    """Return the directory that relative paths start from; None if there are none."""
    return (
        None if all(os.path.isabs(target.path) for unit in units for target in unit.targets) else os.getcwd()
    )


def _runner(bins: list[bytes], directory: str | None, most_bytes: int) -> Callable[[Batches], Batches]:
    """Return the function that workers run: pickled by value, it finds this kcli before it needs any of it.

    Workers run in `directory`: so relative paths, and messages about them, are those of the other engines.
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    names = list(PAYLOAD_NAMES)

    def run_bins(batches: Batches) -> Batches:
        import contextlib
        import os
        import pickle
        import sys

        import pyarrow  # noqa: ICN001

        if os.path.isdir(os.path.join(root, "kcli")) and root not in sys.path[:1]:
            sys.path.insert(0, root)  # before the working directory, which may have a `formats` of its own
        from kcli.engine.spark_worker import packed_bin
        from kcli.logdir.background import BackgroundCall
        from kcli.rows.arrow_arrays import column

        BackgroundCall.enabled = False  # Spark has a worker for each core
        kinds = (pyarrow.int64(), pyarrow.int64(), pyarrow.binary())

        with contextlib.nullcontext() if directory is None else contextlib.chdir(directory):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    job, sink, units = pickle.loads(bins[number])  # noqa: S301 - the driver wrote it
                    for sequence, blobs in enumerate(packed_bin(job, units, sink, most_bytes)):
                        values: tuple[list[Any], ...] = [number] * len(blobs), [sequence] * len(blobs), blobs
                        arrays = [column(value, kind) for value, kind in zip(values, kinds, strict=True)]
                        yield pyarrow.RecordBatch.from_arrays(arrays, names)

    return run_bins


def see_paths(session: Session, jobs: Jobs, units: Sequence[Unit]) -> None:
    """Have workers look for the directories that units are in.

    EngineMissingError names a host and what it does not see. Without it, each file of a path that is not
    mounted there would be an error of its own.
    """
    directory = _directory(units)
    folders = {target.log_dir or os.path.dirname(target.path) for unit in units for target in unit.targets}
    paths = [
        *([] if directory is None else [directory]),
        *sorted(path for path in map(os.path.abspath, folders) if os.path.exists(path)),
    ]
    count = min(ASKED_AT_MOST, cores_of(session) * BINS_AT_ONCE_A_CORE)
    work = pickle.dumps((partial(look_for, paths), None, units[:1]), pickle.HIGHEST_PROTOCOL)
    try:
        answers = jobs.start(_runner([work] * count, None, LEAST_BYTES), count).result()
    except Exception as error:
        _explain(session, error)
        raise EngineMissingError(f"the Spark workers do not answer: {first_line(error)}") from error
    unseen: dict[str, list[str]] = dict(unpacked(payload).partial for payload in chain(*answers.values()))
    hosts_without = sorted(host for host, missing in unseen.items() if missing)
    if hosts_without:
        host, path = hosts_without[0], unseen[hosts_without[0]][0]
        hosts = "" if len(unseen) == 1 else f" ({len(hosts_without)} of {len(unseen)} hosts lack some)"
        tail = f" and {len(unseen[host]) - 1} more of {len(paths)}" if len(unseen[host]) > 1 else ""
        is_archive = UNPACKED in path
        advice = "archives are unpacked here alone" if is_archive else "mount it there, as it is here"
        raise EngineMissingError(
            f"the Spark worker on {host} does not see {shown(path)}{tail}{hosts}: {advice}, or leave out "
            "--spark"
        )
