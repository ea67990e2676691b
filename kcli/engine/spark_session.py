"""A Spark session to work with: the active one, one of our own that ends with the work, or one of a Spark Connect server."""

import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from operator import itemgetter
from typing import IO, Any, Self, TypeAlias

from kcli.engine.errors import EngineMissingError
from kcli.engine.scratch import scratch_directory

Session: TypeAlias = Any

RESULT = "bin bigint, sequence bigint, payload binary"
CANCEL_SECONDS = 0.2

CORES_OF_A_SERVER = 16
"""A Spark Connect server does not tell how many cores it has."""

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
AT_HOME = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""For a local master: whatever name this machine goes by, and whether that name resolves, does not matter."""

NEEDED = ("pyspark", "pyarrow", "pandas")
INSTALL = "pip install 'kcli[spark]'"
INSTALL_JAVA = "install Java 17 or newer, or set JAVA_HOME"


def cores_of(session: Session) -> int:
    """Return how many tasks run at once, as far as can be known."""
    return CORES_OF_A_SERVER if is_connect(session) else max(1, int(session.sparkContext.defaultParallelism))


def is_connect(session: Session) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_at_home(session: Session) -> bool:
    """Whether the workers of a session are processes of this machine."""
    return not is_connect(session) and str(session.sparkContext.master).startswith("local")


def is_alive(session: Session) -> bool:
    """Whether a session still takes jobs."""
    try:
        if is_connect(session):
            return bool(session.range(1).collect())
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - a job would wait behind all others
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it is no session to work with
        return False


class Jobs:
    """Spark jobs of one question, a few at once, each in a thread of its own: nothing breaks into its talk with Spark.

    A context manager: on leaving it, jobs that still run are cancelled, and the threads are gone.
    """

    def __init__(self, session: Session, at_once: int) -> None:
        self._session = session
        self._name = f"kcli-{uuid.uuid4().hex}"
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="kcli-spark")
        self._begun: list[Future[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._begun:
            job.cancel()
        while wait(self._begun, timeout=0).not_done:
            with suppress(Exception):  # the session has gone away, and the job with it
                self._cancel()
            wait(self._begun, timeout=CANCEL_SECONDS)  # a job may have begun just now
        self._threads.shutdown()

    def start(self, function: Callable[[Iterator[Any]], Iterator[Any]], tasks: int) -> Future[dict[int, list[bytes]]]:
        """Start a job of so many tasks: the function is given their numbers, and gives RESULT in Arrow's batches.

        The result is the payloads of each number, in the order of their sequence.
        """
        self._begun = [job for job in self._begun if not job.done()]
        job = self._threads.submit(self._run, function, tasks)
        self._begun.append(job)
        return job

    def _run(self, function: Callable[[Iterator[Any]], Iterator[Any]], tasks: int) -> dict[int, list[bytes]]:
        if is_connect(self._session):
            self._session.addTag(self._name)
        else:
            self._session.sparkContext.setJobGroup(self._name, "kcli", interruptOnCancel=True)
        found: dict[int, list[bytes]] = {}
        rows = self._session.range(0, tasks, 1, tasks).mapInArrow(function, RESULT).collect()
        rows.sort(key=itemgetter(0, 1))  # stable: those of one batch are in order
        for number, _, payload in rows:
            found.setdefault(number, []).append(payload)
        return found

    def _cancel(self) -> None:
        if is_connect(self._session):
            self._session.interruptTag(self._name)
        else:
            self._session.sparkContext.cancelJobGroup(self._name)


@contextmanager
def opened(master: str | None, remote: str | None, conf: Mapping[str, str]) -> Iterator[Session]:
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
        raise EngineMissingError(f"--spark-remote needs Spark Connect ({first_line(error)}): pip install 'pyspark[connect]'") from error
    except Exception as error:
        raise EngineMissingError(f"--spark-remote {remote}: no Spark Connect server answers: {first_line(error)}") from error
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
            _quieten(session.sparkContext)
        except Exception as error:
            noise.seek(0)
            last = noise.read().decode(errors="replace").strip().splitlines()[-1:]
            raise EngineMissingError(f"--spark: Spark does not start ({(last or [first_line(error)])[0]}): {INSTALL_JAVA}") from error
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would break into a document that is being written
    return session


def _quieten(context: Any) -> None:
    """Have those who talk with the JVM say nothing when it ends: a signal to a whole group ends it first, and kcli tells."""
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


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


def first_line(error: BaseException) -> str:
    """Return the first line that says something, or the name of the error."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
