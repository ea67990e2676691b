"""`--where CONDITION`: the same rows in every format and on every engine."""

import json

import pyarrow.parquet as pq
import pytest

from tests.builders import put_record, put_records
from tests.formats import recorded

pytestmark = pytest.mark.slow

CONDITION = "count > 1 and base_offset < 60 or is_transactional"


@pytest.fixture
def logs(log_dir):
    for number, name in enumerate(("txn", "shapes")):
        folder = log_dir.path / f"orders-{number}"
        folder.mkdir()
        (folder / f"{0:020}.log").write_bytes(recorded.stored(f"{name}.log"))
    return log_dir.path


def meets(row):
    return (row["count"] > 1 and row["base_offset"] < 60) or row["is_transactional"]


def documents(kcli, *words):
    return json.loads(kcli(*words, "-o", "json").stdout)["rows"]


def test_every_format_has_the_same_rows(kcli, logs, tmp_path):
    where = ("--where", CONDITION, "--columns", "partition,base_offset")
    command = ("dump", logs, "--only", "dump_batch", *where)
    every = documents(kcli, "dump", logs, "--only", "dump_batch")
    expected = [(row["partition"], row["base_offset"]) for row in every if meets(row)]
    assert 0 < len(expected) < len(every)
    for words in ((), ("--jobs", 2)):
        rows = documents(kcli, *command, *words)
        assert [(row["partition"], row["base_offset"]) for row in rows] == expected
    lines = "".join(f"{partition},{offset}\n" for partition, offset in expected)
    assert kcli(*command, "-o", "csv", "--no-headers").stdout == lines
    assert len(kcli(*command, "-o", "wide", "--no-headers").stdout.splitlines()) == len(expected)
    kcli(*command, "--out", tmp_path / "rows.parquet")
    assert [tuple(row.values()) for row in pq.read_table(tmp_path / "rows.parquet").to_pylist()] == expected


def test_limit_counts_the_rows_that_are_shown(kcli, logs):
    command = ("dump", logs, "--only", "dump_batch", "--where", CONDITION)
    rows = documents(kcli, *command)
    assert documents(kcli, *command, "--limit", 2) == rows[:2]
    (last,) = documents(kcli, *command, "--sort=-base_offset", "--limit", 1)
    assert last["base_offset"] == max(row["base_offset"] for row in rows)


@pytest.mark.spark
def test_spark_gives_the_same_rows(kcli, logs, tmp_path):
    command = ("dump", logs, "--only", "dump_batch", "--where", CONDITION)
    assert documents(kcli, *command, "--spark") == documents(kcli, *command)
    assert kcli(*command, "--spark", "--out", tmp_path / "rows.parquet").exit_code in {0, 1}
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == len(documents(kcli, *command))


def test_contents_of_records(kcli, tmp_path):
    log = tmp_path / f"{0:020}.log"
    records = [
        put_record(key=key, offset_delta=delta) for delta, key in enumerate((b"a1", b"b", None, b"a2"))
    ]
    log.write_bytes(put_records(records, base_timestamp=1_700_000_000_000))

    def offsets(condition):
        return [row["offset"] for row in documents(kcli, "dump", log, "--records", "--where", condition)]

    assert offsets("key = 'a1' or key is null") == [0, 2]
    assert offsets("not key = 'a1'") == [1, 3]
    assert offsets("timestamp < '2023-11-14' or timestamp > 1h") == []
    assert offsets("timestamp < @-1h and timestamp >= '2023-11-14'") == [0, 1, 2, 3]


def test_a_column_that_a_type_lacks_is_null(kcli, log_dir):
    partition = log_dir.partition("orders-0")
    (partition / f"{0:020}.index").write_bytes(bytes(8))
    has, lacks = (
        {row["type"] for row in documents(kcli, "dump", partition, "--where", f"base_offset {test}")}
        for test in (">= 10", "is null")
    )
    assert has == {"dump_batch"} and lacks and not has & lacks
    log_dir.partition("orders-1")
    shown = kcli("ls", log_dir.path, "-o", "table", "--where", "partition = 1").stdout
    assert "orders-1" in shown and "orders-0" not in shown


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("topik = 'x'", "no column 'topik'; did you mean topic"),
        ("partition = 'x'", "at 13: a number is compared with text"),
        ("topic = orders", "a text has quotes: 'orders'"),
        ("high_watermark = null", "at 18: no comparison with null is true; write is null, or is not null"),
        ("log_bytes not in (0, null)", "no comparison with null is true"),
        ("partition", "at 1: this is a number, and no condition; compare it"),
        ("partition = 1)", "at 14: expected columns"),
        ("partition = ", "at 13: expected columns"),
        ("partition ! 1", "at 11: expected columns"),
        ("topic like 'a%'", "at 7: expected columns"),
        ("partition = 0 or topic contains 'a'", "at 24: expected columns"),
        ("partition = 1 and partition + 1 = 2", "at 19: expected columns"),
        ("len(topic) = 1", "no column 'len'"),
        ("topic.name = 'x'", "at 1: expected columns"),
        ("partition is 3", "at 14: expected columns"),
        ("partition in partition", "at 14: expected columns"),
        ("", "expected columns"),
        ("(" * 300 + "partition = 1" + ")" * 300, "expected columns"),
        ("topic = '" + "x" * 20000 + "'", "at most"),
        ("__import__('os')", "no column '__import__'"),
    ],
)
def test_a_condition_that_cannot_be_used_is_one_line(kcli, log_dir, condition, message):
    log_dir.partition("orders-0")
    result = kcli("ls", log_dir.path, "--where", condition)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert message in result.stderr


def test_text_of_a_dump_has_no_rows(kcli, log_dir):
    result = kcli("dump", log_dir.path, "-o", "text", "--where", "count > 1")
    assert (result.exit_code, result.stdout) == (2, "")
