"""`--out DIR/`: all that a run gives in one directory, whole or not there; files that are compressed."""

import csv
import json
import os
import socket
import subprocess
import time

import pyarrow.parquet as pq
import pytest

from kcli.output.values import iso
from tests.commands.answers import EXPECTED
from tests.metadata_records import CLUSTER, batch, put_log
from tests.processes import ENVIRONMENT, KCLI

pytestmark = pytest.mark.slow


@pytest.fixture
def log(log_dir):
    """A log dir with a finding and an error: a cut batch, and a path that is not there."""
    folder = log_dir.partition("orders-0")
    log_dir.partition("pay.x-1")
    log = folder / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-1])
    return log_dir.path


def lines(path):
    return [json.loads(line) for file in sorted(path) for line in file.read_text().splitlines()]


def test_rows_findings_errors_and_what_the_run_was(kcli, log, tmp_path):
    out = tmp_path / "runs" / "monday"
    before = time.time_ns() // 1_000_000
    printed = kcli("ls", log, tmp_path / "absent", "-o", "json")
    result = kcli("ls", log, tmp_path / "absent", "--out", f"{out}/", "--label", "host=b1", "--label", "a=")

    assert (result.exit_code, result.stdout) == (printed.exit_code, "") == (4, "")
    document = json.loads(printed.stdout)
    assert sorted(os.listdir(out)) == ["errors", "findings", "rows", "run.json"]
    assert os.listdir(out.parent) == ["monday"]
    record = json.loads((out / "run.json").read_text())
    head = {"host": socket.gethostname(), "run": record.pop("run"), "label_host": "b1", "label_a": ""}
    assert iso(record["started_timestamp"]) == head["run"]
    for name, kind in (("rows", "partition"), ("findings", "finding"), ("errors", "error")):
        written = lines(out.glob(f"{name}/*"))
        assert written == [{"type": kind, **head, **row} for row in document[name]]
        assert all(list(row)[1:5] == [*head] for row in written)
    assert before <= record.pop("started_timestamp") <= record.pop("ended_timestamp")
    assert record.pop("host") and record.pop("kcli_version") and isinstance(record.pop("arguments"), list)
    counts = {
        level: sum(finding["severity"] == level for finding in document["findings"])
        for level in ("info", "warning", "error")
    }
    assert sum(counts.values()) and record == {
        "command": "ls",
        "inputs": 3,
        "answered": 2,
        "rows": 2,
        "findings": counts,
        "errors": 1,
        "exit_status": 4,
        "verdict": "some-unanswered",
        "format": "ndjson",
        "labels": {"host": "b1", "a": ""},
    }


@pytest.mark.parametrize("output", ["ndjson", "csv", "parquet"])
def test_host_run_and_labels_are_columns(kcli, demo, tmp_path, output):
    """Those of runs of a fleet are queried together, whatever they hold."""
    import duckdb

    words = {
        "ls": ("--topic", "orders"),
        "dump": ("--records", "--topic", "orders"),
        "rlmm partition": ("--columns", "label_x,host"),
    }
    for command, more in words.items():
        place = f"{tmp_path}/{command}/rows.{output}" if command == "ls" else f"{tmp_path}/{command}/"
        inputs = "u4NdSfWRQjaZ_ENyxMXLJA:0" if "rlmm" in command else demo
        labels = ("--label", "x=7 a", "--label", "y.z=")
        done = kcli(*command.split(), inputs, *more, "--out", place, "-o", output, *labels)
        assert (done.exit_code, done.stderr) == (0, "")
        pattern = f"{tmp_path}/{command}/{'' if command == 'ls' else 'rows/**/'}*.{output}"
        read = f"read_{'json' if output == 'ndjson' else output}('{pattern}')"
        columns = [name for name in duckdb.sql(f"FROM {read}").columns if name != "type"]
        head = ["label_x", "host"] if "rlmm" in command else ["host", "run", "label_x", "label_y.z"]
        assert columns[: len(head)] == head
        assert duckdb.sql(f"SELECT DISTINCT host, label_x FROM {read}").fetchall() == [
            (socket.gethostname(), "7 a")
        ]


def test_a_column_of_a_row_has_another_name_beside_that_of_the_host(kcli, tmp_path):
    put_log(tmp_path / "data", batch(0, *CLUSTER))
    kcli("metadata", "show", "acls", tmp_path / "data", "--out", tmp_path / "acls.csv")
    header, row = csv.reader((tmp_path / "acls.csv").read_text().splitlines())
    values = dict(zip(header, row, strict=True))
    assert (values["host"], values["acl_host"]) == (socket.gethostname(), "*")


