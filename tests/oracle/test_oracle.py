"""The judge itself on known cases: tables worked out from Kafka's sources, not from this program."""

from __future__ import annotations

import os
import signal

import pytest

from tests.oracle.written import truncated, written

from .oracle import Oracle, OracleError, encoded

pytestmark = pytest.mark.oracle


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
