"""The format in a Spark session: it starts a JVM, so it is marked. Twenty log dirs, asked in SQL."""

import sys
from pathlib import Path

import pytest

from kcli.engine.contract import EngineMissingError
from kcli.views import register
from kcli.views.definitions import VIEWS
from tests.kcli.views.fleet import fleet

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def spark(session):
    register(session)
    return session


@pytest.fixture(scope="module")
def dirs(tmp_path_factory):
    return fleet(tmp_path_factory.mktemp("fleet"), 20)


@pytest.fixture(scope="module")
def views(spark, dirs):
    """Make every view of the fleet known to SQL by its name."""
    pattern = f"{dirs[0].parent}/broker-*"
    for view in VIEWS:
        spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {view} USING kcli OPTIONS (view '{view}', path '{pattern}')"
        )
    return pattern


def test_the_plan_shows_the_scan(spark, views):
    (plan,) = spark.sql(
        "EXPLAIN FORMATTED SELECT topic, count(*) FROM batches WHERE partition = 1 GROUP BY topic"
    ).collect()

    assert "BatchScan kcli" in plan[0] or "BatchScan batches" in plan[0]
    assert "Filter" in plan[0]


def test_lists_of_paths_and_fewer_columns(spark, dirs):
    frame = (
        spark.read.format("kcli")
        .option("view", "epochs")
        .schema("epoch BIGINT, topic STRING")
        .load([str(path) for path in dirs[:2]])
    )

    assert frame.columns == ["epoch", "topic"]
    assert frame.filter("topic = 'clicks'").count() > 4


def test_a_schema_that_is_not_the_views_is_refused(spark, dirs):
    with pytest.raises(Exception, match="schema: nope is no column of the view batches"):
        spark.read.format("kcli").schema("nope STRING").load(str(dirs[0])).collect()


@pytest.mark.parametrize(
    "words",
    [
        "CREATE TABLE t USING kcli OPTIONS (view 'batches', path '{}')",
        "CREATE TABLE t USING kcli OPTIONS (view 'epochs') LOCATION '{}'",
    ],
)
def test_a_table_of_the_catalog_is_refused_with_what_to_use_instead(spark, dirs, words):
    with pytest.raises(Exception, match="use CREATE TEMPORARY VIEW name USING kcli OPTIONS"):
        spark.sql(words.format(dirs[0]))


def test_nothing_to_read_is_an_empty_answer(spark, dirs):
    assert spark.read.format("kcli").option("topic", "none").load(str(dirs[0])).collect() == []


def test_words_of_a_wrong_option_reach_the_user(spark, dirs):
    with pytest.raises(Exception, match="option view batch: one of batches, records"):
        spark.read.format("kcli").option("view", "batch").load(str(dirs[0]))


def test_an_old_spark_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    monkeypatch.delitem(sys.modules, "kcli.views.spark", raising=False)

    with pytest.raises(EngineMissingError, match=r"needs pyspark 4.0 or newer, with pyarrow: this is "):
        register(None)
