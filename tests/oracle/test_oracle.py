"""The judge itself: copies beside segments, what it says of a dump and of errors, a process that dies."""

from __future__ import annotations

import os
import signal

import pytest

from tests.oracle.written import truncated, written

from .oracle import Oracle, OracleError

pytestmark = pytest.mark.oracle


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
