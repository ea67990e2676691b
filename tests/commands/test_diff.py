"""`kcli diff`: two runs of one command, partition by partition, and directories that are none."""

import json
import shutil

import pytest

CUT = 100
"""Bytes that are cut from a log."""


@pytest.fixture
def runs(kcli, log_dir, tmp_path):
    """Keep runs of a command, between which partitions grow, shrink, come and go; return their paths."""
    kept = {}

    def run(command, *more):
        if (command, more) in kept:
            return kept[command, more]
        places = [f"{tmp_path}/{command}-{number}" for number in (1, 2)]
        shutil.rmtree(log_dir.path)
        log_dir.path.mkdir()
        (log_dir.path / "meta.properties").write_text(
            "version=1\ncluster.id=d4AOWUsZhgy8XcdU-9gSlQ\nnode.id=1\n"
        )
        for name in ("same-0", "cut-0", "gone-0", "grown-0"):
            log_dir.partition(name)
        kcli(command, log_dir.path, "--out", f"{places[0]}/", *more)
        shutil.rmtree(log_dir.path / "gone-0")
        shutil.rmtree(log_dir.path / "grown-0")
        log_dir.partition("grown-0", end=45)
        log_dir.partition("new-0")
        log = log_dir.path / "cut-0" / f"{0:020}.log"
        log.write_bytes(log.read_bytes()[:-CUT])
        (log_dir.path / "recovery-point-offset-checkpoint").write_text("0\n1\ncut 0 40\n")
        kcli(command, log_dir.path, "--out", f"{places[1]}/", *more)
        kept[command, more] = places
        return places

    return run


def rows_of(result):
    document = json.loads(result.stdout)
    codes = [finding["code"] for finding in document["findings"]]
    return {row["topic"]: row for row in document["rows"]}, codes


@pytest.mark.slow
@pytest.mark.parametrize("output", ["ndjson", "parquet"])
@pytest.mark.parametrize("command", ["ls", "startup", "scan", "check"])
def test_what_became_of_each_partition(kcli, runs, command, output):
    result = kcli("diff", *runs(command, "-o", output), "-o", "json")
    rows, found = rows_of(result)

    cut = "shrunk" if command == "check" else "rewritten"  # it keeps no epochs
    verdicts = {"cut": cut, "gone": "gone", "grown": "grown", "new": "new"}
    assert {row["topic"]: row["verdict"] for row in rows.values() if row["topic"]} == verdicts
    assert {"DIFF-003", "DIFF-006"} <= set(found)
    assert "DIFF-002" in found or command in {"ls", "startup"}
    assert result.exit_code == 1
    assert "LOG-001" in rows["cut"]["findings_new"]
    every, _ = rows_of(kcli("diff", *runs(command, "-o", output), "--all", "-o", "json"))
    assert every["same"]["verdict"] == "unchanged"
    assert [rows["cut"][name] for name in ("log_end_offset_before", "log_end_offset_after")] == [40, 25]
    assert [rows["new"][name] for name in ("log_end_offset_before", "log_end_offset_after")] == [None, 40]


def test_a_run_is_like_itself(kcli, runs):
    first, _ = runs("scan")

    result = kcli("diff", first, first, "-o", "json")
    assert (result.exit_code, *rows_of(result)) == (0, {}, [])


def test_a_partition_that_could_not_be_read_is_not_gone(kcli, runs, tmp_path):
    first, last = runs("ls")
    (file,) = (tmp_path / "ls-1/rows").iterdir()
    (row,) = [json.loads(line) for line in file.read_text().splitlines() if '"gone"' in line]
    error = {"type": "error", "path": row["dir"], "error": "unreadable", "position": None, "field": None}
    (tmp_path / "ls-2/errors/errors.ndjson").write_text(json.dumps({**error, "message": "no access"}) + "\n")

    rows, found = rows_of(kcli("diff", first, last, "-o", "json"))
    assert (rows["gone"]["verdict"], rows["gone"]["result_after"]) == ("damaged", "unreadable")
    assert "DIFF-006" not in found


def test_a_log_dir_that_the_later_run_could_not_read(kcli, log_dir, tmp_path):
    log_dir.partition("orders-0")
    kcli("ls", log_dir.path, "--out", f"{tmp_path}/one/")
    shutil.rmtree(log_dir.path)
    assert kcli("ls", log_dir.path, "--out", f"{tmp_path}/two/").exit_code == 3
    rows, found = rows_of(kcli("diff", tmp_path / "one", tmp_path / "two", "-o", "json"))

    assert (rows["orders"]["verdict"], rows["orders"]["result_after"]) == ("damaged", "unreadable")
    assert "DIFF-001" in found