def test_the_columns_of_a_query_are_its_own(kcli, log, tmp_path):
    words = ("sql", "SELECT host FROM offsets", log, "--out")
    assert kcli(*words, tmp_path / "x.csv").exit_code == 0
    assert (tmp_path / "x.csv").read_text().partition("\n")[0] == "host"
    refused = kcli(*words, tmp_path / "y.csv", "--label", "a=b")
    assert (refused.exit_code, refused.stderr) == (
        *(2, "kcli: --label: the columns of sql are those of its query; name it there\n"),
    )


def test_findings_go_to_a_new_directory(kcli, log, tmp_path):
    kcli("ls", log, "--findings", tmp_path / "a/b/f.ndjson")

    found = (tmp_path / "a/b/f.ndjson").read_text().splitlines()
    assert {json.loads(line)["type"] for line in found} == {"finding"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *(
            (["--out", "x/", "-o", word], f"--out x/: a directory has ndjson, csv or parquet, not {word}")
            for word in ("json", "text", "ndjson.zst")
        ),
        (["--out", "x.ndjson.gz"], f"--out x.ndjson.gz: {EXPECTED}"),
        *(
            (
                ["--out", word, "-o", form, "--label", "a=b"],
                f"--label is for rows: --out NAME/ or FILE.parquet, .csv, .ndjson, not {word}",
            )
            for word, form in (("x.txt", "text"), ("x.prom", "prometheus"))
        ),
        (["--label", "a=b"], "--label is for the rows of --out"),
        (["--out", "x/", "--label", "a"], "--label a: expected KEY=VALUE, the key of letters, digits, _ . -"),
        (["--out", "x/", "--label", "a=1", "--label", "a=2"], "--label a=2: a has a value already"),
    ],
)
def test_wrong_words_are_usage_errors(kcli, demo, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = kcli("ls", demo, *words)

    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"kcli: {message}\n")
    assert os.listdir(tmp_path) == []


def test_a_directory_with_something_in_it_is_refused_and_an_empty_one_is_taken(kcli, demo, tmp_path):
    (tmp_path / "x").mkdir()
    assert kcli("ls", demo, "--out", f"{tmp_path}/x/").exit_code == 0
    kept = (tmp_path / "x/run.json").read_bytes()
    again = kcli("ls", demo, "--out", f"{tmp_path}/x/")

    assert (again.exit_code, (tmp_path / "x/run.json").read_bytes()) == (5, kept)
    assert "this is a directory; remove it, or choose another name" in again.stderr


@pytest.mark.parametrize("place", ["", "orders-0/", "orders-0/new/"])
def test_a_log_dir_is_never_written(kcli, log, place):
    before = sorted(log.rglob("*"))
    result = kcli("ls", log, "--out", f"{log}/{place}x/")

    assert (result.exit_code, sorted(log.rglob("*"))) == (5, before)
    assert "is a log dir or a partition directory, and kcli never writes there" in result.stderr


@pytest.mark.parametrize("output", ["ndjson", "csv", "parquet"])
@pytest.mark.parametrize("command", ["ls", "scan", "dump"])
def test_a_run_that_answers_nothing_leaves_its_errors_and_its_status(kcli, log, tmp_path, command, output):
    absent = kcli(command, tmp_path / "absent", "--out", f"{tmp_path}/new/x/", "-o", output)
    other = kcli(command, log, "--topic", "order", "--out", f"{tmp_path}/new/y/", "-o", output)

    assert (absent.exit_code, other.exit_code) == (3, 3)
    for name, word in (("x", "absent"), ("y", "did you mean orders?")):
        run = tmp_path / "new" / name
        record = json.loads((run / "run.json").read_text())
        assert [record[key] for key in ("rows", "answered", "errors", "exit_status", "verdict")] == [
            *(0, 0, 1, 3, "nothing-answered")
        ]
        (errors,) = (run / "errors").iterdir()
        assert word in str(pq.read_table(errors).to_pylist() if output == "parquet" else errors.read_text())
        assert not any(file.stat().st_size for file in run.glob("rows/**/*.ndjson"))


def test_a_run_that_answers_nothing_leaves_no_file(kcli, tmp_path):
    assert kcli("ls", tmp_path / "absent", "--out", f"{tmp_path}/new/x.csv").exit_code == 3
    assert not any((tmp_path / "new").rglob("*"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["inline", "stderr", "none"])
def test_a_directory_may_have_the_name_of_a_place_of_findings(kcli, demo, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)

    assert kcli("ls", demo, "--findings", name, "--out", f"{name}/").exit_code == 0
    assert (tmp_path / name / "run.json").exists()


def test_a_run_that_is_killed_leaves_no_directory_of_that_name(demo, tmp_path):
    words = [*KCLI, "dump", "--records", *[str(demo)] * 2000, "--out", f"{tmp_path}/x/"]
    process = subprocess.Popen(words, env=ENVIRONMENT)
    while not any(tmp_path.rglob("rows")):
        time.sleep(0.01)
    process.kill()
    process.wait()

    assert not (tmp_path / "x").exists()
