"""A Spark session: the active one, our own that ends with the work, or one of a Spark Connect server."""

import logging
import os
import re
import shutil
import signal
import subprocess
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

from kcli.engine.errors import EngineMissingError
from kcli.logdir.write_guard import scratch_directory

Session: TypeAlias = Any

RESULT = "bin bigint, sequence bigint, payload binary"
CANCEL_SECONDS = 0.2
SECONDS_TO_END = 5
"""How long a JVM may take to notice that its stdin is closed."""

SECONDS_TO_CONNECT = 30
SECONDS_TO_PART = 10
"""For a Spark Connect server, which Spark itself would try to reach for ten minutes."""

CORES_OF_A_SERVER = 16
"""A Spark Connect server does not tell how many cores it has."""

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
FRUGAL = {"spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own pools keep what they had at the peak."""
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""For a local master: whatever name this machine goes by, and whether that name resolves, does not matter."""

NEEDED = ("pyspark", "pyarrow", "pandas")
INSTALL = "pip install 'kcli-for-kafka[spark]'"
INSTALL_JAVA = "install Java 17 or newer, or set JAVA_HOME"
JAVA_EXCEPTION = re.compile(
    r"(?:Exception in thread \"[^\"]*\" |(?P<cause>Caused by: )|: )?"
    r"(?:[\w$]+\.)+(?P<name>\w*(?:Exception|Error))(?P<message>: .*)?"
)
JAVA_TO_BLAME = frozenset({"UnsupportedClassVersionError", "NoClassDefFoundError", "ClassNotFoundException"})


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

    def start(
        self, function: Callable[[Iterator[Any]], Iterator[Any]], tasks: int
    ) -> Future[dict[int, list[bytes]]]:
        """Start a job of so many tasks.

        The function is given their numbers, and gives RESULT in Arrow's batches. The result is the payloads
        of each number, in the order of their sequence.
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
        # in a thread: a signal may have broken into this one's talk with the JVM
        _run_within(SECONDS_TO_PART if is_connect(session) else None, session.stop)


def _run_within(seconds: float | None, function: Callable[[], Any]) -> Any:
    """Return what a function gives in a thread that no signal breaks into, or its exception.

    TimeoutError where it takes longer than so many seconds.
    """
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(function())
        except Exception as error:  # noqa: BLE001 - returned to who waits
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else TimeoutError(f"nothing for {seconds} seconds")


def _connect(remote: str, conf: Mapping[str, str]) -> Session:
    """Return a session of a server that answers; Spark itself asks one that does not for minutes."""

    def connect() -> Session:
        from pyspark.sql.connect.session import SparkSession

        builder = SparkSession.Builder().remote(remote)
        for key, value in conf.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.range(1).collect()
        return session

    answer = _run_within(SECONDS_TO_CONNECT, connect)
    if isinstance(answer, ImportError):
        raise EngineMissingError(
            f"--spark-remote needs Spark Connect ({first_line(answer)}): "
            "pip install 'kcli-for-kafka[connect]'"
        ) from answer
    if isinstance(answer, Exception):
        raise EngineMissingError(
            f"--spark-remote {remote}: no Spark Connect server answers: {first_line(answer)}"
        ) from answer
    return answer


def _start(master: str, conf: Mapping[str, str]) -> Session:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        raise EngineMissingError(f"--spark needs Java, and there is no {java}: {INSTALL_JAVA}")
    local = master.startswith("local")
    if local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.master": master,
        "spark.app.name": "kcli",
        **QUIET,
        **FRUGAL,
        **(LOOPBACK if local else {}),
        **conf,
    }
    with tempfile.TemporaryFile() as noise, _signals_afterwards():
        try:
            return _create(settings, noise.fileno())
        except Exception as error:
            noise.seek(0)
            why = _why(error, noise.read().decode(errors="replace"), settings["spark.master"])
            raise EngineMissingError(f"--spark: {why}") from error


def _create(settings: Mapping[str, str], noise: int) -> Session:
    """Return a session of a JVM that writes to a file: what it says is neither data nor for people.

    It would also keep a reader of kcli's stdout waiting, as the JVM outlives kcli by a moment.
    """
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setAll(list(settings.items()))
    gateway = SparkContext._gateway  # noqa: SLF001 - a JVM is there once in a process
    if gateway is None:
        launch: Any = java_gateway.launch_gateway
        gateway = launch(conf, {"stdout": noise, "stderr": noise})
    context: Any = SparkContext(conf=conf, gateway=gateway)
    context.setLogLevel("ERROR")
    # a signal to a whole group ends the JVM first, and kcli reports that: who talks with it shall not
    context._accumulatorServer.handle_error = lambda *_: None  # noqa: SLF001
    logging.getLogger().addFilter(_is_not_of_py4j)
    return SparkSession(context)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


@contextmanager
def _signals_afterwards() -> Iterator[None]:
    """Deliver signals that end kcli after this block, and end the JVM then.

    One that broke into the start of a JVM would leave it without what makes it end. Handlers that Spark sets
    go: they would break into a document that is being written.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        try:
            signal.raise_signal(received[0])
        finally:
            _end_jvm()


def _end_jvm() -> None:
    """End the JVM of this process, and wait until it is gone: it ends when its stdin is closed."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - no other way to it
    jvm = gateway.proc
    jvm.stdin.close()
    try:
        jvm.wait(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def _why(error: Exception, noise: str, master: str) -> str:
    """Return why Spark has not started, by its exception and by what its JVM has written."""
    home = os.environ.get("SPARK_HOME")
    if home and isinstance(error, OSError):
        return (
            f"SPARK_HOME is {home}, and Spark does not start from there ({first_line(error)}): set it to "
            "where a Spark is, or unset it"
        )
    of = f"Spark does not start with master {master}" + (f" and SPARK_HOME {home}" if home else "")
    for words in (str(error), noise):
        raised = [found for line in words.splitlines() if (found := JAVA_EXCEPTION.fullmatch(line.strip()))]
        if raised:
            causes = [found for found in raised if found["cause"]]
            name, message = (causes[-1] if causes else raised[0]).group("name", "message")
            return f"{of}: {name}{message or ''}" + (f"; {INSTALL_JAVA}" if name in JAVA_TO_BLAME else "")
    printed = [
        line.strip() for line in noise.splitlines() if line.strip() and not line.startswith("WARNING:")
    ]
    # without an exception it was Java that ended
    return f"{of}: {(printed or [first_line(error)])[0]}; {INSTALL_JAVA}"


def first_line(error: BaseException) -> str:
    """Return the first line that says something, or the name of the error."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
