"""The row of a partition directory, and what is null when a piece cannot be read."""

import json
from functools import partial

import pytest

from kcli.jobs import epoch as epoch_jobs
from kcli.jobs import lookup, ls, truncate
from kcli.jobs.log_starts import StartRequest
from kcli.kafka.kraft import partition_start
from tests.partitions import codes, locked, log_dir, orders, put_range, rows, segment, unit
from tests.rows import named
from tests.unprivileged import as_unprivileged

dry_run = partial(truncate.dry_run, request=truncate.Request(now_ms=0, to_offset=1))
LOG = (put_range(0, 10), put_range(10, 5, epoch=3))


def test_a_row_has_every_value_of_a_partition(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=((0, 0), (3, 10)), log_start=2, recovery=15, watermark=14)
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000000.index.swap",
        "00000000000000000009.log.cleaned",
    ):
        (directory / name).write_bytes(b"xyz")
    outcome = ls.ls(unit(directory))
    assert rows(outcome) == [
        {
            "dir": str(directory),
            "broker_id": 7,
            "cluster_id": "abc",
            "topic": "orders",
            "partition": 0,
            "segments": 1,
            "log_bytes": (directory / f"{0:020}.log").stat().st_size + 6,
            "index_bytes": (directory / f"{0:020}.index").stat().st_size + 3,
            "other_bytes": sum(
                (directory / name).stat().st_size
                for name in ("partition.metadata", "leader-epoch-checkpoint")
            ),
            "disk_bytes": sum(path.stat().st_blocks * 512 for path in directory.iterdir()),
            "log_start_offset": 2,
            "log_end_offset": 15,
            "log_end_offset_source": "index",
            "latest_epoch": 3,
            "high_watermark": 14,
            "recovery_point": 15,
            "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
            "leftovers": 3,
            "state": "normal",
        }
    ]
    assert codes(outcome) == ["START-003"]


def test_a_partition_alone_knows_less(tmp_path):
    segment(tmp_path / "orders-0", 40, put_range(40, 2))
    (row,) = rows(ls.ls(unit(tmp_path / "orders-0")))
    unknown = ("broker_id", "high_watermark", "recovery_point", "topic_id", "latest_epoch")
    assert {row[name] for name in unknown} == {None}
    assert (row["log_start_offset"], row["log_end_offset"]) == (40, 42)


def test_the_state_is_the_suffix_of_the_directory(tmp_path):
    root = log_dir(tmp_path / "d")
    for suffix in ("delete", "stray", "future"):
        directory = root / f"t-0.0123456789abcdef0123456789abcdef-{suffix}"
        segment(directory, 0)
        assert rows(ls.ls(unit(directory)))[0]["state"] == suffix


@pytest.mark.parametrize(
    ("name", "data", "exception"),
    [
        ("leader-epoch-checkpoint", b"0\n1\nx\n", "KafkaStorageException"),
        ("partition.metadata", b"", "NullPointerException"),
        ("partition.metadata", b"version: 0\n", "NullPointerException"),
        ("partition.metadata", b"version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n", "KafkaStorageException"),
        ("partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n", "KafkaStorageException"),
        ("partition.metadata", b"version: 0\ntopic_id: " + b"x" * 99, "IllegalArgumentException"),
    ],
)
@pytest.mark.parametrize("job", [ls.ls, epoch_jobs.show, partial(lookup.offset, offset=1), dry_run])
def test_a_file_that_stops_the_load_is_the_answer_of_every_command(tmp_path, name, data, exception, job):
    directory = orders(tmp_path / "d", *LOG)
    (directory / name).write_bytes(data)
    outcome = job(unit(directory))
    if job is ls.ls:
        (row,) = map(named, outcome.rows)
        assert (row["segments"], row["log_start_offset"], row["log_end_offset"]) == (1, None, None)
        (refused,) = (finding for finding in outcome.findings if finding.code == "START-008")
        assert (outcome.error, refused.path) == (None, f"{directory}/{name}")
        assert refused.message.startswith(f"{exception}: ")
        return
    assert (outcome.error.path, outcome.error.error) == (f"{directory}/{name}", "load-failed")
    assert f"would not load this log: {exception}: " in outcome.error.message


def test_a_log_with_more_to_recover_has_an_unknown_end_and_the_largest_that_it_can_be(tmp_path, monkeypatch):
    monkeypatch.setattr(partition_start, "RECOVERED_BYTES", 2 * len(LOG[0]))
    flipped = bytearray(LOG[1])
    flipped[-1] ^= 1
    directory = orders(tmp_path / "d", *(LOG[0], bytes(flipped)) * 2, clean=False)
    outcome = ls.ls(unit(directory))
    (row,) = rows(outcome)
    assert (row["log_end_offset"], row["latest_epoch"]) == (None, None)
    assert row["log_end_offset_source"] == "headers"
    (finding,) = (finding for finding in outcome.findings if finding.code == "START-005")
    assert finding.found == 15
    assert "at most 15, and whether the log loads is not judged" in finding.message
    assert {finding.code for finding in outcome.findings} == {"START-005", "START-012"}
    outcome = ls.ls(unit(directory), request=StartRequest())
    (row,) = rows(outcome)
    assert (row["log_end_offset"], row["log_end_offset_source"]) == (10, "recovered")


