"""The Spark engine, on a local master: it starts a JVM, so it is marked."""


import pytest

from kcli.engine.spark import spark
from tests.engine_suite import SpreadSuite, scan, units

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    from kcli.engine.spark import _session

    with _session("local[2]", None, {}) as session:
        assert SparkSession.getActiveSession() is session
        yield session


class TestSpark(SpreadSuite):
    @pytest.fixture
    def engine(self, session):
        return spark()


def test_an_active_session_is_used_and_left_running(session):
    assert [outcome.number for outcome in spark("local[9]")(scan, units("answer"))] == [0]
    assert session.range(3).count() == 3
