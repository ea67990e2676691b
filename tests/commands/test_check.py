"""The options of `kcli check`: what is passed over, where its state may lie, and what machines read."""

import json
import os
import shutil
import signal
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from kcli.cli import run
from kcli.jobs import common
from kcli.kafka.storage.file_actions import snapshot_bytes
from kcli.kafka.storage.producer_state import Producer
from kcli.logdir.buffers import DataFile
from tests.partitions import epoch_lines, locked, log_dir, orders, put_range, segment, time_entries

pytestmark = pytest.mark.slow


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
    partitions = json.loads(path.read_text().splitlines()[1]).values()
    return sorted(base.zfill(5) for segments in partitions for base in segments)


def test_closed_segments_are_passed_over_until_they_change(kcli, data, tmp_path):
    state = tmp_path / "state"
    words = ("check", "-o", "json", "--since", state, data)
    assert result(kcli(*words)) == {"data": "clean", "orders-0": "clean"}
    assert remembered(state) == ["00000", "00010", "00020"]

    path = data / "orders-0" / f"{0:020d}.log"
    before = path.stat()
    flip(path)  # the same size, and its times given back: not read again
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert result(kcli(*words))["orders-0"] == "clean"

    os.utime(path)
    for _ in range(2):  # what is damaged is never remembered
        assert result(kcli(*words))["orders-0"] == "damaged"
        assert remembered(state) == ["00010", "00020"]

    flip(data / "orders-0" / f"{20:020d}.log")
    codes = [one["code"] for one in json.loads(kcli(*words).stdout)["findings"]]
    assert codes.count("LOG-003") == 2


def test_a_segment_without_its_records_read_is_read_again_for_them(kcli, data, tmp_path):
    state = tmp_path / "state"
    words = ("check", "-o", "json", "--since", state, data)
    read = [json.loads(kcli(*words, *more).stdout)["rows"][0]["segments"] for more in ((), ["--records"], ())]
    assert read == [3, 3, 0]


def test_the_checkpoints_are_held_against_segments_that_are_passed_over(kcli, data, tmp_path):
    (data / "replication-offset-checkpoint").write_text("0\n1\norders 0 99\n")
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    found = [json.loads(kcli(*words).stdout) for _ in range(2)]
    assert found[0]["findings"] == found[1]["findings"]
    assert [one["code"] for one in found[1]["findings"] if one["severity"] != "info"] == ["CKPT-001"]
    assert [one["rows"][0]["segments"] for one in found] == [3, 0]
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

    monkeypatch.setattr(run, "plan", plan_and_remove)
    document = json.loads(kcli(*words).stdout)
    assert (document["rows"][0]["result"], document["errors"]) == ("clean", []), document["findings"]
    assert {one["code"] for one in document["findings"]} - {"IDX-003", "DIR-011"} == {"LOG-014"}


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
    assert [json.loads(kcli(*words).stdout)["rows"][0]["segments"] for _ in range(2)] == [3, 0]
    stranger = Producer(1, None, epoch=0, last_sequence=1, last_offset=3, offset_delta=1)
    snapshot.write_bytes(snapshot_bytes({5: stranger}))
    document = json.loads(kcli(*words).stdout)
    assert (document["rows"][0]["segments"], document["rows"][0]["result"]) == (3, "damaged")


