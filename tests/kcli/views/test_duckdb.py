"""The views as tables of DuckDB: rows of Spark and of commands, options, what is read, what is refused."""

import os
import subprocess
import sys
import threading
from contextlib import contextmanager

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_type

from kcli.engine.inline import inline
from kcli.engine.pool import pool
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from kcli.views.definitions import VIEWS
from kcli.views.duckdb import Source, SqlError, opened
from kcli.views.options import macro_options
from kcli.views.plan import view_schema
from kcli.views.spark import view_schema as spark_schema
from tests.kcli.views.fleet import fleet

pytestmark = pytest.mark.slow

QUERIES = (
    "SELECT topic, count(*), sum(size), avg(size) FROM batches GROUP BY topic ORDER BY topic",
    (
        "SELECT code, severity, file, position, expected, found FROM findings "
        "WHERE severity = 'error' ORDER BY code, path, position"
    ),
    (
        "SELECT s.broker_id, count(*) FROM segments s JOIN findings f ON f.path = concat(s.dir, '/', s.file) "
        "WHERE f.severity = 'error' GROUP BY s.broker_id ORDER BY s.broker_id"
    ),
    (
        "SELECT dir, r.offset, timestamp, key, value, headers FROM records r "
        "WHERE broker_id = 3 AND topic = 'clicks' ORDER BY dir, r.offset"
    ),
    (
        "SELECT * FROM (SELECT dir, file, position, crc, is_valid, max_timestamp FROM batches) b "
        "WHERE NOT is_valid OR max_timestamp % 7 = 0 ORDER BY dir, file, position"
    ),
    (
        "WITH ends AS (SELECT dir, max(last_offset) AS last FROM batches WHERE is_valid GROUP BY dir) "
        "SELECT o.dir, log_end_offset - last, p.epoch FROM offsets o JOIN ends e ON o.dir = e.dir "
        "JOIN epochs p ON p.dir = o.dir ORDER BY o.dir, p.epoch"
    ),
    "SELECT event_broker_id, state, start_offset FROM rlmm ORDER BY start_offset",
    (
        "SELECT broker_id, topic, partition FROM segments WHERE topic LIKE 'cl%' AND partition IN (1, 5) "
        "AND broker_id < 4 ORDER BY broker_id, file"
    ),
)
"""For Spark and for DuckDB."""


@pytest.fixture(scope="module")
def dirs(tmp_path_factory):
    return [str(path) for path in fleet(tmp_path_factory.mktemp("fleet"), 20)]


class Asked:
    """A session for tests, and the outcomes of its scans."""

    def __init__(self, session):
        self.session = session
        self.outcomes = []
        session.source.note = self.outcomes.append

    def table(self, text):
        with self.session.answer(text) as (schema, batches):
            return pa.Table.from_batches(list(batches), schema)

    def rows(self, text):
        return [tuple(row.values()) for row in self.table(text).to_pylist()]

    def values(self, text):
        return [row[0] for row in self.rows(text)]


@contextmanager
def asked(paths, engine=inline, jobs=1, place=None):
    found = find([str(path) for path in paths], Selection())
    with opened(Source(found, engine, lambda _: None, list, jobs=jobs, leftovers=False), place) as session:
        yield Asked(session)


@pytest.fixture(scope="module")
def fleet_session(dirs):
    with asked(dirs) as session:
        yield session


@pytest.fixture
def duck(fleet_session):
    fleet_session.outcomes.clear()
    return fleet_session


@pytest.mark.spark
@pytest.mark.filterwarnings("default")
def test_spark_gives_the_same_rows(duck, dirs, session):
    from kcli.views import register

    register(session)
    for view in VIEWS:
        session.read.format("kcli").option("view", view).load(dirs).createOrReplaceTempView(view)
    for query in QUERIES:
        of_spark = [plain(row.asDict(recursive=True)) for row in session.sql(query).collect()]
        assert duck.rows(query) == of_spark, query


def plain(row):
    return tuple(bytes(value) if isinstance(value, bytearray) else value for value in row.values())


@pytest.mark.parametrize("view", VIEWS)
def test_columns_have_the_names_and_types_of_spark(view):
    own = view_schema(view)
    of_spark = spark_schema(view)

    assert own.names == of_spark.names
    for field, other in zip(own, of_spark, strict=True):
        assert from_arrow_type(field.type).simpleString() == other.dataType.simpleString(), field.name


@pytest.mark.slow
def test_processes_give_the_same_rows(dirs, duck):
    with asked(dirs, pool(2), 2) as two:
        for query in ("FROM findings", "FROM batches"):
            columns = f"SELECT * EXCLUDE (scan_time) FROM ({query})"
            assert two.rows(columns) == duck.rows(columns)


def test_one_moment_for_all_rows_of_a_query(duck):
    both = "SELECT scan_time t FROM epochs UNION ALL SELECT scan_time FROM offsets"

    assert duck.values(f"SELECT count(DISTINCT t) FROM ({both})") == [1]


