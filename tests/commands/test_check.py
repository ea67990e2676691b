"""The options of `kcli check`: what is passed over, where its state may lie, and what machines read."""

import json
import os
import shutil
import signal
import subprocess
from xml.etree import ElementTree as ET

import pytest

from kcli.cli import run
from kcli.jobs import common
from kcli.logdir.buffers import DataFile
from tests.partitions import epoch_lines, locked, log_dir, orders, put_range, segment, time_entries
from tests.processes import KCLI

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
    codes = [finding["code"] for finding in json.loads(kcli(*words).stdout)["findings"]]
    assert codes.count("LOG-003") == 2


def test_a_segment_without_its_records_read_is_read_again_for_them(kcli, data, tmp_path):
    state = tmp_path / "state"
    words = ("check", "-o", "json", "--since", state, data)
    read = [json.loads(kcli(*words, *more).stdout)["rows"][0]["segments"] for more in ((), ["--records"], ())]
    assert read == [3, 3, 0]


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
        for file in path.parent.glob(f"{path.stem}.*"):
            file.unlink()
        return units

    monkeypatch.setattr(run, "plan", plan_and_remove)
    document = json.loads(kcli(*words).stdout)
    assert (document["rows"][0]["result"], document["errors"]) == ("clean", []), document["findings"]
    assert {finding["code"] for finding in document["findings"]} - {"IDX-003", "DIR-011"} == {"LOG-014"}


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
    files = [finding["file"] for finding in document["findings"] if finding["code"] == "LOG-005"]
    assert files == [path.name]


def read(document):
    (row,) = (row for row in document["rows"] if row["topic"])
    return row["result"], row["segments"], row["batches"], row["log_end_offset"]


def test_a_partition_whose_closed_segment_changed_is_read_whole(kcli, data, tmp_path):
    words = ("check", "-o", "json", "--since", tmp_path / "state", data)
    assert kcli(*words).exit_code == 0
    os.utime(data / "orders-0" / f"{10:020d}.index")
    assert read(json.loads(kcli(*words).stdout))[:2] == ("clean", 3)


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
    for text in ("x", "{}", '{"version": 2, "segments": {}}', '{"version": 5, "crc": 0}\n{"a": {"0": [1]}}'):
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
    later = shutil.copytree(data, tmp_path / "later")
    for number in range(1, 40):
        shutil.copytree(data / "orders-0", later / f"orders-{number}")
    state = tmp_path / "state"
    words = [*KCLI, "check", "-o", "ndjson", "--rate", "20K", "--since", state, data, later]
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for _ in range(2):  # the rows of the first log dir: the run is under way
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
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "1")
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
    codes = {finding["code"] for finding in json.loads(kcli(*words).stdout)["findings"]}

    assert "LOG-003" in codes


def test_a_partition_is_one_whatever_its_directory_is_named(kcli, data):
    """As one that salvage wrote to /mnt/saved."""
    saved, damaged = (shutil.copytree(data / "orders-0", data.parent / name) for name in ("saved", "other"))
    flip(damaged / f"{0:020d}.log")
    words, wide = ("check", "-o", "table", saved), {"COLUMNS": "200"}
    alone, both = (kcli(*words, *more, env=wide).stdout for more in ((), (damaged,)))
    assert alone.startswith(f"1 partition: clean.\n\n{saved}\n")
    assert "Checked: 15 batches in 3 segments" in alone
    assert f"2 directories under {data.parent}\n" in both
    assert "2 partitions: 1 damaged, 1 clean.\n" in both
    assert "LOG DIR" not in alone + both and "log dir" not in alone + both

    suite = ET.fromstring(kcli("check", "-o", "junit", saved, data).stdout)
    cases = {case.get("name"): case.get("classname") for case in suite.iter("testcase")}
    assert cases == {str(saved): "partition", str(data): "log dir", str(data / "orders-0"): "partition"}


@pytest.mark.parametrize("words", [["check"], ["check", "--quick"], ["startup"]], ids=" ".join)
def test_a_partition_in_two_log_dirs_is_an_error_unless_a_broker_runs_and_moves_it(kcli, tmp_path, words):
    homes = [orders(tmp_path / name, put_range(0, 5)) for name in ("data-1", "data-2")]
    dirs = [home.parent for home in homes]

    def errors():
        return [
            (finding["code"], finding["dir"])
            for finding in json.loads(kcli(*words, "-o", "json", *dirs).stdout)["findings"]
            if finding["severity"] == "error"
        ]

    assert {code for code, _ in errors()} == {"START-009"}
    with locked(dirs[0]), locked(dirs[1]):
        assert [code for code, _ in errors() if code == "START-009"] == []
