"""A predicted start: which partitions load, what they hold then, what recovery removes."""

import pytest

from formats.batch import BATCH
from kcli.jobs.log_starts import StartRequest
from kcli.jobs.startup.replica_start import startup
from kcli.kafka.kraft.replica_fates import NOT_ASSIGNED, STRAY, Fate, ReplicaFates
from tests.partitions import codes as codes_of
from tests.partitions import log_dir, orders, put_range, rows, segment, snapshot, unit
from tests.transactions import ended

NOW = 2_000_000
LOG = (put_range(0, 10), put_range(10, 10, epoch=2))


def codes(outcome):
    """Return the codes of findings, but that these directories have no partition.metadata."""
    return [code for code in codes_of(outcome) if code != "START-012"]


def started(directory, **request):
    outcome = startup(unit(directory), request=StartRequest(now_ms=NOW, **request))
    (row,) = rows(outcome)
    return row, outcome


def lone_messages(directory, **request):
    """Return what is said of what a start assumes."""
    findings = started(directory, **request)[1].findings
    return [finding.message for finding in findings if finding.code == "START-006"]


def test_a_clean_log_loads_and_only_its_tail_is_read(tmp_path):
    directory = orders(tmp_path / "d", *LOG, epochs=((0, 0), (2, 10)), log_start=3, recovery=18)
    before = snapshot(directory)
    row, outcome = started(directory)
    names = ("broker_id", "topic", "partition", "outcome", "clean", "bytes_read", "records_lost", "reason")
    assert [row[name] for name in names] == [7, "orders", 0, "loads", True, len(b"".join(LOG)), 0, None]
    assert codes(outcome) == []
    assert snapshot(directory) == before


def test_recovery_reads_every_byte_and_counts_what_it_removes(tmp_path):
    directory = orders(tmp_path / "d", *LOG, put_range(20, 5), clean=False)
    log = directory / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[len(LOG[0]) + 70] ^= 1
    log.write_bytes(data)
    segment(directory, 25, put_range(25, 7) + bytes(40))
    row, outcome = started(directory)
    assert (row["outcome"], row["clean"]) == ("loads", False)
    assert (row["log_end_offset"], row["recovery_point"], row["segments"]) == (10, 0, 1)
    assert row["records_lost"] == 10 + 5 + 7
    assert row["bytes_read"] >= len(data)
    cuts = [(finding.code, finding.position) for finding in outcome.findings if finding.code != "START-012"]
    assert cuts == [("START-001", len(LOG[0])), ("START-001", None)]


def test_an_end_marker_is_no_record_that_is_lost(tmp_path):
    """Neither where recovery cuts it, nor in a replica that becomes -stray."""
    cut = orders(tmp_path / "cut", LOG[0], LOG[1][:-1] + b"?", ended(20, producer=7), clean=False)
    assert started(cut)[0]["records_lost"] == 10
    stray = orders(tmp_path / "stray", LOG[0], ended(10, producer=7))
    fates = ReplicaFates({str(stray): Fate(STRAY, NOT_ASSIGNED)})
    assert started(stray, fates=fates)[0]["records_lost"] == 10


def test_a_torn_batch_was_never_whole_and_garbage_hides_the_number(tmp_path):
    torn = orders(tmp_path / "torn", *LOG, put_range(20, 5)[:-1], clean=False)
    assert started(torn)[0]["records_lost"] == 0
    garbage = orders(tmp_path / "garbage", *LOG, b"\xff" * 50, clean=False)
    assert started(garbage)[0]["records_lost"] is None
    counted = bytearray(LOG[1])
    counted[BATCH.span("records_count")[0]] = 0x7F
    wrong = orders(tmp_path / "wrong", LOG[0], bytes(counted), put_range(20, 5), clean=False)
    row = started(wrong)[0]
    assert (row["log_end_offset"], row["records_lost"]) == (10, None), "a count above the batch's offsets"


def test_how_the_broker_stopped_can_be_asked_otherwise(tmp_path):
    directory = orders(tmp_path / "d", *LOG, bytes(50))
    row, outcome = started(directory)
    assert (row["outcome"], row["error"], row["log_end_offset"]) == ("fails", "CorruptRecordException", None)
    assert row["error_message"].startswith(f"{0:020d}.log at byte {len(b''.join(LOG))}: a batch of 0 bytes")
    assert [code for code in codes(outcome) if code != "LOG-009"] == ["START-008"]
    assert any("the broker's process ends" in finding.message for finding in outcome.findings)
    recovered, _ = started(directory, shutdown="unclean")
    assert (recovered["outcome"], recovered["log_end_offset"], recovered["records_lost"]) == ("loads", 20, 0)


