"""Over Spark: the same scan on Spark's workers, the same outcomes in the same order.

Units are packed into bins on the driver, bins run in waves of a few per core,
and each wave is collected and put in order. Workers give back
`(unit, sequence, payload)` with pickled outcomes, so no schema of any job is
known here, and the one path works on Spark Connect too. Only this module
imports pyspark and pyarrow.
"""

import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import groupby
from operator import attrgetter
from typing import IO, Any, TypeAlias

from kcli.engine.contract import Engine, Outcome, Scan, Sink, Unit
from kcli.engine.errors import EngineMissingError
from kcli.engine.scratch import scratch_directory
from kcli.engine.worker import failed

Session: TypeAlias = Any
Work: TypeAlias = tuple[Scan, Sink | None]

RESULT = "unit bigint, sequence bigint, payload binary"
UNITS_A_BIN = 256
BINS_A_CORE = 4
OUTCOMES_A_CALL = 32
"""A unit that leaves more rests than this goes on in a call of its own: what the driver holds at once stays bounded."""

CORES_OF_A_SERVER = 16
"""A Spark Connect server does not tell how many cores it has."""

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
AT_HOME = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""For a local master: whatever name this machine goes by, and whether that name resolves, does not matter."""

NEEDED = ("pyspark", "pyarrow", "pandas")
INSTALL = "pip install 'kcli[spark]'"
INSTALL_JAVA = "install Java 17 or newer, or set JAVA_HOME"


def spark(
    master: str | None = None, remote: str | None = None, conf: Mapping[str, str] | None = None, *, sink: Sink | None = None
) -> Engine:
    """Return an engine over Spark: `master` (default local[*]) or a Spark Connect `remote`, with extra settings.

    With a sink the workers give it the rows, those of each bin in a part of its own, and outcomes come without rows, one
    for each unit; NotWrittenError when they cannot. An active session is used as it is and left running.
    EngineMissingError when pyspark or Java is not there.
    """

    def run(scan: Scan, units: Sequence[Unit]) -> Iterator[Outcome]:
        if not units:
            return
        with _session(master, remote, conf or {}) as session:
            cores = _cores(session)
            size = max(1, min(UNITS_A_BIN, -(-len(units) // (cores * BINS_A_CORE))))
            wave = size * cores * BINS_A_CORE
            for start in range(0, len(units), wave):
                yield from _wave(session, (scan, sink), units[start : start + wave], size)

    return run


def _wave(session: Session, work: Work, units: Sequence[Unit], size: int) -> Iterator[Outcome]:
    """Yield the outcomes of units that run at once, each followed by what it left for further calls."""
    for _, outcomes in groupby(_called(session, work, units, size), key=attrgetter("number")):
        rest = yield from _last_rest(outcomes)
        while rest is not None:
            rest = yield from _last_rest(_called(session, work, [rest], 1))


def _last_rest(outcomes: Iterable[Outcome]) -> Generator[Outcome, None, Unit | None]:
    """Yield one unit's outcomes; return what the last of them left."""
    rest = None
    for outcome in outcomes:
        yield outcome
        rest = outcome.rest
    return rest


def _called(session: Session, work: Work, units: Sequence[Unit], size: int) -> Iterator[Outcome]:
    """Yield the outcomes of one call over units; one that fails is halved until the unit to blame is alone."""
    bins = [pickle.dumps((*work, list(units[start : start + size]))) for start in range(0, len(units), size)]
    try:
        rows = session.range(0, len(bins), 1, len(bins)).mapInArrow(_runner(bins, _directory(units)), RESULT).collect()
    except Exception as error:
        if len(units) > 1:
            middle = len(units) // 2
            for half in (units[:middle], units[middle:]):
                yield from _called(session, work, half, size)
            return
        if not _alive(session):
            raise EngineMissingError(f"Spark has gone away: {_first_line(error)}") from error
        yield failed(units[0], "worker-died", "the Spark worker that read it died (killed, or out of memory)")
        return
    for row in sorted(rows, key=lambda row: (row.unit, row.sequence)):
        outcome = pickle.loads(row.payload)  # noqa: S301 - our own workers wrote it
        if isinstance(outcome, Exception):
            raise outcome
        yield outcome


