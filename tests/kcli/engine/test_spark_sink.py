"""Rows that Spark's workers write: each once, in parts in unit order, or nothing at all."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kcli.engine.contract import Job, NotWrittenError
from kcli.engine.spark import spark
from kcli.output.formats import CSV
from kcli.output.parts import Parts
from kcli.output.values import compact
from kcli.output.view import View
from tests.engine_suite import EPOCH, scan, units
from tests.out_rows import columns_without_head, without_head
from tests.processes import ENVIRONMENT, KCLI, is_gone, of_session, run_program

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).parents[3]
VIEW = View(command="epoch show", format=CSV, types=(EPOCH,), tagged=False, headers=False)
OPEN = {"rounds", "decoded_key", "decoded_value"}
WAIT_SECONDS = 300


def rows_in(directory, outcomes):
    """Return (unit, row) of the parts that outcomes name, in their order."""
    parts = [part for outcome in outcomes for receipt in outcome.parts for part in receipt]
    lines = [line for part in parts for line in (Path(directory) / part.path).read_text().splitlines()]
    assert sum(part.rows for part in parts) == len(lines)
    return [tuple(map(int, line.split(",")[:2])) for line in lines]


class TestEngine:
    def test_workers_write_and_outcomes_have_no_rows(self, session, tmp_path):
        work = units("answer", "long", "fail", "longest", "raise", "answer")
        outcomes = list(spark(sink=Parts(str(tmp_path), VIEW))(Job(scan), work))

        assert [outcome.number for outcome in outcomes] == list(range(6))
        assert [(outcome.rows, outcome.continuation) for outcome in outcomes] == [([], None)] * 6
        assert [outcome.written_rows for outcome in outcomes] == [2, 4, 0, 72, 0, 2]
        errors = {outcome.number: outcome.error.error for outcome in outcomes if outcome.error}
        assert errors == {2: "corrupt", 4: "internal"}
        assert [finding.code for outcome in outcomes for finding in outcome.findings] == ["LOG-005"]
        rows = {0: range(2), 1: range(4), 3: [*range(70), 0, 1], 5: range(2)}
        assert rows_in(tmp_path, outcomes) == [(unit, row) for unit in rows for row in rows[unit]]

    def test_a_part_for_each_bin(self, session, tmp_path):
        outcomes = list(spark(sink=Parts(str(tmp_path), VIEW))(Job(scan), units(*["answer"] * 200)))

        assert rows_in(tmp_path, outcomes) == [(unit, row) for unit in range(200) for row in range(2)]
        assert sorted(os.listdir(tmp_path)) == sorted(
            part.path for outcome in outcomes for receipt in outcome.parts for part in receipt
        )
        assert len(os.listdir(tmp_path)) == 8

    def test_a_place_that_cannot_be_written_to_ends_it(self, session, tmp_path):
        said = "a Spark worker cannot write there: no such file or directory; it must be a place"
        with pytest.raises(NotWrittenError, match=said):
            list(spark(sink=Parts(str(tmp_path / "absent"), VIEW))(Job(scan), units(*["answer"] * 9)))

    def test_a_bug_of_the_sink_is_no_death_of_a_worker(self, session, tmp_path):
        unknown = Parts(str(tmp_path), VIEW._replace(format=CSV._replace(writer="structured.absent")))
        with pytest.raises(RuntimeError, match="AttributeError"):
            list(spark(sink=unknown)(Job(scan), units("answer")))


RETRIED = """
import sys
from functools import partial
from kcli.engine.contract import Job
from kcli.engine.spark import spark
from tests.engine_suite import dies_once, units
from tests.kcli.engine.test_spark_sink import VIEW, Parts, rows_in
directory, marker = sys.argv[1:]
work = units(*["answer"] * 31, "die", *["answer"] * 32)
job = Job(partial(dies_once, marker=marker))
outcomes = list(spark("local[2,3]", sink=Parts(directory, VIEW))(job, work))
assert not [outcome.error for outcome in outcomes if outcome.error]
assert rows_in(directory, outcomes) == [(unit, row) for unit in range(64) for row in range(2)]
"""


def test_a_retried_task_writes_no_row_twice(tmp_path):
    (tmp_path / "parts").mkdir()
    line = [sys.executable, "-c", RETRIED, tmp_path / "parts", tmp_path / "marker"]
    done = run_program(line, env=ENVIRONMENT)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "marker").exists()
    begun = [name for name in os.listdir(tmp_path / "parts") if name.startswith(".kcli-")]
    assert begun, "the dead attempt had begun to write"


COMMANDS = [
    ("dump", "--records", "D", "--only", "dump_record"),
    ("epoch", "end-offset", "--epoch", "all", "D", "absent", "--columns", "partition,topic,end_offset"),
    ("rlmm", "dump", "D", "--only", "rlmm_event"),
]


class TestCommands:
    @pytest.fixture
    def ask(self, session, kcli, demo, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        return lambda *words: kcli(*(demo if word == "D" else word for word in words))

    @pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
    def test_parquet_has_the_rows_of_ndjson(self, ask, session, words):
        printed = ask(*words, "-o", "ndjson")
        result = ask(*words, "--out", "x.parquet", "--spark")
        ask(*words, "--out", "one.parquet")
        parts = sorted(Path("x.parquet").glob("part-*.parquet"))
        rows = [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]

        assert (result.stdout, result.stderr, result.exit_code) == ("", printed.stderr, printed.exit_code)
        assert sorted(os.listdir()) == ["one.parquet", "x.parquet"]
        assert sorted(os.listdir("x.parquet")) == ["_SUCCESS", *(part.name for part in parts)]
        plain_rows = columns_without_head(pq.ParquetFile("one.parquet").read()).to_pylist()
        assert list(map(without, rows)) == list(map(without, plain_rows))
        expected = [json.loads(line) for line in printed.stdout.splitlines()]
        expected = [without(row) for row in expected if row["type"] not in {"finding", "error"}]
        assert [without(json.loads(compact(row))) for row in rows] == expected
        by_spark = session.read.parquet(os.path.abspath("x.parquet"))
        assert by_spark.columns == list(rows[0])
        found = [compact(plain(row.asDict(recursive=True))) for row in by_spark.collect()]
        assert sorted(found) == sorted(map(compact, rows))

    @pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
    def test_the_parts_of_ndjson_are_what_stdout_has(self, ask, words):
        printed = ask(*words, "-o", "ndjson")
        ask(*words, "--out", "x.ndjson", "--spark")

        parts = sorted(Path("x.ndjson").glob("part-*"))
        assert without_head("".join(map(Path.read_text, parts))) == printed.stdout

    def test_every_part_of_csv_has_the_header(self, ask):
        printed = ask(*COMMANDS[0], "-o", "csv").stdout
        ask(*COMMANDS[0], "--out", "x.csv", "--spark")
        header, _, rows = printed.partition("\n")
        parts = [without_head(part.read_text()) for part in sorted(Path("x.csv").glob("part-*"))]

        assert len(parts) > 1
        assert {part.partition("\n")[0] for part in parts} == {header}
        assert "".join(part.partition("\n")[2] for part in parts) == rows

    def test_the_directory_of_a_run_has_what_this_process_writes(self, ask, session):
        words = ("dump", "D", "absent", "-o", "parquet", "--out")
        results = [ask(*words, "one/"), ask(*words, "many/", "--spark")]
        tables = [
            {
                str(place.relative_to(name)): [
                    row
                    for file in sorted(place.glob("*.parquet"))
                    for row in columns_without_head(pq.read_table(file)).to_pylist()
                ]
                for place in Path(name).rglob("*=*")
            }
            for name in ("one", "many")
        ]

        assert [result.exit_code for result in results] == [4, 4]
        assert tables[0] == tables[1]
        assert len([rows for rows in tables[0].values() if rows]) > 5
        one, many = (json.loads(Path(name, "run.json").read_text()) for name in ("one", "many"))
        changing = {"arguments", "run", "started_timestamp", "ended_timestamp"}
        assert {**one, **dict.fromkeys(changing)} == {**many, **dict.fromkeys(changing)}
        batches = session.read.parquet(os.path.abspath("many/rows/type=dump_batch"))
        (expected,) = (rows for place, rows in tables[0].items() if place.endswith("type=dump_batch"))
        assert batches.count() == len(expected)

    def test_nothing_that_matches_is_an_empty_table(self, ask, session):
        result = ask(*COMMANDS[0], "--grep", "in no record", "--out", "x.parquet", "--spark")

        assert (result.exit_code, result.stderr) == (0, "")
        assert session.read.parquet(os.path.abspath("x.parquet")).count() == 0

    def test_lines_of_text_are_one_file(self, ask, demo):
        printed = ask("dump", demo / "orders-0", "-o", "text")
        ask("dump", demo / "orders-0", "-o", "text", "--out", "x.txt", "--spark")

        assert Path("x.txt").read_text() == printed.stdout


def plain(value):
    """Return a value of Spark's as pyarrow gives it: bytes, not bytearrays."""
    if isinstance(value, dict):
        return {name: plain(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value


def without(row):
    return {name: value for name, value in row.items() if name not in {*OPEN, "type", "host", "run"}}


def test_an_interrupt_leaves_nothing(log_dir, tmp_path):
    first = log_dir.partition("many-0")
    for number in range(1, 2000):
        os.symlink(first, log_dir.path / f"many-{number}")
    (tmp_path / "here").mkdir()
    ask = ("epoch", "end-offset", "--epoch", "all", log_dir.path, "--out", "x.parquet")
    process = subprocess.Popen(
        [*KCLI, *ask, "--spark-master", "local[1]"],
        cwd=tmp_path / "here",
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list((tmp_path / "here").glob(".kcli-*/*")) and process.poll() is None:
        time.sleep(0.01)
    assert len(of_session(process.pid)) > 2
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=WAIT_SECONDS)

    assert (process.returncode, out, error) == (130, "", "error interrupted: the rows are not complete\n")
    assert os.listdir(tmp_path / "here") == []
    assert is_gone(process.pid)
