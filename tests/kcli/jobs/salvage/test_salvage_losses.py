"""`kcli salvage` says which records no log has, where the files of the partition show that they existed."""

import errno
import json
import os
import shutil

import pytest

from kcli.jobs.salvage.salvage import Salvage
from tests.partitions import (
    codes,
    log_dir,
    offset_entries,
    orders,
    put_range,
    put_topic_id,
    rows,
    segment,
    time_entries,
    unit,
)
from tests.recordings import pack
from tests.unprivileged import as_unprivileged

pytestmark = pytest.mark.slow

LOST = {"SALV-010", "SALV-011"}
BASES = (0, 29, 58, 87)
"""The segments of orders-0 in the demo; its log ends at offset 96."""

ABOVE = {
    "replication-offset-checkpoint": "high-watermark-above-log-end: 96, 87 at most; a start lowers the high "
    "watermark to the log end: committed records are missing here",
    "recovery-point-offset-checkpoint": "the log was flushed up to offset 96, and a start opens it with the "
    "log end 87: at most 9 records are missing there",
}
AFTER_A_CRASH = (
    "recovery-point-above-log-end: 96, 87 at most; the log that a start opens lacks records that were flushed"
)
ABOVE_CODES = {"replication-offset-checkpoint": "SALV-011", "recovery-point-offset-checkpoint": "SALV-010"}


@pytest.fixture
def recorded(demo, tmp_path):
    return shutil.copytree(demo, tmp_path / "data") / "orders-0"


def salvage(kcli, path, out):
    """Return the exit status, the row, and code, file and message of what is lost."""
    done = kcli("salvage", path, "--out", out, "-o", "json")
    document = json.loads(done.stdout)
    assert not document["errors"]
    found = [(finding["code"], finding["file"], finding["message"]) for finding in document["findings"]]
    return done.exit_code, document["rows"][0], [finding for finding in found if finding[0] in LOST]


def without(directory, base, *extensions):
    for extension in extensions:
        (directory / f"{base:020}.{extension}").unlink()


def test_nothing_is_lost_of_a_whole_log(kcli, demo, tmp_path):
    for number, path in enumerate(sorted(demo.glob("*-[0-9]"))):
        status, _, found = salvage(kcli, path, tmp_path / f"out{number}")
        assert (status, found) == (0, [])


def test_a_segment_that_is_missing(kcli, recorded, tmp_path):
    without(recorded, 29, "log")
    status, row, found = salvage(kcli, recorded, tmp_path / "1")
    assert (status, row["batches"]) == (1, 14)
    gone = "there is no log of this segment: its records are lost, and a start deletes its indexes"
    hole = "the segment before ends at offset 29: 29 offsets are missing"
    of_offsets = ("SALV-010", f"{58:020}.log", hole)
    assert found == [("SALV-010", f"{29:020}.index", gone), of_offsets]

    without(recorded, 29, "index", "timeindex")
    assert salvage(kcli, recorded, tmp_path / "2")[::2] == (1, [of_offsets])
    drawn = kcli("salvage", recorded, "--out", tmp_path / "3", "-o", "table").stdout
    assert "All batches are saved" not in drawn


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [(321, 612, "the batch before ends with offset 33"), (0, 321, "the segment of offset 29 begins with 34")],
)
def test_a_batch_that_is_missing_in_a_segment(kcli, recorded, tmp_path, start, end, message):
    log = recorded / f"{29:020}.log"
    data = log.read_bytes()
    log.write_bytes(data[:start] + data[end:])
    expected = ("SALV-010", log.name, f"{message}: 5 offsets are missing")
    assert salvage(kcli, recorded, tmp_path / "1")[2][0] == expected
    drawn = kcli("salvage", recorded, "--out", tmp_path / "2", "-o", "table").stdout
    assert "All batches are saved." not in drawn


def test_a_segment_that_cannot_be_read_costs_no_other(tmp_path, recorded):
    log, out = recorded / f"{29:020}.log", tmp_path / "made"
    out.mkdir()
    out.chmod(0o777)
    size = log.stat().st_size
    log.chmod(0)
    job = "Salvage(out=sys.argv[2] + '/copy', now_ms=0)(unit(Path(sys.argv[1])))"
    reported = as_unprivileged(
        "import kcli.jobs.salvage.salvage, tests.rows; from kcli.jobs.salvage.salvage import Salvage; "
        "from tests.partitions import unit; from pathlib import Path",
        f"o = {job}; row = o.rows[0]; found = [one.code for one in o.findings if one.code[:4] == 'SALV']; "
        "print((row.batches, *map(tuple, row.lost)), *found)",
        recorded,
        out,
    )
    assert reported == f"(14, ('{log.name}', 0, {size}, None, 'unreadable')) SALV-001\n"


