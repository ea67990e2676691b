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
from typing import IO, Any, Self, TypeAlias

from kcli.engine.errors import EngineMissingError
from kcli.logdir.scratch import scratch_directory

Session: TypeAlias = Any

RESULT = "bin bigint, sequence bigint, payload binary"
CANCEL_SECONDS = 0.2
LISTENS_SECONDS = 5
"""How long a JVM may take to notice that its stdin is closed."""

SECONDS_TO_CONNECT = 30
SECONDS_TO_PART = 10
"""For a Spark Connect server, which Spark itself would try to reach for ten minutes."""

CORES_OF_A_SERVER = 16
"""A Spark Connect server does not tell how many cores it has."""

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
FRUGAL = {"spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own pools keep what they had at the peak."""
QUICK = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1"
"""For a JVM that lives for seconds and passes on what workers return: less compiling halves its time."""
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
    session = _connected(remote, conf) if remote else _started(master or "local[*]", conf)
    try:
        yield session
    finally:
        _stop(session)


def _stop(session: Session) -> None:
    """Stop a session in a thread of its own.

    A signal may have broken into this thread's talk with the JVM.
    """

    def stop() -> None:
        with suppress(Exception):  # it has gone away already
            session.stop()

    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    thread.join(SECONDS_TO_PART if is_connect(session) else None)


def _connected(remote: str, conf: Mapping[str, str]) -> Session:
    """Return a session of a server that answers.

    Spark itself asks a server that does not answer for minutes, and no signal ends that.
    """
    found: list[Session | Exception] = []

    def connect() -> None:
        try:
            from pyspark.sql.connect.session import SparkSession

            builder = SparkSession.Builder().remote(remote)
            for key, value in conf.items():
                builder = builder.config(key, value)
            session = builder.getOrCreate()
            session.range(1).collect()
            found.append(session)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            found.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(SECONDS_TO_CONNECT)
    answer = found[0] if found else TimeoutError(f"nothing for {SECONDS_TO_CONNECT} seconds")
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


def _started(master: str, conf: Mapping[str, str]) -> Session:
    from pyspark.sql import SparkSession

    java = (
        os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java")
        if os.environ.get("JAVA_HOME")
        else "java"
    )
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
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder = builder.config(key, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    with _silence() as noise:
        try:
            _launch(settings)
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
            _quieten(session.sparkContext)
        except Exception as error:
            noise.seek(0)
            why = _why(error, noise.read().decode(errors="replace"), settings["spark.master"])
            raise EngineMissingError(f"--spark: {why}") from error
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(
                    signal.SIGINT, on_interrupt
                )  # Spark's own would break into a document that is being written
    return session


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


def _launch(settings: Mapping[str, str]) -> None:
    """Start the JVM if there is none.

    A signal does not break into it, but ends the JVM as soon as it listens. pyspark waits for a file in which
    a JVM says where it listens. Were it interrupted there, it would remove the directory of that file, and
    the JVM would neither listen nor end. So a thread waits, which no signal is delivered to.
    """
    from pyspark import SparkConf, SparkContext

    failures: list[BaseException] = []
    ended = threading.Event()

    # what is set there already counts for more, as does spark.driver.extraJavaOptions
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = given if QUICK in given else f"{QUICK} {given}".strip()

    def launch() -> None:
        try:
            configuration = SparkConf().setAll(list(settings.items()))
            SparkContext._ensure_initialized(conf=configuration)  # noqa: SLF001 - as a SparkContext does
        except BaseException as error:  # noqa: BLE001 - it is raised where the thread was started
            failures.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=launch, name="kcli-spark-start")
    try:
        thread.start()
        ended.wait()
    except BaseException:
        if thread.ident is not None:
            ended.wait()  # not join: after one that was interrupted it takes a thread for gone
        _end_jvm()
        raise
    if failures:
        raise failures[0]


def _end_jvm() -> None:
    """End the JVM of this process, and wait until it is gone.

    It ends when no process holds its stdin any more.
    """
    from pyspark import SparkContext

    jvm = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - no other way to it
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    if jvm is None:
        return
    jvm.stdin.close()
    try:
        jvm.wait(timeout=LISTENS_SECONDS)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def _quieten(context: Any) -> None:
    """Have those who talk with the JVM say nothing when it ends.

    A signal to a whole group ends it first, and kcli reports that.
    """
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