# What is read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "directories"),
    [
        ("topic = 'clicks' AND partition = 1", 20),
        ("topic IN ('clicks', 'none') AND broker_id = 3", 2),
        ("broker_id BETWEEN 3 AND 4", 8),
        ("topic >= 'arch' AND topic < 'b' AND partition > 0 AND broker_id IS NOT NULL", 20),
        ("cluster_id = 'another'", 0),
        ("topic IS NULL", 0),
        ("topic = 'clicks' OR size < 10", 80),
        ("NOT topic = 'clicks'", 40),
    ],
)
def test_directories_that_no_row_can_come_from_are_not_read(duck, dirs, monkeypatch, condition, directories):
    read = set()
    opened_file = os.open

    def watch(path, *more, **others):
        if str(path).endswith(".log"):
            read.add(os.path.dirname(path))
        return opened_file(path, *more, **others)

    everything = duck.rows("SELECT * EXCLUDE (scan_time) FROM batches")
    monkeypatch.setattr(os, "open", watch)
    found = duck.rows(f"SELECT * EXCLUDE (scan_time) FROM batches WHERE {condition}")

    assert len(read) == directories
    assert set(map(str, found)) <= set(map(str, everything))
    monkeypatch.undo()
    again = duck.values(f"SELECT count(*) FROM (SELECT * FROM batches OFFSET 0) b WHERE {condition}")
    assert again == [len(found)]


def test_only_needed_columns_are_made(duck):
    duck.rows("SELECT sum(size) FROM batches WHERE is_valid")

    blocks = [block for outcome in duck.outcomes for block in outcome.rows]
    assert {tuple(block.batch.schema.names) for block in blocks} == {("size", "is_valid")}


def test_a_limit_ends_the_reading(duck):
    assert len(duck.rows("FROM batches LIMIT 3")) == 3
    first = len(duck.outcomes)
    duck.outcomes.clear()
    duck.rows("FROM batches")

    assert first < len(duck.outcomes)


# Options


def test_options_of_a_view_limit_its_rows(duck):
    rows = duck.rows("""
        SELECT (SELECT count(*) FROM batches(topic := 'clicks', offsets := '5..9', partition := 0)
                WHERE broker_id = 0),
               (SELECT count(*) FROM batches(topic := 'clicks,archive') WHERE broker_id = 0),
               (SELECT count(*) FROM batches WHERE broker_id = 0),
               (SELECT count(DISTINCT epoch) FROM epochs(topic := 'none'))
    """)

    assert rows[0][1:] == (rows[0][2], rows[0][2], 0)
    assert 5 <= rows[0][0] < rows[0][1]


def test_options_work_in_views_and_expressions(duck):
    duck.rows("CREATE OR REPLACE TEMP VIEW mine AS FROM batches(topic := concat('cli', 'cks')); SELECT 1")

    assert duck.values("SELECT DISTINCT topic FROM mine") == ["clicks"]
    assert duck.values("SELECT count(*) FROM mine WHERE broker_id = 1") == duck.values(
        "SELECT count(*) FROM batches WHERE broker_id = 1 AND topic = 'clicks'"
    )


@pytest.mark.slow
@pytest.mark.parametrize("view", [view for view in VIEWS if macro_options(view)])
def test_every_view_takes_its_options_as_nulls(duck, view):
    nulls = ", ".join(f"{option} := NULL" for option in macro_options(view))

    assert duck.values(f"SELECT count(*) FROM {view}({nulls})") == duck.values(f"SELECT count(*) FROM {view}")


def test_a_query_that_fails_leaves_a_session_that_answers(duck):
    for _ in range(3):
        with pytest.raises(SqlError):
            duck.rows("SELECT CAST(topic AS INT) FROM batches")
        assert duck.values("SELECT count(*) FROM offsets") == [80]


def test_an_answer_that_is_not_read_to_its_end_stops_the_reading(duck):
    before = threading.active_count()
    with duck.session.answer("SELECT a.range FROM range(1000000) a, range(1000000)") as (_, batches):
        next(batches)

    assert threading.active_count() == before
    assert duck.values("SELECT 1") == [1]


# Start-up

IMPORTS = """
import sys
import pyarrow, pyspark.sql.datasource
from kcli.views.duckdb import _NoPandas
assert not any(isinstance(finder, _NoPandas) for finder in sys.meta_path)
import kcli.views.spark
assert "pandas" not in sys.modules, "pandas was imported"

import pandas
frame = pyarrow.table({"a": [1]}).to_pandas()
assert isinstance(frame, pandas.DataFrame)
assert pyarrow.Table.from_pandas(frame).equals(pyarrow.table({"a": [1]}))
assert pyarrow.array(pandas.Series([1, None])).null_count == 1
"""


def test_pandas_is_not_imported_and_is_there_afterwards():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)


# Safety


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{}/out.csv'",
        "COPY (SELECT 1) TO '/dev/stdout'",
        "EXPORT DATABASE '{}/out'",
        "ATTACH '{}/out.db'",
        "FROM '{}/meta.properties'",
        "FROM read_csv('{}/meta.properties')",
        "FROM read_text('{}/meta.properties')",
        "FROM glob('{}/*')",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET temp_directory = '{}'",
        "PRAGMA enable_profiling = 'json'",
        "SET profiling_output = '{}/out'",
        "CALL enable_logging(storage = 'file', storage_path = '{}')",
        "CREATE PERSISTENT SECRET (TYPE s3)",
        "FROM dirs",
        "DELETE FROM batches",
        "INSERT INTO epochs SELECT * FROM epochs",
    ],
)
def test_files_network_and_settings_are_out_of_reach(dirs, statement):
    before = sorted(os.listdir(dirs[0]))
    with asked(dirs[:1]) as session, pytest.raises(SqlError):
        session.rows(statement.format(dirs[0]))

    assert sorted(os.listdir(dirs[0])) == before


def test_temporary_files_are_in_a_directory_that_is_removed(dirs, tmp_path):
    with asked(dirs[:1], place=str(tmp_path)) as session:
        (place,) = session.values("SELECT value FROM duckdb_settings() WHERE name = 'temp_directory'")
        assert os.path.isdir(place) and os.path.dirname(place) == str(tmp_path)

    assert os.listdir(tmp_path) == []
