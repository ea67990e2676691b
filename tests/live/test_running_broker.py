"""Every command reads the log dirs of a running broker for a minute: no error, and no finding above info."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from commands.app import app
from kcli.cli.option import every_command
from kcli.rows import ASK_CLUSTERS, READ_NO_FILES
from tests.live.workload import Workload, busy_broker, free_base_port

pytestmark = [pytest.mark.oracle, pytest.mark.moving]

SECONDS = 60
NOT_OF_ONE_BROKER = {
    *("completion", "demo", "explain", "help", "salvage", "schema", "spark submit-command"),
    *("epoch diff", "replica diff", "replica elect", "rlmm follow"),
    *READ_NO_FILES,
    *ASK_CLUSTERS,
}
"""Commands that read no log dir, one partition, or the log dirs of two brokers."""
COMMANDS = (
    "ls",
    "ls --include-leftovers",
    "ls --jobs 2",
    "replica fingerprint",
    "epoch show",
    "epoch show --from batches",
    "epoch end-offset --epoch all",
    "epoch end-offset --epoch all --broker running",
    "epoch at latest",
    "epoch validate --position 7:-1",
    "lookup offset earliest",
    "lookup offset latest --include-leftovers",
    "lookup timestamp max",
    "lookup timestamp @-1s",
    "truncate --dry-run --to-offset 20 --shutdown clean",
    "truncate --dry-run --to-offset 9000000000",
    "truncate --dry-run --to-epoch 0",
    "truncate --dry-run --to-high-watermark --high-watermark 5",
    "check",
    "check --since STATE",
    "checkpoint show",
    "epoch check",
    "epoch show --from batches",
    "failover --all",
    "startup",
    "scan",
    "scan --summary --ratio --include-leftovers",
    "scan --jobs 2",
    "dump",
    "dump --records --include-leftovers",
    "dump --records --jobs 2",
    "dump --layout",
    "dump --tail 3",
    "dump --offsets 10..400",
    "dump --print-data-log -o text",
    "rlmm dump",
    "rlmm state",
    "rlmm check",
    "rlmm coverage",
    "rlmm lookup offset 12",
    "rlmm lookup timestamp 1767225600000",
    "rlmm offsets",
    "rlmm retention --retention-bytes 300",
    'sql SELECT(count(*))FROM"batches"',
)
ABOUT_THE_QUESTION = {"TRUNC-001", "TRUNC-002", "LOOKUP-004"}
"""Findings that a question calls for, whatever the bytes are.

A truncation target, a time that may be in remote storage.
"""

ASKS = "epoch validate"
"""A command that exits with 1 where the position is none any more: retention removes it."""


class Readings:
    """What commands answered: codes of findings, and what should not have been (`problems`)."""

    def __init__(self, log_dirs: list[Path], state: Path) -> None:
        self.log_dirs = log_dirs
        self.state = state
        self.codes: Counter[str] = Counter()
        self.problems: list[str] = []
        self.rounds = 0

    def read(self, command: str) -> None:
        words = [
            *command.replace("STATE", str(self.state)).split(),
            *map(str, self.log_dirs),
            "--fail-on",
            "never",
        ]
        is_text = "text" in words
        done = CliRunner().invoke(app, words if is_text else [*words, "-o", "json"])
        statuses = {0, 1} if command.startswith(ASKS) else {0}
        if done.exit_code not in statuses or (is_text and "kcli: " in done.stderr):
            self.problems.append(f"{command}: status {done.exit_code} {done.stderr[-300:]}")
        if not is_text:
            self.problems.extend(f"{command}: {problem}" for problem in self._judged(done.stdout))

    def _judged(self, document: str) -> Iterator[str]:
        try:
            answer = json.loads(document)
        except ValueError as error:
            yield f"no document: {error}"
            return
        yield from (f"error {error}" for error in answer["errors"])
        for finding in answer["findings"]:
            self.codes[finding["code"]] += 1
            if finding["severity"] != "info" and finding["code"] not in ABOUT_THE_QUESTION:
                yield f"finding {finding}"

    def read_for(self, seconds: float, workload: Workload) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not workload.failures:
            for command in COMMANDS:
                self.read(command)
            self.rounds += 1


def test_every_command_that_reads_log_dirs_is_here():
    listed = {" ".join(words) for words in every_command(get_command(app))} - NOT_OF_ONE_BROKER
    assert {name for name in listed if not any(command.startswith(name) for command in COMMANDS)} == set()


def test_no_command_takes_what_a_running_broker_does_for_damage(tmp_path):
    with busy_broker(tmp_path / "node", free_base_port()) as workload:
        readings = Readings(workload.log_dirs, tmp_path / "state")
        readings.read_for(SECONDS, workload)
        assert workload.failures == []
        workload.stop()
        workload.cluster.nodes[1].stop()
        stopped = Readings(workload.log_dirs, tmp_path / "state")
        for command in COMMANDS:
            stopped.read(command)
    assert readings.problems == []
    assert readings.rounds > 0
    assert set(workload.done) == {"write", "compact", "transact", "delete_topics", "move", "accepted_moves"}
    assert workload.done["accepted_moves"] > 0
    assert readings.codes["LOG-014"] > 0, "nothing was removed while it was read: this judges nothing"
    assert stopped.problems == []
    assert not {"LOG-005", "LOG-014"} & set(stopped.codes)
