"""The judge itself on known cases: tables worked out from Kafka's sources, not from this program."""

from __future__ import annotations

import os
import signal

import pytest

from tests.oracle.written import truncated, written

from .oracle import Oracle, OracleError, encoded

pytestmark = pytest.mark.oracle

CACHE = [[0, 0], [2, 10], [4, 20]]


@pytest.mark.parametrize(
    ("assigns", "left"),
    [
        ([(4, 25)], CACHE),
        ([(4, 15)], [[0, 0], [2, 10], [4, 15]]),
        ([(5, 20)], [[0, 0], [2, 10], [5, 20]]),
        ([(5, 8)], [[0, 0], [5, 8]]),
        ([(3, 30)], [[0, 0], [2, 10], [3, 30]]),
        ([(1, 5)], [[0, 0], [1, 5]]),
        ([(0, 0)], [[0, 0]]),
        ([(6, 20), (7, 20)], [[0, 0], [2, 10], [7, 20]]),
    ],
)
def test_assign(oracle: Oracle, assigns, left):
    answer = oracle.ask("epoch_cache", entries=CACHE, operations=[["assign", *pair] for pair in assigns])
    assert answer["loaded"] == CACHE
    assert answer["after"][-1] == left
    assert answer["file_settled"] == f"0\n{len(left)}\n" + "".join(
        f"{epoch} {start}\n" for epoch, start in left
    )


@pytest.mark.parametrize(
    ("operation", "left"),
    [
        (["truncate_from_end", 20], CACHE[:2]),
        (["truncate_from_end", 21], CACHE),
        (["truncate_from_end", -1], CACHE),
        (["truncate_from_start", 10], [[2, 10], [4, 20]]),
        (["truncate_from_start", 15], [[2, 15], [4, 20]]),
        (["truncate_from_start", -1], CACHE),
        (["clear"], []),
        (["assign_all", [[5, 30], [6, 40]]], [*CACHE, [5, 30], [6, 40]]),
    ],
)
def test_epoch_operations(oracle: Oracle, operation, left):
    answer = oracle.ask("epoch_cache", entries=CACHE, operations=[operation])
    assert answer["after"] == [left]


def test_epoch_truncation_reaches_the_file_late(oracle: Oracle):
    answer = oracle.ask("epoch_cache", entries=CACHE, operations=[["truncate_from_end", 20]])
    assert answer["file_unsettled"] == "0\n3\n0 0\n2 10\n4 20\n"
    assert answer["file_settled"] == "0\n2\n0 0\n2 10\n"


def test_epoch_answers(oracle: Oracle):
    answer = oracle.ask(
        "epoch_cache",
        entries=[[2, 10], [4, 20], [7, 35]],
        log_end_offset=50,
        end_offset_for=[-1, 7, 8, 0, 2, 3, 5],
        epoch_for_offset=[9, 10, 19, 20, 1000],
    )
    assert answer["end_offset_for"] == [[-1, -1], [7, 50], [-1, -1], [0, 10], [2, 20], [2, 20], [4, 35]]
    assert answer["epoch_for_offset"] == [None, 2, 2, 4, 7]
    assert oracle.ask("epoch_cache", entries=[], log_end_offset=5, end_offset_for=[0])["end_offset_for"] == [
        [-1, -1]
    ]


@pytest.mark.parametrize(
    ("file", "loaded"),
    [
        (b"", []),
        (b"0\n", []),
        (b"0\n2\n5 10\n4 3\n", [[4, 3]]),
        (b"0\r\n1\r\n5\t 10\r\n", [[5, 10]]),
        (b"0\nx\n", "KafkaStorageException"),
        (b"0\n1\nx 5\n", "NumberFormatException"),
        (b"0\n-1\n", "IllegalArgumentException"),
        (b"0\n1\n-1 5\n", "IllegalArgumentException"),
        (b"1\n0\n", "KafkaStorageException"),
        (b"0\n2\n5 10\n", "KafkaStorageException"),
        (b"0\n1\n\n5 10\n", "KafkaStorageException"),
    ],
)
def test_epoch_files(oracle: Oracle, file, loaded):
    answer = oracle.ask("epoch_cache", file=encoded(file))
    assert answer.get("loaded", answer.get("error")) == loaded


@pytest.mark.parametrize(
    ("target", "live", "restarted", "batches_left"),
    [(15, 15, 10, 1), (20, 20, 20, 2), (29, 29, 20, 2), (0, 0, 0, 0)],
)
def test_truncation_takes_whole_batches(oracle: Oracle, target, live, restarted, batches_left):
    directory, _ = written(oracle)
    answer = truncated(oracle, directory, target)
    assert answer["loaded"]["log_end_offset"] == 30
    assert answer["truncated"]["truncated"] is True
    assert answer["truncated"]["log_end_offset"] == answer["truncated"]["high_watermark"] == live
    assert answer["reopened"]["log_end_offset"] == restarted
    name = "00000000000000000000.log"
    data = (directory / name).read_bytes()[: answer["truncated"]["files"][name]]
    assert len(oracle.ask("records", bytes=encoded(data))["batches"]) == batches_left


