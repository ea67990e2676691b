"""The options of `kcli check`: what is passed over, where its state may lie, and what machines read."""

import json
import os
import shutil
import signal
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from commands import _run
from kcli.analysis.producers import Producer
from kcli.analysis.start_files import snapshot_bytes
from kcli.jobs import common
from kcli.logdir.buffers import DataFile
from tests.partitions import epoch_lines, log_dir, put_range, segment, time_entries


def some_batches(base, count=5):
    return b"".join(put_range(base + 2 * n, 2, timestamp=1000 + base + 2 * n) for n in range(count))


@pytest.fixture
def data(tmp_path):
    """A log dir with a partition of three segments."""
    root = log_dir(tmp_path / "data")
    directory = root / "orders-0"
    for base in (0, 10, 20):
        segment(directory, base, some_batches(base), timeindex=time_entries((1009 + base, 9)))
    (directory / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0)))
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: u4NdSfWRQjaZ_ENyxMXLJA")
    return root


def flip(path, position=-1):
    raw = bytearray(path.read_bytes())
    raw[position] ^= 1
    path.write_bytes(raw)


def result(done):
    return {row["dir"].rpartition("/")[2]: row["result"] for row in json.loads(done.stdout)["rows"]}


def remembered(path):
    return sorted(os.path.basename(one)[15:20] for one in json.loads(path.read_text())["segments"])


def test_closed_segments_are_passed_over_until_they_change(kcli, data, tmp_path):
    state = tmp_path / "state"
    words = ("check", "-o", "json", "--since", state, data)
    assert result(kcli(*words)) == {"data": "clean", "orders-0": "clean"}
    assert remembered(state) == ["00000", "00010"]

    path = data / "orders-0" / f"{0:020d}.log"
    before = path.stat()
    flip(path)  # the same size, and its times given back: not read again
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert result(kcli(*words))["orders-0"] == "clean"

    os.utime(path)
    for _ in range(2):  # what is damaged is never remembered
        assert result(kcli(*words))["orders-0"] == "damaged"
        assert remembered(state) == ["00010"]

    flip(data / "orders-0" / f"{20:020d}.log")  # the last segment is read each time
    codes = [one["code"] for one in json.loads(kcli(*words).stdout)["findings"]]
    assert codes.count("LOG-003") == 2


def test_a_segment_without_its_records_read_is_read_again_for_them(kcli, data, tmp_path):
    state = tmp_path / "state"
    for options in ((), ("--records",), ()):
        assert kcli("check", "-q", *options, "--since", state, data).exit_code == 0
    entries = json.loads(state.read_text())["segments"].values()
    assert [entry[1] for entry in entries] == [True, True]


def test_the_checkpoints_are_held_against_segments_that_are_passed_over(kcli, data, tmp_path):
    (data / "replication-offset-checkpoint").write_text("0\n1\norders 0 99\n")
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    found = [json.loads(kcli(*words).stdout) for _ in range(2)]
    assert found[0]["findings"] == found[1]["findings"]
    assert [one["code"] for one in found[1]["findings"]] == ["CKPT-001"]
    assert [one["rows"][0]["segments"] for one in found] == [3, 1]
    assert [one["rows"][0]["log_end_offset"] for one in found] == [30, 30]


@pytest.mark.parametrize("since", [False, True], ids=["whole", "since"])
def test_what_retention_removes_while_a_log_is_read_leaves_no_hole(kcli, data, tmp_path, monkeypatch, since):
    """The segments before were read, or passed over: they are gone, too."""
    words = ["check", "-o", "json", *(["--since", tmp_path / "state"] if since else []), data]
    path = data / "orders-0" / f"{10:020d}.log"
    assert result(kcli(*words))["orders-0"] == "clean"
    os.utime(path)
    planned = common.plan

    def plan_and_remove(found, accepts):
        units = planned(found, accepts)
        for one in path.parent.glob(f"{path.stem}.*"):
            one.unlink()
        return units

    monkeypatch.setattr(_run, "plan", plan_and_remove)
    document = json.loads(kcli(*words).stdout)
    assert (document["rows"][0]["result"], document["errors"]) == ("clean", []), document["findings"]
    assert {one["code"] for one in document["findings"] if one["code"] != "IDX-003"} == {"LOG-014"}


def test_an_index_that_a_roll_cuts_while_it_is_read_is_none_that_does_not_load(kcli, data, monkeypatch):
    path = data / "orders-0" / f"{20:020d}.timeindex"
    path.write_bytes(path.read_bytes() + bytes(1200))
    read = DataFile.read

    def cut_and_read(file, *words):
        if file.path == str(path):
            os.truncate(path, 12)
        return read(file, *words)

    monkeypatch.setattr(DataFile, "read", cut_and_read)
    document = json.loads(kcli("check", "-o", "json", data).stdout)
    assert [row["result"] for row in document["rows"]] == ["clean", "clean"]
    assert [one["file"] for one in document["findings"] if one["code"] == "LOG-005"] == [path.name]