def put_more(data, count=5):
    """Append batches to the last segment, and return the offset after them."""
    path = data / "orders-0" / f"{20:020d}.log"
    base = 30 + 2 * (path.stat().st_size // len(some_batches(20, 1)) - 5)
    with path.open("ab") as log:
        log.write(some_batches(base, count))
    end = base + 2 * count
    with path.with_suffix(".timeindex").open("ab") as index:
        index.write(time_entries((999 + end, end - 21)))
    return end


def read(document):
    (row,) = (row for row in document["rows"] if row["topic"])
    return row["result"], row["segments"], row["batches"], row["log_end_offset"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_segment_that_grew_is_read_whole(kcli, data, tmp_path, jobs):
    words = ("check", "-o", "json", "--jobs", jobs, "--since", tmp_path / "state", data)
    assert read(json.loads(kcli(*words).stdout)) == ("clean", 3, 15, 30)
    end = put_more(data)
    assert read(json.loads(kcli(*words).stdout)) == ("clean", 1, 10, end)
    assert read(json.loads(kcli(*words).stdout)) == ("clean", 0, 0, end)
    put_more(data)
    flip(data / "orders-0" / f"{20:020d}.log")
    for _ in range(2):
        assert read(json.loads(kcli(*words).stdout))[:3] == ("damaged", 1, 15)


def test_a_partition_whose_closed_segment_changed_is_read_whole(kcli, data, tmp_path):
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    assert kcli(*words).exit_code == 0
    os.utime(data / "orders-0" / f"{10:020d}.index")
    assert read(json.loads(kcli(*words).stdout))[:2] == ("clean", 3)


@pytest.mark.parametrize("base", [10, 20])
def test_offsets_that_fall_after_what_is_not_read_are_found(kcli, data, tmp_path, base):
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    assert kcli(*words).exit_code == 0
    path = data / "orders-0" / f"{base:020d}.log"
    with path.open("ab") as log:
        log.write(put_range(base + 6, 9 + 6, timestamp=1000))
    found = [json.loads(kcli(*more, data).stdout)["findings"] for more in (words[:-1], words[:3])]
    about = [{one["file"] for one in each if one["code"] == "LOG-017"} for each in found]
    assert about[0] == about[1] != set()


def test_of_a_topic_that_is_made_anew_everything_is_read(kcli, data, tmp_path):
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    assert kcli(*words).exit_code == 0
    shutil.copytree(data / "orders-0", tmp_path / "copy")
    shutil.rmtree(data / "orders-0")
    shutil.copytree(tmp_path / "copy", data / "orders-0")
    assert read(json.loads(kcli(*words).stdout))[:2] == ("clean", 3)


def test_what_is_gone_is_forgotten(kcli, data, tmp_path):
    state = tmp_path / "state"
    shutil.copytree(data / "orders-0", data / "orders-1")
    shutil.copytree(data, tmp_path / "other")
    assert kcli("check", "-q", "--since", state, data, tmp_path / "other").exit_code == 1  # copies
    assert len(remembered(state)) == 12
    shutil.rmtree(data / "orders-1")
    for path in (data / "orders-0").glob(f"{0:020d}.*"):
        path.unlink()
    shutil.move(tmp_path / "other", tmp_path / "unmounted")
    assert kcli("check", "-q", "--since", state, data).exit_code == 0
    assert len(remembered(state)) == 2 + 6


def test_a_state_in_a_log_dir_is_refused(kcli, data):
    for path in (data / "state", data / "orders-0" / "state", data / "other" / "deep" / "state"):
        done = kcli("check", "--since", path, data)
        assert done.exit_code == 5, path
        assert not path.exists()


@pytest.mark.parametrize("name", ["absent/state", "absent/deep/state", "absent/../state", "dangling/state"])
def test_a_state_whose_directory_is_missing_is_refused_before_anything_is_read(
    kcli, data, tmp_path, monkeypatch, name
):
    (tmp_path / "dangling").symlink_to("absent")
    monkeypatch.setattr(run, "run", lambda *_: pytest.fail("something was read"))
    monkeypatch.chdir(tmp_path)
    done = kcli("check", "--since", name, data)

    directory = os.path.dirname(name)
    said = f"kcli: --since {name}: {directory}: no such directory; make it first\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", said)
    assert not (tmp_path / "absent").exists()


def test_a_file_that_is_no_state_is_left_alone(kcli, data, tmp_path):
    state = tmp_path / "state"
    for text in (
        "x",
        "{}",
        '{"version": 2, "segments": {}}',
        '{"version": 5, "crc": 0}\n{"a": {"0": [1]}}',
    ):
        state.write_text(text)
        done = kcli("check", "--since", state, data)
        assert done.exit_code == 2
        assert ("remove it, and the next run reads everything once" in done.stderr) == ("version" in text)
        assert state.read_text() == text
    assert kcli("check", "--since", tmp_path, data).exit_code == 2


def test_a_damaged_state_is_refused(kcli, data, tmp_path):
    state = tmp_path / "state"
    assert kcli("check", "-q", "--since", state, data).exit_code == 0
    whole = state.read_bytes()
    for number in range(60):
        text = bytearray(whole)
        text[len(text) * number // 60] ^= 1 << number % 8
        state.write_bytes(text)
        assert kcli("check", "-q", "--since", state, data).exit_code == 2, number


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


def test_a_log_in_the_place_of_another_is_read_from_its_beginning(kcli, data, tmp_path):
    """It has grown and its end is as before, but another file may have other bytes before that."""
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    assert result(kcli(*words))["orders-0"] == "clean"
    path = data / "orders-0" / f"{20:020d}.log"
    (tmp_path / "copy").write_bytes(path.read_bytes() + put_range(30, 1, timestamp=1029))
    flip(tmp_path / "copy", 64)
    (tmp_path / "copy").replace(path)
    codes = {one["code"] for one in json.loads(kcli(*words).stdout)["findings"]}

    assert "LOG-003" in codes


def test_a_transaction_index_that_changed_is_read_again(kcli, data, tmp_path):
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    assert result(kcli(*words))["orders-0"] == "clean"
    path = data / "orders-0" / f"{0:020d}.txnindex"
    path.write_bytes(bytes(33))
    found = json.loads(kcli(*words).stdout)["findings"]

    assert str(path) in {one["path"] for one in found}


def test_a_partition_is_one_whatever_its_directory_is_named(kcli, data):
    """As one that salvage wrote to /mnt/saved."""
    saved, damaged = (shutil.copytree(data / "orders-0", data.parent / name) for name in ("saved", "other"))
    flip(damaged / f"{0:020d}.log")
    words, wide = ("check", "-o", "table", saved), {"COLUMNS": "200"}
    alone, both = (kcli(*words, *more, env=wide).stdout for more in ((), (damaged,)))
    assert alone.startswith(f"{saved}\n") and alone.endswith("1 partition: clean.\n")
    assert "Checked: 15 batches in 3 segments" in alone
    assert both.startswith(f"2 directories under {data.parent}\n")
    assert "2 partitions: 1 damaged, 1 clean.\n" in both
    assert "LOG DIR" not in alone + both and "log dir" not in alone + both

    suite = ET.fromstring(kcli("check", "-o", "junit", saved, data).stdout)
    cases = {case.get("name"): case.get("classname") for case in suite.iter("testcase")}
    assert cases == {str(saved): "partition", str(data): "log dir", str(data / "orders-0"): "partition"}


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


@pytest.mark.parametrize("words", [["check"], ["check", "--quick"], ["startup"]], ids=" ".join)
def test_a_partition_in_two_log_dirs_is_an_error_unless_a_broker_runs_and_moves_it(kcli, tmp_path, words):
    homes = [orders(tmp_path / name, put_range(0, 5)) for name in ("data-1", "data-2")]
    dirs = [home.parent for home in homes]

    def errors():
        return [
            (one["code"], one["dir"])
            for one in json.loads(kcli(*words, "-o", "json", *dirs).stdout)["findings"]
            if one["severity"] == "error"
        ]

    assert {code for code, _ in errors()} == {"START-009"}
    with locked(dirs[0]), locked(dirs[1]):
        assert [code for code, _ in errors() if code == "START-009"] == []