@pytest.mark.parametrize(
    "name", ["0.index", f"{0:020}.old.log", f"{100:020}.copy.index", f"{0:020}.a.txnindex", "100.timeindex"]
)
def test_a_copy_beside_a_segment_changes_no_truncation(oracle: Oracle, name):
    directory, _ = written(oracle, batches=30, roll_every=10)
    without = truncated(oracle, directory, 99)["truncated"]
    (directory / name).write_bytes(
        (directory / f"{200:020}.{name.rpartition('.')[2]}").read_bytes() if "txn" not in name else b""
    )
    beside = truncated(oracle, directory, 99)["truncated"]
    assert beside["segments"] == without["segments"]
    assert beside["log_end_offset"] == 99


def test_truncation_below_the_first_segment(oracle: Oracle):
    directory, _ = written(oracle, start_offset=100, batches=20, roll_every=10)
    full = truncated(oracle, directory, 50)["truncated"]
    assert [segment["base_offset"] for segment in full["segments"]] == [50]
    assert (full["log_end_offset"], full["log_start_offset"], full["high_watermark"]) == (50, 50, 50)
    assert full["epochs"] == []
    given = truncated(oracle, directory, 150, fully=True, target_log_start_offset=120)["truncated"]
    assert (given["log_end_offset"], given["log_start_offset"], given["truncated"]) == (150, 120, None)
    assert truncated(oracle, directory, -1)["truncated"]["error"] == "IllegalArgumentException"


def test_recovery_cuts_a_torn_tail(oracle: Oracle):
    directory, facts = written(oracle, end="kill")
    assert facts["files"]["00000000000000000000.index"] == 65536  # never trimmed
    with (directory / "00000000000000000000.log").open("ab") as log:
        log.write(bytes(100))
    assert truncated(oracle, directory, None)["loaded"]["error"] == "CorruptRecordException"
    recovered = truncated(oracle, directory, None, clean=False)
    assert recovered["loaded"]["log_end_offset"] == 30
    assert "truncated" not in recovered
    assert truncated(oracle, directory, None, clean=False, state=False)["loaded"].keys() == {
        "files",
        "epoch_file",
    }


def test_snapshot_and_partition_metadata(oracle: Oracle):
    directory, facts = written(oracle, batches=10, producers=1, plain_chance=0)
    snapshot = (directory / f"{facts['log_end_offset']:020}.snapshot").read_bytes()
    entries = oracle.ask("producer_snapshot", bytes=encoded(snapshot))["entries"]
    assert [entry["producer_id"] for entry in entries] == [1000]
    assert entries[0]["batches"] == facts["producers"][0]["batches"][-1:]
    assert (
        oracle.ask("producer_snapshot", bytes=encoded(snapshot[:-1]))["error"] == "CorruptSnapshotException"
    )
    metadata = (directory / "partition.metadata").read_bytes()
    assert (
        f"topic_id: {oracle.ask('partition_metadata', bytes=encoded(metadata))['topic_id']}"
        in metadata.decode()
    )


def test_dump(oracle: Oracle):
    directory, _ = written(oracle)
    answer = oracle.ask(
        "dump", arguments=["--files", str(directory / "00000000000000000000.log"), "--print-data-log"]
    )
    assert (answer["status"], answer["thrown"]) == (0, None)
    assert answer["stdout"].count("baseOffset: ") == 3
    assert oracle.ask("dump", arguments=["--no-such-flag"])["status"] == 1


def test_errors_are_answers(oracle: Oracle):
    assert oracle.ask("no such thing")["error"] == "IllegalArgumentException"
    assert oracle.ask("truncate", directory="/no/such/topic-0")["loaded"]["error"] == "IOException"


def test_a_dead_process_is_replaced(oracle: Oracle):
    assert oracle.ask("ping")["java"]
    os.kill(oracle._process.pid, signal.SIGSTOP)  # it hangs
    os.waitpid(oracle._process.pid, os.WUNTRACED)  # all its threads: a busy machine takes its time
    with pytest.raises(OracleError, match="TimeoutError"):
        oracle.ask("ping", timeout=0.2)
    assert oracle.ask("ping")["java"]
    os.kill(oracle._process.pid, signal.SIGKILL)
    oracle._process.wait()
    assert oracle.ask("ping")["java"]