def test_what_only_all_segments_show_is_found_again(kcli, data, tmp_path):
    """A producer snapshot is held against all batches before it."""
    batches = put_range(0, 2, producer_id=7, base_sequence=0)
    (data / "orders-0" / f"{0:020d}.log").write_bytes(batches + some_batches(2, 4))
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    for _ in range(2):
        document = json.loads(kcli(*words).stdout)
        assert "PROD-007" in {one["code"] for one in document["findings"]}


def test_epochs_of_segments_that_are_passed_over_are_held_against_the_checkpoint(kcli, data, tmp_path):
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    assert result(kcli(*words))["orders-0"] == "clean"
    (data / "orders-0" / "leader-epoch-checkpoint").write_text(epoch_lines((0, 0), (2, 6)))
    found = [json.loads(kcli("check", "-o", "json", *more, data).stdout) for more in (words[3:5], ())]
    about = [[one["path"] for one in each["findings"] if one["code"] == "EPOCH-007"] for each in found]
    assert about[0] == about[1] != []


def test_another_producer_snapshot_is_held_against_all_batches(kcli, data, tmp_path):
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    snapshot = data / "orders-0" / f"{10:020d}.snapshot"
    snapshot.write_bytes(snapshot_bytes({}))
    assert [json.loads(kcli(*words).stdout)["rows"][0]["segments"] for _ in range(2)] == [3, 1]
    stranger = Producer(1, None, epoch=0, last_sequence=1, last_offset=3, offset_delta=1)
    snapshot.write_bytes(snapshot_bytes({5: stranger}))
    document = json.loads(kcli(*words).stdout)
    assert (document["rows"][0]["segments"], document["rows"][0]["result"]) == (3, "damaged")


def test_a_state_in_a_log_dir_is_refused(kcli, data):
    for path in (data / "state", data / "orders-0" / "state", data / "other" / "deep" / "state"):
        done = kcli("check", "--since", path, data)
        assert done.exit_code == 5, path
        assert not path.exists()


def test_a_file_that_is_no_state_is_left_alone(kcli, data, tmp_path):
    state = tmp_path / "state"
    for text in ("x", "{}", '{"version": 9, "segments": {}}', '{"version": 1, "segments": {"a": [1]}}'):
        state.write_text(text)
        assert kcli("check", "--since", state, data).exit_code == 2
        assert state.read_text() == text
    assert kcli("check", "--since", tmp_path, data).exit_code == 2


def test_an_interrupted_check_keeps_what_it_has_read(data, tmp_path):
    for number in range(1, 40):
        shutil.copytree(data / "orders-0", data / f"orders-{number}")
    state = tmp_path / "state"
    words = [sys.executable, "-m", "kcli", "check", "-o", "ndjson", "--rate", "20K", "--since", state, data]
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for _ in range(3):  # some rows: the run is under way
            run.stdout.readline()
        run.send_signal(signal.SIGINT)
        run.communicate()
    assert run.returncode == 130
    assert 2 <= len(remembered(state)) < 80


def test_quick_reads_headers_of_closed_segments(kcli, data):
    flip(data / "orders-0" / f"{0:020d}.log")
    assert result(kcli("check", "-o", "json", "--quick", data))["orders-0"] == "clean"
    assert result(kcli("check", "-o", "json", data))["orders-0"] == "damaged"
    flip(data / "orders-0" / f"{20:020d}.log")
    assert result(kcli("check", "-o", "json", "--quick", data))["orders-0"] == "damaged"
    assert kcli("check", "--quick", "--since", data.parent / "s", data).exit_code == 2


def test_junit_has_a_case_for_each_row(kcli, data):
    flip(data / "orders-0" / f"{0:020d}.log")
    done = kcli("check", "-o", "junit", data, data.parent / "absent")
    suite = ET.fromstring(done.stdout).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.get("type") == "damaged" and "LOG-003" in (failure.text or "")


def test_prometheus_has_a_gauge_for_each_row(kcli, data):
    (data / "replication-offset-checkpoint").write_text("0\n1\norders 0 99\n")
    lines = kcli("check", "-o", "prometheus", data).stdout.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    name = f'kcli_check_result{{dir="{data}/orders-0",topic="orders",partition="0",result="warning"}}'
    assert values[name] == "1"
    assert values['kcli_check_results{result="clean"}'] == "1"
    assert values['kcli_check_findings{code="CKPT-001",severity="warning"}'] == "1"
    assert values["kcli_check_errors"] == "0"


def test_other_commands_have_no_such_formats(kcli, data):
    assert kcli("scan", "-o", "junit", data).exit_code == 2
