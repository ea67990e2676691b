"""The Spark engine, on a local master: it starts a JVM, so it is marked."""

import os
import signal
import subprocess
import sys
import threading
import time
import types
from functools import partial

import pytest

from kcli.engine import spark as module
from kcli.engine import spark_session
from kcli.engine.contract import EngineMissingError, Job
from kcli.engine.inline import inline
from kcli.engine.spark import spark
from kcli.engine.spark_session import INSTALL_JAVA, Jobs
from tests.engine_suite import SpreadSuite, dies_once, scan, shape, sleeps, units, wide
from tests.processes import ENVIRONMENT, KCLI, of_session, run_program

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("default")]


class TestSpark(SpreadSuite):
    @pytest.fixture
    def engine(self, session):
        return spark()


def test_an_active_session_is_used_and_left_running(session):
    assert [outcome.number for outcome in spark("local[9]")(Job(scan), units("answer"))] == [0]
    assert session.range(3).count() == 3


def test_what_waits_for_its_turn_is_bounded(session, monkeypatch):
    monkeypatch.setattr(module, "HELD_BYTES", 4 * 50_000)
    monkeypatch.setattr(module, "LEAST_BYTES", 0)
    came = []

    class Weighed(Jobs):
        def _run(self, *given):
            found = super()._run(*given)
            came.append(sum(len(payload) for some in found.values() for payload in some))
            return found

    monkeypatch.setattr(module, "Jobs", Weighed)
    outcomes = list(spark()(Job(wide), units(*["answer"] * 60)))

    assert shape(outcomes) == shape(inline(Job(wide), units(*["answer"] * 60)))
    assert sum(came) > 600_000
    assert max(came) < 50_000 + 11_000  # the last of a bin may go over


def test_bins_that_come_back_early_are_gone_on_with(session, monkeypatch):
    monkeypatch.setattr(module, "HELD_BYTES", 2000)
    monkeypatch.setattr(module, "LEAST_BYTES", 0)
    work = units("answer", "long", "fail", "raise", "answer", "long", *["answer"] * 10, "long")

    assert shape(spark()(Job(scan), work)) == shape(inline(Job(scan), work))


def test_several_bins_a_job_give_the_same(session, monkeypatch):
    monkeypatch.setattr(module, "JOBS_AT_ONCE", 2)
    work = units(*["answer"] * 9, "long", "die", "fail", *["answer"] * 9)
    outcomes = list(spark()(Job(scan), work))

    assert module._shape(2) == (4, 2, 3 << 20)
    assert [outcome.number for outcome in outcomes] == [*range(10), 9, 9, 9, *range(10, 21)]
    assert {outcome.number: outcome.error.error for outcome in outcomes if outcome.error} == {
        10: "worker-died",
        11: "corrupt",
    }


@pytest.mark.parametrize("before", [0, 20])
def test_a_worker_that_is_killed_is_no_ones_error(session, tmp_path, before):
    work = units(*["answer"] * before, "die", *["answer"] * before)
    outcomes = list(spark()(Job(partial(dies_once, marker=str(tmp_path / "died"))), work))

    assert (tmp_path / "died").exists()
    found = [(outcome.number, outcome.error, len(outcome.rows)) for outcome in outcomes]
    assert found == [(unit.number, None, 2) for unit in work]


def test_who_is_interrupted_leaves_no_job_in_a_session_of_others(session):
    tracker = session.sparkContext.statusTracker()

    def interrupt():
        while len(tracker.getActiveJobsIds()) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        list(spark()(Job(sleeps), units(*["answer"] * 3)))

    assert list(tracker.getActiveJobsIds()) == []
    assert session.range(3).count() == 3


def test_workers_that_do_not_see_a_path_are_named_before_any_work(session, monkeypatch):
    is_there = os.path.exists
    monkeypatch.setattr(module, "is_local", lambda _: False)
    monkeypatch.setattr(
        os.path, "exists", lambda path: path.endswith(("/unmounted", "/dir")) or is_there(path)
    )

    said = r"^the Spark worker on [^ ]+ does not see /[^ ]*/dir: mount it there"
    with pytest.raises(EngineMissingError, match=said):
        list(spark()(Job(scan), units("answer", "fail")))


