"""`kcli sql`: formats, exit statuses, findings."""

import json
import os
import sys
import tarfile
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest

from tests.partitions import log_dir, put_range, segment

pytestmark = pytest.mark.slow

TIERED = Path(__file__).parents[1] / "data" / "rlmm" / "cluster.tar.gz"


@pytest.mark.parametrize(
    ("output", "expected"),
    [("tsv", "topic\tn\nclicks\t2\n"), ("csv", "topic,n\nclicks,2\n"), ("table", "topic   n\nclicks  2\n")],
)
def test_rows_in_a_format_of_cells(kcli, dirs, output, expected):
    query = "SELECT topic, count(*) n FROM offsets WHERE topic = 'clicks' GROUP BY topic"
    done = kcli("sql", query, dirs[0], "-o", output)

    assert (done.exit_code, done.stdout.partition("\n\n")[0].rstrip("\n") + "\n") == (0, expected)


def test_what_all_rows_share_is_no_column_where_columns_have_no_room(kcli, dirs):
    title, *lines = kcli("sql", "FROM offsets", *dirs, "-o", "table").stdout.split("\n\n")[:2]
    header = lines[0].split("\n")[0].split()

    assert title.startswith("host ") and "scan_time " in title
    assert header[0] != "host" and {"topic", "partition", "log_end_offset"} < set(header)


def test_a_table_shows_bytes_as_text_where_they_are_text(kcli, dirs):
    query = "SELECT 'key-1'::BLOB AS k, from_hex('ff00') AS v"

    assert kcli("sql", query, dirs[0], "-o", "table").stdout.split() == ["k", "v", "key-1", "0xff00"]


def test_a_json_document_with_nested_values(kcli, dirs):
    nested = "{'a': [1, NULL], 'k': 'x'::BLOB}"
    query = f"SELECT {nested} AS s, 1.5 AS d, sum(size) AS n, max(scan_time) AS t FROM batches"
    done = kcli("sql", query, dirs[0], "-o", "json")
    document = json.loads(done.stdout)

    assert list(document) == ["command", "version", "rows", "findings", "errors"]
    (row,) = document["rows"]
    assert row["s"] == {"a": [1, None], "k": "eA=="}
    assert row["d"] == 1.5 and isinstance(row["n"], int) and row["t"].endswith("Z")


def test_values_that_json_has_no_word_for_are_text(kcli, dirs):
    query = (
        "SELECT DATE '2020-01-02' d, 'nan'::DOUBLE f, TIME '10:00' t, MAP {'a': 1} m, 1.50::DECIMAL(10, 2) x"
    )
    (row,) = json.loads(kcli("sql", query, dirs[0], "-o", "json").stdout)["rows"]

    assert row == {"d": "2020-01-02", "f": "NaN", "t": "10:00:00", "m": [["a", 1]], "x": 1.5}


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("epoch_ms(1795265476539000)", "1795265476539000000"),
        ("TIMESTAMP 'infinity'", str(2**63 - 1)),
        ("TIMESTAMPTZ '-infinity'", str(1 - 2**63)),
        ("DATE '294247-01-10'", "106751991"),
        ("make_timestamp_ns(1795265476539000001)", "2026-11-21T12:51:16.539000001"),
        ("TIME_NS '01:02:03.123456789'", "01:02:03.123456789"),
        ("TIMESTAMP '9999-12-31 23:59:59'", "9999-12-31T23:59:59"),
    ],
)
def test_a_time_that_python_has_no_word_for(kcli, dirs, time, shown):
    query = f"SELECT {time} AS x, [{time}, NULL] AS xs, {{'y': {time}}} AS z, MAP {{'k': {time}}} AS m"
    done = kcli("sql", query, dirs[0], "-o", "ndjson")

    assert done.exit_code == 0
    row = json.loads(done.stdout)
    assert (row["x"], row["xs"], row["z"], row["m"]) == (shown, [shown, None], {"y": shown}, [["k", shown]])


