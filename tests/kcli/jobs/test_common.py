"""What every job reports beside its rows: files of the log dir, strange directories and names."""

import json
import os
import re
import time

import pytest

from kcli.cli import run
from kcli.jobs import common, ls, truncate
from kcli.jobs import epoch as epoch_jobs
from kcli.jobs.common import answer
from kcli.jobs.log_pass import scan
from kcli.kafka.findings.findings import Finding
from kcli.logdir.buffers import DataFile, FileError
from kcli.logdir.find import find
from kcli.logdir.targets import Selection
from tests.partitions import codes, log_dir, orders, put_range, rows, segment, unit

pytestmark = pytest.mark.moving

RECOVERY_POINT = "recovery-point-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        (RECOVERY_POINT, "0\n5\n", "DIR-005"),
        ("log-start-offset-checkpoint", "x", "DIR-005"),
        (HIGH_WATERMARK, "0\n2\norders 0 3\n", "DIR-005"),
        ("meta.properties", "version=7\n", "DIR-005"),
        ("meta.properties", "\x00\x01 \xff\n", "DIR-008"),
        ("meta.properties", "cluster.id=x\n", "DIR-008"),
        (RECOVERY_POINT, None, "LOG-012"),
    ],
)
def test_files_of_the_log_dir_that_cannot_be_used(tmp_path, name, content, code):
    directory = orders(tmp_path / "d", put_range(0, 5))
    path = directory.parent / name
    path.unlink(missing_ok=True)
    if content is None:
        path.mkdir()
    else:
        path.write_text(content)
    outcome = ls.ls(unit(directory))
    assert len(outcome.rows) == 1
    severity = "warning" if code == "DIR-008" else "error"
    of_log_dir = [finding for finding in outcome.findings if finding.dir == str(directory.parent)]
    codes = [(finding.code, finding.path, finding.severity) for finding in of_log_dir]
    assert codes == [(code, str(path), severity)]


def test_they_are_reported_beside_an_error_too(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 5))
    (directory.parent / HIGH_WATERMARK).write_text("0\n2\norders 0 3\n")
    outcome = truncate.dry_run(unit(directory), request=truncate.Request(now_ms=0, to_high_watermark=True))
    assert outcome.error.error == "unknown-high-watermark"
    assert "DIR-005" in codes(outcome)


def test_a_directory_that_holds_nothing_of_kafka(tmp_path):
    directory = log_dir(tmp_path / "d") / "lib-1"
    directory.mkdir()
    (directory / "readme.txt").write_text("hi")
    assert ls.ls(unit(directory.parent)).error.error == "not-a-partition"
    assert epoch_jobs.show(unit(directory.parent)).error.error == "not-a-partition"


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ("foo.log", True),
        ("1_0.log", True),
        ("9223372036854775808.log", True),
        (".log", True),
        # Long.parseLong reads these
        ("+9.log", False),
        ("\u0663.log", False),
        ("-9.log", False),
        ("x.swap", True),
        (".swap", True),
        ("x.cleaned", True),
        ("x.index.cleaned", True),
        ("x.timeindex.swap", True),
        ("x.log.deleted", False),
        ("x.tmp", False),
        ("swap", False),
    ],
)
def test_a_log_whose_name_is_no_offset(kcli, tmp_path, name, is_told):
    directory = orders(tmp_path / "d", put_range(0, 5))
    (directory / name).write_bytes(b"")
    message = "the name does not begin with an offset"
    found = epoch_jobs.show(unit(directory)).findings
    assert [(finding.code, finding.file) for finding in found if finding.message == message] == [
        ("LOG-010", name)
    ] * is_told

    found = json.loads(kcli("scan", directory, "-o", "json").stdout)["findings"]
    assert [finding["file"] for finding in found if finding["message"] == message] == [name] * is_told


