"""Mutated partitions, every command; again: `python -m tests.mutated SEED NUMBER FOLDER`."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from commands.app import app
from tests.every_command import unasked
from tests.mutated.fleets import PARTITIONS, Source, make, remove, sources
from tests.mutated.log_ends import answers
from tests.recordings.watch import tree, watching
from tests.seeds import SEED, cases

pytestmark = [pytest.mark.slow, pytest.mark.random]

LOG_DIRS = 8
"""Of 40 partitions each."""
PARTS = 4
"""Tests that share the log dirs, so that several processes can."""
SECONDS = 300
"""More than any command takes for a log dir, by far, also on a busy machine."""
COMMANDS = (
    ("ls --include-leftovers",),
    ("epoch show", "epoch show --from batches"),
    (
        "epoch end-offset --epoch all",
        "epoch end-offset --epoch all --broker running",
        "epoch end-offset --epoch all --current-leader-epoch 2",
    ),
    ("epoch at latest",),
    ("epoch validate --position 5:0",),
    ("lookup offset 12", "lookup offset earliest"),
    ("lookup timestamp 1767225600000", "lookup timestamp max"),
    (
        "truncate --dry-run --to-offset 12",
        "truncate --dry-run --to-epoch 1 --shutdown clean",
        "truncate --dry-run --to-high-watermark --shutdown unclean",
        "truncate --dry-run --leader-epochs 0:0,1:9,4:30@40",
    ),
    ("truncate --dry-run --leader-epoch 9 --leader",),
    ("check",),
    ("scan --include-leftovers", "scan --summary --ratio"),
    ("dump", "dump --tail 3", "dump --offsets 5..40"),
    ("dump --records", "dump --layout"),
    ("dump --print-data-log -o text", "dump --index-sanity-check -o text"),
    ("rlmm dump",),
    ("rlmm state",),
    ("rlmm offsets",),
    ("rlmm lookup offset 12",),
    ("rlmm lookup timestamp 1767225600000",),
    ("rlmm coverage",),
    ("rlmm retention --retention-bytes 300 --at 2026-11-22",),
    ("rlmm check --leader",),
    ("epoch diff",),
    ("epoch check",),
    ("epoch show --from batches",),
    ("replica diff",),
    ("replica fingerprint",),
    ("replica elect --isr 1",),
    ("checkpoint show",),
    ("startup",),
    ("txn open", "txn list"),
    ("producers",),
    ("group list", "group offsets", "group members", "group history --group *"),
    ("retention --at 2026-11-22", "retention --at 2026-11-22 --if cleanup.policy=compact"),
    ("compact --at 2026-11-22 --if cleanup.policy=compact", "compact --records --if cleanup.policy=compact"),
    ("metadata show", "metadata show partitions configs", "metadata export", "metadata diff --from 3"),
    ("metadata history",),
    ("failover --broker 1 --all",),
    ('sql SELECT(count(*))FROM"batches"', 'sql SELECT(count(*))FROM"findings"'),
)
"""A log dir is asked one form of each command; the next one of the same part is asked the next form."""
TWICE = ("replica ", "epoch diff", "truncate --dry-run --leader-epoch ", "rlmm check --leader")
"""Commands that are given the log dir twice."""
IN_WORKERS = ("ls --jobs 2", "scan --jobs 2", "dump --records --jobs 2")
ASKED_ONE_IN = 5
"""Log dirs of a part for each whose log ends are compared; `tests.mutated.log_ends` compares others."""
SPREAD_ONE_IN = 50
"""Log dirs for each that is read by worker processes, too: they take long to start."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Source]:
    return sources(tmp_path_factory.mktemp("sources"))


class Schemas:
    """Validators of documents, by command; one row of each type is looked at, and everything else."""

    def __init__(self) -> None:
        self._validators: dict[str, Any] = {}

    def check(self, document: dict[str, Any]) -> None:
        command = document["command"]
        if command == "sql":
            return  # its rows are what the query selects
        if command not in self._validators:
            printed = CliRunner().invoke(app, ["schema", *command.split()]).stdout
            self._validators[command] = jsonschema.Draft202012Validator(json.loads(printed))
        some = {row.get("type"): row for row in document["rows"]}
        self._validators[command].validate(
            {**document, "rows": list(some.values()), "findings": document["findings"][:5]}
        )


def asked_of(number: int) -> list[str]:
    """Return the form of each command that a log dir is read with."""
    return [forms[number // PARTS % len(forms)] for forms in COMMANDS]


def is_asked(number: int) -> bool:
    """Whether the log ends of a log dir are compared: of another one in each part."""
    turn, part = divmod(number, PARTS)
    return turn % ASKED_ONE_IN == part % ASKED_ONE_IN


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"{seconds} s have passed")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def problem(command: str, log_dir: Path, schemas: Schemas) -> str | None:
    """Return what is wrong with how a command answers; None for nothing."""
    words = [*command.split(), *[str(log_dir)] * (2 if command.startswith(TWICE) else 1)]
    try:
        with time_limit(SECONDS):
            done = CliRunner().invoke(app, words if "text" in words else [*words, "-o", "json"])
    except TimeoutError as error:
        return f"{command}: {error}"
    if done.exit_code in {2, 70} or done.exit_code > 5:
        return f"{command}: status {done.exit_code}: {_internal(done.stdout, done.stderr)}"
    if "text" not in words:
        try:
            schemas.check(json.loads(done.stdout))
        except (ValueError, jsonschema.ValidationError) as error:
            return f"{command}: no valid document: {str(error)[:600]}"
    return None


def _internal(document: str, words: str) -> str:
    try:
        errors = json.loads(document)["errors"]
    except ValueError:
        errors = []
    internal = [f"{error['path']}: {error['message']}" for error in errors if error["error"] == "internal"]
    return "; ".join(internal) or words[-500:]


def test_every_command_that_reads_log_dirs_is_here():
    assert unasked([form for forms in COMMANDS for form in forms]) == {"rlmm follow"}


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_partitions_are_answered_by_every_command(part, found, tmp_path):
    problems: list[str] = []
    mutated = 0
    schemas = Schemas()
    for number in range(part, cases(LOG_DIRS), PARTS):
        log_dir = tmp_path / str(number)
        done = make(log_dir, found, SEED, number)
        before = tree(log_dir)
        with watching(log_dir) as changes:
            for command in (*asked_of(number), *(IN_WORKERS if number % SPREAD_ONE_IN == 0 else ())):
                wrong = problem(command, log_dir, schemas)
                if wrong is not None:
                    problems.append(f"seed {SEED} number {number}: {wrong}\n  " + "\n  ".join(done))
        assert (changes, tree(log_dir)) == ([], before), (SEED, number)
        for name, ends in (answers(log_dir) if is_asked(number) else {}).items():
            if len(set(ends.values())) > 1:
                problems.append(f"seed {SEED} number {number}: {name}: two log ends {ends}")
        mutated += PARTITIONS
        remove(log_dir)
    assert mutated == PARTITIONS * len(range(part, cases(LOG_DIRS), PARTS))
    assert not problems, "\n".join(problems)