def test_a_log_start_above_the_end(kcli, recorded, tmp_path):
    (recorded.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 200\n")
    assert salvage(kcli, recorded, tmp_path / "out")[2] == [
        ("SALV-011", None, "log-start-above-log-end: 200, 96 at most")
    ]


def test_missing_offsets_where_the_policy_is_not_known_are_a_warning(kcli, recorded, tmp_path):
    """Of a compacted topic nothing is said, nor of a directory alone, which may be compacted."""
    without(recorded, 29, "log", "index", "timeindex")
    shutil.rmtree(recorded.parent / "__cluster_metadata-0")
    status, _, found = salvage(kcli, recorded, tmp_path / "1")
    assert (status, [code for code, *_ in found]) == (0, ["SALV-011"])

    (recorded.parent / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 58\n")
    assert salvage(kcli, recorded, tmp_path / "2")[2] == []
    (recorded.parent / "cleaner-offset-checkpoint").unlink()
    alone = shutil.copytree(recorded, tmp_path / "alone" / "orders-0")
    assert salvage(kcli, alone, tmp_path / "3")[2] == []


def test_epochs_may_be_lost_with_a_segment(kcli, recorded, tmp_path):
    (recorded / "leader-epoch-checkpoint").unlink()
    without(recorded, 29, "log")
    document = json.loads(kcli("salvage", recorded, "--out", tmp_path / "out", "-o", "json").stdout)
    assert [finding["code"] for finding in document["findings"]] == ["SALV-010", "SALV-010", "SALV-004"]


@pytest.mark.parametrize("file", ABOVE)
def test_more_was_committed_or_flushed_than_the_logs_have(kcli, recorded, tmp_path, file):
    """The tail of a log that a check of the file system took away."""
    without(recorded, 87, "log", "index", "timeindex")
    without(recorded, 96, "snapshot")
    for name in ABOVE:
        offset = 96 if name == file else 87
        (recorded.parent / name).write_text(f"0\n1\norders 0 {offset}\n")
    status, row, found = salvage(kcli, recorded, tmp_path / "out")
    code = ABOVE_CODES[file]
    assert (status, row["log_end_offset"]) == (code == "SALV-010", 87)
    assert found == [(code, None, ABOVE[file])]
    crashed = ABOVE[file] if code == "SALV-011" else AFTER_A_CRASH
    (recorded.parent / ".kafka_cleanshutdown").unlink()
    assert salvage(kcli, recorded, tmp_path / "crashed")[::2] == (0, [("SALV-011", None, crashed)])
    drawn = kcli("salvage", recorded, "--out", tmp_path / "2", "-o", "table").stdout
    assert "All batches are saved." not in drawn


def test_more_was_committed_than_is_left_of_a_torn_tail(kcli, recorded, tmp_path):
    os.truncate(recorded / f"{87:020}.log", 330)
    status, row, found = salvage(kcli, recorded, tmp_path / "out")
    assert (status, row["log_end_offset"]) == (1, 92)
    assert {*ABOVE_CODES.values()} <= {code for code, *_ in found}
    assert any("with the log end 92: at most 4 records" in message for *_, message in found)


@pytest.mark.parametrize("lone", [False, True], ids=["in its log dir", "alone"])
def test_the_only_log_is_missing(kcli, recorded, tmp_path, lone):
    for base in BASES:
        without(recorded, base, "log")
    directory = shutil.move(recorded, tmp_path / "orders-0") if lone else recorded
    status, row, found = salvage(kcli, directory, tmp_path / "out")
    assert (status, row["batches"]) == (1, 0)
    past = [("SALV-010", f"{base:020}.index") for base in BASES]
    above = [] if lone else [(code, None) for code in ABOVE_CODES.values()]
    assert {(code, file) for code, file, _ in found} == {*past, *above}


def test_a_last_segment_is_missing_and_its_snapshot_is_left(kcli, recorded, tmp_path):
    without(recorded, 87, "log", "index", "timeindex")
    status, _, found = salvage(kcli, recorded, tmp_path / "out")
    above = [(ABOVE_CODES[name], None, message) for name, message in ABOVE.items()]
    snapshot = ("SALV-011", None, "96.snapshot: the log ends at offset 87")
    assert (status, {*found}) == (1, {snapshot, *above})


@pytest.mark.parametrize("lone", [False, True], ids=["in its log dir", "alone"])
def test_zeros_where_the_last_segment_had_batches(kcli, recorded, tmp_path, lone):
    """The snapshot shows what was there."""
    log = recorded / f"{87:020}.log"
    data = bytearray(log.read_bytes())
    size = 12 + int.from_bytes(data[8:12], "big")
    data[size:] = bytes(len(data) - size)
    log.write_bytes(data)
    for extension in ("index", "timeindex"):
        log.with_suffix(f".{extension}").write_bytes(b"")
    directory = shutil.move(recorded, tmp_path / "orders-0") if lone else recorded
    _, row, found = salvage(kcli, directory, tmp_path / "out")
    assert row["log_end_offset"] == 92
    snapshots = [finding for finding in found if "snapshot" in finding[2]]
    assert snapshots == [("SALV-011", None, "96.snapshot: the log ends at offset 92")]


@pytest.mark.parametrize("lone", [False, True], ids=["in its log dir", "alone"])
def test_a_damaged_batch_that_ends_where_the_snapshot_lies_is_said_once(kcli, recorded, tmp_path, lone):
    log = recorded / f"{87:020}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    directory = shutil.move(recorded, tmp_path / "orders-0") if lone else recorded
    _, row, found = salvage(kcli, directory, tmp_path / "out")
    assert row["batches_lost"] == 1
    assert not [finding for finding in found if "snapshot" in finding[2]]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("indexes", [("index",), ("timeindex",), ()], ids="-".join)
def test_a_log_is_emptied(kcli, recorded, tmp_path, base, indexes):
    """One index is enough to show it; without any, offsets are missing, or a snapshot is above the end."""
    os.truncate(recorded / f"{base:020}.log", 0)
    for extension in {"index", "timeindex"} - {*indexes}:
        (recorded / f"{base:020}.{extension}").write_bytes(b"")
    status, _, found = salvage(kcli, recorded, tmp_path / "out")
    past = [("SALV-010", f"{base:020}.{extension}") for extension in indexes]
    hole = "SALV-010" if base < 87 else "SALV-011"
    after = {0: f"{29:020}.log", 29: f"{58:020}.log", 58: f"{87:020}.log", 87: None}[base]
    missing = [] if base == 87 and indexes else [(hole, after)]
    above = [(code, None) for code in ABOVE_CODES.values()] if base == 87 else []

    assert {(code, file) for code, file, _ in found} == {*past, *above, *missing}
    assert status == 1


@pytest.mark.parametrize("size", [612, 700], ids=["at a batch", "inside of one"])
def test_a_log_that_is_cut_before_its_last_entries(kcli, recorded, tmp_path, size):
    os.truncate(recorded / f"{29:020}.log", size)
    status, row, found = salvage(kcli, recorded, tmp_path / "out")

    assert (status, row["bytes_lost"]) == (1, size - 612)
    which = "2: the log ends before byte 903 (and 1 more)"
    if size == 612:
        which = "1: the log ends before byte 612 (and 2 more)"
    assert found[0] == ("SALV-010", f"{29:020}.index", f"entry {which}")


INDEX = offset_entries((4, 0), (9, 200), (14, 400))
TIMES = time_entries((1004, 4), (2004, 9), (3004, 14))


def closed(root, index, times, **more):
    """Make a partition whose only segment has offsets 0 to 4."""
    directory = orders(root, **more)
    segment(directory, 0, put_range(0, 5), index, times)
    return put_topic_id(directory)


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_what_an_index_that_was_closed_shows_is_certain(kcli, tmp_path, clean):
    directory = closed(tmp_path / "data", INDEX, TIMES, clean=clean)
    status, _, found = salvage(kcli, directory, tmp_path / "out")
    said = "entry 1: the log ends before byte 200 (and 1 more)"
    assert (status, found) == (1, [("SALV-010", f"{0:020}.index", said)])


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize("tail", [bytes(800), INDEX[:8]], ids=["preallocated", "damaged"])
def test_an_index_that_was_not_closed_or_is_damaged_says_nothing_for_certain(kcli, tmp_path, tail, clean):
    directory = closed(tmp_path / "data", INDEX + tail, b"", clean=clean)
    status, _, found = salvage(kcli, directory, tmp_path / "out")
    assert (status, [code for code, *_ in found]) == (0, ["SALV-011"])


@pytest.mark.parametrize(
    ("index", "times"),
    [
        (offset_entries((4, 0)) + bytes(800), time_entries((1004, 4)) + bytes(1200)),
        (offset_entries((4, 1 << 20)), b""),
        (b"", time_entries((1004, 1 << 10))),
    ],
    ids=["zeros of an open index", "a wrong byte alone", "a wrong offset alone"],
)
def test_entries_that_show_no_record(kcli, tmp_path, index, times):
    directory = closed(tmp_path / "data", index, times, clean=False)
    assert salvage(kcli, directory, tmp_path / "out")[2] == []


def test_a_wrong_entry_of_a_segment_to_which_the_next_one_joins_shows_no_record(kcli, tmp_path):
    directory = closed(tmp_path / "data", INDEX, TIMES)
    segment(directory, 5, put_range(5, 5))
    assert salvage(kcli, directory, tmp_path / "out")[2] == []


def test_an_index_is_found_where_the_names_of_other_files_are_no_offsets(kcli, recorded, tmp_path):
    without(recorded, 29, "log")
    (recorded / "backup.log").write_bytes(b"")
    assert salvage(kcli, recorded, tmp_path / "out")[2][0][:2] == ("SALV-010", f"{29:020}.index")


def test_first_segments_that_are_missing(kcli, recorded, tmp_path):
    for base in (0, 29):
        without(recorded, base, "log", "index", "timeindex")
    message = "leader epoch 0 begins at 0, the first segment at 58"
    found = (0, [("SALV-011", None, message)])
    assert salvage(kcli, recorded, tmp_path / "1")[::2] == found
    checkpoint = recorded.parent / "log-start-offset-checkpoint"
    checkpoint.write_text("0\n1\norders 0 40\n")
    (recorded / "leader-epoch-checkpoint").write_text("0\n2\n4 58\n6 72\n")
    found = (0, [("SALV-011", None, "the log start is 40, the first segment at 58")])
    assert salvage(kcli, recorded, tmp_path / "2")[::2] == found
    (recorded.parent / ".kafka_cleanshutdown").unlink()
    assert salvage(kcli, recorded, tmp_path / "3")[::2] == (0, [])


def test_a_log_that_is_being_deleted_is_not_lost(kcli, recorded, tmp_path):
    (recorded / f"{0:020}.log").rename(recorded / f"{0:020}.log.deleted")
    assert salvage(kcli, recorded, tmp_path / "out")[::2] == (0, [])


def test_what_is_said_of_damage_is_not_said_again_as_missing_offsets(kcli, tmp_path):
    directory = log_dir(tmp_path / "data") / "orders-0"
    wrong = bytearray(put_range(5, 5))
    wrong[-1] ^= 1
    segment(directory, 0, put_range(0, 5) + bytes(wrong))
    segment(directory, 20, put_range(20, 5))
    assert salvage(kcli, put_topic_id(directory), tmp_path / "out")[2] == []


def test_the_copy_ends_where_what_is_saved_ends(kcli, recorded, tmp_path):
    """A segment of another name holds nothing that can be saved: the log is not as long as the name says."""
    shutil.copy(recorded / f"{29:020}.log", recorded / f"{200:020}.log")
    status, row, found = salvage(kcli, recorded, tmp_path / "out")
    assert (status, row["batches"], row["segments"], row["log_end_offset"]) == (1, 20, 4, 96)
    assert found == []


@pytest.mark.parametrize("recording", ["single", "truncation", "tiered"])
def test_logs_as_brokers_left_them_have_lost_nothing(tmp_path, recording):
    directories = sorted({path.parent for path in pack.unpack(recording, tmp_path).rglob("*-[0-9]/*.log")})
    assert directories
    for number, path in enumerate(directories):
        outcome = Salvage(out=str(tmp_path / f"out{number}"), now_ms=0)(unit(path))
        assert not LOST & {*codes(outcome)}


def test_a_disk_that_fails_in_the_middle_of_a_log_costs_the_rest_of_that_log(recorded, tmp_path, monkeypatch):
    """The other logs are saved, and what is left out is said to its last byte."""
    log, fails_at = recorded / f"{29:020}.log", 400
    inode, size = log.stat().st_ino, log.stat().st_size

    def failing(read):
        def reading(descriptor, buffers, position):
            length = buffers if isinstance(buffers, int) else sum(map(len, buffers))
            if os.fstat(descriptor).st_ino == inode and position + length > fails_at:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return read(descriptor, buffers, position)

        return reading

    for name in ("pread", "preadv"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))
    outcome = Salvage(out=str(tmp_path / "out"), now_ms=0)(unit(recorded))
    (row,) = rows(outcome)
    (lost,) = row["lost"]
    assert (lost["file"], lost["end"], lost["reason"]) == (log.name, size, "unreadable")
    assert {finding.code for finding in outcome.findings if finding.code == "SALV-001"}
