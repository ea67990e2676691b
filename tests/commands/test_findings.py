"""`--findings`: where findings go."""

import csv
import json

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def damaged(log_dir):
    """A partition whose producer snapshot, index and log do not fit: findings of all levels."""
    log = log_dir.partition("orders-0") / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    return log_dir.path


def codes(findings):
    return [one["code"] for one in findings]


@pytest.fixture
def expected(kcli, damaged):
    findings = json.loads(kcli("scan", damaged, "-o", "json").stdout)["findings"]
    assert "LOG-003" in codes(findings)
    return findings


def test_on_stderr_or_nowhere(kcli, damaged, expected):
    inline = kcli("scan", damaged, "-o", "json")
    for word in ("stderr", "none"):
        done = kcli("scan", damaged, "-o", "json", "--findings", word)
        document = json.loads(done.stdout)
        assert (document["findings"], done.exit_code) == ([], inline.exit_code)
        assert document["rows"] == json.loads(inline.stdout)["rows"]
        assert ("LOG-003" in done.stderr) == (word == "stderr")
    assert "LOG-003" in kcli("scan", damaged, "-o", "tsv").stderr
    assert kcli("scan", damaged, "-o", "tsv", "--findings", "none").stderr == ""


def test_in_a_file_beside_rows_of_any_format(kcli, damaged, expected, tmp_path):
    for name in ("found.ndjson", "found.csv", "found.parquet"):
        done = kcli(
            "scan", damaged, "--out", tmp_path / "rows.parquet", "--summary", "--findings", tmp_path / name
        )
        assert (done.exit_code, done.stderr) == (1, "")
    lines = [json.loads(line) for line in (tmp_path / "found.ndjson").read_text().splitlines()]
    assert [{key: one[key] for key in one if key != "type"} for one in lines] == expected
    rows = list(csv.DictReader((tmp_path / "found.csv").read_text().splitlines()))
    assert codes(rows) == codes(expected)
    table = pq.read_table(tmp_path / "found.parquet").to_pylist()
    assert [(one["code"], one["path"], one["position"]) for one in table] == [
        (one["code"], one["path"], one["position"]) for one in expected
    ]
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 1


def test_quiet_writes_the_file(kcli, damaged, expected, tmp_path):
    assert kcli("scan", damaged, "-q", "--findings", tmp_path / "found.csv").exit_code == 1
    assert codes(csv.DictReader((tmp_path / "found.csv").read_text().splitlines())) == codes(expected)


@pytest.mark.parametrize(
    ("word", "status", "message"),
    [
        ("inlin", 2, "did you mean inline?"),
        ("found.txt", 2, "ends in .ndjson, .csv, .parquet"),
        ("data/found.csv", 5, "never writes there"),
        ("data/orders-0/found.csv", 5, "never writes there"),
    ],
)
def test_places_that_cannot_be(kcli, damaged, monkeypatch, word, status, message):
    monkeypatch.chdir(damaged.parent)
    (damaged / "meta.properties").touch()
    result = kcli("scan", damaged, "--findings", word)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
