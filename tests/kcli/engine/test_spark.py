"""The Spark engine, on a local master: it starts a JVM, so it is marked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.engine.errors import EngineMissingError
from kcli.engine.spark import spark
from tests.engine_suite import SpreadSuite, scan, units

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    from kcli.engine.spark_session import opened

    with opened("local[2]", None, {}) as session:
        assert SparkSession.getActiveSession() is session
        yield session


class TestSpark(SpreadSuite):
    @pytest.fixture
    def engine(self, session):
        return spark()


def test_an_active_session_is_used_and_left_running(session):
    assert [outcome.number for outcome in spark("local[9]")(scan, units("answer"))] == [0]
    assert session.range(3).count() == 3


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("kcli.engine.spark_session.NEEDED", ("pyspark_of_another_world",))

    with pytest.raises(EngineMissingError, match=r"needs pyspark_of_another_world: pip install 'kcli\[spark\]'"):
        list(spark()(scan, units("answer")))


def test_the_command_line_says_the_same_as_inline_and_nothing_else(log_dir, tmp_path):
    for number in range(5):
        log_dir.partition(f"orders-{number}", checkpoint=number != 3)
    (log_dir.path / "orders-4" / "leader-epoch-checkpoint").write_text("7\n")
    (log_dir.path / "recovery-point-offset-checkpoint").write_text("no\n")
    (log_dir.path.parent / "formats").mkdir()  # a foreign package where the workers start
    ask = [sys.executable, "-c", "from kcli.__main__ import main; main()", "epoch", "end-offset", "--epoch", "all", "data", "absent"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}

    inline, spread = (
        subprocess.run([*ask, *words], cwd=log_dir.path.parent, capture_output=True, text=True, check=False, env=environment)
        for words in ((), ("--spark", "--spark-conf", "spark.master=local[2]"))
    )

    assert inline.returncode == 4
    assert (spread.stdout, spread.stderr, spread.returncode) == (inline.stdout, inline.stderr, inline.returncode)


def test_no_java_is_one_line(log_dir):
    log_dir.partition("orders-0")
    done = subprocess.run(
        [sys.executable, "-m", "kcli", "ls", log_dir.path, "--spark"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "JAVA_HOME": "/no/such/place"},
    )

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "error --spark needs Java, and there is no /no/such/place/bin/java: install Java 17 or newer, or set JAVA_HOME\n"
