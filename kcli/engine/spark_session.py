"""A Spark session: the active one, our own that ends with the work, or one of a Spark Connect server."""

import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from operator import itemgetter
from typing import Any, Self, TypeAlias

from kcli.engine.contract import EngineMissingError
from kcli.logdir.write_guard import scratch_directory

Session: TypeAlias = Any

RESULT_SCHEMA = "bin bigint, sequence bigint, payload binary"
CANCEL_SECONDS = 0.2
SECONDS_TO_END = 5  # how long a JVM may take to notice that its stdin is closed

SECONDS_TO_CONNECT = 60  # for a Spark Connect server, which Spark itself would try to reach for ten minutes

CORES_OF_A_SERVER = 16  # a Spark Connect server does not tell how many cores it has

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
FRUGAL = {"spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own pools keep what they had at the peak."""
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""For a local master: whatever name this machine goes by, and whether that name resolves, does not matter."""

NEEDED = ("pyspark", "pyarrow", "pandas")
INSTALL = "pip install 'kcli-for-kafka[spark]'"
INSTALL_JAVA = "install Java 17 or newer, or set JAVA_HOME"
JAVA_EXCEPTION = re.compile(
    r"(Exception in thread \"[^\"]*\" |Caused by: |: )?(?:[\w$]+\.)+(\w*(?:Exception|Error)(?:: .*)?)"
)
JAVA_TO_BLAME = ("UnsupportedClassVersionError", "NoClassDefFoundError", "ClassNotFoundException")


def cores_of(session: Session) -> int:
    """Return how many tasks run at once, as far as can be known."""
    return CORES_OF_A_SERVER if is_connect(session) else max(1, int(session.sparkContext.defaultParallelism))


def is_connect(session: Session) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_local(session: Session) -> bool:
    """Whether the workers of a session are processes of this machine."""
    return not is_connect(session) and str(session.sparkContext.master).startswith("local")


def is_alive(session: Session) -> bool:
    """Whether a session still takes jobs."""
    try:
        if is_connect(session):
            return bool(session.range(1).collect())
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - no public way
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it is no session to work with
        return False


class Jobs:
    """Spark jobs of one question, a few at once, each in a thread of its own.

    Nothing breaks into its talk with Spark. A context manager: on leaving it, jobs that still run are
    cancelled, and the threads are gone.
    """

    def __init__(self, session: Session, at_once: int) -> None:
        self._session = session
        self._name = f"kcli-{uuid.uuid4().hex}"
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="kcli-spark")
        self._jobs: list[Future[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            job.cancel()
        while wait(self._jobs, timeout=0).not_done:
            with suppress(Exception):  # the session has gone away, and the job with it
                if is_connect(self._session):
                    self._session.interruptTag(self._name)
                else:
                    self._session.sparkContext.cancelJobGroup(self._name)
            wait(self._jobs, timeout=CANCEL_SECONDS)  # a job may have begun just now
        self._threads.shutdown()

    def start(
        self, function: Callable[[Iterator[Any]], Iterator[Any]], tasks: int
    ) -> Future[dict[int, list[bytes]]]:
        """Start a job of so many tasks, by number; the result is the payloads of each, by their sequence."""
        self._jobs = [job for job in self._jobs if not job.done()]
        job = self._threads.submit(self._run, function, tasks)
        self._jobs.append(job)
        return job

    def _run(self, function: Callable[[Iterator[Any]], Iterator[Any]], tasks: int) -> dict[int, list[bytes]]:
        if is_connect(self._session):
            self._session.addTag(self._name)
        else:
            self._session.sparkContext.setJobGroup(self._name, "kcli", interruptOnCancel=True)
        payloads: dict[int, list[bytes]] = {}
        rows = self._session.range(0, tasks, 1, tasks).mapInArrow(function, RESULT_SCHEMA).collect()
        rows.sort(key=itemgetter(0, 1))  # stable: those of one batch are in order
        for number, _, payload in rows:
            payloads.setdefault(number, []).append(payload)
        return payloads


@contextmanager
def opened(master: str | None, remote: str | None, conf: Mapping[str, str]) -> Iterator[Session]:
    """Give the active session, or a new quiet one that ends with the work; EngineMissingError if none."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise EngineMissingError(f"--spark needs {', '.join(missing)}: {INSTALL}")
    try:
        scratch_directory()
    except FileNotFoundError as error:
        raise EngineMissingError(str(error)) from error
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    session = _connect(remote, conf) if remote else _start(master or "local[*]", conf)
    try:
        yield session
    finally:
        with suppress(Exception):  # a Spark that has gone away has nothing to stop
            session.stop()


def _connect(remote: str, conf: Mapping[str, str]) -> Session:
    """Return a session of a server that answers; Spark itself asks one that does not for minutes."""
    answer: Future[Session] = Future()

    def connect() -> None:
        try:
            from pyspark.sql.connect.session import SparkSession

            session = SparkSession.Builder().remote(remote).config(map=dict(conf)).getOrCreate()
            session.range(1).collect()
            answer.set_result(session)
        except Exception as error:  # noqa: BLE001 - raised by who waits
            answer.set_exception(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        return answer.result(SECONDS_TO_CONNECT)
    except ImportError as error:
        needs = f"--spark-remote needs Spark Connect ({first_line(error)})"
        raise EngineMissingError(f"{needs}: pip install 'kcli-for-kafka[connect]'") from error
    except Exception as error:
        reason = f"no Spark Connect server answers: {first_line(error)}"
        raise EngineMissingError(f"--spark-remote {remote}: {reason}") from error


def _start(master: str, conf: Mapping[str, str]) -> Session:
    """Return a session of a JVM of its own, which ends with this process.

    What the JVM writes goes to a file: it is neither data nor for people. It starts in a thread, which no
    signal breaks into: one would leave a JVM that nothing ends, and Spark's own handlers go to main threads.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        raise EngineMissingError(f"--spark needs Java, and there is no {java}: {INSTALL_JAVA}")
    settings = {"spark.master": master, "spark.app.name": "kcli", **QUIET, **FRUGAL}
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings |= LOOPBACK
    settings |= conf
    with tempfile.TemporaryFile() as noise:
        try:
            with ThreadPoolExecutor(1) as starter:
                context = starter.submit(_context, settings, noise.fileno()).result()
            _keep_quiet(context)
            return SparkSession(context)
        except Exception as error:
            noise.seek(0)
            reason = _reason(error, noise.read().decode(errors="replace"), settings["spark.master"])
            raise EngineMissingError(f"--spark: {reason}") from error
        except BaseException:  # a signal
            gateway: Any = SparkContext._gateway  # noqa: SLF001 - no other way to it
            if gateway is not None:
                gateway.proc.stdin.close()  # which the JVM ends by
                gateway.proc.wait(SECONDS_TO_END)
            raise


def _context(settings: Mapping[str, str], noise: int) -> Any:
    """Return the SparkContext of a JVM that writes to a file."""
    from pyspark import SparkConf, SparkContext, java_gateway

    conf = SparkConf().setAll(list(settings.items()))
    launch: Any = java_gateway.launch_gateway
    # a JVM is there once in a process
    gateway = SparkContext._gateway or launch(conf, {"stdout": noise, "stderr": noise})  # noqa: SLF001
    return SparkContext(conf=conf, gateway=gateway)


def _keep_quiet(context: Any) -> None:
    """Leave it to kcli to say that a JVM has ended: Spark would print a traceback, and py4j log it."""
    context._accumulatorServer.handle_error = lambda *_: None  # noqa: SLF001 - no public way
    logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)


def _reason(error: Exception, noise: str, master: str) -> str:
    """Return why Spark has not started, by its exception and by what its JVM has written."""
    home = os.environ.get("SPARK_HOME")
    if home and isinstance(error, OSError):
        return (
            f"SPARK_HOME is {home}, and Spark does not start from there ({first_line(error)}): set it to "
            "where a Spark is, or unset it"
        )
    prefix = f"Spark does not start with master {master}" + (f" and SPARK_HOME {home}" if home else "")
    for text in (str(error), noise):
        matches = [match for line in text.splitlines() if (match := JAVA_EXCEPTION.fullmatch(line.strip()))]
        if matches:
            causes = [match for match in matches if match[1] == "Caused by: "]
            reason = (causes or matches[:1])[-1][2]
            return f"{prefix}: {reason}" + (f"; {INSTALL_JAVA}" if reason.startswith(JAVA_TO_BLAME) else "")
    printed = (line.strip() for line in noise.splitlines() if line.strip())
    # without an exception it was Java that ended
    return f"{prefix}: {next(printed, first_line(error))}; {INSTALL_JAVA}"


def first_line(error: BaseException) -> str:
    """Return the first line that says something, or the name of the error."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