@pytest.mark.parametrize(
    "name", ["9.log", "+900.log", "\u0669.log", "-1.log", f"{9:020d}.old.log", f"{9:021d}.log"]
)
def test_a_log_of_another_name_than_a_broker_opens(kcli, tmp_path, name):
    """It begins an empty segment there: without this one, answers are about a log that no broker has."""
    directory = orders(tmp_path / "d", put_range(0, 5))
    (directory / name).write_bytes(put_range(9, 5))
    for words in (
        ("ls",),
        ("epoch", "show"),
        ("epoch", "end-offset", "--epoch", "0"),
        ("lookup", "offset", "9"),
        ("truncate", "--dry-run", "--to-offset", "3"),
    ):
        done = kcli(*words, directory, "-o", "json")
        found = json.loads(done.stdout)
        assert (words, [error["error"] for error in found["errors"]]) == (words, ["unsupported"])
        assert [row["log_end_offset"] for row in found["rows"]] == ([None] if words == ("ls",) else [])
        assert [
            (finding["code"], finding["file"])
            for finding in found["findings"]
            if finding["code"] == "LOG-010"
        ] == [("LOG-010", name)]
        assert done.exit_code == (4 if words == ("ls",) else 3)


@pytest.mark.parametrize(
    ("names", "reported"),
    [
        (["99.log", f"{99:020d}.log.swap"], []),
        (["99.log", f"{99:020d}.log.swap", f"{27:020d}.log.cleaned"], ["99.log"]),
        (["99.log.swap", f"{27:020d}.log.cleaned"], []),
        (["9223372036854775807.log.swap"], []),
        (["99.log.swap", f"{100:020d}.log.cleaned"], ["99.log.swap"]),
    ],
)
def test_what_a_start_makes_of_names_counts(kcli, tmp_path, names, reported):
    directory = orders(tmp_path / "d", put_range(0, 5))
    for name in names:
        (directory / name).write_bytes(b"")
    for words in (("ls",), ("scan",), ("epoch", "show"), ("truncate", "--dry-run", "--to-offset", "3")):
        found = json.loads(kcli(*words, directory, "-o", "json").stdout)
        assert (
            words,
            [finding["file"] for finding in found["findings"] if finding["code"] == "LOG-010"],
        ) == (words, reported)
        errors = [error["error"] for error in found["errors"]]
        assert errors == (["unsupported"] if reported and words != ("scan",) else []), words


@pytest.mark.parametrize(
    ("name", "is_complete"),
    [("x.log", False), ("x.log.swap", False), ("9.log", False), ("x.index", True), ("x.swap", True)],
)
def test_a_log_that_is_not_read_is_missing_from_a_scan(kcli, tmp_path, name, is_complete):
    directory = orders(tmp_path / "d", put_range(0, 5))
    (directory / name).write_bytes(b"")
    found = json.loads(kcli("scan", directory, "-o", "json").stdout)["rows"]
    assert [row["is_complete"] for row in found if "is_complete" in row] == [is_complete]


@pytest.mark.parametrize("name", ["x.swap", "42.old.log", "87.log"])
def test_unexpected_names_beside_remote_log_metadata(kcli, tmp_path, name):
    directory = log_dir(tmp_path / "d") / "__remote_log_metadata-0"
    segment(directory, 0, b"")
    (directory / name).mkdir() if name == "87.log" else (directory / name).write_bytes(b"")
    done = kcli("rlmm", "dump", directory, "-o", "json")
    code = {"x.swap": "LOG-010", "42.old.log": "LOG-010", "87.log": "LOG-012"}[name]
    assert [(found["code"], found["file"]) for found in json.loads(done.stdout)["findings"]] == [(code, name)]
    assert done.exit_code == 1


def test_names_of_tiered_storage_are_expected(kcli, tmp_path):
    uuid = "yW3JJjv6TtONh_sVFuEf3g"
    directory = tmp_path / f"orders-0-{uuid}"
    directory.mkdir()
    for kind in ("log", "index", "timeindex", "snapshot", "leader_epoch_checkpoint"):
        (directory / f"{0:020d}-{uuid}.{kind}").write_bytes(b"0\n0\n" if "epoch" in kind else b"")
    for command in ("ls", "scan", "dump"):
        done = kcli(command, directory, "-o", "json")
        assert not re.search("LOG-01|not-a-log-dir", done.stdout)
    directory.rename(tmp_path / "orders-0")
    (tmp_path / "orders-0" / f"{0:020d}.log").write_bytes(b"")  # now it is a partition's directory
    assert "LOG-010" in kcli("dump", tmp_path / "orders-0", "-o", "json").stdout


