"""`startup`, `check` and `ls` say the same of each replica, log dir and broker, whatever is selected."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.mutated.fleets import make, remove, sources
from tests.partitions import orders, put_range
from tests.seeds import SEED, cases
from tests.starts.agreement import STATES, ask, differences, of_state
from tests.starts.observe import prepare

QUICK = (
    "leader-epoch-checkpoint of NUL bytes in d1",
    "log flipped, killed",
    "partition.metadata of NUL bytes",
    "recovery-point of NUL bytes in d0",
    "two current logs",
    "unknown topic",
    "-future log behind, assigned",
    "volume with a new id",
)
PARTS = 4
"""Tests that share the states, so that several processes can."""
EVERY = 1 if os.environ.get("KCLI_STARTS") == "all" else 5
"""Which of the states a test takes: `make soak` takes each, others one of five."""
LOG_DIRS = 8
"""Of mutated partitions."""


@pytest.mark.parametrize("change", QUICK)
def test_a_selection_hides_no_fate(tmp_path: Path, change: str):
    assert of_state("4.4.0", change, tmp_path, is_named=True) == []


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_commands_agree_about_recorded_states(tmp_path: Path, part: int):
    found = []
    for number, (base, change) in enumerate(STATES[::EVERY]):
        if number % PARTS == part:
            found += of_state(base, change, tmp_path / "state", is_named=bool(number // PARTS % 2))
            shutil.rmtree(tmp_path / "state")
    assert found == []


@pytest.mark.slow
@pytest.mark.random
def test_commands_agree_about_mutated_log_dirs(tmp_path: Path):
    partitions, found = sources(tmp_path / "sources"), []
    for number in range(cases(LOG_DIRS)):
        log_dir = tmp_path / str(number)
        make(log_dir, partitions, SEED, number)
        topic = min(path.name for path in log_dir.iterdir() if path.is_dir()).rpartition("-")[0]
        found += [
            f"seed {SEED} number {number}: {difference}" for difference in differences(topic, str(log_dir))
        ]
        remove(log_dir)
    assert found == []


def test_which_producers_a_start_forgets_is_no_difference_of_ls(tmp_path: Path):
    """Seed 631803546, number 4: a clean log of a producer, without a snapshot."""
    directory = orders(tmp_path, put_range(0, 3, producer_id=1), clean=True)
    _, document = ask("startup", str(directory.parent))
    assert "PROD-007" in {finding["code"] for finding in document["findings"]}
    assert [*differences("orders", str(directory.parent))] == []


def test_which_lines_of_a_checkpoint_count_is_no_difference_of_ls(tmp_path: Path):
    """Seed 1337337492, numbers 2 and 3: a leader-epoch-checkpoint has an entry twice."""
    directory = orders(tmp_path, put_range(0, 3), clean=True)
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n0 0\n")
    _, document = ask("ls", str(directory.parent))
    assert "EPOCH-002" in {finding["code"] for finding in document["findings"]}
    assert [*differences("orders", str(directory.parent))] == []


@pytest.mark.parametrize("command", ["check", "ls"])
def test_workers_start_what_was_not_selected(tmp_path: Path, command: str):
    properties = prepare("4.4.0", "leader-epoch-checkpoint of NUL bytes in d1", tmp_path)
    for selected in (
        ("--topic", "events"),
        ("--partition", "0"),
        ("--exclude-internal", "--topic-regex", "e.*"),
    ):
        words = (command, "--server-config", str(properties), *selected)
        said, document = ask(*words, "--jobs", "2")
        assert (said.broker, said.status) == ("starts-degraded", 1)
        assert document == ask(*words)[1]


def test_a_topic_of_which_nothing_is_here_is_an_error_of_each(kcli, tmp_path: Path):
    prepare("4.4.0", "healthy", tmp_path)
    for command in ("startup", "check", "ls"):
        done = kcli(command, "--topic", "evnts", "-o", "json", tmp_path / "d0", tmp_path / "d1")
        (error,) = json.loads(done.stdout)["errors"]
        assert (done.exit_code, error["error"]) == (3, "nothing-matched"), command
        assert "did you mean events?" in error["message"], command


def test_a_replica_without_a_directory_is_no_unknown_topic(kcli, tmp_path: Path):
    """The volume of it is lost: `startup` has its row, and the others say what begins empty."""
    properties = prepare("4.4.0", "healthy", tmp_path)
    for path in tmp_path.glob("d?/orders-*"):
        shutil.rmtree(path)
    for command in ("startup", "check", "ls"):
        done = kcli(command, "--topic", "orders", "-o", "json", "--server-config", properties)
        assert (done.exit_code, json.loads(done.stdout)["errors"]) == (1, []), command
        assert "START-019" in done.stdout, command
