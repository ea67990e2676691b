"""What `kcli ls` runs: one row per partition directory, with a null for each piece that cannot be read."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from formats.names import parse_file
from kcli.analysis import epochs, inventory
from kcli.analysis.ends import Ends, ends
from kcli.analysis.epochs import EpochCache
from kcli.analysis.findings import Finding
from kcli.engine.contract import Outcome, Unit
from kcli.jobs.common import (
    directory_findings,
    failed,
    failure_of,
    internal_failure,
    moved,
    undisturbed,
    where,
)
from kcli.jobs.epoch import checkpointed_epochs
from kcli.logdir.buffers import FileError, file_error
from kcli.logdir.partition import Partition, shown_error
from kcli.rows.places import PartitionRow

T = TypeVar("T")


def ls(unit: Unit) -> Outcome:
    """Return the partition's row; the first piece that cannot be read is the error, any further one a finding."""
    return undisturbed(unit.target, lambda: _ls(unit))


def _ls(unit: Unit) -> Outcome:
    partition = Partition(unit.target)
    problems: list[FileError] = []
    try:
        row, findings = _row(partition, problems)
        findings.extend(directory_findings(partition))
    except FileError as error:
        outcome = failed(unit, error)
        return replace(outcome, findings=[*directory_findings(partition), *outcome.findings])
    except Exception as error:  # noqa: BLE001 - the one boundary: a bug on one input must not stop the others
        return Outcome(number=unit.number, error=internal_failure(unit.target.shown, error))
    told: list[FileError] = []
    for problem in problems:
        finding = moved(unit.target, problem)
        if finding is None:
            told.append(shown_error(partition, problem))
        else:
            findings.append(finding)
    findings.extend(
        Finding("LOG-008", problem.message, dir=partition.shown, file=problem.path, position=problem.position)
        for problem in told[1:]
    )
    return Outcome(
        number=unit.number, rows=[row], findings=findings, error=failure_of(told[0]) if told else None
    )


def _row(partition: Partition, problems: list[FileError]) -> tuple[PartitionRow, list[Finding]]:
    findings: list[Finding] = []

    def read(piece: Callable[[], T]) -> T | None:
        try:
            return piece()
        except FileError as error:
            problems.append(error)
            return None

    totals = inventory.totals(_files(partition, problems))
    found = read(lambda: ends(partition))
    latest_epoch = read(lambda: _latest_epoch(partition, found, findings))
    topic_id = read(partition.topic_id)
    if found is not None:
        findings[:0] = found.findings
    facts, name = partition.directory, partition.target.name
    row = PartitionRow(
        where(partition),
        segments=len(partition.segments),
        size_bytes=totals.size_bytes,
        log_start_offset=found.log_start_offset if found else None,
        log_end_offset=found.log_end_offset if found else None,
        log_end_offset_source=found.source if found else None,
        latest_epoch=latest_epoch,
        high_watermark=inventory.checkpointed(facts.high_watermarks, partition.topic, partition.number),
        recovery_point=inventory.checkpointed(facts.recovery_points, partition.topic, partition.number),
        topic_id=topic_id,
        leftovers=totals.leftovers,
        state=name.kind if name else inventory.NORMAL,
    )
    return row, findings


def _files(partition: Partition, problems: list[FileError]) -> Iterator[inventory.EntrySize]:
    for name in partition.names:
        path = os.path.join(partition.path, name)
        try:
            status = os.lstat(path)
        except OSError as error:
            problems.append(file_error(path, error))
            continue
        if not stat.S_ISDIR(status.st_mode):
            yield inventory.EntrySize(status.st_size, parse_file(name).is_inactive)


def _latest_epoch(partition: Partition, found: Ends | None, findings: list[Finding]) -> int | None:
    if found is None:
        return None
    loading = checkpointed_epochs(partition, found)
    try:
        while True:
            findings.append(next(loading))
    except StopIteration as loaded:
        entries: EpochCache = loaded.value
    if not found.emptied:
        entries = epochs.load(entries, found.log_end_offset, found.checkpointed_start).entries
    return entries[-1].epoch if entries and not found.emptied else None