def test_a_snapshot_outside_a_partition_is_unknown(tmp_path):
    directory = log_dir(tmp_path / "d")
    segment(directory / "orders-0", 0)
    (directory / "x.snapshot").write_bytes(b"")
    assert [(note.kind, note.path) for note in find([str(directory)], Selection()).notes] == [
        ("unknown", str(directory / "x.snapshot"))
    ]


def test_a_copy_beside_the_log_of_its_offset_is_no_segment(tmp_path):
    directory = orders(tmp_path / "d", put_range(0, 5))
    before = rows(ls.ls(unit(directory)))
    (directory / "0.log").write_bytes(b"")
    assert rows(ls.ls(unit(directory))) == [before[0] | {"leftovers": before[0]["leftovers"] + 1}]


def test_a_topic_of_bytes_that_are_not_utf8(tmp_path):
    directory = log_dir(tmp_path / "d") / "n\udcff-0"
    segment(directory, 0, put_range(0, 1))
    (row,) = rows(ls.ls(unit(directory)))
    assert row["topic"] == "n%FF"


@pytest.fixture
def three(tmp_path):
    """Three segments of orders-0."""
    directory = orders(tmp_path / "d", put_range(0, 5))
    segment(directory, 5, put_range(5, 5))
    segment(directory, 10, put_range(10, 5))
    return directory


def test_an_answer_is_tried_again_where_a_file_was_removed(three):
    attempts = []

    def work(partition):
        files = partition.names
        attempts.append(files)
        if len(attempts) == 1:
            (three / f"{5:020}.log").rename(three / f"{5:020}.log.deleted")
        for name in files:
            with DataFile(os.path.join(partition.path, name)):
                continue
        return []

    outcome = answer(unit(three), work)
    assert (outcome.error, outcome.findings, len(attempts)) == (None, [], 2)


def test_an_answer_about_a_directory_that_does_not_change_is_given_at_once(three):
    time.sleep(0.05)
    attempts = []

    def work(partition):
        attempts.append(partition)
        raise FileError(os.path.join(partition.path, "x"), "no-permission", "permission denied")

    outcome = answer(unit(three), work)
    assert (outcome.error.error, len(attempts)) == ("no-permission", 1)


def test_an_answer_that_never_meets_a_quiet_moment_ends_in_one_finding_for_each_place(three):
    def work(partition):
        (three / "busy").touch()
        with DataFile(os.path.join(partition.path, "gone.log")):
            return []

    outcome = answer(unit(three), work)
    assert (outcome.rows, outcome.error) == ([], None)
    assert [(found.code, found.dir, found.file) for found in outcome.findings] == [
        ("LOG-014", str(three), "gone.log")
    ]


def test_an_answer_about_a_file_that_shrank_is_tried_again(three):
    attempts = []

    def work(partition):
        attempts.append(partition)
        with DataFile(str(three / f"{0:020}.log")) as file:
            if len(attempts) == 1:
                os.truncate(file.path, 10)
            file.read(0, file.size)
        return []

    outcome = answer(unit(three), work)
    assert (outcome.error, outcome.findings, len(attempts)) == (None, [], 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["scan", "scan --summary", "dump", "dump --records", "dump --layout", "scan --jobs 2", "dump --jobs 2"],
)
def test_a_segment_that_is_removed_after_it_was_listed_is_one_finding_and_the_rest_is_answered(
    three, kcli, words, monkeypatch
):
    """Removed between listing and reading, as retention does: from the first target to be read."""
    planned = common.plan

    def plan_and_remove(found, accepts):
        for extension in ("log", "index", "timeindex"):
            (three / f"{5:020}.{extension}").unlink()
        return planned(found, accepts)

    monkeypatch.setattr(run, "plan", plan_and_remove)
    done = kcli(*words.split(), three.parent, "-o", "json", "--fail-on", "warning")
    reported = json.loads(done.stdout)
    assert (done.exit_code, reported["errors"]) == (0, [])
    found = [(finding["code"], finding["file"]) for finding in reported["findings"]]
    assert all(finding["path"] == str(three / finding["file"]) for finding in reported["findings"])
    files = ["log"] if words.startswith("scan") else ["index", "log", "timeindex"]
    assert found == [("LOG-014", f"{5:020}.{extension}") for extension in files]
    assert [row["base_offset"] for row in reported["rows"] if row["type"] == "scan_segment"] == (
        [0, 10] if words in {"scan", "scan --jobs 2"} else []
    )