def test_nested_nanoseconds_are_whole_where_pandas_is_imported(kcli, dirs):
    """Arrow gives its times then, or cuts them to microseconds; a plugin may import it."""
    import_module("pandas")

    query = "SELECT [TIME_NS '01:02:03.123456789'] AS x, [make_timestamp_ns(1795265476539000001)] AS y"
    row = json.loads(kcli("sql", query, dirs[0], "-o", "ndjson").stdout)
    assert (row["x"], row["y"]) == (["01:02:03.123456789"], ["2026-11-21T12:51:16.539000001"])


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ("epoch_ms(13500) - epoch_ms(1000)", "PT12.5S"),
        ("INTERVAL '14 months' - INTERVAL '3 days'", "P14M-3D"),
        ("INTERVAL '-1.5 seconds'", "PT-1.5S"),
        ("INTERVAL '0 days'", "P0D"),
    ],
)
def test_an_interval_is_iso_8601(kcli, dirs, interval, text):
    done = kcli("sql", f"SELECT {interval} AS x, [{interval}] AS xs", dirs[0], "-o", "ndjson")

    assert json.loads(done.stdout) == {"type": "row", "x": text, "xs": [text]}


def test_several_queries_are_refused_and_the_limit_ends_the_reading(kcli, dirs):
    done = kcli("sql", "SELECT 1; SELECT 2", dirs[0])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "kcli: several statements give rows; one answer at a time\n"
    done = kcli("sql", "FROM range(100000000000)", dirs[0], "-o", "tsv", "--no-headers", "--limit", "2")
    assert (done.exit_code, done.stdout) == (0, "0\n1\n")


@pytest.mark.parametrize("output", ["tsv", "csv"])
def test_an_empty_answer_has_its_header(kcli, dirs, output):
    done = kcli("sql", "SELECT topic, size FROM batches WHERE size < 0", dirs[0], "-o", output)

    assert (done.exit_code, done.stdout) == (
        0,
        "topic\tsize\n".replace("\t", "," if output == "csv" else "\t"),
    )


def test_an_answer_with_text_keeps_its_order(kcli, dirs):
    query = "SELECT range AS n, '1'::BIT AS b FROM range(50000) ORDER BY n DESC"
    done = kcli("sql", query, dirs[0], "-o", "tsv", "--no-headers", "--columns", "n", "--jobs", "2")

    assert [*map(int, done.stdout.split())] == [*range(49_999, -1, -1)]


def test_options_of_the_output_apply(kcli, dirs):
    done = kcli(
        "sql", "FROM offsets", dirs[0], "--columns", "topic,partition", "--sort", "-topic", "--limit", "1"
    )

    assert done.stdout == "topic\tpartition\nclicks\t0\n"


def test_what_is_wrong_with_the_files_is_a_finding(kcli, dirs):
    done = kcli("sql", "SELECT count(*) FROM batches", *dirs, "-o", "json")
    document = json.loads(done.stdout)

    assert (done.exit_code, [found["code"] for found in document["findings"]]) == (1, ["LOG-003"])
    assert kcli("sql", "SELECT count(*) FROM batches WHERE broker_id < 4", *dirs).exit_code == 0
    assert kcli("sql", "SELECT count(*) FROM batches", *dirs, "--fail-on", "never").exit_code == 0


def test_findings_as_rows_do_not_come_twice(kcli, dirs):
    done = kcli("sql", "SELECT code FROM findings WHERE severity = 'error'", *dirs)

    assert (done.exit_code, done.stdout, done.stderr) == (0, "code\nLOG-003\n", "")