def test_what_lies_below_the_recovery_point_does_not_count(tmp_path, monkeypatch):
    directory = orders(tmp_path / "d", *LOG, clean=False, recovery=20)
    segment(directory, 15, put_range(15, 5))
    segment(directory, 20, put_range(20, 5))
    monkeypatch.setattr(partition_start, "RECOVERED_BYTES", (directory / f"{20:020}.log").stat().st_size)
    (row,) = rows(ls.ls(unit(directory)))
    assert (row["log_end_offset"], row["log_end_offset_source"]) == (25, "recovered")


def test_a_running_broker_has_what_its_file_holds(tmp_path):
    directory = orders(tmp_path / "d", *LOG, clean=False)
    with locked(tmp_path / "d"):
        (row,) = rows(ls.ls(unit(directory)))
    assert (row["log_end_offset"], row["log_end_offset_source"]) == (15, "headers")


def test_recovery_says_where_a_log_that_was_not_stopped_cleanly_breaks_off(tmp_path):
    assert "LOG-001" not in codes(ls.ls(unit(orders(tmp_path / "whole", *LOG, clean=False))))
    outcome = ls.ls(unit(orders(tmp_path / "torn", LOG[0], LOG[1][:-1], clean=False)))
    (row,) = rows(outcome)
    assert (row["log_end_offset"], row["log_end_offset_source"], row["latest_epoch"]) == (10, "recovered", 0)
    assert "LOG-001" in codes(outcome)


@pytest.mark.parametrize(
    ("clean", "text"),
    [(True, "runs past the end of the file: its length is 1073741824"), (False, "is not whole")],
)
def test_a_batch_that_others_follow_is_not_called_the_last(tmp_path, clean, text):
    damaged = bytearray(LOG[1])
    damaged[8:12] = (1 << 30).to_bytes(4)
    outcome = ls.ls(unit(orders(tmp_path / "d", LOG[0], damaged, put_range(15, 5), clean=clean)))
    (message,) = (finding.message for finding in outcome.findings if finding.code == "LOG-001")
    assert f"the batch at byte {len(LOG[0])} {text}" in message


def test_what_a_start_reports_before_it_fails_is_found(tmp_path):
    directory = orders(tmp_path / "d", LOG[0], LOG[1] + bytes(100))
    outcome = ls.ls(unit(directory))
    assert {"LOG-009", "START-008"} <= {finding.code for finding in outcome.findings}


def test_an_unreadable_log_leaves_its_values_null(tmp_path):
    directory = orders(tmp_path / "d", *LOG)
    (directory / f"{0:020d}.log").chmod(0)
    reported = as_unprivileged(
        "from kcli.jobs import ls; from tests.partitions import unit; from pathlib import Path; from "
        "tests.rows import named",
        "o = ls.ls(unit(Path(sys.argv[1]))); print(tuple(named(o.rows[0]).values())[10:14], o.error.error)",
        directory,
    )
    assert reported == "(None, None, None, None) no-permission\n"


def test_a_directory_that_is_removed_after_it_was_listed_is_an_info_finding(tmp_path):
    directory = orders(tmp_path / "d", *LOG)
    gone = unit(directory)
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    outcome = ls.ls(gone)
    (finding,) = outcome.findings
    assert (outcome.rows, outcome.error) == ([], None)
    assert (finding.code, finding.dir, finding.file) == ("LOG-014", str(directory), None)


def test_an_empty_directory_ends_at_its_log_start(tmp_path):
    directory = orders(tmp_path / "d", epochs=())
    (row,) = rows(ls.ls(unit(directory)))
    assert (row["log_start_offset"], row["log_end_offset"]) == (0, 0)
    assert (row["latest_epoch"], row["segments"]) == (None, 1)


def test_what_nfs_keeps_of_a_deleted_file_is_a_note_in_every_command(kcli, tmp_path):
    """A -delete directory that holds nothing else is loaded as an empty log, and deleted."""
    directory = orders(tmp_path / "d", *LOG)
    (directory / ".nfs000000000139dbd900000d6c").write_bytes(b"x" * 100)
    deleted = directory.with_name(f"orders-1.{7:032x}-delete")
    deleted.mkdir()
    (deleted / ".nfs000000000139dbd900000d6b").write_bytes(b"x" * 100)
    for words in (["ls"], ["startup"], ["check", "--include-leftovers"]):
        document = json.loads(kcli(*words, "-o", "json", directory.parent).stdout)
        assert document["errors"] == []
        notes = {finding["dir"] for finding in document["findings"] if "silly rename" in finding["message"]}
        assert notes == {str(directory), str(deleted)}
        (row,) = (row for row in document["rows"] if row.get("dir") == str(deleted))
        assert row.get("outcome", "deleted") == "deleted"
        assert row.get("log_end_offset", 0) in {0, None}