def truncating(monkeypatch, log, size, times):
    """Truncate a log to ever smaller sizes, just before it is read, so many times."""
    read_into, left = DataFile.read_into, [*range(times)]

    def truncate_and_read(file, view, position):
        if file.path == str(log) and left:
            os.truncate(log, size - 10 * (times - len(left)))
            left.pop()
        read_into(file, view, position)

    monkeypatch.setattr(DataFile, "read_into", truncate_and_read)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["scan"], ["check"]])
def test_a_log_that_is_truncated_while_it_is_read_is_read_anew(three, kcli, words, monkeypatch):
    log = three / f"{10:020}.log"
    log.write_bytes(put_range(10, 5) + put_range(15, 5) + put_range(20, 5))
    truncating(monkeypatch, log, len(put_range(10, 5)) + 10, 1)
    answered = kcli(*words, three.parent, "-o", "json")
    document = json.loads(answered.stdout)
    assert document["errors"] == [] and "LOG-001" in {finding["code"] for finding in document["findings"]}
    found = [row["batches"] for row in document["rows"] if row.get("type") != "scan_segment"]
    assert found[0] == 3


@pytest.mark.slow
@pytest.mark.parametrize("words", ["scan", "check", "dump", "dump --records", "dump --layout"])
def test_a_log_that_shrinks_each_time_is_an_error_and_damage_that_was_found_stays(
    three, kcli, words, monkeypatch
):
    first = three / f"{0:020}.log"
    first.write_bytes(first.read_bytes()[:-1] + b"?")
    log = three / f"{10:020}.log"
    log.write_bytes(b"".join(put_range(base, 5) for base in range(10, 200, 5)))
    truncating(monkeypatch, log, log.stat().st_size - 1000, 100)
    answered = kcli(*words.split(), three.parent, "-o", "json")
    document = json.loads(answered.stdout)
    assert (answered.exit_code, [error["error"] for error in document["errors"]]) == (4, ["changed"])
    codes = {finding["code"] for finding in document["findings"]}
    assert "LOG-003" in codes and "LOG-005" not in codes
    if words == "check":
        assert [row["result"] for row in document["rows"] if row["topic"]] == ["damaged"]


def test_a_segment_that_was_merged_into_the_one_before_while_both_were_read_is_no_overlap(
    three, kcli, monkeypatch
):
    """As compaction does: the segment before, read late, holds what the removed one held."""
    (three / f"{0:020}.log").write_bytes(put_range(0, 5) + put_range(5, 5))
    read = scan.scan_log

    def read_and_remove(file, *words, **more):
        piece = read(file, *words, **more)
        if file.path.endswith(f"{5:020}.log"):
            os.rename(file.path, f"{file.path}.deleted")
        return piece

    answered = kcli("scan", three.parent, "-o", "json")
    assert [found["code"] for found in json.loads(answered.stdout)["findings"]] == ["LOG-017"]
    monkeypatch.setattr(scan, "scan_log", read_and_remove)
    answered = kcli("scan", three.parent, "-o", "json")
    assert [found["code"] for found in json.loads(answered.stdout)["findings"]] == ["LOG-014"]


def test_a_finding_that_the_question_calls_for_is_no_reason_to_read_again(three):
    attempts = []

    def work(partition):
        attempts.append(partition)
        (three / "busy").touch()
        return [Finding("TRUNC-002", "x", dir=partition.shown), Finding("START-005", "x")]

    assert codes(answer(unit(three), work)) == ["TRUNC-002", "START-005"]
    assert len(attempts) == 1


def test_a_path_that_never_was_stays_an_error(three, kcli):
    done = kcli("scan", three.parent / "orders-1", three, "-o", "json")
    reported = json.loads(done.stdout)
    assert done.exit_code == 4
    assert [error["error"] for error in reported["errors"]] == ["not-found"]