def _directory(units: Sequence[Unit]) -> str | None:
    """Return the directory that relative paths start from; None if there are none, so that workers need not have it."""
    return None if all(os.path.isabs(unit.target.path) for unit in units) else os.getcwd()


def _runner(bins: list[bytes], directory: str | None) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that workers run: pickled by value, it finds this kcli before it needs any of it.

    Workers run in `directory`: so relative paths, and what is said of them, are those of the other engines.
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    names = ["unit", "sequence", "payload"]

    def run_bins(batches: Iterator[Any]) -> Iterator[Any]:
        import contextlib  # noqa: PLC0415 - runs in the worker
        import os  # noqa: PLC0415
        import pickle  # noqa: PLC0415
        import sys  # noqa: PLC0415

        import pyarrow  # noqa: PLC0415, ICN001

        if os.path.isdir(os.path.join(root, "kcli")) and root not in sys.path[:1]:
            sys.path.insert(0, root)  # before the working directory, which may have a `formats` of its own
        from kcli.engine.worker import packed_bin  # noqa: PLC0415

        with contextlib.nullcontext() if directory is None else contextlib.chdir(directory):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    scan, sink, units = pickle.loads(bins[number])  # noqa: S301 - the driver wrote it
                    for row in packed_bin(scan, units, sink, OUTCOMES_A_CALL):
                        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([value]) for value in row], names)

    return run_bins


def _cores(session: Session) -> int:
    return CORES_OF_A_SERVER if _is_connect(session) else max(1, int(session.sparkContext.defaultParallelism))


def _is_connect(session: Session) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _alive(session: Session) -> bool:
    try:
        return bool(session.range(1).collect())
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it is no session to work with
        return False


@contextmanager
def _session(master: str | None, remote: str | None, conf: Mapping[str, str]) -> Iterator[Session]:
    """Give the active session, or a new quiet one that ends with the work."""
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        raise EngineMissingError(f"--spark needs {', '.join(lacking)}: {INSTALL}")
    scratch_directory()
    from pyspark.sql import SparkSession  # noqa: PLC0415

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    session = _connected(remote, conf) if remote else _started(master or "local[*]", conf)
    try:
        yield session
    finally:
        _stop(session)


def _stop(session: Session) -> None:
    """Stop a session in a thread of its own: a signal may have broken into this thread's talk with the JVM."""

    def stop() -> None:
        with suppress(Exception):  # it has gone away already
            session.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    thread.join()


def _connected(remote: str, conf: Mapping[str, str]) -> Session:
    try:
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

        builder = SparkSession.Builder().remote(remote)
        for key, value in conf.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.range(1).collect()
    except ImportError as error:
        raise EngineMissingError(f"--spark-remote needs Spark Connect ({_first_line(error)}): pip install 'pyspark[connect]'") from error
    except Exception as error:
        raise EngineMissingError(f"--spark-remote {remote}: no Spark Connect server answers: {_first_line(error)}") from error
    return session


def _started(master: str, conf: Mapping[str, str]) -> Session:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    java = os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    if shutil.which(java) is None:
        raise EngineMissingError(f"--spark needs Java, and there is no {java}: {INSTALL_JAVA}")
    local = master.startswith("local")
    if local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.Builder().master(master).appName("kcli")
    for key, value in {**QUIET, **(AT_HOME if local else {}), **conf}.items():
        builder = builder.config(key, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    with _silence() as noise:
        try:
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
        except Exception as error:
            noise.seek(0)
            last = noise.read().decode(errors="replace").strip().splitlines()[-1:]
            raise EngineMissingError(f"--spark: Spark does not start ({(last or [_first_line(error)])[0]}): {INSTALL_JAVA}") from error
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would break into a document that is being written
    return session


@contextmanager
def _silence() -> Iterator[IO[bytes]]:
    """Start the JVM with its stdout and stderr in a file: what it writes is neither data nor for people.

    It also keeps a reader of kcli's stdout from waiting for the JVM, which outlives kcli by a moment.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    try:
        with tempfile.TemporaryFile() as noise:
            os.dup2(noise.fileno(), 1)
            os.dup2(noise.fileno(), 2)
            try:
                yield noise
            finally:
                os.dup2(saved[0], 1)
                os.dup2(saved[1], 2)
    finally:
        for descriptor in saved:
            os.close(descriptor)


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
