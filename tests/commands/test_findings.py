"""`--findings`: where findings go."""

import csv
import json
import os
import re

import pyarrow.parquet as pq
import pytest

from tests.processes import KCLI
from tests.terminal import terminal


@pytest.fixture
def damaged(log_dir):
    """A partition whose producer snapshot, index and log do not fit: findings of all levels."""
    log = log_dir.partition("orders-0") / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    return log_dir.path


def codes(findings):
    return [finding["code"] for finding in findings]


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
    assert [{key: line[key] for key in line if key != "type"} for line in lines] == expected
    rows = list(csv.DictReader((tmp_path / "found.csv").read_text().splitlines()))
    assert codes(rows) == codes(expected)
    table = pq.read_table(tmp_path / "found.parquet").to_pylist()
    assert [(finding["code"], finding["path"], finding["position"]) for finding in table] == [
        (finding["code"], finding["path"], finding["position"]) for finding in expected
    ]
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 1
    assert kcli("scan", damaged, "-q", "--findings", tmp_path / "quiet.csv").exit_code == 1
    assert (tmp_path / "quiet.csv").read_bytes() == (tmp_path / "found.csv").read_bytes()


@pytest.mark.parametrize("command", ["scan", "ls", "check", "dump"])
def test_a_file_is_a_base_name_and_its_path_is_whole(kcli, damaged, command):
    index = damaged / "orders-0" / f"{0:020}.index"
    index.write_bytes(index.read_bytes() + b"\0")
    (damaged / "orders-0" / "what.snapshot").write_bytes(b"x")
    (damaged / "recovery-point-offset-checkpoint").write_text("0\n1\nx\n")
    found = json.loads(kcli(command, damaged, "-o", "json").stdout)["findings"]
    named = [(finding["file"], finding["path"]) for finding in found if finding["file"] is not None]

    assert named
    assert all(os.path.basename(path) == file and path.startswith(str(damaged)) for file, path in named)


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


def on_terminal(*words, **environment):
    """Return the lines of stderr on a terminal of 60 columns, and the escapes of colours apart."""
    command = [*KCLI, *words]
    shown, _, _ = terminal(command, stream="stderr", columns=60, COLUMNS="", **environment)
    text = shown.decode().replace("\r\n", "\n")
    return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines(), re.findall(r"\x1b\[[0-9;]*m", text)


def test_a_drawing_concludes_from_findings_that_are_shown_nowhere(kcli, damaged):
    for command in (("check",), ("scan", "--summary")):
        words = (*command, damaged, "-o", "table")
        assert kcli(*words, "--findings", "none").stdout == kcli(*words).stdout
        assert kcli(*words, "--findings", "stderr").stdout == kcli(*words).stdout


@pytest.mark.slow
def test_a_terminal_shows_findings_by_code_in_lines_that_fit(log_dir):
    for number in range(15):
        log = log_dir.partition(f"orders-{number}") / f"{0:020}.log"
        data = bytearray(log.read_bytes())
        data[-1] ^= 1
        log.write_bytes(data)
    lines, colors = on_terminal("scan", log_dir.path, "-o", "tsv")
    heads = [line for line in lines if not line.startswith(" ")]

    assert heads == ["error LOG-003 (15): A batch does not match its checksum or"]
    assert lines[-1] == "  5 more: -v lists them"
    assert all(len(line) <= 60 or line.strip().startswith(str(log_dir.path)) for line in lines)
    assert colors == ["\x1b[1;31m", "\x1b[0m"]
    assert on_terminal("scan", log_dir.path, "-o", "tsv", NO_COLOR="1") == (lines, [])
    explained, _ = on_terminal("scan", log_dir.path, "-o", "tsv", "-v")
    assert sum(line.startswith("  what to do: ") for line in explained) == 1
    (error,) = on_terminal("ls", "no-such-dir")[0]
    assert error == "error no-such-dir: no such file or directory"


def test_who_explains_findings_is_not_told_how(kcli, demo):
    last = [
        kcli("ls", *more, "-o", "table", demo / "clicks-0").stdout.splitlines()[-1] for more in ([], ["-v"])
    ]
    assert last == ["1 note: -v shows them.", "1 note."]
