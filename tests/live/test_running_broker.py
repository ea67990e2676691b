"""Every command reads the log dirs of a running broker, in turn: no error, and no finding above info."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.every_command import COMMANDS, OF_TWO, unasked
from tests.live.workload import Workload, busy_broker
from tests.processes import free_base_port
from tests.recordings.brokers import LONGEST

pytestmark = [pytest.mark.oracle, pytest.mark.moving]

ASKED_AGAIN = 2
"""Times that a command is asked once more at once: what is of one moment of a running broker goes away."""
ROUNDS = 5
"""Of all lines; more, until the broker has done all that it does."""
ASKED = (
    *COMMANDS,
    *("ls --jobs 2", "scan --jobs 2", "dump --records --jobs 2"),
    *("check --since STATE", "dump --print-data-log -o text"),
)
DOES = {"write", "compact", "transact", "delete_topics", "move", "accepted_moves"}
ABOUT_THE_QUESTION = {"TRUNC-001", "TRUNC-002", "LOOKUP-004", "COORD-004"}
"""Findings that a question calls for.

A truncation target, a time that may be in remote storage, partitions that a broker is about to make.
"""
ASKS = "epoch validate"
"""A command that exits with 1 where the position is none any more: retention removes it."""


class Readings:
    """What commands answered: codes of findings, and what should not have been.

    `problems` come at each asking of a command, `passing` ones went away.
    """

    def __init__(self, log_dirs: list[Path], state: Path) -> None:
        self.log_dirs = log_dirs
        self.state = state
        self.codes: Counter[str] = Counter()
        self.problems: list[str] = []
        self.passing: list[str] = []
        self.rounds = 0

    def read(self, command: str, again: int = 0) -> None:
        """Ask a command, and up to `again` times more while it has a problem."""
        for _ in range(again):
            problems = list(self._answer(command))
            if not problems:
                return
            self.passing += problems
        self.problems += self._answer(command)

    def _answer(self, command: str) -> Iterator[str]:
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
            yield f"{command}: status {done.exit_code} {done.stderr[-300:]}"
        if not is_text:
            yield from (f"{command}: {problem}" for problem in self._judged(done.stdout))

    def _judged(self, document: str) -> Iterator[str]:
        try:
            answer = json.loads(document)
        except ValueError as error:
            yield f"no document: {error}"
            return
        yield from (f"error {error}" for error in answer["errors"])
        yield from (f"no producer of it went away: {row}" for row in answer["rows"] if row.get("hanging"))
        for finding in answer["findings"]:
            self.codes[finding["code"]] += 1
            if finding["severity"] != "info" and finding["code"] not in ABOUT_THE_QUESTION:
                yield f"finding {finding}"

    def read_beside(self, workload: Workload) -> None:
        end = time.monotonic() + LONGEST
        while not workload.failures and (self.rounds < ROUNDS or not self.met(workload)):
            assert self.rounds < ROUNDS or time.monotonic() < end, (self.codes, workload.done)
            for command in ASKED:
                self.read(command, ASKED_AGAIN)
            self.rounds += 1

    def met(self, workload: Workload) -> bool:
        """Whether the broker has done all that it does, and removed a file that was being read."""
        return set(+workload.done) == DOES and self.codes["LOG-014"] > 0


def test_every_command_that_reads_log_dirs_is_here():
    assert unasked(ASKED) == OF_TWO


def test_no_command_takes_what_a_running_broker_does_for_damage(tmp_path):
    with busy_broker(tmp_path / "node", free_base_port()) as workload:
        readings = Readings(workload.log_dirs, tmp_path / "state")
        readings.read_beside(workload)
        assert workload.failures == []
        workload.stop()
        workload.cluster.nodes[1].stop()
        stopped = Readings(workload.log_dirs, tmp_path / "state")
        for command in ASKED:
            stopped.read(command)
    print(readings.rounds, "rounds; of one moment:", *readings.passing, sep="\n")
    assert readings.problems == []
    assert stopped.problems == []
    assert not {"LOG-005", "LOG-014"} & set(stopped.codes)
