"""Where `check` asks the one start: what it refuses, cuts or deletes, and where the log ends then."""

from collections.abc import Generator, Iterator
from typing import TypeVar

from formats.names import DELETE, NORMAL
from kcli.engine.contract import Unit
from kcli.jobs.checkpoint import contradictions, stored_offsets
from kcli.jobs.common import Yield, answer
from kcli.kafka.findings.findings import Finding
from kcli.kafka.kraft.broker_start import StartFailure
from kcli.kafka.kraft.start import LOAD_FAILED, start
from kcli.kafka.kraft.start_settings import KnownSettings
from kcli.kafka.kraft.startup import failure, refusal
from kcli.kafka.storage.loaded_log import Settings
from kcli.kafka.storage.log_segment import BrokerError
from kcli.logdir.buffers import FileError
from kcli.logdir.partition import Partition
from kcli.logdir.tree import PARTITION, Selection, Target, find

T = TypeVar("T")

REFUSED = "START-008"
OF_A_RECOVERY = frozenset(
    {
        "START-001",
        "START-002",
        "START-007",
        "START-015",
        REFUSED,
        "LOG-006",
        "LOG-009",
        "LOG-025",
        "CKPT-001",
        "DIR-003",
    }
)
"""Findings of a start that a walk over the batches does not make itself."""


def start_settings(partition: Partition, known: KnownSettings) -> Settings:
    """Return the settings of the start of a directory: a -delete one is not recovered."""
    name = partition.target.name
    return known.of(partition)._replace(as_deleted=name is not None and name.kind == DELETE)


def attempted(
    partition: Partition, steps: Generator[Finding, None, T], stops: list[StartFailure]
) -> Generator[Finding, None, T | None]:
    """Yield what the steps of a start report; return their result, or None where the log does not load.

    `stops` then has why, and else nothing, whatever was in it before.
    """
    stops.clear()
    try:
        return (yield from steps)
    except FileError as error:
        if error.code != LOAD_FAILED or not isinstance(error.__cause__, BrokerError):
            raise
        stops.append(failure(partition, error.__cause__))
        yield refusal(partition, error.__cause__)
        return None


def what_a_start_does(
    target: Target, known: KnownSettings, stops: list[StartFailure]
) -> tuple[list[Finding], int | None]:
    """Return what a start cuts, deletes or refuses, and what contradicts the log that it leaves; its log end.

    That is None where it fails; `stops` then gets why.
    """
    failures: list[StartFailure] = []
    ends: list[int | None] = [None]

    def started(partition: Partition) -> Yield:
        steps = start(partition, settings=start_settings(partition, known))
        loaded = yield from attempted(partition, steps, failures)
        if loaded is not None:
            ends.append(loaded.log_end_offset)
            offsets = yield from stored_offsets(partition, loaded.epoch_lines)
            yield from contradictions(partition.target, offsets._replace(log_end=loaded.log_end_offset))

    outcome = answer(Unit(number=0, targets=(target,)), started)
    stops += failures
    return [one for one in outcome.findings if one.code in OF_A_RECOVERY], ends[-1]


def log_end_now(target: Target, before: int | None) -> int | None:
    """Return the log end offset by headers: a broker may have begun segments since they were listed."""
    ends = [before]

    def started(partition: Partition) -> Yield:
        loaded = yield from start(partition, exact=False)
        ends.append(loaded.log_end_offset)

    answer(Unit(number=0, targets=(target,)), started)
    return ends[-1]


def start_leftovers(log_dir: Target, known: KnownSettings, stops: list[StartFailure]) -> Iterator[Finding]:
    """Yield which -delete, -future and -stray directories of a log dir do not load; `stops` gets why.

    A starting broker loads them, too.
    """
    for target in find([log_dir.path], Selection(include_leftovers=True)).targets:
        if target.kind == PARTITION and target.name is not None and target.name.kind != NORMAL:
            findings, _ = what_a_start_does(target, known, stops)
            yield from (one for one in findings if one.code == REFUSED)