def test_workers_that_see_every_path_work(session, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "is_local", lambda _: False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir").mkdir()

    assert [outcome.number for outcome in spark()(Job(scan), units("answer", "answer"))] == [0, 1]


def test_workers_that_cannot_run_kcli_say_why(session, monkeypatch):
    away = types.ModuleType("installed_here_alone")
    exec("def scan(unit): pass", vars(away))
    away.scan.__module__ = away.__name__
    monkeypatch.setitem(sys.modules, away.__name__, away)

    said = "the Spark workers cannot run kcli: ModuleNotFoundError: No module named 'installed_here"
    with pytest.raises(EngineMissingError, match=said):
        list(spark()(Job(away.scan), units("answer")))


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("kcli.engine.spark_session.NEEDED", ("pyspark_of_another_world",))

    said = r"needs pyspark_of_another_world: pip install 'kcli-for-kafka\[spark\]'"
    with pytest.raises(EngineMissingError, match=said):
        list(spark()(Job(scan), units("answer")))


def test_the_command_line_says_the_same_as_inline_and_nothing_else(log_dir, tmp_path):
    for number in range(5):
        log_dir.partition(f"orders-{number}", checkpoint=number != 3)
    (log_dir.path / "orders-4" / "leader-epoch-checkpoint").write_text("7\n")
    (log_dir.path / "recovery-point-offset-checkpoint").write_text("no\n")
    (log_dir.path.parent / "formats").mkdir()  # a foreign package where the workers start
    command = [sys.executable, "-c", "from kcli.__main__ import main; main()"]
    ask = [*command, "epoch", "end-offset", "--epoch", "all", "data", "absent"]

    inline, spread = (
        run_program([*ask, *words], cwd=log_dir.path.parent, env=ENVIRONMENT)
        for words in ((), ("--spark", "--spark-conf", "spark.master=local[2]"))
    )

    assert inline.returncode == 4
    for name in ("stdout", "stderr", "returncode"):
        assert getattr(spread, name) == getattr(inline, name)


def test_no_java_is_one_line(log_dir):
    log_dir.partition("orders-0")
    line = [*KCLI, "ls", log_dir.path, "--spark"]
    done = run_program(line, env={**os.environ, "JAVA_HOME": "/no/such/place"})

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        "error --spark needs Java, and there is no /no/such/place/bin/java: "
        "install Java 17 or newer, or set JAVA_HOME\n"
    )


def ls_over_spark(log_dir, master="local[1]", **environment):
    log_dir.partition("orders-0")
    words = [*KCLI, "ls", log_dir.path, "--spark-master", master]
    return run_program(words, env={**os.environ, **environment})


def test_a_wrong_master_is_named_with_what_spark_says(log_dir):
    done = ls_over_spark(log_dir, "mesos:7077")

    reported = (
        "Spark does not start with master mesos:7077: SparkException: Master must either be yarn or start "
        "with spark, k8s, or local"
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "", f"error --spark: {reported}\n")


def test_a_wrong_spark_home_is_named(log_dir):
    done = ls_over_spark(log_dir, SPARK_HOME="/no/such/place")

    assert (done.returncode, done.stdout) == (4, "")
    said = "error --spark: SPARK_HOME is /no/such/place, and Spark does not start from there ("
    assert done.stderr.startswith(said)
    assert "Java" not in done.stderr


def test_a_java_that_does_not_run_is_to_blame(log_dir, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'Error: this is no Java' >&2\nexit 1\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    done = ls_over_spark(log_dir, JAVA_HOME=str(tmp_path))

    assert (done.returncode, done.stdout) == (4, "")
    said = "error --spark: Spark does not start with master local[1]: Error: this is no Java"
    assert done.stderr.startswith(said)
    assert done.stderr.endswith("; install Java 17 or newer, or set JAVA_HOME\n")


@pytest.mark.parametrize(
    ("trace", "reported"),
    [
        (
            ": org.x.SparkException: Could not parse Master URL: 'local[x]'\n\tat a.B.c(D.scala:1)",
            "SparkException: Could not parse Master URL: 'local[x]'",
        ),
        (
            "a.b.OneException: An error.\n\tat x\nCaused by: java.net.UnknownHostException: x\n\t... 1 more",
            "UnknownHostException: x",
        ),
        (
            "Error: LinkageError\n\tjava.lang.UnsupportedClassVersionError: v 61",
            f"UnsupportedClassVersionError: v 61; {INSTALL_JAVA}",
        ),
    ],
)  # fmt: skip
def test_the_exception_is_reported_and_not_the_end_of_its_trace(trace, reported, monkeypatch):
    monkeypatch.delenv("SPARK_HOME", raising=False)

    why = spark_session._reason(RuntimeError("gone"), trace, "m")
    assert why == f"Spark does not start with master m: {reported}"


@pytest.mark.parametrize(
    ("number", "status", "to_all"), [(signal.SIGINT, 130, True), (signal.SIGTERM, 143, False)]
)
def test_a_signal_while_spark_starts_leaves_no_jvm(log_dir, number, status, to_all):
    log_dir.partition("orders-0")
    words = [*KCLI, "ls", log_dir.path, "--spark-master", "local[1]"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not any("org.apache.spark.deploy.SparkSubmit" in line for line in of_session(process.pid).values()):
        assert process.poll() is None
        time.sleep(0.01)
    (os.killpg if to_all else os.kill)(process.pid, number)
    out, error = process.communicate()

    assert (process.returncode, out, error) == (status, "", "error interrupted: the rows are not complete\n")
    assert of_session(process.pid) == {}