def test_entries_of_a_log_dir_are_rows_of_findings_and_findings_of_other_views(kcli, tmp_path):
    segment(log_dir(tmp_path / "d") / "orders-0", 0, put_range(0, 5))
    (tmp_path / "d" / "dd").symlink_to(tmp_path)
    done = kcli("sql", "SELECT code FROM findings WHERE code = 'DIR-006'", tmp_path / "d", "-o", "json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["rows"], document["findings"]) == (0, [{"code": "DIR-006"}], [])

    done = kcli("sql", "SELECT count(*) n FROM batches", tmp_path / "d", "-o", "json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["rows"]) == (1, [{"n": 1}])
    assert [found["code"] for found in document["findings"]] == ["DIR-006"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEC 1", 'kcli: Parser Error: syntax error at or near "selec"'),
        ("SELECT topc FROM epochs", 'kcli: Binder Error: Referenced column "topc" not found'),
        ("FROM epoch", 'kcli: Catalog Error: Table with name epoch does not exist! Did you mean "epochs"?'),
        ("FROM batches(offsets := 'x')", "kcli: option offsets x: expected offsets such as 100..200"),
        ("FROM records(partition := '3-1')", "kcli: partition '3..1': the range is empty"),
        ("FROM batches(topc := 'x')", "kcli: Binder Error: Macro batches() does not support the supplied"),
        ("FROM (VALUES ('x')) t(x), batches(topic := t.x)", "kcli: Binder Error: "),
        ("SELECT CAST(topic AS INT) FROM epochs", "kcli: Conversion Error: Could not convert string"),
    ],
)
def test_a_query_that_is_refused_is_a_usage_error_in_one_line(kcli, dirs, query, message):
    done = kcli("sql", query, dirs[0])

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.lower().startswith(message.lower()) and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sql"], "expected a query"),
        (["sql", "{}"], "expected a query"),
        (["sql", "", "{}"], "expected a query"),
        (["sql", "{}", "SELECT 1"], "expected a query and then"),
        (["sql", " \n", "{}"], "expected a query"),
        (["sql", "SELECT 1"], "expected at least one PATH"),
        (["sql", "SELECT 1", "{}", "--spark"], "kcli help spark"),
        (["sql", "SELECT 1", "{}", "--history", "h"], "it is for --shell"),
        (["sql", "SELECT 1", "{}", "-o", "text"], "--output text"),
        (["sql", "SELECT 1", "{}", "--columns", "x"], "no column 'x'"),
    ],
)
def test_wrong_words(kcli, dirs, words, message):
    done = kcli(*(word.format(dirs[0]) for word in words))

    assert (done.exit_code, done.stdout) == (2, "") and message in done.stderr


def test_paths_that_lead_nowhere(kcli, dirs, tmp_path):
    nothing = kcli("sql", "SELECT count(*) FROM epochs", tmp_path / "none")
    some = kcli("sql", "SELECT count(*) FROM epochs", tmp_path / "none", dirs[0])
    unmatched = kcli("sql", "SELECT 1", dirs[0], "--topic", "none")

    assert [done.exit_code for done in (nothing, some, unmatched)] == [3, 4, 3]
    assert "no such file or directory" in some.stderr


@pytest.mark.parametrize("make", [lambda path: path.write_text("words"), os.mkfifo])
def test_a_file_that_no_view_reads_is_the_error_of_scan(kcli, dirs, tmp_path, make):
    path = tmp_path / "plain.txt"
    make(path)
    scan = json.loads(kcli("scan", path, "-o", "json").stdout)["errors"]
    alone = kcli("sql", "SELECT count(*) FROM batches", path, "-o", "json")
    some = kcli("sql", "SELECT count(*) n FROM offsets", path, dirs[0], "-o", "json")

    assert [error["error"] for error in scan] == ["wrong-kind"]
    assert (alone.exit_code, json.loads(alone.stdout)["errors"]) == (3, scan)
    assert (some.exit_code, json.loads(some.stdout)["errors"]) == (4, scan)
    assert (
        json.loads(some.stdout)["rows"]
        == json.loads(kcli("sql", "SELECT count(*) n FROM offsets", dirs[0], "-o", "json").stdout)["rows"]
    )