def test_a_topic_that_is_not_there_is_about_no_partition(kcli, log_dir, tmp_path):
    for name in ("orders-0", "gone-0"):
        log_dir.partition(name)
    words = ("ls", log_dir.path, "--topic")
    kcli(*words, "orders,gone", "--out", f"{tmp_path}/one/")
    shutil.rmtree(log_dir.path / "gone-0")
    assert kcli(*words, "orders,gone", "--out", f"{tmp_path}/two/").exit_code == 4
    assert kcli(*words, "gone", "--out", f"{tmp_path}/three/").exit_code == 3
    rows, _ = rows_of(kcli("diff", tmp_path / "one", tmp_path / "two", "-o", "json"))
    refused = kcli("diff", tmp_path / "one", tmp_path / "three")

    assert {topic: row["verdict"] for topic, row in rows.items()} == {"gone": "gone"}
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert f"{tmp_path}/three: this run read nothing: no partition or file here" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "status", "message"),
    [
        ("run.json", None, 3, "run.json: not there; expected a directory that --out NAME/"),
        ("run.json", "[]", 3, "run.json: this is not what --out NAME/ writes"),
        ("run.json", '{"command": ["ls"], "started_timestamp": "x"}', 3, "run.json: this is not what"),
        (
            "run.json",
            '{"command": "dump", "started_timestamp": 1}',
            3,
            "expected one of ls, check, scan, startup",
        ),
        ("run.json", '{"command": "scan", "started_timestamp": 1}', 2, "compare runs of one"),
        ("run.json", '{"command": "ls", "started_timestamp": 1}', 2, "is the later run"),
        ("rows/part-9.ndjson", "{}\n[]", 3, "line 2: expected a JSON object"),
        ("rows/part-9.parquet", "PAR1", 3, "part-9.parquet: "),
        ("rows/part-9.csv", "", 3, "expected a run that was written with -o ndjson"),
        ("rows/part-9.ndjson", '{"dir": "d", "topic": null}', 3, "rows: this is not what --out NAME/ writes"),
        ("findings/x.ndjson", '{"dir": "d", "path": null, "severity": "x"}', 3, "findings: this is not what"),
        ("errors/x.ndjson", '{"path": 3}', 3, "errors: this is not what"),
    ],
)
def test_directories_that_are_no_runs(kcli, runs, tmp_path, file, text, status, message):
    first, last = runs("ls")
    path = tmp_path / "ls-2" / file
    path.unlink() if text is None else path.write_text(text)

    result = kcli("diff", first, last)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_of_a_directory_the_last_two_of_each_kind_are_compared(kcli, log_dir, tmp_path):
    """Others between them are of another command or label, or read nothing; some are alone."""
    log_dir.partition("orders-0")
    nights = tmp_path / "nights"

    def night(name, *words, command="ls", paths=(log_dir.path,)):
        kcli(command, *paths, "--out", f"{nights}/{name}/", *words)

    def asked():
        result = kcli("diff", f"{nights}/", "-o", "json")
        named = [line.split()[1].removeprefix(f"{nights}/") for line in result.stderr.splitlines()]
        return result.exit_code, named, result

    night("z", "--label", "rack=1")
    night("dump", command="dump")
    (nights / "state").mkdir()
    (nights / ".going-on" / "rows").mkdir(parents=True)
    status, _, alone = asked()
    assert (status, json.loads(alone.stdout)["rows"]) == (3, [])
    assert f"one run of its kind alone, {nights}/z (ls of " in alone.stderr and "rack=1)" in alone.stderr
    night("y", "--label", "rack=2")
    night("x", command="startup")
    shutil.rmtree(log_dir.path / "orders-0")
    night("w", "--label", "rack=1", paths=(tmp_path / "absent",))
    night("v", "--label", "rack=1")
    status, named, result = asked()
    assert (status, named) == (0, ["z", "v", "y", "x"])
    assert rows_of(result)[0]["orders"]["verdict"] == "gone"
    words = [line.split()[0] for line in result.stderr.splitlines()]
    assert words == ["before", "now", "alone", "alone"]
    assert kcli("diff", nights, "-q").stderr == ""
    (nights / "v" / "run.json").unlink()
    done = kcli("diff", nights)
    assert done.exit_code == 3 and f"{nights}/v/run.json: not there; expected" in done.stderr


def test_a_damaged_host_is_not_hidden_by_a_newer_run_of_another(kcli, log_dir, tmp_path):
    log = log_dir.partition("orders-0") / f"{0:020}.log"
    whole = log.read_bytes()
    nights = tmp_path / "nights"
    for host in ("b", "a"):
        for number in (1, 2):
            log.write_bytes(whole[:-CUT] if (host, number) == ("b", 2) else whole)
            kcli("check", log_dir.path, "--out", f"{nights}/{host}{number}/", "--label", f"host={host}")
    result = kcli("diff", nights, "-o", "json")
    assert result.exit_code == 1
    assert rows_of(result)[0]["orders"]["verdict"] == "shrunk"
    messages = [finding["message"] for finding in json.loads(result.stdout)["findings"]]
    assert messages and all(text.endswith(" host=b)") for text in messages)
    (nights / "a2" / "rows" / "part-9.csv").touch()
    result = kcli("diff", nights, "-o", "json")
    assert result.exit_code == 4 and "expected a run that was written with" in result.stderr
    (nights / "b2" / "rows" / "part-9.csv").touch()
    assert kcli("diff", nights, "-q").exit_code == 3


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("", "no run of ls, check, scan, startup in it; keep one a night: --out NAME/"),
        ("absent", "absent: no such file or directory"),
        ("one", "one: one run; name an earlier one before it, or the directory around both"),
    ],
)
def test_directories_without_two_runs(kcli, tmp_path, place, message):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "run.json").write_text('{"command": "dump", "started_timestamp": 1}')
    result = kcli("diff", tmp_path / place)
    assert (result.exit_code, result.stdout) == (3, "")
    assert message in result.stderr