def test_no_topic_is_tiered_before_3_6(tmp_path):
    directory = log_dir(tmp_path / "d", log_start=3) / "orders-0"
    segment(directory, 10, LOG[1])
    (tmp_path / "d" / "remote-log-index-cache").mkdir()
    assert started(directory)[0]["log_start_offset"] == 3
    assert started(directory, remote_storage=False)[0]["log_start_offset"] == 10
    assert started(directory, version=(3, 5))[0]["log_start_offset"] == 10


@pytest.mark.parametrize(
    ("text", "exception", "stops"),
    [
        ("0\n7\n0 0\n", "KafkaStorageException", "the log dir goes offline"),
        ("0\nx\n", "KafkaStorageException", "the log dir goes offline"),
        ("0\n1\n0 x\n", "NumberFormatException", "the broker's process ends"),
        ("0\n1\n0\tx\n", "NumberFormatException", "the broker's process ends"),
        ("0\n1\n\0\0\0 \0\n", "NumberFormatException", "the broker's process ends"),
        ("0\n1\n\0\0\0\0", "KafkaStorageException", "the log dir goes offline"),
        ("0\n-1\n", "IllegalArgumentException", "the broker's process ends"),
        ("0\n1\n0 -1\n", "IllegalArgumentException", "the broker's process ends"),
    ],
)
def test_a_failure_of_the_disk_stops_the_log_dir_and_any_other_the_process(tmp_path, text, exception, stops):
    directory = orders(tmp_path / "d", *LOG)
    (directory / "leader-epoch-checkpoint").write_text(text)
    row, outcome = started(directory)
    assert (row["outcome"], row["error"]) == ("fails", exception)
    assert codes(outcome) == ["START-008"]
    assert f": {stops}; to do: copy it from another replica" in outcome.findings[0].message


@pytest.mark.parametrize("text", ["0\n7\n0 0\n", "0\n1\n0 -1\n"])
def test_a_failure_in_the_metadata_log_dir_stops_the_process(tmp_path, text):
    metadata = tmp_path / "d" / "__cluster_metadata-0"
    segment(metadata, 0, LOG[0])
    (metadata / "leader-epoch-checkpoint").write_text(text)
    assert ": the broker's process ends; to do: " in started(metadata)[1].findings[0].message
    directory = orders(tmp_path / "d", *LOG)
    (directory / "leader-epoch-checkpoint").write_text("0\nx\n")
    message = started(directory)[1].findings[0].message
    stops = ": the log dir goes offline, and the broker's process ends: the metadata log lies there; to do: "
    assert stops in message


def test_a_lone_partition_directory_counts_as_stopped_cleanly(tmp_path):
    segment(tmp_path / "orders-0", 0, LOG[0])
    row, outcome = started(tmp_path / "orders-0")
    assert (row["clean"], row["log_end_offset"]) == (True, 10)
    assert codes(outcome) == ["START-006"]


def test_the_recovery_point_of_a_lone_partition_directory_is_said(tmp_path):
    segment(tmp_path / "orders-0", 0, LOG[0])
    (message,) = lone_messages(tmp_path / "orders-0", shutdown="unclean")
    assert message == "no log dir around this directory: taken as not stopped cleanly, with recovery point 0"
    assert not lone_messages(tmp_path / "orders-0", shutdown="clean")
    segment(tmp_path / "orders-0", 10, LOG[1], index=bytes(16))
    (message,) = lone_messages(tmp_path / "orders-0")
    assert message.endswith("not stopped cleanly, with recovery point 10: its last indexes are preallocated")
    assert not lone_messages(orders(tmp_path / "d", *LOG), shutdown="unclean")


def test_without_a_file_of_a_log_dir_partitions_count_as_not_stopped_cleanly(tmp_path):
    segment(tmp_path / "d" / "orders-0", 0, LOG[0])
    row, outcome = started(tmp_path / "d")
    assert (row["clean"], row["log_end_offset"]) == (False, 10)
    assert "START-006" in codes(outcome)


@pytest.mark.parametrize("name", [".lock", "recovery-point-offset-checkpoint", "cleaner-offset-checkpoint"])
def test_any_file_of_a_log_dir_says_that_partitions_lie_in_one(tmp_path, name):
    segment(tmp_path / "d" / "orders-0", 0, LOG[0])
    (tmp_path / "d" / name).write_text("" if name == ".lock" else "0\n0\n")
    row, outcome = started(tmp_path / "d")
    assert not row["clean"]
    assert "START-006" not in codes(outcome)