@pytest.mark.parametrize(
    ("view", "command", "name"),
    [
        ("offsets", ["ls"], "clicks-0/00000000000000000000.log"),
        ("epochs", ["epoch", "show"], "clicks-0/00000000000000000000.log"),
        ("batches", ["scan"], "clicks-0/leader-epoch-checkpoint"),
        ("segments", ["scan"], "clicks-0/leader-epoch-checkpoint"),
        ("rlmm", ["rlmm", "dump"], "clicks-0"),
        ("rlmm", ["rlmm", "dump"], ""),
    ],
)
def test_an_input_that_the_view_does_not_read_is_the_error_of_its_command(kcli, dirs, view, command, name):
    path = dirs[0] / name
    refused = kcli(*command, path, "-o", "json")
    (error,) = json.loads(refused.stdout)["errors"]
    done = kcli("sql", f"SELECT count(*) n FROM {view}", path, "-o", "json")

    assert error["error"] in {"wrong-kind", "nothing-to-read", "nothing-matched"}
    (found,) = json.loads(done.stdout)["errors"]
    assert found | {"path": error["path"]} == error
    assert (done.exit_code, refused.exit_code, json.loads(done.stdout)["rows"]) == (3, 3, [{"n": 0}])


def test_an_input_that_one_of_the_views_reads_is_no_error_of_a_query(kcli, dirs):
    log = dirs[0] / "clicks-0" / "00000000000000000000.log"

    def asked(query, *paths):
        done = kcli("sql", query, *paths, "-o", "json")
        return done.exit_code, [error["error"] for error in json.loads(done.stdout)["errors"]]

    assert asked("SELECT count(*) FROM offsets LEFT JOIN batches USING (dir)", log) == (0, [])
    assert asked("SELECT count(*) FROM segments s LEFT JOIN rlmm ON s.topic = rlmm.topic", dirs[0]) == (0, [])
    assert asked("SELECT count(*) FROM offsets LEFT JOIN epochs USING (dir)", log) == (3, ["wrong-kind"])
    assert asked("SELECT count(*) FROM offsets", log, dirs[0]) == (4, ["wrong-kind"])
    assert asked("SELECT count(*) FROM rlmm WHERE broker_id = 1", dirs[0]) == (0, [])
    assert asked("SELECT count(*) FROM offsets WHERE topic = 'none'", dirs[0]) == (0, [])


def test_selection_of_partitions_is_that_of_every_command(kcli, dirs):
    done = kcli("sql", "SELECT DISTINCT topic, partition FROM batches", dirs[0], "--topic", "clicks",
                "--partition", "1", "--no-headers")  # fmt: skip

    assert done.stdout == "clicks\t1\n"


def test_a_topic_of_the_view_rlmm_is_the_user_s(kcli, tmp_path):
    with tarfile.open(TIERED) as archive:
        archive.extractall(tmp_path, filter="data")
    for words in (["--topic", "t-txn"], ["--partition", "0"], []):
        rows = kcli(
            "rlmm", "dump", tmp_path / "cluster" / "node1", *words, "-o", "tsv", "--no-headers"
        ).stdout
        for view in ("rlmm", "rlmm()"):
            query = f"SELECT count(*) FROM {view}"
            done = kcli("sql", query, tmp_path / "cluster" / "node1", *words, "-o", "tsv", "--no-headers")
            assert int(done.stdout) == len(rows.splitlines())


def test_the_schema_of_a_document_holds(kcli, dirs):
    from kcli.output.schema import ERROR, FINDING_SCHEMA

    document = json.loads(kcli("sql", "FROM batches LIMIT 1", *dirs, "-o", "json").stdout)

    for finding in document["findings"]:
        jsonschema.validate(finding, FINDING_SCHEMA)
    for error in document["errors"]:
        jsonschema.validate(error, ERROR)


def test_without_duckdb_the_extra_is_named(kcli, dirs, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.delitem(sys.modules, "kcli.views.duckdb", raising=False)
    done = kcli("sql", "SELECT 1", dirs[0])

    assert (done.exit_code, done.stdout) == (4, "") and "pip install 'kcli-for-kafka[sql]'" in done.stderr


def test_spark_submit_does_not_take_it(kcli, dirs):
    done = kcli("spark", "submit-command", "--dry-run", "--", "sql", "SELECT 1", dirs[0])

    assert done.exit_code == 2 and "sql runs on DuckDB" in done.stderr
